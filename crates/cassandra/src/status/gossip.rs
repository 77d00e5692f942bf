//! Gossip state according to one node: each node's membership mode and data size.

use crate::jolokia::Jolokia;
use crate::session::Session;
use anyhow::Result;
use cql::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

/// Gossip state by CQL address.
#[derive(Debug, Default)]
pub(super) struct Gossip {
    heard: BTreeMap<SocketAddr, PeerState>,
    /// Nodes that the failure detector considers alive. `None` without MBeans.
    live: Option<BTreeSet<SocketAddr>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeerState {
    mode: Mode,
    load_bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Normal,
    Joining,
    Leaving,
    Moving,
}

impl Mode {
    pub fn letter(self) -> char {
        match self {
            Mode::Normal => 'N',
            Mode::Joining => 'J',
            Mode::Leaving => 'L',
            Mode::Moving => 'M',
        }
    }

    /// Parses a gossiped status such as `NORMAL,-9183…`. A node with the status `shutdown` is down
    /// after a clean shutdown, but is still a normal member. Returns `None` for nodes that are not
    /// members.
    fn parse(status: &str) -> Option<Mode> {
        let word = status.split(',').next().unwrap_or_default();
        match word {
            "NORMAL" | "shutdown" | "hibernate" => Some(Mode::Normal),
            "BOOT" | "BOOT_REPLACE" => Some(Mode::Joining),
            "LEAVING" => Some(Mode::Leaving),
            "MOVING" => Some(Mode::Moving),
            _ => None,
        }
    }
}

impl Gossip {
    /// Returns true if the failure detector considers the node alive. `None` without MBeans.
    pub fn is_live(&self, node: SocketAddr) -> Option<bool> {
        self.live.as_ref().map(|live| live.contains(&node))
    }

    pub fn mode(&self, node: SocketAddr) -> Option<Mode> {
        self.heard.get(&node).map(|heard| heard.mode)
    }

    pub fn load_bytes(&self, node: SocketAddr) -> Option<u64> {
        self.heard.get(&node)?.load_bytes
    }
}

/// Queries the gossip state over CQL, and the failure detector by MBeans. Before Cassandra 4.1,
/// gossip is not visible over CQL, and the result is empty.
///
/// # Errors
/// The node stops answering.
pub(super) fn read(session: &mut Session, agent: Option<&Jolokia>) -> Result<Gossip> {
    let cql = "SELECT address, port, status_with_port, status, load FROM system_views.gossip_info";
    let Some(rows) = rows_if_any(session, cql)? else {
        return Ok(Gossip::default());
    };
    let addresses = native_addresses(session)?;
    let heard = rows
        .iter()
        .filter_map(|row| {
            let [Value::Inet(address), port, with_port, status, load] = row.as_slice() else {
                return None;
            };
            let address = SocketAddr::new(*address, port_of(port)?);
            let status = with_port.as_str().or_else(|| status.as_str());
            let heard = PeerState {
                mode: Mode::parse(status?)?,
                load_bytes: load.as_str().and_then(load_of),
            };
            Some((*addresses.get(&address)?, heard))
        })
        .collect();
    let live = agent.and_then(live_nodes);
    let native = |address: &SocketAddr| addresses.get(address).copied();
    Ok(Gossip {
        heard,
        live: live.map(|live| live.iter().filter_map(native).collect()),
    })
}

/// Returns the CQL address of each node, by internode address.
fn native_addresses(session: &mut Session) -> Result<BTreeMap<SocketAddr, SocketAddr>> {
    let own = session.node();
    let mut addresses = BTreeMap::new();
    let local = "SELECT broadcast_address, broadcast_port FROM system.local";
    for row in rows_if_any(session, local)?.unwrap_or_default() {
        if let [Value::Inet(address), port] = row.as_slice()
            && let Some(port) = port_of(port)
        {
            addresses.insert(SocketAddr::new(*address, port), own);
        }
    }
    let peers = "SELECT peer, peer_port, native_address, native_port FROM system.peers_v2";
    for row in rows_if_any(session, peers)?.unwrap_or_default() {
        if let [Value::Inet(peer), peer_port, Value::Inet(native), port] = row.as_slice()
            && let (Some(peer_port), Some(port)) = (port_of(peer_port), port_of(port))
        {
            let native = session.first_address(SocketAddr::new(*native, port));
            addresses.insert(SocketAddr::new(*peer, peer_port), native);
        }
    }
    Ok(addresses)
}

/// Returns the internode addresses of the nodes that the agent's node considers alive. Returns
/// `None` if the agent does not answer.
fn live_nodes(agent: &Jolokia) -> Option<BTreeSet<SocketAddr>> {
    const SERVICE: &str = "org.apache.cassandra.db:type=StorageService";
    let answer = agent.read(&[(SERVICE, "LiveNodesWithPort")]).ok()?;
    let list = answer.into_iter().next()??;
    let address = |item: &serde_json::Value| item.as_str()?.parse().ok();
    Some(list.as_array()?.iter().filter_map(address).collect())
}

fn port_of(value: &Value) -> Option<u16> {
    u16::try_from(value.as_i64()?).ok()
}

/// Parses a gossiped load in bytes, such as `1234567.0`.
fn load_of(text: &str) -> Option<u64> {
    let bytes: f64 = text.parse().ok()?;
    (bytes.is_finite() && bytes >= 0.0).then_some(bytes as u64)
}

fn rows_if_any(session: &mut Session, cql: &str) -> Result<Option<Vec<Vec<Value>>>> {
    Ok(session.query_if_shown(cql)?.map(|found| found.rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gossiped_status_is_a_letter_of_nodetool() {
        let rows = [
            ("NORMAL,-9183273", Some('N')),
            ("shutdown,true", Some('N')),
            ("BOOT,17", Some('J')),
            ("BOOT_REPLACE,10.0.0.1", Some('J')),
            ("LEAVING,17", Some('L')),
            ("MOVING,17", Some('M')),
            ("LEFT,17,1700000000", None),
            ("removed,7b,1700000000", None),
            ("", None),
        ];
        for (status, letter) in rows {
            assert_eq!(Mode::parse(status).map(Mode::letter), letter, "{status}");
        }
    }

    #[test]
    fn a_gossiped_load_is_a_number_of_bytes() {
        assert_eq!(load_of("1234567.0"), Some(1_234_567));
        assert_eq!(load_of("1.25E9"), Some(1_250_000_000));
        for bad in ["", "-1.0", "NaN", "1 MiB"] {
            assert_eq!(load_of(bad), None, "{bad}");
        }
    }
}
