//! What is lost of packets by a kernel's packet filter: by a switch on the way from port to port,
//! or by a host of what comes to it and what it sends.
//!
//! What must hold: everything of one fault is a table of its own, so that healing is one step that
//! leaves what others have made. A switch has a namespace of its own, with which its tables go;
//! those of a host that has its machine's network stay until somebody takes them away.

mod host;
mod rules;
mod switch;

pub use host::{HostLoss, PortEnd, Way};
pub use rules::Lose;
pub use switch::{Link, Loss};

use crate::message::Message;
use crate::message::filter::Table;
use crate::net::Netlink;
use anyhow::{Context, Result};
use rules::Rules;
use rustix::io::Errno;
use rustix::net::netlink;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// The packet filter of the network namespace in which it was opened, for what loses packets so.
pub struct Filter<L> {
    socket: Netlink,
    losses: PhantomData<L>,
}

impl<L: Lose> Filter<L> {
    /// In the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel has none, or refuses.
    pub fn open() -> Result<Filter<L>> {
        let socket = Netlink::of(Some(netlink::NETFILTER));
        let needs = "a packet filter needs the kernel option CONFIG_NF_TABLES";
        Ok(Filter {
            socket: socket.context(needs)?,
            losses: PhantomData,
        })
    }

    /// Loses all of `losses` from now on, by a new table.
    ///
    /// # Errors
    /// What they say cannot be, or the kernel cannot do it; nothing is lost then.
    pub fn add(&mut self, table: &str, losses: &[L]) -> Result<()> {
        anyhow::ensure!(!losses.is_empty(), "nothing is named that is to be lost");
        losses.iter().try_for_each(Lose::check)?;
        let mut rules = Rules::new(of::<L>(table), L::HOOKS);
        for (number, loss) in (0..).zip(losses) {
            loss.rules(number, &mut rules);
        }
        let made = self.change(rules.into_messages());
        made.with_context(|| format!("make the table {table} of the packet filter"))
    }

    /// Loses nothing by this table any more. One that is gone is no error.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn remove(&mut self, table: &str) -> Result<()> {
        match self.change(vec![Message::no_table(of::<L>(table))]) {
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
        let asked = self.socket.exchange(vec![Message::rules(of::<L>(table))], |answer| {
            if let Some((number, packets)) = answer.dropped() {
                *dropped.entry(number).or_default() += packets;
            }
            false
        });
        asked.with_context(|| format!("read the rules of the table {table}"))?;
        Ok(dropped.into_values().collect())
    }

    /// The names of all tables that there are, whoever has made them.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn tables(&mut self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let asked = self.socket.exchange(vec![Message::tables(L::FAMILY)], |answer| {
            names.extend(answer.table());
            false
        });
        asked.context("list the tables of the packet filter")?;
        Ok(names)
    }

    /// All of it or nothing.
    fn change(&mut self, mut messages: Vec<Message>) -> Result<(), Errno> {
        messages.insert(0, Message::batch_begin());
        let last = messages.pop().map(Message::answered);
        messages.extend(last);
        messages.push(Message::batch_end());
        self.socket.ask_all(messages)
    }
}

fn of<L: Lose>(name: &str) -> Table<'_> {
    let family = L::FAMILY;
    Table { family, name }
}

#[cfg(test)]
mod tests;
