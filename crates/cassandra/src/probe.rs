//! Probes of one node, which query the node over the network. They read metrics of its JVM and of
//! the database, and pauses from the log of its garbage collector. [`host::probe`] contains the
//! probes of machines, hosts and processes, and the sampling threads.

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

/// Probes to run, each with its sampling interval. `None` means that the probe does not run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSpec {
    /// Probe of the machine and of simulated hosts: CPUs, memory, devices, network, pressure.
    pub hosts: Option<Duration>,
    /// Probe of the nodes' processes, and of this process.
    pub processes: Option<Duration>,
    /// Probe of the JVMs of the nodes.
    pub jvm: Option<Duration>,
    /// Probe of Cassandra's own metrics.
    pub cassandra: Option<Duration>,
    /// Probe of pauses from the logs of garbage collectors.
    pub gc_log: Option<Duration>,
}
