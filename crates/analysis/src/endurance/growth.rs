//! What grows: memory, files and threads that are taken and never given back.
//!
//! The least of each block is looked at, since what is taken and given back stands highest before
//! it is given back; and the last two thirds of the window, since what is filled once fills at its
//! begin. A line that is drawn further than thirty times its length is no forecast.

use crate::trend::{VALUES_TO_TELL, line};

/// How far ahead is looked at the most: thirty days, s.
pub const HORIZON_S: f64 = 30.0 * 86_400.0;
/// And how many times the window's length: a day tells of thirty.
const HORIZON_WINDOWS: f64 = 30.0;
/// Blocks of the window.
const BLOCKS: f64 = 64.0;
/// The share of the window that is looked at, up to its end.
const LOOKED_AT: f64 = 2.0 / 3.0;

/// How something grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// By how much in a second: Theil and Sen's slope of the least of each block.
    pub per_s: f64,
    /// Its 95 % interval; none where it cannot be had.
    pub per_s_ci95: Option<[f64; 2]>,
    /// The least of the last block.
    pub last: f64,
    /// After how many seconds it would reach its limit, if it went on like that; none where it does
    /// not grow, or has no limit that is known.
    pub reaches_s: Option<f64>,
    /// How far ahead a window of this length tells, s.
    pub horizon_s: f64,
    /// What it is.
    pub growing: Growing,
}

measure::word_enum! {
    /// What a growth is.
    #[derive(Default)]
    pub enum Growing {
        /// It does not grow for certain.
        No = "no",
        /// It grows for certain; it reaches no limit that is known within the horizon.
        Grows = "grows",
        /// It grows for certain, and so reaches its limit within the horizon.
        Leaks = "leaks",
        /// There are too few blocks.
        #[default]
        Untold = "untold",
    }
}

/// How a series grows, of which `lowest` are the least values of short stretches, each with its
/// time in s, in a window of `seconds`.
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
            _ if blocks.len() < VALUES_TO_TELL || line.ci95.is_none() => Growing::Untold,
            (false, _) => Growing::No,
            (true, Some(s)) if s <= horizon_s => Growing::Leaks,
            (true, _) => Growing::Grows,
        },
    }
}

/// The least of each block of the part that is looked at, at the time at which it was seen.
fn blocks(lowest: &[(f64, f64)], seconds: f64) -> Vec<(f64, f64)> {
    let from_s = seconds * (1.0 - LOOKED_AT);
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
