//! Hosts of the nodes: this machine itself, or isolated hosts.

use anyhow::{Context, Result};
use host::{Agent, Host, Hosts};
use std::sync::Arc;

/// Hosts of the nodes.
#[derive(Debug)]
pub(super) enum HostLayout {
    /// This machine, with one address per host.
    Machine(Arc<Agent>),
    /// Isolated hosts.
    Hosts(Hosts),
}

impl HostLayout {
    /// Returns the isolated hosts, if there are any.
    pub fn hosts(&self) -> Option<&Hosts> {
        match self {
            HostLayout::Hosts(hosts) => Some(hosts),
            HostLayout::Machine(_) => None,
        }
    }

    /// Returns an isolated host by its index.
    pub fn host(&self, host: usize) -> Option<&Host> {
        self.hosts()?.all().get(host)
    }

    /// Returns the agent of a host by its index.
    pub fn agent(&self, host: usize) -> &Arc<Agent> {
        match self {
            HostLayout::Machine(agent) => agent,
            HostLayout::Hosts(hosts) => hosts.all()[host].agent(),
        }
    }

    /// Returns the agent of the host with this name.
    ///
    /// # Errors
    /// No host has this name.
    pub fn agent_of(&self, name: &str) -> Result<&Arc<Agent>> {
        let Some(hosts) = self.hosts() else {
            return Ok(self.agent(0));
        };
        let host = hosts.all().iter().find(|host| host.name() == name);
        host.map(Host::agent).with_context(|| format!("host {name} does not exist"))
    }
}
