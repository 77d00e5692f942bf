//! How a ratio is said with its 95 % interval: as a change in percent, or as the number that it is.

use measure::number::{change, changes, significant};
use store::record::{Bound, ComparisonRecord, EffectRecord};

/// A ratio as it is recorded.
#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    value: f64,
    ci95: Option<[f64; 2]>,
    /// The end that is known, of an interval whose other end is not.
    end: Option<f64>,
    /// Whether it is only that much at least, or at most.
    bound: Option<Bound>,
}

impl From<&ComparisonRecord> for Ratio {
    fn from(record: &ComparisonRecord) -> Ratio {
        Ratio {
            value: record.ratio,
            ci95: record.ci95,
            end: record.ci95_end,
            bound: record.bound,
        }
    }
}

impl From<&EffectRecord> for Ratio {
    fn from(record: &EffectRecord) -> Ratio {
        Ratio {
            value: record.ratio,
            ci95: record.ci95,
            end: record.ci95_end,
            bound: record.bound,
        }
    }
}

impl Ratio {
    /// `at least `, before a ratio that is only that.
    fn before(self) -> String {
        self.bound.map_or_else(String::new, Bound::before)
    }

    /// `+5.1 %`, and ` (95 %: +3.9 to +6.3 %)`, which is empty without an interval; `over` says
    /// what the interval covers.
    pub(crate) fn change(self, over: &str) -> (String, String) {
        let before = self.before();
        let interval = match (self.ci95, self.end) {
            (Some(ends), _) => format!(" ({over}: {})", changes(ends)),
            (None, Some(end)) => format!(" ({over}: {before}{})", change(end)),
            (None, None) => String::new(),
        };
        (format!("{before}{}", change(self.value)), interval)
    }

    /// `0.963 (95 %: 0.959 to 0.966)`.
    pub(crate) fn number(self) -> String {
        let digits = |ratio: f64| significant(ratio, 3);
        let (before, value) = (self.before(), digits(self.value));
        match (self.ci95, self.end) {
            (Some(ci95), _) => format!("{value}{}", ends(ci95, digits)),
            (None, Some(end)) => format!("{before}{value} (95 %: {before}{})", digits(end)),
            (None, None) => format!("{before}{value}"),
        }
    }
}

/// ` (95 %: 8.50 to 9.50)`, behind a value.
pub fn ends([low, high]: [f64; 2], write: impl Fn(f64) -> String) -> String {
    format!(" (95 %: {} to {})", write(low), write(high))
}
