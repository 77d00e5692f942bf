//! Sentences of the rules. Each sentence is built from the rule's numbers. The other modules of the
//! rules never format a number.
//!
//! A function describes one observation. It receives typed numbers, and returns the sentence
//! together with the same numbers as measurements.

pub(super) mod client;
pub(super) mod data;
pub(super) mod fleet;
pub(super) mod machine;
pub(super) mod target;
