//! The only crate that defines how a measurement is represented: units, clock, histogram, interval,
//! outcome.
//!
//! The crate does not depend on other crates of the workspace, and starts no threads. [`clock`] is
//! the only module in the workspace that reads clocks. Measured durations are in nanoseconds
//! (`_ns`). Every point in time is in nanoseconds of the machine's monotonic clock unless its name
//! contains `unix`.

pub mod bins;
pub mod censored_times;
pub mod clock;
mod counts;
pub mod histogram;
pub mod interval;
mod interval_tiles;
pub mod lower_bound;
pub mod number;
pub mod outcome;
pub mod poller;
mod word_enum;

pub use bins::{Bin, Bins};
pub use censored_times::Times;
pub use histogram::Histogram;
pub use interval::{
    ClientCount, ClientCounts, ClientInterval, Interval, IntervalConsumer, KindCount, KindCounts,
    KindInterval, SummedInterval,
};
pub use interval_tiles::{IntervalTiles, SourceProgress};
pub use lower_bound::Known;
pub use outcome::{Outcome, WriteMismatch};
pub use word_enum::{word_or_default, word_or_none};

/// The expansion of [`word_enum`] in other crates uses this path of serde.
#[doc(hidden)]
pub use serde;
