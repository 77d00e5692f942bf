//! Control over managed nodes, through their agents and the files that cassay wrote.

use super::host_info::HostInfo;
use super::node_process::{LocalNode, NodeDied};
use super::nodes::Nodes;
use super::placement::Layout;
use super::settings_check::{NodePlace, NodeReports};
use crate::target_control::{LogPlace, ProfilerPlace, TargetControl};
use anyhow::{Context, Result};
use cassandra::probe::GcLog;
use cassandra::{Access, Handles, Jolokia, LogMarks, Node, NodeInfo, refused_requests};
use host::settings::{HostSettings, Question};
use host::{Agent, Host, Hosts};
use std::sync::Arc;
use target_spec::{HostKind, NodeIndex, PerHost};
use topology::Machine;

impl TargetControl for Nodes {
    fn hosts(&self, nodes: &[NodeInfo]) -> Result<Vec<HostInfo>> {
        match self.hosts() {
            Some(hosts) => HostInfo::from_hosts(hosts),
            None => Ok(HostInfo::from_addresses(nodes)),
        }
    }

    fn host_kind(&self) -> HostKind {
        match self.hosts() {
            Some(hosts) if hosts.are_machines() => HostKind::Machines,
            Some(_) => HostKind::StandIns,
            None => HostKind::Addresses,
        }
    }

    fn host_names(&self) -> PerHost<String> {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        hosts.iter().map(|host| host.name().to_owned()).collect()
    }

    fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)> {
        self.agents()
    }

    fn machines(&self) -> Result<Vec<(String, Machine)>> {
        let of_host = |(agent, host): (&Arc<Agent>, Option<&Host>)| {
            let name = name_of(host);
            let machine =
                agent.machine().with_context(|| format!("read the topology of {name}"))?;
            Ok((name.to_owned(), machine))
        };
        self.agents().into_iter().map(of_host).collect()
    }

    fn host_settings(
        &self,
        question: &Question,
        _: &[NodeInfo],
    ) -> Result<Option<Vec<(String, HostSettings)>>> {
        let of_host = |(agent, host): (&Arc<Agent>, Option<&Host>)| {
            let name = name_of(host);
            let processes: Vec<_> =
                self.processes_of(agent).map(|(name, pid)| (name.to_owned(), pid)).collect();
            let is_here = |name: &str| processes.iter().any(|(one, _)| one == name);
            let folders = self.data_folders().filter(|(name, _)| is_here(name));
            let question = Question {
                folders: folders.map(|(_, folder)| folder).collect(),
                processes: processes.clone(),
                ..question.clone()
            };
            let settings = agent
                .settings(&question)
                .with_context(|| format!("read the settings of {name}"))?;
            Ok((name.to_owned(), settings))
        };
        let hosts = self.agents().into_iter().map(of_host);
        hosts.collect::<Result<_>>().map(Some)
    }

    fn layout(&self) -> Option<&Layout> {
        Some(self.layout())
    }

    fn places(&self, _: &[NodeInfo]) -> Result<Vec<NodePlace>> {
        self.places()
    }

    fn observe(&self, nodes: &[Node<'_>]) -> Result<NodeReports> {
        self.observe(nodes)
    }

    fn log_marks(&self, _: &[NodeInfo]) -> LogMarks {
        LogMarks::read(&self.files())
    }

    fn causes(&self, marks: &LogMarks, _: &[NodeInfo]) -> Vec<String> {
        refused_requests::causes(&self.files(), marks)
    }

    fn log_place(&self, node: NodeIndex) -> Option<LogPlace<'_>> {
        let LocalNode { host, layout, .. } = self.all().get(node.0)?;
        Some(LogPlace {
            host: &layout.host,
            agent: host,
            folder: Some((layout.logs(), None)),
        })
    }

    fn gc_log(&self, node: NodeIndex, name: &str) -> Option<GcLog> {
        let LocalNode { host, layout, .. } = self.all().get(node.0)?;
        Some(GcLog::new(host, &layout.logs(), name))
    }

    fn died(&self, expected: &[&str]) -> Vec<NodeDied> {
        self.died(expected)
    }

    fn handles(&self, _: &[NodeInfo], _: &Access) -> Result<Handles> {
        self.handles()
    }

    fn index_of(&self, asked: NodeIndex, nodes: &[NodeInfo]) -> Result<NodeIndex> {
        let known = (asked.0 < nodes.len()).then_some(asked);
        known.with_context(|| format!("node {} does not exist", asked.number()))
    }

    fn jolokia(&self, node: NodeIndex) -> Result<&Jolokia, String> {
        let agent = self.jolokias().nth(node.0).and_then(|(_, agent)| agent);
        agent.ok_or_else(|| "the distribution in use has no Jolokia agent".to_owned())
    }

    fn profiler(&self, node: NodeIndex) -> Option<ProfilerPlace<'_>> {
        let node = self.all().get(node.0)?;
        Some(ProfilerPlace {
            agent: &node.host,
            library: self.program_of(node).supply.profiler.clone()?,
            folder: node.layout.folder.join("tmp"),
        })
    }

    fn end(self: Box<Self>) -> Result<()> {
        self.stop()
    }
}

fn name_of(host: Option<&Host>) -> &str {
    host.map_or("this machine", Host::name)
}
