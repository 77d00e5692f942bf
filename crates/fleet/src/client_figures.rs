//! The health of clients: each client's own figures, second by second and at the end.

use crate::codec::add_kinds;
use anyhow::{Context, Result};
use measure::outcome::OutcomeCounts;
use measure::{ClientCount, ClientInterval, Histogram, KindInterval, Outcome};

/// One interval of one client.
#[derive(Clone, Debug)]
pub struct ClientSecond {
    /// Position in the fleet, from 0.
    pub client: usize,
    /// Number of the interval.
    pub index: u64,
    /// Start, local monotonic clock.
    pub start_ns: u64,
    /// End, local monotonic clock.
    pub end_ns: u64,
    /// True if no more operations became due.
    pub draining: bool,
    /// Outcomes of its operations, including early operations.
    pub outcomes: OutcomeCounts,
    /// Latencies of its successes, including early successes: p50, p99 and the maximum, ns.
    pub latency_ns: [u64; 3],
    /// The instrument's own figures.
    pub figures: ClientInterval,
}

/// Current state of a client under load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientNow {
    /// `client1`, ….
    pub name: String,
    /// Place: `here`, or its name for `ssh`.
    pub place: String,
    /// Its last interval. `None` before the first.
    pub second: Option<SecondNow>,
    /// Time since its last message, seconds. 0 if it has ended normally.
    pub silent_s: f64,
    /// Maximum error of its estimated clock offset, ms. `None` if it is unknown.
    pub clock_bound_ms: Option<f64>,
    /// True if it is lost.
    pub is_lost: bool,
}

/// Summary of a client's interval under load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondNow {
    /// Successful operations per second.
    pub ok_per_s: f64,
    /// Number of failed operations.
    pub errors: u64,
    /// p99 of the latencies of its successes, ms.
    pub p99_ms: f64,
    /// Operations sent more than 1 ms after their intended time.
    pub late: u64,
    /// CPU time of its workers, as a share of one CPU per worker.
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

/// Final results of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientEnd {
    /// `client1`, ….
    pub name: String,
    /// Place: `here`, or its name for `ssh`.
    pub place: String,
    /// Number of event loops.
    pub workers: usize,
    /// Number of connections at the start line.
    pub connections: usize,
    /// Number of operations that it sent.
    pub operations_sent: u64,
    /// Delay with which it learned of the start line, ns. 0 if it was in time.
    pub late_ns: u64,
    /// Largest error bound of its estimated clock offset, ns.
    pub bound_ns: u64,
    /// Times at which its monotonic clock, or the local one, was set or stood still: local time,
    /// and the amount, ns.
    pub breaks: Vec<(u64, i64)>,
    /// Times at which its wall clock was set: local time, and the amount, ns.
    pub set: Vec<(u64, i64)>,
    /// Time for which a quota kept it from its CPUs, ns. `None` if the system does not count it.
    pub throttled_ns: Option<u64>,
    /// Latencies of its successes in the population.
    pub latency: Histogram,
    /// Times of the population, by kind.
    pub population: Population,
    /// Sentence on the reason and time of its loss, with its name. `None` if it stayed to the end.
    pub lost: Option<String>,
}

/// Times of one client's part of the measured population, by kind. They are packed, because those
/// of a hundred clients and a few kinds would otherwise take a GB.
#[derive(Clone, Debug, Default)]
pub struct Population {
    kinds_count: usize,
    /// Number of the first kind, and the packed kinds.
    packed: Vec<(usize, String)>,
}

impl Population {
    /// Adds the times of kinds from number `at` on, out of `kinds_count` kinds. Returns them.
    ///
    /// # Errors
    /// The text is not from `pack_kinds`, or has more kinds.
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

    /// Returns latencies, service times and times of failures of each kind, in the program's order,
    /// without other data. Empty for a client that was lost before it reported.
    pub fn kinds(&self) -> Vec<KindInterval> {
        let mut kinds = vec![KindInterval::default(); self.kinds_count];
        for (at, packed) in &self.packed {
            add_kinds(packed, &mut kinds[*at..]).expect("they were unpacked when they came");
        }
        kinds
    }
}

/// Knowledge about a client's clock at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Position in the fleet, from 0.
    pub client: usize,
    /// Local monotonic clock, ns.
    pub at_ns: u64,
    /// Offset of its monotonic clock to the local one, ns. Positive if it is ahead.
    pub ahead_ns: i64,
    /// Maximum error of the offset, ns.
    pub bound_ns: u64,
}

/// Returns the time for which a quota kept this process's control group from its CPUs since the
/// group was created. `None` if the system does not count it (control groups of version 1, or
/// none).
pub(crate) fn throttled_ns() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = format!("/sys/fs/cgroup{own}/cpu.stat");
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    Some(line.trim().parse::<u64>().ok()?.saturating_mul(1000))
}
