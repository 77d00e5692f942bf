//! Regular expressions for the numbers of this module, for the schemas that editors use.
//!
//! The expressions describe the form of a number, but not its limits. They match every text that a
//! `parse_…` function accepts.

use super::{BIT_RATE_UNITS, BYTE_UNITS, DURATION_UNITS};

/// Pattern of a whole number, such as `250`, `10k` or `1.5M`.
pub(crate) const COUNT: &str = r"^\s*[0-9][0-9._]*\s*[GMkK]?\s*$";
/// Pattern of a number that may have a fraction, such as `0.5`, `12`, `10k` or `1e3`.
pub(crate) const NUMBER: &str =
    r"^\s*([0-9][0-9._]*\s*[GMkK]?|\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)\s*$";
/// Pattern of a share, such as `5%` or `0.05`.
pub(crate) const SHARE: &str =
    r"^\s*([0-9][0-9._]*\s*[GMkK]?|\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)\s*%?\s*$";

pub(crate) fn duration() -> String {
    format!(r"^\s*([0-9][0-9._]*\s*({})\s*)+$", units(DURATION_UNITS))
}

pub(crate) fn bytes() -> String {
    format!(r"^\s*[0-9][0-9._]*\s*({})\s*$", units(BYTE_UNITS))
}

pub(crate) fn bit_rate() -> String {
    format!(r"^\s*[0-9][0-9._]*\s*({})(/s)?\s*$", units(BIT_RATE_UNITS))
}

fn units(units: &[(&str, u64)]) -> String {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    names.join("|")
}
