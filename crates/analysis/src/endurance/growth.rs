//! Detects growth of memory, files and threads that a process uses and never releases.
//!
//! Only the minimum of each block counts, because use is highest immediately before a release. Only
//! the last two thirds of the window count, because buffers that fill once do so at the start of
//! the window. A forecast covers at most thirty times the length of the window.

use crate::trend::{VALUES_TO_TELL, line};

/// Maximum horizon of a forecast, in seconds: thirty days.
pub const HORIZON_S: f64 = 30.0 * 86_400.0;
/// Maximum horizon of a forecast, in lengths of the window. For example, a window of one day allows
/// a forecast of thirty days.
const HORIZON_WINDOWS: f64 = 30.0;
const BLOCKS: f64 = 64.0;
/// Share of the window that counts. The rest of the window, at its start, is ignored.
const WINDOW_SHARE: f64 = 2.0 / 3.0;

/// Growth of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Growth per second: Theil and Sen's slope of the minima of the blocks.
    pub per_s: f64,
    /// 95 % interval of the growth per second. `None` with too few blocks.
    pub per_s_ci95: Option<[f64; 2]>,
    /// Minimum of the series in the last block.
    pub last: f64,
    /// Time until the series reaches its limit, if the growth continues, in seconds. `None` if the
    /// growth is not certain, or if the limit of the series is unknown.
    pub reaches_s: Option<f64>,
    /// Maximum time that a forecast from the window may cover, in seconds.
    pub horizon_s: f64,
    /// Judgement of the growth.
    pub growing: Growing,
}

measure::word_enum! {
    /// Judgement of a growth.
    #[derive(Default)]
    pub enum Growing {
        /// The growth is not significant.
        No = "no",
        /// The series grows significantly, but does not reach a known limit within the horizon.
        Grows = "grows",
        /// The series grows significantly, and reaches its limit within the horizon.
        Leaks = "leaks",
        /// The window has too few blocks for a judgement.
        #[default]
        Inconclusive = "inconclusive" | "untold",
    }
}

/// Returns the growth of a series in a window with a length of `seconds`. `lowest` contains the
/// minima of short intervals, each with its time in seconds.
pub fn growth(lowest: &[(f64, f64)], seconds: f64, limit: Option<f64>) -> Growth {
    let blocks = blocks(lowest, seconds);
    let line = line(&blocks);
    let last = blocks.last().map_or(0.0, |(_, value)| *value);
    let horizon_s = (seconds * HORIZON_WINDOWS).min(HORIZON_S);
    let grows = line.ci95.is_some_and(|[low, _]| low > 0.0);
    let reaches_s = limit
        .filter(|_| grows && line.slope > 0.0)
        .map(|limit| ((limit - last) / line.slope).max(0.0));
    Growth {
        per_s: line.slope,
        per_s_ci95: line.ci95,
        last,
        reaches_s,
        horizon_s,
        growing: match (grows, reaches_s) {
            _ if blocks.len() < VALUES_TO_TELL || line.ci95.is_none() => Growing::Inconclusive,
            (false, _) => Growing::No,
            (true, Some(s)) if s <= horizon_s => Growing::Leaks,
            (true, _) => Growing::Grows,
        },
    }
}

/// Returns the minimum of each block that counts, with the time at which that minimum was measured,
/// in seconds.
fn blocks(lowest: &[(f64, f64)], seconds: f64) -> Vec<(f64, f64)> {
    let from_s = seconds * (1.0 - WINDOW_SHARE);
    let width_s = seconds / BLOCKS;
    let mut blocks: Vec<(u64, (f64, f64))> = Vec::new();
    for (at_s, value) in lowest.iter().filter(|(at_s, _)| *at_s >= from_s) {
        let number = (at_s / width_s.max(f64::MIN_POSITIVE)) as u64;
        match blocks.last_mut() {
            Some((last, least)) if *last == number => {
                if *value < least.1 {
                    *least = (*at_s, *value);
                }
            }
            _ => blocks.push((number, (*at_s, *value))),
        }
    }
    blocks.into_iter().map(|(_, least)| least).collect()
}
