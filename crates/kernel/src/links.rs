//! What the links of a switch and of its hosts are called, and how many there are.

/// Hosts that a network has addresses for: the last one is the machine's own.
pub const HOSTS_COUNT_MAX: usize = 253;

// Each node has an address of its own, also where each is alone on its host.
const _: () = assert!(target::NODES_COUNT_MAX <= HOSTS_COUNT_MAX);

/// Name of the bridge, in its own namespace.
pub const BRIDGE: &str = "switch";

/// The link's end in the switch that leads to the machine.
pub const UPLINK: &str = "uplink";

/// The link's end in a host.
pub const HOST_LINK: &str = "eth0";

/// The switch's end of the link to a host, by its number, counted from 1.
pub fn port(number: usize) -> String {
    format!("port{number}")
}
