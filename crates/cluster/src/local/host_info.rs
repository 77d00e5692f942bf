//! Hosts of a running target. They are needed for display, and to distinguish cassay's own load
//! from that of other programs.

use super::nodes::Nodes;
use crate::cluster::Cluster;
use anyhow::{Context, Result};
use cassandra::NodeInfo;
use host::settings::{HostSettings, Question};
use host::{Agent, Host, Hosts};
use measure::number::bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use target_spec::HostKind;
use topology::Machine;

/// A host of a running target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInfo {
    /// Name of the host, such as `host1`. For an attached node, its address.
    pub name: String,
    /// Address of the host. If the host is only an address, this is the address of its first node.
    pub address: String,
    /// Name of the machine for ssh, with the machine type if known. `None` for a simulated host.
    pub machine: Option<String>,
    /// Descriptions of the limits in the kernel, by name: `cpus`, `cpu_quota` (cores), `cpu_weight`
    /// (equivalent number of busy threads), `memory`, `link_rate`, `link_delay`. If a name is
    /// absent, the resource is not limited.
    pub limits: BTreeMap<String, String>,
    /// Size of the host's volume in bytes, as the file system reports it. `None` if the host has no
    /// volume.
    pub volume_bytes: Option<u64>,
    /// Number of used bytes of the volume.
    pub volume_used_bytes: Option<u64>,
}

impl Cluster {
    /// Returns the hosts of the nodes, without duplicates, in node order.
    ///
    /// # Errors
    /// The kernel does not report the limits of a managed host.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        match self.local().and_then(Nodes::hosts) {
            Some(hosts) => HostInfo::from_hosts(hosts),
            None => Ok(HostInfo::from_addresses(self.nodes())),
        }
    }

    /// Returns true if cassay manages the nodes, and they run on remote machines that it reaches by
    /// ssh.
    pub fn is_on_machines(&self) -> bool {
        self.local().is_some_and(Nodes::are_on_machines)
    }

    /// Returns the kind of hosts.
    pub fn hosts_are(&self) -> HostKind {
        match self.local() {
            Some(nodes) if nodes.are_on_machines() => HostKind::Machines,
            Some(nodes) if nodes.hosts().is_some() => HostKind::StandIns,
            Some(_) => HostKind::Addresses,
            None => HostKind::Others,
        }
    }

    /// Returns the process ids of the agents on this machine. The load of these processes counts as
    /// cassay's own.
    pub fn host_agents(&self) -> Vec<u32> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let pid = |(agent, _): (&Arc<Agent>, _)| agent.process().pid;
        agents.into_iter().map(pid).collect()
    }

    /// Returns the block devices of this machine that contain the volumes of managed hosts, by
    /// their names in `/sys/block`. The I/O of these devices counts as cassay's own, including file
    /// system journals.
    pub fn host_devices(&self) -> Vec<String> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let hosts = agents.into_iter().filter_map(|(_, host)| host);
        let devices = hosts.filter_map(|host| host.device().map(str::to_owned));
        devices.collect()
    }

    /// Returns the machines of the hosts by name, as processes on the hosts see them.
    ///
    /// # Errors
    /// An agent has ended, no host can be reached, or a kernel does not describe its machine.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        if let Some(hosts) = self.attached_hosts() {
            return hosts.machines();
        }
        let nodes = self.local().context(
            "cassay cannot reach the machines of an attached cluster; `attach: {hosts: …}` adds \
             them, and --target ssh:HOST reads one machine",
        )?;
        let of_host = |(agent, host): (&Arc<Agent>, Option<&Host>)| {
            let name = host.map_or("this machine", Host::name);
            let machine =
                agent.machine().with_context(|| format!("read the topology of {name}"))?;
            Ok((name.to_owned(), machine))
        };
        nodes.agents().into_iter().map(of_host).collect()
    }

    /// Returns the settings of the hosts by name, as their agents read them. The agents answer
    /// `question`, for the processes and data folders of the nodes on the host. Returns `None` for
    /// an attached cluster whose machines cannot be reached.
    ///
    /// # Errors
    /// An agent has ended.
    pub fn host_settings(
        &self,
        question: &Question,
    ) -> Result<Option<Vec<(String, HostSettings)>>> {
        if let Some(hosts) = self.attached_hosts() {
            return hosts.settings(question, self.nodes()).map(Some);
        }
        let Some(nodes) = self.local() else {
            return Ok(None);
        };
        let of_host = |(agent, host): (&Arc<Agent>, Option<&Host>)| {
            let name = host.map_or("this machine", Host::name);
            let processes: Vec<_> =
                nodes.processes_of(agent).map(|(name, pid)| (name.to_owned(), pid)).collect();
            let is_here = |name: &str| processes.iter().any(|(one, _)| one == name);
            let folders = nodes.data_folders().filter(|(name, _)| is_here(name));
            let question = Question {
                folders: folders.map(|(_, folder)| folder).collect(),
                processes: processes.clone(),
                ..question.clone()
            };
            let settings = agent
                .settings(&question)
                .with_context(|| format!("read the settings of {name}"))?;
            Ok((name.to_owned(), settings))
        };
        let hosts = nodes.agents().into_iter().map(of_host);
        hosts.collect::<Result<_>>().map(Some)
    }
}

impl HostInfo {
    /// Describes hosts that are only the addresses of their nodes, without duplicates.
    fn from_addresses(nodes: &[NodeInfo]) -> Vec<HostInfo> {
        let mut seen = BTreeSet::new();
        let first = nodes.iter().filter(|node| seen.insert(&node.host));
        let info = first.map(|node| HostInfo {
            name: node.host.clone(),
            address: node.address.ip().to_string(),
            ..HostInfo::default()
        });
        info.collect()
    }

    /// Describes isolated hosts from the kernel's current state.
    ///
    /// # Errors
    /// The kernel does not report the limits of a host.
    fn from_hosts(hosts: &Hosts) -> Result<Vec<HostInfo>> {
        let mut names = hosts.state().machine_names().into_iter();
        let of_host = |host: &Host| {
            Ok(HostInfo {
                machine: names.next(),
                ..describe(host)?
            })
        };
        hosts.all().iter().map(of_host).collect()
    }
}

fn describe(host: &Host) -> Result<HostInfo> {
    let limits = host.limits()?;
    let in_words = |(name, value): (String, String)| {
        let words = in_words(&name, &value).unwrap_or(value);
        (name, words)
    };
    let limits: BTreeMap<String, String> = limits.into_iter().map(in_words).collect();
    let usage = host.has_volume().then(|| host.usage()).transpose()?;
    Ok(HostInfo {
        name: host.name().to_string(),
        address: host.address().to_string(),
        limits,
        machine: None,
        volume_bytes: usage.as_ref().map(|usage| usage.total_bytes),
        volume_used_bytes: usage.as_ref().map(|usage| usage.used_bytes),
    })
}

/// Returns a limit with its unit.
fn in_words(name: &str, value: &str) -> Option<String> {
    let number = value.parse::<u64>().ok();
    match name {
        "cpu_quota" => Some(format!("{value} cores")),
        "cpu_weight" => Some(format!("{value} busy threads")),
        "memory" => number.map(bytes),
        "disk_read_iops" | "disk_write_iops" => Some(format!("{value} per second")),
        "disk_read_rate" | "disk_write_rate" => number.map(|rate| format!("{}/s", bytes(rate))),
        "link_rate" => number.map(|bits| {
            let unit = [
                (1_000_000_000, "Gbit/s"),
                (1_000_000, "Mbit/s"),
                (1, "bit/s"),
            ];
            let (factor, unit) = unit.into_iter().find(|one| bits % one.0 == 0).unwrap_or((1, ""));
            format!("{} {unit}", bits / factor)
        }),
        "link_delay" => number.map(|ns| format!("{} ms", ns as f64 / 1e6)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_said_in_words() {
        assert_eq!(in_words("memory", "3221225472").as_deref(), Some("3 GiB"));
        let words = in_words("disk_read_rate", "209715200");
        assert_eq!(words.as_deref(), Some("200 MiB/s"));
        assert_eq!(in_words("cpu_quota", "1.5").as_deref(), Some("1.5 cores"));
        assert_eq!(
            in_words("link_rate", "1000000000").as_deref(),
            Some("1 Gbit/s")
        );
        assert_eq!(
            in_words("link_rate", "1500000").as_deref(),
            Some("1500000 bit/s")
        );
        assert_eq!(in_words("link_delay", "1500000").as_deref(), Some("1.5 ms"));
        assert_eq!(in_words("cpus", "0-1"), None);
    }
}
