//! Tests that a report shows the messages of the nodes next to the errors that the messages
//! explain.

use super::*;

/// In an earlier version, a report described a full volume as an overload.
#[test]
fn reports_of_nodes_stand_beside_the_errors_that_they_explain() {
    let cause = "node1: the data volume of the node was full";
    for (failed, is_said) in [(vec![(Outcome::Overloaded, 30)], true), (vec![], false)] {
        let evidence = Evidence {
            window: window(&failed),
            causes: vec![cause.to_owned()],
            ..healthy()
        };
        let judgement = judge(&evidence, &Limits::default());
        let reasons: String = judgement.reasons().iter().map(|one| format!("{one}\n")).collect();
        assert_eq!(reasons.contains(cause), is_said, "{reasons}");
    }
}

/// Failures caused by a fault are the subject of the trial, so the rule only warns.
#[test]
fn a_time_out_while_something_is_broken_on_purpose_only_warns() {
    for (faults, expected) in [
        (vec![], RuleOutcome::Fail),
        (vec![fault(Some(true), true)], RuleOutcome::Warn),
    ] {
        let evidence = Evidence {
            window: window(&[(Outcome::ClientTimeout, 300)]),
            faults,
            ..healthy()
        };
        let judgement = judge(&evidence, &Limits::default());
        let rule = judgement.rules.iter().find(|rule| rule.id == "V8").unwrap();
        assert_eq!(rule.outcome, expected, "{}", rule.detail);
    }
}
