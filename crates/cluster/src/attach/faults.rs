//! What an attached cluster is broken by: programs of its owner's, which an agent of ours on this
//! machine runs, so that what heals is run whoever is killed.

use super::contact_point::addresses_of;
use super::hosts::{AttachedHosts, ReachedHost};
use crate::access::Access;
use crate::cluster::CONTROL_TIMEOUT;
use crate::handle::{Handles, HostHandle, NodeControl, NodeHandle};
use crate::jolokia::Jolokia;
use crate::moves::Moves;
use crate::node::NodeInfo;
use crate::order::{Act, GivenOrder, Order};
use crate::pod::{OperatorHandle, PodHandle};
use crate::service::NodeService;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::value::Value;
use host::process::Identity;
use kubernetes::{NodePod, Operator};
use measure::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use target::{AttachSpec, JolokiaAccess};

/// The agent in a node's JVM, or why there is none to speak with.
pub(super) type Agent = std::result::Result<Jolokia, String>;

/// By what a cluster is controlled that is not ours.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Its agents, in the order of the nodes; empty without access to them.
    pub agents: Vec<Agent>,
    /// How they are reached.
    jolokia: Option<JolokiaAccess>,
    /// Snapshots that were taken, each by its node and its name there.
    pub snapshots: Mutex<BTreeMap<(String, String), GivenOrder>>,
    /// By which its nodes are counted.
    points: Vec<String>,
    /// The machines of its nodes; none without a way to them.
    pub hosts: AttachedHosts,
    /// Where its nodes reach each other, once that was asked.
    storage: Mutex<BTreeMap<SocketAddr, SocketAddr>>,
    /// The pod of each node, where it is one.
    pods: Vec<Option<Arc<NodePod>>>,
    /// Who makes them.
    operator: Option<Operator>,
    /// Where nodes offer metrics, each by its name.
    pub metrics: Vec<(String, SocketAddr)>,
    moves: Moves,
    /// That of this machine, once something is broken.
    here: Mutex<Option<Arc<host::Agent>>>,
}

impl Attached {
    pub fn new(
        spec: &AttachSpec,
        (agents, hosts, pods): (Vec<Agent>, AttachedHosts, Vec<Option<Arc<NodePod>>>),
        (operator, metrics): (Option<Operator>, Vec<(String, SocketAddr)>),
        moves: Moves,
    ) -> Attached {
        Attached {
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

    /// The index of the node of a contact point.
    pub fn index_of(&self, asked: usize, nodes: &[NodeInfo]) -> Result<usize> {
        let point = self
            .points
            .get(asked)
            .with_context(|| format!("there is no contact point {}", asked + 1))?;
        let (_, addresses) = addresses_of(point)?;
        let is_it = |node: &NodeInfo| {
            addresses.iter().any(|address| self.moves.of_contact(*address) == node.address)
        };
        nodes.iter().position(is_it).with_context(|| {
            let known: Vec<String> = nodes.iter().map(|node| node.address.to_string()).collect();
            format!(
                "node {} is the contact point {point}, which is none of the addresses that \
                 the cluster has for its nodes: {}; name it as the cluster does",
                asked + 1,
                known.join(", ")
            )
        })
    }

    pub fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles> {
        let here = self.here()?;
        let others = self.storage_addresses(nodes, access);
        let handle = |(index, node): (usize, &NodeInfo)| {
            let service = self.hosts.of(index).map(|host| NodeService {
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
                host: self.hosts.index_of(index),
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
        let nodes: Vec<NodeHandle> = nodes.iter().enumerate().map(handle).collect();
        let all = self.hosts.all.iter().enumerate();
        Ok(Handles {
            hosts: all.map(|(index, host)| host_handle(index, host, &nodes, access)).collect(),
            nodes,
            newcomers: Vec::new(),
            switch: None,
            operator: self.operator.clone().map(|operator| OperatorHandle {
                operator,
                pods: self.pods.iter().flatten().map(Arc::clone).collect(),
                door: access.door.clone(),
            }),
        })
    }

    /// Tells nodes something, each by its address with the tables that are meant: until it is taken
    /// back, or this program is gone.
    pub fn tell(
        &self,
        act: Act,
        keyspace: &str,
        nodes: &[(SocketAddr, Vec<&str>)],
    ) -> Result<GivenOrder> {
        let access = self.jolokia.as_ref().context("there is no access to Jolokia agents")?;
        let agent = |(known, tables): &(SocketAddr, Vec<_>)| {
            let known = SocketAddr::new(known.ip(), access.port);
            (self.moves.same_port(known), tables.clone())
        };
        let nodes: Vec<_> = nodes.iter().map(agent).collect();
        Order::of(act, keyspace, &nodes, access)?.give(&self.here()?)
    }

    /// By what a node is told to do something, if there is an agent in its JVM.
    fn control(&self, node: usize) -> Option<NodeControl> {
        let agent = self.agents.get(node)?.as_ref().ok()?;
        Some(NodeControl(agent.clone()))
    }

    /// Where nodes reach each other, by where they answer CQL. Only who asks nodes of each other
    /// needs it, by their MBeans or from their machines; of nodes that do not say it there is
    /// nothing.
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

    /// The agent of this machine, in a folder of its own, which goes with it.
    fn here(&self) -> Result<Arc<host::Agent>> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*here {
            return Ok(Arc::clone(known));
        }
        let id = format!("attached-{}-{:x}", Identity::own().pid, clock::unix_ns());
        let folder = std::env::temp_dir().join(format!("cassay-{id}"));
        let agent = host::Agent::of_machine(&id, &folder).context("have somebody who heals")?;
        // From now on what it has to undo stands on the disk too. What was left was told of when
        // the cluster was attached.
        let _ = agent.mend(None);
        Ok(Arc::clone(here.insert(Arc::new(agent))))
    }
}

/// One of the machines of nodes, which is `index` among all of them.
fn host_handle(
    index: usize,
    host: &ReachedHost,
    nodes: &[NodeHandle],
    access: &Access,
) -> HostHandle {
    // By either address a node may speak to others.
    let addresses: BTreeSet<Ipv4Addr> = nodes
        .iter()
        .filter(|node| node.host == Some(index))
        .flat_map(|node| [node.storage.ip(), node.address.ip()])
        .filter_map(ipv4)
        .collect();
    HostHandle {
        name: host.name.clone(),
        number: index + 1,
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

/// Where nodes reach each other that do not say it: before 4.0, all at the same port.
const STORAGE_PORT: u16 = 7000;

/// What a node says of itself and the others: where each answers CQL, and where it answers nodes.
fn storage_addresses(session: &mut Session) -> Result<BTreeMap<SocketAddr, SocketAddr>> {
    const OWN: &str = "SELECT broadcast_address, broadcast_port FROM system.local";
    const OTHERS: &str = "SELECT native_address, native_port, peer, peer_port FROM system.peers_v2";
    let own = session.node();
    let mut all = BTreeMap::new();
    let local = session.query(OWN)?;
    let first = local.rows.first().and_then(|row| address_of(row));
    all.extend(first.map(|address| (own, address)));
    let peers = session.query(OTHERS)?;
    let peer =
        |row: &Vec<Value>| Some((session.known(address_of(row)?), address_of(row.get(2..)?)?));
    all.extend(peers.rows.iter().filter_map(peer));
    Ok(all)
}

/// What an address and a port make, which a row begins with.
fn address_of(row: &[Value]) -> Option<SocketAddr> {
    let Value::Inet(ip) = row.first()? else {
        return None;
    };
    let port = row.get(1)?.as_i64().and_then(|port| u16::try_from(port).ok())?;
    Some(SocketAddr::new(*ip, port))
}
