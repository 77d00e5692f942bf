//! A fault that a study defines itself, for an attached cluster. One program injects it, another
//! observes it, and a third one heals it.

use super::properties::DataLoss;
use crate::user_program::Invocation;
use std::time::Duration;

/// A fault that a study defines, and its programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// Its name.
    pub name: String,
    /// Program that injects the fault; exits with 0 on success.
    pub inject: Invocation,
    /// Program that observes the fault. It exits with 0 if the fault is present, with 1 if it is
    /// healed, and with any other code if it cannot tell.
    pub see: Invocation,
    /// Program that heals the fault; exits with 0 on success, also if there was no fault.
    pub heal: Invocation,
    /// Time limit until the fault is seen as healed.
    pub within: Duration,
    /// Data that the node may lose by it.
    pub loses: DataLoss,
}
