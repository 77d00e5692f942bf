//! Injection, healing and observation through the agents of a real cluster.

use super::{Entry, Live};
use crate::cluster_under_test::Agents;
use crate::cluster_under_test::{ExecutedBy, HealResult, HostSeen, NodeSeen};
use anyhow::Result;
use cassandra::{HostHandle, NodeHandle};
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::{NodeAct, NodeIndex, PerHost, PerNode};

impl Agents for Live {
    fn nodes(&self) -> PerNode<NodeSeen> {
        let seen = |node: &NodeHandle| NodeSeen {
            // An attached node's process may be visible only when the node serves clients.
            process: node.process.or_else(|| node.service.as_ref()?.process()),
            is_ours: node.service.is_none(),
            host: node.host,
            cql: node.address,
            storage: node.storage,
            ports: node.ports.clone(),
        };
        self.handles.nodes.iter().map(seen).collect()
    }

    fn refresh(&mut self) {
        self.handles.nodes.iter_mut().for_each(NodeHandle::refresh);
    }

    fn hosts(&self) -> PerHost<HostSeen> {
        let seen = |host: &HostHandle| HostSeen {
            name: host.name.clone(),
            number: host.number,
            addresses: host.addresses.clone(),
            folder: host.folder.clone(),
            device: host.device.clone(),
        };
        self.handles.hosts.iter().map(seen).collect()
    }

    fn has_switch(&self) -> bool {
        self.handles.switch.is_some()
    }

    fn inject(
        &mut self,
        by: ExecutedBy,
        what: Injection,
        nodes: &[NodeIndex],
        within: Duration,
    ) -> Result<()> {
        if let (Injection::Wipe { process, .. } | Injection::Leave { process, .. }, [node]) =
            (&what, nodes)
        {
            self.emptied.insert(*node, process.clone());
        }
        let agent = match (&what, by) {
            (Injection::Service(_) | Injection::Reset(_), ExecutedBy::Node(node)) => {
                self.agent_there(node)?
            }
            _ => self.agent(by)?,
        };
        match (&what, by) {
            (Injection::HostPackets(_), ExecutedBy::Host(host)) => {
                self.handles.hosts.get(host).map_or(Ok(()), HostHandle::may_lose)?;
            }
            (Injection::Reset(_), ExecutedBy::Node(node)) => {
                let service = self.node_handle(node)?.service.as_ref();
                service.map_or(Ok(()), |service| service.may(NodeAct::Network))?;
            }
            _ => {}
        }
        let adds = matches!(what, Injection::Join(_));
        let broken = agent.inject(what, within)?;
        if let (true, ExecutedBy::Host(host)) = (adds, by) {
            self.newcomer_on(host)?;
            let newcomer = self.handles.newcomers.remove(host);
            self.handles.nodes.push(newcomer.node);
        }
        // Processes that the injection itself has started on another host.
        let started = agent.started(broken)?;
        for (index, process) in nodes.iter().zip(started) {
            self.handles.nodes[*index].process = Some(process);
        }
        self.broken.push(Entry {
            agent,
            broken,
            nodes: nodes.to_vec(),
        });
        Ok(())
    }

    fn renew(&mut self, within: Duration) -> Result<()> {
        let mut broken = self.broken.iter();
        broken.try_for_each(|entry| entry.agent.renew(entry.broken, within))
    }

    fn heal(&mut self) -> Result<HealResult> {
        let (mut result, mut mended) = (Ok(()), HealResult::default());
        let mut healings = Vec::new();
        for entry in self.broken.iter().rev() {
            match entry.agent.heal(entry.broken) {
                Ok(healed) => {
                    mended.by_itself |= healed.by_itself;
                    mended.became = mended.became.or(healed.became);
                    healings.push((entry.nodes.clone(), healed.processes));
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        for isolation in self.isolated.drain(..) {
            result = result.and(isolation.end());
        }
        for (nodes, processes) in healings {
            mended.started.extend(self.note(&nodes, processes));
        }
        if result.is_ok() {
            self.handles.nodes.truncate(self.members_count);
        }
        result.map(|()| mended)
    }

    fn heal_node(&mut self, node: NodeIndex) -> Result<()> {
        let of_node = |entry: &Entry| entry.nodes == [node];
        let Some(at) = self.broken.iter().rposition(of_node) else {
            return Ok(());
        };
        let healed = self.broken[at].agent.heal(self.broken[at].broken)?;
        // A later healing of all faults must use the process that then runs.
        self.broken.remove(at);
        self.note(&[node], healed.processes);
        Ok(())
    }

    fn see(&mut self, by: ExecutedBy, what: Query) -> Result<QueryAnswer> {
        match (&what, by) {
            (Query::Process(_), ExecutedBy::Node(node)) => self.agent_there(node)?.see(what),
            _ => self.agent(by)?.see(what),
        }
    }

    fn receive(&mut self, by: ExecutedBy, limit: Duration) -> Result<u16> {
        self.agent(by)?.receive(limit)
    }
}
