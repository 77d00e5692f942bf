//! Probes: what the machine, the stand-in hosts and the processes say of themselves while work goes
//! on, read at fixed periods by threads of our own, here or in a host's agent (`host::Watch`);
//! and what looks of others need.
//!
//! A probe is a row of [`Look`]s, each with its period. What must hold: due times are absolute, so
//! that nothing drifts; a look that comes too late is left out and counted, never made up for; a
//! look that fails is noted once and tried again at its next due time; who takes readings never
//! waits for a look. What the looks cost is measured by the clock of their thread and given back
//! with the readings, so that nobody has to believe that watching is free.

mod hosts;
mod look;
mod processes;
mod sampler;
mod source;

pub use hosts::STOPPED;
pub use processes::BLOCKED;
pub use sampler::{Probes, Sampler, Task};
pub use source::Last;

pub use hosts::HostSources;
pub use look::{Look, Out, ProbeCost, Reading};

use anyhow::Result;
use processes::{NumaMaps, Process};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// What of this machine is ours, beside ourselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ours<'a> {
    /// Nodes by their places and process ids.
    pub nodes: &'a [(&'a str, u32)],
    /// Process ids of our agents.
    pub agents: &'a [u32],
    /// Devices of our hosts' volumes, by their names below `/sys/block`.
    pub devices: &'a [String],
}

/// Watches who uses this machine beside what is ours, and ourselves: what is read stands under the
/// probe `others`. Cheap enough for every trial.
///
/// # Errors
/// The machine does not tell: the message says what could not be read.
pub fn others(ours: &Ours<'_>, period: Duration) -> Result<Probes> {
    let mut sampler = Sampler::new("probe-others");
    let look = hosts::ForeignLoad::open(ours)?;
    sampler.add(Task::new("others", "machine", period, Box::new(look)));
    Probes::start(vec![sampler])
}

/// One thing to look at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// Where its readings stand.
    pub place: String,
    /// Time between two looks.
    pub period: Duration,
    /// What it is.
    pub what: What,
}

/// What there is to look at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum What {
    /// All of a machine, but for devices that belong to stand-ins.
    Machine {
        /// Their names.
        without: Vec<String>,
    },
    /// What a stand-in has and uses, which only its own agent sees.
    StandIn(HostSources),
    /// A process by its id.
    Process(u32),
}

/// How often NUMA placement is read: it costs the process under test 50 ms of not mapping memory.
const NUMA_PERIOD: Duration = Duration::from_secs(60);

/// The looks at one thing.
///
/// # Errors
/// A file that every kernel has cannot be read, or there is no such process.
pub fn tasks(watched: &Watched) -> Result<Vec<Task>> {
    let Watched { place, period, .. } = watched;
    let hosts = |look| Task::new("hosts", place, *period, look);
    let mut tasks = Vec::new();
    match &watched.what {
        What::Machine { without } => {
            let machine = hosts::Machine::open(place, without.clone())?;
            tasks.push(hosts(Box::new(machine)));
        }
        What::StandIn(sources) => tasks.push(hosts(Box::new(hosts::stand_in(place, sources)?))),
        What::Process(pid) => {
            let process = Process::open(place, *pid)?;
            tasks.push(Task::new("processes", place, *period, Box::new(process)));
            if processes::numa_nodes().len() > 1 {
                let (maps, period) = (NumaMaps::open(place, *pid)?, NUMA_PERIOD.max(*period));
                tasks.push(Task::new("numa", place, period, Box::new(maps)));
            }
        }
    }
    Ok(tasks)
}

/// What the looks at this machine cannot see of it, with the reason and what would bring it.
pub fn unseen() -> Option<String> {
    let pressure = Path::new("/proc/pressure/cpu").exists();
    (!pressure)
        .then(|| "pressure (psi.*), since this kernel has none: boot it with `psi=1`".to_string())
}
