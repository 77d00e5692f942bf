//! Checks by CQL queries that nodes are ready. A log line only shows that the node considers itself
//! ready.

use super::node_process::LocalNode;
use anyhow::{Result, anyhow, bail};
use cassandra::{Access, Session};
use cql::Consistency;
use measure::clock::{self, Deadline};
use std::time::Duration;

/// Interval between two checks. It is short compared with a node's start of some seconds, and long
/// enough to use little CPU time.
const POLL: Duration = Duration::from_millis(100);

/// Time limit of one attempt. A starting node may accept a connection and answer slowly.
const ATTEMPT: Duration = Duration::from_secs(5);

/// Waits until one node answers a query over CQL.
///
/// # Errors
/// A node dies, the deadline passes, or the user interrupts the command. Except after an interrupt,
/// the message contains the last lines of the node's log.
pub(super) fn answers(
    nodes: &mut [LocalNode],
    index: usize,
    access: &Access,
    deadline: Deadline,
    limit: Duration,
) -> Result<()> {
    let ask = |node: &LocalNode| -> Result<()> {
        let mut session = Session::open(node.cql_address(), access, ATTEMPT)?;
        session.query("SELECT key FROM system.local").map(drop)
    };
    wait(nodes, index, deadline, limit, "did not answer CQL", ask)
}

/// Waits until one node requires a password over CQL. Before roles exist, the node cannot answer
/// queries.
///
/// # Errors
/// The errors of [`answers`].
pub(super) fn asks_for_password(
    nodes: &mut [LocalNode],
    index: usize,
    deadline: Deadline,
    limit: Duration,
) -> Result<()> {
    let ask = |node: &LocalNode| match Session::authenticator(node.cql_address(), ATTEMPT)? {
        Some(_) => Ok(()),
        None => Err(anyhow!(
            "the node accepts every user, although it should require a password"
        )),
    };
    let failure = "did not begin to require a password";
    wait(nodes, index, deadline, limit, failure, ask)
}

/// Waits until every node considers all other nodes up, and agrees with them on the schema.
///
/// One query reads at consistency level ALL from a table with two replicas. In a cluster of two or
/// three nodes, it succeeds only if the coordinator considers all nodes up.
///
/// # Errors
/// The errors of [`answers`].
pub(super) fn see_each_other(
    nodes: &mut [LocalNode],
    access: &Access,
    deadline: Deadline,
    limit: Duration,
) -> Result<()> {
    let others_count = nodes.len() - 1;
    for index in 0..nodes.len() {
        let ask = |node: &LocalNode| -> Result<()> {
            let mut session = Session::open(node.cql_address(), access, ATTEMPT)?;
            let peers = session.query("SELECT peer, schema_version FROM system.peers_v2")?;
            let known =
                peers.rows.iter().filter(|row| row.iter().all(|cell| !cell.is_null())).count();
            if known != others_count {
                return Err(anyhow!(
                    "the node has the addresses and schema versions of {known} of {others_count} \
                     other nodes"
                ));
            }
            all_live(node, others_count + 1)?;
            let all = "SELECT session_id FROM system_traces.sessions LIMIT 1";
            session.query_at(all, Consistency::All)?;
            session.wait_for_schema_agreement(Duration::ZERO)
        };
        wait(
            nodes,
            index,
            deadline,
            limit,
            "did not see the other nodes",
            ask,
        )?;
    }
    Ok(())
}

/// Checks that a node's failure detector considers `count` nodes up, including the node itself.
/// After a restart, a node lists a peer long before it considers the peer up. Does nothing without
/// a Jolokia agent.
pub(super) fn all_live(node: &LocalNode, count: usize) -> Result<()> {
    let Some(jolokia) = &node.jolokia else {
        return Ok(());
    };
    let attribute = ("org.apache.cassandra.db:type=StorageService", "LiveNodes");
    let answer = jolokia.read(&[attribute])?;
    let live = answer.first().and_then(|value| value.as_ref()?.as_array());
    match live.map(Vec::len) {
        Some(live) if live != count => {
            Err(anyhow!("the node reports {live} of {count} nodes as up"))
        }
        _ => Ok(()),
    }
}

/// Repeats `ask` for one node until it succeeds, as long as all nodes are alive.
///
/// # Errors
/// The errors of [`answers`].
pub(super) fn wait(
    nodes: &mut [LocalNode],
    index: usize,
    deadline: Deadline,
    limit: Duration,
    failure: &str,
    ask: impl Fn(&LocalNode) -> Result<()>,
) -> Result<()> {
    loop {
        if host::process::is_interrupted() {
            bail!("interrupted while waiting for {}", nodes[index].layout.name);
        }
        if let Some(died) = nodes.iter().find_map(LocalNode::died) {
            return Err(anyhow!(died).context("start the cluster"));
        }
        let node = &nodes[index];
        let Err(error) = ask(node) else {
            return Ok(());
        };
        if deadline.passed() {
            return Err(anyhow!(
                "{} {failure} within {} s (start_timeout): {error:#}\nthe last log lines of the \
                 node:\n{}",
                node.layout.name,
                limit.as_secs(),
                node.log_tail()
            ));
        }
        clock::sleep(POLL);
    }
}
