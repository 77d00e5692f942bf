//! The only crate that sends operations on time: schedule, worker (hot path), in-flight table,
//! connections, health of the client.
//!
//! The crate does not depend on the target being Cassandra, on the program that started it, or on
//! active faults. Its inputs are nodes, a program and a schedule. [`Load`] is the main entry point.
//! The control plane (`connect`, `run`) may block and allocate. The data plane (`worker` and its
//! callees) must be fast. It does not block, and allocates memory only in the cases that `worker`
//! lists. The control plane and the data plane are in different files.

mod answer;
mod config;
mod connect;
mod connection;
mod connection_limits;
mod control;
mod earlier_writes;
pub mod failures;
mod inflight;
mod ledger;
mod merge;
mod missed_rows;
mod node_moved;
mod read_check;
mod record_pieces;
mod recorder;
mod register_history;
mod router;
mod run;
mod schedule;
mod segment_stream;
#[cfg(test)]
mod sim;
mod slowest_operations;
mod socket;
mod statement_facts;
mod thread_setup;
mod timer_delays;
mod worker;
mod worker_builder;
mod worker_io;
mod workers;

pub use config::{
    Access, Config, Endpoint, FirstError, Flow, Limit, LoadError, OtherWorkers, RELEASE_QUANTUM,
    Summary, Tls, VerifyReads, Window,
};
// Callers need `Compression` and `Version` to fill in [`Access`]. The re-export spares them a
// dependency on the protocol crate.
pub use connection_limits::{Connections, Room, stream_ids_refusal};
pub use cql::{Compression, Version};
pub use earlier_writes::{EarlierWrites, Lost, MissedRow, Outcomes, RegisterOperation};
pub use ledger::{LEDGER_OPERATIONS_MAX, Ledger, LedgerMode, TIMED_OPERATIONS_MAX, WriteState};
pub use measure::WriteMismatch;
pub use missed_rows::MISSED_ROWS_MAX;
pub use record_pieces::{ClientRecords, ClockConversion, KeptRecords, RecordKind, RecordPiece};
pub use register_history::{HISTORY_OPERATIONS_MAX, History, RegisterResult};
pub use run::{ArmedLoad, Load, Next, Steering, run};
pub use schedule::Schedule;
pub use slowest_operations::{SLOWEST_MAX, SlowOperation, keep_slowest};
