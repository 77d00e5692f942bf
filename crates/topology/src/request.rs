//! A request for a plan: the number and size of the instances, and the rules for running them.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// Number and size of the instances, and the rules for running them. [`PlacementRequest::new`] sets
/// the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacementRequest {
    /// Number of instances (VMs or processes) on this machine.
    pub instances: u32,
    /// vCPUs of each instance, or CPUs of each process.
    pub vcpus: u32,
    /// Memory of each instance in bytes. `None` means an equal share of the machine, which the plan
    /// then states.
    pub memory_bytes: Option<u64>,
    /// Use of sibling threads: whole cores, or one thread of each.
    pub smt: Smt,
    /// Rules for the virtual topology.
    pub profile: Profile,
    /// Unit of a node's size. `None` means the default of the profile: cores for vSphere, threads
    /// for the others.
    pub unit: Option<Unit>,
    /// True if CPUs can be added while the instance runs. It then sees a single NUMA node.
    pub hot_add: bool,
    /// CPUs that are reserved for interrupts and the host.
    pub housekeeping: Housekeeping,
    /// Number of vCPUs that may share a CPU. The minimum is 1.0, which means no sharing.
    pub overcommit: f64,
    /// Number of CPUs above which the plan advises dividing an instance. The default is 48, up to
    /// which one Cassandra scales according to Intel.
    pub max_cpus_per_instance: u32,
    /// Garbage collector of each instance.
    pub collector: Collector,
    /// The major version of the JDK.
    pub jdk: u32,
    /// Number of drives of each instance, which determines the concurrency of reads.
    pub drives: u32,
    /// Rule that sizes the concurrency of Cassandra.
    pub yaml: YamlProfile,
    /// Names of devices that instances should be close to. This is only used between equal
    /// placements.
    pub near: Vec<String>,
    /// Name of this physical machine. All its instances are in the rack with this name, so that no
    /// two replicas are on it. Different machines need different names.
    pub host: String,
}

/// Use of sibling threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smt {
    /// Whole cores: both threads belong to the same instance.
    Pack,
    /// One thread of each core. Its siblings remain idle.
    OnePerCore,
}

/// Rules for the virtual topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// vSphere 7 and hardware versions below 20. Each vCPU has a socket, and vNUMA begins with 9
    /// vCPUs.
    Vsphere7,
    /// vSphere 8 with hardware version 20. Cores per socket are 0, which means automatic.
    Vsphere8,
    /// vCPUs pinned to CPUs. The guest sees the topology of these CPUs (libvirt, KubeVirt, Nova).
    Pinned,
    /// No virtual hardware: a process on the machine itself.
    None,
}

/// Unit for the size of a NUMA node or package.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Threads, which vSphere counts with `numa.vcpu.preferHT`.
    Threads,
    /// Cores, which vSphere counts without it.
    Cores,
}

/// CPUs that are reserved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Housekeeping {
    /// No reserved CPUs. Instances get every core.
    None,
    /// The ratio of Seastar's perftune: on each node, one core for each 16 cores or part of 16. If
    /// the instances do not fit in the rest, the plan omits the reserve and warns.
    Perftune,
    /// This number of cores on each node.
    PerNode(u32),
    /// These CPUs. The other threads of their cores are not used either.
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

/// Rule that sizes `concurrent_reads` and `concurrent_writes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum YamlProfile {
    /// According to the comments of cassandra.yaml: 16 per drive, 8 per core.
    Apache,
    /// According to Intel's guide: 3 per CPU, 1 per CPU.
    Intel,
}

impl PlacementRequest {
    /// Returns a request for this number of instances with this number of vCPUs. They are pinned to
    /// whole cores, with no reserved cores, G1 on JDK 17, and one drive each.
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

    /// Returns the unit of the request, or the default of its profile.
    pub fn unit(&self) -> Unit {
        match (self.unit, self.profile) {
            (Some(unit), _) => unit,
            (None, Profile::Vsphere7 | Profile::Vsphere8) => Unit::Cores,
            (None, Profile::Pinned | Profile::None) => Unit::Threads,
        }
    }
}
