//! Tests the order in which a verdict names the rules that make a trial invalid.

use super::*;

#[test]
fn every_rule_has_one_place_in_the_order() {
    let mut ordered: Vec<&str> = BY_SERIOUSNESS.iter().copied().flatten().copied().collect();
    let mut all: Vec<&str> = names().collect();
    ordered.sort_unstable();
    all.sort_unstable();
    assert_eq!(ordered, all);
    assert_eq!(seriousness("V14"), 0);
    assert_eq!(seriousness("V99"), all.len());
}

/// A client sent its requests late, and rows were lost. The verdict names the lost rows first, even
/// if few rows were lost.
#[test]
fn lost_data_is_said_before_a_late_client() {
    let mut evidence = healthy();
    evidence.checks.missing = 3;
    evidence.offered = Some(OfferedLoad {
        operations: 20_000.0,
        is_random: false,
    });
    evidence.window.client[Late] = 15_000;
    evidence.not_recorded = Some(vec!["the version".to_owned()]);
    let judgement = judge(&evidence, &Limits::default());
    let rules: Vec<&str> = judgement.reasons().iter().map(|rule| rule.id).collect();
    assert!(rules.len() > 2, "{rules:?}");
    assert_eq!(rules[..2], ["V14", "V1"], "{:?}", judgement.reasons());
    // A warning never comes before a failure.
    let outcome_of =
        |rule: &str| judgement.rules.iter().find(|one| one.id == rule).unwrap().outcome;
    let outcomes: Vec<RuleOutcome> = rules.iter().map(|rule| outcome_of(rule)).collect();
    assert!(outcomes.is_sorted_by(|a, b| a >= b), "{outcomes:?}");
}
