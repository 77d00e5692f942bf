//! A disk that hangs: nothing is written any more and nothing fails, as with a controller that
//! resets its bus. A node that has to write waits, and cannot even be killed meanwhile.

use crate::look::{self, Look};
use crate::node_kill::STARTED_WITHIN;
use crate::{By, Fault, Kind, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::{Attempt, Break};
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "disk-stalled",
    what: "every write to the host's volume waits",
    needs: &[Ability::Hosts, Ability::VolumeStalled],
    place: Place::Host,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: false,
    loses: Loses::Nothing,
    healed_within: STARTED_WITHIN,
    make: |hit, _| Box::new(Stalled(hit.node())),
};

struct Stalled(usize);

impl Fault for Stalled {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        world.inject(By::Host(self.0), Break::DiskStalled, &[], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        let is_stalled = |tried: &look::Tried| tried.write == Attempt::Silent;
        look::disk_and_nodes(world, self.0, limit, is_stalled)
    }
}
