//! How nodes are placed on the CPUs and the memory of their machine, as a study says it.

use topology::{Smt, Units};

/// How the nodes of a machine are placed on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// By which rule.
    pub placing: Placing,
    /// CPUs of each node; none: an equal share of what there is.
    pub cpus: Option<u32>,
    /// The part of the machine that all nodes together have; none: all of it.
    pub part: Option<(Units, u32)>,
    /// Whether a node gets whole cores or one thread of each.
    pub smt: Option<Smt>,
    /// Cores of each NUMA node that are kept free for interrupts and the system.
    pub housekeeping: u32,
    /// CPUs that are kept free for the client; none: what [`Placing`] says.
    pub client: Option<u32>,
}

impl Topology {
    /// Whether nothing is said of where nodes run.
    pub fn is_silent(&self) -> bool {
        self.placing == Placing::None && !self.is_confined()
    }

    /// Whether nodes that run anywhere do so on a part of the machine only.
    pub fn is_confined(&self) -> bool {
        self.part.is_some() || self.client.is_some()
    }
}

measure::word_enum! {
    /// A rule by which nodes are placed.
    #[derive(Default)]
    pub enum Placing {
        /// Nothing is said to the kernel: nodes run where it puts them.
        #[default]
        None = "none",
        /// As in a guest that is shown a socket for each of its vCPUs, which is what vSphere 7 does
        /// by default: nobody knows what is near to what. Threads run anywhere, memory is
        /// interleaved over all NUMA nodes, and the JVM counts the CPUs that it was given.
        OneSocketPerVcpu = "one-socket-per-vcpu",
        /// Each node has a home: the NUMA nodes that the planner gives it. It runs on all their
        /// CPUs, beside others, and has its memory there.
        Auto = "auto",
        /// Each node has CPUs of its own, as the planner places them, and memory beside them.
        Pinned = "pinned",
    }
}
