//! Prints the text of other load generators, for scripts that parse it.
//!
//! Invariants: these are pure functions of plain numbers. For the same numbers, they print the same
//! bytes as the tool, including its quirks.

mod java;
mod rank;
pub mod stress;
pub mod stress_means;
pub mod ycsb;
