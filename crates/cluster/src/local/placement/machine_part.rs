//! Part of a machine that nodes use.

use topology::Units;

/// Part of a machine that nodes use, as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsed {
    /// Unit in which the part is measured, such as whole cores.
    pub units: Units,
    /// Number of used units on each socket that the part includes, in order.
    pub split: Vec<u32>,
    /// Number of units that a whole socket of the machine has.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
}
