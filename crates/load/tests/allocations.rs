//! After the start line a worker allocates nothing, whatever shape its operations have: batches,
//! pages, chains and operations that may be retried included.
//!
//! A binary of its own, since the counting allocator sees every thread of the process; the test's
//! thread and the server's are left out.

#![expect(
    clippy::unwrap_used,
    reason = "a panic is how a test fails, in its helpers too"
)]
#![expect(dead_code, reason = "its modules belong to `it`, and this uses a part")]

#[path = "it/program.rs"]
mod program;
#[path = "it/server.rs"]
mod server;

use load::{Access, Config, Endpoint, Flow, Limit, Schedule, VerifyReads};
use program::{batches, kind, statement};
use server::{Does, Server};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use workload::{BatchKind, Policy, Program, Stage, Statement};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_LEFT_OUT: Cell<bool> = const { Cell::new(false) };
}

fn begin_server_thread() {
    IS_LEFT_OUT.set(true);
}

fn count() {
    if !IS_LEFT_OUT.try_with(Cell::get).unwrap_or(true) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// All shapes in one program, one after the other.
fn program() -> Program {
    let insert = "INSERT INTO t (k) VALUES (?)";
    let select = "SELECT v FROM t WHERE k = ?";
    let retries = Policy {
        retries: 2,
        speculate_after: Some(Duration::from_secs(10)),
        timeout: Some(Duration::from_secs(20)),
    };
    let statements = vec![
        Statement {
            batch: Some(BatchKind::Unlogged),
            client_timestamp: true,
            ..statement(insert, 0)
        },
        Statement {
            page_size: Some(2),
            then: Some(0),
            ..statement(select, 1)
        },
        Statement {
            prepared: false,
            ..statement(insert, 0)
        },
    ];
    let kinds = vec![kind("write", Policy::default()), kind("read", retries)];
    let entries = |n| if n % 3 == 0 { 10 } else { 1 };
    batches(kinds, statements, &[0, 1, 2], entries, |_| None)
}

#[test]
fn nothing_is_allocated_after_the_start_line_whatever_the_shape() {
    IS_LEFT_OUT.set(true);
    let server = Server::start(|asked| match asked.paging_state.as_deref() {
        _ if !asked.cql[0].starts_with("SELECT") => Does::Acknowledges,
        None => Does::Rows(2, Some(b"next".to_vec())),
        Some(_) => Does::Rows(1, None),
    });
    let config = Config {
        program: Arc::new(program()),
        stage: Stage::Main,
        nodes: vec![Endpoint::at(server.address)],
        access: Access::default(),
        schedule: Schedule::Closed { in_flight: 16 },
        first_operation: 0,
        limit: Limit::Unlimited,
        window: load::Window::Whole,
        in_flight_max: 64,
        release_quantum: load::RELEASE_QUANTUM,
        timeout: Duration::from_secs(20),
        retries_min: 0,
        workers: 1,
        cpus: Vec::new(),
        connections_per_node: 1,
        interval: Duration::from_millis(100),
        verify_reads: VerifyReads::EveryNth(1),
        keeps_ledger: true,
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
            1..=4 => {
                after_last = ALLOCATIONS.load(Ordering::Relaxed);
                operations += interval.ended();
            }
            _ => {}
        }
        match index {
            0..=3 => Flow::Continue,
            // Stopped by the caller, so that the end of the run is not among what was counted.
            _ => Flow::StopNow,
        }
    })
    .unwrap();
    assert!(operations > 500, "{operations} operations prove nothing");
    assert_eq!(after_last - after_first, 0, "in {operations} operations");
}
