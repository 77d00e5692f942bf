//! Part of a machine that nodes use.

use topology::Units;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsed {
    /// Unit of the numbers, such as whole cores.
    pub units: Units,
    /// Number of used units on each included socket, in order.
    pub split: Vec<u32>,
    /// Number of units of a whole socket.
    pub units_per_socket: u32,
    /// Number of sockets of the machine.
    pub sockets: u32,
}
