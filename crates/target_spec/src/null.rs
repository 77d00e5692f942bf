//! Settings of a null target, which is a server that answers immediately and stores no rows.

use cql::response::ErrorCode;
use std::time::Duration;

/// Settings of a null server. By default it answers immediately, on any free port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NullSpec {
    /// Latency added to every answer.
    pub latency: Latency,
    /// Periodic stalls. `None` if the server never stalls.
    pub stall: Option<Stall>,
    /// Maximum number of answers per second, sent one after the other in the order of their
    /// requests. Additional requests wait in an unlimited queue. `None` means that answers are sent
    /// as fast as possible. The latency is added to the time in the queue. Each event loop has an
    /// equal share of the capacity.
    pub capacity_per_s: Option<u64>,
    /// Change of the capacity over time, if any. A measurement should find this change.
    pub drift: Option<Drift>,
    /// Errors with which operations are answered, each with the share of operations from 0 to 1.
    /// Operations are EXECUTE, BATCH and QUERY, except for schema, system tables and USE. Each
    /// event loop counts separately.
    pub errors: Vec<(ErrorCode, f64)>,
    /// Result that a read returns.
    pub reads: Reads,
    /// CPUs to which event loops are pinned, one event loop to each. If empty, there is one event
    /// loop, which is not pinned.
    pub cpus: Vec<usize>,
    /// Port on 127.0.0.1. 0 selects a free port.
    pub port: u16,
    /// Required user name and password. If `None`, clients need no authentication.
    pub credentials: Option<(String, String)>,
    /// True if the server polls without sleeping. Answers then come some µs earlier, but polling
    /// needs a whole CPU.
    pub spin: bool,
}

/// A latency distribution. The latency is the time from the arrival of a request to the release of
/// its answer.
///
/// An answer is never early. It is late by the time in which the thread of the loop wakes up. With
/// one request at a time and a fixed latency of 0.1, 1 and 10 ms, the median was 68, 104 and 141 µs
/// late. That includes the bare round trip, on a busy virtual machine with two CPUs. The first
/// command measured this delay, and the second one measures a bare round trip:
///
/// ```text
/// cargo run --release -p null_server --example null -- late 1000
/// cargo run --release -p null_server --example null -- late 0
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Latency {
    /// No latency. Answers leave together with the batch of their requests.
    #[default]
    None,
    /// The same latency for every answer. Answers leave in the order of their requests.
    Fixed {
        /// Latency of every answer, in ns.
        ns: u64,
    },
    /// Uniform latencies. Answers may overtake each other.
    Uniform {
        /// Shortest latency, in ns.
        from_ns: u64,
        /// Exclusive upper bound, in ns.
        to_ns: u64,
    },
    /// Exponential latencies. Answers may overtake each other.
    Exponential {
        /// Mean latency, in ns.
        mean_ns: u64,
    },
}

/// A periodic stall. During a stall, the server sends no answers. At its end, the server answers
/// all requests that arrived in the meantime.
///
/// The first stall begins one `every` after the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Interval between the starts of two stalls.
    pub every: Duration,
    /// Duration of each stall, which is shorter than `every`.
    pub length: Duration,
}

/// A capacity that changes linearly, from the start of the server on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Share of the capacity that is left at the end. It is above zero.
    pub to: f64,
    /// Time from the start of the server to the end of the change.
    pub over: Duration,
}

impl Default for Drift {
    /// Returns a drift that leaves the capacity unchanged.
    fn default() -> Drift {
        Drift {
            to: 1.0,
            over: Duration::ZERO,
        }
    }
}

/// Result of a read of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reads {
    /// No row is returned.
    #[default]
    Empty,
    /// One row. Columns of fixed width are zero, and collections are empty.
    Row {
        /// Length of each text, blob and other cell of variable width, in bytes.
        cell_bytes: u32,
    },
    /// Many rows like that of [`Reads::Row`], in pages if the request specifies pages. Limits in
    /// the statement are ignored.
    Rows {
        /// Number of returned rows.
        rows: u32,
        /// Length of each cell, as in [`Reads::Row`].
        cell_bytes: u32,
    },
}
