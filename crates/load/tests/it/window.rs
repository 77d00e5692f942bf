//! Tests the measured population. The client follows every operation that was due in the window to
//! its end, or counts it with a lower bound.

use crate::program::{kind, program, statement};
use crate::server::{Response, Server};
use crate::{RunResults, config, run};
use load::{Config, Flow, Limit, Schedule, Window};
use measure::{ClientCount, Interval, Outcome, Times};
use std::time::Duration;
use workload::{Policy, Program};

const MS: u64 = 1_000_000;

fn writes() -> Program {
    let insert = statement("INSERT INTO t (k) VALUES (?)", 0);
    program(vec![kind("write", Policy::default())], vec![insert], &[0])
}

fn open(server: &Server, ops_per_s: f64, in_flight_max: u32, limit: Limit) -> Config {
    Config {
        schedule: Schedule::Fixed { ops_per_s },
        in_flight_max,
        limit,
        ..config(&[server], writes(), 0)
    }
}

fn client(ran: &RunResults, count: fn(&Interval) -> u64) -> u64 {
    ran.intervals.iter().map(count).sum()
}

fn latencies(ran: &RunResults) -> Times {
    let mut latency = Times::default();
    let kind = &ran.kinds[0];
    latency.add(&kind.latency, &kind.censored.latency);
    latency
}

/// An earlier version reported a p99.9 of 244 ms for a server that had paused for 1.2 s just before
/// the end. Operations that were due in the pause and waited for a free slot were never sent, and
/// were missing from all percentiles.
#[test]
fn operations_held_back_at_the_window_end_are_still_followed() {
    let server = Server::start(|asked| match asked.number {
        1000 => Response::AcknowledgesAfter(Duration::from_millis(1200)),
        _ => Response::Acknowledges,
    });
    let limit = Limit::Duration(Duration::from_millis(600));
    let ran = run(&Config {
        window: Window::After(Duration::from_millis(200)),
        ..open(&server, 2000.0, 16, limit)
    });
    let write = &ran.kinds[0];
    assert_eq!(write.early.outcomes.get(Outcome::Ok), 400);
    let times = latencies(&ran);
    assert_eq!((times.all().count(), times.censored().count()), (800, 0));
    // Operation 1000 was due 100 ms before the end, and another 199 operations were due after it.
    assert!(times.all().count_above(1050 * MS) >= 200, "{times:?}");
    let p999_ns = times.quantile_ns(0.999);
    assert_eq!(
        p999_ns.is_above((1150 * MS) as f64),
        Some(true),
        "{p999_ns:?}"
    );
    assert!(!p999_ns.is_at_least(), "{p999_ns:?}");
    let after = client(&ran, |i| i.client.counts[ClientCount::SentInDrain]);
    assert!(after >= 200 - 16, "{after} sent after the window");
    assert_eq!(
        client(&ran, |i| i.client.counts[ClientCount::DueNeverSent]),
        0
    );
}

/// The server stops answering, so operations still wait for a free slot when the drain ends.
#[test]
fn unsent_operations_count_with_the_time_that_they_waited() {
    let server = Server::start(|asked| match asked.number {
        100.. => Response::Nothing,
        _ => Response::Acknowledges,
    });
    let limit = Limit::Duration(Duration::from_millis(200));
    let ran = run(&Config {
        timeout: Duration::from_millis(150),
        ..open(&server, 1000.0, 4, limit)
    });
    let write = &ran.kinds[0];
    let never_sent = client(&ran, |i| i.client.counts[ClientCount::DueNeverSent]);
    assert!(never_sent > 0);
    assert_eq!(write.outcomes.total() + never_sent, 200, "what was due");
    let times = latencies(&ran);
    let timed_out = write.outcomes.get(Outcome::ClientTimeout);
    assert_eq!(times.all().count(), 200);
    assert_eq!(times.censored().count(), timed_out + never_sent);
    assert_eq!(
        write.censored.service.count(),
        timed_out,
        "of what was sent"
    );
    // For operations in flight, only one timeout has passed since the send. Unsent operations have
    // waited for the whole drain.
    assert!(times.censored().min_ns() >= 149 * MS, "{times:?}");
    assert!(times.quantile_ns(0.9).is_at_least());
    assert_eq!(ran.summary.next_operation, 200 - never_sent);
}

/// The load is two tenths of a second at the highest rate. Almost none of its operations can be
/// sent. An earlier version recorded operations one by one, which took a second per hundred million
/// operations.
#[test]
fn at_the_highest_rate_every_operation_is_counted() {
    let server = Server::start(|_| Response::Nothing);
    let kinds = ["write", "scan"].map(|name| kind(name, Policy::default()));
    let statements = [0, 1].map(|kind| statement("INSERT INTO t (k) VALUES (?)", kind));
    let mixed = program(kinds.to_vec(), statements.to_vec(), &[0, 0, 0, 1]);
    let ran = run(&Config {
        schedule: Schedule::Fixed { ops_per_s: 1e9 },
        in_flight_max: 4,
        timeout: Duration::from_millis(50),
        limit: Limit::Duration(Duration::from_millis(200)),
        ..config(&[&server], mixed, 0)
    });
    let never_sent = client(&ran, |i| i.client.counts[ClientCount::DueNeverSent]);
    let ended: u64 = ran.kinds.iter().map(|kind| kind.outcomes.total()).sum();
    assert_eq!(never_sent + ended, 200_000_000, "what was due");
    let censored = |kind: usize| ran.kinds[kind].censored.latency.count();
    assert_eq!(censored(0) + censored(1), 200_000_000);
    let share = censored(1) as f64 / 200e6;
    assert!((share - 0.25).abs() < 0.01, "{share} of them are scans");
    // The operations that were not sent waited until the drain ended. They were due between the
    // start of the load and its stop.
    let waited = &ran.kinds[0].censored.latency;
    assert!(waited.min_ns() >= 49 * MS && waited.max_ns() >= 249 * MS);
}

#[test]
fn an_abandoned_run_sends_nothing_more() {
    let server = Server::start(|asked| match asked.number {
        10.. => Response::AcknowledgesAfter(Duration::from_millis(10)),
        _ => Response::Acknowledges,
    });
    let config = open(&server, 2000.0, 4, Limit::Unlimited);
    let (mut ended, mut unsent, mut in_drain) = (0, 0, 0);
    let summary = load::run(&config, &mut |interval| {
        ended += interval.ended();
        unsent += interval.client.counts[ClientCount::DueNeverSent];
        in_drain += interval.client.counts[ClientCount::SentInDrain];
        Flow::Abandon
    });
    assert_eq!((summary.unwrap().operations_ended, in_drain), (ended, 0));
    assert!(
        unsent > 0,
        "10 ms each, four at a time, are not 2000 a second"
    );
}

/// The due time of an operation alone determines whether the operation belongs to the window. The
/// time at which the caller received the interval does not matter. On a busy machine, the client
/// may be stopped for the whole window of 150 ms. The run then proves nothing, and the test starts
/// another run.
#[test]
fn a_window_that_begins_on_command_excludes_earlier_due_times() {
    let shows = |_| a_window_when_told() == (true, true);
    assert!(
        (0..50).any(shows),
        "no window has anything before it and in it"
    );
}

/// Returns two flags: whether operations were in flight when the window began, and whether other
/// operations ended in the window.
fn a_window_when_told() -> (bool, bool) {
    let server = Server::start(|_| Response::Acknowledges);
    let mut config = config(&[&server], writes(), 0);
    config.limit = Limit::Unlimited;
    config.window = Window::WhenTold;
    config.interval = Duration::from_millis(50);
    let mut intervals: Vec<Interval> = Vec::new();
    let summary = load::run(&config, &mut |interval| {
        intervals.push(interval.clone());
        match intervals.len() {
            3 => Flow::Measure(3),
            _ => Flow::Continue,
        }
    });
    let from_ns = intervals.last().unwrap().window_from_ns;
    let mut population = 0;
    for interval in &intervals {
        let kind = &interval.kinds[0];
        assert_eq!(
            interval.is_measured(),
            !interval.draining && interval.start_ns >= from_ns
        );
        assert!(interval.end_ns <= from_ns || interval.start_ns >= from_ns);
        if interval.end_ns <= from_ns {
            assert_eq!(kind.latency.count(), 0);
        } else {
            // The early operations are at most the four operations that were in flight when the
            // window began.
            assert!(kind.early.latency.count() <= 4);
        }
        population += kind.latency.count();
    }
    let early: u64 = intervals.iter().map(|interval| interval.kinds[0].early.latency.count()).sum();
    assert_eq!(early + population, summary.unwrap().operations_ended);
    let measured = intervals.iter().filter(|interval| interval.is_measured());
    let seconds: f64 = measured.map(Interval::seconds).sum();
    assert!(
        (seconds - 0.15).abs() < 1e-9,
        "{seconds} s of three intervals"
    );
    (early > 0, population > 0)
}
