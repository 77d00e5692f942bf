//! Tests that the first sentences of an answer describe planted losses.

use super::*;
use measure::WriteMismatch;
use store::record::{RuleOutcome, RuleRecord, ViolationRecord};

/// Returns a trial in which rule V14 had the outcome `result`.
fn trial(block: usize, result: RuleOutcome) -> TrialFinding {
    TrialFinding {
        index: block,
        block,
        variant: "b".into(),
        rules: vec![RuleRecord {
            rule: "V14".to_owned(),
            result,
            detail: String::new(),
            measured: Vec::new(),
        }],
        ..TrialFinding::default()
    }
}

fn row(row: u64, missed: WriteMismatch) -> MissedRowRecord {
    MissedRowRecord {
        row,
        missed,
        ..MissedRowRecord::default()
    }
}

fn lost(promise: PromiseKind) -> ReadBackRecord {
    ReadBackRecord {
        promise,
        why: "every write was acknowledged".to_owned(),
        rows: 5000,
        lost: 7,
        missed_rows: [41, 3, 20, 17, 56, 900, 12].map(|at| row(at, WriteMismatch::Lost)).into(),
        ..ReadBackRecord::default()
    }
}

fn with_rows(block: usize, result: RuleOutcome, rows: ReadBackRecord) -> TrialFinding {
    TrialFinding {
        read_back: Some(rows),
        ..trial(block, result)
    }
}

#[test]
fn lost_rows_are_counted_and_the_first_are_named() {
    let all = [with_rows(0, RuleOutcome::Fail, lost(PromiseKind::Kept))];
    assert_eq!(
        against(&all),
        [
            "Data was lost: of 5,000 rows that cassay read back, 7 are lost (rows 3, 12, 17, 20, \
             41 and 2 more). This must not happen: every write was acknowledged."
        ]
    );
    assert_eq!(first_row(&all).map(|one| one.row), Some(3));
    // The sentence names only the trials that lost rows.
    let mixed = ReadBackRecord {
        rows: 100,
        wrong: 1,
        resurrected: 2,
        stale: 1,
        too_low: 1,
        promise: PromiseKind::Kept,
        ..ReadBackRecord::default()
    };
    let right = with_rows(0, RuleOutcome::Pass, ReadBackRecord::default());
    let all = [right, with_rows(1, RuleOutcome::Fail, mixed)];
    assert_eq!(
        against(&all),
        [
            "Data is wrong: of 100 rows that cassay read back, 1 has a wrong value, 2 were \
             deleted, but exist again, 1 has an older value, 1 is a wrong counter, in 1 of 2 \
             trials: b (block 2). This must not happen."
        ]
    );
}

#[test]
fn an_allowed_loss_is_not_an_alarm_and_a_forbidden_one_is() {
    let allowed = with_rows(0, RuleOutcome::Pass, lost(PromiseKind::None));
    assert_eq!(against(&[allowed]), Vec::<String>::new());
    // In a trial that lost rows, the reads during the window may differ as well.
    let mut both = with_rows(0, RuleOutcome::Warn, lost(PromiseKind::None));
    (both.verify.checked, both.verify.stale) = (10, 2);
    assert_eq!(against(&[both]), Vec::<String>::new());
    let unexplained = ReadBackRecord {
        unexplained: 2,
        ..lost(PromiseKind::None)
    };
    let said = against(&[with_rows(0, RuleOutcome::Fail, unexplained)]).remove(0);
    assert!(
        said.contains("No failure explains 2 of these differences"),
        "{said}"
    );
    let said = against(&[with_rows(0, RuleOutcome::Warn, lost(PromiseKind::Unknown))]).remove(0);
    assert!(
        said.starts_with("Data was lost") && said.contains("cassay does not know whether"),
        "{said}"
    );
}

#[test]
fn reads_that_differ_are_said_where_no_row_was_read_back() {
    let mut read = trial(0, RuleOutcome::Fail);
    read.verify.checked = 400;
    (read.verify.missing, read.verify.wrong) = (3, 1);
    read.verify.missed_rows = vec![row(8, WriteMismatch::Lost)];
    assert_eq!(
        against(&[read.clone()]),
        [
            "Data was lost: of 400 reads that cassay compared, 3 found no row, 1 found a wrong \
             value (for example row 8)."
        ]
    );
    // Reads may read the same row, so they do not show the number of rows.
    let mut several = read.clone();
    several.verify.missed_rows = [9, 8, 9].map(|at| row(at, WriteMismatch::Lost)).into();
    let said = against(&[several]).remove(0);
    assert!(said.contains("(for example rows 8 and 9)"), "{said}");
    // The consistency level allows this difference, so no sentence states it.
    let weak = TrialFinding {
        rules: trial(0, RuleOutcome::Warn).rules,
        ..read
    };
    assert_eq!(against(&[weak]), Vec::<String>::new());
    // This server answers every request but stores nothing.
    let mut nothing = trial(0, RuleOutcome::Fail);
    (nothing.verify.checked, nothing.verify.missing) = (40, 40);
    let said = against(&[nothing]).remove(0);
    assert!(said.contains("the server may not store rows"), "{said}");
}

#[test]
fn registers_that_contradict_themselves_are_named() {
    let mut broken = trial(0, RuleOutcome::Fail);
    broken.registers = Some(RegistersRecord {
        registers: 10,
        violated: 1,
        promise: PromiseKind::Kept,
        violations: vec![ViolationRecord {
            key: 4,
            operations: vec![1, 2],
        }],
        ..RegistersRecord::default()
    });
    assert_eq!(
        against(&[broken]),
        ["Reads contradict each other: 1 of 10 registers were not linearizable (register 4)."]
    );
}
