//! Packets that the switch between simulated hosts drops between its ports.

use super::rules::{Lose, Rules, check_ports, check_share};
use crate::links;
use crate::rtnetlink_message::filter::{End, Family, Hook, LINK_KEY_BYTES, Match, link_key};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A link of the switch, identified by the machine or host at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Link {
    /// The link to a host. Hosts are numbered from 1.
    Host(usize),
    /// The link to the machine itself, on which the client runs.
    Machine,
}

impl Link {
    /// Returns the name of the switch's end of the link.
    pub fn name(self) -> String {
        match self {
            Link::Host(number) => links::port(number),
            Link::Machine => links::UPLINK.to_owned(),
        }
    }
}

/// Loss within the switch, for existing and new connections. ARP is never dropped, so neighbours
/// continue to find each other, and a loss in one direction affects only that direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Links from which the packets come.
    pub from: Vec<Link>,
    /// Links to which the packets go.
    pub to: Vec<Link>,
    /// TCP ports whose connections are affected, at either end. An empty list means all packets
    /// except ARP.
    pub tcp_ports: Vec<u16>,
    /// Probability with which each packet is dropped. With 1, all packets are dropped.
    pub share: f64,
}

impl Loss {
    /// Returns the loss of all packets in one direction.
    pub fn one_way(from: &[Link], to: &[Link]) -> Loss {
        Loss {
            from: from.to_vec(),
            to: to.to_vec(),
            tcp_ports: Vec::new(),
            share: 1.0,
        }
    }

    /// Returns the loss of all packets in both directions.
    pub fn both_ways(some: &[Link], others: &[Link]) -> Vec<Loss> {
        vec![Loss::one_way(some, others), Loss::one_way(others, some)]
    }
}

impl Lose for Loss {
    const FAMILY: Family = Family::Bridge;
    const HOOKS: &'static [Hook] = &[Hook::Forward];

    fn check(&self) -> Result<()> {
        check_share(self.share)?;
        check_ports(&self.tcp_ports)?;
        for link in self.from.iter().chain(&self.to) {
            if let Link::Host(number) = link {
                anyhow::ensure!(
                    (1..=links::HOSTS_COUNT_MAX).contains(number),
                    "the fault names host {number}, but a switch has hosts 1 to {}",
                    links::HOSTS_COUNT_MAX
                );
            }
        }
        let named = !self.from.is_empty() && !self.to.is_empty();
        anyhow::ensure!(
            named,
            "a loss of packets requires the addresses of both ends"
        );
        Ok(())
    }

    fn rules(&self, number: u32, rules: &mut Rules<'_>) {
        let names = ["from", "to", "ports"].map(|name| format!("{name}{number}"));
        let [from, to, ports] = names.each_ref().map(String::as_str);
        rules.set(from, &keys(&self.from), LINK_KEY_BYTES);
        rules.set(to, &keys(&self.to), LINK_KEY_BYTES);
        let mut matches = vec![
            Match::Link(from, End::Source),
            Match::Link(to, End::Destination),
        ];
        let mut with_ports = None;
        if self.tcp_ports.is_empty() {
            // If ARP packets were dropped, a loss in one direction would also affect the other
            // direction.
            matches.push(Match::NoArp);
        } else {
            rules.set_of_ports(ports, &self.tcp_ports);
            with_ports = Some((ports, &[End::Source, End::Destination][..]));
        }
        rules.drop((number, Hook::Forward), &matches, with_ports, self.share);
    }
}

fn keys(links: &[Link]) -> Vec<Vec<u8>> {
    let links: BTreeSet<_> = links.iter().collect();
    links.into_iter().map(|link| link_key(&link.name())).collect()
}
