//! Sentences of the rules, each built from the rule's numbers. No other module of the rules formats
//! a number.
//!
//! A function describes one observation. It receives typed numbers, and returns the sentence
//! together with the same numbers as measurements.

pub(super) mod client;
pub(super) mod data;
pub(super) mod fleet;
pub(super) mod machine;
pub(super) mod target;
