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
    /// Part of the machine for all nodes together. `None` means the whole machine.
    pub part: Option<(Units, u32)>,
    /// Use of SMT: whole cores for a node, or one thread of each core. `None` if not stated.
    pub smt: Option<Smt>,
    /// Number of cores of each NUMA node that are reserved for interrupts and the system.
    pub housekeeping: u32,
    /// Number of CPUs that are reserved for the client. `None` means the number that the
    /// [`Placing`] requires.
    pub client: Option<u32>,
}

impl Topology {
    /// Returns true if the topology does not restrict where nodes run.
    pub fn is_silent(&self) -> bool {
        self.placing == Placing::None && !self.is_confined()
    }

    /// Returns true if nodes without a placement run on only a part of the machine.
    pub fn is_confined(&self) -> bool {
        self.part.is_some() || self.client.is_some()
    }
}

measure::word_enum! {
    /// A rule by which nodes are placed.
    #[derive(Default)]
    pub enum Placing {
        /// No placement. The kernel chooses the CPUs of nodes.
        #[default]
        None = "none",
        /// Placement as in a guest that sees a socket for each of its vCPUs, which is the default
        /// of vSphere 7. The guest does not know the actual topology. Threads run anywhere, memory
        /// is interleaved over all NUMA nodes, and the JVM counts the CPUs of the guest.
        OneSocketPerVcpu = "one-socket-per-vcpu",
        /// Each node has a home, which consists of the NUMA nodes that the planner assigns to it.
        /// It shares all CPUs of its home with other nodes, and has its memory there.
        Auto = "auto",
        /// Each node has its own CPUs, which the planner selects, and memory close to them.
        Pinned = "pinned",
    }
}
