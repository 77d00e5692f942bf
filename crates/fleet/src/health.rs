//! How clients are: what each of them saw of itself, second by second and at the end.

use crate::codec::add_kinds;
use anyhow::{Context, Result};
use measure::outcome::OutcomeCounts;
use measure::{ClientCount, ClientInterval, Histogram, KindInterval, Outcome};

/// What one client's interval came to.
#[derive(Clone, Debug)]
pub struct ClientSecond {
    /// Its place in the fleet, from 0.
    pub client: usize,
    /// Number of the interval.
    pub index: u64,
    /// Begin, by our monotonic clock.
    pub start_ns: u64,
    /// End, by our monotonic clock.
    pub end_ns: u64,
    /// Whether nothing became due any more.
    pub draining: bool,
    /// How its operations ended, early ones too.
    pub outcomes: OutcomeCounts,
    /// Latencies of its successes, early ones too: p50, p99 and the longest, in ns.
    pub latency_ns: [u64; 3],
    /// The instrument's own figures.
    pub figures: ClientInterval,
}

/// How a client stands while load goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientNow {
    /// `client1`, ….
    pub name: String,
    /// Where it runs: `here`, or as `ssh` knows it.
    pub place: String,
    /// Its last interval; none before the first.
    pub second: Option<SecondNow>,
    /// For how long nothing was heard of it, in seconds; 0 when it has ended as it should.
    pub silent_s: f64,
    /// Its clock is not further from what is thought than that, in ms; none if it is not known.
    pub clock_bound_ms: Option<f64>,
    /// Whether it is lost.
    pub is_lost: bool,
}

/// What stands of a client's interval while load goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondNow {
    /// Operations that ended well, per second.
    pub ok_per_s: f64,
    /// Operations that failed.
    pub errors: u64,
    /// p99 of the latencies of its successes, in ms.
    pub p99_ms: f64,
    /// Operations sent more than 1 ms after they were due.
    pub late: u64,
    /// CPU time of its workers, as a share of a CPU for each of them.
    pub cpu_share: f64,
}

impl SecondNow {
    pub(crate) fn of(second: &ClientSecond, workers: usize) -> SecondNow {
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

/// What a client came to.
#[derive(Clone, Debug, Default)]
pub struct ClientEnd {
    /// `client1`, ….
    pub name: String,
    /// Where it ran: `here`, or as `ssh` knows it.
    pub place: String,
    /// Its event loops.
    pub workers: usize,
    /// Its connections at the start line.
    pub connections: usize,
    /// Operations that it sent.
    pub operations_sent: u64,
    /// By how much it was told of the start line too late, in ns; 0: in time.
    pub late_ns: u64,
    /// Its clock was never further from what was thought than that, in ns.
    pub bound_ns: u64,
    /// When its monotonic clock, or ours, was set or stood still: our time, and by how much, in ns.
    pub breaks: Vec<(u64, i64)>,
    /// When its clock of the day was set: our time, and by how much, in ns.
    pub set: Vec<(u64, i64)>,
    /// Time for which the system kept it from its CPUs because of a quota, in ns; none where that
    /// is not counted.
    pub throttled_ns: Option<u64>,
    /// Latencies of its successes of the population.
    pub latency: Histogram,
    /// Times of the population, by kind.
    pub population: Population,
    /// That it was lost, how and when: a sentence with its name; none if it was there to the end.
    pub lost: Option<String>,
}

/// Times of what one client did of the measured population, by kind. Packed: unpacked, those of a
/// hundred clients and a few kinds take a GB.
#[derive(Clone, Debug, Default)]
pub struct Population {
    kinds_count: usize,
    /// Of the kinds from a number on.
    packed: Vec<(usize, String)>,
}

impl Population {
    /// Adds the times of kinds from number `at` on, of so many kinds in all; what these are.
    ///
    /// # Errors
    /// The text is none of `pack_kinds`, or has more kinds.
    pub(crate) fn add(
        &mut self,
        kinds_count: usize,
        at: usize,
        packed: String,
    ) -> Result<Vec<KindInterval>> {
        let mut kinds = vec![KindInterval::default(); kinds_count];
        add_kinds(&packed, kinds.get_mut(at..).context("kinds of no program")?)?;
        self.kinds_count = kinds_count;
        self.packed.push((at, packed));
        Ok(kinds)
    }

    /// Latencies, service times and times of failures of each kind, in the program's order; nothing
    /// else of it. Empty of a client that was lost before it told.
    pub fn kinds(&self) -> Vec<KindInterval> {
        let mut kinds = vec![KindInterval::default(); self.kinds_count];
        for (at, packed) in &self.packed {
            add_kinds(packed, &mut kinds[*at..]).expect("they were unpacked when they came");
        }
        kinds
    }
}

/// What was known of a client's clock at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// Its place in the fleet, from 0.
    pub client: usize,
    /// Our monotonic clock.
    pub at_ns: u64,
    /// How far its monotonic clock is ahead of ours.
    pub ahead_ns: i64,
    /// The truth is not further away than that.
    pub bound_ns: u64,
}

/// Time for which the group of this process was kept from its CPUs by a quota, since its begin;
/// none where the system does not count it (control groups of version 1, or none).
pub(crate) fn throttled_ns() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let path = format!("/sys/fs/cgroup{own}/cpu.stat");
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("throttled_usec "))?;
    Some(line.trim().parse::<u64>().ok()?.saturating_mul(1000))
}
