//! Mean and quantiles, in memory and in files.
//!
//! Invariants: in memory, each figure states whether it is only a lower bound, so that code cannot
//! compare a lower bound like an exact number. In a file, each figure is a plain number, and a
//! separate list contains the names of the figures that are lower bounds.

use measure::Known;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Mean and quantiles in milliseconds. In files, the figures are plain numbers, and the list
/// `at_least` contains the names of the lower bounds, such as `["p999", "max"]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "InFile", into = "InFile")]
pub struct QuantilesRecord {
    /// Number of values from which the figures are computed.
    pub count: u64,
    /// Arithmetic mean of the values.
    pub mean: Known,
    /// Median of the values (p50).
    pub p50: Known,
    /// 95th percentile of the values.
    pub p95: Known,
    /// 99th percentile of the values.
    pub p99: Known,
    /// 99.9th percentile of the values.
    pub p999: Known,
    /// Largest of the values.
    pub max: Known,
    /// 95 % confidence intervals by field name, such as `{"p99": [3.1, 3.4]}`. A quantile with
    /// fewer than 100 values above it has no interval.
    pub ci95: BTreeMap<String, [f64; 2]>,
    /// Names of the figures whose confidence intervals depend on only one to four incidents.
    pub few_incidents: Vec<String>,
    /// Number of values that are lower bounds. They belong to operations that the client gave up or
    /// never sent.
    pub censored: u64,
}

/// Form of [`QuantilesRecord`] in files.
#[derive(Serialize, Deserialize)]
struct InFile {
    #[serde(default)]
    count: u64,
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    p999: f64,
    max: f64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ci95: BTreeMap<String, [f64; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    few_incidents: Vec<String>,
    #[serde(default, skip_serializing_if = "crate::record::is_zero")]
    censored: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    at_least: Vec<String>,
}

impl QuantilesRecord {
    /// Returns the figures, each with the name that files, requirements and published ratios use.
    fn figures(&self) -> [(&'static str, Known); 6] {
        [
            ("p50", self.p50),
            ("p95", self.p95),
            ("p99", self.p99),
            ("p999", self.p999),
            ("mean", self.mean),
            ("max", self.max),
        ]
    }

    /// Returns the figure with this name. `None` if the name is unknown.
    pub fn figure(&self, name: &str) -> Option<Known> {
        let named = |(its, figure): (&str, Known)| (its == name).then_some(figure);
        self.figures().into_iter().find_map(named)
    }

    /// Returns the names of the figures that are lower bounds.
    pub fn at_least(&self) -> Vec<&'static str> {
        let figures = self.figures().into_iter();
        let bounds = figures.filter(|(_, figure)| figure.is_at_least());
        bounds.map(|(name, _)| name).collect()
    }
}

impl From<InFile> for QuantilesRecord {
    fn from(file: InFile) -> QuantilesRecord {
        let figure = |name: &str, value: f64| {
            if file.at_least.iter().any(|bound| bound == name) {
                Known::AtLeast(value)
            } else {
                Known::Exactly(value)
            }
        };
        QuantilesRecord {
            count: file.count,
            mean: figure("mean", file.mean),
            p50: figure("p50", file.p50),
            p95: figure("p95", file.p95),
            p99: figure("p99", file.p99),
            p999: figure("p999", file.p999),
            max: figure("max", file.max),
            ci95: file.ci95,
            few_incidents: file.few_incidents,
            censored: file.censored,
        }
    }
}

impl From<QuantilesRecord> for InFile {
    fn from(record: QuantilesRecord) -> InFile {
        let at_least = record.at_least().into_iter().map(str::to_owned).collect();
        InFile {
            count: record.count,
            mean: record.mean.least(),
            p50: record.p50.least(),
            p95: record.p95.least(),
            p99: record.p99.least(),
            p999: record.p999.least(),
            max: record.max.least(),
            ci95: record.ci95,
            few_incidents: record.few_incidents,
            censored: record.censored,
            at_least,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lower_bound_is_a_marked_number_and_survives_a_round_trip() {
        let file = json!({
            "count": 9, "mean": 2.5, "p50": 1.5, "p95": 3.5, "p99": 4.5, "p999": 5.5, "max": 6.5,
            "censored": 1, "at_least": ["p999", "mean", "max"],
        });
        let record: QuantilesRecord = serde_json::from_value(file.clone()).unwrap();
        assert_eq!(
            (record.p99, record.p999),
            (Known::Exactly(4.5), Known::AtLeast(5.5))
        );
        assert_eq!(serde_json::to_value(record).unwrap(), file);
    }
}
