//! V14: reads return the data that was written. The rule covers reads in the window and reads of a
//! sample, all rows read back at the end, and the histories of registers.
//!
//! A loss that the configuration allows is not a fault of the run. It is a result, and the rule
//! passes with the reason. A loss that the configuration excludes invalidates the run.

use super::describe::data as describe;
use super::evidence::{Evidence, PresentRows, ReadBack, Registers};
use super::rule_outcome::{RuleOutcome, RuleResult};
use super::statement::Statement;
use crate::durability::Promise;
use measure::interval::CheckCounts;

pub(super) fn data(evidence: &Evidence) -> RuleResult {
    let promise = evidence.promise.as_ref();
    let weak = evidence.weak_consistency;
    let parts = [
        reads(&evidence.checks, evidence.has_strange_rows, weak, promise),
        evidence.found.and_then(|found| nothing(found, weak, promise)),
        evidence.read_back.map(|back| read_back(&back, promise)),
        evidence.registers.map(|found| registers(found, promise)),
    ];
    let judged: Vec<RuleResult> = parts.into_iter().flatten().collect();
    let worst = judged.iter().map(|(outcome, _)| *outcome).max();
    let mut parts: Vec<Statement> = judged.into_iter().map(|(_, part)| part).collect();
    if parts.is_empty() {
        parts.push("cassay compared no read with the written data".into());
    }
    parts.extend(evidence.not_compared.iter().map(|why| why.as_str().into()));
    let outcome = worst.unwrap_or(RuleOutcome::Unknown);
    (outcome, Statement::join(parts, "; "))
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
    // If most rows differ, they come from another source, because a fault of the server could not
    // change most rows.
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
    let source = describe::RowSource {
        is_doubtful: has_strange_rows,
        is_strange: are_strange,
    };
    Some((outcome, describe::reads(checks, &source, why)))
}

/// Share of reads without a row from which the rule warns or fails.
const NOTHING_SHARE_MAX: f64 = 0.01;

/// Judges reads that found no row although the study states that rows exist. Such reads cost the
/// server almost nothing, so they do not measure the intended load. Returns `None` if their share
/// is below [`NOTHING_SHARE_MAX`].
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
    let detail = describe::reads_of_nothing(found, share, NOTHING_SHARE_MAX);
    Some((outcome, detail))
}

fn read_back(back: &ReadBack, promise: Option<&Promise>) -> RuleResult {
    let checks = &back.checks;
    let lost = checks.missing + checks.stale + checks.resurrected + checks.too_low;
    let never = checks.wrong + checks.too_high;
    let of_losses = allowed(lost, promise);
    let (allowed, why, limit) = match back.lost.filter(|_| lost > 0) {
        Some(by) if by.unexplained > 0 => {
            (RuleOutcome::Fail, describe::unexplained(lost, by), None)
        }
        Some(by) => {
            let why = of_losses.why + &describe::oldest(by);
            (of_losses.outcome, why, of_losses.limit)
        }
        None => (of_losses.outcome, of_losses.why, of_losses.limit),
    };
    let outcome = match (never, back.unread) {
        (1.., _) => RuleOutcome::Fail,
        (0, 1..) => allowed.max(RuleOutcome::Warn),
        (0, 0) => allowed,
    };
    (outcome, describe::rows_read_back(back, &why, limit))
}

fn registers(found: Registers, promise: Option<&Promise>) -> RuleResult {
    let allowed = allowed(found.violated, promise);
    let outcome = match found.undecided {
        0 => allowed.outcome,
        _ => allowed.outcome.max(RuleOutcome::Warn),
    };
    let detail = describe::registers(found, &allowed.why, allowed.limit);
    (outcome, detail)
}

struct LossJudgement {
    outcome: RuleOutcome,
    /// Reason in words. Empty if nothing was lost.
    why: String,
    /// Number of losses above which the rule fails. `None` if losses do not fail the rule.
    limit: Option<f64>,
}

fn allowed(lost: u64, promise: Option<&Promise>) -> LossJudgement {
    let (outcome, limit) = match promise {
        Some(Promise::None(_)) => (RuleOutcome::Pass, None),
        Some(Promise::Kept(_)) | None => (RuleOutcome::Fail, Some(0.0)),
        Some(Promise::Unknown(_)) => (RuleOutcome::Warn, None),
    };
    if lost == 0 {
        return LossJudgement {
            outcome: RuleOutcome::Pass,
            why: String::new(),
            limit,
        };
    }
    LossJudgement {
        outcome,
        why: describe::promise(promise),
        limit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::evidence::LostWritesByAckTime;
    use super::*;

    fn back(change: impl Fn(&mut ReadBack)) -> ReadBack {
        let mut back = ReadBack::default();
        back.checks.checked = 100;
        change(&mut back);
        back
    }

    /// Returns the result of reading back rows of which `lost` are lost. For `unexplained` of the
    /// lost rows, no failure explains the loss.
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
                 server acknowledged the oldest by 31.5 s",
            ),
            (
                aged(5, 3),
                RuleOutcome::Fail,
                "100 rows read back: 5 lost (3 not allowed, because the server acknowledged them \
                 outside the 15 s before a failure; 2 allowed); the server acknowledged the oldest \
                 by 31.5 s",
            ),
            (
                aged(0, 0),
                RuleOutcome::Pass,
                "100 rows read back: every acknowledged write exists",
            ),
        ] {
            let (judged, found) = read_back(&back, Some(&none));
            assert_eq!((judged, found.words.as_str()), (outcome, detail));
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
        let expected = "50 of 5000 reads found no row although the study states that rows exist \
             (1.0 %; limit 1.0 %)";
        assert_eq!((outcome, &*detail.words), (RuleOutcome::Fail, expected));
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
            assert_eq!(found, outcome, "{detail:?}");
            assert!(detail.words.contains(word), "{detail:?}");
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
                "100 rows read back: every acknowledged write exists",
            ),
            (
                lost,
                &kept,
                Fail,
                "100 rows read back: 2 lost (this must not happen: two meet)",
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
                "100 rows read back: 1 deleted but present again (this must not happen: two meet)",
            ),
        ] {
            let evidence = Evidence {
                promise: promise.clone(),
                read_back: Some(back),
                ..Evidence::default()
            };
            let (judged, found) = data(&evidence);
            assert_eq!((judged, found.words.as_str()), (outcome, detail));
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
            detail.words,
            "5 reads compared: 0 missing, 0 stale, 0 wrong (limit 0); 100 rows read back: every \
             acknowledged write exists; 4 registers checked: 1 not linearizable, 1 undecided (this \
             must not happen: two meet)"
        );
    }
}
