//! Finds the times at which a series leaves its level after a fault and at which it returns to the
//! level.

use super::{DEVIATIONS, Dip, FIRST, HOLD_S, LEVEL_MARGIN, LoadSchedule, Slice, kept};
use crate::autocorrelation;
use serde::{Deserialize, Serialize};

/// Level of a series before a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BaselineLevel {
    /// Median of the intervals that form the level.
    pub middle: f64,
    /// Share by which one interval may be worse than the median and still count as normal.
    pub within: f64,
    /// Robust standard deviation of an interval. If lower values are worse, it is a share of the
    /// median. If higher values are worse, it is a deviation of the natural logarithm. Latencies
    /// scatter by factors, so their distances above the median are larger than their distances
    /// below the median.
    pub deviation: f64,
    /// Direction in which values are worse.
    pub worse: Worse,
    /// Number of intervals that form the level.
    pub count: usize,
    /// Number of intervals before the fault that are outside of the level.
    pub outside: usize,
    /// Number of intervals before the fault that are far outside of the level, which means beyond
    /// twice the distance.
    pub far_outside: usize,
}

/// Direction in which values become worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// Lower values are worse.
    Below,
    /// Higher values are worse.
    Above,
}

/// Times at which a series left its level and returned to it, counted from a given time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReturnTime {
    /// Time until the series left its level, in seconds. `None` if the series did not leave its
    /// level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_s: Option<f64>,
    /// Time until the series became normal and stayed normal for [`HOLD_S`], in seconds. `None` if
    /// the series did not become normal during the observation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_s: Option<f64>,
    /// Length of the observation, in seconds.
    pub watched_s: f64,
}

/// Standard error of the median of normal values, in standard deviations ÷ √n, where n is the
/// number of values.
const MEDIAN_ERROR: f64 = 1.2533;

/// Standard error of the robust deviation of normal values, in standard deviations ÷ √n, where n is
/// the number of values. It equals 1 ÷ √(2 × 0.3674), from the asymptotic efficiency of the
/// deviation. The deviation of few values is uncertain, so one standard error is added to it.
const DEVIATION_ERROR: f64 = 1.1665;

impl BaselineLevel {
    /// Returns the level of the values before a fault. Returns `None` if the median is 0.
    pub(super) fn from_values(values: &[f64], worse: Worse) -> Option<BaselineLevel> {
        let (middle, spread) = autocorrelation::median_and_deviation(values);
        if middle <= 0.0 {
            return None;
        }
        let deviation = match worse {
            Worse::Below => spread / middle,
            Worse::Above => {
                let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
                autocorrelation::median_and_deviation(&logarithms).1
            }
        } * (1.0 + DEVIATION_ERROR / (values.len() as f64).sqrt());
        let within = LEVEL_MARGIN.max(worse.share(DEVIATIONS * deviation));
        let beyond = |share: f64| {
            let edge = edge_at(middle, share, worse);
            values.iter().filter(|value| worse.is_beyond(**value, edge)).count()
        };
        Some(BaselineLevel {
            middle,
            within,
            deviation,
            worse,
            count: values.len(),
            outside: beyond(within),
            far_outside: beyond(worse.twice(within)),
        })
    }

    /// Returns how many of `count` normal intervals may be outside of the level. If none of a few
    /// intervals before the fault is outside, some later intervals may still be outside. So half an
    /// interval is added as a prior.
    fn outside_max(&self, count: usize) -> usize {
        self.expected_max(self.outside as f64 + 0.5, count)
    }

    fn far_outside_max(&self, count: usize) -> usize {
        self.expected_max(self.far_outside as f64, count)
    }

    /// Returns how many of `count` intervals may have a property that `before` intervals of the
    /// level have. The result corresponds to the same share, plus two standard deviations of the
    /// difference between the two numbers.
    fn expected_max(&self, before: f64, count: usize) -> usize {
        let ratio = count as f64 / self.count as f64;
        let expected = ratio * before;
        (expected + 2.0 * (expected * (1.0 + ratio)).sqrt()) as usize
    }

    /// Returns the value beyond which an interval is outside of the level.
    pub fn edge(&self) -> f64 {
        edge_at(self.middle, self.within, self.worse)
    }

    /// Returns the share of the level within which the median of `count` intervals counts as
    /// normal. The share takes into account that the level itself is a median with a standard
    /// error.
    pub fn near(&self, count: usize) -> f64 {
        let both = 1.0 / count.max(1) as f64 + 1.0 / self.count as f64;
        let error = MEDIAN_ERROR * self.deviation * both.sqrt();
        LEVEL_MARGIN.max(self.worse.share(2.0 * error))
    }
}

impl Worse {
    /// Converts a distance from the median to a share of the median. The unit of the distance is
    /// that of [`BaselineLevel::deviation`].
    fn share(self, distance: f64) -> f64 {
        match self {
            Worse::Below => distance,
            Worse::Above => distance.exp_m1(),
        }
    }

    /// Returns the share that is twice as far from the median as `share`.
    fn twice(self, share: f64) -> f64 {
        match self {
            Worse::Below => 2.0 * share,
            Worse::Above => (1.0 + share).powi(2) - 1.0,
        }
    }

    fn is_beyond(self, value: f64, edge: f64) -> bool {
        match self {
            Worse::Below => value < edge,
            Worse::Above => value > edge,
        }
    }
}

fn edge_at(middle: f64, share: f64, worse: Worse) -> f64 {
    match worse {
        Worse::Below => middle * (1.0 - share),
        Worse::Above => middle * (1.0 + share),
    }
}

pub(super) struct IntervalSeries {
    points: Vec<Point>,
    level: BaselineLevel,
}

#[derive(Clone, Copy)]
struct Point {
    from_s: f64,
    to_s: f64,
    value: f64,
}

impl IntervalSeries {
    /// Returns the series of `value` over the intervals that are long enough for a rate.
    pub fn new(
        slices: &[Slice],
        value: impl Fn(&Slice) -> Option<f64>,
        level: BaselineLevel,
    ) -> IntervalSeries {
        let whole = slices.iter().filter(|slice| slice.is_whole());
        let point = |slice: &Slice| {
            Some(Point {
                from_s: slice.from_s,
                to_s: slice.to_s,
                value: value(slice)?,
            })
        };
        IntervalSeries {
            points: whole.filter_map(point).collect(),
            level,
        }
    }

    /// Returns the intervals that end after `from_s` and at or before `to_s`.
    fn between(&self, from_s: f64, to_s: f64) -> &[Point] {
        let begin = self.points.partition_point(|point| point.to_s <= from_s);
        let end = self.points.partition_point(|point| point.to_s <= to_s);
        &self.points[begin..end.max(begin)]
    }

    fn is_beyond(&self, value: f64, share: f64) -> bool {
        let BaselineLevel { middle, worse, .. } = self.level;
        worse.is_beyond(value, edge_at(middle, share, worse))
    }

    fn is_outside(&self, point: &Point) -> bool {
        self.is_beyond(point.value, self.level.within)
    }

    /// Returns the times at which the series left its level and returned to it, counted from
    /// `from_s`. A departure must begin before `leaves_by_s`, and the observation ends at
    /// `until_s`. An interval outside of the level is not a departure if the period that begins
    /// with it is normal.
    pub fn back(&self, from_s: f64, leaves_by_s: f64, until_s: f64) -> ReturnTime {
        let points = self.between(from_s, until_s);
        let since = |at_s: f64| kept((at_s - from_s).max(0.0));
        let leaves = |at: &usize| {
            let rest = &points[*at..];
            let stays = || self.is_normal(stretch(rest).unwrap_or(rest));
            self.is_outside(&points[*at]) && !stays()
        };
        let in_time = points.partition_point(|point| point.from_s < leaves_by_s);
        let left = (0..in_time).find(leaves);
        let stretches = (left.unwrap_or(0)..points.len()).map_while(|at| stretch(&points[at..]));
        let mut normal = stretches.filter(|stretch| {
            (left.is_none() || !self.is_outside(&stretch[0])) && self.is_normal(stretch)
        });
        ReturnTime {
            left_s: left.map(|left| since(points[left].from_s)),
            back_s: normal.next().map(|stretch| since(stretch[0].from_s)),
            watched_s: since(until_s),
        }
    }

    /// Returns true if the period `stretch` is like the intervals before the fault. In such a
    /// period, not more intervals are outside or far outside of the level than before the fault.
    /// The median of all intervals and the median of the first intervals are normal.
    fn is_normal(&self, stretch: &[Point]) -> bool {
        let far_share = self.level.worse.twice(self.level.within);
        let beyond = |share| stretch.iter().filter(|p| self.is_beyond(p.value, share)).count();
        beyond(self.level.within) <= self.level.outside_max(stretch.len())
            && beyond(far_share) <= self.level.far_outside_max(stretch.len())
            && self.is_near(stretch)
            && self.is_near(&stretch[..FIRST.min(stretch.len())])
    }

    fn is_near(&self, points: &[Point]) -> bool {
        let values: Vec<f64> = points.iter().map(|point| point.value).collect();
        !self.is_beyond(
            autocorrelation::median(&values),
            self.level.near(values.len()),
        )
    }

    /// Returns the dip between two times, which may be in the same interval. Returns `None` if no
    /// interval ends after the first time.
    pub fn dip(&self, [from_s, to_s]: [f64; 2], offered: LoadSchedule) -> Option<Dip> {
        let points = match self.between(from_s, to_s) {
            [] => self.between(from_s, f64::INFINITY).get(..1)?,
            points => points,
        };
        let lowest = points.iter().min_by(|a, b| a.value.total_cmp(&b.value))?;
        let middle = self.level.middle;
        let lacks = |point: &Point| (middle - point.value) * (point.to_s - point.from_s);
        let outside = || points.iter().filter(|point| self.is_outside(point));
        // At a fixed rate, late operations are done later, so the excess of later intervals is
        // subtracted from the loss.
        let above = edge_at(middle, self.level.within, Worse::Above);
        // Throughput may be normal again while late operations are still done, so the intervals
        // with an excess right after these intervals count too.
        let end_s = points.last().map_or(to_s, |last| last.to_s);
        let later = self.between(end_s, f64::INFINITY);
        // In the first later interval, all nodes may have been up for only a part of the time. The
        // code skips this interval if it has no excess.
        let skipped = usize::from(later.first().is_some_and(|first| first.value <= above));
        let later = later.iter().skip(skipped).take_while(|point| point.value > above);
        let made_up = points.iter().filter(|point| point.value > above).chain(later);
        let made_up: f64 = match offered {
            LoadSchedule::Closed => 0.0,
            LoadSchedule::Rate => made_up.map(lacks).sum(),
        };
        Some(Dip {
            lowest_ops_per_s: kept(lowest.value),
            lowest_at_s: kept((lowest.from_s - from_s).max(0.0)),
            depth: if self.is_outside(lowest) {
                kept(1.0 - lowest.value / middle)
            } else {
                0.0
            },
            seconds: kept(outside().map(|point| point.to_s - point.from_s).sum()),
            lost_ops: kept((outside().map(lacks).sum::<f64>() + made_up).max(0.0)),
        })
    }
}

/// Returns the first intervals that together last [`HOLD_S`]. Returns `None` if all intervals
/// together are shorter.
fn stretch(points: &[Point]) -> Option<&[Point]> {
    let from_s = points.first()?.from_s;
    // Intervals may end slightly early or late, so half a second may be missing.
    let lasts = |point: &Point| point.to_s - from_s >= HOLD_S - 0.5;
    let last = points.iter().position(lasts)?;
    Some(&points[..=last])
}
