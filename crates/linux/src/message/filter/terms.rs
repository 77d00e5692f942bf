//! Terms of nf_tables messages: tables, the hooks at which they see packets, and the packets that a
//! rule drops.

const NFPROTO_IPV4: u8 = 2;
const NFPROTO_BRIDGE: u8 = 7;
const NF_BR_FORWARD: u32 = 2;
const NF_INET_LOCAL_IN: u32 = 1;
const NF_INET_LOCAL_OUT: u32 = 3;

/// A table by its name, among those of its family.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub family: Family,
    pub name: &'a str,
}

/// Kind of packets that a table sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Packets that bridges forward.
    Bridge,
    /// Packets of IPv4 that this host sends or receives.
    Ipv4,
}

impl Family {
    pub(super) fn number(self) -> u8 {
        match self {
            Family::Bridge => NFPROTO_BRIDGE,
            Family::Ipv4 => NFPROTO_IPV4,
        }
    }
}

/// Hook at which a chain of a table sees packets; each has one chain at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// On the way from port to port of a bridge.
    Forward,
    /// Packets that this host receives.
    In,
    /// Packets that this host sends.
    Out,
}

impl Hook {
    pub(super) fn chain(self) -> &'static str {
        match self {
            Hook::Forward => "forward",
            Hook::In => "in",
            Hook::Out => "out",
        }
    }

    /// Returns the type of the chain. A redirected packet needs a new route, hence `route`.
    pub(super) fn chain_type(self) -> &'static str {
        match self {
            Hook::Forward | Hook::In => "filter",
            Hook::Out => "route",
        }
    }

    pub(super) fn number(self) -> u32 {
        match self {
            Hook::Forward => NF_BR_FORWARD,
            Hook::In => NF_INET_LOCAL_IN,
            Hook::Out => NF_INET_LOCAL_OUT,
        }
    }
}

/// A rule, with the packets that it drops.
pub struct Drop<'a> {
    /// Number of the loss that the rule belongs to, returned when rules are read.
    pub number: u32,
    /// Hook at which it sees packets.
    pub hook: Hook,
    /// Conditions that a packet must all fulfil.
    pub matches: Vec<Match<'a>>,
    /// Share of these packets that it drops; 1 is all.
    pub share: f64,
}

/// Condition on a packet. Sets are those of the rule's table, by their names.
#[derive(Clone, Copy)]
pub enum Match<'a> {
    /// It comes in, or goes out, by a link of this set.
    Link(&'a str, End),
    /// It comes in, or goes out, by a link to another machine or host.
    FromOrToOthers(End),
    /// It is not ARP.
    NoArp,
    /// It is of IPv4, with an address of this set at this end.
    Address(&'a str, End),
    /// It is TCP, with a port of this set at this end.
    Port(&'a str, End),
}

/// End of a connection in a packet, or end of the packet's way through this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}
