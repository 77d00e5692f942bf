//! What messages of nf_tables are about: tables, where packets are shown to them, and which of
//! these a rule drops.

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

/// Who shows packets to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Bridges show what goes through them.
    Bridge,
    /// What is to be sent or received by IPv4.
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

/// Where packets are shown to a chain of a table; each has one chain at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// On the way from port to port of a bridge.
    Forward,
    /// They have come to this host, and are for it.
    In,
    /// This host sends them.
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

    /// What is sent elsewhere has to find its way anew.
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

/// Which packets a rule drops.
pub struct Drop<'a> {
    /// What the rule is told apart by when it is read.
    pub number: u32,
    /// Where it meets them.
    pub hook: Hook,
    /// What they all have to be.
    pub matches: Vec<Match<'a>>,
    /// The share of them; 1 is all.
    pub share: f64,
}

/// What a packet has to be. Sets are those of the rule's table, by their names.
#[derive(Clone, Copy)]
pub enum Match<'a> {
    /// It comes in, or goes out, by a link of this set.
    Link(&'a str, End),
    /// It comes in, or goes out, by a link to others.
    FromOrToOthers(End),
    /// It is more than the question of a neighbour for another, or its answer.
    NoArp,
    /// It is of IPv4, with an address of this set at this end.
    Address(&'a str, End),
    /// It is TCP, with a port of this set at this end.
    Port(&'a str, End),
}

/// An end of a connection, as a packet has it; or of its way through this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}
