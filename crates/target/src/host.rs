//! What hosts are asked to be, and what a host can be limited to.

use crate::kubernetes::{NodePods, PodPlace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// What a host is limited to; what is absent is not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Numbers of the CPUs that it may use.
    pub cpus: Option<Vec<usize>>,
    /// CPU time, in cores: 1.5 is 150 ms in each 100 ms.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes, page cache included.
    pub memory_bytes: Option<u64>,
    /// Size of its data volume in bytes; absent: its data is on the machine's own file system.
    pub volume_bytes: Option<u64>,
    /// What its data volume may do; needs one.
    #[serde(default)]
    pub disk: DiskSpec,
    /// Its link to the switch.
    pub link: LinkSpec,
}

/// What a host's volume may do, all its processes together; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes per second that are read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes per second that are written.
    pub write_bytes_per_s: Option<u64>,
}

impl DiskSpec {
    /// Each limit by its name in files and messages.
    pub fn each(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("disk_read_iops", self.read_iops),
            ("disk_write_iops", self.write_iops),
            ("disk_read_rate", self.read_bytes_per_s),
            ("disk_write_rate", self.write_bytes_per_s),
        ]
    }

    /// Those among the limits of a control group, by the names of [`DiskSpec::each`].
    pub fn of(limits: &BTreeMap<String, String>) -> DiskSpec {
        let value = |name: &str| limits.get(name).and_then(|text| text.parse().ok());
        let names = DiskSpec::default().each().map(|(name, _)| value(name));
        let [read_iops, write_iops, read_bytes_per_s, write_bytes_per_s] = names;
        DiskSpec {
            read_iops,
            write_iops,
            read_bytes_per_s,
            write_bytes_per_s,
        }
    }

    /// These limits, and what `other` limits too: whichever is lower.
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

    /// Whether it limits what is written.
    pub fn limits_writes(&self) -> bool {
        self.write_iops.is_some() || self.write_bytes_per_s.is_some()
    }

    /// Whether anything is limited.
    pub fn limits(&self) -> bool {
        *self != DiskSpec::default()
    }
}

/// A host's link, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Bits per second.
    pub rate_bits_per_s: Option<u64>,
    /// One way, added to what the path takes by itself.
    pub delay: Option<Duration>,
}

impl LinkSpec {
    /// These limits, and what `other` limits too: the lower rate, and the longer delay.
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
    /// As `ssh` knows it: `db1`, `user@db1`, `ssh://user@db1:2222`; or what a pod is called.
    pub ssh: String,
    /// Where it is as a pod; none: `ssh` leads there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPlace>,
    /// The folder there that everything of ours is below; none: the user's cache for the program,
    /// and `/tmp` for what goes when its agent ends.
    pub folder: Option<PathBuf>,
    /// Whether its agent is root there, by `sudo -n`.
    pub sudo: bool,
    /// What its provider calls its type, for those who read of it: `i4i.2xlarge`.
    pub machine_type: Option<String>,
    /// The address by which other machines reach it; none: the one at which its sshd was reached.
    pub address: Option<Ipv4Addr>,
    /// How many nodes of ours it takes; none: as many as each other one that does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
}

impl RemoteHost {
    /// What ssh knows it by, with its type where that is said: `db1 (i4i.2xlarge)`.
    pub fn named(&self) -> String {
        match &self.machine_type {
            Some(of) => format!("{} ({of})", self.ssh),
            None => self.ssh.clone(),
        }
    }

    /// The address by which others reach it: the one that was stated, else that at which its sshd
    /// was `reached`, if it is an IPv4 address.
    pub fn address_or(&self, reached: Option<IpAddr>) -> Option<Ipv4Addr> {
        self.address.or(match reached {
            Some(IpAddr::V4(address)) => Some(address),
            _ => None,
        })
    }
}

/// The hosts that nodes live on: stand-ins for machines, all alike, or machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostsSpec {
    /// How many.
    pub count: usize,
    /// The pods that are made for them; their machines are only numbered until these run.
    pub pods: Option<NodePods>,
    /// The machines that they are, as many; empty: stand-ins, made of this machine.
    pub machines: Vec<RemoteHost>,
    /// How far stand-ins are kept apart.
    pub isolation: Isolation,
    /// What each of them is limited to.
    pub host: HostSpec,
}

impl HostsSpec {
    /// What `ssh` knows them by, where they are machines, each with its type where that is said.
    pub fn names(&self) -> Vec<String> {
        self.machines.iter().map(RemoteHost::named).collect()
    }

    /// How many nodes they take altogether, where each that does not say takes `each`.
    pub fn nodes(&self, each: usize) -> usize {
        let stated = |host: usize| self.machines.get(host).and_then(|machine| machine.nodes);
        (0..self.count).map(|host| stated(host).unwrap_or(each)).sum()
    }

    /// Whether they are machines of their own, reached by `ssh`.
    pub fn are_machines(&self) -> bool {
        !self.machines.is_empty()
    }
}

measure::word_enum! {
    /// What the hosts of a cluster are that runs.
    pub enum HostsAre {
        /// Stand-ins on this machine: a network, control groups and a volume each.
        StandIns = "hosts",
        /// Machines of their own, reached by ssh.
        Machines = "machines",
        /// Addresses of this machine and nothing more.
        Addresses = "loopback",
        /// Somebody else's.
        Others = "attach",
    }
}

impl HostsAre {
    /// Whether all of them are this machine.
    pub fn is_this_machine(self) -> bool {
        matches!(self, HostsAre::StandIns | HostsAre::Addresses)
    }

    /// Whether each is more than an address, and ours.
    pub fn are_apart(self) -> bool {
        matches!(self, HostsAre::StandIns | HostsAre::Machines)
    }
}

measure::word_enum! {
    /// How far hosts are to be kept apart.
    #[derive(Default)]
    pub enum Isolation {
        /// As [`Isolation::Hosts`] where this machine allows it, otherwise as loopback.
        #[default]
        Auto = "auto",
        /// Each has a network, cgroups and a volume of its own; refused where that cannot be had.
        Hosts = "hosts",
        /// Only addresses of their own: nothing of [`HostSpec`] can be had.
        Loopback = "loopback",
    }
}
