//! The only crate that answers CQL at once without storing rows: the null target.
//!
//! The purpose of the null target is to measure the client. The whole cost of a run against this
//! target is the cost of the client. The target supports protocol version 4. It listens on loopback
//! unless the caller names another address. It stores the keyspaces and tables that clients create
//! (so that drivers find their metadata), and prepares any statement. It acknowledges every write
//! and batch, reports every condition as applied, and answers every read with a fixed result. It
//! can add a known latency, limit its capacity, stall periodically, and refuse an exact share of
//! the operations. So the measurement itself can be tested against known values.
//!
//! Invariants: an EXECUTE without latency does not cause an allocation or a separate system call
//! (one `recv` and one `send` serve a batch of requests). Bytes that are not CQL close only the
//! connection that sent them. Dropping the [`NullServer`] ends its threads and connections.
//!
//! The null target differs from Cassandra. It accepts statements without checking them, does not
//! coordinate requests, does not return written data, and does not push events.

mod answer_request;
mod answer_time;
mod arrivals;
mod catalog;
mod compile;
mod connection;
mod definition;
mod delayed_answers;
mod errors;
mod event_loop;
mod markers;
mod operations;
mod pages;
mod prepared;
mod refused_operations;
mod server;
mod statement;
mod system;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

pub use arrivals::{Arrival, lags_ns};
pub use server::NullServer;
pub use system::CLUSTER_NAME;

pub use cql::response::ErrorCode;

use cql::frame::opcode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use target_spec::{Drift, Latency, NullSpec, Reads};

/// Checks the values of a spec. The error contains the value, the limit and a hint.
fn check(spec: &NullSpec) -> Result<(), String> {
    refused_operations::Refusals::new(&spec.errors)?;
    if let Some(stall) = spec.stall
        && (stall.length.is_zero() || stall.length >= stall.every)
    {
        return Err(format!(
            "a stall of {:?} every {:?} is not possible; the length must be above zero and \
             below the period",
            stall.length, stall.every
        ));
    }
    if spec.capacity_per_s == Some(0) {
        return Err(
            "a capacity of 0 allows no answers; set at least one operation per second".to_owned(),
        );
    }
    if let Some(drift) = spec.drift {
        check_drift(spec, drift)?;
    }
    if let Latency::Uniform { from_ns, to_ns } = spec.latency
        && from_ns > to_ns
    {
        return Err(format!(
            "uniform latency from {from_ns} ns to {to_ns} ns is not a range; swap the two"
        ));
    }
    if let Reads::Row { cell_bytes } | Reads::Rows { cell_bytes, .. } = spec.reads
        && cell_bytes > CELL_BYTES_MAX
    {
        return Err(format!(
            "cells of {cell_bytes} bytes are too large; the limit is {CELL_BYTES_MAX}"
        ));
    }
    Ok(())
}

fn check_drift(spec: &NullSpec, drift: Drift) -> Result<(), String> {
    if spec.capacity_per_s.is_none() {
        return Err(
            "a drift requires a capacity; set the number of operations per second".to_owned(),
        );
    }
    let is_possible = drift.to.is_finite() && drift.to > 0.0 && !drift.over.is_zero();
    is_possible.then_some(()).ok_or_else(|| {
        format!(
            "a drift to {} times the capacity over {:?} is not possible; both must be above \
             zero",
            drift.to, drift.over
        )
    })
}

/// Maximum size of a cell in bytes. A row of 100 cells of this size still fits into a frame that
/// every driver accepts (256 MiB).
const CELL_BYTES_MAX: u32 = 1 << 20;

/// Counters of a null server since its start. They never decrease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NullCounts {
    /// Number of accepted connections.
    pub connections: u64,
    /// Number of connections that were closed because of bytes that are not CQL version 4.
    pub connections_refused: u64,
    /// Number of requests of each kind, indexed by opcode.
    pub requests_by_opcode: [u64; OPCODES_COUNT],
    /// Number of acknowledged writes. Refused writes are not included.
    pub writes: u64,
    /// Number of answered reads. Conditional writes count as reads, as in Cassandra. Refused reads
    /// are not included.
    pub reads: u64,
    /// Number of operations that were answered with an error from [`NullSpec::errors`].
    pub refused: u64,
    /// Number of bytes received.
    pub bytes_in: u64,
    /// Number of bytes sent.
    pub bytes_out: u64,
}

/// Exclusive upper bound of the opcodes. All opcodes of protocol version 4 are lower.
pub const OPCODES_COUNT: usize = 32;

impl NullCounts {
    /// Returns the number of all requests.
    pub fn requests(&self) -> u64 {
        self.requests_by_opcode.iter().sum()
    }

    /// Returns the number of EXECUTE requests.
    pub fn executes(&self) -> u64 {
        self.requests_by_opcode[usize::from(opcode::EXECUTE)]
    }

    fn values(&self) -> impl Iterator<Item = u64> + '_ {
        let others = [
            self.connections,
            self.connections_refused,
            self.writes,
            self.reads,
            self.refused,
            self.bytes_in,
            self.bytes_out,
        ];
        others.into_iter().chain(self.requests_by_opcode)
    }
}

/// Counters of one event loop that other threads can read. Only the loop writes them, after each
/// batch of requests and at the end of each wake-up.
#[derive(Debug)]
struct PublishedCounts([AtomicU64; PUBLISHED_COUNT]);

const PUBLISHED_COUNT: usize = 7 + OPCODES_COUNT;

impl PublishedCounts {
    fn new() -> PublishedCounts {
        PublishedCounts(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    fn publish(&self, counts: &NullCounts) {
        for (cell, value) in self.0.iter().zip(counts.values()) {
            cell.store(value, Relaxed);
        }
    }

    fn add_to(&self, sum: &mut NullCounts) {
        let value = |index: usize| self.0[index].load(Relaxed);
        sum.connections += value(0);
        sum.connections_refused += value(1);
        sum.writes += value(2);
        sum.reads += value(3);
        sum.refused += value(4);
        sum.bytes_in += value(5);
        sum.bytes_out += value(6);
        for (opcode, count) in sum.requests_by_opcode.iter_mut().enumerate() {
            *count += value(7 + opcode);
        }
    }
}
