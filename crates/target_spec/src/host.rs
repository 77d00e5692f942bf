//! Hosts of a target, and the limits of a host.

use crate::kubernetes::{NodePods, PodPlace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Limits of a host; an absent value sets no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Numbers of the CPUs that it may use.
    pub cpus: Option<Vec<usize>>,
    /// CPU time, in cores: 1.5 is 150 ms in each 100 ms.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes, page cache included.
    pub memory_bytes: Option<u64>,
    /// Size of its data volume in bytes. `None`: its data is on the machine's own file system.
    pub volume_bytes: Option<u64>,
    /// Limits of its data volume; requires one.
    #[serde(default)]
    pub disk: DiskSpec,
    /// Its link to the switch.
    pub link: LinkSpec,
}

/// Limits of a host's volume for all its processes together; an absent value sets no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
}

impl DiskSpec {
    /// Returns each limit with its name in files and messages.
    pub fn each(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("disk_read_iops", self.read_iops),
            ("disk_write_iops", self.write_iops),
            ("disk_read_rate", self.read_bytes_per_s),
            ("disk_write_rate", self.write_bytes_per_s),
        ]
    }

    /// Returns the disk limits among those of a control group, by the names of [`DiskSpec::each`].
    ///
    /// # Errors
    /// A limit is not a whole number; the message says which.
    pub fn from_limits(limits: &BTreeMap<String, String>) -> Result<DiskSpec, String> {
        let value = |name: &str| match limits.get(name).map(|text| (text, text.parse::<u64>())) {
            None => Ok(None),
            Some((_, Ok(number))) => Ok(Some(number)),
            Some((text, Err(_))) => Err(format!("the limit {name} is {text:?}, not a number")),
        };
        let [read_iops, write_iops, read_rate, write_rate] =
            DiskSpec::default().each().map(|(name, _)| value(name));
        Ok(DiskSpec {
            read_iops: read_iops?,
            write_iops: write_iops?,
            read_bytes_per_s: read_rate?,
            write_bytes_per_s: write_rate?,
        })
    }

    /// Returns the lower of these limits and those of `other`.
    pub fn narrowed(self, other: DiskSpec) -> DiskSpec {
        let lower = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        DiskSpec {
            read_iops: lower(self.read_iops, other.read_iops),
            write_iops: lower(self.write_iops, other.write_iops),
            read_bytes_per_s: lower(self.read_bytes_per_s, other.read_bytes_per_s),
            write_bytes_per_s: lower(self.write_bytes_per_s, other.write_bytes_per_s),
        }
    }

    /// Returns true if it limits writes.
    pub fn limits_writes(&self) -> bool {
        self.write_iops.is_some() || self.write_bytes_per_s.is_some()
    }

    /// Returns true if it limits anything.
    pub fn limits(&self) -> bool {
        *self != DiskSpec::default()
    }
}

/// Limits of a host's link, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Bits per second.
    pub rate_bits_per_s: Option<u64>,
    /// One-way delay, added to the path's own.
    pub delay: Option<Duration>,
}

impl LinkSpec {
    /// Returns the stricter of these limits and those of `other`: the lower rate, and the longer
    /// delay.
    pub fn narrowed(self, other: LinkSpec) -> LinkSpec {
        let rates = [self.rate_bits_per_s, other.rate_bits_per_s];
        LinkSpec {
            rate_bits_per_s: rates.into_iter().flatten().min(),
            delay: self.delay.max(other.delay),
        }
    }
}

/// A machine that is reached by the system's `ssh`, or a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteHost {
    /// Destination for `ssh`: `db1`, `user@db1`, `ssh://user@db1:2222`; or the name of a pod.
    pub ssh: String,
    /// Location of the pod. `None`: it is reached by `ssh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPlace>,
    /// Folder there for all files of cassay. `None`: the user's cache for the program, and `/tmp`
    /// for files that are removed when its agent ends.
    pub folder: Option<PathBuf>,
    /// True if its agent runs as root there, by `sudo -n`.
    pub sudo: bool,
    /// Provider's name of its machine type, for reports: `i4i.2xlarge`.
    pub machine_type: Option<String>,
    /// Address by which other machines reach it. `None`: the one at which its sshd was reached.
    pub address: Option<Ipv4Addr>,
    /// Number of managed nodes on it. `None`: an equal share with the others that do not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
}

impl RemoteHost {
    /// Returns its name for ssh, with its machine type if stated: `db1 (i4i.2xlarge)`.
    pub fn ssh_name(&self) -> String {
        match &self.machine_type {
            Some(of) => format!("{} ({of})", self.ssh),
            None => self.ssh.clone(),
        }
    }

    /// Returns the address by which other machines reach it: the stated one, or the one at which
    /// its sshd was `reached`, if it is an IPv4 address.
    pub fn address_or(&self, reached: Option<IpAddr>) -> Option<Ipv4Addr> {
        self.address.or(match reached {
            Some(IpAddr::V4(address)) => Some(address),
            _ => None,
        })
    }
}

/// The hosts that nodes live on: simulated hosts, all alike, or remote machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostsSpec {
    /// Number of hosts.
    pub count: usize,
    /// Pods to create as hosts; their machines are only numbered until these run.
    pub pods: Option<NodePods>,
    /// The remote machines, as many as there are hosts; empty: simulated hosts on this machine.
    pub machines: Vec<RemoteHost>,
    /// Isolation of simulated hosts.
    pub isolation: Isolation,
    /// Limits of each of them.
    pub host: HostSpec,
}

impl HostsSpec {
    /// Returns the names of remote machines for `ssh`, each with its machine type if stated.
    pub fn names(&self) -> Vec<String> {
        self.machines.iter().map(RemoteHost::ssh_name).collect()
    }

    /// Returns the number of nodes on all of them, with `each` for a host that does not state its
    /// number.
    pub fn nodes(&self, each: usize) -> usize {
        let stated = |host: usize| self.machines.get(host).and_then(|machine| machine.nodes);
        (0..self.count).map(|host| stated(host).unwrap_or(each)).sum()
    }

    /// Returns true if they are remote machines.
    pub fn are_machines(&self) -> bool {
        !self.machines.is_empty()
    }
}

measure::word_enum! {
    /// Kind of the hosts of a running cluster.
    pub enum HostKind {
        /// Simulated hosts on this machine: a network, control groups and a volume each.
        StandIns = "hosts",
        /// Remote machines, reached by ssh.
        Machines = "machines",
        /// Addresses of this machine and nothing more.
        Addresses = "loopback",
        /// Machines of an attached cluster.
        Others = "attach",
    }
}

impl HostKind {
    /// Returns true if all of them are this machine.
    pub fn is_this_machine(self) -> bool {
        matches!(self, HostKind::StandIns | HostKind::Addresses)
    }

    /// Returns true if each is managed and more than an address.
    pub fn are_apart(self) -> bool {
        matches!(self, HostKind::StandIns | HostKind::Machines)
    }
}

measure::word_enum! {
    /// Degree of isolation of hosts.
    #[derive(Default)]
    pub enum Isolation {
        /// As [`Isolation::Hosts`] if this machine allows it, otherwise as loopback.
        #[default]
        Auto = "auto",
        /// A network, cgroups and a volume of its own for each; refused if the machine does not
        /// allow it.
        Hosts = "hosts",
        /// Only addresses of their own, without any limits of [`HostSpec`].
        Loopback = "loopback",
    }
}
