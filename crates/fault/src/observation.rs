//! Observations of a fault's target, independent of the injector.

use crate::cluster_under_test::{Agents, Client, ExecutedBy, NodeSeen, World};
use anyhow::{Context, Error, Result, ensure};
use host::process::Identity;
use host::{Attempt, DiskWork, Query, QueryAnswer, Reach, Restartable};
use std::net::SocketAddr;
use std::time::Duration;
use target_spec::fault::{Hit, Sides};
use target_spec::{HostIndex, NodeIndex, PerNode};

/// Observation at one moment.
///
/// A target may be healthy although the fault is visible, for example after a compaction that left
/// its traces. It may be impaired although the fault is not visible, for example while a node
/// starts. So an observation contains separate answers about the fault and the target.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    pub fault: Presence,
    pub target: Health,
    pub words: String,
}

/// Presence of a fault according to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Present,
    Absent,
    /// No observer could answer.
    Unknown,
}

/// Health of the target according to an observer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The target works as before the fault.
    Whole,
    /// At least a part of the target does not work.
    Impaired,
    /// No observer could answer.
    Unknown,
}

impl From<bool> for Presence {
    fn from(is_present: bool) -> Presence {
        if is_present {
            Presence::Present
        } else {
            Presence::Absent
        }
    }
}

impl Presence {
    /// Combines two observers. The fault is present only if both see it.
    pub(crate) fn and(self, other: Presence) -> Presence {
        match (self, other) {
            (Presence::Absent, _) | (_, Presence::Absent) => Presence::Absent,
            (Presence::Present, Presence::Present) => Presence::Present,
            (Presence::Unknown, _) | (_, Presence::Unknown) => Presence::Unknown,
        }
    }
}

impl From<bool> for Health {
    fn from(is_whole: bool) -> Health {
        if is_whole {
            Health::Whole
        } else {
            Health::Impaired
        }
    }
}

impl Health {
    /// Combines two observers. The target is healthy only if both see that.
    pub fn and(self, other: Health) -> Health {
        match (self, other) {
            (Health::Impaired, _) | (_, Health::Impaired) => Health::Impaired,
            (Health::Whole, Health::Whole) => Health::Whole,
            (Health::Unknown, _) | (_, Health::Unknown) => Health::Unknown,
        }
    }
}

impl Observation {
    pub fn shows_fault(&self) -> bool {
        self.fault == Presence::Present
    }

    pub fn is_whole(&self) -> bool {
        self.target == Health::Whole
    }

    /// Combines independent observations. The fault is present only if both show it, and the target
    /// is healthy only if both show that.
    pub fn combine(one: Observation, other: Observation) -> Observation {
        Observation {
            fault: one.fault.and(other.fault),
            target: one.target.and(other.target),
            words: format!("{}, {}", one.words, other.words),
        }
    }

    /// Adds an observation that must confirm the health of the target. Its answer about the fault
    /// is ignored.
    pub fn confirm(self, other: Observation) -> Observation {
        Observation {
            fault: self.fault,
            ..Observation::combine(self, other)
        }
    }

    /// Adds an observation as [`Observation::confirm`] does, but only if this observation shows a
    /// healthy target.
    pub fn and(self, other: impl FnOnce() -> Observation) -> Observation {
        if self.is_whole() {
            self.confirm(other())
        } else {
            self
        }
    }
}

pub(crate) fn unseen(who: &str, error: &Error) -> Observation {
    Observation {
        fault: Presence::Unknown,
        target: Health::Unknown,
        words: format!("cassay could not query {who} ({error:#})"),
    }
}

/// Observes a node's process in the kernel. `is_broken` decides by the process state, or `None` for
/// a missing process, whether the fault is present.
pub(crate) fn process(
    world: &mut dyn Agents,
    node: NodeIndex,
    is_broken: fn(Option<char>) -> bool,
) -> Observation {
    let seen = world.nodes().get(node).cloned();
    let state = match seen.as_ref().and_then(|node| node.process) {
        None if seen.is_some_and(|node| !node.is_ours) => Err(anyhow::anyhow!(
            "cassay has not found the node's process yet"
        )),
        // cassay manages this node, so the node is not running.
        None => Ok(None),
        Some(process) => match world.see(ExecutedBy::Node(node), Query::Process(process)) {
            Ok(QueryAnswer::Process(state)) => Ok(state),
            Ok(other) => Err(other_answer(&other)),
            Err(error) => Err(error),
        },
    };
    match state {
        Err(error) => unseen("the kernel", &error),
        Ok(state) => Observation {
            fault: Presence::from(is_broken(state)),
            target: Health::from(!is_broken(state)),
            words: match state {
                Some(state) => format!("the kernel reports the node's process as {state}"),
                None => "the node's process no longer exists".to_owned(),
            },
        },
    }
}

/// Observes a node as a client. The fault is present if the node does not answer.
pub(crate) fn client(world: &mut dyn Client, node: NodeIndex, limit: Duration) -> Observation {
    let answer = world.ask(node, limit);
    Observation {
        fault: Presence::from(answer.is_err()),
        target: Health::from(answer.is_ok()),
        words: match answer {
            Ok(()) => "the node answers a client".to_owned(),
            Err(error) => format!("the node does not answer a client ({})", short(&error)),
        },
    }
}

pub(crate) fn process_of(world: &dyn Agents, node: NodeIndex) -> Option<Identity> {
    world.nodes().get(node).and_then(|node| node.process)
}

/// Fails if the process of a starting node has ended, so that waiting is useless.
pub(crate) fn still_starting(world: &mut dyn Agents, node: NodeIndex, name: &str) -> Result<()> {
    let ended = process(world, node, |state| state.is_none()).shows_fault();
    ensure!(
        !ended,
        "{name} ended during its start: its log contains the reason"
    );
    Ok(())
}

pub(crate) fn running(world: &dyn Agents, node: NodeIndex) -> Result<Identity> {
    let process = world.nodes().get(node).and_then(|node| node.process);
    process.context("the node is not running")
}

pub(crate) fn nodes_hit(hit: &Hit, world: &dyn Agents) -> Vec<NodeIndex> {
    match hit {
        Hit::Node(index) => vec![*index],
        Hit::Host(host) => {
            let on_host = nodes_on(world, *host).into_iter();
            on_host.map(|(index, _)| index).collect()
        }
        Hit::Split(_) => Vec::new(),
        Hit::Nodes(nodes) => nodes.clone(),
        Hit::Cluster => world.nodes().indexes().collect(),
    }
}

pub(crate) fn nodes_on(world: &dyn Agents, host: HostIndex) -> Vec<(NodeIndex, NodeSeen)> {
    let nodes = world.nodes().into_pairs();
    nodes.filter(|(_, node)| node.host == Some(host)).collect()
}

/// Returns the running nodes of a host, with the commands that restart them.
pub(crate) fn restartables(
    world: &dyn World,
    host: HostIndex,
) -> Result<(Vec<NodeIndex>, Vec<Restartable>)> {
    let nodes = nodes_on(world, host).into_iter();
    let running = nodes.filter(|(_, node)| node.process.is_some());
    let indexes: Vec<NodeIndex> = running.map(|(index, _)| index).collect();
    let all = indexes.iter().map(|index| world.restartable(*index)).collect::<Result<_>>()?;
    Ok((indexes, all))
}

/// Observes all nodes of a host as a client. The fault is present if no node answers, and the
/// target is healthy if all nodes answer.
pub(crate) fn clients(world: &mut dyn World, host: HostIndex, limit: Duration) -> Observation {
    let nodes = nodes_on(world, host);
    let looks: Vec<Observation> =
        nodes.iter().map(|(index, _)| client(world, *index, limit)).collect();
    let words: Vec<&str> = looks.iter().map(|look| look.words.as_str()).collect();
    Observation {
        fault: Presence::from(looks.iter().all(Observation::shows_fault)),
        target: Health::from(looks.iter().all(Observation::is_whole)),
        words: words.join(", "),
    }
}

/// Observes all nodes as a client. The fault is present if a node does not answer, and the target
/// is healthy if all nodes answer.
pub(crate) fn all_clients(world: &mut dyn World, limit: Duration) -> Observation {
    let nodes = world.nodes().indexes();
    let looks: PerNode<Observation> = nodes.map(|node| client(world, node, limit)).collect();
    let silent = |(node, look): (NodeIndex, &Observation)| {
        (!look.is_whole()).then(|| format!("{}: {}", node.name(), look.words))
    };
    let silent: Vec<String> = looks.pairs().filter_map(silent).collect();
    let is_whole = silent.is_empty();
    Observation {
        fault: Presence::from(!is_whole),
        target: Health::from(is_whole),
        words: if is_whole {
            "all nodes answer clients".to_owned()
        } else {
            silent.join(", ")
        },
    }
}

pub(crate) fn host_name(world: &dyn Agents, host: HostIndex) -> String {
    world.hosts().take(host).map(|host| host.name).unwrap_or_default()
}

/// Returns another host, and the internode address of a node on `host`.
pub(crate) fn other_way(world: &dyn Agents, host: HostIndex) -> Result<(HostIndex, SocketAddr)> {
    let nodes = nodes_on(world, host);
    let (_, node) = nodes.first().context("no node runs on that host")?;
    let mut others = world.hosts().indexes().filter(|other| *other != host);
    let other = others.next().context("no other host remains that could observe the host")?;
    Ok((other, node.storage))
}

/// Observes whether another host can connect to a node on `host`.
pub(crate) fn others_reach(
    world: &mut dyn Agents,
    host: HostIndex,
    limit: Duration,
) -> Observation {
    let looked = other_way(world, host).and_then(|(other, _)| way(world, other, host, limit));
    or_unseen("another host", looked)
}

/// Observes whether the host `from` can connect to a node on the host `to`.
fn way(
    world: &mut dyn Agents,
    from: HostIndex,
    to: HostIndex,
    limit: Duration,
) -> Result<Observation> {
    let nodes = nodes_on(world, to);
    let (_, node) = nodes.first().context("no node runs on that host")?;
    let address = node.storage;
    let reach = match world.see(ExecutedBy::Host(from), Query::Reach { address, limit })? {
        QueryAnswer::Reach(reach) => reach,
        other => return Err(other_answer(&other)),
    };
    let (from, to) = (host_name(world, from), host_name(world, to));
    Ok(Observation {
        fault: Presence::from(!reach.is_open()),
        target: Health::from(matches!(reach, Reach::Reached(_))),
        words: match reach {
            Reach::Reached(_) => format!("{from} reaches {to}"),
            Reach::Refused => format!("{to} refuses connections from {from}"),
            Reach::Silent => format!("{from} receives no packets from {to}"),
            Reach::Unreachable => format!("{from} has no route to {to}"),
        },
    })
}

/// Minimum time limit of one connection attempt. Through a switch within one machine, a connection
/// takes far less time.
const WAY_LIMIT: Duration = Duration::from_millis(200);

/// Maximum number of observed pairs of hosts, each in both directions.
const PAIRS_MAX: usize = 6;

/// Observes the connections between two groups of hosts. The fault is present if no connection
/// works, and the target is healthy if all connections work.
pub(crate) fn ways(world: &mut dyn Agents, sides: &Sides, limit: Duration) -> Observation {
    let pairs: Vec<(HostIndex, HostIndex)> = sides
        .of
        .iter()
        .flat_map(|one| sides.from.iter().map(move |other| (*one, *other)))
        .take(PAIRS_MAX)
        .collect();
    // All attempts share the time limit of the observation.
    let limit = (limit / (2 * pairs.len().max(1) as u32)).max(WAY_LIMIT);
    let both_ways = pairs.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    let looks: Vec<Observation> = both_ways
        .map(|(from, to)| or_unseen("a host", way(world, from, to, limit)))
        .collect();
    let words: Vec<&str> = looks.iter().map(|look| look.words.as_str()).collect();
    let faults = looks.iter().map(|look| look.fault);
    let targets = looks.iter().map(|look| look.target);
    Observation {
        fault: faults.fold(Presence::Present, Presence::and),
        target: targets.fold(Health::Whole, Health::and),
        words: words.join(", "),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskTest {
    pub write: Attempt,
    pub read: Attempt,
}

impl DiskTest {
    pub fn words(self) -> String {
        format!(
            "a write to the node's disk {}, a read {}",
            did(self.write),
            did(self.read)
        )
    }

    /// Returns the duration of the write, or `limit` if it has not finished. `None` if it failed.
    pub fn write_took(self, limit: Duration) -> Option<Duration> {
        took(self.write, limit)
    }

    /// Returns the duration of the read, see [`DiskTest::write_took`].
    pub fn read_took(self, limit: Duration) -> Option<Duration> {
        took(self.read, limit)
    }
}

fn took(attempt: Attempt, limit: Duration) -> Option<Duration> {
    match attempt {
        Attempt::Took(time) => Some(time),
        Attempt::Silent => Some(limit),
        Attempt::Refused(_) | Attempt::None => None,
    }
}

fn did(attempt: Attempt) -> String {
    match attempt {
        Attempt::Took(time) => format!("took {:.1} ms", time.as_secs_f64() * 1e3),
        Attempt::Refused(number) => {
            format!("failed ({})", std::io::Error::from_raw_os_error(number))
        }
        Attempt::Silent => "hung".to_owned(),
        Attempt::None => "was not tried".to_owned(),
    }
}

pub(crate) fn try_disk(
    world: &mut dyn Agents,
    host: HostIndex,
    work: DiskWork,
    limit: Duration,
) -> Result<DiskTest> {
    let folder = world
        .hosts()
        .take(host)
        .map(|host| host.folder)
        .context("the host does not exist")?;
    let sight = Query::TryDisk {
        folder,
        work,
        limit,
    };
    match world.see(ExecutedBy::Host(host), sight)? {
        QueryAnswer::Disk { write, read } => Ok(DiskTest { write, read }),
        other => Err(other_answer(&other)),
    }
}

/// Observes the disk of a host. The target is healthy if the disk test succeeds.
pub(crate) fn disk(
    world: &mut dyn Agents,
    host: HostIndex,
    limit: Duration,
    is_broken: impl Fn(&DiskTest) -> bool,
) -> Observation {
    let tried = try_disk(world, host, DiskWork::default(), limit).map(|tried| Observation {
        fault: Presence::from(is_broken(&tried)),
        target: Health::from(matches!(
            (tried.write, tried.read),
            (Attempt::Took(_), Attempt::Took(_) | Attempt::None)
        )),
        words: tried.words(),
    });
    or_unseen("its disk", tried)
}

/// Observes the disk of a host and its nodes. The target is healthy if the disk test succeeds and
/// the nodes answer.
pub(crate) fn disk_and_nodes(
    world: &mut dyn World,
    host: HostIndex,
    limit: Duration,
    is_broken: impl Fn(&DiskTest) -> bool,
) -> Observation {
    let disk = disk(world, host, limit, is_broken);
    disk.and(|| clients(world, host, limit))
}

pub(crate) fn other_answer(seen: &QueryAnswer) -> Error {
    anyhow::anyhow!("an agent answered a different query: {seen:?}")
}

/// Converts an error to an observation with unknown answers.
pub(crate) fn or_unseen(who: &str, looked: Result<Observation>) -> Observation {
    looked.unwrap_or_else(|error| unseen(who, &error))
}

fn short(error: &Error) -> String {
    let text = format!("{error:#}").replace('\n', " ");
    text.chars().take(120).collect()
}
