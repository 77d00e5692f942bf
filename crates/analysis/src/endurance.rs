//! What hours under one load show: drift, changes, cycles, what grows, and whether a long run did
//! what short ones did.
//!
//! All of it is of *blocks* of a window: seconds follow each other, and a test that takes them as
//! independent calls every swing a trend. The sources stand beside each part. What must hold:
//! throughput and latency are judged apart, since the one is often steady while the other is not;
//! and nothing here says why.

mod agreement;
mod changes;
mod cycles;
mod drift;
mod growth;
#[cfg(test)]
mod tests;

pub use agreement::{Agreed, Agreement, Load, agreement};
pub use changes::{CHANGES_MAX, Change, changes};
pub use cycles::{CYCLES_MIN, Cycles, cycles};
pub use drift::{Course, Drift, LATENCY_WITHIN, drift};
pub use growth::{Growing, Growth, HORIZON_S, growth};

use crate::series;

/// The least blocks that tell a course, and the most that a series is joined to.
pub const BLOCKS: [usize; 2] = [20, 64];

/// A series in blocks of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The mean of each block.
    pub means: Vec<f64>,
    /// How many values of the series each block has.
    pub size: usize,
}

/// Joins a series to at most 64 blocks, of at least `size_min` values each as long as that leaves
/// [`BLOCKS`]`[0]`. What is left at its end, and too short for a block, is left out.
pub fn joined(values: &[f64], size_min: usize) -> Joined {
    let [least, most] = BLOCKS;
    let wanted = if size_min > 0 && values.len() / size_min >= least {
        size_min
    } else {
        1
    };
    let size = values.len().div_ceil(most).max(wanted).max(1);
    Joined {
        means: values.chunks_exact(size).map(series::mean).collect(),
        size,
    }
}
