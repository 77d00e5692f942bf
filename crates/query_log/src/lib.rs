//! The only crate that reads Cassandra's full query logs and audit logs, and decides which of their
//! records can be replayed.
//!
//! A full query log (`nodetool enablefullquerylog`) and a binary audit log are files of a Chronicle
//! queue. [`chronicle_file`] splits them into records, and [`log_record`] parses the records. A
//! text audit log consists of lines of a logging framework. Invariants:
//! - Bytes from a file never cause a panic. The reader never reserves more memory than the number
//!   of bytes justifies.
//! - The statements, the values and their order are the same as in the log, without additions. The
//!   crate omits records that cannot be replayed, and counts them by reason.

mod audit_line;
mod audit_text;
pub mod chronicle_file;
mod chronicle_values;
pub mod files;
pub mod log_record;
mod options;
mod recording;
mod recording_builder;
mod recording_program;
mod statement;
mod transfer;

pub use chronicle_values::MalformedDocument;
pub use files::{ReadError, left_out, read};
pub use log_record::Why;
pub use recording::{Choice, KindCount, LogRead, MEMORY_BYTES, Only, Recording, STATEMENTS_MAX};
pub use recording_builder::{Builder, Nothing};
pub use recording_program::program;
pub use transfer::UnpackError;

#[cfg(test)]
mod tests;
