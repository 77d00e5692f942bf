//! Logs and observations of nodes that cassay can no longer read, for example because a host was
//! lost.

use crate::cluster::Cluster;
use cassandra::NodeInfo;
use target_spec::NodeIndex;

/// Data of a node that was lost, or that cassay could never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Name of the node.
    pub node: String,
    /// Name of the node's host.
    pub host: String,
    /// Reason why the data cannot be read.
    pub why: String,
}

impl Cluster {
    /// Returns the nodes on hosts that no longer answer. The readings of the probes on these hosts
    /// are missing from the time when the host stopped answering.
    pub fn unheard(&self) -> Vec<Gap> {
        let nodes = self.nodes().iter().enumerate();
        nodes
            .filter_map(|(index, node)| {
                let place = self.control().log_place(NodeIndex(index))?;
                Some(gap(node, place.host, place.agent.lost()?))
            })
            .collect()
    }
}

pub(crate) fn gap(node: &NodeInfo, host: &str, why: String) -> Gap {
    Gap {
        node: node.name.clone(),
        host: host.to_owned(),
        why,
    }
}
