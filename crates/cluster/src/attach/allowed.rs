//! What may be done to the processes of nodes that are not ours, and by what it is done.

use crate::cluster::Cluster;
use crate::node::NodeInfo;
use crate::service::refusal;
use anyhow::{Result, bail};
use target::NodeAct;

impl Cluster {
    /// That something may be done to the processes of its nodes: they are ours, or the command line
    /// names it.
    ///
    /// # Errors
    /// It does not.
    pub fn may_do(&self, act: NodeAct) -> Result<()> {
        match &self.access().door {
            Some(door) if !door.may_do(act) => bail!("{}", refusal(act, "the cluster")),
            _ => Ok(()),
        }
    }

    /// What stops and starts nodes that are not ours, a sentence each.
    pub fn controls(&self) -> Vec<String> {
        let hosts = self.attached_hosts();
        let of_node = |(index, node): (usize, &NodeInfo)| {
            let host = hosts?.of(index)?;
            let [stop, start] = host.control(node.address).ok()?;
            Some(format!(
                "{}: `{stop}` and `{start}` on {}",
                node.name, host.name
            ))
        };
        self.nodes().iter().enumerate().filter_map(of_node).collect()
    }
}
