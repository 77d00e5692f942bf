//! What a host loses itself that has the network of its machine: of TCP connections with ports that
//! are named, and of nothing else. It never loses what it says to itself.

use super::rules::{Lose, Rules, check_ports, check_share};
use crate::message::filter::{End, Family, Hook, Match};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// Others that a loss may name: far more than a cluster has hosts.
const PEERS_COUNT_MAX: usize = 1000;

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Way {
    /// They come to the host.
    In,
    /// The host sends them.
    Out,
}

/// At which end of a connection a port is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PortEnd {
    /// The host's.
    Ours,
    /// The other one.
    Theirs,
    /// Either of them.
    Either,
}

/// What a host loses one way, of connections that there are as well as of new ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLoss {
    /// The way.
    pub way: Way,
    /// Whom the host talks with; of none, everybody.
    pub peers: Vec<Ipv4Addr>,
    /// Only what belongs to TCP connections with one of these ports; at least one.
    pub tcp_ports: Vec<u16>,
    /// At this end.
    pub end: PortEnd,
    /// The share of packets that is lost, each by chance; 1 is all of them.
    pub share: f64,
}

impl HostLoss {
    /// The same loss in both directions.
    pub fn both_ways(self) -> [HostLoss; 2] {
        [Way::In, Way::Out].map(|way| HostLoss {
            way,
            ..self.clone()
        })
    }

    /// The ends of a packet that ports are looked at.
    fn ends(&self) -> &'static [End] {
        match (self.way, self.end) {
            (Way::In, PortEnd::Ours) | (Way::Out, PortEnd::Theirs) => &[End::Destination],
            (Way::In, PortEnd::Theirs) | (Way::Out, PortEnd::Ours) => &[End::Source],
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
            "a host loses only what belongs to ports that are named, and none is"
        );
        anyhow::ensure!(
            self.peers.len() <= PEERS_COUNT_MAX,
            "{} others are named, and one rule has at most {PEERS_COUNT_MAX}",
            self.peers.len()
        );
        Ok(())
    }

    fn rules(&self, number: u32, rules: &mut Rules<'_>) {
        let (hook, other) = match self.way {
            Way::In => (Hook::In, End::Source),
            Way::Out => (Hook::Out, End::Destination),
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
