//! Faults on an attached cluster. An agent on the machine that runs cassay starts the owner's
//! programs for a fault, and heals the fault even if cassay is killed.

use super::hosts::{AttachedHosts, ReachedHost};
use anyhow::{Context, Result};
use cassandra::owner_commands::{Act, GivenOrder, Order};
use cassandra::{
    Access, CONTROL_TIMEOUT, Handles, HostHandle, Jolokia, NodeAddressMap, NodeControl, NodeHandle,
    NodeInfo, NodeService, OperatorHandle, PodHandle, Session, addresses_of,
};
use cql::value::Value;
use host::process::Identity;
use kubernetes::{NodePod, Operator};
use measure::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use target_spec::{AttachSpec, HostIndex, JolokiaAccess, NodeIndex, PerHost, PerNode};

/// Jolokia client of a node, or the reason why the client is missing.
pub(super) type Agent = std::result::Result<Jolokia, String>;

/// Access by which cassay controls an attached cluster.
#[derive(Debug)]
pub(crate) struct AttachedControl {
    /// Jolokia clients in node order. Empty if the study configures no Jolokia agents.
    pub agents: Vec<Agent>,
    jolokia: Option<JolokiaAccess>,
    /// Snapshots that this process created. The key consists of the node name and the snapshot
    /// name.
    pub snapshots: Mutex<BTreeMap<(String, String), GivenOrder>>,
    /// Contact points in the order of the study, which refers to nodes by their index in this list.
    points: Vec<String>,
    pub hosts: AttachedHosts,
    /// Internode addresses by CQL address. Empty until they are needed.
    storage: Mutex<BTreeMap<SocketAddr, SocketAddr>>,
    /// Pod of each node. `None` for a node outside a pod.
    pods: Vec<Option<Arc<NodePod>>>,
    operator: Option<Operator>,
    pub metrics: Vec<(String, SocketAddr)>,
    moves: NodeAddressMap,
    /// Agent on the machine that runs cassay. The first fault starts it.
    here: Mutex<Option<Arc<host::Agent>>>,
}

impl AttachedControl {
    pub fn new(
        spec: &AttachSpec,
        (agents, hosts, pods): (Vec<Agent>, AttachedHosts, Vec<Option<Arc<NodePod>>>),
        (operator, metrics): (Option<Operator>, Vec<(String, SocketAddr)>),
        moves: NodeAddressMap,
    ) -> AttachedControl {
        AttachedControl {
            pods,
            operator,
            metrics,
            moves,
            agents,
            jolokia: spec.jolokia.clone(),
            snapshots: Mutex::default(),
            points: spec.contact_points.clone(),
            hosts,
            storage: Mutex::default(),
            here: Mutex::default(),
        }
    }

    pub fn index_of(&self, asked: NodeIndex, nodes: &[NodeInfo]) -> Result<NodeIndex> {
        let point = self
            .points
            .get(asked.0)
            .with_context(|| format!("contact point {} does not exist", asked.number()))?;
        let (_, addresses) = addresses_of(point)?;
        let is_it = |node: &NodeInfo| {
            addresses
                .iter()
                .any(|address| self.moves.cluster_address(*address) == node.address)
        };
        nodes.iter().position(is_it).map(NodeIndex).with_context(|| {
            let known: Vec<String> = nodes.iter().map(|node| node.address.to_string()).collect();
            format!(
                "node {} is the contact point {point}, but the cluster reports only these \
                 addresses of nodes: {}\nhint: use one of these addresses as the contact point",
                asked.number(),
                known.join(", ")
            )
        })
    }

    pub fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles> {
        let here = self.here()?;
        let others = self.storage_addresses(nodes, access);
        let handle = |(index, node): (usize, &NodeInfo)| {
            let service = self.hosts.for_node(index).map(|host| NodeService {
                agent: Arc::clone(&host.agent),
                host: host.name.clone(),
                service: host.service(node.address),
                door: access.door.clone(),
            });
            let usual = SocketAddr::new(node.address.ip(), STORAGE_PORT);
            let storage = others.get(&node.address).copied().unwrap_or(usual);
            NodeHandle {
                name: node.name.clone(),
                agent: Arc::clone(&here),
                host: self.hosts.index_of(NodeIndex(index)),
                process: service.as_ref().and_then(NodeService::process),
                own: None,
                upgraded: None,
                former: None,
                service,
                pod: self.pods.get(index).cloned().flatten().map(|pod| PodHandle {
                    pod,
                    name: node.name.clone(),
                    known: node.address,
                    moves: self.moves.clone(),
                    door: access.door.clone(),
                }),
                address: node.address,
                storage,
                ports: vec![node.address.port(), storage.port()],
                access: access.clone(),
                control: self.control(index),
            }
        };
        let nodes: PerNode<NodeHandle> = nodes.iter().enumerate().map(handle).collect();
        let all = self.hosts.all.iter().enumerate();
        let handle = |(index, host): (usize, &ReachedHost)| {
            host_handle(HostIndex(index), host, &nodes, access)
        };
        Ok(Handles {
            hosts: all.map(handle).collect(),
            nodes,
            newcomers: PerHost::default(),
            switch: None,
            operator: self.operator.clone().map(|operator| OperatorHandle {
                operator,
                pods: self.pods.iter().flatten().map(Arc::clone).collect(),
                door: access.door.clone(),
            }),
        })
    }

    /// Performs an operation on nodes, each given with its address and tables. The operation
    /// remains in effect until it is undone or this program ends.
    pub fn tell(
        &self,
        act: Act,
        keyspace: &str,
        nodes: &[(SocketAddr, Vec<&str>)],
    ) -> Result<GivenOrder> {
        let access = self
            .jolokia
            .as_ref()
            .context("cassay has no access to the Jolokia agents of the nodes")?;
        let agent = |(known, tables): &(SocketAddr, Vec<_>)| {
            let known = SocketAddr::new(known.ip(), access.port);
            (self.moves.same_port(known), tables.clone())
        };
        let nodes: Vec<_> = nodes.iter().map(agent).collect();
        Order::build(act, keyspace, &nodes, access)?.give(&self.here()?)
    }

    fn control(&self, node: usize) -> Option<NodeControl> {
        let agent = self.agents.get(node)?.as_ref().ok()?;
        Some(NodeControl(agent.clone()))
    }

    /// Returns the internode addresses by CQL address. The map omits nodes that do not report an
    /// address. It is empty if cassay has access neither to MBeans nor to machines, because only
    /// they need it.
    fn storage_addresses(
        &self,
        nodes: &[NodeInfo],
        access: &Access,
    ) -> BTreeMap<SocketAddr, SocketAddr> {
        let mut known = self.storage.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() && !(self.agents.is_empty() && self.hosts.all.is_empty()) {
            let asked = nodes.iter().find_map(|node| {
                let mut session = Session::open(node.address, access, CONTROL_TIMEOUT).ok()?;
                storage_addresses(&mut session).ok()
            });
            *known = asked.unwrap_or_default();
        }
        known.clone()
    }

    /// Returns the agent on the machine that runs cassay, and starts the agent at the first call.
    /// The agent removes its folder when it ends.
    fn here(&self) -> Result<Arc<host::Agent>> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*here {
            return Ok(Arc::clone(known));
        }
        let id = format!("attached-{}-{:x}", Identity::own().pid, clock::unix_ns());
        let folder = std::env::temp_dir().join(format!("cassay-{id}"));
        let agent = host::Agent::start_on_machine(&id, &folder)
            .context("start the agent that heals the faults if cassay is killed")?;
        // From now on, the agent also keeps its undo list on disk. cassay has already reported the
        // returned leftovers when it attached to the cluster.
        let _ = agent.mend(None);
        Ok(Arc::clone(here.insert(Arc::new(agent))))
    }
}

fn host_handle(
    index: HostIndex,
    host: &ReachedHost,
    nodes: &PerNode<NodeHandle>,
    access: &Access,
) -> HostHandle {
    // A node may send packets from its internode address or its CQL address.
    let addresses: BTreeSet<Ipv4Addr> = nodes
        .iter()
        .filter(|node| node.host == Some(index))
        .flat_map(|node| [node.storage.ip(), node.address.ip()])
        .filter_map(ipv4)
        .collect();
    HostHandle {
        name: host.name.clone(),
        number: index.number(),
        addresses: addresses.into_iter().collect(),
        agent: Arc::clone(&host.agent),
        folder: PathBuf::new(),
        device: None,
        pod: nodes
            .iter()
            .find(|node| node.host == Some(index))
            .and_then(|node| node.pod.clone()),
        door: access.door.clone(),
    }
}

fn ipv4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// Default internode port, for nodes that do not report their internode address.
const STORAGE_PORT: u16 = 7000;

/// Returns the internode addresses of the connected node and its peers, by CQL address.
fn storage_addresses(session: &mut Session) -> Result<BTreeMap<SocketAddr, SocketAddr>> {
    const OWN: &str = "SELECT broadcast_address, broadcast_port FROM system.local";
    const PEERS_QUERY: &str =
        "SELECT native_address, native_port, peer, peer_port FROM system.peers_v2";
    let own = session.node();
    let mut all = BTreeMap::new();
    let local = session.query(OWN)?;
    let first = local.rows.first().and_then(|row| address_of(row));
    all.extend(first.map(|address| (own, address)));
    let peers = session.query(PEERS_QUERY)?;
    let peer = |row: &Vec<Value>| {
        Some((
            session.first_address(address_of(row)?),
            address_of(row.get(2..)?)?,
        ))
    };
    all.extend(peers.rows.iter().filter_map(peer));
    Ok(all)
}

fn address_of(row: &[Value]) -> Option<SocketAddr> {
    let Value::Inet(ip) = row.first()? else {
        return None;
    };
    let port = row.get(1)?.as_i64().and_then(|port| u16::try_from(port).ok())?;
    Some(SocketAddr::new(*ip, port))
}
