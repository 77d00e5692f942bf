//! Tests operations that consist of more than one prepared statement and one response.

use crate::program::{Script, batches, kind, program, statement};
use crate::server::{ReceivedRequest, Response, Server};
use crate::{config, run};
use cql::response::ErrorCode;
use measure::{ClientCount, KindCount, Outcome};
use std::time::Duration;
use workload::{BatchKind, Kind, Operation, Policy, Statement};

const INSERT: &str = "INSERT INTO t (k) VALUES (?)";
const SELECT: &str = "SELECT v FROM t WHERE k = ?";
const UPDATE: &str = "UPDATE t SET v = 1 WHERE k = ?";

fn write() -> Vec<Kind> {
    vec![kind("write", Policy::default())]
}

fn batch(of: BatchKind) -> Statement {
    Statement {
        batch: Some(of),
        ..statement(INSERT, 0)
    }
}

#[test]
fn statements_of_an_operation_form_one_batch_of_the_given_kind() {
    for (of, name) in [
        (BatchKind::Logged, "BATCH Logged"),
        (BatchKind::Unlogged, "BATCH Unlogged"),
        (BatchKind::Counter, "BATCH Counter"),
    ] {
        let server = Server::start(|_| Response::Acknowledges);
        let text = Statement {
            prepared: false,
            ..statement(UPDATE, 0)
        };
        let second = |entry| (entry == 1).then_some(1);
        let entries = |_: &Script, of: &Operation| if of.number.is_multiple_of(2) { 3 } else { 1 };
        let program = batches(write(), vec![batch(of), text], &[0], entries, second);
        let ran = run(&config(&[&server], program, 100));
        assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 100);
        let asked = server.requests();
        let (batches, single): (Vec<ReceivedRequest>, Vec<ReceivedRequest>) =
            asked.into_iter().partition(|asked| asked.what == name);
        assert_eq!((batches.len(), single.len()), (50, 50));
        let text = format!("text {UPDATE}");
        assert!(batches.iter().all(|b| b.cql == [INSERT, &text, INSERT]));
        assert!(single.iter().all(|one| one.what == "EXECUTE"));
    }
}

/// Cassandra counts a batch once for each table that the batch writes, regardless of the number of
/// statements.
#[test]
fn a_batch_is_expected_in_server_counts_once_for_each_table() {
    let other = "INSERT INTO k.other (a, b) VALUES (?, ?)";
    for (third, extra) in [(INSERT, 0), (other, 100)] {
        let server = Server::start(|_| Response::Acknowledges);
        let statements = vec![batch(BatchKind::Logged), statement(third, 0)];
        let second = |entry| (entry == 2).then_some(1);
        let program = batches(write(), statements, &[0], |_, _| 3, second);
        let ran = run(&config(&[&server], program, 100));
        assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 100);
        let beyond = (ran.kinds[0].extra_reads, ran.kinds[0].extra_writes);
        assert_eq!(beyond, (0, extra), "{third}");
    }
}

#[test]
fn values_too_large_for_a_frame_are_client_errors_without_panic() {
    let server = Server::start(|_| Response::Acknowledges);
    let entries = |_: &Script, of: &Operation| match of.number % 4 {
        0 => 65_536,
        1 => 0,
        2 => 65_535,
        _ => 2,
    };
    let statements = vec![batch(BatchKind::Unlogged)];
    let program = batches(write(), statements, &[0], entries, |_| None);
    let ran = run(&config(&[&server], program, 8));
    let outcomes = &ran.kinds[0].outcomes;
    assert_eq!(outcomes.get(Outcome::ClientRefused), 4);
    assert_eq!(outcomes.get(Outcome::Ok), 4);
    let dropped: u64 = ran.intervals.iter().map(|i| i.client.counts[ClientCount::Dropped]).sum();
    assert_eq!((ran.summary.operations_sent, dropped), (4, 4));
    assert_eq!(ran.summary.operations_ended, 8);
    let lengths: Vec<usize> = server.requests().iter().map(|a| a.cql.len()).collect();
    assert_eq!(lengths.iter().filter(|&&n| n == 65_535).count(), 2);
    let first = &ran.summary.first_errors[0];
    assert!(first.message.contains("65536 statements"), "{first:?}");
}

#[test]
fn an_unprepared_statement_is_sent_as_text_with_its_values() {
    let server = Server::start(|_| Response::Acknowledges);
    let text = Statement {
        prepared: false,
        ..statement(INSERT, 0)
    };
    run(&config(&[&server], program(write(), vec![text], &[0]), 20));
    let mut numbers: Vec<u64> = server.requests().iter().map(|asked| asked.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..20).collect::<Vec<u64>>());
    assert!(server.requests().iter().all(|a| a.what == "QUERY" && a.cql == [INSERT]));
}

fn paged(pages_max: Option<u32>) -> workload::Program {
    let select = Statement {
        page_size: Some(2),
        pages_max,
        ..statement(SELECT, 0)
    };
    program(vec![kind("read", Policy::default())], vec![select], &[0])
}

#[test]
fn an_operation_ends_with_its_last_page_and_counts_its_rows() {
    // The operation reads three pages with two rows, no row and one row.
    let behave = |asked: &ReceivedRequest| match asked.paging_state.as_deref() {
        None => Response::Rows(2, Some(b"a".to_vec())),
        Some(b"a") => Response::Rows(0, Some(b"b".to_vec())),
        Some(_) => Response::Rows(1, None),
    };
    for (pages_max, pages, rows) in [(None, 3, 3), (Some(2), 2, 2), (Some(1), 1, 2)] {
        let server = Server::start(behave);
        let ran = run(&config(&[&server], paged(pages_max), 50));
        let read = &ran.kinds[0];
        assert_eq!(read.outcomes.get(Outcome::Ok), 50);
        assert_eq!(
            (read.counts[KindCount::Pages], read.counts[KindCount::Rows]),
            (50 * pages, 50 * rows)
        );
        assert_eq!(
            (read.counts[KindCount::RowsMissing], read.checks.missing),
            (0, 0)
        );
        assert_eq!(read.latency.count(), 50);
        assert_eq!(read.extra_reads, 50 * (pages as i64 - 1));
        let asked = server.requests();
        assert_eq!(asked.len() as u64, 50 * pages);
        for later in asked.iter().filter(|asked| asked.paging_state.is_some()) {
            let first = asked.iter().find(|a| a.number == later.number).unwrap();
            assert_eq!(first.stream, later.stream, "pages stay on their stream");
        }
    }
}

#[test]
fn a_read_without_a_row_on_any_page_is_missing_once() {
    let server = Server::start(|asked| match asked.paging_state {
        None => Response::Rows(0, Some(b"a".to_vec())),
        Some(_) => Response::Rows(0, None),
    });
    let read = &run(&config(&[&server], paged(None), 10)).kinds[0];
    assert_eq!(
        (read.counts[KindCount::RowsMissing], read.checks.missing),
        (10, 10)
    );
    assert_eq!(read.checks.checked, 10);
}

#[test]
fn pages_without_end_are_an_error_and_the_run_goes_on() {
    let server = Server::start(|asked| match asked.number {
        3 => Response::Rows(1, Some(b"again".to_vec())),
        _ => Response::Rows(1, None),
    });
    let ran = run(&config(&[&server], paged(None), 10));
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::EndlessPages), 1);
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 9);
    let stuck = server.requests().iter().filter(|a| a.number == 3).count();
    assert_eq!(stuck, 2, "the same paging state is asked for once");
}

/// If the server refuses a batch and the client sends it again, its statements still count only
/// once.
#[test]
fn statements_of_a_batch_are_counted_once_when_it_succeeds() {
    let server = Server::start(|asked| match (asked.number, asked.before) {
        (0, _) => Response::Fails(ErrorCode::Invalid),
        (_, 0) => Response::Fails(ErrorCode::Overloaded),
        _ => Response::Acknowledges,
    });
    let policy = Policy {
        retries: 1,
        ..Policy::default()
    };
    let statements = vec![batch(BatchKind::Unlogged)];
    let program = batches(
        vec![kind("write", policy)],
        statements,
        &[0],
        |_, _| 3,
        |_| None,
    );
    let ran = run(&config(&[&server], program, 10));
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 9);
    assert_eq!(
        (
            ran.kinds[0].counts[KindCount::Retries],
            ran.kinds[0].counts[KindCount::Batched]
        ),
        (9, 18)
    );
}

/// The waiting time of the whole operation includes the first part. The waiting time of the
/// unanswered part does not.
#[test]
fn a_part_without_an_answer_waits_since_it_was_due_itself() {
    let ms = Duration::from_millis;
    let server = Server::start(move |asked| match asked.cql[0].as_str() {
        SELECT => Response::AcknowledgesAfter(ms(60)),
        _ => Response::Nothing,
    });
    let mut config = config(&[&server], read_modify_write(), 1);
    config.timeout = ms(200);
    let ran = run(&config);
    let [whole, part] = [&ran.kinds[0].censored, &ran.kinds[2].censored];
    for (whole, part) in [
        (&whole.latency, &part.latency),
        (&whole.service, &part.service),
    ] {
        assert_eq!((whole.count(), part.count()), (1, 1));
        let before_ns = whole.max_ns() - part.max_ns();
        assert!(
            before_ns >= 59 * measure::clock::MILLISECOND_NS,
            "{before_ns} ns"
        );
    }
}

fn read_modify_write() -> workload::Program {
    let part = |name: &str| Kind {
        part: true,
        ..kind(name, Policy::default())
    };
    let kinds = vec![
        kind("read_modify_write", Policy::default()),
        part("read"),
        part("update"),
    ];
    let read = Statement {
        then: Some(1),
        part: Some(1),
        ..statement(SELECT, 0)
    };
    let update = Statement {
        part: Some(2),
        ..statement(UPDATE, 0)
    };
    program(kinds, vec![read, update], &[0])
}

#[test]
fn a_chain_is_counted_as_one_and_as_its_parts() {
    let server = Server::start(|asked| match asked.cql[0].as_str() {
        SELECT => Response::Rows(1, None),
        _ if asked.number == 5 => Response::Fails(ErrorCode::Invalid),
        _ => Response::Acknowledges,
    });
    let ran = run(&config(&[&server], read_modify_write(), 30));
    let ok = |kind: usize| ran.kinds[kind].outcomes.get(Outcome::Ok);
    assert_eq!([ok(0), ok(1), ok(2)], [29, 30, 29]);
    let failed = |kind: usize| ran.kinds[kind].outcomes.get(Outcome::Invalid);
    assert_eq!([failed(0), failed(1), failed(2)], [1, 0, 1]);
    assert_eq!(ran.kinds[0].counts[KindCount::Rows], 30);
    // The kind does not count as a write. Its successes therefore count as reads, and all updates
    // as extra writes.
    let answered = (ran.kinds[0].extra_reads + 29, ran.kinds[0].extra_writes);
    assert_eq!(answered, (30, 29));
    assert_eq!(ran.summary.operations_ended, 30);
    let ended: u64 = ran.intervals.iter().map(|interval| interval.ended()).sum();
    assert_eq!(ended, 30, "parts are not operations");
    let whole = ran.kinds[0].latency.mean_ns();
    let parts = ran.kinds[1].latency.mean_ns() + ran.kinds[2].latency.mean_ns();
    assert!(whole > 0.0 && parts > 0.0);
    let asked = server.requests();
    for number in 0..30 {
        let of: Vec<&str> = asked
            .iter()
            .filter(|asked| asked.number == number)
            .map(|asked| asked.cql[0].as_str())
            .collect();
        assert_eq!(of, [SELECT, UPDATE], "{number}");
    }
}

#[test]
fn a_condition_that_does_not_hold_is_counted_and_is_no_error() {
    let server = Server::start(|asked| Response::Applied(asked.number % 3 == 0));
    let conditional = Statement {
        conditional: true,
        ..statement("INSERT INTO t (k) VALUES (?) IF NOT EXISTS", 0)
    };
    let mut config = config(&[&server], program(write(), vec![conditional], &[0]), 30);
    config.keeps = load::LedgerMode::States;
    let ran = run(&config);
    let write = &ran.kinds[0];
    assert_eq!(
        (
            write.counts[KindCount::Applied],
            write.counts[KindCount::NotApplied]
        ),
        (10, 20)
    );
    assert_eq!(write.outcomes.get(Outcome::Ok), 30);
    assert_eq!(
        (
            write.counts[KindCount::Rows],
            write.counts[KindCount::RowsMissing]
        ),
        (0, 0)
    );
    // Servers count a conditional write as a read.
    assert_eq!((write.extra_reads, write.extra_writes), (30, -30));
    let ledger = ran.summary.ledger.unwrap();
    assert_eq!(ledger.state(3), load::WriteState::Acknowledged);
    assert_eq!(ledger.state(4), load::WriteState::NotSent);
}

#[test]
fn every_forgotten_statement_of_a_batch_is_prepared_again() {
    let server = Server::start(|asked| match asked.before {
        0 => Response::Forgets(UPDATE.to_owned()),
        1 => Response::Forgets(INSERT.to_owned()),
        _ => Response::Acknowledges,
    });
    let statements = vec![batch(BatchKind::Logged), statement(UPDATE, 0)];
    let second = |entry| (entry == 1).then_some(1);
    let program = batches(write(), statements, &[0], |_, _| 2, second);
    let ran = run(&config(&[&server], program, 10));
    assert_eq!(ran.kinds[0].outcomes.get(Outcome::Ok), 10);
    assert_eq!(ran.kinds[0].counts[KindCount::Reprepared], 20);
    assert_eq!(server.requests().len(), 30);
}

#[test]
fn endless_chains_of_statements_are_refused_before_the_start() {
    let server = Server::start(|_| Response::Acknowledges);
    let chained = |then| Statement {
        then: Some(then),
        ..statement(UPDATE, 0)
    };
    for (statements, part) in [
        (vec![chained(1), chained(0)], "never end"),
        (vec![chained(7)], "statement 7"),
        (vec![statement(UPDATE, 3)], "of kind 3"),
    ] {
        let kinds = write();
        let mut script = program(vec![kinds[0].clone(); 4], statements.clone(), &[0]);
        if part == "of kind 3" {
            script = program(kinds, statements, &[0]);
        }
        let config = config(&[&server], script, 1);
        let refusal = load::run(&config, &mut |_| load::Flow::Continue).unwrap_err();
        assert!(refusal.to_string().contains(part), "{refusal}");
    }
    let kinds = vec![kind("write", Policy::default()); 65];
    let config = config(
        &[&server],
        program(kinds, vec![statement(UPDATE, 0)], &[0]),
        1,
    );
    let refusal = load::run(&config, &mut |_| load::Flow::Continue).unwrap_err();
    assert!(refusal.to_string().contains("65 kinds"), "{refusal}");
}
