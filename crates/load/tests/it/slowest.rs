//! Tests the list of the slowest operations of the window: the selection of the operations, and
//! their recorded data.

use crate::program::{kind, program, statement};
use crate::server::{Response, Server};
use crate::{config, run};
use load::{Config, Limit, SLOWEST_MAX, Schedule, SlowOperation, Window};
use measure::{Outcome, clock};
use std::time::Duration;
use workload::{Policy, Program};

const MS: u64 = clock::MILLISECOND_NS;

fn writes(policy: Policy) -> Program {
    let insert = statement("INSERT INTO t (k) VALUES (?)", 0);
    program(vec![kind("write", policy)], vec![insert], &[0])
}

/// The server delays two operations of the warm-up and three of the window by more than half a
/// second. The other operations take longer only if the machine stalls.
#[test]
fn slow_operations_of_the_window_are_kept_with_their_node() {
    let slow = [10, 50, 320, 470, 480];
    let server = Server::start(move |asked| {
        if slow.contains(&asked.number) {
            Response::AcknowledgesAfter(Duration::from_millis(600))
        } else {
            Response::Acknowledges
        }
    });
    let ran = run(&Config {
        schedule: Schedule::Fixed { ops_per_s: 500.0 },
        window: Window::After(Duration::from_millis(400)),
        limit: Limit::Duration(Duration::from_secs(1)),
        ..config(&[&server], writes(Policy::default()), 0)
    });
    let slowest = &ran.summary.slowest;
    assert_eq!(slowest.len(), SLOWEST_MAX);
    for number in [320, 470, 480] {
        let one = slowest.iter().find(|one| one.number == number);
        assert!(
            one.is_some_and(|one| one.latency_ns() >= 600 * MS),
            "{number}: {one:?}"
        );
    }
    assert!(slowest.is_sorted_by(|one, other| one.latency_ns() >= other.latency_ns()));
    for one in slowest {
        assert_eq!(one.due_ns, ran.summary.start_ns + one.number * 2 * MS);
        assert!(one.number >= 200, "{one:?} was due before the window");
        assert_eq!(one.outcome, Some(Outcome::Ok));
        assert!(one.node.is_some() && one.sent_ns >= Some(one.due_ns));
    }
}

#[test]
fn an_operation_that_never_ended_has_its_lower_bound() {
    let server = Server::start(|asked| match asked.number {
        100.. => Response::Nothing,
        _ => Response::Acknowledges,
    });
    let ran = run(&Config {
        schedule: Schedule::Fixed { ops_per_s: 1000.0 },
        in_flight_max: 4,
        timeout: Duration::from_millis(150),
        limit: Limit::Duration(Duration::from_millis(200)),
        ..config(&[&server], writes(Policy::default()), 0)
    });
    let slowest = &ran.summary.slowest;
    let unanswered = slowest.iter().filter(|one| one.number >= 100);
    assert!(unanswered.count() > SLOWEST_MAX / 2);
    let timed_out = slowest.iter().filter(|one| one.outcome == Some(Outcome::ClientTimeout));
    let unsent = slowest.iter().filter(|one| one.outcome.is_none());
    assert!(timed_out.clone().all(|one| one.latency_ns() >= 149 * MS));
    assert!(unsent.clone().all(|one| one.sent_ns.is_none() && one.node.is_none()));
    assert!(unsent.count() > 0 && timed_out.count() > 0);
}

#[test]
fn a_slow_operation_tells_its_retries_and_its_last_node() {
    let bad = Server::start(|_| Response::Nothing);
    let good = Server::start(|_| Response::Acknowledges);
    let policy = Policy {
        timeout: Some(Duration::from_millis(150)),
        retries: 6,
        ..Policy::default()
    };
    let mut config = config(&[&bad, &good], writes(policy), 8);
    config.nodes[0].name = "bad".to_owned();
    config.nodes[1].name = "good".to_owned();
    let ran = run(&config);
    let (retried, others): (Vec<_>, Vec<_>) =
        ran.summary.slowest.iter().partition(|one| one.retries > 0);
    assert!(!retried.is_empty() && !others.is_empty());
    for one in &retried {
        assert_eq!(one.node.as_deref(), Some("good"), "{one:?}");
        assert!(
            one.latency_ns() >= 149 * MS && !one.is_speculated,
            "{one:?}"
        );
    }
}

#[test]
fn a_slow_operation_tells_its_speculative_attempt() {
    let slow = Server::start(|_| Response::AcknowledgesAfter(Duration::from_secs(2)));
    let fast = Server::start(|_| Response::Acknowledges);
    let policy = Policy {
        speculate_after: Some(Duration::from_millis(50)),
        ..Policy::default()
    };
    let ran = run(&config(&[&slow, &fast], writes(policy), 8));
    let speculated = ran.summary.slowest.iter().filter(|one| one.is_speculated);
    let times: Vec<u64> = speculated.map(SlowOperation::latency_ns).collect();
    assert!(!times.is_empty());
    assert!(times.iter().all(|ns| *ns >= 49 * MS), "{times:?}");
}
