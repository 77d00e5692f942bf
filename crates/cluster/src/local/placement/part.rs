//! The part of a machine that its nodes have.

use topology::Units;

/// The part of a machine that nodes have, as it came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsed {
    /// What it is counted in.
    pub units: Units,
    /// Units on each socket that has some, in order.
    pub split: Vec<u32>,
    /// Units that fill one socket of the machine.
    pub units_per_socket: u32,
    /// Sockets of the machine.
    pub sockets: u32,
}
