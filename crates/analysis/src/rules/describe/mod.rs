//! Sentences of the rules, each made from its numbers. No other module of the rules formats one.
//!
//! A function describes one observation: it gets typed numbers, and returns the sentence together
//! with the same numbers as measurements.

pub(super) mod client;
pub(super) mod data;
pub(super) mod fleet;
pub(super) mod machine;
pub(super) mod target;
