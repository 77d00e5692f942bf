//! What a switch loses on the way from port to port, by its kernel's packet filter.
//!
//! What must hold: everything of one fault is a table of its own, so that healing is one step that
//! leaves what others have made; and nothing of it is outside of the namespace, with which it goes.

use crate::links;
use crate::message::Message;
use crate::message::filter::{Drop, End, LINK_KEY_BYTES, SHARES};
use crate::net::Netlink;
use anyhow::{Context, Result};
use rustix::io::Errno;
use rustix::net::netlink;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Ports that a rule may name: they have to fit into one message of 64 KiB.
const PORTS_COUNT_MAX: usize = 1000;

const PORT_KEY_BYTES: usize = 2;

/// The smallest share that the kernel can be told.
const SHARE_MIN: f64 = 1.0 / SHARES as f64;

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

    fn check(&self) -> Result<()> {
        anyhow::ensure!(
            (SHARE_MIN..=1.0).contains(&self.share),
            "the share of packets that is lost is from {SHARE_MIN} to 1, not {}",
            self.share
        );
        anyhow::ensure!(
            self.tcp_ports.len() <= PORTS_COUNT_MAX,
            "{} ports are named, and one rule has at most {PORTS_COUNT_MAX}",
            self.tcp_ports.len()
        );
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

    /// What makes the rules of number `number` of a table.
    fn messages(&self, table: &str, number: u32) -> Vec<Message> {
        let names = ["from", "to", "ports"].map(|name| format!("{name}{number}"));
        let [from, to, ports] = names.each_ref().map(String::as_str);
        let mut sets = vec![
            (from, keys(&self.from), LINK_KEY_BYTES),
            (to, keys(&self.to), LINK_KEY_BYTES),
        ];
        let mut ends = vec![None];
        if !self.tcp_ports.is_empty() {
            let numbers: BTreeSet<_> = self.tcp_ports.iter().collect();
            let keys = numbers.into_iter().map(|port| port.to_be_bytes().to_vec());
            sets.push((ports, keys.collect(), PORT_KEY_BYTES));
            ends = vec![Some((ports, End::Source)), Some((ports, End::Destination))];
        }
        let id = number * names.len() as u32;
        let made = (id..).zip(&sets).flat_map(|(id, (name, keys, bytes))| {
            let set = Message::set(table, name, id, *bytes);
            [set, Message::elements(table, name, keys)]
        });
        let rules = ends.into_iter().map(|ports| {
            let drop = Drop {
                number,
                from,
                to,
                ports,
                share: self.share,
            };
            Message::drop(table, &drop)
        });
        made.chain(rules).collect()
    }
}

/// Names of links as keys of a set.
fn keys(links: &[Link]) -> Vec<Vec<u8>> {
    let links: BTreeSet<_> = links.iter().collect();
    let key = |link: &Link| {
        let mut key = link.name().into_bytes();
        key.resize(LINK_KEY_BYTES, 0);
        key
    };
    links.into_iter().map(key).collect()
}

/// The packet filter of the network namespace in which it was opened.
pub struct Filter(Netlink);

impl Filter {
    /// In the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel has none, or refuses.
    pub fn open() -> Result<Filter> {
        let socket = Netlink::of(Some(netlink::NETFILTER));
        let needs = "a packet filter needs the kernel option CONFIG_NF_TABLES";
        socket.map(Filter).context(needs)
    }

    /// Loses all of `losses` from now on, by a new table.
    ///
    /// # Errors
    /// What they say cannot be, or the kernel cannot do it; nothing is lost then.
    pub fn add(&mut self, table: &str, losses: &[Loss]) -> Result<()> {
        anyhow::ensure!(!losses.is_empty(), "nothing is named that is to be lost");
        losses.iter().try_for_each(Loss::check)?;
        let mut change = vec![Message::table(table), Message::chain(table)];
        for (number, loss) in (0..).zip(losses) {
            change.extend(loss.messages(table, number));
        }
        let made = self.change(change);
        made.with_context(|| format!("make the table {table} of the packet filter"))
    }

    /// Loses nothing by this table any more. One that is gone is no error.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn remove(&mut self, table: &str) -> Result<()> {
        match self.change(vec![Message::no_table(table)]) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.with_context(|| format!("take the table {table} away")),
        }
    }

    /// How many packets were lost by each loss of a table, in their order; none if there is no such
    /// table.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn dropped(&mut self, table: &str) -> Result<Vec<u64>> {
        let mut dropped = BTreeMap::new();
        let asked = self.0.exchange(vec![Message::rules(table)], |answer| {
            if let Some((number, packets)) = answer.dropped() {
                *dropped.entry(number).or_default() += packets;
            }
            false
        });
        asked.with_context(|| format!("read the rules of the table {table}"))?;
        Ok(dropped.into_values().collect())
    }

    /// All of it or nothing.
    fn change(&mut self, mut messages: Vec<Message>) -> Result<(), Errno> {
        messages.insert(0, Message::batch_begin());
        let last = messages.pop().map(Message::answered);
        messages.extend(last);
        messages.push(Message::batch_end());
        self.0.ask_all(messages)
    }
}
