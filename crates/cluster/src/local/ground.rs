//! What nodes are on: this machine, or hosts that are kept apart.

use host::{Agent, Host, Hosts};
use std::sync::Arc;

/// What nodes are on.
#[derive(Debug)]
pub(super) enum Ground {
    /// This machine, with an address for each.
    Machine(Arc<Agent>),
    /// Hosts that are more than addresses.
    Hosts(Hosts),
}

impl Ground {
    /// The hosts, where they are more than addresses.
    pub fn hosts(&self) -> Option<&Hosts> {
        match self {
            Ground::Hosts(hosts) => Some(hosts),
            Ground::Machine(_) => None,
        }
    }

    /// The host of a node, where it is more than an address.
    pub fn host(&self, index: usize) -> Option<&Host> {
        let hosts = self.hosts()?.all();
        hosts.get(index % hosts.len().max(1))
    }

    /// By which everything on the host of a node is done.
    pub fn agent(&self, index: usize) -> &Arc<Agent> {
        match self {
            Ground::Machine(agent) => agent,
            // There is at least one.
            Ground::Hosts(hosts) => hosts.all()[index % hosts.all().len()].agent(),
        }
    }
}
