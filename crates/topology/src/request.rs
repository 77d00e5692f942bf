//! A request for a plan. It contains the number and size of the instances, and the rules for
//! running them.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// A request for a plan. [`PlacementRequest::new`] sets the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacementRequest {
    /// Number of instances (VMs or processes) on this machine.
    pub instances: u32,
    /// vCPUs of each instance, or CPUs of each process.
    pub vcpus: u32,
    /// Memory of each instance in bytes. `None` means an equal share of the machine's memory. The
    /// plan then states the amount.
    pub memory_bytes: Option<u64>,
    /// Use of sibling threads.
    pub smt: Smt,
    /// Rules for the virtual topology.
    pub profile: Profile,
    /// Unit in which a node's size is measured. `None` means the default of the profile, which is
    /// cores for vSphere and threads otherwise.
    pub unit: Option<Unit>,
    /// True if CPUs can be added while an instance runs. The instance then sees a single NUMA node.
    pub hot_add: bool,
    /// CPUs that are reserved for interrupts and the host.
    pub housekeeping: Housekeeping,
    /// Number of vCPUs that may share a CPU. The minimum is 1.0, with which no CPU is shared.
    pub overcommit: f64,
    /// Number of CPUs above which the plan advises dividing an instance. The default is 48.
    /// According to Intel, one Cassandra process scales up to this number.
    pub max_cpus_per_instance: u32,
    /// Garbage collector of each instance.
    pub collector: Collector,
    /// The major version of the JDK.
    pub jdk: u32,
    /// Number of drives of each instance. The concurrency of reads depends on this number.
    pub drives: u32,
    /// Rule that determines Cassandra's concurrency settings.
    pub yaml: YamlProfile,
    /// Names of devices to which instances should be close. The devices matter only if placements
    /// are otherwise equal.
    pub near: Vec<String>,
    /// Name of this physical machine. All its instances are in the rack with this name, so that no
    /// two replicas are on the machine. Different machines must have different names.
    pub host: String,
}

/// Use of sibling threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smt {
    /// Whole cores. All threads of a core belong to the same instance.
    Pack,
    /// Only one thread of each core. The other threads of the core remain idle.
    OnePerCore,
}

/// Rules for the virtual topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// vSphere 7 and hardware versions below 20. Each vCPU has a separate socket, and VMs with at
    /// least 9 vCPUs may have vNUMA.
    Vsphere7,
    /// vSphere 8 with hardware version 20. The number of cores per socket is 0, so that vSphere
    /// chooses the number.
    Vsphere8,
    /// vCPUs pinned to CPUs. The guest sees the topology of these CPUs (libvirt, KubeVirt, Nova).
    Pinned,
    /// No virtual hardware, because an instance is a process on the machine itself.
    None,
}

/// Unit in which the size of a NUMA node or package is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Threads. vSphere uses this unit with `numa.vcpu.preferHT`.
    Threads,
    /// Cores. vSphere uses this unit without `numa.vcpu.preferHT`.
    Cores,
}

/// CPUs that are reserved.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Housekeeping {
    /// No reserved CPUs. Instances may use every core.
    None,
    /// The rule of Seastar's perftune: one reserved core for every 16 cores of a NUMA node, rounded
    /// up. If the instances do not fit on the other cores, the plan omits the reserve and warns.
    Perftune,
    /// This number of reserved cores on each node.
    PerNode(u32),
    /// These CPUs are reserved. Instances do not use the other threads of their cores either.
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
    /// The garbage collector CMS, which exists up to JDK 13.
    Cms,
}

/// Rule that sizes `concurrent_reads` and `concurrent_writes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum YamlProfile {
    /// The comments of cassandra.yaml recommend 16 reads per drive and 8 writes per core.
    Apache,
    /// Intel's guide recommends 3 reads per CPU and 1 write per CPU.
    Intel,
}

impl PlacementRequest {
    /// Returns a request for this number of instances with this number of vCPUs. The instances are
    /// pinned to whole cores, without reserved cores. Each instance has one drive, and runs on JDK
    /// 17 with G1.
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
