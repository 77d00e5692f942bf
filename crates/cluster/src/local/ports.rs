//! Finds free loopback addresses and ports for a cluster by binding them. The error for a port in
//! use contains the process that uses it.
//!
//! Every node has a separate address and the same ports, as on real hosts. Ports are outside the
//! kernel's ephemeral range, from which any program may get a port between this check and the start
//! of the node. Before the check, the module claims the addresses against other cassay processes,
//! by Unix sockets whose names contain the addresses.

use anyhow::{Result, bail};
use host::Host;
use host::ports::{describe, outgoing_range};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ports {
    pub cql: u16,
    pub storage: u16,
    /// Port of the MBeans over HTTP.
    pub jolokia: u16,
}

impl Ports {
    /// Returns the ports of node number `slot`, counted from 0, on a machine whose nodes share one
    /// address.
    pub fn for_slot(self, slot: usize) -> Ports {
        let slot = slot as u16;
        Ports {
            cql: self.cql + slot,
            storage: self.storage + slot,
            jolokia: self.jolokia + slot,
        }
    }

    pub fn all(self) -> [u16; 3] {
        [self.cql, self.storage, self.jolokia]
    }

    pub fn socket_addresses(self, address: Ipv4Addr) -> [SocketAddrV4; 3] {
        self.all().map(|port| SocketAddrV4::new(address, port))
    }
}

/// Port sets to try. With the well-known ports, other tools find a node without configuration. The
/// others are for machines where a program uses a well-known port at all addresses.
pub(super) const CHOICES: [Ports; 3] = [
    Ports {
        cql: 9042,
        storage: 7000,
        jolokia: 8778,
    },
    Ports {
        cql: 19_042,
        storage: 17_000,
        jolokia: 18_778,
    },
    Ports {
        cql: 29_042,
        storage: 27_000,
        jolokia: 28_778,
    },
];

/// Number of address blocks to try with each port set, more than a machine can run clusters.
const BLOCKS_COUNT: u8 = 32;

/// First address block. 127.9.42.0 is unused by convention, and resembles the CQL port 9042.
const FIRST_BLOCK: [u8; 3] = [127, 9, 42];

/// Claim on addresses against other cassay processes. The kernel releases the claim when this
/// process ends in any way. Nodes do not inherit the claim.
#[derive(Debug)]
pub(crate) struct Claim {
    _sockets: Vec<UnixListener>,
}

impl Claim {
    /// Claims addresses with their ports. Returns `None` if another claim contains one of the
    /// addresses with the same ports.
    pub fn take(addresses: &[Ipv4Addr], ports: Ports) -> Option<Claim> {
        let socket = |address: &Ipv4Addr| {
            let name = format!("cassay-place-{address}:{}", ports.cql);
            let name = SocketAddr::from_abstract_name(name).ok()?;
            UnixListener::bind_addr(&name).ok()
        };
        let sockets: Option<Vec<UnixListener>> = addresses.iter().map(socket).collect();
        sockets.map(|sockets| Claim { _sockets: sockets })
    }
}

#[derive(Debug)]
pub(crate) struct PortAssignment {
    pub addresses: Vec<Ipv4Addr>,
    pub ports: Ports,
    pub claim: Claim,
}

/// Chooses addresses for `nodes` nodes, and ports that are free at all of these addresses.
///
/// # Errors
/// An address from `fixed` on is not a loopback address, or no address block is free with any port
/// set. The message then contains a port in use, and the process that uses it.
pub(crate) fn choose(nodes: usize, fixed: Option<Ipv4Addr>) -> Result<PortAssignment> {
    let Some(first) = fixed else {
        let [a, b, c] = FIRST_BLOCK;
        let block_at = |index| block(Ipv4Addr::new(a, b, c + index, 1), nodes);
        let blocks: Vec<Vec<Ipv4Addr>> = (0..BLOCKS_COUNT).map(block_at).collect();
        return search(&blocks, &CHOICES);
    };
    if !first.is_loopback() {
        bail!("a local target's address must be a loopback address (127.x.y.z), not {first}");
    }
    let addresses = block(first, nodes);
    if let Some(last) = addresses.last().filter(|last| !last.is_loopback()) {
        bail!(
            "{nodes} nodes from {first} on would need addresses up to {last}, which is not a \
             loopback address\nhint: use a lower first address, such as 127.9.42.1"
        );
    }
    // Other tools must find a cluster at a fixed address, so its ports are also fixed.
    search(&[addresses], &CHOICES[..1])
}

/// Chooses ports that are free on all machines, for `slots` nodes on each machine. Returns the
/// ports of each machine's first node.
///
/// # Errors
/// An agent has ended, or no port set is free. The message then contains a port in use, and the
/// process that uses it.
pub(crate) fn choose_on(hosts: &[Host], slots: usize) -> Result<Ports> {
    let mut taken = None;
    for ports in CHOICES {
        let of_host = |host: &Host| -> Result<Option<String>> {
            let all =
                (0..slots).flat_map(|slot| ports.for_slot(slot).socket_addresses(host.address()));
            let found = host.agent().taken_port(all.collect())?;
            Ok(found.map(|found| format!("{}: {found}", host.agent().name())))
        };
        let found = hosts.iter().map(of_host).collect::<Result<Vec<_>>>()?;
        match found.into_iter().flatten().next() {
            None => return Ok(ports),
            found => taken = taken.or(found),
        }
    }
    bail!(
        "cassay found no free ports for the nodes: {}\nhint: stop the programs that listen on \
         these ports",
        taken.unwrap_or_default()
    )
}

/// Returns the first free address block with the first possible port set.
fn search(blocks: &[Vec<Ipv4Addr>], choices: &[Ports]) -> Result<PortAssignment> {
    let outgoing = outgoing_range();
    let is_safe = |ports: &Ports| {
        let all = [ports.cql, ports.storage, ports.jolokia];
        !all.iter().any(|port| outgoing.contains(port))
    };
    let mut taken = format!(
        "net.ipv4.ip_local_port_range is {}-{}, which contains all ports that cassay could assign \
         to nodes: narrow this range",
        outgoing.start(),
        outgoing.end()
    );
    for &ports in choices.iter().filter(|ports| is_safe(ports)) {
        for addresses in blocks {
            let Some(claim) = Claim::take(addresses, ports) else {
                taken = format!("another cassay uses {}:{}", addresses[0], ports.cql);
                continue;
            };
            match first_taken(addresses, ports) {
                None => {
                    return Ok(PortAssignment {
                        addresses: addresses.clone(),
                        ports,
                        claim,
                    });
                }
                Some(address) => taken = describe(address),
            }
        }
    }
    bail!(
        "cassay found no free loopback address: {taken}\nhint: stop the programs that listen on \
         these addresses"
    )
}

fn block(first: Ipv4Addr, nodes: usize) -> Vec<Ipv4Addr> {
    let first = first.to_bits();
    (0..nodes as u32)
        .map(|index| Ipv4Addr::from_bits(first.wrapping_add(index)))
        .collect()
}

fn first_taken(addresses: &[Ipv4Addr], ports: Ports) -> Option<SocketAddrV4> {
    addresses
        .iter()
        .flat_map(|address| ports.socket_addresses(*address))
        .find(|address| TcpListener::bind(address).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Tests run concurrently, so each test uses different addresses.

    #[test]
    fn a_taken_block_is_passed_over() {
        let blocks = [1, 2].map(|index| block(Ipv4Addr::new(127, 200, index, 1), 3));
        let chosen = search(&blocks, &CHOICES).unwrap();
        assert_eq!(chosen.addresses, blocks[0]);
        let (third, cql) = (chosen.addresses[2], chosen.ports.cql);
        drop(chosen);
        let _listener = TcpListener::bind((third, cql)).unwrap();
        let chosen = search(&blocks, &CHOICES).unwrap();
        assert_eq!(chosen.addresses, blocks[1]);
    }

    #[test]
    fn a_place_is_one_starters_until_its_nodes_listen() {
        let blocks = [4, 5].map(|index| block(Ipv4Addr::new(127, 200, index, 1), 2));
        let first = search(&blocks, &CHOICES[..1]).unwrap();
        let second = search(&blocks, &CHOICES[..1]).unwrap();
        assert_eq!(first.addresses, blocks[0]);
        assert_eq!(second.addresses, blocks[1]);
        let error = search(&blocks, &CHOICES[..1]).unwrap_err().to_string();
        assert!(
            error.contains("another cassay uses 127.200.5.1:9042"),
            "{error}"
        );
        // A claim fails if another claim contains one of its addresses with the same ports.
        assert!(Claim::take(&blocks[0][1..], CHOICES[0]).is_none());
        assert!(Claim::take(&blocks[0], CHOICES[1]).is_some());
        drop(first);
        assert_eq!(search(&blocks, &CHOICES[..1]).unwrap().addresses, blocks[0]);
    }

    #[test]
    fn ports_move_when_something_listens_at_all_addresses() {
        let blocks = [block(Ipv4Addr::new(127, 200, 3, 1), 1)];
        let _listener = TcpListener::bind((blocks[0][0], CHOICES[0].cql)).unwrap();
        assert_eq!(search(&blocks, &CHOICES).unwrap().ports, CHOICES[1]);
    }

    #[test]
    fn blocks_stay_within_the_last_but_one_byte() {
        assert!(u32::from(FIRST_BLOCK[2]) + u32::from(BLOCKS_COUNT) <= 256);
    }

    #[test]
    fn a_taken_port_is_named_with_its_holder() {
        let address = Ipv4Addr::new(127, 200, 200, 1);
        let _listener = TcpListener::bind((address, CHOICES[0].storage)).unwrap();
        let error = choose(1, Some(address)).unwrap_err().to_string();
        let own = format!("process {}", std::process::id());
        assert!(error.contains(&own), "{error}");
        assert!(error.contains(") uses 127.200.200.1:7000"), "{error}");
    }

    #[test]
    fn an_address_of_the_outside_is_refused() {
        let error = choose(1, Some(Ipv4Addr::new(10, 0, 0, 1))).unwrap_err().to_string();
        assert!(error.contains("must be a loopback address"), "{error}");
        let error = choose(3, Some(Ipv4Addr::new(127, 255, 255, 254))).unwrap_err().to_string();
        assert!(
            error.contains("up to 128.0.0.0, which is not a loopback address"),
            "{error}"
        );
    }

    #[test]
    fn blocks_of_the_most_nodes_have_no_address_in_common() {
        let [a, b, c] = FIRST_BLOCK;
        let blocks = (0..BLOCKS_COUNT).map(|index| Ipv4Addr::new(a, b, c + index, 1));
        let mut all: Vec<_> =
            blocks.flat_map(|first| block(first, target_spec::NODES_COUNT_MAX)).collect();
        all.dedup();
        assert_eq!(
            all.len(),
            usize::from(BLOCKS_COUNT) * target_spec::NODES_COUNT_MAX
        );
        assert!(all.is_sorted());
    }
}
