//! What a file of an export says of the placement, and what of it a format can say at all.

use crate::cpuset::CpuSet;
use crate::export::cells;
use crate::export::text;
use crate::plan::{Instance, Plan, VirtualTopology};
use crate::request::Profile;

/// What one file says. What its format cannot say is `None`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Placement {
    /// CPUs of the instance: in the order of its vCPUs, or ascending where the format has a set.
    pub cpus: Option<Vec<u32>>,
    /// OS numbers of the nodes its memory comes from.
    pub memory_nodes: Option<CpuSet>,
    /// What the guest sees.
    pub guest: Option<Guest>,
    /// Its memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Its rack.
    pub rack: Option<String>,
    /// Options of its JVM; as words where the format has words.
    pub jvm: Option<Vec<String>>,
    /// CPUs of the host that instances do not have.
    pub reserved: Option<CpuSet>,
}

/// Virtual hardware without its caches, which no format names one by one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guest {
    /// Virtual sockets.
    pub sockets: u32,
    /// Dies of each socket.
    pub dies: u32,
    /// Cores of each die.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
    /// vCPUs of each virtual NUMA node.
    pub vnuma: Vec<u32>,
}

/// What of a placement a format can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carries {
    /// Its CPUs.
    pub cpus: CpusCarried,
    /// The nodes of its memory.
    pub memory_nodes: bool,
    /// Its virtual hardware.
    pub guest: GuestCarried,
    /// Its memory, in whole units of so many bytes, rounded down.
    pub memory_unit_bytes: Option<u64>,
    /// Its rack.
    pub rack: bool,
    /// The options of its JVM.
    pub jvm: bool,
    /// What is kept free.
    pub reserved: ReservedCarried,
}

/// How a format names CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CpusCarried {
    /// Not at all.
    No,
    /// As a set.
    Set,
    /// One for each vCPU.
    Ordered,
}

/// Whose virtual hardware a format describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestCarried {
    /// The format describes no virtual hardware.
    No,
    /// That of a pinned guest.
    Pinned,
    /// That of vSphere 7 where the wish asks for it, otherwise of vSphere 8.
    Vsphere,
}

/// Which CPUs that no instance has a format names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservedCarried {
    /// The format names none of them.
    No,
    /// All of them.
    NotGiven,
    /// Those of the housekeeping; without one, all.
    Housekeeping,
}

impl Carries {
    /// A format that can say nothing of a placement.
    pub const NOTHING: Carries = Carries {
        cpus: CpusCarried::No,
        memory_nodes: false,
        guest: GuestCarried::No,
        memory_unit_bytes: None,
        rack: false,
        jvm: false,
        reserved: ReservedCarried::No,
    };
    /// The rack and the options of the JVM.
    pub const RACK_AND_JVM: Carries = Carries {
        rack: true,
        jvm: true,
        ..Carries::NOTHING
    };
}

impl Placement {
    /// What a file for this instance (`None`: for the host) says when its format carries so much.
    pub fn planned(plan: &Plan, instance: Option<&Instance>, carries: Carries) -> Placement {
        let mut placement = Placement {
            rack: carries.rack.then(|| text::plain(&plan.rack)),
            reserved: match carries.reserved {
                ReservedCarried::No => None,
                ReservedCarried::NotGiven => Some(not_given(plan)),
                ReservedCarried::Housekeeping => Some(housekeeping(plan)),
            },
            ..Placement::default()
        };
        let Some(instance) = instance else {
            return placement;
        };
        placement.cpus = match carries.cpus {
            CpusCarried::No => None,
            CpusCarried::Ordered => Some(instance.cpus.clone()),
            CpusCarried::Set => Some(cells::cpus(instance).iter().collect()),
        };
        if carries.memory_nodes {
            placement.memory_nodes = Some(cells::memory_nodes(instance));
        }
        placement.guest = match carries.guest {
            GuestCarried::No => None,
            GuestCarried::Pinned => Some(Guest::of(&instance.pinned)),
            GuestCarried::Vsphere => Some(Guest::of(vsphere(plan))),
        };
        let unit = carries.memory_unit_bytes.filter(|&unit| unit > 0);
        let bytes = |unit| instance.memory_bytes.map(|bytes| bytes / unit * unit);
        placement.memory_bytes = unit.and_then(bytes);
        placement.jvm = carries.jvm.then(|| text::options(instance));
        placement
    }
}

impl Guest {
    pub(crate) fn of(topology: &VirtualTopology) -> Guest {
        Guest {
            sockets: topology.sockets,
            dies: topology.dies,
            cores: topology.cores,
            threads: topology.threads,
            vnuma: topology.vnuma.clone(),
        }
    }
}

/// What vSphere shows: of the version that the wish names, or of 8.
pub(crate) fn vsphere(plan: &Plan) -> &VirtualTopology {
    match plan.wish.profile {
        Profile::Vsphere7 => &plan.vsphere7,
        _ => &plan.vsphere8,
    }
}

/// All CPUs that no instance has.
pub(crate) fn not_given(plan: &Plan) -> CpuSet {
    let kept = plan.housekeeping.iter().flat_map(|node| node.cpus.iter());
    kept.chain(plan.idle.iter()).collect()
}

/// The CPUs of the housekeeping; without one, all that no instance has.
pub(crate) fn housekeeping(plan: &Plan) -> CpuSet {
    let kept: CpuSet = plan.housekeeping.iter().flat_map(|node| node.cpus.iter()).collect();
    if kept.is_empty() {
        plan.idle.clone()
    } else {
        kept
    }
}
