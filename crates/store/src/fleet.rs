//! What stands in a run of the clients of several machines.

use crate::event::MachineFacts;
use crate::record::{LagRecord, QuantilesRecord};
use serde::{Deserialize, Serialize};

/// A client that is there, and its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientMachineRecord {
    /// `client1`, ….
    pub name: String,
    /// `here`, or as `ssh` knows the machine.
    pub place: String,
    /// CPUs that it may use.
    pub cpus: usize,
    /// What the machine is.
    pub machine: MachineFacts,
}

/// What one client of several came to in the measured window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientEndRecord {
    /// `client1`, ….
    pub name: String,
    /// `here`, or as `ssh` knows the machine.
    pub place: String,
    /// Worker threads.
    pub workers: usize,
    /// Connections, all nodes.
    pub connections: usize,
    /// Operations that ended well, per second.
    pub ops_per_s: f64,
    /// The same as a share of all clients'.
    pub share: f64,
    /// Latencies of its successes, ms: of this client alone. Null where it was lost and has not
    /// told them, or nothing succeeded.
    pub latency_ms: Option<QuantilesRecord>,
    /// Release lag, µs; zeros in a closed loop.
    pub lag_us: LagRecord,
    /// CPU used, as a share of the cores that its workers had.
    pub cpu_share: f64,
    /// What it reaches by itself on a null target of its own, op/s, each time that it was measured.
    pub ceilings_ops_per_s: Vec<f64>,
    /// The longest stall (a late timer on its cores), ms. Absent if nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_ms_longest: Option<f64>,
    /// Time in which its workers waited for a CPU, as a share of the cores that they had. Absent
    /// where the kernel does not count it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_share: Option<f64>,
    /// Time for which a quota kept it from its CPUs, as a share of the window. Absent where that is
    /// not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_share: Option<f64>,
    /// By how much it was told too late of the start line, ms.
    pub late_ms: f64,
    /// How well its clock was known at the worst, ms.
    pub clock_bound_ms: f64,
    /// When the clock by which it measures was set or stood still.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_breaks: Vec<ClockMovedRecord>,
    /// When its clock of the day was set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clock_set: Vec<ClockMovedRecord>,
    /// That it was lost, how and when. Absent if it was there to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// A clock that moved against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockMovedRecord {
    /// When, in seconds since the trial's start line.
    pub at_s: f64,
    /// By how much, s.
    pub by_s: f64,
}

/// A line of `clients.ndjson`: an interval of one client.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientSecondRecord {
    /// Begin, in seconds since the trial's start line.
    pub t_s: f64,
    /// Length, s.
    pub seconds: f64,
    /// `client1`, ….
    pub client: String,
    /// Whether nothing became due any more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub draining: bool,
    /// Operations that ended well.
    pub ok: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Latencies of its successes, ms.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Release lag, p99, µs; 0 in a closed loop.
    pub lag_p99_us: f64,
    /// CPU time of its workers, ms.
    pub cpu_ms: f64,
    /// Time in stalls of over 10 ms, ms.
    pub stalled_ms: f64,
    /// Operations in flight at the end.
    pub in_flight: u64,
}

/// A line of `clocks.ndjson`: what was known of a client's clock at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockRecord {
    /// In seconds since the trial's start line.
    pub t_s: f64,
    /// `client1`, ….
    pub client: String,
    /// How far its monotonic clock is ahead of the controller's, ns.
    pub ahead_ns: i64,
    /// The truth is not further away than that, ns.
    pub bound_ns: u64,
}
