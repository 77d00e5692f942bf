//! Hosts of a running target, which cassay displays and whose load it attributes.

use crate::cluster::Cluster;
use crate::local::HostInfo;
use anyhow::Result;
use host::Agent;
use host::settings::{HostSettings, Question};
use std::sync::Arc;
use target_spec::HostKind;
use topology::Machine;

impl Cluster {
    /// Returns the hosts of the nodes in node order, without duplicates.
    ///
    /// # Errors
    /// The kernel does not report the limits of a managed host.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        self.control().hosts(self.nodes())
    }

    /// Returns the kind of the hosts, for example simulated hosts or remote machines.
    pub fn hosts_are(&self) -> HostKind {
        self.control().host_kind()
    }

    /// Returns true if the nodes are managed, and run on remote machines that cassay reaches by
    /// ssh.
    pub fn is_on_machines(&self) -> bool {
        self.hosts_are() == HostKind::Machines
    }

    /// Returns the process ids of the agents on the machine that runs cassay. Their load counts as
    /// cassay's own.
    pub fn host_agents(&self) -> Vec<u32> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let pid = |(agent, _): (&Arc<Agent>, _)| agent.process().pid;
        self.control().agents().into_iter().map(pid).collect()
    }

    /// Returns the names in `/sys/block` of the devices with managed hosts' volumes, on the machine
    /// that runs cassay. Their I/O, including file system journals, counts as cassay's own.
    pub fn host_devices(&self) -> Vec<String> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let hosts = self.control().agents().into_iter().filter_map(|(_, host)| host);
        hosts.filter_map(|host| host.device().map(str::to_owned)).collect()
    }

    /// Returns each host's name and hardware, as the agent on the host reads it.
    ///
    ///
    /// # Errors
    /// An agent has ended, no host is reachable, or a kernel does not describe its machine.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        self.control().machines()
    }

    /// Returns each host's name and its answer to `question`, which also covers the processes and
    /// data folders of the host's nodes. Returns `None` for an attached cluster without reachable
    /// machines.
    ///
    /// # Errors
    /// An agent has ended.
    pub fn host_settings(
        &self,
        question: &Question,
    ) -> Result<Option<Vec<(String, HostSettings)>>> {
        self.control().host_settings(question, self.nodes())
    }
}
