//! What hosts are asked to be. Making one of these touches nothing but memory.

use crate::HostSpec;

/// Stand-ins for machines, all alike, as [`crate::Hosts::make`] makes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostsSpec {
    /// How many.
    pub count: usize,
    /// How far they are kept apart.
    pub isolation: Isolation,
    /// What each of them is limited to.
    pub host: HostSpec,
}

measure::word_enum! {
    /// How far hosts are kept apart.
    #[derive(Default)]
    pub enum Isolation {
        /// As [`Isolation::Hosts`] where this machine allows it, otherwise as loopback.
        #[default]
        Auto = "auto",
        /// Each has a network, cgroups and a volume of its own; refused where that cannot be had.
        Hosts = "hosts",
        /// Only addresses of their own: nothing of [`HostSpec`] can be had.
        Loopback = "loopback",
    }
}
