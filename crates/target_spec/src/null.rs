//! Settings of a null target: a server that answers at once and stores nothing.

use cql::response::ErrorCode;
use std::time::Duration;

/// Settings of a null server. The default answers at once, on any free port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NullSpec {
    /// Latency added to every answer.
    pub latency: Latency,
    /// Periodic stalls, if any.
    pub stall: Option<Stall>,
    /// Maximum number of answers per second, one after the other in the order of their requests.
    /// Faster requests wait in a queue without a limit. `None`: as fast as it can. The latency is
    /// added to the time in the queue. Event loops share the capacity evenly.
    pub capacity_per_s: Option<u64>,
    /// Change of the capacity over time, if any: a known truth to find.
    pub drift: Option<Drift>,
    /// Shares (0 to 1) of operations that are answered with an error. Operations are EXECUTE, BATCH
    /// and QUERY, except for schema, system tables and USE. Each event loop counts its own.
    pub errors: Vec<(ErrorCode, f64)>,
    /// Result of a read.
    pub reads: Reads,
    /// CPUs: one event loop for each, pinned to it. Empty: one event loop, not pinned.
    pub cpus: Vec<usize>,
    /// Port to listen on at 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// Required user and password. `None`: connections are ready without authentication.
    pub credentials: Option<(String, String)>,
    /// True to poll without ever sleeping: answers come some µs sooner, at the price of a whole
    /// CPU.
    pub spin: bool,
}

/// A latency distribution, between the arrival of a request and the release of its answer.
///
/// An answer is never early. It is late by the wake-up of the loop's thread. With one request at a
/// time and a fixed latency of 0.1, 1 and 10 ms, the median was 68, 104 and 141 µs late. That
/// includes the bare round trip, on a busy virtual machine with two CPUs. The first command
/// measured it, and the second one measures a bare round trip:
///
/// ```text
/// cargo run --release -p null_server --example null -- late 1000
/// cargo run --release -p null_server --example null -- late 0
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Latency {
    /// No latency: answers leave with the batch that their requests came in.
    #[default]
    None,
    /// The same for every answer; answers leave in the order of their requests.
    Fixed {
        /// Latency, ns.
        ns: u64,
    },
    /// Uniform; answers overtake each other.
    Uniform {
        /// Shortest latency, ns.
        from_ns: u64,
        /// Exclusive upper bound, ns.
        to_ns: u64,
    },
    /// Exponential; answers overtake each other.
    Exponential {
        /// Mean, ns.
        mean_ns: u64,
    },
}

/// A periodic stall: the server answers nothing during it, and at its end all requests that came.
///
/// The first one begins one `every` after the server's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Interval from the beginning of one stall to the beginning of the next.
    pub every: Duration,
    /// Duration of each; shorter than `every`.
    pub length: Duration,
}

/// A capacity that changes linearly, from the server's start on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Share of the capacity at the end; above zero.
    pub to: f64,
    /// Time until the end.
    pub over: Duration,
}

impl Default for Drift {
    /// Returns a constant capacity.
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
    /// No row.
    #[default]
    Empty,
    /// One row. Types of fixed width are zero, collections are empty.
    Row {
        /// Length of each text, blob and other cell of variable width, in bytes.
        cell_bytes: u32,
    },
    /// Many rows like that of [`Reads::Row`], in pages if the request asks for pages. Limits in the
    /// statement are ignored.
    Rows {
        /// Number of rows.
        rows: u32,
        /// As in [`Reads::Row`].
        cell_bytes: u32,
    },
}
