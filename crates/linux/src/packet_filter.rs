//! Drops packets by the kernel's packet filter. A switch drops them between its ports, and a host
//! drops packets that it receives or sends.
//!
//! Invariant: all rules of one fault are in a separate table, so that healing is one step and does
//! not affect other tables. A switch has a separate namespace, and its tables disappear with the
//! namespace. The tables of a host that uses its machine's network remain until they are removed
//! explicitly.

mod host;
mod rules;
mod switch;

pub use host::{HostLoss, PacketDirection, PortEnd};
pub use rules::Lose;
pub use switch::{Link, Loss};

use crate::net::Netlink;
use crate::rtnetlink_message::Message;
use crate::rtnetlink_message::filter::Table;
use anyhow::{Context, Result};
use rules::Rules;
use rustix::io::Errno;
use rustix::net::netlink;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// Packet filter of the network namespace in which it was opened, for one type of loss.
pub struct Filter<L> {
    socket: Netlink,
    losses: PhantomData<L>,
}

impl<L: Lose> Filter<L> {
    /// Opens the filter in the namespace of the calling thread.
    ///
    /// # Errors
    /// The kernel has no packet filter, or refuses to open it.
    pub fn open() -> Result<Filter<L>> {
        let socket = Netlink::open_family(Some(netlink::NETFILTER));
        let needs = "a packet filter needs the kernel option CONFIG_NF_TABLES";
        Ok(Filter {
            socket: socket.context(needs)?,
            losses: PhantomData,
        })
    }

    /// Drops the packets of all `losses` from now on, by a new table.
    ///
    /// # Errors
    /// A loss is invalid, or the kernel cannot drop the packets. In this case no packets are
    /// dropped.
    pub fn add(&mut self, table: &str, losses: &[L]) -> Result<()> {
        anyhow::ensure!(!losses.is_empty(), "the fault selects no packets to drop");
        losses.iter().try_for_each(Lose::check)?;
        let mut rules = Rules::new(filter_table::<L>(table), L::HOOKS);
        for (number, loss) in (0..).zip(losses) {
            loss.rules(number, &mut rules);
        }
        let made = self.change(rules.into_messages());
        made.with_context(|| format!("create the table {table} of the packet filter"))
    }

    /// Removes this table, so that its rules no longer drop packets. A missing table is not an
    /// error.
    ///
    /// # Errors
    /// The kernel refuses to remove the table.
    pub fn remove(&mut self, table: &str) -> Result<()> {
        match self.change(vec![Message::no_table(filter_table::<L>(table))]) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.with_context(|| format!("remove the table {table}")),
        }
    }

    /// Returns the number of packets that each loss of a table has dropped, in the order of the
    /// losses. The list is empty if the table does not exist.
    ///
    /// # Errors
    /// The kernel refuses to list the rules of the table.
    pub fn dropped(&mut self, table: &str) -> Result<Vec<u64>> {
        let mut dropped = BTreeMap::new();
        let asked =
            self.socket.exchange(vec![Message::rules(filter_table::<L>(table))], |answer| {
                if let Some((number, packets)) = answer.dropped() {
                    *dropped.entry(number).or_default() += packets;
                }
                false
            });
        asked.with_context(|| format!("read the rules of the table {table}"))?;
        Ok(dropped.into_values().collect())
    }

    /// Returns the names of all tables of the family of `L`, including those that other programs
    /// have created.
    ///
    /// # Errors
    /// The kernel refuses to list the tables.
    pub fn tables(&mut self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let asked = self.socket.exchange(vec![Message::tables(L::FAMILY)], |answer| {
            names.extend(answer.table());
            false
        });
        asked.context("list the tables of the packet filter")?;
        Ok(names)
    }

    /// Applies all changes or none.
    fn change(&mut self, mut messages: Vec<Message>) -> Result<(), Errno> {
        messages.insert(0, Message::batch_begin());
        let last = messages.pop().map(Message::answered);
        messages.extend(last);
        messages.push(Message::batch_end());
        self.socket.ask_all(messages)
    }
}

fn filter_table<L: Lose>(name: &str) -> Table<'_> {
    let family = L::FAMILY;
    Table { family, name }
}

#[cfg(test)]
mod tests;
