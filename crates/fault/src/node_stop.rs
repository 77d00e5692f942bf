//! A node that is stopped as an operator stops it: its JVM is asked to end (SIGTERM), tells the
//! others, flushes what it has in memory and goes; then it is started again.

use crate::look::Look;
use crate::node_kill::{self, STARTED_WITHIN};
use crate::{By, Fault, Kind, Length, Loses, Place, World};
use anyhow::Result;
use cluster::Ability;
use host::Break;
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "node-stop",
    what: "the node drains and ends, and is started again",
    needs: &[Ability::Provision],
    place: Place::Node,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: true,
    loses: Loses::Nothing,
    healed_within: STARTED_WITHIN,
    make: |hit, _| Box::new(Stop(hit.node())),
};

pub(crate) struct Stop(pub usize);

impl Fault for Stop {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let one = world.restartable(self.0)?;
        world.inject(By::Node(self.0), Break::Stop(one), &[self.0], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        node_kill::gone(world, self.0, limit)
    }
}
