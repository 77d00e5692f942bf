//! A request for a plan: the number and size of the instances, and how they run.

use serde::{Deserialize, Serialize};

use crate::cpuset::CpuSet;

/// Number and size of the instances, and how they run. [`PlacementRequest::new`] has the defaults.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlacementRequest {
    /// Number of instances (VMs or processes) on this machine.
    pub instances: u32,
    /// vCPUs of each instance; for a process, CPUs.
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
    /// CPUs kept free for interrupts and the host.
    pub housekeeping: Housekeeping,
    /// Number of vCPUs that may share a CPU. 1.0 means no sharing and is the minimum.
    pub overcommit: f64,
    /// Number of CPUs above which the plan advises splitting an instance. The default is 48,
    /// Intel's limit to which one Cassandra scales.
    pub max_cpus_per_instance: u32,
    /// The garbage collector.
    pub collector: Collector,
    /// The major version of the JDK.
    pub jdk: u32,
    /// Drives of each instance, for the concurrency of reads.
    pub drives: u32,
    /// Rule that sizes the concurrency of Cassandra.
    pub yaml: YamlProfile,
    /// Names of devices to which instances should be near. This only breaks ties.
    pub near: Vec<String>,
    /// Name of this physical machine. All its instances are in the rack of this name, so that no
    /// two replicas share it. Different machines need different names.
    pub host: String,
}

/// Use of sibling threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Smt {
    /// Whole cores: both threads belong to the same instance.
    Pack,
    /// One thread of each core; its siblings stay idle.
    OnePerCore,
}

/// Rules for the virtual topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// vSphere 7 and hardware versions below 20: a socket per vCPU, vNUMA from 9 vCPUs.
    Vsphere7,
    /// vSphere 8 with hardware version 20: cores per socket is 0, which means automatic.
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
    /// Threads, as vSphere counts with `numa.vcpu.preferHT`.
    Threads,
    /// Cores, as vSphere counts without it.
    Cores,
}

/// CPUs kept free of instances.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Housekeeping {
    /// Instances get every core.
    None,
    /// Seastar perftune's ratio: on each node, one core for each 16 cores or part of 16. It is
    /// given up, with a warning, if the instances do not fit beside it.
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
    /// The comments of cassandra.yaml: 16 per drive, 8 per core.
    Apache,
    /// Intel's guide: 3 per CPU, 1 per CPU.
    Intel,
}

impl PlacementRequest {
    /// Returns a request for this number of instances with this number of vCPUs: pinned, on whole
    /// cores, with nothing kept free, G1 on JDK 17, one drive each.
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
