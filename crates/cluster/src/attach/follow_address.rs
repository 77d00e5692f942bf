//! Follows attached nodes whose address has changed: their owner may recreate their pods at any
//! time.

use super::ask;
use crate::cluster::Cluster;
use crate::node::NodeInfo;
use crate::session::Session;
use std::net::SocketAddr;
use std::time::Duration;

/// Time limit for a node to report its peers.
const LIMIT: Duration = Duration::from_secs(5);

impl Cluster {
    /// Returns the Prometheus endpoints of nodes in Kubernetes, as declared by their service: node
    /// name and first address.
    pub fn metrics_ends(&self) -> Vec<(String, SocketAddr)> {
        self.attached().map(|attached| attached.metrics.clone()).unwrap_or_default()
    }

    /// Queries the first node that answers for the current addresses of attached nodes, and records
    /// them. Returns a sentence for each node that has moved.
    pub fn follow(&self) -> Vec<String> {
        if !self.is_attached() || self.nodes().len() < 2 {
            return Vec::new();
        }
        let told = |node: &NodeInfo| {
            let mut session = Session::open(node.address, self.access(), LIMIT).ok()?;
            ask(&mut session).ok()
        };
        let seen = self.nodes().iter().find_map(told).unwrap_or_default();
        let moved = |node: &NodeInfo| {
            let token = node.tokens.first()?;
            let now = seen.iter().find(|one| one.tokens.contains(token))?.address;
            let is_news = now != node.address && self.access().moves.note(node.address, now);
            is_news.then(|| format!("{} is now at {now}", node.name))
        };
        self.nodes().iter().filter_map(moved).collect()
    }
}
