//! Observations of a node that leaves the ring, loses its data, or joins again. cassay
//! queries every node, because the node that performs an operation cannot confirm it independently.

use crate::behaviour::Work;
use crate::cluster_under_test::{Agents, HealResult, Mbeans, NodeFiles, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result};
use cassandra::{Member, MemberStatus, Operation};
use std::net::SocketAddr;
use std::time::Duration;
use target_spec::NodeIndex;

const POLL: Duration = Duration::from_millis(200);

const MEMBERS_LIMIT: Duration = Duration::from_secs(5);

/// Time limit for a node to leave a ring, or to remove another node.
const LEAVE_LIMIT: Duration = Duration::from_secs(600);

pub(crate) fn others(world: &dyn Agents, node: Option<NodeIndex>) -> Vec<NodeIndex> {
    let all = world.nodes().indexes();
    all.filter(|other| Some(*other) != node).collect()
}

pub(crate) fn another(world: &dyn Agents, node: NodeIndex) -> Result<NodeIndex> {
    let others = others(world, Some(node));
    others.first().copied().context("the ring has no other node")
}

/// Returns the membership of a node according to the node `by`. `None` if it is not a member.
pub(crate) fn member(
    world: &mut dyn World,
    by: NodeIndex,
    node: NodeIndex,
    limit: Duration,
) -> Result<Option<Member>> {
    let storage = storage(world, node)?;
    Ok(world.members(by, limit)?.all.remove(&storage))
}

fn storage(world: &dyn Agents, node: NodeIndex) -> Result<SocketAddr> {
    let seen = world.nodes().take(node);
    Ok(seen.context("the node does not exist")?.storage)
}

/// Returns the status of the node at `address` according to each node in `by`.
pub(crate) fn held_at(
    world: &mut dyn Mbeans,
    by: Vec<NodeIndex>,
    address: SocketAddr,
    limit: Duration,
) -> Result<Vec<Option<MemberStatus>>> {
    let standing = |by| {
        let mut all = world.members(by, limit)?.all;
        Ok(all.remove(&address).map(|one| one.standing))
    };
    by.into_iter().map(standing).collect()
}

/// Describes the statuses of a node that other nodes report.
pub(crate) fn words(held: &[Option<MemberStatus>]) -> String {
    let words = |standing: &Option<MemberStatus>| standing.map_or("no member", MemberStatus::words);
    let mut said: Vec<&str> = held.iter().map(words).collect();
    said.dedup();
    format!("the other nodes report the node as {}", said.join(", "))
}

/// Observes the status of a node on all other nodes. The fault is present if `is_broken` is true
/// for every status. The target is healthy if all other nodes report the node as up and normal.
pub(crate) fn held(
    world: &mut dyn World,
    node: NodeIndex,
    limit: Duration,
    is_broken: fn(Option<MemberStatus>) -> bool,
) -> Observation {
    let held = another(world, node).and_then(|_| {
        let by = others(world, Some(node));
        let address = storage(world, node)?;
        held_at(world, by, address, limit)
    });
    let looked = held.map(|held| Observation {
        fault: Presence::from(held.iter().all(|one| is_broken(*one))),
        target: Health::from(held.iter().all(|one| *one == Some(MemberStatus::Normal))),
        words: words(&held),
    });
    observation::or_unseen("the other nodes", looked)
}

/// Observes the data folders of a node. The fault is present if they are empty.
pub(crate) fn emptied(world: &mut dyn NodeFiles, node: NodeIndex) -> Observation {
    let looked = world.is_empty(node).map(|is_empty| Observation {
        fault: Presence::from(is_empty),
        target: Health::from(!is_empty),
        words: if is_empty {
            "the node's folders are empty".to_owned()
        } else {
            "the node's folders contain data".to_owned()
        },
    });
    observation::or_unseen("its folders", looked)
}

/// Adds conditions for a healthy target: all other nodes report the node as up and normal, and the
/// node reports the mode NORMAL and no streams.
pub(crate) fn and_back(
    world: &mut dyn World,
    seen: Observation,
    node: NodeIndex,
    limit: Duration,
) -> Observation {
    let back = seen.and(|| held(world, node, limit, |_| false));
    and_settled(world, back, node, limit)
}

/// Adds the condition for a healthy target that all other nodes report the node as up and normal. A
/// node without peers needs no confirmation.
pub(crate) fn and_known(
    world: &mut dyn World,
    seen: Observation,
    node: NodeIndex,
    limit: Duration,
) -> Observation {
    if others(world, Some(node)).is_empty() {
        seen
    } else {
        seen.and(|| held(world, node, limit, |_| false))
    }
}

/// Returns true if a node answers clients but all other nodes consider it down.
pub(crate) fn is_shunned(world: &mut dyn World, node: NodeIndex) -> bool {
    let is_down = |one| one == Some(MemberStatus::Down);
    world.ask(node, MEMBERS_LIMIT).is_ok()
        && held(world, node, MEMBERS_LIMIT, is_down).shows_fault()
}

/// Adds the condition for a healthy target that the node reports the mode NORMAL and no streams.
pub(crate) fn and_settled(
    world: &mut dyn Mbeans,
    seen: Observation,
    node: NodeIndex,
    limit: Duration,
) -> Observation {
    seen.and(|| observation::or_unseen("it", settled(world, node, limit)))
}

pub(crate) fn settled(
    world: &mut dyn Mbeans,
    node: NodeIndex,
    limit: Duration,
) -> Result<Observation> {
    let own = world.members(node, limit)?;
    let is_settled = own.mode == "NORMAL" && own.streams_count == 0;
    Ok(Observation {
        fault: Presence::from(!is_settled),
        target: Health::from(is_settled),
        words: format!(
            "the node reports its state as {} with {} streams",
            own.mode, own.streams_count
        ),
    })
}

pub(crate) fn is_streaming(world: &mut dyn Mbeans, node: NodeIndex) -> bool {
    let own = world.members(node, MEMBERS_LIMIT);
    own.is_ok_and(|own| own.streams_count > 0)
}

/// Operation on a node whose result has not been fetched yet.
#[derive(Default)]
pub(crate) struct PendingOperation(Option<NodeIndex>);

impl PendingOperation {
    pub fn tell(
        world: &mut dyn Mbeans,
        node: NodeIndex,
        what: Operation,
    ) -> Result<PendingOperation> {
        world.operate(node, what, LEAVE_LIMIT)?;
        Ok(PendingOperation(Some(node)))
    }

    /// Returns the result of the operation after its end.
    pub fn proceed(&mut self, world: &mut dyn Mbeans) -> Result<Work> {
        let Some(ended) = self.0.and_then(|node| world.operated(node)) else {
            return Ok(Work::Going);
        };
        self.0 = None;
        ended.map(Work::Done)
    }

    /// Heals the fault after the operation has ended.
    pub fn heal(&mut self, world: &mut dyn World) -> Result<HealResult> {
        match self.0.take() {
            Some(node) => heal_after(world, node),
            None => world.heal(),
        }
    }
}

/// Waits until the operation of the node has ended, and then heals the fault. The result includes
/// that of the operation.
fn heal_after(world: &mut dyn World, at_work: NodeIndex) -> Result<HealResult> {
    let until_ns = world.now_ns() + LEAVE_LIMIT.as_nanos() as u64;
    let ended = loop {
        if let Some(ended) = world.operated(at_work) {
            break ended;
        }
        // If the node has ended or its host cannot be queried, the result may never arrive.
        if !observation::process(world, at_work, |state| state.is_some()).shows_fault() {
            break Err(anyhow::anyhow!(
                "the process of node {} has ended, or its host does not answer",
                at_work.number()
            ));
        }
        if world.now_ns() >= until_ns || host::process::is_interrupted() {
            break Err(anyhow::anyhow!("node {} is still busy", at_work.number()));
        }
        world.wait(POLL);
    };
    let mended = world.heal()?;
    let words = ended.unwrap_or_else(|error| {
        format!("cassay requested the operation, but the node has not finished it: {error:#}")
    });
    let became = [Some(words), mended.became].into_iter().flatten();
    Ok(HealResult {
        became: Some(became.collect::<Vec<_>>().join("; ")),
        ..mended
    })
}
