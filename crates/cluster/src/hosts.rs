//! Hosts of a running target. cassay displays the hosts, and uses them to distinguish its own load
//! from that of other programs.

use crate::cluster::Cluster;
use crate::local::HostInfo;
use anyhow::Result;
use host::Agent;
use host::settings::{HostSettings, Question};
use std::sync::Arc;
use target_spec::HostKind;
use topology::Machine;

impl Cluster {
    /// Returns the hosts of the nodes, without duplicates, in node order.
    ///
    /// # Errors
    /// The kernel does not report the limits of a managed host.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        self.control().hosts(self.nodes())
    }

    /// Returns the kind of hosts: simulated hosts, remote machines, loopback addresses, or attached
    /// machines.
    pub fn hosts_are(&self) -> HostKind {
        self.control().host_kind()
    }

    /// Returns true if the nodes are managed and run on remote machines, to which cassay connects
    /// by ssh.
    pub fn is_on_machines(&self) -> bool {
        self.hosts_are() == HostKind::Machines
    }

    /// Returns the process ids of the agents on this machine. The load of these processes counts as
    /// cassay's own.
    pub fn host_agents(&self) -> Vec<u32> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let pid = |(agent, _): (&Arc<Agent>, _)| agent.process().pid;
        self.control().agents().into_iter().map(pid).collect()
    }

    /// Returns the block devices of this machine that contain the volumes of managed hosts, by
    /// their names in `/sys/block`. The I/O of these devices counts as cassay's own, including file
    /// system journals.
    pub fn host_devices(&self) -> Vec<String> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let hosts = self.control().agents().into_iter().filter_map(|(_, host)| host);
        hosts.filter_map(|host| host.device().map(str::to_owned)).collect()
    }

    /// Returns the name and the machine of each host, as the agent on the host reads the machine.
    ///
    /// # Errors
    /// An agent has ended, no host is reachable, or a kernel does not describe its machine.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        self.control().machines()
    }

    /// Returns the settings of the hosts by name, as their agents read them. The settings are the
    /// answers to `question`, and cover the processes and data folders of the nodes on each host.
    /// Returns `None` for an attached cluster whose machines are not reachable.
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
