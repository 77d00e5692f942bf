//! A node is added to the ring, and later removed. The node starts on a host, streams its data from
//! other nodes, and serves this data. For healing, the node is decommissioned, and the agent
//! removes its folder.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{Agents, ExecutedBy, HealResult, World};
use crate::observation::{self, Health, Observation, Presence};
use crate::ring;
use anyhow::{Context, Result};
use cassandra::{MemberStatus, Operation};
use host::process::Identity;
use host::{Injection, Query, QueryAnswer};
use std::net::SocketAddr;
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{HostIndex, NodeIndex};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(NodeAdd {
        host: hit.host(),
        address: None,
        joined: None,
        process: None,
    })
}

const LIMIT: Duration = Duration::from_secs(5);

struct NodeAdd {
    host: HostIndex,
    address: Option<SocketAddr>,
    /// `None` until the new node has started.
    joined: Option<NodeIndex>,
    process: Option<Identity>,
}

impl NodeAdd {
    /// The fault is present if the other nodes list the new node as joining or normal, and healed
    /// if no node lists it.
    fn standing(&mut self, world: &mut dyn World, limit: Duration) -> Result<Observation> {
        let address = match self.address {
            Some(address) => address,
            None => *self.address.insert(world.newcomer(self.host)?.address.into()),
        };
        let comes = |one| matches!(one, Some(MemberStatus::Joining | MemberStatus::Normal));
        let by = ring::others(world, self.joined);
        let held = ring::held_at(world, by, address, limit)?;
        Ok(Observation {
            fault: Presence::from(held.iter().all(|one| comes(*one))),
            target: Health::from(held.iter().all(Option::is_none)),
            words: ring::words(&held),
        })
    }

    /// Queries the host's kernel whether the process of the new node has ended.
    fn gone(&self, world: &mut dyn Agents) -> Result<Observation> {
        let Some(process) = self.process else {
            return Ok(Observation {
                fault: Presence::Absent,
                target: Health::Whole,
                words: "cassay did not start the node".to_owned(),
            });
        };
        let state = match world.see(ExecutedBy::Host(self.host), Query::Process(process))? {
            QueryAnswer::Process(state) => state,
            other => return Err(observation::other_answer(&other)),
        };
        Ok(Observation {
            fault: Presence::from(state.is_some()),
            target: Health::from(state.is_none()),
            words: match state {
                Some(state) => format!("the kernel reports the node's process as {state}"),
                None => "the node's process no longer exists".to_owned(),
            },
        })
    }

    /// Returns true if all nodes, the new node and a client see the new node as a member.
    fn has_joined(&self, world: &mut dyn World, node: NodeIndex) -> Result<bool> {
        let is_normal = |one: &Observation| one.is_whole();
        let others = ring::held(world, node, LIMIT, |_| false);
        Ok(is_normal(&others)
            && is_normal(&ring::settled(world, node, LIMIT)?)
            && world.ask(node, LIMIT).is_ok())
    }
}

impl Fault for NodeAdd {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let join = world.newcomer(self.host)?;
        let node = NodeIndex(world.nodes().len());
        world.inject(
            ExecutedBy::Host(self.host),
            Injection::Join(join),
            &[node],
            within,
        )?;
        self.joined = Some(node);
        self.process = observation::process_of(world, node);
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let held = observation::or_unseen("the others", self.standing(world, limit));
        held.and(|| observation::or_unseen("the kernel", self.gone(world)))
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        let node = self.joined.context("cassay did not start the node")?;
        observation::still_starting(world, node, "it")?;
        // A node that does not answer is still starting.
        match self.has_joined(world, node) {
            Ok(true) => Ok(Work::Done("the node serves the received data".to_owned())),
            Ok(false) | Err(_) => Ok(Work::Going),
        }
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        let joined = self.joined.take();
        let is_member = |node: &NodeIndex| {
            let own = world.members(*node, LIMIT);
            own.is_ok_and(|own| own.mode == "NORMAL")
        };
        let Some(node) = joined.filter(is_member) else {
            return world.heal();
        };
        ring::PendingOperation::tell(world, node, Operation::Decommission)?.heal(world)
    }
}
