//! Hosts of the nodes: this machine itself, or isolated hosts.

use anyhow::{Context, Result};
use host::{Agent, Host, Hosts};
use std::sync::Arc;
use target_spec::HostIndex;

#[derive(Debug)]
pub(super) enum HostLayout {
    /// This machine, with one address per host.
    Machine(Arc<Agent>),
    /// Isolated hosts, each with an agent.
    Hosts(Hosts),
}

impl HostLayout {
    pub fn hosts(&self) -> Option<&Hosts> {
        match self {
            HostLayout::Hosts(hosts) => Some(hosts),
            HostLayout::Machine(_) => None,
        }
    }

    pub fn host(&self, host: HostIndex) -> Option<&Host> {
        self.hosts()?.all().get(host.0)
    }

    pub fn agent(&self, host: HostIndex) -> &Arc<Agent> {
        match self {
            HostLayout::Machine(agent) => agent,
            HostLayout::Hosts(hosts) => hosts.all()[host.0].agent(),
        }
    }

    /// # Errors
    /// No host has this name.
    pub fn agent_of(&self, name: &str) -> Result<&Arc<Agent>> {
        let Some(hosts) = self.hosts() else {
            return Ok(self.agent(HostIndex(0)));
        };
        let host = hosts.all().iter().find(|host| host.name() == name);
        host.map(Host::agent).with_context(|| format!("host {name} does not exist"))
    }
}
