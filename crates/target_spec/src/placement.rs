//! Placement of nodes on the CPUs and the memory of their machine, as a study states it.

use topology::{Smt, Units};

/// Placement of the nodes of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Rule of the placement.
    pub placing: Placing,
    /// CPUs of each node. `None`: an equal share of the available ones.
    pub cpus: Option<u32>,
    /// Part of the machine for all nodes together. `None`: all of it.
    pub part: Option<(Units, u32)>,
    /// Use of SMT: whole cores for a node, or one thread of each. `None` if not stated.
    pub smt: Option<Smt>,
    /// Cores of each NUMA node that are kept free for interrupts and the system.
    pub housekeeping: u32,
    /// CPUs that are kept free for the client. `None`: as the [`Placing`] requires.
    pub client: Option<u32>,
}

impl Topology {
    /// Returns true if it states nothing about where nodes run.
    pub fn is_silent(&self) -> bool {
        self.placing == Placing::None && !self.is_confined()
    }

    /// Returns true if nodes that are not placed run on a part of the machine only.
    pub fn is_confined(&self) -> bool {
        self.part.is_some() || self.client.is_some()
    }
}

measure::word_enum! {
    /// A rule by which nodes are placed.
    #[derive(Default)]
    pub enum Placing {
        /// No placement: nodes run where the kernel schedules them.
        #[default]
        None = "none",
        /// As in a guest that is shown a socket for each of its vCPUs, the default of vSphere 7:
        /// the guest does not know the real topology. Threads run anywhere, memory is interleaved
        /// over all NUMA nodes, and the JVM counts the CPUs that it was given.
        OneSocketPerVcpu = "one-socket-per-vcpu",
        /// Each node has a home: the NUMA nodes that the planner gives it. It runs on all their
        /// CPUs, beside other nodes, and has its memory there.
        Auto = "auto",
        /// Each node has CPUs of its own, placed by the planner, and memory close to them.
        Pinned = "pinned",
    }
}
