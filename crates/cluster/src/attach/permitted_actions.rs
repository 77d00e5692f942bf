//! Actions on the processes of attached nodes that the user has permitted, and the programs that
//! perform them.

use crate::cluster::Cluster;
use anyhow::Result;
use cassandra::{NodeInfo, may};
use target_spec::NodeAct;

impl Cluster {
    /// Checks that an action on the processes of nodes is permitted. The action is permitted if
    /// cassay manages the nodes, or if the command line names the action.
    ///
    /// # Errors
    /// The action is not permitted.
    pub fn may_do(&self, act: NodeAct) -> Result<()> {
        may(self.access().door.as_ref(), act, "the cluster")
    }

    /// Describes the programs that stop and start attached nodes, with one sentence for each node.
    pub fn controls(&self) -> Vec<String> {
        let hosts = self.attached_hosts();
        let of_node = |(index, node): (usize, &NodeInfo)| {
            let host = hosts?.for_node(index)?;
            let [stop, start] = host.control(node.address).ok()?;
            Some(format!(
                "cassay would stop {} with `{stop}` and start it with `{start}` on {}",
                node.name, host.name
            ))
        };
        self.nodes().iter().enumerate().filter_map(of_node).collect()
    }
}
