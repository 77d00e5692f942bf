//! Finds attached nodes whose address has changed, for example because their owner recreated their
//! pods.

use crate::credentials::Access;
use crate::joined_nodes::joined_nodes;
use crate::node_info::NodeInfo;
use crate::session::Session;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

/// Requests the current addresses of attached nodes from the first node that answers, and records
/// the addresses. Returns a sentence for each node whose address has changed.
pub fn follow(nodes: &[NodeInfo], access: &Access) -> Vec<String> {
    if access.door.is_none() || nodes.len() < 2 {
        return Vec::new();
    }
    let told = |node: &NodeInfo| {
        let mut session = Session::open(node.address, access, LIMIT).ok()?;
        joined_nodes(&mut session).ok()
    };
    let seen = nodes.iter().find_map(told).unwrap_or_default();
    let moved = |node: &NodeInfo| {
        let token = node.tokens.first()?;
        let now = seen.iter().find(|one| one.tokens.contains(token))?.address;
        let is_news = now != node.address && access.moves.note(node.address, now);
        is_news.then(|| format!("{} is now at {now}", node.name))
    };
    nodes.iter().filter_map(moved).collect()
}
