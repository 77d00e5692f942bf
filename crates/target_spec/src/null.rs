//! Settings of a null target, which is a server that answers immediately and stores no rows.

use cql::response::ErrorCode;
use std::time::Duration;

/// Settings of a null server. By default, the server answers immediately, and uses any free port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NullSpec {
    /// Latency that the server adds to every response.
    pub latency: Latency,
    /// Periodic stalls. `None` if the server never stalls.
    pub stall: Option<Stall>,
    /// Maximum number of responses per second. The server sends responses one after the other, in
    /// the order of the requests. Additional requests wait in an unlimited queue. If it is `None`,
    /// the server responds as fast as possible. The latency is added to the time in the queue. Each
    /// event loop has an equal share of the capacity.
    pub capacity_per_s: Option<u64>,
    /// Change of the capacity over time, which a measurement should find. `None` if the capacity is
    /// constant.
    pub drift: Option<Drift>,
    /// Errors that the server returns, each with the share of operations that get the error (0 to
    /// 1). Operations are EXECUTE, BATCH and QUERY, except for schema, system tables and USE. Each
    /// event loop counts its operations separately.
    pub errors: Vec<(ErrorCode, f64)>,
    /// Rows that a read returns.
    pub reads: Reads,
    /// CPUs to which event loops are pinned. Each of these CPUs has one event loop. If the list is
    /// empty, the server has a single event loop, which is not pinned.
    pub cpus: Vec<usize>,
    /// Port of the server on 127.0.0.1. 0 selects a free port.
    pub port: u16,
    /// User name and password that clients must send. If it is `None`, clients need no
    /// authentication.
    pub credentials: Option<(String, String)>,
    /// True if the server polls without sleeping. It then responds some µs earlier, but uses a
    /// whole CPU.
    pub spin: bool,
}

/// A latency distribution. The latency is the time from the arrival of a request to the release of
/// its response.
///
/// A response is never early. It is late by the time in which the thread of the event loop wakes
/// up. With one request at a time and a fixed latency of 0.1, 1 and 10 ms, the median was 68, 104
/// and 141 µs late. That includes the bare round trip, on a busy virtual machine with two CPUs. The
/// first of these commands measured this delay, and the second one measures a bare round trip:
///
/// ```text
/// cargo run --release -p null_server --example null -- late 1000
/// cargo run --release -p null_server --example null -- late 0
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Latency {
    /// No latency. The server sends responses together with all other responses to the same batch
    /// of requests.
    #[default]
    None,
    /// The same latency for every response. The server sends responses in the order of their
    /// requests.
    Fixed {
        /// Latency of every response, in ns.
        ns: u64,
    },
    /// Uniformly distributed latencies. A response may overtake an earlier one.
    Uniform {
        /// Shortest latency, in ns.
        from_ns: u64,
        /// Exclusive upper bound of the latency, in ns.
        to_ns: u64,
    },
    /// Exponentially distributed latencies. A response may overtake an earlier one.
    Exponential { mean_ns: u64 },
}

/// A periodic stall. During a stall, the server sends no responses. At the end of the stall, it
/// responds to all requests that arrived in the meantime.
///
/// The first stall begins one interval `every` after the start of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Interval between the starts of two stalls.
    pub every: Duration,
    /// Duration of each stall, which is shorter than `every`.
    pub length: Duration,
}

/// A capacity that changes linearly, beginning at the start of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Share of the capacity at the end of the change. It is above zero.
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

/// Rows that a read of a table returns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reads {
    /// A read returns no rows.
    #[default]
    Empty,
    /// A read returns one row. Columns of fixed width are zero, and collections are empty.
    Row {
        /// Length of each cell of variable width, such as a text or a blob, in bytes.
        cell_bytes: u32,
    },
    /// A read returns many rows like the row of [`Reads::Row`]. The server sends them in pages if
    /// the request specifies pages. It ignores limits in the statement.
    Rows {
        /// Number of rows that a read returns.
        rows: u32,
        /// Length of each cell of variable width in bytes, as in [`Reads::Row`].
        cell_bytes: u32,
    },
}
