//! User's permissions for actions on the processes of attached nodes, and the programs that perform
//! the actions.

use crate::cluster::Cluster;
use anyhow::Result;
use cassandra::{NodeInfo, may};
use target_spec::NodeAct;

impl Cluster {
    /// Checks that an action on the processes of nodes is permitted. For managed nodes, every
    /// action is permitted. For attached nodes, the command line must permit the action.
    pub fn may_do(&self, act: NodeAct) -> Result<()> {
        may(self.access().door.as_ref(), act, "the cluster")
    }

    /// Returns one sentence for each node with the commands that stop and start the node.
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
