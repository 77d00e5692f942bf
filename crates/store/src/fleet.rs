//! Records of the clients of a run that uses several client machines.

use crate::event::MachineFacts;
use crate::record::{LagRecord, QuantilesRecord};
use serde::{Deserialize, Serialize};

/// A connected client, with its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientMachineRecord {
    /// Name of the client, such as `client1`.
    pub name: String,
    /// Location of the client: `here`, or the name of its machine for `ssh`.
    pub place: String,
    /// Number of CPUs that the client may use.
    pub cpus: usize,
    /// Facts about the client's machine.
    pub machine: MachineFacts,
}

/// Figures of one of several clients for the measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientEndRecord {
    /// Name of the client, such as `client1`.
    pub name: String,
    /// Location of the client: `here`, or the name of its machine for `ssh`.
    pub place: String,
    /// Number of worker threads of the client.
    pub workers: usize,
    /// Number of connections from the client to all nodes.
    pub connections: usize,
    /// Successful operations of the client per second.
    pub ops_per_s: f64,
    /// Number of successful operations of this client, as a share of the successful operations of
    /// all clients.
    pub share: f64,
    /// Latency of the client's successful operations, ms. `null` if the client was lost before it
    /// reported latencies, or if no operation succeeded.
    pub latency_ms: Option<QuantilesRecord>,
    /// Release lag, µs; 0 in a closed loop.
    pub lag_us: LagRecord,
    /// CPU time of the client's workers, as a share of the time of their cores.
    pub cpu_share: f64,
    /// Ceilings of the client in op/s. A ceiling is the throughput that the client reached alone on
    /// a separate null target. Each measurement adds one value.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Longest stall of the client (a late timer on its cores), ms. Absent if stalls were not
    /// measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time in which workers were runnable but had no CPU, as a share of the time of their cores.
    /// Absent if the kernel does not measure this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Time in which a CPU quota throttled the client, as a share of the window. Absent if the
    /// system does not measure this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
    /// Delay with which the client received the start line, ms. 0 if the start line arrived in
    /// time.
    pub late_ms: f64,
    /// Largest error bound of the estimated offset of the client's clock, ms.
    pub clock_bound_ms: f64,
    /// Jumps of the monotonic clock of the client or of the controller, each with its time. The
    /// clock was set or had stopped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_breaks: Vec<ClockMovedRecord>,
    /// Jumps of the wall clock of the client, which was set at these times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_set: Vec<ClockMovedRecord>,
    /// Sentence that describes how and when the client was lost. Absent if the client was connected
    /// until the end.
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
    /// True if the client was only draining, so that no more operations became due in the interval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
    /// Number of the client's operations that succeeded in the interval.
    pub ok: u64,
    /// Number of the client's operations that failed in the interval.
    pub errors: u64,
    /// Median latency of the client's successful operations, ms.
    pub p50_ms: f64,
    /// 99th percentile of the latency of the client's successful operations, ms.
    pub p99_ms: f64,
    /// Largest latency of the client's successful operations, ms.
    pub max_ms: f64,
    /// 99th percentile of the release lag, µs; 0 in a closed loop.
    pub lag_p99_us: f64,
    /// CPU time of the client's workers in the interval, ms.
    pub cpu_ms: f64,
    /// Total time in stalls that lasted at least 10 ms each, ms.
    pub stalled_ms: f64,
    /// Number of operations in flight at the end of the interval.
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
    /// Time by which the client's monotonic clock is ahead of the controller's clock, ns.
    pub ahead_ns: i64,
    /// Error bound of the estimated offset, ns.
    pub bound_ns: u64,
}
