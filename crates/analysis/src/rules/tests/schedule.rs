//! Tests rules V1 and V6 with operations that end after the window.

use super::*;
use measure::ClientCount;

/// Returns the outcomes of V1 and V6 for 20,000 operations that ended, of `scheduled` operations
/// that were due.
fn judged(scheduled: f64, change: impl FnOnce(&mut Window)) -> [RuleOutcome; 2] {
    let mut evidence = healthy();
    evidence.offered = Some(OfferedLoad {
        operations: scheduled,
        is_random: false,
    });
    change(&mut evidence.window);
    let judgement = judge(&evidence, &Limits::default());
    ["V1", "V6"].map(|id| {
        let mut rules = judgement.rules.iter();
        rules.find(|rule| rule.id == id).unwrap().outcome
    })
}

/// In an earlier version, a limit of operations in flight hid the shortfall: operations that ended
/// after the window counted as sent in the window.
#[test]
fn operations_held_back_past_the_window_are_not_a_pass() {
    let sent_after = judged(20_000.0, |window| {
        (
            window.client[ClientCount::Late],
            window.client[ClientCount::Limited],
        ) = (2_000, 2_000);
        window.client[ClientCount::SentInDrain] = 2_000;
    });
    let few_limited = judged(22_000.0, |window| {
        (
            window.client[ClientCount::Late],
            window.client[ClientCount::Limited],
        ) = (100, 100);
        (
            window.client[ClientCount::DueNeverSent],
            window.censored_count,
        ) = (2_000, 2_000);
    });
    assert_eq!([sent_after, few_limited], [[Warn, RuleOutcome::Pass]; 2]);
}

#[test]
fn unsent_or_late_operations_of_a_late_client_fail_a_trial() {
    let late = judged(20_000.0, |window| {
        (
            window.client[ClientCount::Late],
            window.client[ClientCount::SentInDrain],
        ) = (400, 400);
    });
    let never = judged(20_400.0, |window| {
        (
            window.client[ClientCount::DueNeverSent],
            window.censored_count,
        ) = (400, 400);
    });
    assert_eq!([late, never], [[Fail, RuleOutcome::Pass]; 2]);
}

#[test]
fn unsent_operations_must_be_among_the_lower_bounds() {
    let [_, complete] = judged(20_005.0, |window| {
        window.client[ClientCount::DueNeverSent] = 5
    });
    assert_eq!(complete, Fail);
}

/// Tests the number of operations that are due in a window, for several lengths of the window and
/// several ways in which it ends.
#[test]
fn scheduled_operations_are_the_due_ones_for_any_window_end() {
    for (rate, span_s, count, due) in [
        // In the next cases, the window ends by time, in whole or fractional seconds, with and
        // without an earlier warm-up.
        (1000, 6.0, None, 6000.0),
        (1000, 5.999_999_999_9, None, 6000.0),
        (3, 0.1, None, 1.0),
        (3, 1.0, None, 3.0),
        // In the next cases, the window ends by a number of operations, so it lasts until the last
        // answer.
        (1000, 2.499, Some(2000), 2000.0),
        (1000, 1.9991, Some(2000), 2000.0),
        (1000, 0.9992, Some(1000), 1000.0),
        (1, 60.0, Some(1), 1.0),
        // In the next cases, the window has both limits. It ends at the limit that is reached
        // first, in this case the time.
        (1000, 2.0, Some(5000), 2000.0),
    ] {
        let offered = OfferedLoad::at_rate(rate, span_s, count, false);
        assert_eq!(
            offered.operations, due,
            "{rate}/s for {span_s} s, {count:?}"
        );
    }
    let random = OfferedLoad::at_rate(1001, 2.5, Some(9000), true);
    assert_eq!(random.operations, 2502.5);
}
