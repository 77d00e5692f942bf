//! Figures about the health of clients, for every second and at the end of a load.

use crate::codec::add_kinds;
use anyhow::{Context, Result};
use measure::outcome::OutcomeCounts;
use measure::{ClientCount, ClientInterval, Histogram, KindInterval, Outcome};

/// One interval of a client under load.
#[derive(Clone, Debug)]
pub struct ClientSecond {
    /// Index of the client in the fleet.
    pub client: usize,
    /// Number of the interval.
    pub index: u64,
    /// On the local monotonic clock.
    pub start_ns: u64,
    /// On the local monotonic clock.
    pub end_ns: u64,
    /// True if the load was draining, so that no further operations became due.
    pub draining: bool,
    /// Outcomes of the client's operations, including early ones.
    pub outcomes: OutcomeCounts,
    /// p50, p99 and maximum of the latencies of the client's successes, including early ones.
    pub latency_ns: [u64; 3],
    /// Figures that the client measures about itself.
    pub figures: ClientInterval,
}

/// Current state of a client under load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientNow {
    /// Name such as `client1`.
    pub name: String,
    /// `here`, the machine's name for `ssh`, or a pod and its Kubernetes node.
    pub place: String,
    /// Last interval of the client, if any.
    pub second: Option<SecondNow>,
    /// Time since the client's last message. 0 if the client has ended normally.
    pub silent_s: f64,
    /// Maximum error of the estimated offset of the client's clock. `None` if the offset is
    /// unknown.
    pub clock_bound_ms: Option<f64>,
    /// True if the controller has lost the client.
    pub is_lost: bool,
}

/// Summary of one interval of a client under load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondNow {
    pub ok_per_s: f64,
    /// Number of failed operations.
    pub errors: u64,
    /// p99 of the latencies of successful operations.
    pub p99_ms: f64,
    /// Number of operations that were sent more than 1 ms after their intended time.
    pub late: u64,
    /// CPU time of the client's workers, as a share of the interval and per worker.
    pub cpu_share: f64,
}

impl SecondNow {
    pub(crate) fn from_second(second: &ClientSecond, workers: usize) -> SecondNow {
        let seconds = second.end_ns.saturating_sub(second.start_ns).max(1) as f64 / 1e9;
        let cpus_s = seconds * workers.max(1) as f64;
        let [_, p99_ns, _] = second.latency_ns;
        SecondNow {
            ok_per_s: second.outcomes.get(Outcome::Ok) as f64 / seconds,
            errors: second.outcomes.errors(),
            p99_ms: p99_ns as f64 / 1e6,
            late: second.figures.counts[ClientCount::Late],
            cpu_share: second.figures.cpu_ns as f64 / 1e9 / cpus_s,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ClientEnd {
    /// Name such as `client1`.
    pub name: String,
    /// `here`, the machine's name for `ssh`, or a pod and its Kubernetes node.
    pub place: String,
    /// Number of event loops.
    pub workers: usize,
    /// Number of connections at the start line.
    pub connections: usize,
    pub operations_sent: u64,
    /// Time by which the client learned of the start line too late. 0 if it was in time.
    pub late_ns: u64,
    /// Largest error bound of the estimated offset of the client's clock.
    pub bound_ns: u64,
    /// Times at which the client's monotonic clock or the local clock was set or stopped. Each
    /// entry has the local time and the amount of the change, in ns.
    pub breaks: Vec<(u64, i64)>,
    /// Times at which the client's wall clock was set. Each entry has the local time and the amount
    /// of the change, in ns.
    pub set: Vec<(u64, i64)>,
    /// Time for which a CPU quota kept the client from running. `None` if the system does not
    /// measure it.
    pub throttled_ns: Option<u64>,
    /// Latencies of the client's successes in the measured population.
    pub latency: Histogram,
    /// Times of this client's operations in the measured population, by kind.
    pub population: Population,
    /// Sentence about the loss of the client, with its name, the reason and the time.
    pub lost: Option<String>,
}

/// Times of one client's operations in the measured population, by kind. Unpacked, the times of a
/// hundred clients and a few kinds would take a GB.
#[derive(Clone, Debug, Default)]
pub struct Population {
    kinds_count: usize,
    /// Texts with packed kinds, each with the index of its first kind.
    packed: Vec<(usize, String)>,
}

impl Population {
    /// Adds a packed text with some of `kinds_count` kinds, the first of which has the index `at`.
    /// Returns the added kinds.
    ///
    /// # Errors
    /// The text was not made by `pack_kinds`, or has too many kinds.
    pub(crate) fn add(
        &mut self,
        kinds_count: usize,
        at: usize,
        packed: String,
    ) -> Result<Vec<KindInterval>> {
        let mut kinds = vec![KindInterval::default(); kinds_count];
        add_kinds(
            &packed,
            kinds.get_mut(at..).context("find the kinds of operations of the program")?,
        )?;
        self.kinds_count = kinds_count;
        self.packed.push((at, packed));
        Ok(kinds)
    }

    /// Returns the latencies, service times and times of failures of each kind, in the program's
    /// order. Empty for a client that was lost before it reported these times.
    pub fn kinds(&self) -> Vec<KindInterval> {
        let mut kinds = vec![KindInterval::default(); self.kinds_count];
        for (at, packed) in &self.packed {
            add_kinds(packed, &mut kinds[*at..]).expect("the figures were checked on arrival");
        }
        kinds
    }
}

/// Estimate of a client's clock at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Index of the client in the fleet.
    pub client: usize,
    /// Time of the estimate on the local monotonic clock.
    pub at_ns: u64,
    /// Client's monotonic clock minus the local clock.
    pub ahead_ns: i64,
    /// Maximum error of the offset.
    pub bound_ns: u64,
}

/// Returns the time for which a quota kept this process's control group from its CPUs since its
/// creation, in ns. Returns `None` without control groups of version 2.
pub(crate) fn throttled_ns() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = format!("/sys/fs/cgroup{own}/cpu.stat");
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    Some(line.trim().parse::<u64>().ok()?.saturating_mul(1000))
}
