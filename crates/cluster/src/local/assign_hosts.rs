//! Assigns hosts, addresses, racks and folders to nodes. The hosts are isolated hosts, remote
//! machines, or loopback addresses if this machine does not permit isolation.
//!
//! The module deals nodes to hosts in turn, and tokens to nodes in turn. So neighbours on the ring
//! are on different hosts and racks. Every node owns the same share of the data, regardless of the
//! replication factor.

use super::host_layout::HostLayout;
use super::nodes::Nodes;
use super::ports::Ports;
use super::settings::{self, NodeLayout};
use super::{added_node, machines, memory_and_disk, ports};
use crate::capability::{self, Answer, HostsAnswer};
use anyhow::{Context, Result, bail};
use host::Hosts;
use measure::number::bytes;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use target_spec::{
    Capability, CapabilityStatus, HostIndex, HostsSpec, Isolation, LocalSpec, NodeIndex, Seat,
    memory_bytes,
};

/// Checks that the nodes fit the hosts of a spec.
///
/// # Errors
/// The spec has no host, the nodes cannot be distributed as requested, the spec sets the address of
/// an isolated node, or a host has too little memory.
pub(super) fn check(spec: &LocalSpec) -> Result<()> {
    let Some(hosts) = &spec.hosts else {
        return Ok(());
    };
    let shares = spec.nodes_of_hosts();
    if hosts.count == 0 || shares.iter().sum::<usize>() != spec.nodes || shares.contains(&0) {
        if spec.machines().iter().any(|machine| machine.nodes.is_some()) {
            bail!(
                "the study has {} nodes, but the `nodes` of all machines add up to another number: \
                 make both numbers equal",
                spec.nodes
            );
        }
        bail!(
            "cassay cannot distribute {} nodes evenly over {} hosts: use a multiple of the number \
             of hosts",
            spec.nodes,
            hosts.count
        );
    }
    if spec.address.is_some() && hosts.isolation != Isolation::Loopback {
        bail!(
            "cassay chooses the addresses of nodes, because hosts have separate networks: omit the \
             address of the first node"
        );
    }
    let most = spec.nodes_per_host();
    let used = memory_bytes(most, spec.heap_bytes);
    match hosts.host.memory_bytes {
        Some(limit) if limit < used => bail!(
            "a host with {} of memory is too small: {} with a heap of {} need about {}, so the \
             kernel would kill them",
            bytes(limit),
            measure::number::counted(most, "node"),
            bytes(spec.heap_bytes),
            bytes(used)
        ),
        _ => Ok(()),
    }
}

/// Returns the hosts that `spec` requests. Returns `None` without hosts, or if this machine does
/// not permit isolation and the spec does not require it.
///
/// # Errors
/// The spec requires isolation, which this machine does not permit.
pub(super) fn wanted<'a>(
    spec: &'a LocalSpec,
    say: &mut dyn FnMut(&str),
) -> Result<Option<&'a HostsSpec>> {
    let Some(hosts) = &spec.hosts else {
        return Ok(None);
    };
    if hosts.are_machines() {
        return Ok(Some(hosts));
    }
    if hosts.isolation == Isolation::Loopback {
        return Ok(None);
    }
    match network_refusal(host::capabilities()) {
        None => Ok(Some(hosts)),
        Some(why) if hosts.isolation == Isolation::Auto => {
            say(&format!(
                "hosts are only loopback addresses of this machine, without limits or volumes: \
                 {why}"
            ));
            Ok(None)
        }
        Some(why) => bail!(
            "cassay cannot create isolated hosts on this machine: {why}\nhint: run as root, or use \
             `isolation: auto`, which falls back to loopback addresses"
        ),
    }
}

/// Returns the reason why isolated hosts are impossible, if any.
fn network_refusal(capabilities: &[CapabilityStatus]) -> Option<String> {
    let network = capabilities.iter().find(|one| one.capability == Capability::Hosts);
    match network {
        Some(network) => network.answer().err(),
        None => Some("cassay did not check network namespaces".to_string()),
    }
}

/// Returns the expected host capabilities of a managed target.
pub(crate) fn answer(spec: &LocalSpec) -> HostsAnswer {
    match &spec.hosts {
        None => Err(capability::NO_HOSTS.to_string()),
        Some(hosts) if hosts.are_machines() => Ok(machines::expected(spec)),
        Some(hosts) if hosts.isolation == Isolation::Loopback => {
            Err(capability::LOOPBACK.to_string())
        }
        Some(_) => match network_refusal(host::capabilities()) {
            Some(why) => Err(format!(
                "hosts are only loopback addresses of this machine: {why}"
            )),
            None => Ok(answers_here(spec)),
        },
    }
}

pub(super) fn answers(capabilities: &[CapabilityStatus]) -> BTreeMap<Capability, Answer> {
    capabilities.iter().map(|one| (one.capability, one.answer())).collect()
}

/// Returns the host capabilities on this machine. If the spec has volumes, tests their capabilities
/// on a real volume.
fn answers_here(spec: &LocalSpec) -> BTreeMap<Capability, Answer> {
    let mut all = answers(host::capabilities());
    let hosts = spec.hosts.as_ref();
    let with_volume = hosts.is_some_and(|hosts| hosts.host.volume_bytes.is_some());
    if with_volume && all.get(&Capability::Volume).is_some_and(Result::is_ok) {
        all.extend(answers(host::volume_capabilities()));
    }
    add_of_volumes(spec, &mut all);
    all
}

/// Adjusts the answers about volumes if the spec has no volumes, and adds the answer about adding a
/// node.
pub(super) fn add_of_volumes(spec: &LocalSpec, all: &mut BTreeMap<Capability, Answer>) {
    let has_volumes = spec.hosts.as_ref().is_some_and(|hosts| hosts.host.volume_bytes.is_some());
    for capability in Capability::OF_VOLUMES {
        let how = "the new node runs on the host of other nodes, with a separate address and \
                   separate tokens";
        let addition = match (all.get(&Capability::Hosts), added_node::refusal(spec)) {
            (Some(Err(why)), _) => Err(why.clone()),
            (_, Some(why)) => Err(why),
            _ => Ok(how.to_owned()),
        };
        all.insert(Capability::AnotherNode, addition);
        let why = "the hosts have no separate volume (`host: {volume: 20GiB}`)";
        match all.get(&capability) {
            Some(_) if has_volumes => {}
            _ => drop(all.insert(capability, Err(why.to_owned()))),
        }
    }
}

/// Derives the layout of each node. `folder` is the folder of the cluster. `places` contains the
/// address and the ports of each node, in node order.
///
/// # Errors
/// The size of a disk cannot be determined.
pub(super) fn layouts(
    spec: &LocalSpec,
    folder: &Path,
    ground: &HostLayout,
    places: &[(Ipv4Addr, Ports)],
) -> Result<Vec<NodeLayout>> {
    let storage = |(address, ports): &(Ipv4Addr, Ports)| SocketAddrV4::new(*address, ports.storage);
    let everybody: Vec<SocketAddrV4> = places.iter().map(storage).collect();
    let seed = *everybody.first().context("a cluster has a node")?;
    let ring = settings::ring_of(spec);
    let mut all = Vec::with_capacity(spec.nodes);
    let (seats, shares) = (spec.seats(), spec.nodes_of_hosts());
    for (index, ((address, ports), tokens)) in places.iter().zip(ring).enumerate() {
        let name = format!("node{}", index + 1);
        let seat = seats.get(index).context("each node has a host")?;
        // Without hosts in the spec, each node counts as a separate host.
        let number = 1 + if spec.hosts.is_some() {
            seat.host.0
        } else {
            index
        };
        let (host, above) = match ground.host(seat.host) {
            Some(host) => (host.name().to_string(), host.folder()),
            None => (format!("host{number}"), folder),
        };
        let sharers = match ground.hosts().map(Hosts::all) {
            Some(all) if all.iter().any(|one| one.has_volume() || one.is_machine()) => {
                shares[seat.host.0]
            }
            _ => spec.nodes,
        };
        let disk = ground.agent(seat.host).space(above)?;
        all.push(NodeLayout {
            address: *address,
            ports: *ports,
            release: spec.release.clone(),
            conf_name: settings::CONF.to_owned(),
            datacenter: spec.datacenter.clone(),
            rack: rack(spec, NodeIndex(index), seat.host),
            tokens,
            seed,
            all: everybody.clone(),
            host,
            commitlog_total_mib: memory_and_disk::commitlog_total_mib(disk.total_bytes, sharers),
            folder: above.join(&name),
            name,
            authentication: spec.authentication,
        });
    }
    Ok(all)
}

/// Returns the rack of a node. Without racks in the spec, each host is a rack. Without hosts, all
/// nodes are in `rack1`.
fn rack(spec: &LocalSpec, node: NodeIndex, host: HostIndex) -> String {
    match (spec.racks.get(node.0).or(spec.racks.last()), &spec.hosts) {
        (Some(rack), _) => rack.clone(),
        (None, Some(_)) => format!("rack{}", host.number()),
        (None, None) => "rack1".to_string(),
    }
}

/// Returns the addresses and ports of nodes on hosts. The first node of a simulated host has the
/// host's address, and other nodes have further addresses on the same link. Nodes on a remote
/// machine share its address, and have different ports.
///
/// # Errors
/// The network has no free address, the kernel refuses an address, or no ports are free.
pub(super) fn places(spec: &LocalSpec, hosts: &Hosts) -> Result<Vec<(Ipv4Addr, Ports)>> {
    let first = if hosts.are_machines() {
        ports::choose_on(hosts.all(), spec.nodes_per_host())?
    } else {
        // Only the nodes use a simulated network, so the default ports are free.
        ports::CHOICES[0]
    };
    let place = |seat: Seat| {
        let slot = if hosts.are_machines() { seat.slot } else { 0 };
        Ok((hosts.address(seat)?, first.for_slot(slot)))
    };
    spec.seats().into_iter().map(place).collect()
}

impl Nodes {
    pub fn capabilities(&self) -> Vec<CapabilityStatus> {
        let has_agents = self.nodes.iter().all(|node| node.jolokia.is_some());
        let mbeans = capability::running_mbeans(has_agents);
        capability::managed_capabilities(&mbeans, &self.hosts_answer())
    }

    fn hosts_answer(&self) -> HostsAnswer {
        match (self.hosts(), &self.spec.hosts) {
            (Some(hosts), _) if hosts.are_machines() => Ok(machines::answers(&self.spec, hosts)),
            (Some(_), _) => Ok(answers_here(&self.spec)),
            (None, None) => Err(capability::NO_HOSTS.to_string()),
            (None, Some(_)) => Err(capability::LOOPBACK.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use target_spec::RemoteHost;

    fn spec(nodes: usize, hosts: usize) -> LocalSpec {
        LocalSpec {
            nodes,
            hosts: Some(HostsSpec {
                count: hosts,
                isolation: Isolation::Loopback,
                ..HostsSpec::default()
            }),
            ..LocalSpec::default()
        }
    }

    #[test]
    fn nodes_are_dealt_to_hosts_and_racks_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let ports = super::super::ports::CHOICES[0];
        let addresses: Vec<Ipv4Addr> = (1..=6).map(|n| Ipv4Addr::new(127, 0, 7, n)).collect();
        let ground = HostLayout::Machine(Arc::new(agent::in_thread(folder.path()).unwrap()));
        let places: Vec<_> = addresses.iter().map(|address| (*address, ports)).collect();
        let all = layouts(&spec(6, 3), folder.path(), &ground, &places).unwrap();
        let brief: Vec<String> = all
            .iter()
            .map(|node| format!("{} {} {}", node.name, node.host, node.rack))
            .collect();
        assert_eq!(brief[0], "node1 host1 rack1");
        assert_eq!(brief[2], "node3 host3 rack3");
        assert_eq!(brief[3], "node4 host1 rack1");
        assert!(all.iter().all(|node| node.folder == folder.path().join(&node.name)));
        let racks = LocalSpec {
            racks: vec!["a".into(), "b".into()],
            ..spec(3, 3)
        };
        assert_eq!(
            [0, 1, 2].map(|index| rack(&racks, NodeIndex(index), HostIndex(index))),
            ["a", "b", "b"]
        );
        assert_eq!(
            rack(&LocalSpec::default(), NodeIndex(0), HostIndex(0)),
            "rack1"
        );
    }

    #[test]
    fn machines_of_several_kinds_have_numbers_of_nodes_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let ground = HostLayout::Machine(Arc::new(agent::in_thread(folder.path()).unwrap()));
        let kinds = |nodes: usize| {
            let mut spec = spec(nodes, 2);
            let machine = |nodes| RemoteHost {
                nodes,
                ..RemoteHost::default()
            };
            spec.hosts.as_mut().unwrap().machines = vec![machine(Some(1)), machine(Some(3))];
            spec
        };
        check(&kinds(4)).unwrap();
        let error = check(&kinds(5)).unwrap_err().to_string();
        assert!(
            error.contains("the study has 5 nodes, but the `nodes` of all machines"),
            "{error}"
        );
        let address = |n| (Ipv4Addr::new(127, 0, 7, n), super::super::ports::CHOICES[0]);
        let places: Vec<_> = (1..=4).map(address).collect();
        let all = layouts(&kinds(4), folder.path(), &ground, &places).unwrap();
        let hosts: Vec<&str> = all.iter().map(|node| node.host.as_str()).collect();
        assert_eq!(hosts, ["host1", "host2", "host2", "host2"]);
    }

    #[test]
    fn a_spec_that_does_not_fit_its_hosts_is_refused() {
        check(&spec(6, 3)).unwrap();
        let refused = |spec: &LocalSpec| check(spec).unwrap_err().to_string();
        assert!(
            refused(&spec(5, 3)).contains("cassay cannot distribute 5 nodes evenly over 3 hosts")
        );
        assert!(refused(&spec(1, 0)).contains("over 0 hosts"));
        let mut small = spec(2, 1);
        small.heap_bytes = 512 << 20;
        small.hosts.as_mut().unwrap().host.memory_bytes = Some(1 << 30);
        let error = refused(&small);
        assert!(
            error.contains("a host with 1 GiB of memory is too small: 2 nodes"),
            "{error}"
        );
        small.nodes = 1;
        check(&small).unwrap();
    }
}
