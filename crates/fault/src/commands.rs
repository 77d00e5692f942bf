//! A fault that a study names itself, of a cluster that is not ours: a program breaks, another
//! sees it, a third one heals.

use crate::kind::{DataLoss, Kind, Length, Place};
use host::Invocation;
use std::borrow::Cow;
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

impl Commands {
    /// The kind of faults that they are.
    pub fn kind(&self) -> Kind {
        Kind {
            name: Cow::Owned(self.name.clone()),
            built_in: None,
            what: Cow::Owned(format!("{} is run", self.inject)),
            // Of a cluster that is not ours nothing is needed but them.
            needs: &[],
            place: Place::Node,
            takes: &[],
            must: &[],
            length: Length::Stated,
            takes_away: self.loses != DataLoss::Nothing,
            loses: self.loses,
            healed_within: self.within,
        }
    }
}
