//! Sentences on the data that was read, for rule V14.

use crate::durability::Promise;
use crate::rules::evidence::{LostWritesByAckTime, PresentRows, ReadBack, Registers};
use crate::rules::measurement::{Measurement, Quantity};
use crate::rules::statement::{Statement, percent};
use measure::interval::CheckCounts;

/// Doubts about the source of the rows that the reads returned.
pub struct RowSource {
    /// True if another tool, or a load with another seed or length, may have written the existing
    /// rows.
    pub is_doubtful: bool,
    /// True if most rows differ, which a fault of the server cannot cause.
    pub is_strange: bool,
}

/// States the result of comparing reads. `why` explains why missing and stale reads are allowed. If
/// such reads fail the rule, `why` is empty.
pub fn reads(checks: &CheckCounts, source: &RowSource, why: &str) -> Statement {
    let behind = checks.missing + checks.stale + checks.resurrected;
    let wrong = if source.is_strange {
        "with values that this workload does not write"
    } else {
        "wrong"
    };
    let mut words = format!(
        "{} reads compared: {} missing, {} stale, {} {wrong} (limit 0{})",
        checks.checked,
        checks.missing,
        checks.stale,
        checks.wrong,
        if behind > 0 { why } else { "" }
    );
    let none_allowed = |quantity, count, fails: bool| Measurement {
        limit: Some(0.0),
        fail_limit: fails.then_some(0.0),
        ..Measurement::counting(quantity, count)
    };
    let behind_fails = why.is_empty();
    let mut measured = vec![
        none_allowed(Quantity::MissingReads, checks.missing, behind_fails),
        none_allowed(Quantity::StaleReads, checks.stale, behind_fails),
        none_allowed(Quantity::WrongReads, checks.wrong, !source.is_strange),
    ];
    if checks.resurrected > 0 {
        words += &format!(", {} deleted but present again", checks.resurrected);
        let resurrected = checks.resurrected;
        measured.push(none_allowed(
            Quantity::ResurrectedReads,
            resurrected,
            behind_fails,
        ));
    }
    if source.is_doubtful && checks.wrong > 0 {
        words += ". The existing rows may come from another tool, seed or value length: use the \
                  command line that wrote these rows, or turn off the comparison (--set \
                  verify.reads=none)";
    }
    Statement { words, measured }
}

pub fn reads_of_nothing(found: PresentRows, share: f64, limit: f64) -> Statement {
    let words = format!(
        "{} of {} reads found no row although the study states that rows exist ({}; limit {})",
        found.nothing,
        found.reads,
        percent(share),
        percent(limit)
    );
    let nothing = Measurement::new(Quantity::ReadsOfNothing, share);
    Statement::with(words, nothing.failing_at(limit))
}

/// States the result for the rows that were read back. `why` is the reason why losses are allowed
/// or not allowed. `limit` is the number of losses above which the rule fails, or `None` if losses
/// do not fail the rule.
pub fn rows_read_back(back: &ReadBack, why: &str, limit: Option<f64>) -> Statement {
    let checks = &back.checks;
    let counts = [
        (Quantity::LostRows, checks.missing, "lost"),
        (Quantity::StaleRows, checks.stale, "stale"),
        (
            Quantity::ResurrectedRows,
            checks.resurrected,
            "deleted but present again",
        ),
        (Quantity::WrongRows, checks.wrong, "wrong"),
        (Quantity::LowCounters, checks.too_low, "counters too low"),
        (Quantity::HighCounters, checks.too_high, "counters too high"),
        (Quantity::UnreadRows, back.unread, "unread"),
    ];
    let found = || counts.iter().filter(|(_, count, _)| *count > 0);
    let names: Vec<String> = found().map(|(_, count, name)| format!("{count} {name}")).collect();
    let names = if names.is_empty() {
        "every acknowledged write exists".to_owned()
    } else {
        names.join(", ")
    };
    let rows = checks.checked + back.unread;
    let unexplained = back.lost.map_or(0, |by| by.unexplained);
    let unexplained = (unexplained > 0).then_some((Quantity::UnexplainedRows, unexplained));
    let found = found().map(|(quantity, count, _)| (*quantity, *count));
    let measured = unexplained
        .into_iter()
        .chain(found)
        .map(|(quantity, count)| row_count(quantity, count, limit));
    Statement {
        words: format!("{rows} rows read back: {names}{why}"),
        measured: measured.collect(),
    }
}

/// Returns a measurement of a number of rows. `limit` is the number of lost rows above which the
/// rule fails.
fn row_count(quantity: Quantity, count: u64, limit: Option<f64>) -> Measurement {
    let counted = Measurement::counting(quantity, count);
    match quantity {
        Quantity::UnreadRows => counted,
        Quantity::WrongRows | Quantity::HighCounters | Quantity::UnexplainedRows => Measurement {
            fail_limit: Some(0.0),
            ..counted
        },
        _ => Measurement {
            limit,
            fail_limit: limit,
            ..counted
        },
    }
}

/// States that the server acknowledged some of the lost writes too long before a fault.
pub fn unexplained(lost: u64, by: LostWritesByAckTime) -> String {
    format!(
        " ({} not allowed, because the server acknowledged them outside the {} s before a failure; \
         {} allowed){}",
        by.unexplained,
        by.within_s,
        lost.saturating_sub(by.unexplained),
        oldest(by)
    )
}

/// States when the server acknowledged the oldest lost write. The string is empty if that time is
/// unknown.
pub fn oldest(by: LostWritesByAckTime) -> String {
    let words = |at_s: f64| format!("; the server acknowledged the oldest by {at_s:.1} s");
    by.oldest_s.map_or_else(String::new, words)
}

/// States the result for the registers. `why` is the reason why violations are allowed or not
/// allowed.
pub fn registers(found: Registers, why: &str, limit: Option<f64>) -> Statement {
    let violated = Measurement::counting(Quantity::ViolatedRegisters, found.violated);
    Statement {
        words: format!(
            "{} registers checked: {} not linearizable, {} undecided{why}",
            found.checked, found.violated, found.undecided
        ),
        measured: vec![
            Measurement {
                limit,
                fail_limit: limit,
                ..violated
            },
            Measurement::counting(Quantity::UndecidedRegisters, found.undecided),
        ],
    }
}

/// Returns the reason why losses are allowed or not allowed.
pub fn promise(promise: Option<&Promise>) -> String {
    match promise {
        Some(Promise::None(why)) => format!(" (the configuration allows it: {why})"),
        Some(Promise::Kept(why)) => format!(" (this must not happen: {why})"),
        Some(Promise::Unknown(why)) => format!(" ({why})"),
        None => " (limit 0)".to_owned(),
    }
}
