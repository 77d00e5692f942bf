//! What is offered in one run of the load engine, and what it came to.

use super::conduct::Cut;
use super::running::Running;
use super::tally::Tally;
use analysis::procedure::Point;
use load::{Config, Keeps, Limit, OtherWorkers, Schedule, Summary, VerifyReads, Window, Written};
use std::sync::Arc;
use std::time::Duration;
use study::settings::{Client, Fault, Settings};
use workload::{Program, Stage};

/// Length of an interval: what all records and rules are made for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Tries after the first of a row that is loaded: what counts there is the row and not its time,
/// and one time-out in a million rows must not cost the trial. A server that refuses five times in
/// a row, each time after its own time-out, is not passing through a moment of weakness.
pub const LOAD_RETRIES: u8 = 4;

/// What is offered in one phase.
pub struct Offer<'o> {
    /// Which part of the program.
    pub stage: Stage,
    /// Tries after the first of any operation, at least.
    pub retries_min: u8,
    /// When operations are due.
    pub schedule: Schedule,
    /// When to stop.
    pub limit: Limit,
    /// When to stop at the latest, after the start line.
    pub ends_after: Option<Duration>,
    /// Which operations are measured.
    pub window: Window,
    /// How long is measured, if time says it.
    pub measures_for: Option<Duration>,
    /// Number of the first operation.
    pub first_operation: u64,
    /// Which reads are compared.
    pub verify: VerifyReads,
    /// What is written down of its writes.
    pub keeps: Keeps,
    /// What was written before, if it was written down.
    pub written: Option<Arc<Written>>,
    /// What is broken on purpose while it is measured.
    pub faults: &'o [Fault],
    /// Whether it may rise slowly: nothing of the rise is in a window.
    pub may_rise: bool,
}

/// What a phase came to.
pub struct Offered {
    /// The engine's own account.
    pub summary: Summary,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
    /// What its intervals came to.
    pub tally: Tally,
}

impl Offered {
    /// Failed operations in words, with the first message of each kind; none if all succeeded.
    pub fn errors_words(&self) -> Option<String> {
        let errors = self.tally.outcomes.errors_by_name();
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

/// A closed loop of at most `in_flight`, and never more than there is to do.
pub fn closed(in_flight: u32, operations: u64) -> Schedule {
    let operations = u32::try_from(operations).unwrap_or(u32::MAX);
    Schedule::Closed {
        in_flight: in_flight.min(operations).max(1),
    }
}

/// The schedule of a point with the arrivals that a variant asks for.
pub fn arrivals(point: Point, settings: &Settings) -> Schedule {
    match settings.workload.recorded.as_ref().and_then(|one| one.speed) {
        Some(speed) => Schedule::Recorded { speed },
        None => schedule(point, settings.poisson),
    }
}

/// The schedule of a point.
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
    /// Operations from number 0 on, all of them measured and none compared.
    pub fn of(stage: Stage, schedule: Schedule, limit: Limit) -> Offer<'static> {
        Offer {
            stage,
            retries_min: 0,
            schedule,
            limit,
            ends_after: None,
            window: Window::Whole,
            measures_for: None,
            first_operation: 0,
            verify: VerifyReads::Off,
            keeps: Keeps::Nothing,
            written: None,
            faults: &[],
            may_rise: true,
        }
    }
}

/// The engine's settings for an offer.
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

/// Event loops for so many operations in flight: a worker without one would have nothing to do.
pub fn workers(client: &Client, in_flight: usize) -> usize {
    let asked = client.workers.unwrap_or_else(workers_auto);
    asked.clamp(1, in_flight.max(1))
}

/// The same on these CPUs: unless the study says how many, each has one of its own.
pub fn workers_on(client: &Client, in_flight: usize, cpus: &[usize]) -> usize {
    let workers = workers(client, in_flight);
    match (client.workers, cpus.len()) {
        (Some(_), _) | (_, 0) => workers,
        (None, count) => workers.min(count),
    }
}

/// Half of the CPUs: the other half is for what is measured, or for the kernel's network.
pub fn workers_auto() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| (cpus.get() / 2).max(1))
}
