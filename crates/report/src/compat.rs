//! Prints the same text as other load generators, for scripts that parse this text.
//!
//! Invariants: all functions are pure functions of plain numbers. For the same numbers, they print
//! the same bytes as the tool, including its peculiarities.

mod java;
mod rank;
pub mod stress;
pub mod stress_means;
pub mod ycsb;
