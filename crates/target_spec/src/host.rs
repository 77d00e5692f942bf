//! Hosts of a target, and the limits of a host.

use crate::kubernetes::{NodePods, PodPlace};
use crate::serialization::nanoseconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Limits of a host. A limit that is `None` does not apply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Numbers of the CPUs that the host may use.
    pub cpus: Option<Vec<usize>>,
    /// CPU time of the host, in cores. For example, 1.5 means 150 ms of CPU time in each interval
    /// of 100 ms.
    pub cpu_quota: Option<f64>,
    /// Memory of the host in bytes, including the page cache.
    pub memory_bytes: Option<u64>,
    /// Size of the host's data volume, in bytes. If it is `None`, the data is on the file system of
    /// the machine itself.
    pub volume_bytes: Option<u64>,
    /// Limits of the host's data volume. They apply only if the host has such a volume.
    #[serde(default)]
    pub disk: DiskSpec,
    /// Limits of the link from the host to the switch.
    #[serde(flatten)]
    pub link: LinkSpec,
}

/// Limits of a host's volume, for all processes of the host together. A limit that is `None` does
/// not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Maximum number of reads per second.
    pub read_iops: Option<u64>,
    /// Maximum number of writes per second.
    pub write_iops: Option<u64>,
    /// Maximum number of bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Maximum number of bytes written per second.
    pub write_bytes_per_s: Option<u64>,
}

impl DiskSpec {
    /// Returns the limits, each with its name in files and messages.
    pub fn each(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("disk_read_iops", self.read_iops),
            ("disk_write_iops", self.write_iops),
            ("disk_read_rate", self.read_bytes_per_s),
            ("disk_write_rate", self.write_bytes_per_s),
        ]
    }

    /// Returns the disk limits among the limits of a control group. The names of disk limits are
    /// those of [`DiskSpec::each`].
    ///
    /// # Errors
    /// A limit is not a whole number. The message names the limit.
    pub fn from_limits(limits: &BTreeMap<String, String>) -> Result<DiskSpec, String> {
        let value = |name: &str| match limits.get(name).map(|text| (text, text.parse::<u64>())) {
            None => Ok(None),
            Some((_, Ok(number))) => Ok(Some(number)),
            Some((text, Err(_))) => Err(format!(
                "the limit {name} is {text:?}, which is not a number"
            )),
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

    /// Returns, for each limit, the lower value of this specification and `other`.
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

    /// Returns true if at least one limit applies to writes.
    pub fn limits_writes(&self) -> bool {
        self.write_iops.is_some() || self.write_bytes_per_s.is_some()
    }

    /// Returns true if at least one limit is set.
    pub fn limits(&self) -> bool {
        *self != DiskSpec::default()
    }
}

/// Limits of a host's link. They apply in each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Maximum rate of the link, in bit/s.
    #[serde(rename = "link_rate_bits_per_s")]
    pub rate_bits_per_s: Option<u64>,
    /// One-way delay that is added to the delay of the path itself.
    #[serde(rename = "link_delay_ns", with = "nanoseconds")]
    pub delay: Option<Duration>,
}

impl LinkSpec {
    /// Returns, for each limit, the stricter value of this specification and `other`. The lower
    /// rate and the longer delay are stricter.
    pub fn narrowed(self, other: LinkSpec) -> LinkSpec {
        let rates = [self.rate_bits_per_s, other.rate_bits_per_s];
        LinkSpec {
            rate_bits_per_s: rates.into_iter().flatten().min(),
            delay: self.delay.max(other.delay),
        }
    }
}

/// A machine that cassay reaches with the system's `ssh`, or a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteHost {
    /// Destination for `ssh` (`db1`, `user@db1`, `ssh://user@db1:2222`), or the name of a pod.
    pub ssh: String,
    /// Location of the pod. `None` if cassay reaches the machine with `ssh`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPlace>,
    /// Folder on the machine for all files of cassay. If it is `None`, the program is in the user's
    /// cache folder, and files that are removed when the agent ends are in `/tmp`.
    pub folder: Option<PathBuf>,
    /// True if the agent runs as root, by `sudo -n`.
    pub sudo: bool,
    /// Name of the machine type at the provider, such as `i4i.2xlarge`, which reports show. `None`
    /// if the study does not state it.
    pub machine_type: Option<String>,
    /// Address at which other machines reach the machine. `None` means the address at which cassay
    /// reached the machine's sshd.
    pub address: Option<Ipv4Addr>,
    /// Number of managed nodes on the machine. If it is `None`, the machine has the same number of
    /// nodes as all other machines without a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<usize>,
}

impl RemoteHost {
    /// Returns the name of the machine for ssh, such as `db1 (i4i.2xlarge)`. It includes the
    /// machine type if that is stated.
    pub fn ssh_name(&self) -> String {
        match &self.machine_type {
            Some(of) => format!("{} ({of})", self.ssh),
            None => self.ssh.clone(),
        }
    }

    /// Returns the address at which other machines reach the machine. It is the stated address, or
    /// else `reached`, the address of the machine's sshd. `None` if no address is stated and
    /// `reached` is not an IPv4 address.
    pub fn address_or(&self, reached: Option<IpAddr>) -> Option<Ipv4Addr> {
        self.address.or(match reached {
            Some(IpAddr::V4(address)) => Some(address),
            _ => None,
        })
    }
}

/// The hosts on which nodes run. They are identical simulated hosts, or remote machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostsSpec {
    /// Number of hosts of the cluster.
    pub count: usize,
    /// Pods that cassay creates as hosts. Until the pods run, their machines have only numbers.
    /// `None` for other hosts.
    #[serde(skip)]
    pub pods: Option<NodePods>,
    /// Remote machines, one for each host. If the list is empty, the hosts are simulated on this
    /// machine.
    #[serde(default)]
    pub machines: Vec<RemoteHost>,
    /// Method of isolating simulated hosts from each other.
    pub isolation: Isolation,
    /// Limits of each simulated host.
    #[serde(flatten)]
    pub host: HostSpec,
}

impl HostsSpec {
    /// Returns the names of the remote machines for `ssh`. A name includes the machine type if that
    /// is stated.
    pub fn names(&self) -> Vec<String> {
        self.machines.iter().map(RemoteHost::ssh_name).collect()
    }

    /// Returns the total number of nodes on all hosts. A host for which no number is stated has
    /// `each` nodes.
    pub fn nodes(&self, each: usize) -> usize {
        let stated = |host: usize| self.machines.get(host).and_then(|machine| machine.nodes);
        (0..self.count).map(|host| stated(host).unwrap_or(each)).sum()
    }

    /// Returns true if the hosts are remote machines.
    pub fn are_machines(&self) -> bool {
        !self.machines.is_empty()
    }
}

measure::word_enum! {
    /// Kind of the hosts of a running cluster.
    pub enum HostKind {
        /// Simulated hosts on this machine, each with its own network, control groups and volume.
        StandIns = "hosts",
        /// Remote machines that cassay reaches with ssh.
        Machines = "machines",
        /// Addresses of this machine without isolation.
        Addresses = "loopback",
        /// Machines of an attached cluster.
        Others = "attach",
    }
}

impl HostKind {
    /// Returns true if all hosts are on this machine.
    pub fn is_this_machine(self) -> bool {
        matches!(self, HostKind::StandIns | HostKind::Addresses)
    }

    /// Returns true if cassay manages the hosts, and each host has its own resources. Returns false
    /// for loopback addresses and for machines of an attached cluster.
    pub fn are_apart(self) -> bool {
        matches!(self, HostKind::StandIns | HostKind::Machines)
    }
}

measure::word_enum! {
    /// Method of isolating simulated hosts from each other.
    #[derive(Default)]
    pub enum Isolation {
        /// Isolation as with [`Isolation::Hosts`] if this machine allows it. Otherwise, isolation
        /// as with [`Isolation::Loopback`].
        #[default]
        Auto = "auto",
        /// Each host has a separate network, cgroups and a volume. cassay refuses this isolation if
        /// the machine does not allow it.
        Hosts = "hosts",
        /// Each host has only a separate address. The limits of [`HostSpec`] do not apply.
        Loopback = "loopback",
    }
}
