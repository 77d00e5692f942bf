//! A disk that is pulled out and put back: whatever is done with it fails from one moment on, and
//! what was not synced is lost. Its nodes are started again when it is back.

use crate::look::{self, Look};
use crate::node_kill::STARTED_WITHIN;
use crate::{By, Fault, Kind, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::{Attempt, Break};
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "disk-removed",
    what: "the host's volume is pulled out, and put back",
    needs: &[Ability::Hosts, Ability::VolumeOff],
    place: Place::Host,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: true,
    loses: Loses::Unsynced,
    healed_within: STARTED_WITHIN,
    make: |hit, _| Box::new(Removed(hit.node())),
};

struct Removed(usize);

impl Fault for Removed {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (nodes, processes) = look::restartables(world, self.0)?;
        world.inject(
            By::Host(self.0),
            Break::DiskRemoved { processes },
            &nodes,
            within,
        )
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        let is_gone = |tried: &look::Tried| {
            let is_refused = matches!(tried.write, Attempt::Refused(_));
            // No folder can be listed in which there would be something to be read.
            is_refused && matches!(tried.read, Attempt::Refused(_) | Attempt::None)
        };
        look::disk_and_nodes(world, self.0, limit, is_gone)
    }
}
