//! Describes a requirement in words: the value found, the limit, and the outcome.

use super::{EarlierNumbers, Number, PendingRequirement};
use analysis::requirements::{Limit, RequirementResult};
use measure::number::{change, changes, round, significant, whole};
use sentences::result_place::point_words;
use study::settings::IfInconclusive;

impl PendingRequirement<'_> {
    /// Describes the comparison of a metric with an earlier run, such as `throughput at 4 threads
    /// is 98 op/s, and was 3,489 op/s in gate/20261129T113532Z (-97.2 %, 95 %: -97.6 to -96.8 %);
    /// the study allows a loss of 5 %`.
    pub(super) fn beside_earlier(&self, earlier: &EarlierNumbers, number: &Number) -> String {
        let write = |value: f64| {
            if earlier.is_latency {
                format!("{} ms", significant(value, 3))
            } else {
                format!("{} op/s", whole(value))
            }
        };
        let ends = number.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()));
        let interval = ends.map(|[low, high]| {
            let ends = if earlier.is_latency {
                [1.0 / high, 1.0 / low]
            } else {
                [low, high]
            };
            format!(", 95 %: {}", changes(ends))
        });
        format!(
            "{}{}{} is {}, and was {} in {}{} ({}{}); the study allows a loss of {} %",
            self.words,
            self.who(),
            self.place_words(),
            write(earlier.now),
            write(earlier.before),
            earlier.run,
            if earlier.are_means {
                ", as geometric means of the blocks"
            } else {
                ""
            },
            change(earlier.now / earlier.before),
            interval.unwrap_or_default(),
            round(earlier.worse_by * 100.0, 9)
        )
    }

    /// Adds the numbers of an earlier run to the requirement. If the numbers are unknown, adds only
    /// the name of that run to its words.
    pub(super) fn beside(mut self, numbers: Option<EarlierNumbers>, run: &str) -> Self {
        if numbers.is_none() {
            self.words = format!("{} beside {run}", self.words);
        }
        self.earlier = numbers;
        self
    }

    /// Returns the names of the variants, such as ` of “b” beside “a”`. The text is empty if the
    /// study has only one variant.
    pub(super) fn who(&self) -> String {
        match (self.variant.name(), self.baseline) {
            (None, _) => String::new(),
            (Some(name), None) => format!(" of “{name}”"),
            (Some(name), Some(baseline)) => format!(" of “{name}” beside “{baseline}”"),
        }
    }

    /// Returns the point, such as ` at 4 threads`. The text is empty if the requirement does not
    /// belong to a point.
    pub(super) fn place_words(&self) -> String {
        if self.place.is_none() {
            String::new()
        } else {
            format!(" at {}", point_words(self.place))
        }
    }

    /// Describes the value and the limit, such as `p99 latency at 4 threads is 9.00 ms (95 %: 8.50
    /// to 9.50), required at most 8 ms`.
    pub(super) fn clause(&self, number: &Number) -> String {
        let write = |value: f64| match self.unit {
            " op/s" => whole(value),
            " %" => significant(value * 100.0, 3),
            _ => significant(value, 3),
        };
        // The limit has the format in which studies state it.
        let limit = match self.unit {
            " op/s" => whole(self.limit.value()),
            " %" => round(self.limit.value() * 100.0, 9).to_string(),
            _ => self.limit.value().to_string(),
        };
        let found = match number.value {
            None => "is unknown".to_owned(),
            Some(value) => format!("is {}{}{}", value.sign(), write(value.least()), self.unit),
        };
        let interval = match number.ci95 {
            Some(ci95) if ci95[1].is_finite() => sentences::interval::ends(ci95, write),
            _ => String::new(),
        };
        let asked = match self.limit {
            Limit::AtMost(_) => "at most",
            Limit::AtLeast(_) => "at least",
        };
        format!(
            "{}{}{} {found}{interval}{}, required {asked} {limit}{}",
            self.words,
            self.who(),
            self.place_words(),
            self.estimator,
            self.unit,
        )
    }

    /// Describes the outcome, such as `missed` or `inconclusive (the interval contains the limit)`.
    pub(super) fn came_of_it(
        &self,
        number: &Number,
        outcome: RequirementResult,
        why: &str,
    ) -> String {
        let outcome = match outcome {
            RequirementResult::Met => "met",
            RequirementResult::Missed => "missed",
            RequirementResult::Inconclusive if self.is_beyond(number.value) => {
                match self.inconclusive {
                    IfInconclusive::Pass => {
                        "beyond the limit, but the trials scatter too much to be sure"
                    }
                    IfInconclusive::Estimate | IfInconclusive::Miss => "missed",
                }
            }
            RequirementResult::Inconclusive if self.inconclusive == IfInconclusive::Miss => {
                "inconclusive, and therefore missed"
            }
            RequirementResult::Inconclusive => "inconclusive",
        };
        let why = match why {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        outcome.to_owned() + &why
    }
}
