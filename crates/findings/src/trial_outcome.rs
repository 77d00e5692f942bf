//! Converts a trial's finding into the outcome that a procedure uses.

use crate::points::is_saturated;
use analysis::procedure::{MeasuredFigure, Percentiles, Point, TrialJudgement, TrialOutcome};
use analysis::rules::{Limits, Verdict};
use measure::Known;
use store::record::{QuantilesRecord, RuleOutcome, TrialFinding};
use study::settings::Settings;

/// Name of a rule, the meaning of its failure, and the function that returns the resulting
/// judgement of the trial.
type Excuse = (&'static str, &'static str, fn(String) -> TrialJudgement);

/// Rules whose failure shows nothing about the target. If the limit of operations in flight held
/// operations back, rule V1 only warns, because the target was slow. The order is important,
/// because a client at its limit also stalls and is late.
const NOT_OF_TARGET: [Excuse; 7] = [
    ("V3", "the client was at its limit", TrialJudgement::Client),
    (
        "V2",
        "latency and service time of the client cover different operations",
        TrialJudgement::Client,
    ),
    (
        "V6",
        "some operations were not counted exactly once",
        TrialJudgement::Client,
    ),
    (
        "V18",
        "other programs used the machine",
        TrialJudgement::Disturbed,
    ),
    (
        "V4",
        "the client was unavailable for too long",
        TrialJudgement::Disturbed,
    ),
    ("V20", "the clock jumped", TrialJudgement::Disturbed),
    (
        "V1",
        "the client sent operations too late",
        TrialJudgement::Late,
    ),
];

/// Returns the outcome of a trial, in the form that a procedure uses.
pub fn found(settings: &Settings, finding: &TrialFinding) -> TrialOutcome {
    let failed: u64 = finding.errors.values().sum();
    let attempts = finding.all.ops + failed;
    TrialOutcome {
        ops_per_s: finding.all.ops_per_s,
        best_ops_per_s: finding.best_ops_per_s.unwrap_or(0.0),
        latency_ms: percentiles(&finding.all.latency_ms),
        timed_out: finding.errors.get("client_timeout").copied().unwrap_or(0),
        error_share: failed as f64 / attempts.max(1) as f64,
        shortfall: shortfall(settings, finding, failed),
        is_saturated: is_saturated(finding),
        pending_grew: result_of(finding, "V10") == Some(RuleOutcome::Warn),
        pending_at_end: finding.pending_compactions,
        judged: judged(finding),
        disturbed: disturbed(finding).map(str::to_owned),
    }
}

/// Returns the share of the operations due at the rate that were not completed. Failed operations
/// count as completed, because they have a separate limit. The number of random arrivals varies, so
/// the function tolerates three standard deviations of a Poisson distribution, as rule V1 does.
fn shortfall(settings: &Settings, finding: &TrialFinding, failed: u64) -> f64 {
    let rate = match finding.point {
        Some(Point::Rate(rate)) if rate > 0 => rate as f64,
        _ => return 0.0,
    };
    let seconds = finding.seconds.max(1e-9);
    let done = finding.all.ops_per_s + failed as f64 / seconds;
    let chance = if settings.poisson {
        3.0 / (rate * seconds).sqrt()
    } else {
        0.0
    };
    (1.0 - done / rate - chance).max(0.0)
}

fn percentiles(record: &QuantilesRecord) -> Percentiles {
    let of = |name: &str, value: Known| MeasuredFigure {
        value,
        ci95: record.ci95.get(name).copied(),
    };
    Percentiles {
        p50: of("p50", record.p50),
        p95: of("p95", record.p95),
        p99: of("p99", record.p99),
        p999: of("p999", record.p999),
    }
}

fn result_of(finding: &TrialFinding, rule: &str) -> Option<RuleOutcome> {
    let of = finding.rules.iter().find(|one| one.rule == rule);
    of.map(|one| one.result)
}

/// Minimum share of the CPUs that other programs must use to explain a missed rate. It is twice the
/// share at which rule V18 warns.
const OTHER_PROGRAMS_SHARE_MIN: f64 = 0.20;

/// Returns the disturbance that may explain why a trial missed its rate. Returns `None` if the
/// trial had no such disturbance. A client that stalled for 1 % of the time counts as disturbed,
/// because its p99 contains the stalls.
fn disturbed(finding: &TrialFinding) -> Option<&'static str> {
    let [away_share, _] = Limits::default().silence_share;
    let others = finding.machine.as_ref().and_then(|machine| machine.cpu_others);
    if others.is_some_and(|share| share >= OTHER_PROGRAMS_SHARE_MIN) {
        Some("other programs used the machine")
    } else if finding.client.stalled_share >= away_share {
        Some("the client was unavailable for too long")
    } else {
        None
    }
}

/// Returns how a procedure must judge a trial. An invalid trial whose client could not apply the
/// requested load shows nothing about the target, regardless of other problems.
fn judged(finding: &TrialFinding) -> TrialJudgement {
    if finding.verdict != Verdict::Invalid {
        return TrialJudgement::Fair;
    }
    if let (Some(by), Some(RuleOutcome::Fail)) = (disturbed(finding), result_of(finding, "V1")) {
        return TrialJudgement::Disturbed(by.to_owned());
    }
    let failed = |rule: &&Excuse| result_of(finding, rule.0) == Some(RuleOutcome::Fail);
    if let Some((rule, words, judged)) = NOT_OF_TARGET.iter().find(failed) {
        return judged(format!("{words} ({rule})"));
    }
    TrialJudgement::Invalid(finding.reasons.first().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::RuleRecord;
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn settings(arrival: &str) -> Settings {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{rate: 1000}}, arrival: {arrival}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        study.variants[0].settings.clone()
    }

    fn at_rate(ops_per_s: f64) -> TrialFinding {
        let mut finding = TrialFinding {
            verdict: Verdict::Valid,
            seconds: 10.0,
            ..TrialFinding::default()
        };
        finding.point = Some(Point::Rate(1000));
        finding.all.ops = 10_000;
        finding.all.ops_per_s = ops_per_s;
        finding
    }

    #[test]
    fn less_was_done_than_offered_when_chance_does_not_explain_it() {
        let shortfall =
            |arrival, finding: &TrialFinding| found(&settings(arrival), finding).shortfall;
        assert!((shortfall("fixed", &at_rate(980.0)) - 0.02).abs() < 1e-9);
        assert_eq!(shortfall("fixed", &at_rate(1001.0)), 0.0);
        assert_eq!(shortfall("poisson", &at_rate(980.0)), 0.0, "of 10,000, 3 %");
        let mut failed = at_rate(980.0);
        failed.errors.insert("overloaded".to_owned(), 200);
        assert_eq!(shortfall("fixed", &failed), 0.0);
        assert!(found(&settings("fixed"), &failed).error_share > 0.019);
        let mut threads = at_rate(1.0);
        threads.point = Some(Point::Threads(4));
        assert_eq!(shortfall("fixed", &threads), 0.0);
    }

    #[test]
    fn an_invalid_trial_blames_the_client_others_or_the_target() {
        let judged = |fails: &[&str]| {
            let rule = |name: &&str| RuleRecord {
                rule: (*name).to_owned(),
                result: RuleOutcome::Fail,
                detail: "d".to_owned(),
                measured: Vec::new(),
            };
            let finding = TrialFinding {
                verdict: Verdict::Invalid,
                reasons: vec!["r".to_owned()],
                rules: fails.iter().map(rule).collect(),
                ..at_rate(1000.0)
            };
            found(&settings("fixed"), &finding).judged
        };
        let client = "the client was at its limit (V3)".to_owned();
        assert_eq!(judged(&["V8", "V3"]), TrialJudgement::Client(client));
        assert!(matches!(
            judged(&["V8", "V4", "V1"]),
            TrialJudgement::Disturbed(_)
        ));
        assert!(matches!(judged(&["V8", "V1"]), TrialJudgement::Late(_)));
        assert_eq!(judged(&["V8"]), TrialJudgement::Invalid("r".to_owned()));
        assert_eq!(
            found(&settings("fixed"), &at_rate(1.0)).judged,
            TrialJudgement::Fair
        );
    }
}
