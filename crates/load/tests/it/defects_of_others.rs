//! Tests for mistakes that other load generators have made.

use crate::program::{kind, program, statement};
use crate::server::{Response, Server};
use crate::{RunResults, config, run};
use load::{Limit, Schedule};
use measure::{ClientCount, Outcome};
use std::time::Duration;
use workload::{Policy, Program};

const INSERT: &str = "INSERT INTO t (k) VALUES (?)";

fn writes() -> Program {
    let kinds = vec![kind("write", Policy::default())];
    program(kinds, vec![statement(INSERT, 0)], &[0])
}

fn never_sent(ran: &RunResults) -> u64 {
    let intervals = ran.intervals.iter();
    intervals.map(|i| i.client.counts[ClientCount::DueNeverSent]).sum()
}

#[test]
fn operations_due_together_are_sent_together() {
    let server = Server::start(|_| Response::Acknowledges);
    let mut config = config(&[&server], writes(), 64);
    config.schedule = Schedule::Closed { in_flight: 64 };
    let ran = run(&config);
    let sends: u64 = ran.intervals.iter().map(|i| i.client.sends).sum();
    assert_eq!((ran.summary.operations_ended, sends), (64, 1));
}

#[test]
fn stream_ids_are_never_negative_after_many_operations() {
    let server = Server::start(|_| Response::Acknowledges);
    let ran = run(&config(&[&server], writes(), 70_000));
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 70_000);
    assert!(server.requests().iter().all(|asked| asked.stream >= 0));
}

/// The last interval of a run is shorter than a second. If the number of its operations were
/// divided by a whole second, the server would appear slower.
#[test]
fn a_partial_interval_has_its_own_length() {
    let server = Server::start(|_| Response::Acknowledges);
    let mut config = config(&[&server], writes(), 0);
    config.schedule = Schedule::Fixed { ops_per_s: 1000.0 };
    config.limit = Limit::Duration(Duration::from_millis(250));
    let ran = run(&config);
    let offered = ran.intervals.iter().filter(|i| !i.draining);
    let seconds: f64 = offered.map(|interval| interval.seconds()).sum();
    assert!((seconds - 0.25).abs() < 1e-9, "{seconds}");
    assert_eq!(ran.kinds[0].outcomes.total() + never_sent(&ran), 250);
    let windows = ran.intervals.windows(2);
    assert!(windows.clone().all(|pair| pair[0].end_ns == pair[1].start_ns));
}

/// The client sends operations that became due during a stall late, but only once. Their latency
/// begins at their due time, and the client does not add corrected values for them afterwards.
#[test]
fn operations_caught_up_after_a_stall_are_counted_once() {
    let server = Server::start(|asked| match asked.number {
        50 => Response::AcknowledgesAfter(Duration::from_millis(100)),
        _ => Response::Acknowledges,
    });
    let mut config = config(&[&server], writes(), 0);
    config.schedule = Schedule::Fixed { ops_per_s: 1000.0 };
    config.limit = Limit::Duration(Duration::from_millis(300));
    config.in_flight_max = 8;
    let ran = run(&config);
    let write = &ran.kinds[0];
    let total = write.outcomes.total();
    assert_eq!(total + never_sent(&ran), 300);
    assert_eq!(
        (write.latency.count(), write.service.count()),
        (total, total)
    );
    assert_eq!(server.requests().len() as u64, total);
    let limited: u64 = ran.intervals.iter().map(|i| i.client.counts[ClientCount::Limited]).sum();
    assert!(limited > 0, "more was due than may be in flight");
}

#[test]
fn the_errors_of_all_workers_are_added_up() {
    let server = Server::start(|asked| match asked.number % 2 {
        0 => Response::Fails(cql::response::ErrorCode::Overloaded),
        _ => Response::Acknowledges,
    });
    let mut config = config(&[&server], writes(), 3000);
    config.workers = 3;
    config.schedule = Schedule::Closed { in_flight: 9 };
    let ran = run(&config);
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Overloaded), 1500);
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 1500);
}

/// If a client allocates the length that a header announces, a hostile server can make it allocate
/// 256 MiB per connection.
#[test]
fn an_impossible_answer_is_refused_at_its_header() {
    let server = Server::start(|asked| match asked.before + asked.number as usize {
        0 => Response::Claims(250 << 20, 1000),
        _ => Response::Acknowledges,
    });
    let mut config = config(&[&server], writes(), 1);
    config.schedule = Schedule::Closed { in_flight: 1 };
    let ran = run(&config);
    let firsts = ran.summary.first_errors.iter();
    let messages: Vec<&str> = firsts.map(|first| first.message.as_str()).collect();
    assert!(
        messages
            .iter()
            .any(|message| { message.contains("an answer of 262144000 bytes, but the limit is",) }),
        "{messages:?}"
    );
}
