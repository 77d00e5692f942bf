//! Placement of nodes on the CPUs and the memory of their machine.

use serde::{Deserialize, Serialize};
use topology::{Smt, Units};

/// Placement of the nodes of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Rule for the placement.
    pub placing: Placing,
    /// Number of CPUs for each node. `None` means an equal share of the available CPUs.
    pub cpus: Option<u32>,
    /// Part of the machine for all nodes together, as a unit and a number of units. `None` means
    /// the whole machine.
    pub part: Option<(Units, u32)>,
    /// Use of SMT. A node uses whole cores, or one thread of each core. `None` if the use is not
    /// stated.
    pub smt: Option<Smt>,
    /// Number of cores of each NUMA node that are reserved for interrupts and the system.
    pub housekeeping: u32,
    /// Number of CPUs that are reserved for the client. If it is `None`, the [`Placing`] determines
    /// the number.
    pub client: Option<u32>,
}

impl Topology {
    /// Returns true if the topology does not restrict the CPUs or the memory of nodes.
    pub fn is_silent(&self) -> bool {
        self.placing == Placing::None && !self.is_confined()
    }

    /// Returns true if the topology restricts nodes to a part of the machine, even if it does not
    /// place them.
    pub fn is_confined(&self) -> bool {
        self.part.is_some() || self.client.is_some()
    }
}

measure::word_enum! {
    /// A rule by which cassay places nodes on their machine.
    #[derive(Default)]
    pub enum Placing {
        /// cassay does not place nodes. The kernel chooses their CPUs.
        #[default]
        None = "none",
        /// Nodes run as in a guest that detects one socket for each of its vCPUs, which is the
        /// default of vSphere 7. The guest does not know the actual topology. Threads run on any
        /// CPU, memory is interleaved over all NUMA nodes, and the JVM detects the number of CPUs
        /// of the guest.
        OneSocketPerVcpu = "one-socket-per-vcpu",
        /// Each node has a home, which consists of the NUMA nodes that the planner assigns to it.
        /// The node shares all CPUs of its home with other nodes, and has its memory in the home.
        Auto = "auto",
        /// Each node has separate CPUs, which the planner selects, and memory close to these CPUs.
        Pinned = "pinned",
    }
}
