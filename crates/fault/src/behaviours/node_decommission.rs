//! A node is decommissioned and joins again. It streams its data to other nodes and leaves the
//! ring. Then the agent starts it with empty folders, and it bootstraps.
//!
//! The decommission is forced, even if fewer replicas remain than the replication factor. Otherwise
//! a ring of three nodes would refuse it, because Cassandra's own keyspace `system_distributed` has
//! three replicas.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{ExecutedBy, HealResult, World};
use crate::observation::{self, Observation};
use crate::ring;
use anyhow::{Context, Result};
use cassandra::{MemberStatus, Operation, RestartMode};
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Leaving {
        node: hit.node(),
        told: ring::PendingOperation::default(),
        is_healed: false,
    })
}

struct Leaving {
    node: NodeIndex,
    told: ring::PendingOperation,
    is_healed: bool,
}

impl Fault for Leaving {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        ring::another(world, self.node)?;
        let (process, folders) = world.anew(self.node, RestartMode::Joining)?;
        let seen = world.nodes().take(self.node);
        let what = Injection::Leave {
            process,
            folders,
            address: seen.context("the node does not exist")?.storage,
        };
        world.inject(ExecutedBy::Node(self.node), what, &[self.node], within)?;
        self.told = ring::PendingOperation::tell(world, self.node, Operation::Decommission)?;
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let client = observation::client(world, self.node, limit);
        if self.is_healed && !client.is_whole() {
            return client;
        }
        // A leaving node still serves clients, so only its ring membership shows the fault.
        let leaves = |one| matches!(one, None | Some(MemberStatus::Leaving));
        let others = ring::held(world, self.node, limit, leaves);
        ring::and_settled(world, others.confirm(client), self.node, limit)
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        self.told.proceed(world)
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        self.is_healed = true;
        self.told.heal(world)
    }

    fn is_healing(&mut self, world: &mut dyn World) -> bool {
        ring::is_streaming(world, self.node)
    }
}
