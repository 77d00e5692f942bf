//! What a seed decides before the run: which operations, how fast, on how many connections, how
//! long, and how much goes wrong.

use super::dice::Dice;
use super::program;
use crate::build::Sizes;
use crate::config::{Access, Config, Endpoint, Limit, OtherWorkers, VerifyReads, Window};
use crate::connection::Buffers;
use crate::ledger::Keeps;
use crate::schedule::Schedule;
use std::time::Duration;
use workload::Stage;

/// When the run begins, on the clock of the simulation: anything but 0.
pub const START_NS: u64 = 1_000_000;

/// How often something goes wrong, of a thousand.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Answers that are errors.
    pub error: u64,
    /// Answers that the statement is not known.
    pub forget: u64,
    /// Requests that are never answered.
    pub never: u64,
    /// Answers later than the time-out.
    pub late: u64,
    /// Answers that are no frames, or on a stream where nothing waits.
    pub poison: u64,
    /// Requests after which the connection ends.
    pub close: u64,
    /// Writes after which the socket has no room for a while.
    pub block: u64,
    /// Reads and writes that take a part of what is there.
    pub partial: u64,
    /// Waits after which nothing is ready, or that take much longer than asked for.
    pub wake: u64,
    /// Answers with a warning in front.
    pub warning: u64,
    /// Intervals that end before the collector has given a part back.
    pub collector: u64,
}

/// What the caller of the run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Nothing: the limit ends the run.
    Waits,
    /// Stops after so long: what was due is sent.
    Stops(u64),
    /// Stops after so long, and nothing more is sent; hangs up after so much longer.
    Abandons(u64, u64),
    /// Measures after so many intervals, for so many.
    Measures(u64, u64),
}

/// See the module.
#[derive(Debug)]
pub struct Shape {
    pub seed: u64,
    pub config: Config,
    /// The statements with which operations begin.
    pub first: Vec<u16>,
    /// Which of the run's workers it is; the others are not there.
    pub worker: usize,
    pub sizes: Sizes,
    pub faults: Faults,
    pub caller: Caller,
    /// Between a request and its answer, at least and at most.
    pub answers_in_ns: (u64, u64),
    /// What a reading of the clock takes, at most.
    pub tick_ns: u64,
    /// Until a connection that was lost is open again, at most.
    pub reopens_in_ns: u64,
}

fn keeps(dice: &mut Dice) -> Keeps {
    if dice.chance(250) {
        Keeps::Times
    } else {
        Keeps::Nothing
    }
}

impl Shape {
    pub fn new(seed: u64) -> Shape {
        let dice = &mut Dice::new(seed);
        // Within 2,048 ns a histogram knows every nanosecond; so most seeds stay below it.
        let unit = dice.pick(&[1, 1, 1, 40]);
        let first: Vec<u16> = {
            let count = dice.between(1, 4);
            (0..count).map(|_| dice.pick(&program::FIRST)).collect()
        };
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
            answers_in_ns: (unit * 10, unit * dice.between(50, 900)),
            tick_ns: dice.pick(&[1, 5, 20]),
            reopens_in_ns: unit * dice.between(100, 6_000),
            config,
            first,
        }
    }
}

/// What the caller does, when the run ends, and which operations are measured.
/// Workers of other clients, where there is an operation in flight for each.
fn others(dice: &mut Dice, in_flight: u32) -> OtherWorkers {
    let mut some = || dice.pick(&[0, 0, 1]) as usize * usize::from(in_flight > 3);
    OtherWorkers {
        before: some(),
        after: some(),
    }
}

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

/// A third of the seeds have no fault; the others some of them, rarely or often.
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
        ..Endpoint::at(([127, 0, 0, 1], 9042).into())
    }
}
