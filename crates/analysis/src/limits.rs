//! Finds the resource that was nearest its limit in a measured window, with a decision table over
//! the probes.
//!
//! Each row of the table is a [`LimitKind`]: a signal, its limit, and a confidence. The confidence
//! is the strength with which the signal alone supports the statement that the resource limited the
//! load. [`observe`] evaluates every row for one trial. [`candidates`] compares two trials and
//! ranks the rows. A full resource *coincides* with a limit of the load. Only an experiment shows
//! that the resource is the cause.
//!
//! The method considers the utilisation, the queue and the errors of each resource (B. Gregg, "The
//! USE Method"). A busy resource without a queue is not a limit. The table does not contain the
//! utilisation of a disk. According to `iostat(1)`, this value does not show the limit of devices
//! that serve requests in parallel. Limits for which the table names no other source are proposals
//! of this project.

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
