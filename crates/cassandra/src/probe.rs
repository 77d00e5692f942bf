//! Probes of one node: its JVM and Cassandra metrics, and pauses from its garbage collector log.
//! [`host::probe`] contains the probes of machines, hosts and processes, and the sampling threads.

mod beans;
mod cassandra;
mod gc_log;
mod jvm;
mod probe_choice;
mod virtual_tables;

pub use gc_log::GcLog;
pub use host::probe::{ProbeCost, Probes, Reading};
pub use probe_choice::{BY_AGENT, NO_METRICS, ONLY_BY_MBEANS};

use std::time::Duration;

/// Sampling interval of each probe. `None` means that the probe does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Probe of the machine and of simulated hosts.
    pub hosts: Option<Duration>,
    /// Probe of the nodes' processes and of the cassay process.
    pub processes: Option<Duration>,
    pub jvm: Option<Duration>,
    pub cassandra: Option<Duration>,
    /// Probe of the garbage collector logs.
    pub gc_log: Option<Duration>,
}
