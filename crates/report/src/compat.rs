//! Formats results like other load generators, for scripts that parse the output of these tools.
//!
//! Invariants: the output depends only on the numbers that the caller passes. For the same numbers,
//! the output has the same bytes as that of the tool, including its peculiarities. The modules
//! state the deliberate exceptions.

mod java;
mod rank;
pub mod stress;
pub mod stress_means;
pub mod ycsb;
