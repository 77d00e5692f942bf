//! A fault that a study itself defines for an attached cluster. One program injects the fault, a
//! second program observes it, and a third program heals it.

use super::properties::DataLoss;
use crate::user_program::Invocation;
use std::time::Duration;

/// A fault that a study defines, with its programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    pub name: String,
    /// Program that injects the fault. It exits with 0 on success.
    pub inject: Invocation,
    /// Program that observes the fault. It exits with 0 if the fault is present, and with 1 if the
    /// fault is healed. Any other exit code means that the state is unknown.
    pub see: Invocation,
    /// Program that heals the fault. It exits with 0 on success, and also if the fault was not
    /// present.
    pub heal: Invocation,
    /// Maximum time after which the program `see` must observe that the fault is healed.
    pub within: Duration,
    /// Data that the node may lose because of the fault.
    pub loses: DataLoss,
}
