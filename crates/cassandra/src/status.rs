//! Status of a target's nodes as `nodetool status` shows it: state, load, tokens, and ownership of
//! a keyspace.
//!
//! All information comes over CQL: availability, the ring from `system.local` and
//! `system.peers_v2`, and gossip from `system_views.gossip_info`, which exists since Cassandra 4.1.
//! If MBeans are accessible, they provide the state in the failure detector and the exact load.
//! Unknown values are absent, and the query never fails because a node is down.

mod gossip;

use crate::joined_nodes::joined_nodes;
use crate::jolokia::Jolokia;
use crate::node::Node;
use crate::node_info::NodeInfo;
use crate::ring::{Replication, Ring};
use crate::session::Session;
use anyhow::{Context, Result};
use cql::value::Value;
use gossip::{Gossip, Mode};
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit of each answer. The limit is low, so that a node that is down does not delay the
/// status of the other nodes.
const LIMIT: Duration = Duration::from_secs(2);

/// Cassandra's own keyspaces, whose ownership is not shown.
const SYSTEM_KEYSPACES: [&str; 8] = [
    "system",
    "system_auth",
    "system_cluster_metadata",
    "system_distributed",
    "system_schema",
    "system_traces",
    "system_views",
    "system_virtual_schema",
];

/// Status of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    /// Name of the node.
    pub node: String,
    /// State of the node as in nodetool, such as `UN`, `DN` or `UJ`. The first letter is Up or
    /// Down. The second one is Normal, Joining, Leaving or Moving. `?` represents an unknown
    /// letter.
    pub state: String,
    /// True if the node answers CQL.
    pub answers: bool,
    /// Size of the node's SSTables, in bytes. A value from gossip may be a minute old.
    pub load_bytes: Option<u64>,
    /// Number of tokens that the node owns. `None` if no node reports this number.
    pub tokens: Option<usize>,
}

/// Status of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// Nodes, in the order of the cluster.
    pub nodes: Vec<NodeState>,
    /// Share of the ring in the primary token ranges of each node. The shares add up to 1 over the
    /// whole ring.
    pub primary: BTreeMap<String, f64>,
    /// Ownership by keyspace and node. A node with an ownership of 1.0 stores a complete copy of
    /// the data.
    pub owned: BTreeMap<String, BTreeMap<String, f64>>,
    /// Failed queries and inconsistencies, with one sentence for each.
    pub problems: Vec<String>,
}

/// Answers of a cluster's nodes at one moment.
pub struct StatusView {
    /// States of the nodes, in the order of the nodes.
    pub states: Vec<NodeState>,
    /// Nodes of the ring, as reported by the first node that answers.
    ring: Vec<NodeInfo>,
    /// Replication of every keyspace, as reported by the node that reported the ring.
    keyspaces: BTreeMap<String, BTreeMap<String, String>>,
    problems: Vec<String>,
}

/// Requests the states from all nodes, and the ring from the first node that answers.
pub fn look(nodes: &[Node<'_>]) -> StatusView {
    let mut sessions = open_all(nodes);
    let mut looked = StatusView {
        states: Vec::with_capacity(nodes.len()),
        ring: Vec::new(),
        keyspaces: BTreeMap::new(),
        problems: Vec::new(),
    };
    let mut gossip = Gossip::default();
    if let Some(first) = sessions.iter().position(Option::is_some)
        && let Some(session) = &mut sessions[first]
    {
        let mut learn = || -> Result<()> {
            looked.ring = joined_nodes(session)?;
            looked.keyspaces = replications(session)?;
            gossip = gossip::read(session, nodes[first].mbeans.as_ref().ok().copied())?;
            Ok(())
        };
        if let Err(error) = learn() {
            let name = nodes[first].name();
            let problem = format!("{name} does not report the state of the cluster: {error:#}");
            looked.problems.push(problem);
        }
    }
    for (node, session) in nodes.iter().zip(&mut sessions) {
        let session = session.as_mut();
        match (session.is_some(), gossip.is_live(node.info.address)) {
            (true, Some(false)) => looked.problems.push(format!(
                "{} answers CQL, but the other nodes consider it down",
                node.name()
            )),
            (false, Some(true)) => looked.problems.push(format!(
                "the other nodes consider {} up, but it does not answer CQL",
                node.name()
            )),
            _ => {}
        }
        looked.states.push(node.state(session, &gossip, &looked.ring));
    }
    looked
}

/// Opens a session with every node that answers, in parallel.
fn open_all(nodes: &[Node<'_>]) -> Vec<Option<Session>> {
    let open = |node: &Node<'_>| {
        let mut session = Session::open(node.info.address, node.access, LIMIT).ok()?;
        session.query("SELECT key FROM system.local").ok()?;
        Some(session)
    };
    std::thread::scope(|scope| {
        let asked: Vec<_> = nodes.iter().map(|node| scope.spawn(move || open(node))).collect();
        let answers = asked.into_iter().map(|thread| thread.join().ok().flatten());
        answers.collect()
    })
}

impl Node<'_> {
    /// Returns the state of this node. Uses the answers of this node, and those of the first node
    /// that answered.
    fn state(
        &self,
        session: Option<&mut Session>,
        gossip: &Gossip,
        ring: &[NodeInfo],
    ) -> NodeState {
        let address = self.info.address;
        let answers = session.is_some();
        let in_ring = ring.iter().find(|other| other.address == address);
        let up = if gossip.is_live(address).unwrap_or(answers) {
            'U'
        } else {
            'D'
        };
        let mode = match (gossip.mode(address), in_ring) {
            (Some(mode), _) => mode.letter(),
            // When a node has joined, the peer tables of other nodes contain its tokens.
            (None, Some(_)) => Mode::Normal.letter(),
            (None, None) => '?',
        };
        let agent = self.mbeans.as_ref().ok();
        let load = agent
            .and_then(|agent| load_by_agent(agent))
            .or_else(|| gossip.load_bytes(address));
        NodeState {
            node: self.name().to_owned(),
            state: format!("{up}{mode}"),
            answers,
            load_bytes: load.or_else(|| load_by_tables(session?)),
            tokens: in_ring.map(|found| found.tokens.len()),
        }
    }

    /// Requests the members of the ring, and the replication of a keyspace.
    ///
    /// # Errors
    /// The node does not answer, the keyspace does not exist, or its replication strategy is
    /// unknown.
    pub fn owners(&self, keyspace: &str) -> Result<(Vec<NodeInfo>, Replication)> {
        let mut session = self.session()?;
        let ring = joined_nodes(&mut session)?;
        let keyspaces = replications(&mut session)?;
        let replication =
            keyspaces.get(keyspace).with_context(|| no_keyspace(keyspace, &keyspaces))?;
        let replication = Replication::parse(replication)
            .with_context(|| format!("read the owners of {keyspace}"))?;
        Ok((ring, replication))
    }
}

fn load_by_agent(agent: &Jolokia) -> Option<u64> {
    const LOAD: &str = "org.apache.cassandra.metrics:type=Storage,name=Load";
    let answer = agent.read(&[(LOAD, "Count")]).ok()?;
    answer.into_iter().next()??.as_u64()
}

/// Reads the load from virtual tables, in whole MiB per table. A new node does not gossip its load
/// for a minute, but provides these tables from the start.
fn load_by_tables(session: &mut Session) -> Option<u64> {
    let tables = session.query("SELECT mebibytes FROM system_views.disk_usage").ok()?;
    let sizes = tables.rows.iter().map(|row| row.first()?.as_i64());
    let mebibytes: i64 = sizes.sum::<Option<i64>>()?;
    u64::try_from(mebibytes).ok()?.checked_mul(1 << 20)
}

/// Returns states and ownership from the answers at one moment. Returns the ownership of
/// `keyspace`, or of all user keyspaces if `keyspace` is `None`.
pub fn overview(nodes: &[NodeInfo], looked: StatusView, keyspace: Option<&str>) -> Overview {
    let mut overview = Overview {
        nodes: looked.states,
        primary: shares(nodes, &looked.ring, Ring::primary_shares),
        owned: BTreeMap::new(),
        problems: looked.problems,
    };
    if looked.ring.is_empty() {
        return overview;
    }
    let is_wanted = |name: &str| match keyspace {
        Some(wanted) => name == wanted,
        None => !SYSTEM_KEYSPACES.contains(&name),
    };
    for (name, replication) in looked.keyspaces.iter().filter(|(name, _)| is_wanted(name)) {
        match Replication::parse(replication) {
            Ok(replication) => {
                let shares = shares(nodes, &looked.ring, |ring| ring.shares(&replication));
                overview.owned.insert(name.clone(), shares);
            }
            Err(error) => overview.problems.push(format!("{name}: {error:#}")),
        }
    }
    if let Some(wanted) = keyspace
        && !looked.keyspaces.contains_key(wanted)
    {
        overview.problems.push(no_keyspace(wanted, &looked.keyspaces));
    }
    overview
}

/// Returns the shares by node name, for the nodes in `nodes`. The ring may also contain other
/// nodes.
pub fn shares(
    nodes: &[NodeInfo],
    ring: &[NodeInfo],
    of: impl Fn(&Ring) -> Vec<f64>,
) -> BTreeMap<String, f64> {
    let shares = of(&Ring::new(ring));
    let name_of = |member: &NodeInfo| {
        let known = nodes.iter().find(|node| node.address == member.address);
        known.map(|node| node.name.clone())
    };
    let named = ring.iter().zip(shares);
    named.filter_map(|(member, share)| Some((name_of(member)?, share))).collect()
}

fn no_keyspace(name: &str, all: &BTreeMap<String, BTreeMap<String, String>>) -> String {
    let is_own = |name: &&str| !SYSTEM_KEYSPACES.contains(name);
    let known: Vec<&str> = all.keys().map(String::as_str).filter(is_own).collect();
    let known = match known.as_slice() {
        [] => "only Cassandra's own".to_string(),
        known => known.join(", "),
    };
    format!("keyspace {name} does not exist; the keyspaces are: {known}")
}

/// Returns the replication map of every keyspace.
///
/// # Errors
/// The node does not answer.
pub fn replications(session: &mut Session) -> Result<BTreeMap<String, BTreeMap<String, String>>> {
    let cql = "SELECT keyspace_name, replication FROM system_schema.keyspaces";
    let found = session.query(cql).context("read the keyspaces")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let keyspace = |row: &Vec<Value>| -> Option<(String, BTreeMap<String, String>)> {
        let [name, Value::Map(pairs)] = row.as_slice() else {
            return None;
        };
        let pairs = pairs.iter().map(|(key, value)| (text(key), text(value)));
        Some((text(name), pairs.collect()))
    };
    Ok(found.rows.iter().filter_map(keyspace).collect())
}
