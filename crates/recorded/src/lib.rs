//! The only crate that knows what Cassandra's query logs look like: full query logs and audit logs,
//! and what of them can be offered again.
//!
//! A full query log (`nodetool enablefullquerylog`) and a binary audit log are files of a Chronicle
//! queue, which [`queue`] cuts into records, and [`entry`] reads. A text audit log is lines of a
//! logging framework. What must hold:
//! - bytes from a file never panic, and reserve no memory that they do not themselves justify;
//! - statements, values and their order are those of the log: nothing is invented. What cannot be
//!   offered is left out, and counted by why.

mod audit;
mod builder;
pub mod entry;
pub mod files;
mod options;
mod pack;
pub mod queue;
mod recording;
mod source;
mod statement;
mod wire;

pub use builder::{Builder, Nothing};
pub use entry::Why;
pub use files::{ReadError, left_out, read};
pub use pack::UnpackError;
pub use recording::{Choice, KindCount, LogRead, MEMORY_BYTES, Only, Recording, STATEMENTS_MAX};
pub use source::program;
pub use wire::Malformed;

#[cfg(test)]
mod tests;
