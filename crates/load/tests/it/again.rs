//! Tests operations with several attempts: timeouts per kind, retries and speculation.

use crate::program::{kind, program, statement};
use crate::server::{ReceivedRequest, Response, Server};
use crate::{config, run};
use cql::response::ErrorCode;
use measure::{KindCount, KindInterval, Outcome, clock};
use std::time::Duration;
use workload::{Policy, Program, Statement};

const INSERT: &str = "INSERT INTO t (k) VALUES (?)";
const UPDATE: &str = "UPDATE t SET v = v + 1 WHERE k = ?";

fn retries(retries: u8) -> Policy {
    Policy {
        retries,
        ..Policy::default()
    }
}

fn writes(policy: Policy, idempotent: bool) -> Program {
    let insert = Statement {
        idempotent,
        ..statement(INSERT, 0)
    };
    program(vec![kind("write", policy)], vec![insert], &[0])
}

/// Returns the numbers of successes, failures and retries.
fn counts(kind: &KindInterval) -> [u64; 3] {
    let ok = kind.outcomes.get(Outcome::Ok);
    [ok, kind.outcomes.errors(), kind.counts[KindCount::Retries]]
}

#[test]
fn each_kind_has_its_own_time_out() {
    let server = Server::start(|_| Response::Nothing);
    let timeout = |ms| Policy {
        timeout: Some(Duration::from_millis(ms)),
        ..Policy::default()
    };
    let kinds = vec![kind("quick", timeout(20)), kind("slow", timeout(90))];
    let statements = vec![statement(INSERT, 0), statement(UPDATE, 1)];
    let ran = run(&config(&[&server], program(kinds, statements, &[0, 1]), 8));
    let longest = |kind: usize| ran.kinds[kind].errors.quantile_ns(1.0);
    let shortest = |kind: usize| ran.kinds[kind].errors.quantile_ns(0.0);
    let ms = clock::MILLISECOND_NS;
    for kind in &ran.kinds {
        assert_eq!(kind.outcomes.get(Outcome::ClientTimeout), 4);
    }
    assert!(shortest(0) >= 19 * ms && shortest(0) <= shortest(1));
    assert!(shortest(1) >= 89 * ms && longest(1) >= shortest(1));
}

/// A trial once failed because 15,000 row writes had 31 timeouts, although the client could have
/// written these rows again.
#[test]
fn a_run_may_request_retries_but_nothing_is_executed_twice() {
    for (idempotent, expected) in [(true, [6, 0, 6]), (false, [0, 6, 0])] {
        let server = Server::start(|asked| match asked.before {
            0 => Response::Fails(ErrorCode::WriteTimeout),
            _ => Response::Acknowledges,
        });
        let mut config = config(&[&server], writes(Policy::default(), idempotent), 6);
        config.retries_min = 4;
        assert_eq!(counts(&run(&config).kinds[0]), expected, "{idempotent}");
    }
}

/// In another tool, `retries=0` once meant that the client never executed an operation.
#[test]
fn an_operation_has_one_try_and_as_many_more_as_retries() {
    for n in [0u8, 1, 3] {
        let server = Server::start(|_| Response::Fails(ErrorCode::Overloaded));
        let ran = run(&config(&[&server], writes(retries(n), false), 10));
        assert_eq!(counts(&ran.kinds[0]), [0, 10, 10 * u64::from(n)], "{n}");
        assert_eq!(ran.kinds[0].outcomes.get(Outcome::Overloaded), 10);
        assert_eq!(server.requests().len(), 10 * (1 + usize::from(n)));
        assert_eq!(ran.summary.operations_ended, 10);
        assert_eq!(ran.kinds[0].errors.count(), 10);
    }
}

#[test]
fn a_retried_success_took_as_long_as_all_its_tries() {
    let delay = Duration::from_millis(15);
    let server = Server::start(move |asked| match asked.before {
        0 => Response::Fails(ErrorCode::Overloaded),
        _ => Response::AcknowledgesAfter(delay),
    });
    let ran = run(&config(&[&server], writes(retries(1), false), 4));
    assert_eq!(counts(&ran.kinds[0]), [4, 0, 4]);
    let shortest = ran.kinds[0].latency.quantile_ns(0.0);
    assert!(shortest >= 15 * clock::MILLISECOND_NS);
    let service = ran.kinds[0].service.quantile_ns(0.0);
    assert!(service >= 15 * clock::MILLISECOND_NS, "from the first send");
}

#[test]
fn an_operation_that_finally_fails_waited_since_its_first_send() {
    let server = Server::start(|_| Response::Nothing);
    let policy = Policy {
        timeout: Some(Duration::from_millis(40)),
        ..retries(1)
    };
    let ran = run(&config(&[&server], writes(policy, true), 4));
    assert_eq!(counts(&ran.kinds[0]), [0, 4, 4]);
    for times in [
        &ran.kinds[0].censored.latency,
        &ran.kinds[0].censored.service,
    ] {
        assert_eq!(times.count(), 4);
        // The histogram has three significant digits.
        assert!(times.min_ns() >= 79 * clock::MILLISECOND_NS, "two tries");
    }
}

#[test]
fn a_possibly_executed_operation_is_retried_only_if_idempotent() {
    for (code, idempotent, is_retried) in [
        (ErrorCode::WriteTimeout, true, true),
        (ErrorCode::WriteTimeout, false, false),
        (ErrorCode::Unavailable, false, true),
        (ErrorCode::IsBootstrapping, false, true),
        (ErrorCode::Invalid, true, false),
        (ErrorCode::CasWriteUnknown, true, false),
    ] {
        let server = Server::start(move |asked| match asked.before {
            0 => Response::Fails(code),
            _ => Response::Acknowledges,
        });
        let ran = run(&config(&[&server], writes(retries(2), idempotent), 6));
        let uncertain = 6 * u64::from(code == ErrorCode::WriteTimeout && idempotent);
        assert_eq!(ran.kinds[0].extra_uncertain, uncertain, "{code}");
        let expected = if is_retried { [6, 0, 6] } else { [0, 6, 0] };
        assert_eq!(counts(&ran.kinds[0]), expected, "{code} {idempotent}");
    }
}

#[test]
fn a_retry_goes_to_another_node() {
    let bad = Server::start(|_| Response::Fails(ErrorCode::Overloaded));
    let good = Server::start(|_| Response::Acknowledges);
    let ran = run(&config(&[&bad, &good], writes(retries(1), false), 40));
    let [ok, errors, retried] = counts(&ran.kinds[0]);
    assert_eq!([ok, errors], [40, 0]);
    assert_eq!(
        (bad.requests().len() as u64, good.requests().len()),
        (retried, 40)
    );
    assert!(retried > 0);
}

#[test]
fn after_a_time_out_and_a_lost_connection_there_is_another_try() {
    for ends in [true, false] {
        let bad = Server::start(move |_| {
            if ends {
                Response::Closes
            } else {
                Response::Nothing
            }
        });
        let good = Server::start(|_| Response::Acknowledges);
        // On a busy machine, even the good node may miss the timeout.
        let policy = Policy {
            timeout: Some(Duration::from_millis(150)),
            ..retries(6)
        };
        let ran = run(&config(&[&bad, &good], writes(policy, true), 12));
        let [ok, errors, retried] = counts(&ran.kinds[0]);
        assert_eq!([ok, errors], [12, 0], "closes: {ends}");
        assert!(retried > 0);
        assert_eq!(ran.summary.operations_ended, 12);
    }
}

#[test]
fn a_try_waits_for_the_only_connection_to_come_back() {
    let server = Server::start(|asked| match (asked.number, asked.before) {
        (0, 0) => Response::Closes,
        _ => Response::Acknowledges,
    });
    let ran = run(&config(&[&server], writes(retries(1), true), 20));
    let [ok, errors, retried] = counts(&ran.kinds[0]);
    assert_eq!([ok, errors], [20, 0]);
    assert!((1..=4).contains(&retried), "those in flight: {retried}");
}

fn speculative() -> Policy {
    Policy {
        speculate_after: Some(Duration::from_millis(10)),
        ..Policy::default()
    }
}

#[test]
fn the_first_answer_of_two_tries_wins_and_the_other_is_ignored() {
    // Half of the operations begin at the late node, which answers only after the other node has
    // answered.
    let late = Server::start(|_| Response::AcknowledgesAfter(Duration::from_millis(300)));
    let quick = Server::start(|_| Response::Acknowledges);
    let ran = run(&config(&[&late, &quick], writes(speculative(), true), 24));
    let write = &ran.kinds[0];
    assert_eq!(counts(write), [24, 0, 0]);
    assert_eq!(
        (write.latency.count(), ran.summary.operations_ended),
        (24, 24)
    );
    assert!(
        write.counts[KindCount::SpeculationsWon] > 0
            && write.counts[KindCount::SpeculationsWon] <= write.counts[KindCount::Speculations]
    );
    assert_eq!(quick.requests().len(), 24);
    assert_eq!(write.extra_uncertain, write.counts[KindCount::Speculations]);
    // The latency of an operation that began at the late node includes the speculation delay.
    let longest = write.latency.quantile_ns(1.0);
    assert!(longest >= 10 * clock::MILLISECOND_NS);
}

#[test]
fn an_error_of_one_try_leaves_the_other_one_waiting() {
    let silent = Server::start(|_| Response::Nothing);
    let failing = Server::start(|_| Response::Fails(ErrorCode::ServerError));
    let policy = Policy {
        timeout: Some(Duration::from_millis(400)),
        ..speculative()
    };
    let ran = run(&config(&[&silent, &failing], writes(policy, true), 8));
    let outcomes = &ran.kinds[0].outcomes;
    let (timeouts, failures) = (
        outcomes.get(Outcome::ClientTimeout),
        outcomes.get(Outcome::ServerError),
    );
    assert_eq!((timeouts + failures, ran.summary.operations_ended), (8, 8));
    // An operation that began at the silent node ends with the timeout of its first attempt, and
    // not with the error of the second attempt.
    assert_eq!(timeouts, silent.requests().len() as u64);
    assert_eq!(ran.kinds[0].counts[KindCount::SpeculationsWon], 0);
}

#[test]
fn an_operation_that_is_not_idempotent_is_not_sent_twice() {
    let late = |_: &ReceivedRequest| Response::AcknowledgesAfter(Duration::from_millis(15));
    let servers = [Server::start(late), Server::start(late)];
    let nodes = [&servers[0], &servers[1]];
    let ran = run(&config(&nodes, writes(speculative(), false), 8));
    assert_eq!(ran.kinds[0].counts[KindCount::Speculations], 0);
    // With a single connection, the client cannot send a second attempt on another connection.
    let one = run(&config(&nodes[..1], writes(speculative(), true), 4));
    assert_eq!(one.kinds[0].counts[KindCount::Speculations], 0);
    assert_eq!(counts(&one.kinds[0]), [4, 0, 0]);
}

#[test]
fn the_client_s_timestamps_ascend_and_a_retry_keeps_its_own() {
    let server = Server::start(|asked| match asked.before {
        0 => Response::Fails(ErrorCode::Overloaded),
        _ => Response::Acknowledges,
    });
    let stamped = Statement {
        client_timestamp: true,
        ..statement(INSERT, 0)
    };
    let before_us = (clock::unix_ns() / 1000) as i64;
    let script = program(vec![kind("write", retries(1))], vec![stamped], &[0]);
    let mut config = config(&[&server], script, 50);
    config.schedule = load::Schedule::Closed { in_flight: 50 };
    run(&config);
    let asked = server.requests();
    let of = |number: u64| -> Vec<i64> {
        let of = asked.iter().filter(|asked| asked.number == number);
        of.map(|asked| asked.timestamp_us.unwrap()).collect()
    };
    let first: Vec<i64> = (0..50).map(|number| of(number)[0]).collect();
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]));
    assert!((0..50).all(|number| of(number) == [of(number)[0]; 2]));
    let second_us = 1_000_000;
    assert!(first[0] > before_us - second_us && first[49] < before_us + 60 * second_us);
}
