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
