//! How a rule comes out, and how its numbers are said.

measure::word_enum! {
    /// How one rule was judged.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Outcome {
        /// Nobody looked.
        #[default]
        Unknown = "unknown",
        /// As it should be.
        Pass = "pass",
        /// To be read with care.
        Warn = "warn",
        /// Not to be believed.
        Fail = "fail",
    }
}

/// Judges a number that should stay below two limits.
pub(super) fn below(value: f64, [warn, fail]: [f64; 2]) -> Outcome {
    if value >= fail {
        Outcome::Fail
    } else if value >= warn {
        Outcome::Warn
    } else {
        Outcome::Pass
    }
}

/// A judgement with its weight, so that the worst of several can be told.
#[derive(Clone, Debug)]
pub(super) struct Weighed {
    /// How it comes out.
    pub outcome: Outcome,
    /// How far over its limit what was judged is: value ÷ limit, 1 at the limit.
    pub over: f64,
    /// What is said of it.
    pub detail: String,
}

impl Weighed {
    /// A number that should stay below two limits, against the first of them.
    pub(super) fn below(value: f64, limits: [f64; 2], detail: String) -> Weighed {
        Weighed {
            outcome: below(value, limits),
            over: ratio(value, limits[0]),
            detail,
        }
    }

    /// The worst of several: of those that come out worst, the one farthest over its limit. The
    /// first of those that are equal in both.
    pub(super) fn worst(all: impl IntoIterator<Item = Weighed>) -> Option<Weighed> {
        let key = |one: &Weighed| (one.outcome, one.over);
        all.into_iter().reduce(|worst, one| {
            let ((of_worst, over_worst), (of_one, over_one)) = (key(&worst), key(&one));
            let order = of_one.cmp(&of_worst).then(over_one.total_cmp(&over_worst));
            if order.is_gt() { one } else { worst }
        })
    }

    /// The judgement without its weight.
    pub(super) fn judged(self) -> (Outcome, String) {
        (self.outcome, self.detail)
    }
}

/// A value by its limit; infinite for what must not be at all.
pub(super) fn ratio(value: f64, limit: f64) -> f64 {
    if limit > 0.0 {
        value / limit
    } else {
        f64::INFINITY
    }
}

/// A share as percent, with as many digits as it needs to be told from its limit.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        p if p == 0.0 || p >= 10.0 => format!("{percent:.0} %"),
        p if p >= 1.0 => format!("{percent:.1} %"),
        p if p >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".to_owned(),
    }
}
