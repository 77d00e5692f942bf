//! Terms of nf_tables messages: tables, the hooks at which they process packets, and the packets
//! that a rule drops.

const NFPROTO_IPV4: u8 = 2;
const NFPROTO_BRIDGE: u8 = 7;
const NF_BR_FORWARD: u32 = 2;
const NF_INET_LOCAL_IN: u32 = 1;
const NF_INET_LOCAL_OUT: u32 = 3;

/// A table, identified by its family and name.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    pub family: Family,
    pub name: &'a str,
}

/// Kind of packets that a table processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Packets that bridges forward.
    Bridge,
    /// IPv4 packets that this host sends or receives.
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

/// Hook at which a chain of a table processes packets. Each hook has at most one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Packets between the ports of a bridge.
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

    /// Returns the type of the chain. The type for output is `route`, because a redirected packet
    /// needs a new route.
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

/// A rule, which drops the packets that fulfil its conditions.
pub struct Drop<'a> {
    /// Number of the loss to which the rule belongs. The kernel returns this number with the rule.
    pub number: u32,
    /// Hook at which the rule processes packets.
    pub hook: Hook,
    /// Conditions, all of which a packet must fulfil.
    pub matches: Vec<Match<'a>>,
    /// Share of the matching packets that the rule drops. With 1, it drops all of them.
    pub share: f64,
}

/// Condition on a packet. The sets that it names belong to the table of the rule.
#[derive(Clone, Copy)]
pub enum Match<'a> {
    /// The packet enters or leaves through a link in this set.
    Link(&'a str, End),
    /// The packet enters or leaves through any link except the loopback link.
    FromOrToOthers(End),
    /// The packet is not ARP.
    NoArp,
    /// The packet is IPv4, and its address at this end is in this set.
    Address(&'a str, End),
    /// The packet is TCP, and its port at this end is in this set.
    Port(&'a str, End),
}

/// End of a connection, or of a packet's path through this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}
