//! A fault that a study names itself, of a cluster that is not ours: a program breaks, another
//! sees it, a third one heals.

use super::properties::DataLoss;
use crate::invocation::Invocation;
use std::time::Duration;

/// A fault that a study names, and the programs that it is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Commands {
    /// Its name.
    pub name: String,
    /// What breaks: it ends with 0 when it has.
    pub inject: Invocation,
    /// What sees: it ends with 0 if it is broken, with 1 if it is whole, and with anything else if
    /// nobody can look.
    pub see: Invocation,
    /// What heals: it ends with 0 when it has, also if nothing was broken.
    pub heal: Invocation,
    /// How long it may take to be seen whole again.
    pub within: Duration,
    /// What the node may lose by it.
    pub loses: DataLoss,
}
