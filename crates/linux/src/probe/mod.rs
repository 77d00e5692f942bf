//! Probes, which read figures of the machine, the simulated hosts and the processes at run time.
//! Threads of this process or of a host's agent (`host::Watch`) take samples at fixed periods. The
//! module also contains helpers for the samples of other crates.
//!
//! A probe is a list of [`SampledSource`]s, each with its period. Invariants: due times are
//! absolute, so they do not drift. A sample that would be too late is omitted and counted, and
//! never repeated later. If a sample fails, the failure is recorded once, and the sample is tried
//! again at its next due time. A thread that collects readings never waits for a sample. The CPU
//! clock of the sampling thread measures the cost of the samples. The readings include this cost,
//! so that a report can state it.

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
pub struct OwnProcesses<'a> {
    /// Places and process ids of the nodes.
    pub nodes: &'a [(&'a str, u32)],
    /// Process ids of cassay's agents.
    pub agents: &'a [u32],
    /// Devices of the volumes of cassay's hosts, by their names in `/sys/block`.
    pub devices: &'a [String],
}

/// Samples the foreign load of this machine, which is its usage minus that of `ours` and of this
/// process. The readings have the probe name `others`. The sampling is cheap enough for every
/// trial.
///
/// # Errors
/// The period is too short, or a file cannot be read. The message then names the file.
pub fn others(ours: &OwnProcesses<'_>, period: Duration) -> Result<Probes> {
    let mut sampler = Sampler::new("probe-others");
    let look = hosts::ForeignLoad::open(ours)?;
    sampler.add(Task::new("others", "machine", period, Box::new(look)));
    Probes::start(vec![sampler])
}

/// A source to sample.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProbeSource {
    /// Place of the readings.
    pub place: String,
    /// Time between two samples.
    pub period: Duration,
    /// Source that the probe samples.
    pub what: SourceKind,
}

/// Machine, simulated host or process that a probe samples.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum SourceKind {
    /// The whole machine, except the devices of simulated hosts.
    Machine {
        /// Names of the devices that belong to simulated hosts.
        without: Vec<String>,
    },
    /// Resources of a simulated host and their usage, which only the host's own agent can read.
    StandIn(HostSources),
    /// A process, identified by its id.
    Process(u32),
}

/// Interval between readings of NUMA placement. It is long because each reading prevents the
/// process under test from mapping memory for 50 ms.
const NUMA_PERIOD: Duration = Duration::from_secs(60);

/// Returns the tasks that sample one source.
///
/// # Errors
/// A file that every kernel has cannot be read, the process does not exist, or this process may not
/// read its NUMA placement.
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

/// Returns a text for each group of readings that this machine does not provide, with the reason
/// and the remedy.
pub fn unseen() -> Vec<String> {
    let has_pressure = Path::new("/proc/pressure/cpu").exists();
    let pressure = (!has_pressure).then(|| {
        "pressure (psi.*), because this kernel does not report it: boot the kernel with `psi=1`"
            .to_string()
    });
    pressure.into_iter().chain(hosts::unseen_counters()).collect()
}
