//! The text that other load generators print, for scripts that parse it.
//!
//! What must hold: pure functions from plain numbers; the same bytes as the tool prints for the
//! same numbers, its oddities included.

mod java;
mod rank;
pub mod stress;
pub mod stress_means;
pub mod ycsb;
