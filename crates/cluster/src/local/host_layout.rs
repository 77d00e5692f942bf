//! What nodes are on: this machine, or hosts that are kept apart.

use host::{Agent, Host, Hosts};
use std::sync::Arc;

/// What nodes are on.
#[derive(Debug)]
pub(super) enum HostLayout {
    /// This machine, with an address for each.
    Machine(Arc<Agent>),
    /// Hosts that are more than addresses.
    Hosts(Hosts),
}

impl HostLayout {
    /// The hosts, where they are more than addresses.
    pub fn hosts(&self) -> Option<&Hosts> {
        match self {
            HostLayout::Hosts(hosts) => Some(hosts),
            HostLayout::Machine(_) => None,
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
            HostLayout::Machine(agent) => agent,
            // There is at least one.
            HostLayout::Hosts(hosts) => hosts.all()[index % hosts.all().len()].agent(),
        }
    }
}
