//! The hosts of a running target, for those who show them or keep off what is theirs.

use super::nodes::Nodes;
use crate::cluster::Cluster;
use crate::node::NodeInfo;
use anyhow::{Context, Result};
use host::settings::{HostSettings, Question};
use host::{Agent, Host, Hosts};
use measure::number::bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use target::HostsAre;
use topology::Machine;

/// A host of a running target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostInfo {
    /// `host1`; for an attached node its address.
    pub name: String,
    /// Its address; of the first of its nodes where it is nothing but addresses.
    pub address: String,
    /// The machine that it is, as ssh knows it, with its type where that was said; none of a
    /// stand-in.
    pub machine: Option<String>,
    /// What the kernel limits it to, in words by name: `cpus`, `cpu_quota` (cores),
    /// `cpu_weight` (busy threads that it is worth to the scheduler), `memory`, `link_rate`,
    /// `link_delay`. What is not limited is not here.
    pub limits: BTreeMap<String, String>,
    /// Size of its own volume in bytes, as its file system counts it; none if it has none.
    pub volume_bytes: Option<u64>,
    /// In use on it.
    pub volume_used_bytes: Option<u64>,
}

impl Cluster {
    /// The hosts that the nodes live on, each once, in the order of the nodes.
    ///
    /// # Errors
    /// The kernel does not tell the limits of a host of ours.
    pub fn hosts(&self) -> Result<Vec<HostInfo>> {
        match self.local().and_then(Nodes::hosts) {
            Some(hosts) => HostInfo::of_hosts(hosts),
            None => Ok(HostInfo::of_addresses(self.nodes())),
        }
    }

    /// Whether its nodes are ours, and run on machines of their own, reached by ssh.
    pub fn is_on_machines(&self) -> bool {
        self.local().is_some_and(Nodes::are_on_machines)
    }

    /// What its hosts are.
    pub fn hosts_are(&self) -> HostsAre {
        match self.local() {
            Some(nodes) if nodes.are_on_machines() => HostsAre::Machines,
            Some(nodes) if nodes.hosts().is_some() => HostsAre::StandIns,
            Some(_) => HostsAre::Addresses,
            None => HostsAre::Others,
        }
    }

    /// The processes of our agents on this machine that look: their work is ours.
    pub fn host_agents(&self) -> Vec<u32> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let pid = |(agent, _): (&Arc<Agent>, _)| agent.process().pid;
        agents.into_iter().map(pid).collect()
    }

    /// The devices of this machine that hold the volumes of our hosts, by their names below
    /// `/sys/block`: what they move is ours, the journals of their file systems too.
    pub fn host_devices(&self) -> Vec<String> {
        if self.is_on_machines() {
            return Vec::new();
        }
        let agents = self.local().map(Nodes::agents).unwrap_or_default();
        let hosts = agents.into_iter().filter_map(|(_, host)| host);
        let devices = hosts.filter_map(|host| host.device().map(str::to_owned));
        devices.collect()
    }

    /// The machines of its hosts, by their names, as processes on them see them.
    ///
    /// # Errors
    /// An agent is gone, or no host can be reached; or a kernel does not say what its machine looks
    /// like.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        if let Some(hosts) = self.attached_hosts() {
            return hosts.machines();
        }
        let nodes = self.local().context(
            "the machines of an attached cluster cannot be reached; `attach: {hosts: …}` would \
             bring them, and --target ssh:HOST asks one of them",
        )?;
        let of_host = |(agent, host): (&Arc<Agent>, Option<&Host>)| {
            let name = host.map_or("this machine", Host::name);
            let machine =
                agent.machine().with_context(|| format!("read what {name} looks like"))?;
            Ok((name.to_owned(), machine))
        };
        nodes.agents().into_iter().map(of_host).collect()
    }

    /// The settings of its hosts, by their names, as their agents read them: what `question` asks,
    /// of the processes and data folders of the nodes that are there. None of a cluster that is not
    /// ours, unless there is a way to its hosts.
    ///
    /// # Errors
    /// An agent is gone.
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
    /// Of hosts that are nothing but the addresses of their nodes, each once.
    fn of_addresses(nodes: &[NodeInfo]) -> Vec<HostInfo> {
        let mut seen = BTreeSet::new();
        let first = nodes.iter().filter(|node| seen.insert(&node.host));
        let info = first.map(|node| HostInfo {
            name: node.host.clone(),
            address: node.address.ip().to_string(),
            ..HostInfo::default()
        });
        info.collect()
    }

    /// Of hosts that are kept apart, as the kernel has them now.
    ///
    /// # Errors
    /// It does not tell the limits of one.
    fn of_hosts(hosts: &Hosts) -> Result<Vec<HostInfo>> {
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

/// A limit with its unit.
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
