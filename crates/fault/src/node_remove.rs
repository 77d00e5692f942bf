//! A node that is lost for good, and a new one in its place: it is killed with its data, and when
//! another node holds it to be down, that one is told to take it out of the ring; the others make
//! up for its copies. Then it is started with empty folders, and bootstraps under another host id.

use crate::look::Look;
use crate::{By, Fault, Kind, Length, Loses, Mended, Place, Tell, World, data_lost, ring};
use anyhow::{Context, Result};
use cluster::{Ability, Anew, Operation};
use host::Break;
use std::time::Duration;

/// How long others may take to hold it to be down: they were seen to take 10 to 20 s.
const DOWN_WITHIN: Duration = Duration::from_secs(120);

pub(crate) const KIND: Kind = Kind {
    name: "node-remove",
    what: "the node is lost and taken out of the ring, and a new one joins",
    needs: &[Ability::Provision, Ability::Mbeans],
    place: Place::Node,
    takes: &[],
    must: &[],
    length: Length::Stated,
    takes_away: true,
    loses: Loses::Copy,
    healed_within: ring::ENTERED_WITHIN,
    make: |hit, _| {
        Box::new(Removed {
            node: hit.node(),
            told: None,
        })
    },
};

struct Removed {
    node: usize,
    /// Who was told to take it out.
    told: Option<usize>,
}

impl Fault for Removed {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let by = ring::another(world, self.node)?;
        let known = ring::member(world, by, self.node, DOWN_WITHIN)?;
        let host_id = known.context("the others do not know it")?.host_id;
        let (process, folders) = world.anew(self.node, Anew::Joining)?;
        let what = Break::Wipe { process, folders };
        // Whoever outlives us waits until it is out: a ring that has it lets nobody join for it.
        let within = within + ring::LEFT_WITHIN;
        world.inject(By::Node(self.node), what, &[self.node], within)?;
        ring::await_down(world, by, self.node, DOWN_WITHIN)?;
        world.operate(by, Operation::RemoveNode { host_id }, ring::LEFT_WITHIN)?;
        self.told = Some(by);
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look {
        let lost = data_lost::lost(world, self.node, limit);
        if lost.broken == Some(true) {
            let others = ring::held(world, self.node, limit, |one| one.is_none());
            return Look::of_two(lost, others);
        }
        ring::and_back(world, lost, self.node, limit)
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<Mended> {
        match self.told {
            Some(by) => ring::heal_after(world, by),
            None => world.heal(),
        }
    }

    fn is_healing(&mut self, world: &mut dyn World) -> bool {
        ring::is_streaming(world, self.node)
    }
}
