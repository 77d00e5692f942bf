//! Handles files that are missing at the end of a trial. The engine records them before it judges
//! the trial, because a rule must not count as satisfied when its data is missing.

use analysis::rules::Evidence;
use cluster::Gap;
use measure::clock;
use store::record::{GapKind, GapRecord};

/// Converts several gaps of one kind to records.
pub fn records(what: GapKind, gaps: Vec<Gap>) -> impl Iterator<Item = GapRecord> {
    gaps.into_iter().map(move |gap| record(what, gap))
}

fn record(what: GapKind, gap: Gap) -> GapRecord {
    GapRecord {
        what,
        node: gap.node,
        host: gap.host,
        why: gap.why,
        found_unix_ns: clock::unix_ns(),
    }
}

/// Marks rules without evidence as unknown: rule V15 if logs are missing, and rule V11 if readings
/// are missing.
pub fn tell(gaps: &[GapRecord], evidence: &mut Evidence) {
    for gap in gaps {
        match gap.what {
            GapKind::Logs => evidence.not_recorded.get_or_insert_default().push(gap.words()),
            GapKind::Readings => {
                evidence.environment.get_or_insert_default().unseen.push(gap.words());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::rules::{self, Environment, Limits, RuleOutcome};

    /// Returns the results of V11 and V15 for an otherwise good trial with these gaps.
    fn judged(gaps: &[GapRecord]) -> [(RuleOutcome, String); 2] {
        let mut evidence = Evidence {
            environment: Some(Environment::default()),
            not_recorded: Some(Vec::new()),
            ..Evidence::default()
        };
        tell(gaps, &mut evidence);
        let judgement = rules::judge(&evidence, &Limits::default());
        ["V11", "V15"].map(|id| {
            let rule = judgement.rules.iter().find(|rule| rule.id == id).expect("the rule");
            (rule.outcome, rule.detail.clone())
        })
    }

    #[test]
    fn a_rule_does_not_pass_on_what_is_lost() {
        let [steady, recorded] = judged(&[]);
        assert_eq!(
            (steady.0, recorded.0),
            (RuleOutcome::Pass, RuleOutcome::Pass)
        );
        let gap = || Gap {
            node: "node2".to_owned(),
            host: "db2".to_owned(),
            why: "the agent has ended".to_owned(),
        };
        let lost: Vec<GapRecord> = [GapKind::Logs, GapKind::Readings]
            .into_iter()
            .flat_map(|what| records(what, vec![gap()]))
            .collect();
        let [steady, recorded] = judged(&lost);
        assert_eq!(steady.0, RuleOutcome::Unknown);
        assert!(
            steady
                .1
                .contains("not judged: the readings of node2 on db2 are lost: the agent"),
            "{}",
            steady.1
        );
        assert_eq!(recorded.0, RuleOutcome::Warn);
        assert!(
            recorded.1.contains("not recorded: the logs of node2 on db2 are lost"),
            "{}",
            recorded.1
        );
    }
}
