//! Rolling restarts for several kinds of faults. Each node restarts when the previous one is up.

use crate::behaviour::Work;
use crate::cluster_under_test::{Agents, ExecutedBy, HealResult, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result, bail};
use host::process::Identity;
use host::{Query, QueryAnswer};
use std::time::Duration;
use target_spec::fault::START_LIMIT;
use target_spec::{NodeIndex, PerNode};

const LIMIT: Duration = Duration::from_secs(5);

/// Time after which an agent restarts a node whose controller has disappeared during the restart.
pub(crate) const TURN_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Round {
    nodes: Vec<NodeIndex>,
    done_count: usize,
    turn: Option<Turn>,
    began_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    node: NodeIndex,
    before: Option<Identity>,
    began_ns: u64,
    started_ns: u64,
}

impl Round {
    pub fn new(nodes: Vec<NodeIndex>) -> Round {
        Round {
            nodes,
            done_count: 0,
            turn: None,
            began_ns: None,
        }
    }

    /// Returns the nodes that have been restarted or are restarting, in order.
    pub fn touched(&self) -> Vec<NodeIndex> {
        let count = self.done_count + usize::from(self.turn.is_some());
        self.nodes[..count.min(self.nodes.len())].to_vec()
    }

    /// Heals the faults of nodes that were not started again. The result contains all restarted
    /// nodes, because they may still be starting.
    pub fn heal(&self, world: &mut dyn Agents) -> Result<HealResult> {
        let mut mended = world.heal()?;
        mended.started.extend(self.touched());
        Ok(mended)
    }

    /// Continues the rolling restart. `restart` stops and starts the next node. `holds` checks
    /// further conditions of a node that is up.
    pub fn proceed(
        &mut self,
        world: &mut dyn World,
        restart: &mut dyn FnMut(&mut dyn World, NodeIndex) -> Result<()>,
        holds: &dyn Fn(&mut dyn World, NodeIndex) -> Result<()>,
    ) -> Result<Work> {
        let now_ns = world.now_ns();
        let round_ns = *self.began_ns.get_or_insert(now_ns);
        let Some(turn) = self.turn else {
            let Some(node) = self.nodes.get(self.done_count).copied() else {
                let count = self.nodes.len();
                return Ok(Work::Done(match count {
                    1 => "cassay restarted 1 node".to_owned(),
                    _ => format!("cassay restarted {count} nodes, one by one"),
                }));
            };
            let mut turn = Turn {
                node,
                before: observation::process_of(world, node),
                began_ns: now_ns,
                started_ns: now_ns,
            };
            self.turn = Some(turn);
            restart(world, node).with_context(|| format!("restart {}", node.name()))?;
            turn.started_ns = world.now_ns();
            self.turn = Some(turn);
            return Ok(Work::Going);
        };
        let name = turn.node.name();
        if let Err(why) = is_up(world, turn.node) {
            let is_late = now_ns - turn.started_ns >= START_LIMIT.as_nanos() as u64;
            observation::still_starting(world, turn.node, &name)?;
            if is_late {
                let limit_s = START_LIMIT.as_secs();
                return Err(
                    why.context(format!("{name} was not up within {limit_s} s of its start"))
                );
            }
            return Ok(Work::Going);
        }
        if turn.before.is_some_and(|before| lives(world, turn.node, before) != Ok(false)) {
            bail!("{name} did not restart: its earlier process still runs");
        }
        holds(world, turn.node)?;
        self.turn = None;
        self.done_count += 1;
        let since_s = |ns: u64, from_ns: u64| ns.saturating_sub(from_ns) as f64 / 1e9;
        Ok(Work::Did(format!(
            "cassay stopped {name} {:.1} s after the start of the fault, and started it {:.1} s \
             later. It was up for clients and the other nodes {:.1} s after that",
            since_s(turn.began_ns, round_ns),
            since_s(turn.started_ns, turn.began_ns),
            since_s(now_ns, turn.started_ns)
        )))
    }
}

/// Queries a host's kernel whether a node's process still exists.
fn lives(world: &mut dyn Agents, node: NodeIndex, process: Identity) -> Result<bool, String> {
    match world.see(ExecutedBy::Node(node), Query::Process(process)) {
        Ok(QueryAnswer::Process(state)) => Ok(state.is_some()),
        Ok(other) => Err(observation::other_answer(&other).to_string()),
        Err(error) => Err(format!("{error:#}")),
    }
}

/// Checks that a node answers a client, and that all nodes consider each other up.
fn is_up(world: &mut dyn World, node: NodeIndex) -> Result<()> {
    world.ask(node, LIMIT)?;
    each_other(world)
}

fn each_other(world: &mut dyn World) -> Result<()> {
    let nodes = world.nodes();
    for node in nodes.indexes() {
        let live = world.live(node, LIMIT)?;
        let is_missing =
            |other: &NodeIndex| !live.contains(&nodes[*other].storage.ip().to_string());
        if let Some(other) = nodes.indexes().find(is_missing) {
            bail!("{} considers {} down", node.name(), other.name());
        }
    }
    Ok(())
}

/// Observes all nodes as a client, and by their views of each other. The target is healthy if all
/// nodes are up.
pub(crate) fn all_up(world: &mut dyn World, limit: Duration) -> Observation {
    let clients = observation::all_clients(world, limit);
    if !clients.is_whole() {
        return clients;
    }
    match each_other(world) {
        Ok(()) => Observation {
            fault: Presence::Absent,
            target: Health::Whole,
            words: "all nodes answer clients and consider each other up".to_owned(),
        },
        Err(error) => Observation {
            fault: Presence::Present,
            target: Health::Impaired,
            words: format!("{error:#}"),
        },
    }
}

/// Observes in the hosts' kernels which processes in `before` have ended. The fault is present if
/// at least one node has another process. This observation does not show the health of the target.
pub(crate) fn others(world: &mut dyn Agents, before: &PerNode<Option<Identity>>) -> Observation {
    let (mut new, mut unknown) = (Vec::new(), Vec::new());
    for (node, process) in before.pairs() {
        let Some(process) = process else { continue };
        match lives(world, node, *process) {
            Ok(true) => {}
            Ok(false) => new.push(node.name()),
            Err(error) => unknown.push(format!("{} ({error})", node.name())),
        }
    }
    let said = if new.is_empty() {
        "every node still runs as the earlier process".to_owned()
    } else {
        format!("the earlier process of {} has ended", new.join(", "))
    };
    Observation {
        fault: match (new.is_empty(), unknown.is_empty()) {
            (false, _) => Presence::Present,
            (true, true) => Presence::Absent,
            (true, false) => Presence::Unknown,
        },
        target: Health::Whole,
        words: if unknown.is_empty() {
            said
        } else {
            format!("{said}; cassay could not reach {}", unknown.join(", "))
        },
    }
}

/// Adds the condition for a healthy target that all nodes are up.
pub(crate) fn and_all_up(world: &mut dyn World, seen: Observation, limit: Duration) -> Observation {
    seen.confirm(all_up(world, limit))
}
