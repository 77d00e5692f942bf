//! What nodes are on: this machine, or hosts that are kept apart.

use anyhow::{Context, Result};
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

    /// A host by its place among them, where it is more than an address.
    pub fn host(&self, host: usize) -> Option<&Host> {
        self.hosts()?.all().get(host)
    }

    /// By which everything on a host is done.
    pub fn agent(&self, host: usize) -> &Arc<Agent> {
        match self {
            HostLayout::Machine(agent) => agent,
            HostLayout::Hosts(hosts) => hosts.all()[host].agent(),
        }
    }

    /// By which everything on the host of this name is done.
    ///
    /// # Errors
    /// There is no such host.
    pub fn agent_of(&self, name: &str) -> Result<&Arc<Agent>> {
        let Some(hosts) = self.hosts() else {
            return Ok(self.agent(0));
        };
        let host = hosts.all().iter().find(|host| host.name() == name);
        host.map(Host::agent).with_context(|| format!("there is no host {name}"))
    }
}
