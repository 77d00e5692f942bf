//! Status of a target's nodes as in `nodetool status`: state, load, tokens, and ownership of a
//! keyspace.
//!
//! The sources are `system.local`, `system.peers_v2`, and gossip from `system_views.gossip_info`
//! (since Cassandra 4.1). Accessible MBeans provide the view of the failure detector and the exact
//! load. Unknown values are absent. A node that is down never makes the query fail.

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

/// Time limit of each response. The limit is low, so that a node that is down does not delay the
/// status of other nodes.
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

#[derive(Clone, Debug, PartialEq)]
pub struct NodeState {
    pub node: String,
    /// State as in nodetool, such as `UN`, `DN` or `UJ`. The first letter means Up or Down, the
    /// second one Normal, Joining, Leaving or Moving. `?` is unknown.
    pub state: String,
    /// True if the node answers CQL.
    pub answers: bool,
    /// Size of the node's SSTables, in bytes. A value from gossip may be a minute old.
    pub load_bytes: Option<u64>,
    /// Number of tokens that the node owns. `None` if unknown.
    pub tokens: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// In the order of the cluster's nodes.
    pub nodes: Vec<NodeState>,
    /// Each node's share of the ring by its primary token ranges. The shares of the whole ring add
    /// up to 1.
    pub primary: BTreeMap<String, f64>,
    /// Ownership by keyspace and node name. 1.0 means a complete copy of the data.
    pub owned: BTreeMap<String, BTreeMap<String, f64>>,
    /// One sentence for each failed query or inconsistency.
    pub problems: Vec<String>,
}

pub struct StatusView {
    /// In the order of the nodes.
    pub states: Vec<NodeState>,
    /// Nodes of the ring, according to the first node that answers.
    ring: Vec<NodeInfo>,
    /// Replication of every keyspace, according to the same node as `ring`.
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

/// Opens sessions with all nodes in parallel. `None` if a node does not answer.
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
    /// Returns the state of this node, from its own answers and from the answers of the first node
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
            // The peer tables of other nodes contain the tokens of a node that has joined.
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

/// Reads the load from virtual tables, in whole MiB per table. A new node provides these tables
/// immediately, but gossips its load only after a minute.
fn load_by_tables(session: &mut Session) -> Option<u64> {
    let tables = session.query("SELECT mebibytes FROM system_views.disk_usage").ok()?;
    let sizes = tables.rows.iter().map(|row| row.first()?.as_i64());
    let mebibytes: i64 = sizes.sum::<Option<i64>>()?;
    u64::try_from(mebibytes).ok()?.checked_mul(1 << 20)
}

/// Returns the states and the ownership of `keyspace`. `None` means all user keyspaces.
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

/// Returns the shares of `nodes` by node name. The ring may contain other nodes.
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
