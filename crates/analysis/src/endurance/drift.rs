//! Measures drift: the share by which a series rises or falls over its window.

use super::BLOCKS;
use crate::autocorrelation;
use crate::trend::{line, spaced};

/// Share up to which a drift of latency counts as stable. It equals the margin within which two
/// latencies count as equal.
pub const LATENCY_MARGIN: f64 = 0.10;

/// A drift over a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Change from the beginning to the end of the window by Theil and Sen's slope, as a share of
    /// the median block.
    pub change: f64,
    /// 95 % interval of the drift, by Sen's method. `None` with too few blocks.
    pub ci95: Option<[f64; 2]>,
    /// Mann and Kendall's z, corrected for the correlation between the blocks.
    pub z: f64,
    /// Number of blocks in the window.
    pub blocks: usize,
    /// Judgement of the drift.
    pub course: DriftDirection,
}

measure::word_enum! {
    /// Direction of a series over its window.
    #[derive(Default)]
    pub enum DriftDirection {
        /// Both the drift and its interval are within the margin.
        Steady = "steady",
        /// The series rose significantly, and the estimated rise exceeds the margin.
        Rising = "rising",
        /// The series fell significantly, and the estimated fall exceeds the margin.
        Falling = "falling",
        /// The interval is too wide, or there are too few blocks.
        #[default]
        Inconclusive = "inconclusive" | "untold",
    }
}

/// Returns the drift of blocks of equal length. A drift of up to `within`, as a share, is not
/// important.
pub fn drift(blocks: &[f64], within: f64) -> Drift {
    let line = line(&spaced(blocks));
    let middle = autocorrelation::median(blocks).abs();
    let share = |slope: f64| {
        if middle > 0.0 {
            slope * blocks.len() as f64 / middle
        } else {
            0.0
        }
    };
    let change = share(line.slope);
    let ci95 = line.ci95.map(|ends| ends.map(share));
    let is_told = blocks.len() >= BLOCKS[0] && middle > 0.0;
    let course = match ci95.filter(|_| is_told) {
        Some([low, high]) if -within <= low && high <= within => DriftDirection::Steady,
        Some([low, _]) if low > 0.0 && change > within => DriftDirection::Rising,
        Some([_, high]) if high < 0.0 && change < -within => DriftDirection::Falling,
        _ => DriftDirection::Inconclusive,
    };
    Drift {
        change,
        ci95,
        z: line.z,
        blocks: blocks.len(),
        course,
    }
}
