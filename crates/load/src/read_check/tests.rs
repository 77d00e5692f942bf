//! Tests the checks of reads. The checks must find losses that a test causes on one row, and must
//! not report errors of a consistent database.

use super::*;
use crate::ledger::{Ledger, LedgerPart, Numbers, WriteState};
use proptest::prelude::*;
use std::sync::Arc;
use workload::Program;

const MS: u64 = 1_000_000;
const WRITE: u16 = 0;
const DELETE: u16 = 3;

/// Returns a program that loads, writes and deletes one row. `seed` determines the order of the
/// operations.
fn program(seed: u64) -> Arc<Program> {
    let mut spec = workload::Spec::new("kv", 1, seed);
    spec.mix = vec![("write".to_owned(), 2.0), ("delete".to_owned(), 1.0)];
    Arc::new(workload::compile(&spec).expect("kv has these kinds"))
}

/// Operation of the main stage, with the times at which it was sent and acknowledged, in ms.
/// `acknowledged_ms` is `None` if the operation was never acknowledged.
#[derive(Clone, Copy, Debug)]
struct TestOperation {
    sent_ms: u64,
    acknowledged_ms: Option<u64>,
}

fn written(program: &Arc<Program>, made: &[TestOperation], has_times: bool) -> EarlierWrites {
    let timed_max = if has_times { u64::MAX } else { 0 };
    let mut part = LedgerPart::new(0, 1, u64::MAX, 1).timed(timed_max, 1);
    part.start(7);
    for (number, made) in (0_u64..).zip(made) {
        part.set(number, WriteState::Unknown);
        part.sent(number, 7 + made.sent_ms * MS);
        if let Some(ms) = made.acknowledged_ms {
            part.set(number, WriteState::Acknowledged);
            part.acknowledged(number, 7 + ms * MS);
        }
    }
    let ledger = Arc::new(Ledger::new(Numbers::alone(0, 1), vec![part]));
    let mut written = EarlierWrites::by_loads(1);
    written.add_main(program, &ledger, 0..made.len() as u64);
    written
}

/// Returns the result of a read of the row. The result is the value of the load, the value of an
/// operation, or no row.
fn found(writer: Option<(Stage, u64)>) -> ReadValue {
    let check = match writer {
        None => Check::Unknown,
        Some((Stage::Load, _)) => Check::Right,
        Some(_) => Check::Overwritten,
    };
    let (row, counted) = (0, None);
    ReadValue {
        check,
        row,
        writer,
        counted,
    }
}

fn counts_of(said: ReadValue, written: &EarlierWrites) -> CheckCounts {
    let mut checks = CheckCounts::default();
    let missed = note_check(&mut checks, said, Some(written));
    let counted = match missed {
        None => 0,
        Some(WriteMismatch::Lost) => checks.missing,
        Some(WriteMismatch::Stale) => checks.stale,
        Some(WriteMismatch::Resurrected) => checks.resurrected,
        Some(WriteMismatch::Wrong) => checks.wrong,
        Some(WriteMismatch::TooLow) => checks.too_low,
        Some(WriteMismatch::TooHigh) => checks.too_high,
    };
    // The check returns a kind of error if and only if it counts the row as an error of that kind.
    assert_eq!(counted, u64::from(is_error(&checks)));
    checks
}

fn is_error(checks: &CheckCounts) -> bool {
    checks.missing + checks.stale + checks.wrong + checks.resurrected > 0
}

/// Returns those of the first 40 operations that execute `statement`.
fn numbers(program: &Arc<Program>, statement: u16) -> Vec<u64> {
    let mut generator = program.generator(Stage::Main);
    (0..40)
        .filter(|&number| generator.begin(number).statement == statement)
        .collect()
}

/// Returns the first 40 operations in sequence. Each operation takes 10 ms. The next operation
/// begins 10 ms after the previous one has ended.
fn in_turn() -> Vec<TestOperation> {
    let made = |number: u64| TestOperation {
        sent_ms: 20 * number,
        acknowledged_ms: Some(20 * number + 10),
    };
    (0..40).map(made).collect()
}

#[test]
fn planted_losses_are_told_apart() {
    let program = program(1);
    let (writes, deletes) = (numbers(&program, WRITE), numbers(&program, DELETE));
    let of = |number| Some((Stage::Main, number));
    let last = *writes.last().expect("there are writes");
    let until = |end: u64| written(&program, &in_turn()[..end as usize], true);

    // Four reads follow the last write. They return the value of that write, an older value, a
    // value that has been deleted since it was written, and no row.
    let all = until(last + 1);
    let before_it = writes[writes.len() - 2];
    let counts = counts_of(found(of(last)), &all);
    assert_eq!((counts.overwritten, counts.checked), (1, 1));
    let is_deleted_since = deletes.iter().any(|d| (before_it..last).contains(d));
    let counts = counts_of(found(of(before_it)), &all);
    assert_eq!(
        (counts.stale, counts.resurrected),
        if is_deleted_since { (0, 1) } else { (1, 0) }
    );
    assert_eq!(counts_of(found(of(writes[0])), &all).resurrected, 1);
    assert_eq!(
        counts_of(found(Some((Stage::Load, 0))), &all).resurrected,
        1
    );
    let counts = counts_of(found(None), &all);
    assert_eq!((counts.missing, counts.lost), (1, 1));

    // After a deletion, no value is right. Any value that a read returns counts as resurrected.
    let deleted = deletes[1];
    let gone = until(deleted + 1);
    assert_eq!(counts_of(found(None), &gone).deleted, 1);
    assert_eq!(counts_of(found(of(deleted - 1)), &gone).checked, 1);
    assert_eq!(
        counts_of(found(Some((Stage::Load, 0))), &gone).resurrected,
        1
    );

    // The value names an operation that was never sent.
    assert_eq!(counts_of(found(of(last + 1)), &all).wrong, 1);
}

#[test]
fn without_times_only_the_load_is_known_to_come_first() {
    let program = program(1);
    let writes = numbers(&program, WRITE);
    let all = written(&program, &in_turn(), false);
    for &number in &writes {
        assert!(!is_error(&counts_of(
            found(Some((Stage::Main, number))),
            &all
        )));
    }
    assert_eq!(
        counts_of(found(Some((Stage::Load, 0))), &all).resurrected,
        1
    );
    assert_eq!(
        counts_of(found(None), &all).deleted,
        1,
        "any may be the last"
    );
}

#[test]
fn an_age_within_the_margin_of_the_clocks_is_no_error() {
    let program = program(1);
    let writes = numbers(&program, WRITE);
    let two = writes
        .windows(2)
        .find(|two| two[1] == two[0] + 1)
        .expect("two writes that follow on each other");
    let all = written(&program, &in_turn()[..=two[1] as usize], true);
    let older = found(Some((Stage::Main, two[0])));
    assert_eq!(counts_of(older, &all).stale, 1);
    let all = all.with_margin(std::time::Duration::from_millis(11));
    assert_eq!(counts_of(older, &all).stale, 0);
}

#[test]
fn a_counter_is_judged_where_its_additions_are_known() {
    let counter = ReadValue {
        counted: Some(3),
        ..found(Some((Stage::Load, 0)))
    };
    let mut checks = CheckCounts::default();
    assert_eq!(note_check(&mut checks, counter, None), None);
    assert_eq!((checks.too_low, checks.too_high), (0, 0));
}

#[test]
fn a_loss_is_explained_by_when_it_was_acknowledged() {
    let ns = |ms: u64| 7 + ms * MS;
    let lost = |all: &mut EarlierWrites, said: ReadValue, span_ms: std::ops::Range<u64>| {
        all.begin_losses();
        all.may_lose(ns(span_ms.start)..ns(span_ms.end));
        counts_of(said, all);
        let lost = all.lost();
        (lost.unexplained, lost.oldest_ns)
    };
    let first_writes = |seed: &u64| numbers(&program(*seed), WRITE).starts_with(&[0, 1]);
    let seed = (0..100).find(first_writes).expect("two writes first");
    let program = program(seed);
    let both = || written(&program, &in_turn()[..2], true);
    // The second write of the row was sent after 20 ms and acknowledged after 30 ms.
    let of_first = found(Some((Stage::Main, 0)));
    let (unexplained, oldest_ns) = lost(&mut both(), of_first, 25..1000);
    assert_eq!(unexplained, 0, "its acknowledgement may have come within");
    let oldest_ms = (oldest_ns.unwrap() - 7) / MS;
    assert!((30..=31).contains(&oldest_ms), "{oldest_ms}");
    for span_ms in [0..15, 40..1000] {
        let (unexplained, _) = lost(&mut both(), of_first, span_ms.clone());
        assert_eq!(unexplained, 1, "{span_ms:?}");
    }
    // If the row is missing, the loaded value is also lost. This value existed before the start
    // line.
    let (unexplained, oldest_ns) = lost(&mut both(), found(None), 1..1000);
    assert_eq!((unexplained, oldest_ns), (1, Some(7)));
    assert_eq!(lost(&mut both(), found(None), 0..1000).0, 0);
    // A read that returns the last write shows no loss. Without recorded times, an older value
    // proves no loss either, because the writes may have been acknowledged at any time.
    let of_second = found(Some((Stage::Main, 1)));
    assert_eq!(lost(&mut both(), of_second, 40..1000), (0, None));
    let mut untimed = written(&program, &in_turn()[..2], false);
    let of_load = found(Some((Stage::Load, 0)));
    assert_eq!(lost(&mut untimed, of_load, 40..1000), (0, None));

    // If a deletion is lost, the deleted value is found again.
    let deletes = |seed: &u64| {
        let program = self::program(*seed);
        numbers(&program, WRITE)[0] == 0 && numbers(&program, DELETE)[0] == 1
    };
    let program = self::program((0..100).find(deletes).expect("a write, then a deletion"));
    let both = || written(&program, &in_turn()[..2], true);
    assert_eq!(lost(&mut both(), of_first, 20..1000).0, 0);
    assert_eq!(lost(&mut both(), of_first, 40..1000).0, 1);
}

proptest! {
    /// The check reports no error for a database that applies each acknowledged write at a time
    /// between the sending and the acknowledgement. Such a database may apply unacknowledged writes
    /// at any time or never. The check reports an error if a read returns the loaded value after an
    /// acknowledged operation.
    #[test]
    fn a_database_that_keeps_its_promises_is_not_accused(
        seed in 0u64..50,
        operations in prop::collection::vec(
            (0u64..300, 1u64..60, 0u64..1000, prop::bool::weighted(0.8), any::<bool>()),
            1..20,
        ),
        has_times: bool,
    ) {
        let program = program(seed);
        let made: Vec<TestOperation> = operations
            .iter()
            .map(|&(sent_ms, took_ms, _, is_acknowledged, _)| TestOperation {
                sent_ms,
                acknowledged_ms: is_acknowledged.then_some(sent_ms + took_ms),
            })
            .collect();
        let all = written(&program, &made, has_times);
        let mut generator = program.generator(Stage::Main);
        // Times at which the operations take effect. The random number of an acknowledged operation
        // is the position between its sending and its acknowledgement, in thousandths. For other
        // operations, it is the position within the second after the sending.
        let mut effects: Vec<(u64, u64)> = Vec::new();
        for (number, operation) in (0u64..).zip(&operations) {
            let &(sent_ms, took_ms, at, is_acknowledged, is_done) = operation;
            let span_us = if is_acknowledged { took_ms * 1000 } else { 1_000_000 };
            if is_acknowledged || is_done {
                effects.push((sent_ms * 1000 + span_us * at / 1000, number));
            }
        }
        let last = effects.iter().max().map(|&(_, number)| number);
        let writer = match last {
            None => Some((Stage::Load, 0)),
            Some(n) if generator.begin(n).statement == DELETE => None,
            Some(n) => Some((Stage::Main, n)),
        };
        let counts = counts_of(found(writer), &all);
        prop_assert!(!is_error(&counts), "{:?} {:?}", writer, counts);

        // The value of the load is stale after any acknowledged operation.
        let any = made.iter().any(|made| made.acknowledged_ms.is_some());
        let counts = counts_of(found(Some((Stage::Load, 0))), &all);
        prop_assert_eq!(is_error(&counts), any);
    }
}
