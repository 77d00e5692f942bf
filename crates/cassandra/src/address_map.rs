//! Maps the first address of each node to its current address. A recreated pod has a new address,
//! and the addresses that a cluster reports may need translation.
//!
//! Invariants: callers identify a node by its first address. Managed nodes never move.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_spec::{CQL_PORT, Translation};
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Addresses of the nodes of a cluster. For each node, the map contains its first address, the
/// address that the cluster uses now, and the address at which clients reach the node.
#[derive(Clone, Debug, Default)]
pub struct NodeAddressMap {
    /// The address that the cluster uses now for each moved node. The key is the node's first
    /// address.
    moved: Arc<Mutex<BTreeMap<SocketAddr, SocketAddr>>>,
    translation: Arc<Translation>,
    proxy: Option<Proxy>,
}

/// Proxy with a single address in front of all nodes. A client selects a node by name.
#[derive(Clone, Debug)]
pub struct Proxy {
    address: SocketAddr,
    /// Names by which the proxy selects the nodes. The key is the address that the cluster uses.
    names: Arc<Mutex<BTreeMap<SocketAddr, String>>>,
}

impl Proxy {
    pub fn from_address(address: SocketAddr) -> Proxy {
        Proxy {
            address,
            names: Arc::default(),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Records the name of a node. `called` is the address that the cluster uses for the node.
    pub fn note(&self, called: SocketAddr, name: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(called, name.to_owned());
    }

    fn name(&self, called: SocketAddr) -> Option<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(&called).cloned()
    }
}

impl NodeAddressMap {
    pub fn translated(translation: Translation) -> NodeAddressMap {
        NodeAddressMap {
            translation: Arc::new(translation),
            ..NodeAddressMap::default()
        }
    }

    pub fn behind(proxy: Proxy) -> NodeAddressMap {
        NodeAddressMap {
            proxy: Some(proxy),
            ..NodeAddressMap::default()
        }
    }

    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Returns the name by which the proxy selects the node, which is also the name for TLS.
    /// Returns `None` without a proxy, or if the proxy has no name for the node.
    pub fn proxied_name(&self, known: SocketAddr) -> Option<String> {
        self.proxy.as_ref()?.name(self.called(known))
    }

    /// Returns the current CQL address of the node with the first address `known`.
    pub fn now(&self, known: SocketAddr) -> SocketAddr {
        let called = self.called(known);
        match &self.proxy {
            Some(proxy) if proxy.name(called).is_some() => proxy.address,
            _ => self.translation.reached(called),
        }
    }

    /// Returns the address that the cluster now uses for the node with the first address `known`.
    pub fn called(&self, known: SocketAddr) -> SocketAddr {
        self.all().get(&known).copied().unwrap_or(known)
    }

    /// Returns the current address of a node for a port other than the CQL port. `known` is the
    /// first address of the node, with that port.
    pub fn same_port(&self, known: SocketAddr) -> SocketAddr {
        let all = self.all();
        let is_it = |(one, _): &(&SocketAddr, &SocketAddr)| one.ip() == known.ip();
        let ip = all.iter().find(is_it).map_or(known.ip(), |(_, now)| now.ip());
        self.translation.beside(SocketAddr::new(ip, known.port()))
    }

    pub fn first_address(&self, now: SocketAddr) -> SocketAddr {
        let all = self.all();
        let is_there = |(_, at): &(&SocketAddr, &SocketAddr)| **at == now;
        all.iter().find(is_there).map_or(now, |(known, _)| *known)
    }

    /// Returns the address that the cluster uses for the node that a client reached at `reached`.
    pub fn cluster_address(&self, reached: SocketAddr) -> SocketAddr {
        self.translation.reported_address(reached, CQL_PORT).unwrap_or(reached)
    }

    /// Records the address that the cluster currently uses for a node. Returns true if this address
    /// differs from the previous one.
    pub fn note(&self, known: SocketAddr, now: SocketAddr) -> bool {
        self.all().insert(known, now).unwrap_or(known) != now
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, SocketAddr>> {
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connector that sends all requests to one endpoint of a node, even after the node has moved. The
/// connector ignores the host name of a request.
#[derive(Debug)]
pub struct RedirectingConnector {
    address: SocketAddr,
    moves: NodeAddressMap,
}

impl RedirectingConnector {
    /// Creates a connector for an endpoint other than CQL. `address` is the first address of the
    /// endpoint.
    pub fn to(address: SocketAddr, moves: &NodeAddressMap) -> RedirectingConnector {
        RedirectingConnector {
            address,
            moves: moves.clone(),
        }
    }
}

impl Resolver for RedirectingConnector {
    fn resolve(
        &self,
        _uri: &ureq::http::Uri,
        _config: &ureq::config::Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut addresses = self.empty();
        addresses.push(self.moves.same_port(self.address));
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_known_by_where_it_was_however_often_it_moves() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let [first, second, third] = ["10.0.0.1:9042", "10.0.0.2:9042", "10.0.0.3:9042"].map(at);
        let moves = NodeAddressMap::default();
        assert_eq!(
            (moves.now(first), moves.first_address(first)),
            (first, first)
        );
        assert!(!moves.note(first, first));
        assert!(moves.note(first, second) && !moves.note(first, second));
        assert_eq!(
            (moves.now(first), moves.first_address(second)),
            (second, first)
        );
        assert!(moves.clone().note(first, third));
        assert_eq!(
            (moves.now(first), moves.first_address(third)),
            (third, first)
        );
        let beside = |text: &str| moves.same_port(at(text)).to_string();
        assert_eq!(beside("10.0.0.1:8778"), "10.0.0.3:8778");
        assert_eq!(beside("10.0.0.9:8778"), "10.0.0.9:8778");
        assert_eq!(moves.first_address(second), second);
        assert!(moves.note(second, first));
        assert_eq!(
            (moves.first_address(first), moves.now(first)),
            (second, third)
        );
    }

    #[test]
    fn a_translated_node_has_its_cluster_address_and_another_route() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let mut translation = Translation::default();
        for (said, reached) in [
            ("10.1.0.5", "127.0.0.1:9043"),
            ("10.1.0.6", "127.0.0.1:9044"),
        ] {
            translation.add(
                said.parse().expect("a place"),
                reached.parse().expect("a place"),
            );
        }
        let moves = NodeAddressMap::translated(translation);
        let five = at("10.1.0.5:9042");
        assert_eq!(moves.cluster_address(at("127.0.0.1:9043")), five);
        assert_eq!(
            (moves.now(five), moves.called(five)),
            (at("127.0.0.1:9043"), five)
        );
        assert_eq!(moves.first_address(five), five);
        let stranger = at("10.1.0.9:9042");
        assert_eq!(
            (moves.cluster_address(stranger), moves.now(stranger)),
            (stranger, stranger)
        );
        // The node moves to the address of another node. The new address is also translated.
        assert!(moves.note(five, at("10.1.0.6:9042")));
        assert_eq!(moves.now(five), at("127.0.0.1:9044"));
    }

    #[test]
    fn nodes_behind_a_proxy_are_asked_for_there_by_their_names() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        let (one, two) = (at("10.1.0.5:9042"), at("10.1.0.6:9042"));
        let proxy = Proxy::from_address(at("192.0.2.1:29042"));
        let moves = NodeAddressMap::behind(proxy.clone());
        assert_eq!((moves.now(one), moves.proxied_name(one)), (one, None));
        proxy.note(one, "id-1");
        proxy.note(two, "id-2");
        assert_eq!(moves.now(one), at("192.0.2.1:29042"));
        assert_eq!(moves.proxied_name(one).as_deref(), Some("id-1"));
        assert!(moves.note(one, two));
        assert_eq!(moves.proxied_name(one).as_deref(), Some("id-2"));
    }
}
