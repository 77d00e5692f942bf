//! Probes of one node: metrics of its JVM and of the database, and pauses from its collector log.
//! They use the network. Probes of machine, hosts and processes, and the sampling threads, are in
//! [`host::probe`].

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

/// Probes to run, each with its sampling interval. `None` disables a probe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Machine and simulated hosts: CPUs, memory, devices, network, pressure.
    pub hosts: Option<Duration>,
    /// Processes of the nodes and this one.
    pub processes: Option<Duration>,
    /// JVMs of the nodes.
    pub jvm: Option<Duration>,
    /// Cassandra's own metrics.
    pub cassandra: Option<Duration>,
    /// Pauses from the collectors' logs.
    pub gc_log: Option<Duration>,
}
