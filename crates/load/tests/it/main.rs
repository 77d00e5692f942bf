//! Tests the engine against a server with scripted responses: batches, pages, parts, conditions,
//! timeouts, retries, speculation and the ledger. All tests are in one binary.

#![expect(
    clippy::unwrap_used,
    reason = "tests and their helpers fail by a panic"
)]

mod again;
mod courses;
mod defects_of_others;
mod ledger;
mod moved;
mod program;
mod server;
mod slowest;
mod steering;
mod window;

use load::{Access, Config, Endpoint, Flow, LedgerMode, Limit, Schedule, Summary, VerifyReads};
use measure::{Interval, KindInterval};
use std::sync::Arc;
use std::time::Duration;
use workload::{Program, Stage};

/// Returns the configuration of a closed loop of 4 operations in flight, with one connection to
/// each of `nodes`.
fn config(nodes: &[&server::Server], program: Program, operations: u64) -> Config {
    Config {
        program: Arc::new(program),
        stage: Stage::Main,
        nodes: nodes.iter().map(|node| Endpoint::from_address(node.address)).collect(),
        access: Access::default(),
        schedule: Schedule::Closed { in_flight: 4 },
        rise: Duration::ZERO,
        first_operation: 0,
        limit: Limit::Operations(operations),
        window: load::Window::Whole,
        in_flight_max: 64,
        release_quantum: load::RELEASE_QUANTUM,
        timeout: Duration::from_secs(20),
        retries_min: 0,
        workers: 1,
        others: Default::default(),
        cpus: Vec::new(),
        realtime: false,
        connections_per_node: 1,
        interval: Duration::from_millis(100),
        verify_reads: VerifyReads::EveryNth(1),
        keeps: LedgerMode::Nothing,
        written: None,
    }
}

/// Results of a run: the totals of every kind over all intervals, the intervals, and the summary.
struct RunResults {
    kinds: Vec<KindInterval>,
    intervals: Vec<Interval>,
    summary: Summary,
}

fn run(config: &Config) -> RunResults {
    let mut intervals: Vec<Interval> = Vec::new();
    let summary = load::run(config, &mut |interval| {
        intervals.push(interval.clone());
        Flow::Continue
    })
    .unwrap();
    let mut kinds: Vec<KindInterval> = Vec::new();
    for interval in &intervals {
        kinds.resize_with(interval.kinds.len(), KindInterval::default);
        for (sum, kind) in kinds.iter_mut().zip(&interval.kinds) {
            sum.add(kind);
        }
    }
    RunResults {
        kinds,
        intervals,
        summary,
    }
}
