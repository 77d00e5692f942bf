//! The placement in an exported file, and the properties of a placement that a format can express.

use crate::cpuset::CpuSet;
use crate::error::one_line;
use crate::export::cells;
use crate::export::escapes;
use crate::plan::{Instance, Plan, VirtualTopology};
use crate::request::Profile;

/// Placement in one file. Fields that the format of the file cannot express are `None`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Placement {
    /// CPUs of the instance, in the order of its vCPUs. If the format stores the CPUs as a set,
    /// they are in ascending order.
    pub cpus: Option<Vec<u32>>,
    /// OS numbers of the nodes whose CPUs belong to the instance, if the file names nodes instead
    /// of CPUs.
    pub cpus_of_nodes: Option<CpuSet>,
    /// True if the instance's memory is interleaved over all nodes of the machine.
    pub interleaves_all: bool,
    /// OS numbers of the nodes that provide the instance's memory.
    pub memory_nodes: Option<CpuSet>,
    /// Hardware that the guest sees.
    pub guest: Option<Guest>,
    /// Memory of the instance in bytes.
    pub memory_bytes: Option<u64>,
    /// Rack of the instance.
    pub rack: Option<String>,
    /// Options of the instance's JVM. If the format has one line for all options, this line is
    /// split at spaces.
    pub jvm: Option<Vec<String>>,
    /// Heap in bytes, if the file sets it with Cassandra's variable `MAX_HEAP_SIZE`. A heap among
    /// the JVM options is only in `jvm`.
    pub heap_bytes: Option<u64>,
    /// CPUs of the host that do not belong to an instance.
    pub reserved: Option<CpuSet>,
    /// Settings of the file that name CPUs or memory nodes, or that set an amount of CPU time,
    /// memory or heap, and that the other fields do not contain. A file that cassay exported has
    /// such settings only for threads other than vCPUs, and for the kubelet itself.
    pub ignored: Vec<String>,
}

/// Maximum length of a setting in [`Placement::ignored`], in characters. A longer setting is
/// truncated, so that it remains one line of output.
const IGNORED_CHARS_MAX: usize = 160;

/// Virtual hardware of a guest. Caches are omitted, because no format lists them separately.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guest {
    /// Number of virtual sockets.
    pub sockets: u32,
    /// Number of dies of each socket.
    pub dies: u32,
    /// Number of cores of each die.
    pub cores: u32,
    /// Number of threads of each core.
    pub threads: u32,
    /// Number of vCPUs of each virtual NUMA node.
    pub vnuma: Vec<u32>,
}

/// Properties of a placement that a format can express.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormatSupport {
    /// Form in which the format names CPUs.
    pub cpus: CpuNaming,
    /// True if the format can name the NUMA nodes that provide the memory.
    pub memory_nodes: bool,
    /// Virtual hardware that the format can express.
    pub guest: GuestSupport,
    /// Unit of the memory in the format, in bytes. Memory is rounded down to whole units.
    pub memory_unit_bytes: Option<u64>,
    /// True if the format can express the rack.
    pub rack: bool,
    /// True if the format can express the JVM options.
    pub jvm: bool,
    /// CPUs without an instance that the format names.
    pub reserved: ReservedCpus,
}

/// Ways in which a format can name CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpuNaming {
    /// The format does not name CPUs.
    No,
    /// The format names the CPUs of an instance as a set.
    Set,
    /// The format names one CPU for each vCPU.
    Ordered,
}

/// Source of the virtual hardware that a format describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestSupport {
    /// The format does not describe virtual hardware.
    No,
    /// The format describes the hardware of a pinned guest.
    Pinned,
    /// The format describes the hardware of vSphere 7 if the request names that version, and
    /// otherwise that of vSphere 8.
    Vsphere,
}

/// Sets of CPUs without an instance that a format can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservedCpus {
    /// The format does not name such CPUs.
    No,
    /// The format names all CPUs without an instance.
    NotGiven,
    /// The format names the housekeeping CPUs or, without housekeeping, all CPUs without an
    /// instance.
    Housekeeping,
}

impl FormatSupport {
    /// A format that cannot express any property of a placement.
    pub const NOTHING: FormatSupport = FormatSupport {
        cpus: CpuNaming::No,
        memory_nodes: false,
        guest: GuestSupport::No,
        memory_unit_bytes: None,
        rack: false,
        jvm: false,
        reserved: ReservedCpus::No,
    };
    /// A format that contains the rack and the JVM options.
    pub const RACK_AND_JVM: FormatSupport = FormatSupport {
        rack: true,
        jvm: true,
        ..FormatSupport::NOTHING
    };
}

impl Placement {
    /// Adds a setting to `ignored`, unless the list already contains the setting.
    pub(super) fn ignore(&mut self, setting: impl AsRef<str>) {
        let line = one_line(setting.as_ref());
        let mut shown: String = line.chars().take(IGNORED_CHARS_MAX).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        if !self.ignored.contains(&shown) {
            self.ignored.push(shown);
        }
    }

    /// Returns the placement that the file for this instance (`None` for the host) should contain,
    /// limited to the properties that its format can express.
    pub fn planned(plan: &Plan, instance: Option<&Instance>, carries: FormatSupport) -> Placement {
        let mut placement = Placement {
            rack: carries.rack.then(|| escapes::plain(&plan.rack)),
            reserved: match carries.reserved {
                ReservedCpus::No => None,
                ReservedCpus::NotGiven => Some(not_given(plan)),
                ReservedCpus::Housekeeping => Some(housekeeping(plan)),
            },
            ..Placement::default()
        };
        let Some(instance) = instance else {
            return placement;
        };
        placement.cpus = match carries.cpus {
            CpuNaming::No => None,
            CpuNaming::Ordered => Some(instance.cpus.clone()),
            CpuNaming::Set => Some(cells::cpus(instance).iter().collect()),
        };
        if carries.memory_nodes {
            placement.memory_nodes = Some(cells::memory_nodes(instance));
        }
        placement.guest = match carries.guest {
            GuestSupport::No => None,
            GuestSupport::Pinned => Some(Guest::from_topology(&instance.pinned)),
            GuestSupport::Vsphere => Some(Guest::from_topology(vsphere(plan))),
        };
        let unit = carries.memory_unit_bytes.filter(|&unit| unit > 0);
        let bytes = |unit| instance.memory_bytes.map(|bytes| bytes / unit * unit);
        placement.memory_bytes = unit.and_then(bytes);
        placement.jvm = carries.jvm.then(|| escapes::options(instance));
        placement
    }
}

impl Guest {
    pub(crate) fn from_topology(topology: &VirtualTopology) -> Guest {
        Guest {
            sockets: topology.sockets,
            dies: topology.dies,
            cores: topology.cores,
            threads: topology.threads,
            vnuma: topology.vnuma.clone(),
        }
    }
}

/// Returns the hardware that vSphere shows a guest. This is the hardware of version 7 if the
/// request names version 7, and otherwise that of version 8.
pub(crate) fn vsphere(plan: &Plan) -> &VirtualTopology {
    match plan.wish.profile {
        Profile::Vsphere7 => &plan.vsphere7,
        _ => &plan.vsphere8,
    }
}

/// Returns all CPUs that do not belong to an instance.
pub(crate) fn not_given(plan: &Plan) -> CpuSet {
    let kept = plan.housekeeping.iter().flat_map(|node| node.cpus.iter());
    kept.chain(plan.idle.iter()).collect()
}

/// Returns the housekeeping CPUs. Without housekeeping, returns all CPUs that do not belong to an
/// instance.
pub(crate) fn housekeeping(plan: &Plan) -> CpuSet {
    let kept: CpuSet = plan.housekeeping.iter().flat_map(|node| node.cpus.iter()).collect();
    if kept.is_empty() {
        plan.idle.clone()
    } else {
        kept
    }
}
