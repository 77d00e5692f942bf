//! What a null target is told to be: a server that answers at once and stores nothing.

use cql::response::ErrorCode;
use std::time::Duration;

/// What a null server is told to be. The default answers at once, on any free port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NullSpec {
    /// The latency added to every answer.
    pub latency: Latency,
    /// Periodic stalls, if any.
    pub stall: Option<Stall>,
    /// How many answers it has ready in a second, one after the other in the order of their
    /// requests: what comes faster waits, and the queue has no limit. None: as many as it can. The
    /// latency is added to what an answer waits. Event loops share it evenly.
    pub capacity_per_s: Option<u64>,
    /// How that changes with time, if it does: a known truth to find.
    pub drift: Option<Drift>,
    /// The shares (0 to 1) of operations (EXECUTE, BATCH and QUERY of anything but schema, system
    /// tables and USE) that are answered with an error. Each event loop counts its own operations.
    pub errors: Vec<(ErrorCode, f64)>,
    /// What a read returns.
    pub reads: Reads,
    /// One event loop for each CPU named, pinned to it. Empty: one event loop, not pinned.
    pub cpus: Vec<usize>,
    /// The port to listen on at 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// User and password to ask for; none: connections are ready without authentication.
    pub credentials: Option<(String, String)>,
    /// Poll without ever sleeping: answers come some µs sooner, at the price of a whole CPU.
    pub spin: bool,
}

/// A latency distribution, between the arrival of a request and the release of its answer.
///
/// An answer is never early. It is late by the wake-up of the loop's thread: one request at a time
/// saw, beyond a fixed latency of 0.1, 1 and 10 ms, a median of 68, 104 and 141 µs on a busy
/// virtual machine with two CPUs, the bare round trip included (`cargo run --release -p null
/// --example null -- late 1000`; it measures a bare round trip with 0).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Latency {
    /// None: answers leave with the batch that their requests came in.
    #[default]
    None,
    /// The same for every answer, which leave in the order of their requests.
    Fixed {
        /// The time in nanoseconds.
        ns: u64,
    },
    /// Uniform; answers overtake each other.
    Uniform {
        /// The shortest, in nanoseconds.
        from_ns: u64,
        /// The bound that is never reached, in nanoseconds.
        to_ns: u64,
    },
    /// Exponential; answers overtake each other.
    Exponential {
        /// The mean, in nanoseconds.
        mean_ns: u64,
    },
}

/// A periodic stall: nothing at all is answered during it, and at its end all that came is.
///
/// The first one begins one `every` after the server's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// From the beginning of one stall to the beginning of the next.
    pub every: Duration,
    /// How long each lasts; shorter than `every`.
    pub length: Duration,
}

/// A capacity that changes evenly, from the server's start on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The share of the capacity that there is in the end; above zero.
    pub to: f64,
    /// How long it takes until then.
    pub over: Duration,
}

impl Default for Drift {
    /// A capacity that stays as it is.
    fn default() -> Drift {
        Drift {
            to: 1.0,
            over: Duration::ZERO,
        }
    }
}

/// What a read of a table returns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reads {
    /// No row.
    #[default]
    Empty,
    /// One row. Types of fixed width are zero, collections are empty.
    Row {
        /// The length of each text, blob and other cell of variable width, in bytes.
        cell_bytes: u32,
    },
    /// Many rows as [`Reads::Row`] has one, in pages where the request asks for pages. Limits in
    /// the statement are not looked at.
    Rows {
        /// How many.
        rows: u32,
        /// As in [`Reads::Row`].
        cell_bytes: u32,
    },
}
