//! Placement of a cluster's nodes, which cassay shows and from which it chooses the client's CPUs.

use crate::cluster::Cluster;
use crate::local::PartUsed;

impl Cluster {
    /// Returns a sentence about the CPUs of the client, if the nodes are placed.
    pub fn client_sentence(&self) -> Option<&str> {
        self.control().layout()?.of_client.as_deref()
    }

    /// Returns sentences about the placement of the nodes. Empty without a placement.
    pub fn placement_sentences(&self) -> &[String] {
        let layout = self.control().layout();
        layout.map_or(&[], |layout| &layout.sentences)
    }

    /// Returns the part of the machine that the nodes use. `None` means the whole machine.
    pub fn part(&self) -> Option<&PartUsed> {
        self.control().layout()?.part.as_ref()
    }

    /// Returns the CPUs of the client, if the nodes are placed.
    pub fn client_cpus(&self) -> Option<Vec<usize>> {
        let layout = self.control().layout()?;
        let cpus = layout.client.as_ref()?;
        Some(cpus.iter().map(|cpu| *cpu as usize).collect())
    }

    /// Returns the CPUs to which the nodes are confined. Empty if a node is not confined.
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
