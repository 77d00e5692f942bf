//! Which resource was nearest its limit in a measured window: a decision table over the probes.
//!
//! Each row of the table is a [`LimitKind`]: a signal, its limit, and how far the signal alone
//! supports the statement that it limited the load. [`observe`] reads every row for one trial;
//! [`candidates`] compares two trials and ranks the rows. A full resource *coincides* with a limit
//! of the load; only an experiment shows that it is the cause.
//!
//! Method: for each resource its use, its queue and its errors (B. Gregg, "The USE Method"). A busy
//! resource without a queue is not a limit, so the table has no row for the utilisation of a disk:
//! `iostat(1)` says that it does not show the limit of devices that serve requests in parallel. The
//! limits without another source are proposals of this project.

mod candidate;
mod kind;
mod observation;
mod series_view;

pub use candidate::{Before, Candidate, candidates, nearest};
pub use kind::{Confidence, LimitKind, LimitRole, LimitRow, is_needed};
pub use observation::{
    ClientLoad, LimitReading, NodeFacts, NodeUse, Observation, TrialFacts, observe,
};
pub use series_view::WindowSeries;

#[cfg(test)]
mod tests;
