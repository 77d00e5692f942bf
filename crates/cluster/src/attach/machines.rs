//! Hardware and settings of attached nodes' machines.

use super::hosts::{AttachedHosts, ReachedHost};
use anyhow::{Context, Result};
use cassandra::NodeInfo;
use host::settings::{HostSettings, Question};
use topology::Machine;

impl AttachedHosts {
    /// Returns each machine's name and hardware.
    ///
    /// # Errors
    /// An agent has ended, or a kernel does not describe its hardware.
    pub fn machines(&self) -> Result<Vec<(String, Machine)>> {
        let of_host = |host: &ReachedHost| {
            let machine = host
                .agent
                .machine()
                .with_context(|| format!("read the topology of {}", host.name))?;
            Ok((host.name.clone(), machine))
        };
        self.all.iter().map(of_host).collect()
    }

    /// Returns each machine's name and its answer to `question`. The question also covers the
    /// processes and data folders of the nodes on the machine.
    ///
    /// # Errors
    /// An agent has ended.
    pub fn settings(
        &self,
        question: &Question,
        nodes: &[NodeInfo],
    ) -> Result<Vec<(String, HostSettings)>> {
        let of_host = |host: &ReachedHost| {
            let own = || self.nodes_of(host).map(|index| (index, &nodes[index]));
            let process = |(index, node): (usize, &NodeInfo)| {
                let process = self.process(index, node.address).ok()?;
                Some((node.name.clone(), process.pid))
            };
            let folder = |(_, node): (usize, &NodeInfo)| host.data(node.address.ip());
            let question = Question {
                folders: own().filter_map(folder).collect(),
                processes: own().filter_map(process).collect(),
                ..question.clone()
            };
            let settings = host
                .agent
                .settings(&question)
                .with_context(|| format!("read the settings of {}", host.name))?;
            Ok((host.name.clone(), settings))
        };
        self.all.iter().map(of_host).collect()
    }
}
