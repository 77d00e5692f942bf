//! Defines the load of one run of the load generator, and the result of that run.

use super::event_loop::EarlyEnd;
use super::running_target::Running;
use super::window_counts::WindowCounts;
use analysis::procedure::Point;
use load::{
    Config, EarlierWrites, LedgerMode, Limit, OtherWorkers, Schedule, Summary, VerifyReads, Window,
};
use std::sync::Arc;
use std::time::Duration;
use study::settings::{Client, Settings, StudyFault};
use workload::{Program, Stage};

/// Length of an interval. All records and rules assume this length.
const INTERVAL: Duration = Duration::from_secs(1);

/// Number of retries for each row in the load phase. In that phase, latency does not matter, but
/// every row does, and one timeout in a million rows must not fail the trial. If a server refuses a
/// row five times in a row, each time after a timeout, the problem is permanent.
pub const LOAD_RETRIES: u8 = 4;

/// Load of one phase.
pub struct Offer<'o> {
    /// Stage of the program to run.
    pub stage: Stage,
    /// Minimum number of retries for each operation.
    pub retries_min: u8,
    /// Times at which operations are due.
    pub schedule: Schedule,
    /// Condition that stops the load.
    pub limit: Limit,
    /// Window that decides which operations are measured.
    pub window: Window,
    /// Length of the measured window, if the study defines the window by time.
    pub measures_for: Option<Duration>,
    /// Time to measure after the last fault. If set, the load ends this long after the last fault
    /// has ended.
    pub ends_after_faults: Option<Duration>,
    /// Number of the first operation of the load.
    pub first_operation: u64,
    /// Selects the reads whose rows the client compares with the expected rows.
    pub verify: VerifyReads,
    /// Selects the writes that the client records.
    pub keeps: LedgerMode,
    /// Earlier writes, if they were recorded.
    pub written: Option<Arc<EarlierWrites>>,
    /// Faults during the measured load.
    pub faults: &'o [StudyFault],
    /// True if the load may ramp up slowly, because the ramp is not part of a measured window.
    pub may_rise: bool,
}

/// Result of a phase under load.
pub struct PhaseResult {
    /// Summary of the load generator.
    pub summary: Summary,
    /// Reason why the phase ended early. `None` if it ended as planned.
    pub cut: Option<EarlyEnd>,
    /// Sums over all intervals of the phase.
    pub counts: WindowCounts,
}

impl PhaseResult {
    /// Describes the failed operations, with the first message of each kind. Returns `None` if all
    /// operations succeeded.
    pub fn errors_words(&self) -> Option<String> {
        let errors = self.counts.outcomes.errors_by_name();
        let words = errors
            .map(|(name, count)| {
                let mut first = self.summary.first_errors.iter();
                let first = first.find(|e| e.outcome.name() == name);
                let message = first.map(|e| format!(" (first, from {}: {})", e.node, e.message));
                format!("{count} {name}{}", message.unwrap_or_default())
            })
            .collect::<Vec<_>>()
            .join(", ");
        Some(words).filter(|words| !words.is_empty())
    }
}

/// Returns a closed loop of at most `in_flight` operations, limited by the total number of
/// operations.
pub fn closed(in_flight: u32, operations: u64) -> Schedule {
    let operations = u32::try_from(operations).unwrap_or(u32::MAX);
    Schedule::Closed {
        in_flight: in_flight.min(operations).max(1),
    }
}

/// Returns the schedule of a point. The settings of the variant determine the arrival process,
/// which may be that of recorded traffic.
pub fn arrivals(point: Point, settings: &Settings) -> Schedule {
    match settings.workload.recorded.as_ref().and_then(|one| one.speed) {
        Some(speed) => Schedule::Recorded { speed },
        None => schedule(point, settings.poisson),
    }
}

/// Returns the schedule of a point. If `poisson` is true, a rate has Poisson arrivals. Otherwise,
/// the operations of a rate have equal distances.
pub fn schedule(point: Point, poisson: bool) -> Schedule {
    match point {
        Point::Threads(in_flight) => Schedule::Closed { in_flight },
        Point::Rate(rate) if poisson => Schedule::Poisson {
            ops_per_s: rate as f64,
        },
        Point::Rate(rate) => Schedule::Fixed {
            ops_per_s: rate as f64,
        },
    }
}

impl Offer<'_> {
    /// Returns an offer that starts at operation number 0 and measures all operations. The offer
    /// does not compare the rows of reads.
    pub fn measured(stage: Stage, schedule: Schedule, limit: Limit) -> Offer<'static> {
        Offer {
            stage,
            retries_min: 0,
            schedule,
            limit,
            window: Window::Whole,
            measures_for: None,
            ends_after_faults: None,
            first_operation: 0,
            verify: VerifyReads::Off,
            keeps: LedgerMode::Nothing,
            written: None,
            faults: &[],
            may_rise: true,
        }
    }
}

/// Returns the load generator's settings for an offer.
pub fn config(
    settings: &Settings,
    program: &Arc<Program>,
    running: &Running,
    offer: &Offer<'_>,
    rise: Duration,
) -> Config {
    let client = &settings.client;
    let cpus = running.client_cpus(client);
    let in_flight = match offer.schedule {
        Schedule::Closed { in_flight } => in_flight as usize,
        _ => client.in_flight_max as usize,
    };
    Config {
        program: Arc::clone(program),
        stage: offer.stage,
        nodes: running.nodes(),
        access: running.access(client.compression),
        schedule: offer.schedule,
        rise: if offer.may_rise { rise } else { Duration::ZERO },
        first_operation: offer.first_operation,
        limit: offer.limit,
        window: offer.window,
        in_flight_max: client.in_flight_max,
        release_quantum: Duration::from_nanos(client.release_quantum_ns),
        timeout: Duration::from_nanos(client.timeout_ns),
        retries_min: offer.retries_min,
        workers: workers_on(client, in_flight, &cpus),
        others: OtherWorkers::default(),
        cpus,
        realtime: client.priority.is_realtime(&settings.target),
        connections_per_node: client.connections_per_node,
        interval: INTERVAL,
        verify_reads: offer.verify,
        keeps: offer.keeps,
        written: offer.written.clone(),
    }
}

/// Returns the number of event loops (workers) for `in_flight` operations: the number in the study,
/// or [`workers_auto`]. More workers than operations would be useless, because some workers would
/// have nothing to do.
pub fn workers(client: &Client, in_flight: usize) -> usize {
    let asked = client.workers.unwrap_or_else(workers_auto);
    asked.clamp(1, in_flight.max(1))
}

/// Returns the number of event loops (workers) on these CPUs. The number is the result of
/// [`workers`], but at most one per CPU, unless the study sets the number.
pub fn workers_on(client: &Client, in_flight: usize, cpus: &[usize]) -> usize {
    let workers = workers(client, in_flight);
    match (client.workers, cpus.len()) {
        (Some(_), _) | (_, 0) => workers,
        (None, count) => workers.min(count),
    }
}

/// Returns the number of event loops on this machine, if the study sets no number.
pub fn workers_auto() -> usize {
    Client::workers_auto(std::thread::available_parallelism().map_or(1, usize::from))
}
