//! Evidence for the rules, in one plain struct that the study engine fills after a trial.
//!
//! Every field covers the measured window unless its comment states otherwise. `None` means that
//! the value was not read; the rule then returns an unknown outcome. The default is a trial about
//! which nothing is known.

use super::client_evidence::ClientSeen;
use crate::durability::Promise;
use crate::trend::{self, Trend};
use crate::warmup_end::SteadyState;
use measure::interval::CheckCounts;
use measure::{ClientCounts, Histogram, IntervalConsumer, KindCounts, Outcome, SummedInterval};

/// Maximum number of throughput values that the test for a trend uses.
const TREND_VALUES_MAX: usize = 300;

/// Evidence of one trial.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Offered rate. `None` in a closed loop.
    pub offered: Option<OfferedLoad>,
    /// Sums over the measured window.
    pub window: Window,
    /// Length of the window in the plan, s; 0 if the run ends by a number of operations.
    pub planned_s: f64,
    /// Reason why the trial ended early.
    pub aborted: Option<String>,
    /// End of an automatic warm-up. `None` if the study fixed its length.
    pub warmup: Option<SteadyState>,
    /// True for the null target, with which the trial measures the client.
    pub target_is_null: bool,
    /// Number of cores of the client's workers.
    pub client_cores: f64,
    /// True if nodes also run on the client's cores.
    pub shares_cores: bool,
    /// Ceilings of the same program on the null target on this machine, op/s, one value for each
    /// measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Evidence on each client, if there are several. Empty if one process offered the load.
    pub clients: Vec<ClientSeen>,
    /// Movement of the machine's clock during the trial.
    pub clock: Option<ClockMove>,
    /// Use of the machine that the client runs on.
    pub machine: Option<MachineUse>,
    /// The server's counts over the whole trial, or the reason why they cannot be compared. `None`
    /// if they were not read.
    pub server: Option<Result<ServerCounts, String>>,
    /// End of settling.
    pub settle: Option<Settle>,
    /// Pending compactions of all nodes over the window, in order of time.
    pub pending_compactions: Option<Vec<f64>>,
    /// Changes of the nodes and hosts during the trial.
    pub environment: Option<Environment>,
    /// Unexpected exceptions on nodes during the trial, one sentence each. `None` if no node
    /// reports them.
    pub exceptions: Option<Vec<String>>,
    /// True if the consistency levels allow a read to miss an acknowledged write (R + W <= RF).
    pub weak_consistency: bool,
    /// Reads of the window, and of rows sampled after it, compared with the written data.
    pub checks: CheckCounts,
    /// True if rows from before the load may have another tool, seed or length.
    pub has_strange_rows: bool,
    /// Reads of rows that exist according to the study. `None` without such rows.
    pub found: Option<PresentRows>,
    /// Reads that the workload cannot judge, with the reason: one sentence each.
    pub not_compared: Vec<String>,
    /// Promise of the configuration about acknowledged writes.
    pub promise: Option<Promise>,
    /// All rows read back, if the study requests that.
    pub read_back: Option<ReadBack>,
    /// Histories of registers, if the workload has registers.
    pub registers: Option<Registers>,
    /// Reasons why nodes rejected requests, from their logs and volumes: one sentence each.
    pub causes: Vec<String>,
    /// Planned faults.
    pub faults: Vec<FaultEvidence>,
    /// Missing parts of the record, such as `seed`. Empty if the record is complete.
    pub not_recorded: Option<Vec<String>>,
    /// Size of the data on a node and of the memory that can cache it, in bytes.
    pub data_and_memory_bytes: Option<(u64, u64)>,
    /// CPU time that the probes used, as a share of one core; 0 if no probe ran.
    pub probes_cpu_share: Option<f64>,
}

impl Evidence {
    /// Returns the kinds of the planned faults, if any: `node-stop, rolling-upgrade`.
    pub(super) fn faults_words(&self) -> Option<String> {
        let kinds = self.faults.iter().map(|fault| fault.kind.as_str());
        let kinds = Vec::from_iter(std::collections::BTreeSet::from_iter(kinds));
        (!kinds.is_empty()).then(|| kinds.join(", "))
    }
}

/// Reads of rows that exist according to the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresentRows {
    /// Number of reads that were answered.
    pub reads: u64,
    /// Number of answered reads that found no row.
    pub nothing: u64,
}

/// Result of reading all rows back after the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// Result of comparing the rows with the written data.
    pub checks: CheckCounts,
    /// Number of rows that no read could reach.
    pub unread: u64,
    /// Lost writes by time, if the time of an allowed loss is limited.
    pub lost: Option<LostWritesByAckTime>,
}

/// Lost writes by time of acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostWritesByAckTime {
    /// Time before a failure within which an acknowledged write may be lost, in seconds.
    pub within_s: f64,
    /// Number of rows with a lost write that was acknowledged outside `within_s`.
    pub unexplained: u64,
    /// Latest time at which the oldest lost write was acknowledged, s since the trial's start line.
    /// `None` if unknown.
    pub oldest_s: Option<f64>,
}

/// Result of judging the histories of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Number of histories. Each is the history of one register.
    pub checked: u64,
    /// Number of histories that no order of their operations explains.
    pub violated: u64,
    /// Number of histories for which the search gave up before a decision.
    pub undecided: u64,
}

/// Movement of the wall clock against the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockMove {
    /// Gain or loss of the wall clock, s.
    pub moved_s: f64,
    /// Time that passed on the monotonic clock, in seconds.
    pub over_s: f64,
}

/// Open schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Number of operations that were due in the window.
    pub operations: f64,
    /// True if the number of operations is random (Poisson).
    pub is_random: bool,
}

impl OfferedLoad {
    /// Returns the operations that are due in a window of `span_s` seconds at a rate. A run that
    /// ends by number offers at most `count` operations, and its window lasts until the last
    /// answer. The first operation is due at once, so a fraction of an interval also has one
    /// operation.
    pub fn at_rate(rate: u64, span_s: f64, count: Option<u64>, is_random: bool) -> OfferedLoad {
        let due = rate as f64 * span_s;
        let due = if is_random {
            due
        } else {
            // In floating point, a window of whole seconds is not exactly that long.
            (due - 1e-6 * due.max(1.0)).ceil()
        };
        OfferedLoad {
            operations: count.map_or(due, |count| due.min(count as f64)),
            is_random,
        }
    }
}

/// Use of the machine that the client runs on, as means over the window. Unreadable values are
/// absent, and `unseen` contains the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineUse {
    /// CPU time as shares of the CPUs that the client may use.
    pub cpu: Option<CpuUse>,
    /// Share of time in which the busiest disk worked for neither nodes nor client.
    pub disk_others: Option<f64>,
    /// Shares of time in which some task waited for a CPU or a disk, or all tasks waited for memory
    /// (pressure stall information).
    pub pressure: Pressure,
    /// True if nodes that cassay did not start run on this machine. Their use cannot be
    /// distinguished from that of other programs.
    pub has_strange_nodes: bool,
    /// Reason why some values could not be read.
    pub unseen: Option<String>,
}

/// Shares of the CPUs' time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// CPU time used by neither the nodes nor the client.
    pub others: f64,
    /// CPU time used by the nodes that cassay started.
    pub nodes: f64,
    /// CPU time used by all threads of the client's process.
    pub client: f64,
    /// Number of CPUs.
    pub cpus: f64,
}

/// Pressure stall information, as shares of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Share of the time in which some task waited for a CPU.
    pub cpu: Option<f64>,
    /// Share of the time in which some task waited for a disk.
    pub io: Option<f64>,
    /// Share of the time in which all tasks that could have run waited for memory.
    pub memory: Option<f64>,
}

/// Sums over a run's intervals. Some cover the population: every operation that was due in the
/// measured window. Others cover the operations that ended within the window.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Length of the window without the drain, s.
    pub seconds: f64,
    /// Length of the longest interval, s.
    pub interval_longest_s: f64,
    /// Longest gap between two intervals, s.
    pub gap_longest_s: f64,
    /// Operations of the population that succeeded, at any time.
    pub ok: u64,
    /// Operations that succeeded within `seconds`, whenever they were due. Basis of throughput.
    pub ok_in_time: u64,
    /// Failed operations of the population, by outcome. Outcomes without operations are omitted.
    pub errors: Vec<(Outcome, u64)>,
    /// Numbers of values in the population's latency, service and error histograms.
    pub values_count: [u64; 3],
    /// Number of values in the population's histogram of operations with unknown ends.
    pub censored_count: u64,
    /// Sums of latency and of service time, ns.
    pub sums_ns: [f64; 2],
    /// Number of latency buckets that are not empty.
    pub buckets_used: usize,
    /// Number of latencies at the upper bound of the histogram.
    pub clamped: u64,
    /// Counts of operations that had not been sent.
    pub client: ClientCounts,
    /// Sums of the counts of all kinds of operations.
    pub counts: KindCounts,
    /// CPU time of the workers, ns.
    pub cpu_ns: u64,
    /// Time in which the workers were runnable and had no CPU, ns. `None` if the kernel does not
    /// count it.
    pub wait_ns: Option<u64>,
    /// Longest delay of a timer on the client's cores, s. `None` if it was not measured.
    pub stall_longest_s: Option<f64>,
    /// Sum of the stalls of the client, s.
    pub stalled_s: f64,
    /// CPU time that the stall detection used, ns.
    pub stalls_cpu_ns: u64,
    /// Longest time without a response while responses were pending, s.
    pub quiet_longest_s: f64,
    /// Longest time without a response that ended in each interval, s.
    pub quiet_s: Vec<f64>,
    /// Successful operations per second in each interval. A short last interval joins another.
    pub ops_per_s: Vec<f64>,
    latency: Option<Histogram>,
    /// Start and end of the window, on the monotonic clock.
    span_ns: Option<(u64, u64)>,
    end_ns: u64,
    /// Length of the interval of the last value of `ops_per_s`, s.
    last_s: f64,
}

impl Window {
    /// Returns the seconds from the window's start to its end, in which the population was due. It
    /// equals `seconds`, unless the interval with the start had to be omitted.
    pub fn span_s(&self) -> f64 {
        let (from_ns, to_ns) = self.span_ns.unwrap_or_default();
        (to_ns - from_ns) as f64 / 1e9
    }

    /// Adds CPU time. That of the drain does not count, since it is not part of the window.
    fn push_cpu(&mut self, client: &measure::ClientInterval) {
        self.cpu_ns += client.cpu_ns;
        self.stalls_cpu_ns += client.hiccups.cpu_ns;
        if let Some(ns) = client.wait_ns {
            *self.wait_ns.get_or_insert(0) += ns;
        }
    }

    /// Adds stalls and silences. A silence at the start of the drain belongs to the window.
    fn push_silence(&mut self, client: &measure::ClientInterval) {
        if let Some(ns) = client.hiccups.longest_ns() {
            let longest_s = self.stall_longest_s.get_or_insert(0.0);
            *longest_s = longest_s.max(ns as f64 / 1e9);
        }
        self.stalled_s += client.hiccups.stalled_ns as f64 / 1e9;
        let quiet_s = client.quiet_ns as f64 / 1e9;
        self.quiet_longest_s = self.quiet_longest_s.max(quiet_s);
        self.quiet_s.push(quiet_s);
    }

    /// Returns the median latency of the successes, in seconds; 0 without successes.
    pub fn latency_median_s(&self) -> f64 {
        let median_ns = self.latency.as_ref().map_or(0, |all| all.quantile_ns(0.5));
        median_ns as f64 / 1e9
    }

    /// Adds time and throughput. The last interval before load stops can have any length. A short
    /// interval joins the value before, because it would weigh as much as a whole second.
    fn push_time(&mut self, seconds: f64, ok: u64) {
        let is_fragment = seconds < self.interval_longest_s / 2.0;
        self.seconds += seconds;
        self.ok_in_time += ok;
        self.interval_longest_s = self.interval_longest_s.max(seconds);
        match self.ops_per_s.last_mut() {
            Some(last) if is_fragment => {
                let together = self.last_s + seconds;
                *last = (*last * self.last_s + ok as f64) / together;
                self.last_s = together;
            }
            _ => {
                self.ops_per_s.push(ok as f64 / seconds);
                self.last_s = seconds;
            }
        }
    }

    /// Adds the counts of all kinds of operations together.
    fn push_kinds(&mut self, all: &measure::KindInterval) {
        self.ok += all.outcomes_of_population(Outcome::Ok);
        for &outcome in measure::outcome::OUTCOMES.iter().skip(1) {
            let count = all.outcomes_of_population(outcome);
            if count > 0 {
                match self.errors.iter_mut().find(|(seen, _)| *seen == outcome) {
                    Some((_, sum)) => *sum += count,
                    None => self.errors.push((outcome, count)),
                }
            }
        }
        let sides = [&all.latency, &all.service, &all.errors];
        for (sum, values) in self.values_count.iter_mut().zip(sides) {
            *sum += values.count();
        }
        for (sum, values) in self.sums_ns.iter_mut().zip(&sides[..2]) {
            *sum += if values.is_empty() {
                0.0
            } else {
                values.mean_ns() * values.count() as f64
            };
        }
        self.censored_count += all.censored.latency.count();
        self.clamped += all.latency.clamped_count();
        self.latency.get_or_insert_default().add(&all.latency);
        self.counts.add(&all.counts);
    }

    /// Returns the trend of throughput over the window. Neighbours are joined to a few hundred
    /// means at most, because the test takes quadratic time.
    pub fn trend(&self) -> Trend {
        let size = self.ops_per_s.len().div_ceil(TREND_VALUES_MAX).max(1);
        let means: Vec<f64> =
            self.ops_per_s.chunks(size).map(crate::autocorrelation::mean).collect();
        trend::trend_of_correlated(&means)
    }

    /// Returns the change of throughput over the window, as a share. `None` if the change is at
    /// most `allowed`, or due to chance.
    pub fn drift(&self, allowed: f64) -> Option<f64> {
        let trend = self.trend();
        trend.matters(allowed).then_some(trend.drift)
    }

    /// Returns the operations per second that succeeded within the window's time; 0 without a
    /// window.
    pub fn ops_per_s_mean(&self) -> f64 {
        if self.seconds > 0.0 {
            self.ok_in_time as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Returns the number of failed operations of the population.
    pub fn errors_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }

    /// Returns the number of operations of the population that ended, regardless of their outcome.
    pub fn ended(&self) -> u64 {
        self.ok + self.errors_count()
    }

    /// Returns the number of operations with `outcome`.
    pub fn errors_of(&self, outcome: Outcome) -> u64 {
        let found = self.errors.iter().find(|(seen, _)| *seen == outcome);
        found.map_or(0, |(_, count)| *count)
    }
}

impl IntervalConsumer for Window {
    /// Adds the next interval of the run. The population's values come from all intervals, time and
    /// throughput only from those in the window.
    fn push(&mut self, summed: &SummedInterval) {
        let (interval, all) = (&*summed.interval, &summed.all);
        self.push_kinds(all);
        self.buckets_used = self.latency.as_ref().map_or(0, Histogram::buckets_used);
        if !interval.is_measured() && !interval.draining {
            return;
        }
        if self.end_ns > 0 {
            let gap = interval.start_ns.saturating_sub(self.end_ns) as f64 / 1e9;
            self.gap_longest_s = self.gap_longest_s.max(gap);
        }
        self.end_ns = interval.end_ns;
        if interval.is_measured() && interval.end_ns > interval.start_ns {
            self.push_time(interval.seconds(), all.outcomes.get(Outcome::Ok));
            let from_ns = match interval.window_from_ns {
                0 => interval.start_ns,
                from_ns => from_ns,
            };
            let (from_ns, _) = self.span_ns.unwrap_or((from_ns, 0));
            self.span_ns = Some((from_ns, interval.end_ns));
            self.push_cpu(&interval.client);
        }
        let client = &interval.client;
        self.client.add(&client.counts);
        self.push_silence(client);
    }
}

/// Operation counts of both sides over the whole trial.
#[derive(Clone, Debug, Default)]
pub struct ServerCounts {
    /// Source of the server's counts.
    pub source: String,
    /// Reads and writes that the servers coordinated.
    pub server: [u64; 2],
    /// Reads and writes for which the client received an answer.
    pub client: [u64; 2],
    /// Reads and writes that ended without an answer that shows whether the server executed them
    /// (client timeouts, lost connections, server errors).
    pub uncertain: u64,
}

/// End of settling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// No compactions were pending any more.
    Settled,
    /// The study did not request settling.
    NotAsked,
    /// Compactions no longer made progress.
    Stalled,
    /// The time limit was reached first.
    Timeout,
    /// The target does not report pending compactions.
    Unknown,
}

/// Changes of the nodes and hosts during the trial.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Settings that differed at the end, such as `node1 concurrent_reads`.
    pub settings_changed: Vec<String>,
    /// Changes of the schema or the ring, one sentence each.
    pub metadata_changed: Vec<String>,
    /// Settings that the study requests but that are not in effect on a node, one sentence each.
    pub not_in_effect: Vec<String>,
    /// Settings that the study requests and that no node reports, one sentence each.
    pub not_shown: Vec<String>,
    /// Nodes for which the readings about standstills are lost, one sentence each.
    pub unseen: Vec<String>,
    /// Nodes that had another process at the end.
    pub nodes_restarted: Vec<String>,
    /// Nodes whose process a signal or a debugger stopped.
    pub nodes_stopped: Vec<NodeStatePeriod>,
    /// Nodes with threads that waited in the kernel (state D).
    pub nodes_blocked: Vec<NodeStatePeriod>,
    /// Share of CPU time that the hypervisor gave to other guests.
    pub steal_share: Option<f64>,
}

/// Period within the measured window in which a node was observed in some state.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeStatePeriod {
    /// Name of the node.
    pub node: String,
    /// Time of the first reading that showed the state, in seconds since the window began.
    pub from_s: f64,
    /// Time of the last reading that showed the state, in seconds since the window began.
    pub to_s: f64,
}

/// A planned fault.
#[derive(Clone, Debug)]
pub struct FaultEvidence {
    /// Kind of the fault, such as `node-stop`.
    pub kind: String,
    /// True if an independent probe observed the fault. `None` if that is uncertain.
    pub confirmed: Option<bool>,
    /// True if the target of the fault was whole again at the end.
    pub healed: bool,
}
