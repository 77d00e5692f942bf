//! What the rules judge: one plain struct that the study engine fills after a trial.
//!
//! Every field covers the measured window unless it says otherwise. `None` means that nobody
//! looked; the rule is then unknown. The default is a trial of which nothing is known.

use super::client_seen::ClientSeen;
use crate::durability::Promise;
use crate::steady::SteadyState;
use crate::trend::{self, Trend};
use measure::interval::CheckCounts;
use measure::{ClientCounts, Histogram, KindCounts, Outcome, Summed};

/// Values of throughput that are looked at for a trend, at most.
const TREND_VALUES_MAX: usize = 300;

/// The evidence of one trial.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Offered rate; none in a closed loop.
    pub offered: Option<Offered>,
    /// Sums over the window.
    pub window: Window,
    /// Length in seconds that the plan asked for; 0 when it was bounded by operations.
    pub planned_s: f64,
    /// Why the trial ended before its plan did.
    pub aborted: Option<String>,
    /// How warm-up ended; `None` when its length was fixed by the study.
    pub warmup: Option<SteadyState>,
    /// Whether the target is the null target: then the client is what is measured.
    pub target_is_null: bool,
    /// Cores that the client's workers had.
    pub client_cores: f64,
    /// Whether nodes run on the client's cores too.
    pub shares_cores: bool,
    /// What the same program reaches on the null target on this machine, op/s, each time that it
    /// was measured.
    pub ceilings_ops_per_s: Vec<f64>,
    /// Each of several clients; empty: one process offered the load.
    pub clients: Vec<ClientSeen>,
    /// How far the machine's clock was moved while the trial went on.
    pub clock: Option<ClockMove>,
    /// Who else used the machine that the client runs on.
    pub machine: Option<Machine>,
    /// What the server counted over the whole trial, or why that cannot be compared; `None` where
    /// nobody read it.
    pub server: Option<Result<ServerCounts, String>>,
    /// How settling ended.
    pub settle: Option<Settle>,
    /// Pending compactions over the window, all nodes, in order of time.
    pub pending_compactions: Option<Vec<f64>>,
    /// Steadiness of the nodes and hosts.
    pub environment: Option<Environment>,
    /// Exceptions that nodes did not expect while the trial went on, a sentence each; none where
    /// no node tells.
    pub exceptions: Option<Vec<String>>,
    /// Whether the consistency levels allow a read to miss an acknowledged write (R + W <= RF).
    pub weak_consistency: bool,
    /// Verified reads: of the window, and of a sample that was read back.
    pub checks: CheckCounts,
    /// Whether the rows that were there before the load are not of this run: of another tool,
    /// another seed or other lengths, for all that anybody knows.
    pub has_strange_rows: bool,
    /// Reads whose rows are said to be there; none where nobody says so.
    pub found: Option<PresentRows>,
    /// Reads that the workload cannot judge, and why: a sentence each.
    pub not_compared: Vec<String>,
    /// What the configuration promises of acknowledged writes.
    pub promise: Option<Promise>,
    /// All rows that were read back, where the study asks for all.
    pub read_back: Option<ReadBack>,
    /// What the histories of registers came to, where there are some.
    pub registers: Option<Registers>,
    /// Why nodes refused, as far as their logs and volumes tell: a sentence each.
    pub causes: Vec<String>,
    /// Faults that were planned.
    pub faults: Vec<Fault>,
    /// What should be on record and is not: `seed`, `settings of node1`, …; empty when all is.
    pub not_recorded: Option<Vec<String>>,
    /// Size of the data and of the memory that can cache it, in bytes, per node.
    pub data_and_memory_bytes: Option<(u64, u64)>,
    /// CPU that the probes used, as a share of one core; 0 when none ran.
    pub probes_cpu_share: Option<f64>,
}

impl Evidence {
    /// The kinds of the faults that were planned, if any, each once: `node-stop, rolling-upgrade`.
    pub(super) fn faults_words(&self) -> Option<String> {
        let kinds = self.faults.iter().map(|fault| fault.kind.as_str());
        let kinds = Vec::from_iter(std::collections::BTreeSet::from_iter(kinds));
        (!kinds.is_empty()).then(|| kinds.join(", "))
    }
}

/// Reads whose rows are said to be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PresentRows {
    /// Those that were answered.
    pub reads: u64,
    /// Of these, those that found no row.
    pub nothing: u64,
}

/// All rows, read back after the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadBack {
    /// What was found.
    pub checks: CheckCounts,
    /// Rows that no read could reach.
    pub unread: u64,
    /// When what is lost was acknowledged, where a loss that is allowed has an end in time.
    pub lost: Option<LostBy>,
}

/// Lost writes by when they were acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostBy {
    /// For how long before a blow a write may be lost by it, s.
    pub within_s: f64,
    /// Rows of which a write is lost that was acknowledged at no such time.
    pub unexplained: u64,
    /// When the oldest of all that are lost was acknowledged at the latest, in seconds since the
    /// trial's start line; none if nobody knows.
    pub oldest_s: Option<f64>,
}

/// What the histories of registers came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Histories of one register each.
    pub checked: u64,
    /// Those that no order of their operations explains.
    pub violated: u64,
    /// Those of which that could not be decided.
    pub undecided: u64,
}

/// The clock of the day, beside the one that only counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockMove {
    /// What it gained or lost, s.
    pub moved_s: f64,
    /// While so much time went by, s.
    pub over_s: f64,
}

/// An open schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Operations that were due in the window.
    pub operations: f64,
    /// Whether their number is itself by chance (Poisson).
    pub is_random: bool,
}

impl Offered {
    /// What a rate comes to in a window of `span_s` seconds, of a run that offers `count`
    /// operations and no more, if it ends by their number: such a window lasts until the last
    /// answer, and nothing is due after the last operation. The first operation is due when the
    /// window begins, so that a part of an interval has one too.
    pub fn of(rate: u64, span_s: f64, count: Option<u64>, is_random: bool) -> Offered {
        let due = rate as f64 * span_s;
        let due = if is_random {
            due
        } else {
            // A window of whole seconds is not exactly as long in floating point.
            (due - 1e-6 * due.max(1.0)).ceil()
        };
        Offered {
            operations: count.map_or(due, |count| due.min(count as f64)),
            is_random,
        }
    }
}

/// Who used the machine that the client runs on: means over the window. What could not be read is
/// absent, and `unseen` says why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// CPU time as shares of the CPUs that the client may use.
    pub cpu: Option<CpuUse>,
    /// Time in which the busiest disk was busy for others than nodes and client, as a share.
    pub disk_others: Option<f64>,
    /// Time in which some task had to wait for a CPU, for a disk, and in which all had to wait for
    /// memory, as shares (pressure stall information).
    pub pressure: Pressure,
    /// Whether nodes run here that are not ours: their use cannot be told from that of others.
    pub has_strange_nodes: bool,
    /// Why something could not be read.
    pub unseen: Option<String>,
}

/// Shares of the CPUs' time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuUse {
    /// Used by neither the nodes nor the client.
    pub others: f64,
    /// Used by the nodes that are ours.
    pub nodes: f64,
    /// Used by all threads of the client's process.
    pub client: f64,
    /// How many CPUs.
    pub cpus: f64,
}

/// Pressure stall information, as shares of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// Some task waited for a CPU.
    pub cpu: Option<f64>,
    /// Some task waited for a disk.
    pub io: Option<f64>,
    /// All tasks that could have run waited for memory.
    pub memory: Option<f64>,
}

/// Sums over a run's intervals: of the population, which is every operation that was due in the
/// measured window, and of what ended within the window's time. Made by [`Window::push`].
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Length in seconds, without the drain.
    pub seconds: f64,
    /// Length of the longest interval, in seconds.
    pub interval_longest_s: f64,
    /// Longest stretch between two intervals, in seconds.
    pub gap_longest_s: f64,
    /// Operations of the population that ended well, whenever that was.
    pub ok: u64,
    /// Operations that ended well within `seconds`, whenever they were due: what throughput is made
    /// of.
    pub ok_in_time: u64,
    /// Operations of the population that failed, by outcome, without zeros.
    pub errors: Vec<(Outcome, u64)>,
    /// Values in the population's latency, service and error histograms.
    pub values_count: [u64; 3],
    /// Values in the population's histogram of what nobody followed to its end.
    pub censored_count: u64,
    /// Sums of latency and of service time, in ns.
    pub sums_ns: [f64; 2],
    /// Latency buckets in use.
    pub buckets_used: usize,
    /// Latencies at the histogram's upper bound.
    pub clamped: u64,
    /// What happened to operations before they were sent.
    pub client: ClientCounts,
    /// What came of the operations of all kinds together.
    pub counts: KindCounts,
    /// CPU time of the workers, in ns.
    pub cpu_ns: u64,
    /// Time in which the workers could have run and had no CPU, in ns; none where the kernel does
    /// not count it.
    pub wait_ns: Option<u64>,
    /// By how much a timer on the client's cores was late at most, in seconds; none if nobody
    /// looked.
    pub stall_longest_s: Option<f64>,
    /// Sum of those times in which the client was not there, in seconds.
    pub stalled_s: f64,
    /// CPU time of looking for stalls, in ns.
    pub stalls_cpu_ns: u64,
    /// Longest time in which answers were awaited and none came, in seconds.
    pub quiet_longest_s: f64,
    /// The longest such time that ended in each interval, in seconds.
    pub quiet_s: Vec<f64>,
    /// Successful operations per second, one value per interval; a fragment joins the one before.
    pub ops_per_s: Vec<f64>,
    latency: Option<Histogram>,
    /// Begin and end of the window, monotonic clock.
    span_ns: Option<(u64, u64)>,
    end_ns: u64,
    /// Seconds behind the last value of `ops_per_s`.
    last_s: f64,
}

impl Window {
    /// Adds the next interval of the run. The population's values are taken from all of them, time
    /// and throughput only from those that lie in the window.
    pub fn push(&mut self, summed: &Summed) {
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

    /// Seconds from the window's begin to its end: the time in which the population was due. As
    /// long as `seconds`, unless an interval had to be left out that holds the begin.
    pub fn span_s(&self) -> f64 {
        let (from_ns, to_ns) = self.span_ns.unwrap_or_default();
        (to_ns - from_ns) as f64 / 1e9
    }

    /// CPU time is set against the window's length, so that the drain has no part in it.
    fn push_cpu(&mut self, client: &measure::ClientInterval) {
        self.cpu_ns += client.cpu_ns;
        self.stalls_cpu_ns += client.hiccups.cpu_ns;
        if let Some(ns) = client.wait_ns {
            *self.wait_ns.get_or_insert(0) += ns;
        }
    }

    /// What was seen at the begin of the drain began before it: it counts with the window.
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

    /// Median latency of the successes, in seconds; 0 without any.
    pub fn latency_median_s(&self) -> f64 {
        let median_ns = self.latency.as_ref().map_or(0, |all| all.quantile_ns(0.5));
        median_ns as f64 / 1e9
    }

    /// The last interval before load stops can be of any length. A fragment is not a value of its
    /// own in the series: it would weigh as much as a whole second. It joins the one before.
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

    /// Of all kinds together.
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

    /// How throughput went over the window: at most a few hundred means of neighbours are looked
    /// at, since the test takes time with the square.
    pub fn trend(&self) -> Trend {
        let size = self.ops_per_s.len().div_ceil(TREND_VALUES_MAX).max(1);
        let means: Vec<f64> = self.ops_per_s.chunks(size).map(crate::series::mean).collect();
        trend::trend_of_correlated(&means)
    }

    /// Change of throughput over the window, as a share; none where it is no more than `allowed`,
    /// or chance.
    pub fn drift(&self, allowed: f64) -> Option<f64> {
        let trend = self.trend();
        trend.matters(allowed).then_some(trend.drift)
    }

    /// Operations per second that ended well within the window's time. 0 without a window.
    pub fn ops_per_s_mean(&self) -> f64 {
        if self.seconds > 0.0 {
            self.ok_in_time as f64 / self.seconds
        } else {
            0.0
        }
    }

    /// Failed operations of the population.
    pub fn errors_count(&self) -> u64 {
        self.errors.iter().map(|(_, count)| count).sum()
    }

    /// Operations of the population that ended, whatever their outcome.
    pub fn ended(&self) -> u64 {
        self.ok + self.errors_count()
    }

    /// How often `outcome` was seen.
    pub fn errors_of(&self, outcome: Outcome) -> u64 {
        let found = self.errors.iter().find(|(seen, _)| *seen == outcome);
        found.map_or(0, |(_, count)| *count)
    }
}

/// Operation counts of both sides over the whole trial.
#[derive(Clone, Debug, Default)]
pub struct ServerCounts {
    /// Where the server's come from.
    pub source: String,
    /// Coordinated by the servers: reads and writes.
    pub server: [u64; 2],
    /// Answered, as the client saw it: reads and writes.
    pub client: [u64; 2],
    /// Ended without an answer that says whether the server did them (client time-outs, lost
    /// connections, server errors), reads and writes together.
    pub uncertain: u64,
}

/// How settling ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// Nothing was pending any more.
    Settled,
    /// The study asked for none.
    NotAsked,
    /// Compactions no longer made progress.
    Stalled,
    /// The limit came first.
    Timeout,
    /// The target cannot say.
    Unknown,
}

/// Whether the nodes and hosts stayed the same.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Settings that were not the same at the end: `node1 concurrent_reads`.
    pub settings_changed: Vec<String>,
    /// How the schema or the ring was changed, a sentence each.
    pub metadata_changed: Vec<String>,
    /// Settings that the study asked for and a node does not have, a sentence each.
    pub not_in_effect: Vec<String>,
    /// Settings that the study asked for and that no node shows, a sentence each.
    pub not_shown: Vec<String>,
    /// Of which nodes nobody can tell whether they stood still, since what was seen of them is
    /// lost: a sentence each.
    pub unseen: Vec<String>,
    /// Nodes whose process was another one at the end.
    pub nodes_restarted: Vec<String>,
    /// Nodes whose process a signal or a debugger stopped.
    pub nodes_stopped: Vec<Spell>,
    /// Nodes with threads that waited within the kernel for what did not come.
    pub nodes_blocked: Vec<Spell>,
    /// Time that the hypervisor gave to others, as a share.
    pub steal_share: Option<f64>,
}

/// When something was seen of a node, within the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct Spell {
    /// Name of the node.
    pub node: String,
    /// The first look that found it so, seconds after the window began.
    pub from_s: f64,
    /// The last one.
    pub to_s: f64,
}

/// A fault that was planned.
#[derive(Clone, Debug)]
pub struct Fault {
    /// `node-stop`, ….
    pub kind: String,
    /// Whether an independent probe saw it; `None`: inconclusive.
    pub confirmed: Option<bool>,
    /// Whether what it broke was whole again at the end.
    pub healed: bool,
}
