//! How the nodes of a cluster are placed, for those who show it and those who keep off their CPUs.

use super::part::PartUsed;
use crate::cluster::Cluster;
use crate::local::Nodes;

impl Cluster {
    /// What the client has of the machine beside nodes that are placed, in a sentence.
    pub fn client_sentence(&self) -> Option<&str> {
        self.local()?.layout().of_client.as_deref()
    }

    /// How its nodes are placed and why, a sentence each. Nothing where nothing is said of it.
    pub fn placement_sentences(&self) -> &[String] {
        let layout = self.local().map(Nodes::layout);
        layout.map_or(&[], |layout| &layout.sentences)
    }

    /// The part of their machine that its nodes have; none: all of it.
    pub fn part(&self) -> Option<&PartUsed> {
        self.local()?.layout().part.as_ref()
    }

    /// The CPUs that are kept for the client, where nodes are placed.
    pub fn client_cpus(&self) -> Option<Vec<usize>> {
        let layout = self.local().map(Nodes::layout)?;
        let cpus = layout.client.as_ref()?;
        Some(cpus.iter().map(|cpu| *cpu as usize).collect())
    }

    /// The CPUs that its nodes are confined to; empty where one of them is not.
    pub fn taken_cpus(&self) -> Vec<usize> {
        let Some(layout) = self.local().map(Nodes::layout) else {
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
