//! Packet loss between hosts. A switch between simulated hosts drops packets, but remote machines
//! drop them themselves. A remote machine drops only packets of connections to ports of the
//! cluster's nodes.

use crate::cluster_under_test::{Agents, ExecutedBy, HostSeen};
use crate::observation;
use anyhow::{Context, Result};
use host::{HostLoss, Injection, Link, Loss, PacketDirection, PortEnd};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::Duration;
use target_spec::HostIndex;
use target_spec::fault::Sides;

pub(crate) fn cut_off(world: &mut dyn Agents, host: HostIndex, within: Duration) -> Result<()> {
    let seen = host_of(world, host)?;
    if world.has_switch() {
        return world.inject(
            ExecutedBy::Switch,
            Injection::LinkDown(seen.number),
            &[],
            within,
        );
    }
    let losses = to_and_from(world, host, 1.0);
    world.inject(
        ExecutedBy::Host(host),
        Injection::HostPackets(losses),
        &[],
        within,
    )
}

/// Drops a share of the packets that a host sends and receives.
pub(crate) fn lose(
    world: &mut dyn Agents,
    host: HostIndex,
    share: f64,
    within: Duration,
) -> Result<()> {
    let own = host_of(world, host)?.number;
    if !world.has_switch() {
        let losses = to_and_from(world, host, share);
        return world.inject(
            ExecutedBy::Host(host),
            Injection::HostPackets(losses),
            &[],
            within,
        );
    }
    let others: Vec<Link> = world
        .hosts()
        .iter()
        .filter(|host| host.number != own)
        .map(|host| Link::Host(host.number))
        .chain([Link::Machine])
        .collect();
    let both = Loss::both_ways(&[Link::Host(own)], &others).into_iter();
    let losses = both.map(|loss| Loss { share, ..loss }).collect();
    world.inject(ExecutedBy::Switch, Injection::Packets(losses), &[], within)
}

pub(crate) fn cut_clients(world: &mut dyn Agents, host: HostIndex, within: Duration) -> Result<()> {
    let own = host_of(world, host)?.number;
    let nodes = observation::nodes_on(world, host);
    let tcp_ports: Vec<u16> = nodes.iter().map(|(_, node)| node.cql.port()).collect();
    if world.has_switch() {
        let both = Loss::both_ways(&[Link::Machine], &[Link::Host(own)]);
        let only_clients = |loss: Loss| Loss {
            tcp_ports: tcp_ports.clone(),
            ..loss
        };
        let losses = both.into_iter().map(only_clients).collect();
        return world.inject(ExecutedBy::Switch, Injection::Packets(losses), &[], within);
    }
    let loss = HostLoss {
        way: PacketDirection::In,
        peers: Vec::new(),
        tcp_ports,
        end: PortEnd::Ours,
        share: 1.0,
    };
    let losses = Injection::HostPackets(loss.both_ways().to_vec());
    world.inject(ExecutedBy::Host(host), losses, &[], within)
}

/// Drops the packets between two groups of hosts. With `is_one_way`, drops only packets from the
/// first group.
pub(crate) fn cut(
    world: &mut dyn Agents,
    sides: &Sides,
    is_one_way: bool,
    within: Duration,
) -> Result<()> {
    let hosts = world.hosts();
    let side = |side: &[HostIndex]| -> Vec<(HostIndex, HostSeen)> {
        let seen = side.iter().filter_map(|index| Some((*index, hosts.get(*index)?.clone())));
        seen.collect()
    };
    let (of, from) = (side(&sides.of), side(&sides.from));
    if world.has_switch() {
        let links = |side: &[(HostIndex, HostSeen)]| -> Vec<Link> {
            side.iter().map(|(_, host)| Link::Host(host.number)).collect()
        };
        let (of, from) = (links(&of), links(&from));
        let losses = if is_one_way {
            vec![Loss::one_way(&of, &from)]
        } else {
            Loss::both_ways(&of, &from)
        };
        return world.inject(ExecutedBy::Switch, Injection::Packets(losses), &[], within);
    }
    // A host may send from an address that cassay does not know, so both ends drop the packets.
    for (side, others, way) in [
        (&of, &from, PacketDirection::Out),
        (&from, &of, PacketDirection::In),
    ] {
        let one_way = HostLoss {
            way,
            peers: others.iter().flat_map(|(_, host)| host.addresses.clone()).collect(),
            tcp_ports: ports(world, |_| true),
            end: PortEnd::Either,
            share: 1.0,
        };
        let losses = if is_one_way {
            vec![one_way]
        } else {
            one_way.both_ways().to_vec()
        };
        for (host, _) in side {
            let what = Injection::HostPackets(losses.clone());
            world.inject(ExecutedBy::Host(*host), what, &[], within)?;
        }
    }
    Ok(())
}

/// Returns the losses for all packets of a machine's nodes: connections to their ports, and to the
/// ports of nodes on other machines.
fn to_and_from(world: &dyn Agents, host: HostIndex, share: f64) -> Vec<HostLoss> {
    let others = world.hosts().into_pairs().filter(|(index, _)| *index != host);
    let peers: Vec<Ipv4Addr> = others.flat_map(|(_, host)| host.addresses).collect();
    let of = |tcp_ports: Vec<u16>, end: PortEnd, peers: Vec<Ipv4Addr>| HostLoss {
        way: PacketDirection::In,
        peers,
        tcp_ports,
        end,
        share,
    };
    let mut all = vec![of(
        ports(world, |on| on == Some(host)),
        PortEnd::Ours,
        Vec::new(),
    )];
    if !peers.is_empty() {
        let theirs = ports(world, |on| on != Some(host));
        all.push(of(theirs, PortEnd::Theirs, peers));
    }
    all.into_iter().flat_map(HostLoss::both_ways).collect()
}

fn ports(world: &dyn Agents, is_one: impl Fn(Option<HostIndex>) -> bool) -> Vec<u16> {
    let nodes = world.nodes().into_iter().filter(|node| is_one(node.host));
    let ports: BTreeSet<u16> = nodes.flat_map(|node| node.ports).collect();
    ports.into_iter().collect()
}

fn host_of(world: &dyn Agents, host: HostIndex) -> Result<HostSeen> {
    world.hosts().take(host).context("the host does not exist")
}
