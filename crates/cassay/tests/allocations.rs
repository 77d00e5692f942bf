//! Tests that the data plane allocates nothing after the start line. The data plane consists of the
//! engine's workers. The test also covers the null target's event loop, which runs in the same
//! process here.
//!
//! This is a separate test binary, because the counting allocator sees every thread of the process.

#[path = "../../cql/tests/it/allocator.rs"]
mod allocator;

use allocator::Telling;
use load::{Access, Config, Endpoint, Flow, LedgerMode, Limit, Schedule, VerifyReads};
use null_server::NullServer;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use target_spec::NullSpec;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// True while allocations are counted, which is after the start line.
static COUNTS: AtomicBool = AtomicBool::new(false);

/// Thread name and backtrace of the first counted allocation.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// True on threads of the control plane, which may allocate. For example, the thread of the
    /// test merges intervals.
    static IS_CONTROL: Cell<bool> = const { Cell::new(false) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    given: |_| {
        if COUNTS.load(Ordering::Relaxed) && !IS_CONTROL.try_with(Cell::get).unwrap_or(true) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
            // Counting ends here, because the following lines allocate memory themselves.
            IS_CONTROL.set(true);
            if let Ok(mut first) = FIRST.try_lock() {
                first.get_or_insert_with(|| {
                    let thread = std::thread::current();
                    let name = thread.name().unwrap_or("no name");
                    format!("thread {name}:\n{}", Backtrace::force_capture())
                });
            }
            IS_CONTROL.set(false);
        }
    },
    returned: |_| (),
};

/// Stops the run in the sixth interval. Allocations at the end of the run are never counted, even
/// if the caller's thread runs late.
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
                nodes: vec![Endpoint::from_address(server.address())],
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
                keeps: LedgerMode::Nothing,
                written: None,
            };
            // On a busy machine, intervals are longer and interval numbers may be missing, so this
            // test counts the intervals itself.
            let (mut allocations, mut operations, mut shown) = (0, 0, 0);
            load::run(&config, &mut |interval| {
                let index = shown;
                shown += 1;
                match index {
                    0 => COUNTS.store(true, Ordering::Relaxed),
                    1..=5 => {
                        allocations = ALLOCATIONS.load(Ordering::Relaxed);
                        COUNTS.store(index < 5, Ordering::Relaxed);
                        operations += interval.ended();
                    }
                    _ => {}
                }
                go_on(index)
            })
            .expect("the null target takes everything");
            assert!(operations > 1_000, "{operations} operations prove nothing");
            assert_eq!(
                allocations,
                0,
                "in {operations} operations of {use_}; the first in {}",
                FIRST.lock().unwrap().take().unwrap_or_default()
            );
        }
    }
}
