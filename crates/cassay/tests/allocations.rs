//! After the start line the data plane allocates nothing: neither a worker of the engine nor, since
//! it runs in the same process here, the event loop of the null target.
//!
//! A binary of its own, since the counting allocator sees every thread of the process.

#[path = "../../cql/tests/it/allocator.rs"]
mod allocator;

use allocator::Telling;
use load::{Access, Config, Endpoint, Flow, Keeps, Limit, Schedule, VerifyReads};
use null::NullServer;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use target::NullSpec;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The control plane may allocate: the test's own thread merges intervals.
    static IS_CONTROL: Cell<bool> = const { Cell::new(false) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    given: |_| {
        if !IS_CONTROL.try_with(Cell::get).unwrap_or(true) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
    },
    returned: |_| (),
};

/// Stopped by the caller, so that the end of the run is never among what was counted, however late
/// the caller's thread gets to run.
fn go_on(index: u64) -> Flow {
    if index < 5 {
        Flow::Continue
    } else {
        Flow::StopNow
    }
}

#[test]
fn nothing_is_allocated_after_the_start_line() {
    IS_CONTROL.set(true);
    let server = NullServer::start(&NullSpec::default()).expect("a free port");
    let workloads = [(
        "standard1",
        vec![("write".to_owned(), 9.0), ("read".to_owned(), 1.0)],
    )];
    for (use_, mix) in workloads {
        for schedule in [
            Schedule::Closed { in_flight: 64 },
            Schedule::Poisson {
                ops_per_s: 20_000.0,
            },
        ] {
            let spec = workload::Spec {
                mix: mix.clone(),
                ..workload::Spec::new(use_, 100_000, 1)
            };
            let config = Config {
                program: Arc::new(workload::compile(&spec).expect("a good spec")),
                stage: workload::Stage::Main,
                nodes: vec![Endpoint::at(server.address())],
                access: Access::default(),
                schedule,
                rise: Duration::ZERO,
                first_operation: 0,
                limit: Limit::Unlimited,
                window: load::Window::Whole,
                in_flight_max: 64,
                release_quantum: load::RELEASE_QUANTUM,
                timeout: Duration::from_secs(5),
                retries_min: 0,
                workers: 1,
                others: load::OtherWorkers::default(),
                cpus: Vec::new(),
                realtime: false,
                connections_per_node: 1,
                interval: Duration::from_millis(100),
                verify_reads: VerifyReads::EveryNth(1),
                keeps: Keeps::Nothing,
                written: None,
            };
            let (mut after_first, mut after_last, mut operations) = (0, 0, 0);
            // A busy machine makes intervals longer, and leaves out numbers.
            let mut shown = 0;
            load::run(&config, &mut |interval| {
                let index = shown;
                shown += 1;
                match index {
                    0 => after_first = ALLOCATIONS.load(Ordering::Relaxed),
                    1..=5 => {
                        after_last = ALLOCATIONS.load(Ordering::Relaxed);
                        operations += interval.ended();
                    }
                    _ => {}
                }
                go_on(index)
            })
            .expect("the null target takes everything");
            assert!(operations > 1_000, "{operations} operations prove nothing");
            assert_eq!(
                after_last - after_first,
                0,
                "in {operations} operations of {use_}"
            );
        }
    }
}
