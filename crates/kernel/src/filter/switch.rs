//! What the switch between stand-ins loses, on the way from port to port.

use super::rules::{Lose, Rules, check_ports, check_share};
use crate::links;
use crate::message::filter::{End, Family, Hook, LINK_KEY_BYTES, Match, link_key};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A link of the switch, by who is at its other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Link {
    /// A host, by its number, counted from 1.
    Host(usize),
    /// The machine itself, where the client is.
    Machine,
}

impl Link {
    /// The name of the switch's end.
    pub fn name(self) -> String {
        match self {
            Link::Host(number) => links::port(number),
            Link::Machine => links::UPLINK.to_owned(),
        }
    }
}

/// What is lost on the way through the switch, of connections that there are as well as of new
/// ones. ARP is never lost: neighbours go on finding each other, so that what is lost one way is
/// lost that way only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loss {
    /// Who has sent it.
    pub from: Vec<Link>,
    /// Who would get it.
    pub to: Vec<Link>,
    /// Only what belongs to TCP connections with one of these ports at one of their ends; of none,
    /// everything.
    pub tcp_ports: Vec<u16>,
    /// The share of packets that is lost, each by chance; 1 is all of them.
    pub share: f64,
}

impl Loss {
    /// Everything, one way.
    pub fn one_way(from: &[Link], to: &[Link]) -> Loss {
        Loss {
            from: from.to_vec(),
            to: to.to_vec(),
            tcp_ports: Vec::new(),
            share: 1.0,
        }
    }

    /// Everything, both ways.
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
                    "host {number} is named, and a switch has hosts 1 to {}",
                    links::HOSTS_COUNT_MAX
                );
            }
        }
        let named = !self.from.is_empty() && !self.to.is_empty();
        anyhow::ensure!(named, "a loss is from somebody to somebody");
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
            // Neighbours go on finding each other: what is lost one way is not lost both ways
            // because of an address that nobody has been told.
            matches.push(Match::NoArp);
        } else {
            rules.set_of_ports(ports, &self.tcp_ports);
            with_ports = Some((ports, &[End::Source, End::Destination][..]));
        }
        rules.drop((number, Hook::Forward), &matches, with_ports, self.share);
    }
}

/// Names of links as keys of a set.
fn keys(links: &[Link]) -> Vec<Vec<u8>> {
    let links: BTreeSet<_> = links.iter().collect();
    links.into_iter().map(|link| link_key(&link.name())).collect()
}
