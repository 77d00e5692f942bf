//! Packets that a host drops itself, because the host uses the network of its machine. The host
//! drops only packets of TCP connections with given ports. It never drops traffic between its own
//! processes.

use super::rules::{Lose, Rules, check_ports, check_share};
use crate::rtnetlink_message::filter::{End, Family, Hook, Match};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Maximum number of peers of a loss. A cluster has far fewer hosts.
const PEERS_COUNT_MAX: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketDirection {
    /// Packets that the host receives.
    In,
    /// Packets that the host sends.
    Out,
}

/// End of a connection to which a port belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortEnd {
    /// The host's end.
    Ours,
    /// The peer's end.
    Theirs,
    Either,
}

/// Loss of a host in one direction, for existing and new connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLoss {
    /// Direction of the packets that are dropped.
    pub way: PacketDirection,
    /// Peers of the host whose packets are dropped. An empty list means all peers.
    pub peers: Vec<Ipv4Addr>,
    /// TCP ports whose connections are affected. The list is not empty.
    pub tcp_ports: Vec<u16>,
    /// End of the connection to which the port belongs.
    pub end: PortEnd,
    /// Probability with which each packet is dropped. With 1, all packets are dropped.
    pub share: f64,
}

impl HostLoss {
    /// Returns the same loss in both directions.
    pub fn both_ways(self) -> [HostLoss; 2] {
        [PacketDirection::In, PacketDirection::Out].map(|way| HostLoss {
            way,
            ..self.clone()
        })
    }

    fn ends(&self) -> &'static [End] {
        match (self.way, self.end) {
            (PacketDirection::In, PortEnd::Ours) | (PacketDirection::Out, PortEnd::Theirs) => {
                &[End::Destination]
            }
            (PacketDirection::In, PortEnd::Theirs) | (PacketDirection::Out, PortEnd::Ours) => {
                &[End::Source]
            }
            (_, PortEnd::Either) => &[End::Source, End::Destination],
        }
    }
}

impl Lose for HostLoss {
    const FAMILY: Family = Family::Ipv4;
    const HOOKS: &'static [Hook] = &[Hook::In, Hook::Out];

    fn check(&self) -> Result<()> {
        check_share(self.share)?;
        check_ports(&self.tcp_ports)?;
        anyhow::ensure!(
            !self.tcp_ports.is_empty(),
            "a host drops only packets of listed ports, but the fault lists none: list at least \
             one port"
        );
        anyhow::ensure!(
            self.peers.len() <= PEERS_COUNT_MAX,
            "the fault names {} other hosts, but one rule has at most {PEERS_COUNT_MAX}",
            self.peers.len()
        );
        Ok(())
    }

    fn rules(&self, number: u32, rules: &mut Rules<'_>) {
        let (hook, other) = match self.way {
            PacketDirection::In => (Hook::In, End::Source),
            PacketDirection::Out => (Hook::Out, End::Destination),
        };
        let (ports, peers) = (format!("ports{number}"), format!("peers{number}"));
        rules.set_of_ports(&ports, &self.tcp_ports);
        let mut matches = vec![Match::FromOrToOthers(other)];
        if !self.peers.is_empty() {
            rules.set_of_addresses(&peers, &self.peers);
            matches.push(Match::Address(&peers, other));
        }
        rules.drop(
            (number, hook),
            &matches,
            Some((&ports, self.ends())),
            self.share,
        );
    }
}
