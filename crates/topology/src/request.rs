//! What is wished for: how many instances of which size, and how they are to be run.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// How many instances, of which size, run how. [`PlacementRequest::new`] has the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacementRequest {
    /// How many instances (VMs or processes) this machine is to carry.
    pub instances: u32,
    /// vCPUs of each; for a process, CPUs.
    pub vcpus: u32,
    /// Memory of each in bytes. `None`: an equal share of the machine, which is then said.
    pub memory_bytes: Option<u64>,
    /// Whether an instance gets whole cores or one thread of each.
    pub smt: Smt,
    /// Whose rules make the virtual topology.
    pub profile: Profile,
    /// What a node's size is counted in; `None`: as the profile does by default, which is cores for
    /// vSphere and threads for the others.
    pub unit: Option<Unit>,
    /// Whether CPUs can be added while the instance runs: then it sees a single NUMA node.
    pub hot_add: bool,
    /// What is kept free for interrupts and the host.
    pub housekeeping: Housekeeping,
    /// How many vCPUs may share a CPU: 1.0 is none, and the least.
    pub overcommit: f64,
    /// Above so many CPUs an instance is advised to become several: 48, Intel's limit of what one
    /// Cassandra scales to.
    pub max_cpus_per_instance: u32,
    /// The garbage collector.
    pub collector: Collector,
    /// The major version of the JDK.
    pub jdk: u32,
    /// How many drives each instance has, for the concurrency of reads.
    pub drives: u32,
    /// Whose rule sizes the concurrency of Cassandra.
    pub yaml: YamlProfile,
    /// Names of devices that instances should be near to; only ever breaks a tie.
    pub near: Vec<String>,
    /// What this physical machine is called. All its instances are in the rack of this name, so
    /// that no two replicas share it; different machines need different names.
    pub host: String,
}

/// How sibling threads are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smt {
    /// Whole cores: both threads belong to the same instance.
    Pack,
    /// One thread of each core; its siblings stay idle.
    OnePerCore,
}

/// Whose rules make the virtual topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// vSphere 7 and hardware versions below 20: a socket per vCPU, vNUMA from 9 vCPUs.
    Vsphere7,
    /// vSphere 8 with hardware version 20: cores per socket 0, which is automatic.
    Vsphere8,
    /// vCPUs pinned to CPUs; the guest sees what it is pinned to (libvirt, KubeVirt, Nova).
    Pinned,
    /// No virtual hardware: a process on the machine itself.
    None,
}

/// What the size of a NUMA node or package is counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Threads: what vSphere does with `numa.vcpu.preferHT`.
    Threads,
    /// Cores: what vSphere does without.
    Cores,
}

/// What is kept free of instances.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Housekeeping {
    /// Every core is given to instances.
    None,
    /// Seastar perftune's ratio: on each node one core for each 16 begun. Given up, with a warning,
    /// when the instances do not fit beside it.
    Perftune,
    /// So many cores of each node.
    PerNode(u32),
    /// These CPUs; of a core that is touched no other thread is used either.
    Cpus(CpuSet),
}

/// Garbage collectors of HotSpot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Collector {
    /// The garbage collector G1.
    G1,
    /// The parallel garbage collector.
    Parallel,
    /// The garbage collector ZGC.
    Zgc,
    /// The garbage collector Shenandoah.
    Shenandoah,
    /// CMS, until JDK 13.
    Cms,
}

/// Whose rule sizes `concurrent_reads` and `concurrent_writes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum YamlProfile {
    /// The comments of cassandra.yaml: 16 per drive, 8 per core.
    Apache,
    /// Intel's guide: 3 per CPU, 1 per CPU.
    Intel,
}

impl PlacementRequest {
    /// So many instances of so many vCPUs, pinned, on whole cores, with nothing kept free; G1 on
    /// JDK 17; one drive each.
    pub fn new(instances: u32, vcpus: u32) -> PlacementRequest {
        PlacementRequest {
            instances,
            vcpus,
            memory_bytes: None,
            smt: Smt::Pack,
            profile: Profile::Pinned,
            unit: None,
            hot_add: false,
            housekeeping: Housekeeping::None,
            overcommit: 1.0,
            max_cpus_per_instance: 48,
            collector: Collector::G1,
            jdk: 17,
            drives: 1,
            yaml: YamlProfile::Apache,
            near: Vec::new(),
            host: "host1".to_owned(),
        }
    }

    /// What is counted: the wish's own unit, or that of its profile.
    pub fn unit(&self) -> Unit {
        match (self.unit, self.profile) {
            (Some(unit), _) => unit,
            (None, Profile::Vsphere7 | Profile::Vsphere8) => Unit::Cores,
            (None, Profile::Pinned | Profile::None) => Unit::Threads,
        }
    }
}
