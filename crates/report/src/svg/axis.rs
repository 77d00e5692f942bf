//! Converts values on an axis to positions in pixels, and selects ticks.

use crate::page::{AxisScale, PlotAxis};
use measure::number::short;

/// Free space beyond the smallest and the largest value of a linear axis, as a share of their
/// range. An axis that begins at zero has no free space below zero.
const HEADROOM: f64 = 0.08;
/// Minimum ratio of the ends of a logarithmic axis.
const FACTOR_MIN: f64 = 4.0;

#[derive(Clone, Debug)]
pub(super) struct Axis {
    ends: [f64; 2],
    scale: AxisScale,
    pixels: [f64; 2],
    ticks: Vec<f64>,
}

impl Axis {
    /// Returns an axis that fits all `values`. `pixels` are the positions of its ends in the
    /// drawing.
    pub(super) fn new(spec: &PlotAxis, values: &[f64], pixels: [f64; 2]) -> Axis {
        let is_log = spec.scale.is_log();
        let is_shown = |value: &f64| value.is_finite() && (!is_log || *value > 0.0);
        let shown = || values.iter().copied().filter(is_shown);
        let least = shown().reduce(f64::min).unwrap_or(if is_log { 1.0 } else { 0.0 });
        let most = shown().reduce(f64::max).unwrap_or(1.0);
        let ends = if is_log {
            log_ends(least, most)
        } else {
            even_ends(least, most, spec.scale == AxisScale::FromZero)
        };
        let mut axis = Axis {
            ends,
            scale: spec.scale,
            pixels,
            ticks: Vec::new(),
        };
        let wanted = if spec.ticks.is_empty() {
            axis.round_ticks()
        } else {
            spec.ticks.clone()
        };
        axis.ticks = wanted.into_iter().filter(|tick| axis.holds(*tick)).collect();
        axis
    }

    pub(super) fn holds(&self, value: f64) -> bool {
        let slack = (self.ends[1] - self.ends[0]).abs() * 1e-9;
        value >= self.ends[0] - slack && value <= self.ends[1] + slack
    }

    /// Describes the start of the axis and its scale. Returns `None` for a percentile axis, and for
    /// a linear axis that begins at or below zero.
    pub(super) fn note(&self) -> Option<String> {
        let [low, _] = self.ends;
        match self.scale {
            AxisScale::Percentile => None,
            AxisScale::Logarithmic => Some(format!("logarithmic, from {}", short(low, 2))),
            AxisScale::Linear | AxisScale::FromZero => {
                (low > 0.0).then(|| format!("from {}", short(low, 2)))
            }
        }
    }

    /// Returns the position of a value in the drawing, in pixels. A value beyond an end of the axis
    /// has the position of this end.
    pub(super) fn position_of(&self, value: f64) -> f64 {
        let scaled = |value: f64| {
            if self.scale.is_log() {
                value.max(f64::MIN_POSITIVE).ln()
            } else {
                value
            }
        };
        let [low, high] = self.ends.map(scaled);
        let share = ((scaled(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    /// Returns the ticks with their names. Omits ticks that are less than `room_px` from the
    /// previous tick.
    pub(super) fn ticks(&self, room_px: f64) -> Vec<(f64, String)> {
        let mut kept: Vec<(f64, String)> = Vec::new();
        for tick in &self.ticks {
            let is_free = |(last, _): &(f64, String)| {
                (self.position_of(*tick) - self.position_of(*last)).abs() >= room_px
            };
            if kept.last().is_none_or(is_free) {
                let name = if self.scale == AxisScale::Percentile {
                    percentile_name(*tick)
                } else {
                    tick_name(*tick)
                };
                kept.push((*tick, name));
            }
        }
        kept
    }

    fn round_ticks(&self) -> Vec<f64> {
        let [low, high] = self.ends;
        if !self.scale.is_log() {
            let step = round_step((high - low) / 4.0);
            let first = (low / step).ceil() as i64;
            let last = (high / step).floor() as i64;
            return (first..=last).map(|count| count as f64 * step).collect();
        }
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let steps: &[f64] = if high / low > 1000.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        decades
            .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
            .filter(|tick| *tick >= low && *tick <= high)
            .collect()
    }
}

fn even_ends(least: f64, most: f64, from_zero: bool) -> [f64; 2] {
    let low = if from_zero { least.min(0.0) } else { least };
    let high = if from_zero { most.max(0.0) } else { most };
    let span = high - low;
    if span <= 0.0 {
        let around = if high == 0.0 { 1.0 } else { high.abs() * 0.1 };
        return [low - around, high + around];
    }
    let below = if low < 0.0 || !from_zero {
        span * HEADROOM
    } else {
        0.0
    };
    let above = if high > 0.0 || !from_zero {
        span * HEADROOM
    } else {
        0.0
    };
    [low - below, high + above]
}

fn log_ends(least: f64, most: f64) -> [f64; 2] {
    let (mut low, mut high) = (least / 1.15, most * 1.15);
    let lacking = FACTOR_MIN / (high / low);
    if lacking > 1.0 {
        low /= lacking.sqrt();
        high *= lacking.sqrt();
    }
    [low, high]
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * decade >= step * 0.999);
    round.unwrap_or(10.0) * decade
}

/// Formats a tick in few characters, such as `20k`, `1.5M` or `0.5`.
fn tick_name(value: f64) -> String {
    let size = value.abs();
    let (scale, unit) = match size {
        _ if size >= 1e9 => (1e9, "G"),
        _ if size >= 1e6 => (1e6, "M"),
        _ if size >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    format!("{}{unit}", short(value / scale, 4))
}

/// Names the percentile that one of `operations` operations exceeds, such as `p99.9` for 1,000.
fn percentile_name(operations: f64) -> String {
    let percent = 100.0 * (1.0 - 1.0 / operations);
    format!("p{}", (percent * 1e9).round() / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::CurvePlot;

    fn axis(spec: &PlotAxis, values: &[f64]) -> Axis {
        Axis::new(spec, values, [0.0, 100.0])
    }

    fn names(axis: &Axis) -> Vec<String> {
        axis.ticks(1.0).into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_percentile_axis_names_percentiles() {
        let plot = CurvePlot::for_percentiles(Vec::new());
        let drawn = axis(&plot.x, &[1.0, 100_000.0]);
        assert_eq!(
            names(&drawn),
            ["p50", "p90", "p99", "p99.9", "p99.99", "p99.999"]
        );
        assert_eq!(drawn.note(), None);
    }

    #[test]
    fn an_even_axis_has_round_ticks_and_holds_all_values() {
        let spec = PlotAxis {
            scale: AxisScale::FromZero,
            ..PlotAxis::default()
        };
        let even = axis(&spec, &[12_000.0, 48_000.0]);
        assert_eq!(names(&even), ["0", "20k", "40k"]);
        assert_eq!(even.position_of(0.0), 0.0);
        assert!(even.position_of(48_000.0) < 100.0);
    }

    #[test]
    fn an_axis_that_does_not_begin_at_zero_says_so() {
        let [zero, log] = [AxisScale::FromZero, AxisScale::Logarithmic].map(|scale| PlotAxis {
            scale,
            ..PlotAxis::default()
        });
        let values = [57.0, 90.0];
        assert_eq!(axis(&zero, &values).note(), None);
        assert_eq!(
            axis(&PlotAxis::default(), &values).note().as_deref(),
            Some("from 54")
        );
        assert_eq!(
            axis(&log, &values).note().as_deref(),
            Some("logarithmic, from 36")
        );
    }

    #[test]
    fn a_logarithmic_axis_spans_a_factor_and_skips_zero() {
        let spec = PlotAxis {
            scale: AxisScale::Logarithmic,
            ..PlotAxis::default()
        };
        let log = axis(&spec, &[0.0, 2.0, 2.2, f64::NAN]);
        assert!(log.position_of(2.0) > 10.0 && log.position_of(2.2) < 90.0);
        assert_eq!(
            names(&axis(&spec, &[0.5, 900.0])),
            ["1", "10", "100", "1,000"]
        );
        assert_eq!(log.position_of(0.0), 0.0, "it is at the end");
    }

    #[test]
    fn one_value_and_none_make_an_axis_too() {
        for values in [&[][..], &[5.0], &[0.0]] {
            for scale in [AxisScale::Linear, AxisScale::Logarithmic] {
                let spec = PlotAxis {
                    scale,
                    ..PlotAxis::default()
                };
                assert!(axis(&spec, values).position_of(5.0).is_finite());
            }
        }
    }

    #[test]
    fn ticks_without_room_are_left_out() {
        let spec = PlotAxis {
            ticks: vec![1.0, 2.0, 3.0, 4.0],
            ..PlotAxis::default()
        };
        let crowded = axis(&spec, &[1.0, 4.0]);
        assert_eq!(crowded.ticks(40.0).len(), 2);
    }
}
