//! Observations of a fault's target, independent of the injector.

use crate::cluster_under_test::{Agents, Client, ExecutedBy, NodeSeen, World};
use anyhow::{Context, Error, Result, ensure};
use host::process::Identity;
use host::{Attempt, DiskWork, Query, QueryAnswer, Reach, Restartable};
use std::net::SocketAddr;
use std::time::Duration;
use target_spec::fault::Hit;

/// An observation at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Observation {
    /// True if the fault is visible. `None` if it could not be observed.
    pub broken: Option<bool>,
    /// True if the target is whole. `None` if it could not be observed.
    pub whole: Option<bool>,
    /// Description of the observation.
    pub words: String,
}

impl Observation {
    /// Combines two independent observations: broken or whole only if both agree.
    pub fn combine(one: Observation, other: Observation) -> Observation {
        Observation {
            broken: both(one.broken, other.broken),
            whole: both(one.whole, other.whole),
            words: format!("{}, {}", one.words, other.words),
        }
    }

    /// Adds another observer, which must confirm the whole state. cassay queries it only if the
    /// others see the target intact.
    pub fn and(self, other: impl FnOnce() -> Observation) -> Observation {
        if self.whole != Some(true) {
            return self;
        }
        let broken = self.broken;
        Observation {
            broken,
            ..Observation::combine(self, other())
        }
    }
}

/// Returns true if both are true. `None` if unknown.
pub(crate) fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Returns a failed observation.
pub(crate) fn unseen(who: &str, error: &Error) -> Observation {
    Observation {
        broken: None,
        whole: None,
        words: format!("cassay could not query {who} ({error:#})"),
    }
}

/// Observes a node's process in the kernel. `is_broken` judges its state letter, or `None` without
/// a process.
pub(crate) fn process(
    world: &mut dyn Agents,
    node: usize,
    is_broken: fn(Option<char>) -> bool,
) -> Observation {
    let seen = world.nodes().get(node).cloned();
    let state = match seen.as_ref().and_then(|node| node.process) {
        None if seen.is_some_and(|node| !node.is_ours) => {
            Err(anyhow::anyhow!("cassay has not found its process yet"))
        }
        // The process was never started.
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
            broken: Some(is_broken(state)),
            whole: Some(!is_broken(state)),
            words: match state {
                Some(state) => format!("the kernel reports its process as {state}"),
                None => "its process no longer exists".to_owned(),
            },
        },
    }
}

/// Observes a node as a client: broken if it does not answer.
pub(crate) fn client(world: &mut dyn Client, node: usize, limit: Duration) -> Observation {
    let answer = world.ask(node, limit);
    Observation {
        broken: Some(answer.is_err()),
        whole: Some(answer.is_ok()),
        words: match answer {
            Ok(()) => "it answers a client".to_owned(),
            Err(error) => format!("it does not answer a client ({})", short(&error)),
        },
    }
}

/// Returns the process of a node, if known.
pub(crate) fn process_of(world: &dyn Agents, node: usize) -> Option<Identity> {
    world.nodes().get(node).and_then(|node| node.process)
}

/// Refuses to wait any longer for a starting node whose process has ended.
pub(crate) fn still_starting(world: &mut dyn Agents, node: usize, name: &str) -> Result<()> {
    let ended = process(world, node, |state| state.is_none()).broken == Some(true);
    ensure!(
        !ended,
        "{name} ended during its start: its log contains the reason"
    );
    Ok(())
}

/// Returns the process of a running node.
pub(crate) fn running(world: &dyn Agents, node: usize) -> Result<Identity> {
    let process = world.nodes().get(node).and_then(|node| node.process);
    process.context("the node does not run")
}

/// Returns the target nodes.
pub(crate) fn nodes_hit(hit: &Hit, world: &dyn Agents) -> Vec<usize> {
    match hit {
        Hit::Node(index) => vec![*index],
        Hit::Host(host) => {
            let on_host = nodes_on(world, *host).into_iter();
            on_host.map(|(index, _)| index).collect()
        }
        Hit::Split(..) => Vec::new(),
        Hit::Nodes(nodes) => nodes.clone(),
        Hit::Cluster => (0..world.nodes().len()).collect(),
    }
}

/// Returns the nodes of a host, with their indices.
pub(crate) fn nodes_on(world: &dyn Agents, host: usize) -> Vec<(usize, NodeSeen)> {
    let nodes = world.nodes().into_iter().enumerate();
    nodes.filter(|(_, node)| node.host == Some(host)).collect()
}

/// Returns the running nodes of a host, with the commands that start them again.
pub(crate) fn restartables(
    world: &dyn World,
    host: usize,
) -> Result<(Vec<usize>, Vec<Restartable>)> {
    let nodes = nodes_on(world, host).into_iter();
    let running = nodes.filter(|(_, node)| node.process.is_some());
    let indexes: Vec<usize> = running.map(|(index, _)| index).collect();
    let all = indexes.iter().map(|index| world.restartable(*index)).collect::<Result<_>>()?;
    Ok((indexes, all))
}

/// Observes all nodes of a host as a client: broken if none answers, whole if all do.
pub(crate) fn clients(world: &mut dyn World, host: usize, limit: Duration) -> Observation {
    let nodes = nodes_on(world, host);
    let looks: Vec<Observation> =
        nodes.iter().map(|(index, _)| client(world, *index, limit)).collect();
    let words: Vec<&str> = looks.iter().map(|look| look.words.as_str()).collect();
    Observation {
        broken: Some(looks.iter().all(|look| look.broken == Some(true))),
        whole: Some(looks.iter().all(|look| look.whole == Some(true))),
        words: words.join(", "),
    }
}

/// Observes all nodes as a client: broken if one does not answer, whole if all do.
pub(crate) fn all_clients(world: &mut dyn World, limit: Duration) -> Observation {
    let count = world.nodes().len();
    let looks: Vec<Observation> = (0..count).map(|node| client(world, node, limit)).collect();
    let silent = |(node, look): (usize, &Observation)| {
        (look.whole != Some(true)).then(|| format!("node{}: {}", node + 1, look.words))
    };
    let silent: Vec<String> = looks.iter().enumerate().filter_map(silent).collect();
    let is_whole = silent.is_empty();
    Observation {
        broken: Some(!is_whole),
        whole: Some(is_whole),
        words: if is_whole {
            "all nodes answer clients".to_owned()
        } else {
            silent.join(", ")
        },
    }
}

/// Returns the name of a host.
pub(crate) fn host_name(world: &dyn Agents, host: usize) -> String {
    world.hosts().into_iter().nth(host).map(|host| host.name).unwrap_or_default()
}

/// Returns another host, and the internode address of a node on the given host.
pub(crate) fn other_way(world: &dyn Agents, host: usize) -> Result<(usize, SocketAddr)> {
    let nodes = nodes_on(world, host);
    let (_, node) = nodes.first().context("no node is on that host")?;
    let mut others = (0..world.hosts().len()).filter(|other| *other != host);
    let other = others.next().context("no other host can observe it")?;
    Ok((other, node.storage))
}

/// Observes if another host reaches a host.
pub(crate) fn others_reach(world: &mut dyn Agents, host: usize, limit: Duration) -> Observation {
    let looked = other_way(world, host).and_then(|(other, _)| way(world, other, host, limit));
    or_unseen("another host", looked)
}

/// Observes if a host can connect to a node of another host.
fn way(world: &mut dyn Agents, from: usize, to: usize, limit: Duration) -> Result<Observation> {
    let nodes = nodes_on(world, to);
    let (_, node) = nodes.first().context("no node is on that host")?;
    let address = node.storage;
    let reach = match world.see(ExecutedBy::Host(from), Query::Reach { address, limit })? {
        QueryAnswer::Reach(reach) => reach,
        other => return Err(other_answer(&other)),
    };
    let (from, to) = (host_name(world, from), host_name(world, to));
    Ok(Observation {
        broken: Some(!reach.is_open()),
        whole: Some(matches!(reach, Reach::Reached(_))),
        words: match reach {
            Reach::Reached(_) => format!("{from} reaches {to}"),
            Reach::Refused => format!("{to} refuses connections from {from}"),
            Reach::Silent => format!("{from} receives no packets from {to}"),
            Reach::Unreachable => format!("{from} has no route to {to}"),
        },
    })
}

/// Minimum time limit of one attempt: long for a switch within this machine.
const WAY_LIMIT: Duration = Duration::from_millis(200);

/// Maximum number of host pairs to observe, each in both directions.
const PAIRS_MAX: usize = 6;

/// Observes the connections between two groups of hosts: broken if none works, whole if all do.
pub(crate) fn ways(
    world: &mut dyn Agents,
    some: &[usize],
    others: &[usize],
    limit: Duration,
) -> Observation {
    let pairs: Vec<(usize, usize)> = some
        .iter()
        .flat_map(|one| others.iter().map(move |other| (*one, *other)))
        .take(PAIRS_MAX)
        .collect();
    // All attempts together are one observation.
    let limit = (limit / (2 * pairs.len().max(1) as u32)).max(WAY_LIMIT);
    let both_ways = pairs.into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    let looks: Vec<Observation> = both_ways
        .map(|(from, to)| or_unseen("a host", way(world, from, to, limit)))
        .collect();
    let words: Vec<&str> = looks.iter().map(|look| look.words.as_str()).collect();
    let all = |of: fn(&Observation) -> Option<bool>| looks.iter().map(of).fold(Some(true), both);
    Observation {
        broken: all(|look| look.broken),
        whole: all(|look| look.whole),
        words: words.join(", "),
    }
}

/// Result of a disk test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskTest {
    pub write: Attempt,
    pub read: Attempt,
}

impl DiskTest {
    pub fn words(self) -> String {
        format!(
            "a write to its disk {}, a read {}",
            did(self.write),
            did(self.read)
        )
    }

    /// Returns the duration of the write if it did not fail. An unfinished write took at least
    /// `limit`.
    pub fn write_took(self, limit: Duration) -> Option<Duration> {
        took(self.write, limit)
    }

    /// Returns the duration of the read in the same way.
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

/// Tests the disk of a host.
pub(crate) fn try_disk(
    world: &mut dyn Agents,
    host: usize,
    work: DiskWork,
    limit: Duration,
) -> Result<DiskTest> {
    let folder = world
        .hosts()
        .into_iter()
        .nth(host)
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

/// Observes the disk of a host: whole if the test succeeds.
pub(crate) fn disk(
    world: &mut dyn Agents,
    host: usize,
    limit: Duration,
    is_broken: impl Fn(&DiskTest) -> bool,
) -> Observation {
    let tried = try_disk(world, host, DiskWork::default(), limit).map(|tried| Observation {
        broken: Some(is_broken(&tried)),
        whole: Some(matches!(
            (tried.write, tried.read),
            (Attempt::Took(_), Attempt::Took(_) | Attempt::None)
        )),
        words: tried.words(),
    });
    or_unseen("its disk", tried)
}

/// Observes like `disk`, but the whole state also requires answers of the host's nodes.
pub(crate) fn disk_and_nodes(
    world: &mut dyn World,
    host: usize,
    limit: Duration,
    is_broken: impl Fn(&DiskTest) -> bool,
) -> Observation {
    let disk = disk(world, host, limit, is_broken);
    disk.and(|| clients(world, host, limit))
}

/// Returns the error for an answer to another question.
pub(crate) fn other_answer(seen: &QueryAnswer) -> Error {
    anyhow::anyhow!("an agent answered a different query: {seen:?}")
}

/// Converts an error of an observation into an observation without a result.
pub(crate) fn or_unseen(who: &str, looked: Result<Observation>) -> Observation {
    looked.unwrap_or_else(|error| unseen(who, &error))
}

/// Shortens an error for a sentence.
fn short(error: &Error) -> String {
    let text = format!("{error:#}").replace('\n', " ");
    text.chars().take(120).collect()
}
