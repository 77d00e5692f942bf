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

/// Hook at which a chain of a table sees packets. Each hook has at most one chain.
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

    /// Returns the type of the chain. A redirected packet needs a new route, so the type is
    /// `route`.
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
    /// Number of the loss to which the rule belongs. Reading rules returns it.
    pub number: u32,
    /// Hook at which the rule sees packets.
    pub hook: Hook,
    /// Conditions, all of which a packet must fulfil.
    pub matches: Vec<Match<'a>>,
    /// Share of these packets that it drops; 1 is all.
    pub share: f64,
}

/// Condition on a packet. Sets are those of the rule's table, by their names.
#[derive(Clone, Copy)]
pub enum Match<'a> {
    /// The packet enters or leaves through a link of this set.
    Link(&'a str, End),
    /// The packet enters or leaves through a link to another machine or host.
    FromOrToOthers(End),
    /// The packet is not ARP.
    NoArp,
    /// The packet is IPv4, with an address of this set at this end.
    Address(&'a str, End),
    /// The packet is TCP, with a port of this set at this end.
    Port(&'a str, End),
}

/// End of a connection, or of a packet's way through this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}
