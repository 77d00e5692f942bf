//! Tests the ledger of acknowledged writes, and the verdicts on reads that depend on the ledger.

use crate::program::{kind, program, statement};
use crate::server::{Response, Server};
use crate::{config, run};
use cql::response::ErrorCode;
use load::{EarlierWrites, LedgerMode, Limit, WriteMismatch, WriteState};
use std::sync::Arc;
use std::time::Duration;
use workload::{Policy, Statement};

const INSERT: &str = "INSERT INTO t (k) VALUES (?)";
const SELECT: &str = "SELECT v FROM t WHERE k = ?";

fn expected(number: u64) -> WriteState {
    match number % 4 {
        // Every fourth operation is a read.
        3 => WriteState::NotSent,
        2 => WriteState::Unknown,
        _ => WriteState::Acknowledged,
    }
}

#[test]
fn the_ledger_says_of_each_write_what_the_server_said() {
    for workers in [1, 3] {
        for limit in [Limit::Operations(400), Limit::Unlimited] {
            let server = Server::start(|asked| match asked.number % 4 {
                2 => Response::Fails(ErrorCode::WriteTimeout),
                _ => Response::Acknowledges,
            });
            let kinds = vec![
                kind("write", Policy::default()),
                kind("read", Policy::default()),
            ];
            let statements = vec![statement(INSERT, 0), statement(SELECT, 1)];
            let mut config = config(&[&server], program(kinds, statements, &[0, 0, 0, 1]), 0);
            config.keeps = LedgerMode::States;
            config.limit = limit;
            config.workers = workers;
            config.first_operation = 8;
            config.interval = Duration::from_millis(20);
            let summary = load::run(&config, &mut |_| load::Flow::StopNow).unwrap();
            let ledger = summary.ledger.unwrap();
            let sent = summary.operations_sent;
            assert!(sent > 0);
            let asked: Vec<u64> = server.requests().iter().map(|asked| asked.number).collect();
            for number in asked {
                assert_eq!(ledger.state(number), expected(number), "{number}");
            }
            let beyond = summary.next_operation + 10 * workers as u64;
            for number in [0, 7, beyond] {
                assert_eq!(ledger.state(number), WriteState::NotSent, "{number}");
            }
        }
    }
}

#[test]
fn without_being_asked_for_there_is_no_ledger() {
    let server = Server::start(|_| Response::Acknowledges);
    let kinds = vec![kind("write", Policy::default())];
    let script = program(kinds, vec![statement(INSERT, 0)], &[0]);
    assert!(run(&config(&[&server], script, 5)).summary.ledger.is_none());
}

/// Some writes of the load failed, and some acknowledged rows have disappeared. Only the
/// acknowledged rows that disappeared are lost.
#[test]
fn a_read_tells_what_was_lost_from_what_was_never_written() {
    let server = Server::start(|asked| match (asked.cql[0].as_str(), asked.number % 10) {
        (INSERT, 0) => Response::Fails(ErrorCode::Unavailable),
        (INSERT, _) => Response::Acknowledges,
        (_, 0..=2) => Response::Rows(0, None),
        _ => Response::Rows(1, None),
    });
    let one = |name: &str, cql: &str| {
        let kinds = vec![kind(name, Policy::default())];
        program(kinds, vec![statement(cql, 0)], &[0])
    };
    let mut load = config(&[&server], one("write", INSERT), 100);
    load.keeps = LedgerMode::States;
    let ledger = run(&load).summary.ledger.unwrap();

    // Rows 100 to 109 were never written.
    let mut verify = config(&[&server], one("read", SELECT), 110);
    let mut ran = run(&verify);
    let blind = ran.kinds.remove(0).checks;
    assert_eq!((blind.missing, blind.lost, blind.never_written), (33, 0, 0));
    // The report names the first missed rows even without a ledger.
    let named = ran.summary.missed_rows;
    assert_eq!(named.len(), 10);
    assert!(named.is_sorted_by_key(|(row, _)| *row), "{named:?}");
    let is_gone =
        |(row, missed): &(u64, WriteMismatch)| row % 10 <= 2 && *missed == WriteMismatch::Lost;
    assert!(named.iter().all(is_gone), "{named:?}");
    verify.written = Some(Arc::new(EarlierWrites::by_load(Arc::clone(&ledger))));
    let checks = run(&verify).kinds.remove(0).checks;
    assert_eq!((checks.missing, checks.lost), (20, 20));
    assert_eq!(checks.never_written, 10 + 3);
    assert_eq!((checks.checked, checks.wrong), (110, 0));
    assert_eq!(ledger.bytes(), 1 << 20);
}

/// The main stage overwrote rows 0 to 9, but the server did not acknowledge the overwrites of rows
/// 3, 4 and 5. A missing row whose overwrite was acknowledged is lost, regardless of the load.
#[test]
fn the_writes_of_the_main_stage_are_known_by_their_rows() {
    let server = Server::start(|asked| match (asked.cql[0].as_str(), asked.number) {
        (INSERT, 3..=5) => Response::Fails(ErrorCode::WriteTimeout),
        (INSERT, _) => Response::Acknowledges,
        _ => Response::Rows(0, None),
    });
    let kinds = vec![kind("write", Policy::default())];
    let mut main = config(
        &[&server],
        program(kinds, vec![statement(INSERT, 0)], &[0]),
        10,
    );
    main.keeps = LedgerMode::States;
    let ledger = run(&main).summary.ledger.unwrap();
    let mut written = EarlierWrites::default();
    let outcomes = written.add_main(&main.program, &ledger, 0..20);
    assert_eq!((outcomes.acknowledged, outcomes.unknown), (7, 3));
    assert_eq!(written.rows_end(0), 10);

    let kinds = vec![kind("read", Policy::default())];
    let mut verify = config(
        &[&server],
        program(kinds, vec![statement(SELECT, 0)], &[0]),
        20,
    );
    verify.written = Some(Arc::new(written));
    let checks = run(&verify).kinds.remove(0).checks;
    assert_eq!(
        (checks.missing, checks.lost, checks.never_written),
        (20, 7, 0)
    );
}

/// Of every three swaps, the condition of one holds, the condition of another does not, and the
/// outcome of the third is unknown. Only operations with a known outcome have an end.
#[test]
fn a_history_has_what_was_answered_and_no_end_for_what_was_not() {
    let server = Server::start(|asked| match asked.number % 3 {
        2 => Response::Fails(ErrorCode::WriteTimeout),
        rest => Response::Applied(rest == 0),
    });
    let swap = Statement {
        conditional: true,
        ..statement("UPDATE t SET v = ? WHERE k = ? IF v = ?", 0)
    };
    let kinds = vec![kind("write", Policy::default())];
    let mut config = config(&[&server], program(kinds, vec![swap], &[0]), 30);
    config.keeps = LedgerMode::History;
    config.workers = 2;
    let summary = run(&config).summary;
    let history = summary.history.expect("it was asked for");
    assert_eq!((history.until_ns(), history.beyond()), (None, 0));
    let ledger = summary.ledger.expect("it has one too");
    let mut numbers = Vec::new();
    for (number, happened) in history.operations() {
        numbers.push(number);
        let expected = [Some(true), Some(false), None][number as usize % 3];
        assert_eq!(happened.applied, expected, "{number}");
        assert_eq!(
            happened.answered_ns.is_some(),
            expected.is_some(),
            "{number}"
        );
        assert!(happened.answered_ns.is_none_or(|ns| ns >= happened.sent_ns));
        // The times in the ledger are coarser than the times in the history. In the ledger, only
        // acknowledged writes have an end.
        assert!(ledger.sent_after_ns(number) <= happened.sent_ns, "{number}");
        let done_ns = ledger.done_before_ns(number);
        assert_eq!(done_ns.is_some(), expected == Some(true), "{number}");
        assert!(
            done_ns >= happened.answered_ns.filter(|_| done_ns.is_some()),
            "{number}"
        );
    }
    assert_eq!(numbers, (0..30).collect::<Vec<u64>>());
}
