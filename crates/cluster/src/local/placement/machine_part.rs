//! Part of a machine that its nodes use.

use topology::Units;

/// Part of a machine that nodes use, as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsed {
    /// Unit of the counts.
    pub units: Units,
    /// Units on each used socket, in order.
    pub split: Vec<u32>,
    /// Units of a whole socket of the machine.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
}
