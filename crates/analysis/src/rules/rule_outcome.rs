//! Outcomes of rules, and the choice of the worst of several judgements.

use super::statement::Statement;

measure::word_enum! {
    /// Outcome of one rule.
    #[derive(Default, PartialOrd, Ord)]
    pub enum RuleOutcome {
        /// The rule does not have the evidence that it needs.
        #[default]
        Unknown = "unknown",
        /// The trial satisfies the rule.
        Pass = "pass",
        /// The result needs care.
        Warn = "warn",
        /// The result must not be used.
        Fail = "fail",
    }
}

pub(super) type RuleResult = (RuleOutcome, Statement);

/// Judges a number by two limits. The rule warns at the first limit and fails at the second.
pub(super) fn below(value: f64, [warn, fail]: [f64; 2]) -> RuleOutcome {
    if value >= fail {
        RuleOutcome::Fail
    } else if value >= warn {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    }
}

/// A judgement with a weight, so that the worst of several judgements can be found.
#[derive(Clone, Debug)]
pub(super) struct WeighedJudgement {
    pub outcome: RuleOutcome,
    /// Weight: the value divided by its limit, so 1 is at the limit.
    pub over: f64,
    pub detail: Statement,
}

impl WeighedJudgement {
    /// Judges a number by two limits. The weight of the judgement is the number divided by the
    /// first limit.
    pub(super) fn below(value: f64, limits: [f64; 2], detail: Statement) -> WeighedJudgement {
        WeighedJudgement {
            outcome: below(value, limits),
            over: ratio(value, limits[0]),
            detail,
        }
    }

    /// Returns the worst of several judgements. If several judgements have the worst outcome, the
    /// function returns the judgement with the largest weight, and of equal weights the first.
    pub(super) fn worst(
        all: impl IntoIterator<Item = WeighedJudgement>,
    ) -> Option<WeighedJudgement> {
        let key = |one: &WeighedJudgement| (one.outcome, one.over);
        all.into_iter().reduce(|worst, one| {
            let ((of_worst, over_worst), (of_one, over_one)) = (key(&worst), key(&one));
            let order = of_one.cmp(&of_worst).then(over_one.total_cmp(&over_worst));
            if order.is_gt() { one } else { worst }
        })
    }

    pub(super) fn judged(self) -> RuleResult {
        (self.outcome, self.detail)
    }
}

/// Returns a value divided by its limit; infinite if the limit is 0.
pub(super) fn ratio(value: f64, limit: f64) -> f64 {
    if limit > 0.0 {
        value / limit
    } else {
        f64::INFINITY
    }
}
