//! Derives the conditions of a run from its seed: operations, rate, connections, duration and
//! faults.

use super::dice::Dice;
use super::program;
use crate::config::{Access, Config, Endpoint, Limit, OtherWorkers, VerifyReads, Window};
use crate::connection::Buffers;
use crate::ledger::LedgerMode;
use crate::schedule::Schedule;
use crate::worker_builder::Sizes;
use std::time::Duration;
use workload::Stage;

/// Start of the run on the simulated clock, in ns. The start may be at any time except 0.
pub const START_NS: u64 = 1_000_000;

/// Frequency of each fault, in thousandths of the cases in which it can occur.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Error responses.
    pub error: u64,
    /// Responses which state that the server does not know the prepared statement.
    pub forget: u64,
    /// Requests that the server never answers.
    pub never: u64,
    /// Responses that arrive after the timeout.
    pub late: u64,
    /// Responses that are not valid frames, or on whose stream no request waits.
    pub poison: u64,
    /// Requests after which the connection breaks.
    pub close: u64,
    /// Writes after which the socket accepts no data for a while.
    pub block: u64,
    /// Reads and writes that transfer only a part of the data.
    pub partial: u64,
    /// Waits after which no connection is ready, or that take much longer than requested.
    pub wake: u64,
    /// Responses whose body begins with a warning.
    pub warning: u64,
    /// Intervals that end before the collector has returned an empty part.
    pub collector: u64,
}

/// Action by which the caller influences the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The caller does nothing. The run ends at its limit.
    Waits,
    /// The caller stops the load after this time, in ns. The worker still sends operations that
    /// were due before.
    Stops(u64),
    /// The caller abandons the run after the first time. The worker stops waiting for responses
    /// after the second time. Both times are in ns.
    Abandons(u64, u64),
    /// The caller begins the measured window after the first number of intervals. The window lasts
    /// for the second number of intervals.
    Measures(u64, u64),
}

/// Conditions of one run. See the module documentation.
#[derive(Debug)]
pub struct Shape {
    pub seed: u64,
    pub config: Config,
    /// Statements with which operations begin.
    pub first: Vec<u16>,
    /// Index of the simulated worker among the run's workers. The other workers are not simulated.
    pub worker: usize,
    pub sizes: Sizes,
    pub faults: Faults,
    pub caller: Caller,
    /// True if connections report the arrival times of data.
    pub times_arrivals: bool,
    /// Minimum and maximum time between a request and its response, in ns.
    pub answers_in_ns: (u64, u64),
    /// Maximum time by which the clock advances at a reading, in ns.
    pub tick_ns: u64,
    /// Maximum time until a lost connection is open again, in ns.
    pub reopens_in_ns: u64,
}

fn keeps(dice: &mut Dice) -> LedgerMode {
    if dice.chance(250) {
        LedgerMode::Times
    } else {
        LedgerMode::Nothing
    }
}

impl Shape {
    pub fn new(seed: u64) -> Shape {
        let dice = &mut Dice::new(seed);
        // A histogram resolves every nanosecond up to 2,048 ns. Most seeds therefore use such short
        // times.
        let unit = dice.pick(&[1, 1, 1, 40]);
        let first = first(dice);
        let timeout_ns = unit * dice.between(300, 2_500);
        let in_flight = dice.between(1, 8) as u32;
        let rate = 1e9 / (unit * dice.between(20, 600)) as f64;
        let schedule = match dice.below(5) {
            0..=2 => Schedule::Closed { in_flight },
            3 => Schedule::Fixed { ops_per_s: rate },
            _ => Schedule::Poisson { ops_per_s: rate },
        };
        let workers = if in_flight > 1 {
            dice.pick(&[1, 1, 2])
        } else {
            1
        };
        let long_ns = unit * dice.between(500, 9_000);
        let interval_ns = unit * dice.pick(&[300, 1_000, 5_000]);
        let (caller, limit, window) = course(dice, long_ns, interval_ns);
        let nodes = dice.between(1, 3);
        let speculates_ns = timeout_ns / dice.between(2, 8);
        let config = Config {
            program: program::program(seed, &first, timeout_ns, speculates_ns, dice.next()),
            stage: Stage::Main,
            nodes: (0..nodes).map(endpoint).collect(),
            access: Access::default(),
            schedule,
            rise: Duration::from_nanos(dice.pick(&[0, 0, long_ns / 2])),
            first_operation: dice.pick(&[0, 7]),
            limit,
            window,
            in_flight_max: in_flight,
            release_quantum: Duration::from_nanos(unit * dice.pick(&[0, 0, 200])),
            timeout: Duration::from_nanos(timeout_ns),
            retries_min: dice.pick(&[0, 0, 0, 1]),
            workers,
            others: others(dice, in_flight),
            cpus: Vec::new(),
            realtime: false,
            connections_per_node: dice.between(1, 2) as usize,
            interval: Duration::from_nanos(interval_ns),
            verify_reads: VerifyReads::EveryNth(2),
            keeps: keeps(dice),
            written: None,
        };
        Shape {
            seed,
            worker: dice.below(workers as u64) as usize,
            sizes: Sizes {
                buffers: Buffers {
                    input: 4096,
                    output: dice.pick(&[0, 4096]) as usize,
                    follow_ups: 4096,
                },
                orphans: dice.between(1, 6) as usize,
            },
            faults: faults(dice),
            caller,
            times_arrivals: !seed.is_multiple_of(4),
            answers_in_ns: (unit * 10, unit * dice.between(50, 900)),
            tick_ns: dice.pick(&[1, 5, 20]),
            reopens_in_ns: unit * dice.between(100, 6_000),
            config,
            first,
        }
    }
}

fn first(dice: &mut Dice) -> Vec<u16> {
    let count = dice.between(1, 4);
    (0..count).map(|_| dice.pick(&program::FIRST)).collect()
}

/// Returns the workers of other clients. The limits are such that each worker can have at least one
/// operation in flight.
fn others(dice: &mut Dice, in_flight: u32) -> OtherWorkers {
    let mut some = || dice.pick(&[0, 0, 1]) as usize * usize::from(in_flight > 3);
    OtherWorkers {
        before: some(),
        after: some(),
    }
}

/// Chooses the caller's action, the end of the run, and the measured window.
fn course(dice: &mut Dice, long_ns: u64, interval_ns: u64) -> (Caller, Limit, Window) {
    let operations = dice.between(3, 60);
    let caller = match dice.below(6) {
        0 => Caller::Stops(long_ns),
        1 => Caller::Abandons(long_ns, dice.below(2 * interval_ns)),
        2 => Caller::Measures(dice.below(4), dice.between(1, 8)),
        _ => Caller::Waits,
    };
    let limit = match (caller, dice.below(2)) {
        (Caller::Waits, 0) => Limit::Duration(Duration::from_nanos(long_ns)),
        (Caller::Waits, _) if operations.is_multiple_of(4) => {
            Limit::Either(operations, Duration::from_nanos(long_ns))
        }
        (Caller::Waits, _) => Limit::Operations(operations),
        _ => Limit::Unlimited,
    };
    let window = match (caller, dice.below(3)) {
        (Caller::Measures(..), _) => Window::WhenTold,
        (_, 0) => Window::After(Duration::from_nanos(interval_ns * dice.below(4))),
        _ => Window::Whole,
    };
    (caller, limit, window)
}

/// Returns the frequency of faults. A third of the seeds have no faults. The other seeds have rare
/// or frequent faults.
fn faults(dice: &mut Dice) -> Faults {
    if dice.below(3) == 0 {
        return Faults::default();
    }
    let mut some = |most: u64| match dice.below(3) {
        0 => 0,
        1 => dice.below(most / 8 + 1),
        _ => dice.below(most),
    };
    Faults {
        error: some(300),
        forget: some(200),
        never: some(150),
        late: some(200),
        poison: some(30),
        close: some(60),
        block: some(200),
        partial: some(400),
        wake: some(300),
        warning: some(200),
        collector: some(500),
    }
}

fn endpoint(index: u64) -> Endpoint {
    let tokens = (0..4).map(|n| (workload::random::mix(index * 4 + n + 1)) as i64);
    Endpoint {
        name: format!("node{index}"),
        tokens: tokens.collect(),
        ..Endpoint::from_address(([127, 0, 0, 1], 9042).into())
    }
}
