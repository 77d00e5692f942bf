//! Probes, which read figures of the machine, the simulated hosts and the processes at run time.
//! Threads of this process or of a host's agent (`host::Watch`) read them at fixed periods. It also
//! contains parts that samples of other crates need.
//!
//! A probe is a row of [`SampledSource`]s, each with its period. Invariants: due times are
//! absolute, so they do not drift. A sample that would come too late is omitted and counted, and
//! never repeated later. A sample that fails is recorded once, and tried again at its next due
//! time. A thread that takes readings never waits for a sample. The clock of their thread measures
//! the cost of the samples. The readings contain it, so that the cost of sampling is known.

mod hosts;
mod kernel_file;
mod processes;
mod sampled_source;
mod sampler;

pub use hosts::STOPPED;
pub use kernel_file::Last;
pub use processes::BLOCKED;
pub use sampler::{Probes, Sampler, Task};

pub use hosts::HostSources;
pub use sampled_source::{Out, ProbeCost, Reading, SampledSource};

use anyhow::Result;
use processes::{NumaMaps, Process};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// Processes and devices of this machine that belong to the test, in addition to this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ours<'a> {
    /// Nodes by their places and process ids.
    pub nodes: &'a [(&'a str, u32)],
    /// Process ids of cassay's agents.
    pub agents: &'a [u32],
    /// Devices of the volumes of cassay's hosts, by their names below `/sys/block`.
    pub devices: &'a [String],
}

/// Samples the foreign load of this machine: its usage without `ours` and this process. The
/// readings carry the probe `others`. Cheap enough for every trial.
///
/// # Errors
/// The machine does not report it: the message names the file that could not be read.
pub fn others(ours: &Ours<'_>, period: Duration) -> Result<Probes> {
    let mut sampler = Sampler::new("probe-others");
    let look = hosts::ForeignLoad::open(ours)?;
    sampler.add(Task::new("others", "machine", period, Box::new(look)));
    Probes::start(vec![sampler])
}

/// A source to sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProbeSource {
    /// Place of its readings.
    pub place: String,
    /// Time between two samples.
    pub period: Duration,
    /// Kind of the source.
    pub what: SourceKind,
}

/// Kind of a source to sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SourceKind {
    /// The whole machine, except devices that belong to simulated hosts.
    Machine {
        /// Names of these devices.
        without: Vec<String>,
    },
    /// Resources of a simulated host and their use, which only its own agent sees.
    StandIn(HostSources),
    /// A process by its id.
    Process(u32),
}

/// Interval between readings of NUMA placement: each reading prevents the process under test from
/// mapping memory for 50 ms.
const NUMA_PERIOD: Duration = Duration::from_secs(60);

/// Returns the tasks that sample one source.
///
/// # Errors
/// A file that every kernel has cannot be read, or the process does not exist.
pub fn tasks(watched: &ProbeSource) -> Result<Vec<Task>> {
    let ProbeSource { place, period, .. } = watched;
    let hosts = |look| Task::new("hosts", place, *period, look);
    let mut tasks = Vec::new();
    match &watched.what {
        SourceKind::Machine { without } => {
            let machine = hosts::MachineProbe::open(place, without.clone())?;
            tasks.push(hosts(Box::new(machine)));
        }
        SourceKind::StandIn(sources) => {
            tasks.push(hosts(Box::new(hosts::stand_in(place, sources)?)))
        }
        SourceKind::Process(pid) => {
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

/// Returns the readings that this machine does not offer, with the reason and the remedy.
pub fn unseen() -> Option<String> {
    let pressure = Path::new("/proc/pressure/cpu").exists();
    (!pressure).then(|| {
        "pressure (psi.*), because this kernel does not report it: boot the kernel with `psi=1`"
            .to_string()
    })
}
