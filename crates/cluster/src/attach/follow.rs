//! Nodes of others that have moved since they were attached to: whoever runs them may make their
//! pods again whenever it wants.

use super::ask;
use crate::cluster::Cluster;
use crate::node::NodeInfo;
use crate::session::Session;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a node may take to say where the others are.
const LIMIT: Duration = Duration::from_secs(5);

impl Cluster {
    /// Where nodes in Kubernetes offer metrics in Prometheus's text format, as their service says:
    /// each by its name, where it was at first.
    pub fn metrics_ends(&self) -> Vec<(String, SocketAddr)> {
        self.attached().map(|attached| attached.metrics.clone()).unwrap_or_default()
    }

    /// Looks where nodes that are not ours are now, by the word of the first one that answers, and
    /// goes on with them there; of each that has moved, a sentence.
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
            is_news.then(|| format!("{} is at {now} now", node.name))
        };
        self.nodes().iter().filter_map(moved).collect()
    }
}
