//! The switch between simulated hosts: a bridge in a separate network namespace, with one link to
//! the machine's namespace.
//!
//! Invariants: the machine's own namespace gets only one link end, which is removed with the
//! switch. The network has an address range to which the machine has no route. Only one command at
//! a time looks for a range.

use crate::agent::{self, Agent};
use crate::calls::{Address, ConnectToSwitch, MakeBridge, RaiseUplink};
use anyhow::{Context, Result};
use linux::links::UPLINK;
use linux::net::{Namespace, Netlink, PREFIX, Subnet};
use measure::clock::{self, Deadline};
use rustix::io::Errno;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Private ranges 10.N.0.0/16 for networks. The ranges are rarely used elsewhere. This matters
/// because the check for a free range cannot take networks into account that the machine joins
/// later.
const RANGES: [u8; 3] = [94, 187, 213];

/// Last octet of the machine's own address in the network. The last octets of hosts count from 1.
const MACHINE: u8 = 254;

/// Name of the socket that a process keeps open while it looks for a free network. Because this is
/// an abstract socket in the machine's network namespace, it disappears with the process.
const RESERVATION: &[u8] = b"cassay-network";

/// Time limit of the wait for other processes that look for a free network. Each of them takes some
/// milliseconds.
const RESERVATION_LIMIT: Duration = Duration::from_secs(10);

const POLL: Duration = Duration::from_millis(2);

/// A switch with its link to the machine.
#[derive(Debug)]
pub(super) struct Switch {
    pub agent: Arc<Agent>,
    pub network: Ipv4Addr,
}

impl Switch {
    /// Creates a switch in a free network, through the agent of the switch.
    ///
    /// # Errors
    /// The machine does not permit the switch, or no network is free.
    pub fn make(agent: Agent) -> Result<Switch> {
        agent.call(&MakeBridge)?;
        let namespace = Namespace::open(&format!("/proc/{}/ns/net", agent.process().pid))?;
        let network = uplink(&mut Netlink::open()?, &namespace)?;
        agent.call(&RaiseUplink)?;
        let agent = Arc::new(agent);
        Ok(Switch { agent, network })
    }

    /// Connects to the switch that an earlier command has kept.
    ///
    /// # Errors
    /// The agent of the switch has ended.
    pub fn reach(network: Ipv4Addr, folder: &Path) -> Result<Switch> {
        let agent = Arc::new(Agent::reach(agent::SWITCH, folder)?);
        Ok(Switch { agent, network })
    }

    /// Connects a host to the switch. Creates the host's link `eth0` with its address, and brings
    /// `eth0` and `lo` up.
    ///
    /// # Errors
    /// The kernel refuses to create the link or to add its address.
    pub fn plug(&self, number: usize, host: &Agent) -> Result<()> {
        let process = host.process();
        self.agent.call(&ConnectToSwitch { number, process })?;
        host.call(&Address(self.address(number)))
    }

    /// Returns the address of host `number`. Hosts are numbered from 1.
    pub fn address(&self, number: usize) -> Ipv4Addr {
        address(self.network, number as u8)
    }
}

fn address(network: Ipv4Addr, last: u8) -> Ipv4Addr {
    let [a, b, c, _] = network.octets();
    Ipv4Addr::new(a, b, c, last)
}

/// Creates the link between the machine and the switch in a free network. Returns this network.
fn uplink(machine: &mut Netlink, namespace: &Namespace) -> Result<Ipv4Addr> {
    let reservation = reserve()?;
    let routes = machine.routes()?;
    for network in free_networks(&routes) {
        let name = name(network);
        match machine.veth(&name, UPLINK, namespace) {
            Ok(()) => {}
            // Another switch with this network is ending. The kernel has already removed the route
            // of that switch, and will soon remove its link.
            Err(Errno::EXIST) => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("create the link {name}"));
            }
        }
        machine.address(&name, address(network, MACHINE))?;
        machine.up(&name, None)?;
        drop(reservation);
        return Ok(network);
    }
    anyhow::bail!(
        "no network is free for hosts: routes of this machine use every /{PREFIX} of 10.{}.0.0/16 \
         and of the other networks that cassay tries; see `ip route`",
        RANGES[0]
    )
}

/// Returns the name of the machine's link end. The name contains the network: `cassay94-8` is
/// 10.94.8.0/24.
pub(super) fn name(network: Ipv4Addr) -> String {
    let [_, range, part, _] = network.octets();
    format!("cassay{range}-{part}")
}

/// Returns the networks to which the machine has no route, in the order in which they are tried.
fn free_networks(routes: &[Subnet]) -> impl Iterator<Item = Ipv4Addr> + '_ {
    let all = RANGES
        .into_iter()
        .flat_map(|range| (0..=u8::MAX).map(move |part| Ipv4Addr::new(10, range, part, 0)));
    all.filter(|&address| {
        let network = Subnet {
            address,
            prefix: PREFIX,
        };
        !routes.iter().any(|route| route.overlaps(network))
    })
}

fn reserve() -> Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(RESERVATION).context("name a socket")?;
    let deadline = Deadline::after(RESERVATION_LIMIT);
    loop {
        match UnixListener::bind_addr(&address) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse && !deadline.passed() => {
                clock::sleep(POLL);
            }
            Err(error) => {
                return Err(error).context(
                    "reserve the choice of a network (another cassay may own the reservation: ss \
                     -lx | grep cassay-network)",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::links::{self, HOSTS_COUNT_MAX};

    fn subnet(text: &str, prefix: u8) -> Subnet {
        Subnet {
            address: text.parse().unwrap(),
            prefix,
        }
    }

    #[test]
    fn a_network_that_a_route_leads_to_is_not_taken() {
        let first = |routes: &[Subnet]| free_networks(routes).next().map(|found| found.to_string());
        assert_eq!(first(&[]).as_deref(), Some("10.94.0.0"));
        // The routes lead to an address in the first network, to parts of the first two networks,
        // to the whole first range, to an unrelated network, and to all ranges.
        assert_eq!(
            first(&[subnet("10.94.0.7", 32)]).as_deref(),
            Some("10.94.1.0")
        );
        let two = [subnet("10.94.0.0", 24), subnet("10.94.1.128", 25)];
        assert_eq!(first(&two).as_deref(), Some("10.94.2.0"));
        assert_eq!(
            first(&[subnet("10.94.0.0", 16)]).as_deref(),
            Some("10.187.0.0")
        );
        assert_eq!(
            first(&[subnet("192.168.0.0", 16)]).as_deref(),
            Some("10.94.0.0")
        );
        assert_eq!(first(&[subnet("10.0.0.0", 8)]), None);
    }

    #[test]
    fn names_of_links_fit_the_kernel() {
        // The limit IFNAMSIZ includes the final zero byte.
        let longest = name(Ipv4Addr::new(10, 213, 255, 0));
        assert_eq!(longest, "cassay213-255");
        assert!(longest.len() < 16 && links::port(HOSTS_COUNT_MAX).len() < 16);
    }
}
