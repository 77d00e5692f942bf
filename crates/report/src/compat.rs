//! Prints the text of other load generators, for scripts that parse it.
//!
//! Invariants: pure functions of plain numbers. They print the same bytes as the tool for the same
//! numbers, its quirks included.

mod java;
mod rank;
pub mod stress;
pub mod stress_means;
pub mod ycsb;
