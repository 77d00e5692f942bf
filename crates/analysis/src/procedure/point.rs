//! Points on the axis of a procedure. A point is the load that the client offers, in a closed or an
//! open loop.

use measure::number::count;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A point on the axis of a procedure.
///
/// In files, a point is `{"threads": 28.0}` or `{"rate": 10000.0}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "BTreeMap<String, f64>", try_from = "BTreeMap<String, f64>")]
pub enum Point {
    /// Closed loop, with a number of operations in flight.
    Threads(u32),
    /// Open loop, with a rate in operations per second.
    Rate(u64),
}

impl Point {
    /// Returns the name of the axis in files: `threads` or `rate`.
    pub fn axis(self) -> &'static str {
        match self {
            Point::Threads(_) => "threads",
            Point::Rate(_) => "rate",
        }
    }

    /// Returns the point with the value `value` on the axis with the name `axis`. Returns `None` if
    /// the axis or the value is invalid.
    pub fn on_axis(axis: &str, value: f64) -> Option<Point> {
        let point = match axis {
            "threads" => Point::Threads(value as u32),
            "rate" => Point::Rate(value as u64),
            _ => return None,
        };
        (point.value() == value).then_some(point)
    }

    /// Returns the noun phrase for a value on the axis.
    pub fn noun(self) -> &'static str {
        match self {
            Point::Threads(_) => "number of threads",
            Point::Rate(_) => "rate",
        }
    }

    /// Returns true if the point is a rate, which the client offers regardless of the operations in
    /// flight.
    pub fn is_rate(self) -> bool {
        matches!(self, Point::Rate(_))
    }

    /// Formats the point, such as `28 threads` or `10,000 op/s`.
    pub fn words(self) -> String {
        match self {
            Point::Threads(1) => "1 thread".to_owned(),
            Point::Threads(threads) => format!("{} threads", count(threads.into())),
            Point::Rate(rate) => format!("{} op/s", count(rate)),
        }
    }

    /// Returns the point at the share `share` of this load. The value is rounded to a whole number
    /// and is at least 1.
    pub fn share(self, share: f64) -> Point {
        let value = (self.value() * share).round().max(1.0);
        match self {
            Point::Threads(_) => Point::Threads(value as u32),
            Point::Rate(_) => Point::Rate(value as u64),
        }
    }

    /// Returns the value on the axis.
    pub fn value(self) -> f64 {
        match self {
            Point::Threads(threads) => f64::from(threads),
            Point::Rate(rate) => rate as f64,
        }
    }
}

impl From<Point> for BTreeMap<String, f64> {
    fn from(point: Point) -> BTreeMap<String, f64> {
        BTreeMap::from([(point.axis().to_owned(), point.value())])
    }
}

impl TryFrom<BTreeMap<String, f64>> for Point {
    type Error = String;

    fn try_from(map: BTreeMap<String, f64>) -> Result<Point, String> {
        let mut axes = map.iter();
        match (axes.next(), axes.next()) {
            (Some((axis, value)), None) => Point::on_axis(axis, *value),
            _ => None,
        }
        .ok_or_else(|| format!("{map:?} is not a point of an axis"))
    }
}
