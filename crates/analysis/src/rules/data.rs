//! V14: data that was read is the data that was written. Covers reads of the window and of a
//! sample, all rows read back at the end, and the histories of registers.
//!
//! A loss that the configuration allows is not a fault of the run: it is a result, and passes with
//! its reason. A loss that the configuration excludes invalidates the run.

use super::evidence::{Evidence, LostWritesByAckTime, PresentRows, ReadBack, Registers};
use super::rule_outcome::{RuleOutcome, percent};
use crate::durability::Promise;
use measure::interval::CheckCounts;

type RuleResult = (RuleOutcome, String);

/// V14: reads returned what was written.
pub(super) fn data(evidence: &Evidence) -> RuleResult {
    let promise = evidence.promise.as_ref();
    let weak = evidence.weak_consistency;
    let parts = [
        reads(&evidence.checks, evidence.has_strange_rows, weak, promise),
        evidence.found.and_then(|found| nothing(found, weak, promise)),
        evidence.read_back.map(|back| read_back(&back, promise)),
        evidence.registers.map(|found| registers(found, promise)),
    ];
    let judged = parts.into_iter().flatten().reduce(|all, part| {
        let detail = format!("{}; {}", all.1, part.1);
        (all.0.max(part.0), detail)
    });
    let (outcome, mut detail) = judged.unwrap_or_else(|| {
        let detail = "no read was compared with what was written";
        (RuleOutcome::Unknown, detail.to_owned())
    });
    for why in &evidence.not_compared {
        detail += &format!("; {why}");
    }
    (outcome, detail)
}

fn reads(
    checks: &CheckCounts,
    has_strange_rows: bool,
    weak: bool,
    promise: Option<&Promise>,
) -> Option<RuleResult> {
    if checks.checked == 0 {
        return None;
    }
    // If most rows differ, they come from another source: no server made them so.
    let are_strange = has_strange_rows && checks.wrong >= checks.checked.div_ceil(2);
    let behind = checks.missing + checks.stale + checks.resurrected;
    let (allowed, why) = match promise {
        _ if weak => (
            RuleOutcome::Warn,
            "; the consistency levels allow missing and stale reads",
        ),
        Some(Promise::None(_)) => (
            RuleOutcome::Warn,
            "; the failures allow missing and stale reads",
        ),
        _ => (RuleOutcome::Fail, ""),
    };
    let outcome = match (checks.wrong, behind) {
        (0, 0) => RuleOutcome::Pass,
        (0, _) => allowed,
        (_, 0) if are_strange => RuleOutcome::Warn,
        _ => RuleOutcome::Fail,
    };
    let wrong = if are_strange {
        "with values that this workload does not write"
    } else {
        "wrong"
    };
    let mut detail = format!(
        "{} reads compared: {} missing, {} stale, {} {wrong} (limit 0{})",
        checks.checked,
        checks.missing,
        checks.stale,
        checks.wrong,
        if behind > 0 { why } else { "" }
    );
    if checks.resurrected > 0 {
        detail += &format!(", {} deleted and there again", checks.resurrected);
    }
    if has_strange_rows && checks.wrong > 0 {
        detail += ". Another tool, seed or length of values may have written the rows that were \
                   there: give the command line that wrote them, or compare nothing (--set \
                   verify.reads=none)";
    }
    Some((outcome, detail))
}

/// Share of reads without a row from which on they do not read the intended data.
const NOTHING_SHARE_MAX: f64 = 0.01;

/// Judges reads that found no row although the study says that rows exist: they cost the server
/// almost nothing.
fn nothing(found: PresentRows, weak: bool, promise: Option<&Promise>) -> Option<RuleResult> {
    let share = found.nothing as f64 / found.reads.max(1) as f64;
    if share < NOTHING_SHARE_MAX {
        return None;
    }
    let outcome = match promise {
        Some(Promise::None(_)) => RuleOutcome::Warn,
        _ if weak => RuleOutcome::Warn,
        _ => RuleOutcome::Fail,
    };
    let detail = format!(
        "{} of {} reads found no row although the study says that rows exist ({}; limit {})",
        found.nothing,
        found.reads,
        percent(share),
        percent(NOTHING_SHARE_MAX)
    );
    Some((outcome, detail))
}

/// Judges all rows read back: the losses against the promise.
fn read_back(back: &ReadBack, promise: Option<&Promise>) -> RuleResult {
    let checks = &back.checks;
    let lost = checks.missing + checks.stale + checks.resurrected + checks.too_low;
    let never = checks.wrong + checks.too_high;
    let counts = [
        (checks.missing, "lost"),
        (checks.stale, "stale"),
        (checks.resurrected, "deleted and there again"),
        (checks.wrong, "wrong"),
        (checks.too_low, "counters too low"),
        (checks.too_high, "counters too high"),
        (back.unread, "unread"),
    ];
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let found = if found.is_empty() {
        "every acknowledged write is there".to_owned()
    } else {
        found.join(", ")
    };
    let rows = checks.checked + back.unread;
    let (allowed, why) = match back.lost.filter(|_| lost > 0) {
        Some(by) if by.unexplained > 0 => (RuleOutcome::Fail, unexplained(lost, by)),
        by => {
            let (outcome, why) = allowed(lost, promise);
            (outcome, why + &by.map_or_else(String::new, oldest))
        }
    };
    let outcome = match (never, back.unread) {
        (1.., _) => RuleOutcome::Fail,
        (0, 1..) => allowed.max(RuleOutcome::Warn),
        (0, 0) => allowed,
    };
    (outcome, format!("{rows} rows read back: {found}{why}"))
}

/// Says that some of the lost writes were acknowledged too long before a fault.
fn unexplained(lost: u64, by: LostWritesByAckTime) -> String {
    format!(
        " ({} not allowed, since acknowledged outside of the {} s before a failure; {} allowed){}",
        by.unexplained,
        by.within_s,
        lost.saturating_sub(by.unexplained),
        oldest(by)
    )
}

fn oldest(by: LostWritesByAckTime) -> String {
    let words = |at_s: f64| format!("; the oldest was acknowledged by {at_s:.1} s");
    by.oldest_s.map_or_else(String::new, words)
}

fn registers(found: Registers, promise: Option<&Promise>) -> RuleResult {
    let (allowed, why) = allowed(found.violated, promise);
    let outcome = match found.undecided {
        0 => allowed,
        _ => allowed.max(RuleOutcome::Warn),
    };
    let detail = format!(
        "{} registers checked: {} not linearizable, {} undecided{why}",
        found.checked, found.violated, found.undecided
    );
    (outcome, detail)
}

/// Judges a number of losses, with the reason in words.
fn allowed(lost: u64, promise: Option<&Promise>) -> (RuleOutcome, String) {
    match (lost, promise) {
        (0, _) => (RuleOutcome::Pass, String::new()),
        (_, Some(Promise::None(why))) => (
            RuleOutcome::Pass,
            format!(" (the configuration allows it: {why})"),
        ),
        (_, Some(Promise::Kept(why))) => (RuleOutcome::Fail, format!(" (must not be: {why})")),
        (_, Some(Promise::Unknown(why))) => (RuleOutcome::Warn, format!(" ({why})")),
        (_, None) => (RuleOutcome::Fail, " (limit 0)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(change: impl Fn(&mut ReadBack)) -> ReadBack {
        let mut back = ReadBack::default();
        back.checks.checked = 100;
        change(&mut back);
        back
    }

    /// A number of lost rows, some of them by a write that nothing explains.
    fn aged(lost: u64, unexplained: u64) -> ReadBack {
        back(|back| {
            back.checks.missing = lost;
            back.lost = Some(LostWritesByAckTime {
                within_s: 15.0,
                unexplained,
                oldest_s: (lost > 0).then_some(31.5),
            });
        })
    }

    #[test]
    fn a_loss_that_is_allowed_may_be_too_old_for_it() {
        let none = Promise::None("power was lost".to_owned());
        for (back, outcome, detail) in [
            (
                aged(2, 0),
                RuleOutcome::Pass,
                "100 rows read back: 2 lost (the configuration allows it: power was lost); the \
                 oldest was acknowledged by 31.5 s",
            ),
            (
                aged(5, 3),
                RuleOutcome::Fail,
                "100 rows read back: 5 lost (3 not allowed, since acknowledged outside of the 15 s \
                 before a failure; 2 allowed); the oldest was acknowledged by 31.5 s",
            ),
            (
                aged(0, 0),
                RuleOutcome::Pass,
                "100 rows read back: every acknowledged write is there",
            ),
        ] {
            let found = read_back(&back, Some(&none));
            assert_eq!(found, (outcome, detail.to_owned()));
        }
    }

    #[test]
    fn reads_of_nothing_are_no_reads_from_one_in_a_hundred_on() {
        let found = |nothing: u64| PresentRows {
            reads: 5000,
            nothing,
        };
        let none = Promise::None("power was lost".to_owned());
        assert_eq!(nothing(found(49), false, None), None);
        assert_eq!(nothing(PresentRows::default(), false, None), None);
        let (outcome, detail) = nothing(found(50), false, None).unwrap();
        let expected = "50 of 5000 reads found no row although the study says that rows exist \
                        (1.0 %; limit 1.0 %)";
        assert_eq!((outcome, detail.as_str()), (RuleOutcome::Fail, expected));
        for (weak, promise) in [(true, None), (false, Some(&none))] {
            let (outcome, _) = nothing(found(5000), weak, promise).unwrap();
            assert_eq!(outcome, RuleOutcome::Warn);
        }
    }

    #[test]
    fn rows_that_others_may_have_written_are_not_called_wrong() {
        let checks = |checked: u64, wrong: u64, stale: u64| CheckCounts {
            checked,
            wrong,
            stale,
            ..CheckCounts::default()
        };
        for (checks, has_strange_rows, outcome, word) in [
            (
                checks(176, 155, 0),
                true,
                RuleOutcome::Warn,
                "--set verify.reads=none",
            ),
            (
                checks(176, 155, 0),
                false,
                RuleOutcome::Fail,
                "155 wrong (limit 0)",
            ),
            (
                checks(176, 3, 0),
                true,
                RuleOutcome::Fail,
                "--set verify.reads=none",
            ),
            (checks(176, 155, 1), true, RuleOutcome::Fail, "1 stale"),
            (
                checks(176, 0, 0),
                true,
                RuleOutcome::Pass,
                "0 wrong (limit 0)",
            ),
        ] {
            let (found, detail) = reads(&checks, has_strange_rows, false, None).unwrap();
            assert_eq!(found, outcome, "{detail}");
            assert!(detail.contains(word), "{detail}");
        }
    }

    #[test]
    fn a_loss_counts_as_what_was_promised() {
        use RuleOutcome::{Fail, Pass, Warn};
        let kept = Some(Promise::Kept("two meet".to_owned()));
        let none = Some(Promise::None("power was lost".to_owned()));
        let unknown = Some(Promise::Unknown("no settings".to_owned()));
        let lost = back(|back| back.checks.missing = 2);
        for (back, promise, outcome, detail) in [
            (
                back(|_| ()),
                &kept,
                Pass,
                "100 rows read back: every acknowledged write is there",
            ),
            (
                lost,
                &kept,
                Fail,
                "100 rows read back: 2 lost (must not be: two meet)",
            ),
            (
                lost,
                &none,
                Pass,
                "100 rows read back: 2 lost (the configuration allows it: power was lost)",
            ),
            (
                lost,
                &unknown,
                Warn,
                "100 rows read back: 2 lost (no settings)",
            ),
            (lost, &None, Fail, "100 rows read back: 2 lost (limit 0)"),
            (
                back(|back| back.checks.wrong = 1),
                &none,
                Fail,
                "100 rows read back: 1 wrong",
            ),
            (
                back(|back| back.unread = 3),
                &kept,
                Warn,
                "103 rows read back: 3 unread",
            ),
            (
                back(|back| back.checks.resurrected = 1),
                &kept,
                Fail,
                "100 rows read back: 1 deleted and there again (must not be: two meet)",
            ),
        ] {
            let evidence = Evidence {
                promise: promise.clone(),
                read_back: Some(back),
                ..Evidence::default()
            };
            assert_eq!(data(&evidence), (outcome, detail.to_owned()));
        }
    }

    #[test]
    fn the_worst_of_several_parts_counts_and_all_are_said() {
        let mut evidence = Evidence {
            promise: Some(Promise::Kept("two meet".to_owned())),
            read_back: Some(back(|_| ())),
            registers: Some(Registers {
                checked: 4,
                violated: 1,
                undecided: 1,
            }),
            ..Evidence::default()
        };
        evidence.checks.checked = 5;
        let (outcome, detail) = data(&evidence);
        assert_eq!(outcome, RuleOutcome::Fail);
        assert_eq!(
            detail,
            "5 reads compared: 0 missing, 0 stale, 0 wrong (limit 0); 100 rows read back: every \
             acknowledged write is there; 4 registers checked: 1 not linearizable, 1 undecided \
             (must not be: two meet)"
        );
    }
}
