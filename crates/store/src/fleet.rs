//! Records of the clients of several machines in a run.

use crate::event::MachineFacts;
use crate::record::{LagRecord, QuantilesRecord};
use serde::{Deserialize, Serialize};

/// A client that is connected, and its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientMachineRecord {
    /// Name of the client, such as `client1`.
    pub name: String,
    /// Place of the client: `here`, or the name of its machine for `ssh`.
    pub place: String,
    /// Number of CPUs that the client may use.
    pub cpus: usize,
    /// Facts about the machine.
    pub machine: MachineFacts,
}

/// Figures of one of several clients in the measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientEndRecord {
    /// Name of the client, such as `client1`.
    pub name: String,
    /// Place of the client: `here`, or the name of its machine for `ssh`.
    pub place: String,
    /// Number of worker threads.
    pub workers: usize,
    /// Number of connections to all nodes.
    pub connections: usize,
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Share of the client in the successful operations of all clients.
    pub share: f64,
    /// Latency of the client's successful operations, ms. `null` if the client was lost before it
    /// reported them, or if no operation succeeded.
    pub latency_ms: Option<QuantilesRecord>,
    /// Release lag, µs; 0 in a closed loop.
    pub lag_us: LagRecord,
    /// CPU time of the workers, as a share of the time of their cores.
    pub cpu_share: f64,
    /// Ceilings: throughput of the client alone on a separate null target, op/s, one value for each
    /// measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Longest stall of the client (a late timer on its cores), ms. Absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time in which workers were runnable but had no CPU, as a share of the time of their cores.
    /// Absent if the kernel does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Time in which a quota denied CPU time to the client, as a share of the window. Absent if the
    /// system does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
    /// Delay with which the client received the start line, ms; 0 if it arrived in time.
    pub late_ms: f64,
    /// Largest error bound of the estimated offset of the client's clock, ms.
    pub clock_bound_ms: f64,
    /// Times at which the monotonic clock of the client or the controller was set or stopped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_breaks: Vec<ClockMovedRecord>,
    /// Times at which the wall clock of the client was set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_set: Vec<ClockMovedRecord>,
    /// Sentence on how and when the client was lost. Absent if it remained until the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// A jump of a clock relative to another clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockMovedRecord {
    /// Time of the jump, s since the trial's start line.
    pub at_s: f64,
    /// Size of the jump, s.
    pub by_s: f64,
}

/// A line of `clients.ndjson`, about one client in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientSecondRecord {
    /// Start of the interval, s since the trial's start line.
    pub t_s: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    /// Name of the client, such as `client1`.
    pub client: String,
    /// True if no more operations became due in the interval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
    /// Number of operations that succeeded.
    pub ok: u64,
    /// Number of operations that failed.
    pub errors: u64,
    /// Median latency of the client's successful operations, ms.
    pub p50_ms: f64,
    /// 99th percentile of the latency of the client's successful operations, ms.
    pub p99_ms: f64,
    /// Largest latency of the client's successful operations, ms.
    pub max_ms: f64,
    /// p99 of the release lag, µs; 0 in a closed loop.
    pub lag_p99_us: f64,
    /// CPU time of the workers, ms.
    pub cpu_ms: f64,
    /// Total length of stalls of at least 10 ms, ms.
    pub stalled_ms: f64,
    /// Operations in flight at the end of the interval.
    pub in_flight: u64,
}

/// A line of `clocks.ndjson`, with an estimate of the offset of a client's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockRecord {
    /// Time of the estimate, s since the trial's start line.
    pub t_s: f64,
    /// Name of the client, such as `client1`.
    pub client: String,
    /// Time by which the client's monotonic clock is ahead of the controller's, ns.
    pub ahead_ns: i64,
    /// Error bound of the estimated offset, ns.
    pub bound_ns: u64,
}
