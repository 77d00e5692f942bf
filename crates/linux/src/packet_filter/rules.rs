//! Converts a loss to rules of a table, and checks the limits of every loss.

use crate::rtnetlink_message::Message;
use crate::rtnetlink_message::filter::{
    ADDRESS_KEY_BYTES, Drop, End, Family, Hook, Match, PORT_KEY_BYTES, SHARES, Table,
};
use anyhow::Result;
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// Maximum number of ports in a rule. With this limit, all ports fit in one message of 64 KiB.
const PORTS_COUNT_MAX: usize = 1000;

/// Smallest share of packets that the kernel accepts.
const SHARE_MIN: f64 = 1.0 / SHARES as f64;

/// A loss of packets that the rules of a table cause, either at a switch ([`super::Loss`]) or at a
/// host ([`super::HostLoss`]).
pub trait Lose {
    #[doc(hidden)]
    const FAMILY: Family;
    #[doc(hidden)]
    const HOOKS: &'static [Hook];

    #[doc(hidden)]
    fn check(&self) -> Result<()>;

    /// Adds the rules for the loss with number `number` to a table.
    #[doc(hidden)]
    fn rules(&self, number: u32, rules: &mut Rules<'_>);
}

/// Messages that create a table.
pub struct Rules<'a> {
    table: Table<'a>,
    messages: Vec<Message>,
    sets_count: u32,
}

impl<'a> Rules<'a> {
    /// Creates a table that processes packets at these hooks. With [`Hook::Out`], the table already
    /// contains the rule that drops redirected packets.
    pub fn new(table: Table<'a>, hooks: &[Hook]) -> Rules<'a> {
        let mut messages = vec![Message::table(table)];
        messages.extend(hooks.iter().map(|hook| Message::chain(table, *hook)));
        if hooks.contains(&Hook::Out) {
            messages.push(Message::nowhere(table));
        }
        Rules {
            table,
            messages,
            sets_count: 0,
        }
    }

    pub(crate) fn into_messages(self) -> Vec<Message> {
        self.messages
    }

    /// Creates a set in the table.
    pub fn set(&mut self, name: &str, keys: &[Vec<u8>], key_bytes: usize) {
        let id = self.sets_count;
        self.sets_count += 1;
        self.messages.push(Message::set(self.table, name, id, key_bytes));
        self.messages.push(Message::elements(self.table, name, keys));
    }

    /// Creates a set of ports in the table.
    pub fn set_of_ports(&mut self, name: &str, ports: &[u16]) {
        let ports: BTreeSet<_> = ports.iter().collect();
        let keys = ports.into_iter().map(|port| port.to_be_bytes().to_vec());
        self.set(name, &keys.collect::<Vec<_>>(), PORT_KEY_BYTES);
    }

    /// Creates a set of addresses in the table.
    pub fn set_of_addresses(&mut self, name: &str, addresses: &[Ipv4Addr]) {
        let addresses: BTreeSet<_> = addresses.iter().collect();
        let keys = addresses.into_iter().map(|address| address.octets().to_vec());
        self.set(name, &keys.collect::<Vec<_>>(), ADDRESS_KEY_BYTES);
    }

    /// Adds a rule that drops a share of the packets that fulfil all of `matches`. If a set of
    /// ports is given, the rule has one more condition: at one of the given ends, the connection
    /// uses a port of that set.
    pub fn drop(
        &mut self,
        (number, hook): (u32, Hook),
        matches: &[Match<'_>],
        ports: Option<(&str, &[End])>,
        share: f64,
    ) {
        let ports: Vec<Option<Match<'_>>> = match ports {
            None => vec![None],
            Some((set, ends)) => ends.iter().map(|end| Some(Match::Port(set, *end))).collect(),
        };
        for port in ports {
            let drop = Drop {
                number,
                hook,
                matches: matches.iter().copied().chain(port).collect(),
                share,
            };
            self.messages.push(Message::drop(self.table, &drop));
        }
    }
}

/// Returns an error if the share is out of range.
pub fn check_share(share: f64) -> Result<()> {
    anyhow::ensure!(
        (SHARE_MIN..=1.0).contains(&share),
        "the share of dropped packets must be from {SHARE_MIN} to 1, not {share}"
    );
    Ok(())
}

/// Returns an error if the number of ports exceeds the maximum.
pub fn check_ports(ports: &[u16]) -> Result<()> {
    anyhow::ensure!(
        ports.len() <= PORTS_COUNT_MAX,
        "the fault names {} ports, but one rule has at most {PORTS_COUNT_MAX}",
        ports.len()
    );
    Ok(())
}
