//! What may be done to the processes of nodes that are not ours, and by what it is done.

use crate::cluster::Cluster;
use crate::node::NodeInfo;
use crate::service::may;
use anyhow::Result;
use target::NodeAct;

impl Cluster {
    /// That something may be done to the processes of its nodes: they are ours, or the command line
    /// names it.
    ///
    /// # Errors
    /// It does not.
    pub fn may_do(&self, act: NodeAct) -> Result<()> {
        may(self.access().door.as_ref(), act, "the cluster")
    }

    /// What stops and starts nodes that are not ours, a sentence each.
    pub fn controls(&self) -> Vec<String> {
        let hosts = self.attached_hosts();
        let of_node = |(index, node): (usize, &NodeInfo)| {
            let host = hosts?.of(index)?;
            let [stop, start] = host.control(node.address).ok()?;
            Some(format!(
                "{} would be stopped by `{stop}` and started by `{start}` on {}",
                node.name, host.name
            ))
        };
        self.nodes().iter().enumerate().filter_map(of_node).collect()
    }
}
