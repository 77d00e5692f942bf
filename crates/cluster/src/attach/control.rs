//! Control over attached nodes, through the access that their owner provides.

use super::faults::AttachedControl;
use super::hosts::AttachedHosts;
use crate::local::{HostInfo, Layout, NodeDied, NodePlace, NodeReports};
use crate::target_control::{LogPlace, ProfilerPlace, TargetControl};
use anyhow::{Result, bail};
use cassandra::probe::GcLog;
use cassandra::{Access, Handles, Jolokia, LogMarks, Node, NodeInfo, ServerLog};
use host::settings::{HostSettings, Question};
use host::{Agent, Host};
use std::sync::Arc;
use target_spec::{HostKind, NodeIndex, PerHost};
use topology::Machine;

impl TargetControl for AttachedControl {
    fn hosts(&self, nodes: &[NodeInfo]) -> Result<Vec<HostInfo>> {
        Ok(HostInfo::from_addresses(nodes))
    }

    fn host_kind(&self) -> HostKind {
        HostKind::Others
    }

    fn host_names(&self) -> PerHost<String> {
        self.hosts.all.iter().map(|host| host.name.clone()).collect()
    }

    fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)> {
        Vec::new()
    }

    fn machines(&self) -> Result<Vec<(String, Machine)>> {
        let Some(hosts) = self.reached() else {
            bail!(
                "cassay cannot reach the machines of an attached cluster; `attach: {{hosts: …}}` \
                 adds them, and --target ssh:HOST reads one machine"
            );
        };
        hosts.machines()
    }

    fn host_settings(
        &self,
        question: &Question,
        nodes: &[NodeInfo],
    ) -> Result<Option<Vec<(String, HostSettings)>>> {
        self.reached().map(|hosts| hosts.settings(question, nodes)).transpose()
    }

    fn layout(&self) -> Option<&Layout> {
        None
    }

    fn places(&self, nodes: &[NodeInfo]) -> Result<Vec<NodePlace>> {
        let place = |(index, node): (usize, &NodeInfo)| {
            let host = self.hosts.for_node(index)?;
            let process = self.hosts.process(index, node.address).ok()?;
            Some(NodePlace {
                node: node.name.clone(),
                host: host.name.clone(),
                found: host.agent.whereabouts(process).ok()?,
            })
        };
        Ok(nodes.iter().enumerate().filter_map(place).collect())
    }

    fn observe(&self, nodes: &[Node<'_>]) -> Result<NodeReports> {
        let mut reports = NodeReports::default();
        for node in nodes {
            let Some(settings) = node.settings()? else {
                return Ok(NodeReports::default());
            };
            reports.nodes.push(node.shown_configuration(settings));
        }
        Ok(reports)
    }

    fn log_marks(&self, nodes: &[NodeInfo]) -> LogMarks {
        LogMarks::read_logs(&self.logs(nodes))
    }

    fn causes(&self, marks: &LogMarks, nodes: &[NodeInfo]) -> Vec<String> {
        let logs = self.logs(nodes).into_iter().enumerate();
        logs.filter_map(|(index, log)| log.cause(marks.length(index))).collect()
    }

    fn log_place(&self, node: NodeIndex) -> Option<LogPlace<'_>> {
        let host = self.hosts.for_node(node.0)?;
        let logs = self.hosts.logs(node.0).and_then(Result::ok);
        Some(LogPlace {
            host: &host.name,
            agent: &host.agent,
            folder: logs.map(|(folder, marks)| (folder.to_owned(), Some(marks))),
        })
    }

    fn gc_log(&self, node: NodeIndex, name: &str) -> Option<GcLog> {
        let (folder, _) = self.hosts.logs(node.0)?.ok()?;
        let agent = &self.hosts.for_node(node.0)?.agent;
        Some(GcLog::new(agent, folder, name).elsewhere())
    }

    fn died(&self, _: &[&str]) -> Vec<NodeDied> {
        Vec::new()
    }

    fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles> {
        self.handles(nodes, access)
    }

    fn index_of(&self, asked: NodeIndex, nodes: &[NodeInfo]) -> Result<NodeIndex> {
        self.index_of(asked, nodes)
    }

    fn jolokia(&self, node: NodeIndex) -> Result<&Jolokia, String> {
        match self.agents.get(node.0) {
            Some(agent) => agent.as_ref().map_err(Clone::clone),
            None => Err("cassay has no access to Jolokia agents".to_owned()),
        }
    }

    fn profiler(&self, _: NodeIndex) -> Option<ProfilerPlace<'_>> {
        None
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.hosts.end()
    }
}

impl AttachedControl {
    /// Returns the machines of the nodes, if the study lists any.
    pub(crate) fn reached(&self) -> Option<&AttachedHosts> {
        Some(&self.hosts).filter(|hosts| !hosts.all.is_empty())
    }

    /// Returns the server logs in the log folders that cassay can read.
    fn logs<'a>(&'a self, nodes: &'a [NodeInfo]) -> Vec<ServerLog<'a>> {
        let log = |(index, node): (usize, &'a NodeInfo)| {
            let (folder, _) = self.hosts.logs(index)?.ok()?;
            Some(ServerLog {
                node: &node.name,
                host: &self.hosts.for_node(index)?.agent,
                path: folder.join("system.log"),
            })
        };
        nodes.iter().enumerate().filter_map(log).collect()
    }
}
