//! Kinds of faults, as data: the effect and the target of each kind, its requirements and options,
//! and the data that nodes may lose.

mod commands;
mod fault_table;
mod kind;
mod options;
mod properties;

pub use commands::Commands;
pub use fault_table::{FaultName, KINDS, RING_JOIN_LIMIT, START_LIMIT};
pub use kind::{FaultKind, Means};
pub use options::{FaultOption, Options, Rollback};
pub use properties::{DataLoss, FaultPlace, Hit, Length, Sides};
