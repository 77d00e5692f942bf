//! Evidence for the rules, in one plain struct that the study engine fills after a trial.
//!
//! Every field covers the measured window unless its comment states otherwise. If a value was not
//! read, its field is `None`, and the rule returns an unknown outcome. The default represents a
//! trial about which nothing is known.

use super::client_evidence::ClientSeen;
use crate::durability::Promise;
use crate::trend::{self, Trend};
use crate::warmup_end::SteadyState;
use measure::interval::CheckCounts;
use measure::{ClientCounts, Histogram, IntervalConsumer, KindCounts, Outcome, SummedInterval};

/// Nominal length of an interval, in seconds. The rest of a longer interval counts as time without
/// an interval.
pub(super) const INTERVAL_S: f64 = 1.0;

const TREND_VALUES_MAX: usize = 300;

/// Evidence of one trial.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Operations that the client had to offer. `None` in a closed loop.
    pub offered: Option<OfferedLoad>,
    /// Sums over the intervals of the measured window.
    pub window: Window,
    /// Planned length of the window, in seconds. 0 if the run ends by a number of operations.
    pub planned_s: f64,
    /// Reason why the trial ended early, if it did.
    pub aborted: Option<String>,
    /// Result of an automatic warm-up. `None` if the study set the length of the warm-up.
    pub warmup: Option<SteadyState>,
    /// True if the target is the null target, so that the trial measures the client.
    pub target_is_null: bool,
    /// Number of cores of the client's workers.
    pub client_cores: f64,
    /// True if nodes also run on the client's cores.
    pub shares_cores: bool,
    /// Throughputs that the same client program reached on the null target on the same machine, in
    /// op/s. The list contains one value for each measurement.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Evidence on each client. Empty if a single process offered the load.
    pub clients: Vec<ClientSeen>,
    /// Movement of the machine's wall clock during the trial.
    pub clock: Option<ClockMove>,
    /// Use of the machine on which the client runs.
    pub machine: Option<MachineUse>,
    /// Numbers of operations that server and client counted over the whole trial, or the reason why
    /// these numbers cannot be compared. `None` if the server's numbers were not read.
    pub server: Option<Result<ServerCounts, String>>,
    /// Result of waiting for pending compactions before the trial.
    pub settle: Option<Settle>,
    /// Number of pending compactions of all nodes over the window, in order of time.
    pub pending_compactions: Option<Vec<f64>>,
    /// Changes of the nodes and hosts during the trial.
    pub environment: Option<Environment>,
    /// Unexpected exceptions on nodes during the trial, one sentence each. `None` if no node
    /// reports exceptions.
    pub exceptions: Option<Vec<String>>,
    /// True if the consistency levels allow a read to miss an acknowledged write (R + W <= RF).
    pub weak_consistency: bool,
    /// Result of comparing reads with the written data. The reads are those of the window, and
    /// those of rows sampled after the window.
    pub checks: CheckCounts,
    /// True if another tool, or a load with another seed or length, may have written the existing
    /// rows.
    pub has_strange_rows: bool,
    /// Reads of rows that exist according to the study. `None` if the trial read no such rows.
    pub found: Option<PresentRows>,
    /// Reads that the workload cannot judge. Each sentence names such reads and the reason.
    pub not_compared: Vec<String>,
    /// Promise of the configuration about acknowledged writes, if known.
    pub promise: Option<Promise>,
    /// Result of reading all rows back, if the study requests that.
    pub read_back: Option<ReadBack>,
    /// Result of judging the histories of registers, if the workload has registers.
    pub registers: Option<Registers>,
    /// Reasons why nodes rejected requests, one sentence each. The reasons come from the logs and
    /// volumes of the nodes.
    pub causes: Vec<String>,
    /// Planned faults of the trial.
    pub faults: Vec<FaultEvidence>,
    /// Missing parts of the record, such as `seed`. Empty if the record is complete.
    pub not_recorded: Option<Vec<String>>,
    /// Two sizes in bytes: the data on a node, and the memory that can cache this data.
    pub data_and_memory_bytes: Option<(u64, u64)>,
    /// CPU time that the probes used, as a share of one core. 0 if no probe ran.
    pub probes_cpu_share: Option<f64>,
}

impl Evidence {
    /// Returns the kinds of the planned faults, such as `node-stop, rolling-upgrade`. Returns
    /// `None` if the plan has no faults.
    pub(super) fn faults_words(&self) -> Option<String> {
        let kinds = self.faults.iter().map(|fault| fault.kind.as_str());
        let kinds = Vec::from_iter(std::collections::BTreeSet::from_iter(kinds));
        (!kinds.is_empty()).then(|| kinds.join(", "))
    }
}

/// Reads of rows that exist according to the study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresentRows {
    /// Number of reads that the target answered.
    pub reads: u64,
    /// Number of answered reads that found no row.
    pub nothing: u64,
}

/// Result of reading all rows back after the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// Result of comparing the rows with the written data.
    pub checks: CheckCounts,
    /// Number of rows that could not be read.
    pub unread: u64,
    /// Lost writes by time of acknowledgement, if the configuration allows losses only within a
    /// limited time.
    pub lost: Option<LostWritesByAckTime>,
}

/// Lost writes by time of acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostWritesByAckTime {
    /// Time before a failure within which an acknowledged write may be lost, in seconds.
    pub within_s: f64,
    /// Number of rows with a lost write that was acknowledged longer than `within_s` before a
    /// failure.
    pub unexplained: u64,
    /// Latest possible time at which the oldest lost write was acknowledged, in seconds since the
    /// trial's start line. `None` if this time is unknown.
    pub oldest_s: Option<f64>,
}

/// Result of judging the histories of registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Number of judged histories, each of one register.
    pub checked: u64,
    /// Number of histories whose operations have no valid order.
    pub violated: u64,
    /// Number of histories for which the search gave up before a decision.
    pub undecided: u64,
}

/// Movement of the wall clock against the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockMove {
    /// Gain (positive) or loss of the wall clock, in seconds.
    pub moved_s: f64,
    /// Time that passed on the monotonic clock, in seconds.
    pub over_s: f64,
}

/// Operations that an open schedule offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfferedLoad {
    /// Number of operations that were due in the window.
    pub operations: f64,
    /// True if the number of operations is random, with a Poisson distribution.
    pub is_random: bool,
}

impl OfferedLoad {
    /// Returns the operations that are due at a rate in a window of `span_s` seconds. A run that
    /// ends by a number of operations offers at most `count` operations, and its window lasts until
    /// the last answer. The first operation is due at once, so the number of due operations is
    /// rounded up, unless it is random.
    pub fn at_rate(rate: u64, span_s: f64, count: Option<u64>, is_random: bool) -> OfferedLoad {
        let due = rate as f64 * span_s;
        let due = if is_random {
            due
        } else {
            // Because of floating point, a window of whole seconds may be slightly longer, which
            // must not add an operation.
            (due - 1e-6 * due.max(1.0)).ceil()
        };
        OfferedLoad {
            operations: count.map_or(due, |count| due.min(count as f64)),
            is_random,
        }
    }
}

/// Use of the machine on which the client runs, as means over the window. A value that could not be
/// read is `None`, and `unseen` contains the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineUse {
    /// CPU time as shares of the CPUs that the client may use.
    pub cpu: Option<CpuUse>,
    /// Share of the time in which the busiest disk worked neither for the nodes nor for the client.
    pub disk_others: Option<f64>,
    /// Pressure stall information: shares of the time in which some task waited for a CPU or a
    /// disk, or all tasks waited for memory.
    pub pressure: Pressure,
    /// True if nodes that cassay did not start run on the machine. cassay cannot distinguish their
    /// use of the machine from that of other programs.
    pub has_strange_nodes: bool,
    /// Reason why some values could not be read, if any.
    pub unseen: Option<String>,
}

/// Use of CPU time, as shares of the time of the CPUs that the client may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// Share of the CPU time that neither the nodes nor the client used.
    pub others: f64,
    /// Share of the CPU time that the nodes started by cassay used.
    pub nodes: f64,
    /// Share of the CPU time that all threads of the client's process used.
    pub client: f64,
    /// Number of CPUs to which the shares refer.
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

/// Sums over the intervals of a run. Some sums cover the population, which is every operation that
/// was due in the measured window. The other sums cover the window, and some of them also the
/// drain.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Length of the window without the drain, in seconds.
    pub seconds: f64,
    /// Length of the longest interval, in seconds.
    pub interval_longest_s: f64,
    /// Longest gap between two intervals, in seconds.
    pub gap_longest_s: f64,
    /// Number of operations of the population that succeeded, at any time.
    pub ok: u64,
    /// Number of operations that succeeded within `seconds`, regardless of when they were due.
    /// Throughput is computed from this number.
    pub ok_in_time: u64,
    /// Numbers of failed operations of the population, by outcome. Outcomes without operations are
    /// omitted.
    pub errors: Vec<(Outcome, u64)>,
    /// Numbers of values in three histograms of the population: latency, service time and errors.
    pub values_count: [u64; 3],
    /// Number of values in the population's histogram of lower bounds, for operations whose end is
    /// unknown.
    pub censored_count: u64,
    /// Sum of the latencies and sum of the service times, in ns.
    pub sums_ns: [f64; 2],
    /// Number of latency buckets that are not empty.
    pub buckets_used: usize,
    /// Number of latencies at the upper bound of the histogram.
    pub clamped: u64,
    /// Counters of operations before they were sent, and counters of connections.
    pub client: ClientCounts,
    /// Sums of the counts of all kinds of operations.
    pub counts: KindCounts,
    /// CPU time of the workers, in ns.
    pub cpu_ns: u64,
    /// Time in which the workers were runnable but had no CPU, in ns. `None` if the kernel does not
    /// measure this time.
    pub wait_ns: Option<u64>,
    /// Longest delay of a timer on the client's cores, in seconds. `None` if the delays were not
    /// measured.
    pub stall_longest_s: Option<f64>,
    /// Sum of the stalls of the client, in seconds.
    pub stalled_s: f64,
    /// CPU time that the detection of stalls used, in ns.
    pub stalls_cpu_ns: u64,
    /// Longest time without a response while responses were pending, in seconds.
    pub quiet_longest_s: f64,
    /// Longest time without a response that ended in each interval, in seconds.
    pub quiet_s: Vec<f64>,
    /// Successful operations per second in each interval. A short last interval is merged with the
    /// interval before it.
    pub ops_per_s: Vec<f64>,
    latency: Option<Histogram>,
    /// Start and end of the window, on the monotonic clock.
    span_ns: Option<(u64, u64)>,
    end_ns: u64,
    /// Length of the interval to which the last value of `ops_per_s` belongs, in seconds.
    last_s: f64,
}

impl Window {
    /// Returns the time from the window's start to its end, in which the population was due, in
    /// seconds. It equals `seconds`, unless the first interval of the window was omitted.
    pub fn span_s(&self) -> f64 {
        let (from_ns, to_ns) = self.span_ns.unwrap_or_default();
        (to_ns - from_ns) as f64 / 1e9
    }

    /// Adds the CPU time of an interval. The caller skips the drain, because the drain is not part
    /// of the window.
    fn push_cpu(&mut self, client: &measure::ClientInterval) {
        self.cpu_ns += client.cpu_ns;
        self.stalls_cpu_ns += client.hiccups.cpu_ns;
        if let Some(ns) = client.wait_ns {
            *self.wait_ns.get_or_insert(0) += ns;
        }
    }

    /// Adds the stalls and silences of an interval. A silence at the start of the drain belongs to
    /// the window.
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

    /// Returns the median latency of the successful operations, in seconds; 0 if no operation
    /// succeeded.
    pub fn latency_median_s(&self) -> f64 {
        let median_ns = self.latency.as_ref().map_or(0, |all| all.quantile_ns(0.5));
        median_ns as f64 / 1e9
    }

    /// Adds the length and throughput of an interval. The last interval before the load stops can
    /// have any length. A short interval is merged with the interval before it, because otherwise
    /// it would weigh as much as a whole second. After an interval of 3 s of a stopped client, the
    /// seconds are still whole intervals.
    fn push_time(&mut self, seconds: f64, ok: u64) {
        let is_fragment = seconds < self.interval_longest_s.min(INTERVAL_S) / 2.0;
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

    /// Returns the trend of throughput over the window. The test takes quadratic time, so
    /// neighbouring values are first joined to at most a few hundred means.
    pub fn trend(&self) -> Trend {
        let size = self.ops_per_s.len().div_ceil(TREND_VALUES_MAX).max(1);
        let means: Vec<f64> =
            self.ops_per_s.chunks(size).map(crate::autocorrelation::mean).collect();
        trend::trend_of_correlated(&means)
    }

    /// Returns the change of throughput over the window, as a share. Returns `None` if the change
    /// is at most `allowed`, or due to chance.
    pub fn drift(&self, allowed: f64) -> Option<f64> {
        let trend = self.trend();
        trend.matters(allowed).then_some(trend.drift)
    }

    /// Returns the number of operations per second that succeeded within the window. Returns 0 if
    /// the window has no length.
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

    /// Returns the number of failed operations of the population with this outcome.
    pub fn errors_of(&self, outcome: Outcome) -> u64 {
        let found = self.errors.iter().find(|(seen, _)| *seen == outcome);
        found.map_or(0, |(_, count)| *count)
    }
}

impl IntervalConsumer for Window {
    /// Adds the next interval of the run. The values of the population come from all intervals.
    /// Time and throughput come only from the intervals in the window. The client's counters and
    /// silences come from the window and the drain.
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

/// Numbers of operations that server and client counted over the whole trial.
#[derive(Clone, Debug, Default)]
pub struct ServerCounts {
    /// Name of the source of the server's numbers.
    pub source: String,
    /// Numbers of reads and of writes that the servers coordinated.
    pub server: [u64; 2],
    /// Numbers of reads and of writes for which the client received an answer.
    pub client: [u64; 2],
    /// Number of reads and writes for which the client does not know whether the server executed
    /// them. Causes are client timeouts, lost connections and server errors.
    pub uncertain: u64,
}

/// Result of waiting for pending compactions before a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// All compactions ended.
    Settled,
    /// The study did not request that compactions end first.
    NotAsked,
    /// Compactions stopped making progress.
    Stalled,
    /// The time limit was reached before all compactions ended.
    Timeout,
    /// The target does not report pending compactions.
    Unknown,
}

/// Changes of the nodes and hosts during the trial.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Settings that differed at the end of the trial, such as `node1 concurrent_reads`.
    pub settings_changed: Vec<String>,
    /// Changes of the schema or the ring, one sentence each.
    pub metadata_changed: Vec<String>,
    /// Settings that the study requests but that are not in effect on a node, one sentence each.
    pub not_in_effect: Vec<String>,
    /// Settings that the study requests and that no node reports, one sentence each.
    pub not_shown: Vec<String>,
    /// Nodes for which cassay lost the readings that show standstills, one sentence each.
    pub unseen: Vec<String>,
    /// Names of the nodes that ran in another process at the end of the trial.
    pub nodes_restarted: Vec<String>,
    /// Periods in which a signal or a debugger had stopped the process of a node.
    pub nodes_stopped: Vec<NodeStatePeriod>,
    /// Periods in which threads of a node waited in the kernel (state D).
    pub nodes_blocked: Vec<NodeStatePeriod>,
    /// Share of CPU time that the hypervisor gave to other guests.
    pub steal_share: Option<f64>,
}

/// Period within the measured window in which a node was observed in a certain state.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeStatePeriod {
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
    /// True if all nodes of the target were up again at the end of the trial.
    pub healed: bool,
}
