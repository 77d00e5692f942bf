//! Logs and readings of nodes that cassay cannot read, for example after the loss of a host.

use crate::cluster::Cluster;
use cassandra::NodeInfo;
use target_spec::NodeIndex;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    pub node: String,
    pub host: String,
    pub why: String,
}

impl Cluster {
    /// Returns the nodes on hosts that no longer answer. Readings of the probes on such a host are
    /// missing from then on.
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
