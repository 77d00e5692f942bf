//! Outcomes of rules, and the format of their numbers.

measure::word_enum! {
    /// Outcome of one rule.
    #[derive(Default, PartialOrd, Ord)]
    pub enum RuleOutcome {
        /// The rule has no evidence.
        #[default]
        Unknown = "unknown",
        /// The rule holds.
        Pass = "pass",
        /// The result needs care.
        Warn = "warn",
        /// The result may not be used.
        Fail = "fail",
    }
}

/// Judges a number that should stay below two limits.
pub(super) fn below(value: f64, [warn, fail]: [f64; 2]) -> RuleOutcome {
    if value >= fail {
        RuleOutcome::Fail
    } else if value >= warn {
        RuleOutcome::Warn
    } else {
        RuleOutcome::Pass
    }
}

/// A judgement with its weight, so that the worst of several can be found.
#[derive(Clone, Debug)]
pub(super) struct WeighedJudgement {
    /// Outcome of the judgement.
    pub outcome: RuleOutcome,
    /// Value ÷ limit: 1 at the limit.
    pub over: f64,
    /// Words for it.
    pub detail: String,
}

impl WeighedJudgement {
    /// Judges a number that should stay below two limits. Its weight is by the first of them.
    pub(super) fn below(value: f64, limits: [f64; 2], detail: String) -> WeighedJudgement {
        WeighedJudgement {
            outcome: below(value, limits),
            over: ratio(value, limits[0]),
            detail,
        }
    }

    /// Returns the worst of several. Of those with the worst outcome, it is the one farthest over
    /// its limit. The first one wins a tie.
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

    /// Returns the judgement without its weight.
    pub(super) fn judged(self) -> (RuleOutcome, String) {
        (self.outcome, self.detail)
    }
}

/// Returns a value ÷ its limit; infinite if the limit is 0.
pub(super) fn ratio(value: f64, limit: f64) -> f64 {
    if limit > 0.0 {
        value / limit
    } else {
        f64::INFINITY
    }
}

/// Formats a share as percent, with enough digits to be distinguished from its limit.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        p if p == 0.0 || p >= 10.0 => format!("{percent:.0} %"),
        p if p >= 1.0 => format!("{percent:.1} %"),
        p if p >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".to_owned(),
    }
}
