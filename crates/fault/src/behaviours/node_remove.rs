//! A node is lost and replaced by a new node. The agent kills the node and removes its data. When
//! another node considers the killed node down, it removes the killed node from the ring, and the
//! remaining nodes restore the missing replicas. Then the agent starts the killed node with empty
//! folders, and it bootstraps with a new host id.

use super::data_lost;
use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{ExecutedBy, HealResult, World};
use crate::observation::Observation;
use crate::ring;
use anyhow::{Context, Result};
use cassandra::{MemberStatus, Operation, RestartMode};
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

const LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(NodeRemove {
        node: hit.node(),
        told: None,
    })
}

struct NodeRemove {
    node: NodeIndex,
    /// Operation by which another node removes the target node. `None` before it begins.
    told: Option<ring::PendingOperation>,
}

impl Fault for NodeRemove {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        ring::another(world, self.node)?;
        let (process, folders) = world.anew(self.node, RestartMode::Joining)?;
        let what = Injection::Wipe { process, folders };
        world.inject(ExecutedBy::Node(self.node), what, &[self.node], within)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let lost = data_lost::lost(world, self.node, limit);
        if lost.shows_fault() {
            let others = ring::held(world, self.node, limit, |one| one.is_none());
            return Observation::combine(lost, others);
        }
        ring::and_back(world, lost, self.node, limit)
    }

    /// Waits until another node considers the target node down. Cassandra refuses to remove a node
    /// that is up.
    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        if let Some(told) = &mut self.told {
            return told.proceed(world);
        }
        let by = ring::another(world, self.node)?;
        let Ok(known) = ring::member(world, by, self.node, LIMIT) else {
            return Ok(Work::Going);
        };
        let known = known.context("the other nodes do not list the node")?;
        if known.standing != MemberStatus::Down {
            return Ok(Work::Going);
        }
        let host_id = known.host_id;
        self.told = Some(ring::PendingOperation::tell(
            world,
            by,
            Operation::RemoveNode { host_id },
        )?);
        Ok(Work::Did(format!(
            "node {} considers the node down, and removes it from the ring",
            by.number()
        )))
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        self.told.take().unwrap_or_default().heal(world)
    }

    fn is_healing(&mut self, world: &mut dyn World) -> bool {
        ring::is_streaming(world, self.node)
    }
}
