//! What nodes say of one of them that leaves their ring, loses what it had, or comes back: each by
//! its own word, none by that of who told it to.

use crate::behaviour::Work;
use crate::observation::{self, Observation};
use crate::world::{Agents, Healed, Mbeans, NodeFiles, World};
use anyhow::{Context, Result};
use cluster::{Member, MemberStatus, Operation};
use std::net::SocketAddr;
use std::time::Duration;

/// Between two looks at work that a node was told to do.
const POLL: Duration = Duration::from_millis(200);

/// How long a node may take to tell of the ring.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// How long a node may take to leave a ring, or to take another one out of it.
const LEFT_WITHIN: Duration = Duration::from_secs(600);

/// All nodes but one, if that is one of them, by their indexes.
pub(crate) fn others(world: &dyn Agents, node: Option<usize>) -> Vec<usize> {
    let all = 0..world.nodes().len();
    all.filter(|other| Some(*other) != node).collect()
}

/// Another node, to be told something.
pub(crate) fn another(world: &dyn Agents, node: usize) -> Result<usize> {
    let others = others(world, Some(node));
    others.first().copied().context("there is no other node in the ring")
}

/// What a node has of another one, if that is a member.
pub(crate) fn member(
    world: &mut dyn World,
    by: usize,
    node: usize,
    limit: Duration,
) -> Result<Option<Member>> {
    let storage = storage(world, node)?;
    Ok(world.members(by, limit)?.all.remove(&storage))
}

/// Where the others reach a node.
fn storage(world: &dyn Agents, node: usize) -> Result<SocketAddr> {
    let seen = world.nodes().into_iter().nth(node);
    Ok(seen.context("there is no such node")?.storage)
}

/// What some nodes hold the one at an address to be, each.
pub(crate) fn held_at(
    world: &mut dyn Mbeans,
    by: Vec<usize>,
    address: SocketAddr,
    limit: Duration,
) -> Result<Vec<Option<MemberStatus>>> {
    let standing = |by| {
        let mut all = world.members(by, limit)?.all;
        Ok(all.remove(&address).map(|one| one.standing))
    };
    by.into_iter().map(standing).collect()
}

/// That in words.
pub(crate) fn words(held: &[Option<MemberStatus>]) -> String {
    let words = |standing: &Option<MemberStatus>| standing.map_or("no member", MemberStatus::words);
    let mut said: Vec<&str> = held.iter().map(words).collect();
    said.dedup();
    format!("the others hold it to be {}", said.join(", "))
}

/// What all other nodes hold a node to be: whole if it is up and normal for all of them.
pub(crate) fn held(
    world: &mut dyn World,
    node: usize,
    limit: Duration,
    is_broken: fn(Option<MemberStatus>) -> bool,
) -> Observation {
    let held = another(world, node).and_then(|_| {
        let by = others(world, Some(node));
        let address = storage(world, node)?;
        held_at(world, by, address, limit)
    });
    let looked = held.map(|held| Observation {
        broken: Some(held.iter().all(|one| is_broken(*one))),
        whole: Some(held.iter().all(|one| *one == Some(MemberStatus::Normal))),
        words: words(&held),
    });
    observation::or_unseen("the other nodes", looked)
}

/// Whether nothing stands in the folders of a node's data: then it is broken.
pub(crate) fn emptied(world: &mut dyn NodeFiles, node: usize) -> Observation {
    let looked = world.is_empty(node).map(|is_empty| Observation {
        broken: Some(is_empty),
        whole: Some(!is_empty),
        words: if is_empty {
            "its folders are empty".to_owned()
        } else {
            "there is data in its folders".to_owned()
        },
    });
    observation::or_unseen("its folders", looked)
}

/// What was seen; that all is whole again needs the word of all other nodes, too.
pub(crate) fn and_back(
    world: &mut dyn World,
    seen: Observation,
    node: usize,
    limit: Duration,
) -> Observation {
    let back = seen.and(|| held(world, node, limit, |_| false));
    and_settled(world, back, node, limit)
}

/// What was seen; that all is whole again needs the word of all other nodes that it is up, if
/// there are any.
pub(crate) fn and_known(
    world: &mut dyn World,
    seen: Observation,
    node: usize,
    limit: Duration,
) -> Observation {
    if others(world, Some(node)).is_empty() {
        seen
    } else {
        seen.and(|| held(world, node, limit, |_| false))
    }
}

/// Whether a node that answers clients is down for all others.
pub(crate) fn is_shunned(world: &mut dyn World, node: usize) -> bool {
    let is_down = |one| one == Some(MemberStatus::Down);
    world.ask(node, TOLD_WITHIN).is_ok()
        && held(world, node, TOLD_WITHIN, is_down).broken == Some(true)
}

/// What was seen; that all is whole again needs the node's own word that it streams nothing more.
pub(crate) fn and_settled(
    world: &mut dyn Mbeans,
    seen: Observation,
    node: usize,
    limit: Duration,
) -> Observation {
    seen.and(|| observation::or_unseen("it", settled(world, node, limit)))
}

pub(crate) fn settled(world: &mut dyn Mbeans, node: usize, limit: Duration) -> Result<Observation> {
    let own = world.members(node, limit)?;
    let is_settled = own.mode == "NORMAL" && own.streams_count == 0;
    Ok(Observation {
        broken: Some(!is_settled),
        whole: Some(is_settled),
        words: format!(
            "it calls itself {} with {} streams",
            own.mode, own.streams_count
        ),
    })
}

/// Whether a node streams its data.
pub(crate) fn is_streaming(world: &mut dyn Mbeans, node: usize) -> bool {
    let own = world.members(node, TOLD_WITHIN);
    own.is_ok_and(|own| own.streams_count > 0)
}

/// What a node was told to do and has not done yet.
#[derive(Default)]
pub(crate) struct PendingOperation(Option<usize>);

impl PendingOperation {
    pub fn tell(world: &mut dyn Mbeans, node: usize, what: Operation) -> Result<PendingOperation> {
        world.operate(node, what, LEFT_WITHIN)?;
        Ok(PendingOperation(Some(node)))
    }

    /// What came of it, when it has ended.
    pub fn proceed(&mut self, world: &mut dyn Mbeans) -> Result<Work> {
        let Some(ended) = self.0.and_then(|node| world.operated(node)) else {
            return Ok(Work::Going);
        };
        self.0 = None;
        ended.map(Work::Done)
    }

    /// Heals when it has ended.
    pub fn heal(&mut self, world: &mut dyn World) -> Result<Healed> {
        match self.0.take() {
            Some(node) => heal_after(world, node),
            None => world.heal(),
        }
    }
}

/// Waits until a node has done what it was told to, and heals then; what came of it, said.
fn heal_after(world: &mut dyn World, at_work: usize) -> Result<Healed> {
    let until_ns = world.now_ns() + LEFT_WITHIN.as_nanos() as u64;
    let ended = loop {
        if let Some(ended) = world.operated(at_work) {
            break ended;
        }
        // Its answer may never come: the network has gone with its host.
        if observation::process(world, at_work, |state| state.is_some()).broken != Some(true) {
            break Err(anyhow::anyhow!("node {} is gone", at_work + 1));
        }
        if world.now_ns() >= until_ns || host::process::is_interrupted() {
            break Err(anyhow::anyhow!("node {} is still at work", at_work + 1));
        }
        world.wait(POLL);
    };
    let mended = world.heal()?;
    let words = ended.unwrap_or_else(|error| format!("it was told to and has not: {error:#}"));
    let became = [Some(words), mended.became].into_iter().flatten();
    Ok(Healed {
        became: Some(became.collect::<Vec<_>>().join("; ")),
        ..mended
    })
}
