//! A fault that a study defines itself, for an attached cluster. One program injects the fault,
//! another observes it, and a third one heals it.

use super::properties::DataLoss;
use crate::user_program::Invocation;
use std::time::Duration;

/// A fault that a study defines, and its programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// Name of the fault.
    pub name: String,
    /// Program that injects the fault. It exits with 0 on success.
    pub inject: Invocation,
    /// Program that observes the fault. It exits with 0 if the fault is present, with 1 if the
    /// fault is healed, and with any other code if the state is unknown.
    pub see: Invocation,
    /// Program that heals the fault. It exits with 0 on success, even if there was no fault.
    pub heal: Invocation,
    /// Maximum time until `see` observes that the fault is healed.
    pub within: Duration,
    /// Data that the node may lose because of the fault.
    pub loses: DataLoss,
}
