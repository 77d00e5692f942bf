//! Placement of a cluster's nodes. It serves the display, and keeps the client off their CPUs.

use crate::cluster::Cluster;
use crate::local::PartUsed;

impl Cluster {
    /// Describes the client's CPUs in a sentence, if nodes are placed.
    pub fn client_sentence(&self) -> Option<&str> {
        self.control().layout()?.of_client.as_deref()
    }

    /// Describes the placement of the nodes, one sentence each. Empty without placement.
    pub fn placement_sentences(&self) -> &[String] {
        let layout = self.control().layout();
        layout.map_or(&[], |layout| &layout.sentences)
    }

    /// Returns the part of the machine that the nodes use. `None` for the whole machine.
    pub fn part(&self) -> Option<&PartUsed> {
        self.control().layout()?.part.as_ref()
    }

    /// Returns the CPUs of the client if nodes are placed.
    pub fn client_cpus(&self) -> Option<Vec<usize>> {
        let layout = self.control().layout()?;
        let cpus = layout.client.as_ref()?;
        Some(cpus.iter().map(|cpu| *cpu as usize).collect())
    }

    /// Returns the CPUs that the nodes are confined to. Empty if a node is not confined.
    pub fn taken_cpus(&self) -> Vec<usize> {
        let Some(layout) = self.control().layout() else {
            return Vec::new();
        };
        let mut nodes = layout.nodes.iter();
        if nodes.all(|node| node.confinement.cpus.is_some()) {
            layout.taken().iter().map(|cpu| cpu as usize).collect()
        } else {
            Vec::new()
        }
    }
}
