//! Analyses hours under one load: drift, changes of level, cycles, growth, and the agreement of a
//! long run with short ones.
//!
//! The analyses of drift, changes and growth use *blocks* of a window, because consecutive seconds
//! are correlated. A test that assumes independence would report every fluctuation as a trend.
//! Invariants: throughput and latency are judged separately, because one is often steady while the
//! other is not. The analyses do not name causes.

mod agreement;
mod changes;
mod cycles;
mod drift;
mod growth;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, Load, MarginResult, agreement};
pub use changes::{CHANGES_MAX, Change, changes};
pub use cycles::{CYCLES_MIN, Cycles, cycles};
pub use drift::{Drift, DriftDirection, LATENCY_MARGIN, drift};
pub use growth::{Growing, Growth, HORIZON_S, growth};

use crate::autocorrelation;

/// Minimum number of blocks for a trend, followed by the maximum number of blocks of a series.
pub const BLOCKS: [usize; 2] = [20, 64];

/// A series in blocks of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockedSeries {
    pub means: Vec<f64>,
    /// Number of values of the series in each block.
    pub size: usize,
}

/// Joins the values of a series into at most 64 blocks. Each block has at least `size_min` values,
/// if this results in at least [`BLOCKS`]`[0]` blocks. A remainder too short for a block is
/// omitted.
pub fn joined(values: &[f64], size_min: usize) -> BlockedSeries {
    let [least, most] = BLOCKS;
    let wanted = if size_min > 0 && values.len() / size_min >= least {
        size_min
    } else {
        1
    };
    let size = values.len().div_ceil(most).max(wanted).max(1);
    BlockedSeries {
        means: values.chunks_exact(size).map(autocorrelation::mean).collect(),
        size,
    }
}
