//! Simulates the worker against a scripted server and a simulated clock, in thousands of runs per
//! second. A seed determines each run. The runs cover every fault that a connection can have.
//!
//! The seed determines the operations, their schedule and limits, the connections, and their faults
//! (`shape`). The simulated world executes the run (`world`, `server`). The oracle derives the
//! expected records from the exchanged data and the clock (`oracle`, `expected_records`). In
//! addition, every operation must end exactly once, the worker must not allocate memory, no
//! iteration may be idle, and the run must end.
//!
//! `cargo xtask simulate` runs any number of seeds. `CASSAY_SIMULATE=seed` runs one seed.

#![expect(
    clippy::vec_box,
    reason = "the worker hands over each part in its box: without the box, it would copy the part"
)]

mod alloc;
mod dice;
mod expected_records;
mod oracle;
mod program;
mod server;
mod shape;
mod simulated_connection;
mod stream;
mod world;

use crate::config::Window;
use crate::connect;
use crate::control::Control;
use crate::recorder::{Part, Recorder};
use crate::statement_facts::Facts;
use crate::worker_builder::{Shared, build};
use cql::Version;
use expected_records::{Coverage, ExpectedRecords, InjectedDefect, RunRecords, part_with_room};
use oracle::Oracle;
use shape::{START_NS, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::{PARTS, Sim};

/// Number of successive seeds whose histograms are summed before the comparison.
const TOGETHER: u64 = 250;
/// Range of seeds that the test runs. `CASSAY_SIMULATE=from..to` selects another range.
const SEEDS: std::ops::Range<u64> = 0..100_000;

/// Successive runs on one thread.
struct Runs {
    parts: Vec<Box<Part>>,
    expected: ExpectedRecords,
    seen: Coverage,
    operations: u64,
    /// Defect to inject at the first success of the next run, if any.
    planted: Option<InjectedDefect>,
}

impl Runs {
    fn new() -> Runs {
        let shape = Shape::new(0);
        let kinds = shape.config.program.kinds();
        Runs {
            parts: (0..PARTS).map(|_| part_with_room(kinds)).collect(),
            expected: ExpectedRecords::new(kinds.len()),
            seen: Coverage::default(),
            operations: 0,
            planted: None,
        }
    }

    /// Runs one seed, and compares all its results except histograms.
    fn run(&mut self, seed: u64) {
        let shape = Shape::new(seed);
        let config = shape.config.clone();
        let facts = Facts::new(&config.program, config.timeout, config.retries_min).unwrap();
        let control = Arc::new(Control::new(&facts));
        if let Some(duration) = config.limit.duration() {
            control.stop_at(START_NS + duration.as_nanos() as u64);
        }
        control.measure_from(match config.window {
            Window::Whole => 0,
            Window::After(warmup) => START_NS + warmup.as_nanos() as u64,
            Window::WhenTold => u64::MAX,
        });
        let templates = config.program.statements().iter();
        let shared = Shared {
            control: Arc::clone(&control),
            facts: Arc::new(facts),
            templates: templates
                .map(|of| {
                    connect::template(of, of.cql.as_bytes().into(), Version::V4)
                        .expect("the simulation writes CQL")
                })
                .collect(),
        };
        let mut recorded = RunRecords::new(std::mem::take(&mut self.expected));
        recorded.planted = self.planted;
        let oracle = Oracle::new(&shape, &control, recorded);
        let mut parts = std::mem::take(&mut self.parts);
        let recorder = Recorder::new(
            parts.pop().expect("a part"),
            config.interval.as_nanos() as u64,
        );
        let (index, sizes) = (shape.worker, shape.sizes);
        let sim = Sim::new(shape, oracle, control, parts);
        let world = (sim.clone(), sim.links());
        let worker = build((&config, &shared), index, world, recorder, sizes).unwrap();
        let (end, allocations) = alloc::counted(|| worker.run(START_NS).unwrap());
        assert_eq!(
            allocations, 0,
            "the worker allocated memory after the start line"
        );
        let (oracle, parts) = sim.end().into_parts();
        self.parts = parts;
        assert_eq!(
            (end.sent, end.ended, end.next_operation),
            (oracle.sent, oracle.ended, oracle.next_number())
        );
        assert!(
            end.ledger == oracle.ledger,
            "the ledger differs from the expected ledger"
        );
        oracle.recorded.compare_slowest(&end.slowest.finish());
        self.operations += end.ended;
        self.planted = oracle.recorded.planted;
        self.seen.add(&oracle.coverage());
        self.expected = oracle.recorded.end();
    }

    fn run_all(&mut self, seeds: std::ops::Range<u64>) -> Result<(), String> {
        seeds.for_each(|seed| self.run(seed));
        let kinds_count = self.parts[0].kinds.len();
        let expected = std::mem::replace(&mut self.expected, ExpectedRecords::new(kinds_count));
        expected.differs(&mut self.parts).map_or(Ok(()), Err)
    }
}

/// Runs a single seed, and panics with the reason if it fails.
fn alone(seed: u64) {
    let found = std::panic::catch_unwind(|| Runs::new().run_all(seed..seed + 1));
    match found {
        Ok(Ok(())) => {}
        Ok(Err(why)) => panic!("seed {seed}: {why}"),
        Err(_) => panic!("seed {seed}: the reason is above; {:#?}", Shape::new(seed)),
    }
}

/// Runs the seeds on one thread per CPU. Each thread takes the next seeds that no other thread has
/// taken.
fn run_seeds(seeds: std::ops::Range<u64>) -> (Coverage, u64) {
    let next = AtomicU64::new(seeds.start);
    let body = || {
        let mut runs = Runs::new();
        loop {
            let from = next.fetch_add(TOGETHER, Ordering::Relaxed);
            let to = (from + TOGETHER).min(seeds.end);
            if from >= to {
                return (runs.seen, runs.operations);
            }
            let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                runs.run_all(from..to).unwrap();
            }));
            if found.is_err() {
                (from..to).for_each(alone);
                panic!("seeds {from} to {to} fail together but not separately");
            }
        }
    };
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cpus).map(|_| scope.spawn(body)).collect();
        let (mut seen, mut operations) = (Coverage::default(), 0);
        for thread in threads {
            let (more, ended) = thread.join().expect("the simulation succeeds for all seeds");
            seen.add(&more);
            operations += ended;
        }
        (seen, operations)
    })
}

/// Returns the seeds to run. `CASSAY_SIMULATE` contains one seed or a range of seeds.
fn seeds() -> std::ops::Range<u64> {
    let Ok(asked) = std::env::var("CASSAY_SIMULATE") else {
        return SEEDS;
    };
    let number = |text: &str| text.parse().expect("CASSAY_SIMULATE must be N or N..M");
    match asked.split_once("..") {
        Some((from, to)) => number(from)..number(to),
        None => number(&asked)..number(&asked) + 1,
    }
}

#[test]
fn records_equal_the_wire_for_every_simulated_problem() {
    let seeds = seeds();
    let count = seeds.end - seeds.start;
    if count == 1 {
        return alone(seeds.start);
    }
    let (mut seen, operations) = run_seeds(seeds);
    println!("{count} seeds, {operations} operations");
    for (what, count) in seen.each() {
        println!("{count:>10} {what}");
        assert!(*count > 0, "no seed produced {what}");
    }
}

/// Returns true if a run fails when the oracle injects the defect. Returns `None` if the run did
/// not reach the defect.
fn is_found(seed: u64, planted: Option<InjectedDefect>) -> Option<bool> {
    let found = std::panic::catch_unwind(|| {
        let mut runs = Runs::new();
        runs.planted = planted;
        let all = runs.run_all(seed..seed + 1);
        (all.is_err(), runs.planted.is_none())
    });
    match found {
        Ok((found, was_planted)) => was_planted.then_some(found),
        Err(_) => Some(true),
    }
}

/// In some runs, the times are so long that a histogram cannot resolve a delay of one nanosecond.
#[test]
fn an_operation_counted_twice_never_or_late_is_found() {
    for planted in [
        InjectedDefect::Twice,
        InjectedDefect::Lost,
        InjectedDefect::Later,
    ] {
        let runs = (0..24).filter_map(|seed| is_found(seed, Some(planted)));
        let (found, not): (Vec<bool>, Vec<bool>) = runs.partition(|found| *found);
        let most = if planted == InjectedDefect::Later {
            found.len() / 2
        } else {
            0
        };
        assert!(
            found.len() >= 8 && not.len() <= most,
            "{planted:?}: {found:?} {not:?}"
        );
    }
    assert!((0..24).all(|seed| is_found(seed, None) == Some(false)));
}
