//! Kinds of faults, as data: effect and target of each, its requirements and options, and the data
//! that nodes may lose because of it.

mod commands;
mod kind;
mod kinds;
mod options;
mod properties;

pub use commands::Commands;
pub use kind::{FaultKind, Means};
pub use kinds::{ENTERED_WITHIN, FaultName, KINDS, STARTED_WITHIN};
pub use options::{FaultOption, Options, Rollback};
pub use properties::{DataLoss, FaultPlace, Hit, Length};
