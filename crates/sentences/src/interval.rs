//! Formats a ratio with its 95 % interval, either as a change in percent or as a plain number.

use measure::number::{change, changes, significant};
use store::record::{Bound, ComparisonRecord, EffectRecord};

#[derive(Clone, Copy)]
pub(crate) struct Ratio {
    value: f64,
    ci95: Option<[f64; 2]>,
    /// Known end of the interval if the other end is unknown.
    end: Option<f64>,
    /// Direction of the bound, if the ratio is only a bound.
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
    /// Returns the words before a ratio that is only a bound, such as `at least `. Otherwise,
    /// returns an empty string.
    fn before(self) -> String {
        self.bound.map_or_else(String::new, Bound::before)
    }

    /// Returns two strings: the change, such as `+5.1 %`, and its interval, such as ` (95 %: +3.9
    /// to +6.3 %)`. The string of the interval may be empty. `over` describes the coverage of the
    /// interval.
    pub(crate) fn change(self, over: &str) -> (String, String) {
        let before = self.before();
        let interval = match (self.ci95, self.end) {
            (Some(ends), _) => format!(" ({over}: {})", changes(ends)),
            (None, Some(end)) => format!(" ({over}: {before}{})", change(end)),
            (None, None) => String::new(),
        };
        (format!("{before}{}", change(self.value)), interval)
    }

    /// Formats a ratio as a number, such as `0.963 (95 %: 0.959 to 0.966)`.
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

/// Formats an interval that follows a value, such as ` (95 %: 8.50 to 9.50)`.
pub fn ends([low, high]: [f64; 2], write: impl Fn(f64) -> String) -> String {
    format!(" (95 %: {} to {})", write(low), write(high))
}
