//! Operations that differ between managed and attached nodes: hosts, settings, logs and faults.
//!
//! [`crate::local::Nodes`] and [`crate::attach::AttachedControl`] implement these operations.

use crate::local::{HostInfo, Layout, NodeDied, NodePlace, NodeReports};
use anyhow::Result;
use cassandra::log_position::Marks;
use cassandra::probe::GcLog;
use cassandra::{Access, Handles, Jolokia, LogMarks, Node, NodeInfo};
use host::settings::{HostSettings, Question};
use host::{Agent, Host};
use std::path::PathBuf;
use std::sync::Arc;
use target_spec::{HostKind, NodeIndex, PerHost};
use topology::Machine;

/// Control over the nodes of a target. A parameter `nodes` contains all nodes in the order of the
/// cluster.
pub(crate) trait TargetControl: std::fmt::Debug {
    /// Returns the hosts of the nodes in node order, without duplicates.
    ///
    /// # Errors
    /// The kernel does not report the limits of a managed host.
    fn hosts(&self, nodes: &[NodeInfo]) -> Result<Vec<HostInfo>>;

    fn host_kind(&self) -> HostKind;

    /// Returns the names of the hosts in order. Empty if the nodes share one machine.
    fn host_names(&self) -> PerHost<String>;

    /// Returns the agents that run nodes, each with its managed host. Empty for attached nodes.
    fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)>;

    /// Returns each host's name and hardware, as the agent on the host reads it.
    ///
    /// # Errors
    /// An agent has ended, no host is reachable, or a kernel does not describe its hardware.
    fn machines(&self) -> Result<Vec<(String, Machine)>>;

    /// Returns each host's name and its answer to `question`. Returns `None` if no host is
    /// reachable.
    ///
    /// # Errors
    /// An agent has ended.
    fn host_settings(
        &self,
        question: &Question,
        nodes: &[NodeInfo],
    ) -> Result<Option<Vec<(String, HostSettings)>>>;

    /// Returns the placement of managed nodes. `None` for attached nodes.
    fn layout(&self) -> Option<&Layout>;

    /// Returns the CPUs and memory of nodes with visible processes, according to the kernel.
    ///
    /// # Errors
    /// The agent of a managed host does not report the CPUs or the memory.
    fn places(&self, nodes: &[NodeInfo]) -> Result<Vec<NodePlace>>;

    /// Returns the report of every node, compared with the requested settings. Empty if an attached
    /// node does not show its settings.
    ///
    /// # Errors
    /// A node does not answer.
    fn observe(&self, nodes: &[Node<'_>]) -> Result<NodeReports>;

    /// Returns the current lengths of the readable logs.
    fn log_marks(&self, nodes: &[NodeInfo]) -> LogMarks;

    /// Returns the causes of refused requests since `marks`, at most one sentence per node.
    fn causes(&self, marks: &LogMarks, nodes: &[NodeInfo]) -> Vec<String>;

    /// Returns the location of a node's logs. `None` if no agent runs on its host.
    fn log_place(&self, node: NodeIndex) -> Option<LogPlace<'_>>;

    /// Returns the probe of a node's garbage collector log. `None` if the log is unreadable.
    fn gc_log(&self, node: NodeIndex, name: &str) -> Option<GcLog>;

    /// Returns the nodes that have ended, except those in `expected`. Empty for attached nodes.
    fn died(&self, expected: &[&str]) -> Vec<NodeDied>;

    /// Returns the handles for breaking and healing the nodes.
    ///
    /// # Errors
    /// The logs cannot be read, or the agent on the machine that runs cassay cannot be started.
    fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles>;

    /// Converts a study's node index to an index into `nodes`.
    fn index_of(&self, asked: NodeIndex, nodes: &[NodeInfo]) -> Result<NodeIndex>;

    /// Returns the MBean client of a node, or the reason why its MBeans are not accessible.
    fn jolokia(&self, node: NodeIndex) -> Result<&Jolokia, String>;

    /// Returns the access to a node's profiler. `None` if the node has not loaded the profiler.
    fn profiler(&self, node: NodeIndex) -> Option<ProfilerPlace<'_>>;

    /// Stops and removes everything that cassay started for the nodes.
    fn end(self: Box<Self>) -> Result<()>;
}

pub(crate) struct LogPlace<'a> {
    pub host: &'a str,
    /// Agent on the host.
    pub agent: &'a Agent,
    /// Log folder, `None` if unreadable. For attached nodes, also the lengths of the files at the
    /// time of attaching.
    pub folder: Option<(PathBuf, Option<&'a Marks>)>,
}

/// Library of async-profiler in a node, and the folder into which it writes.
pub(crate) struct ProfilerPlace<'a> {
    /// Agent on the node's host.
    pub agent: &'a Agent,
    /// Path on the node's host.
    pub library: PathBuf,
    /// Node's folder of temporary files.
    pub folder: PathBuf,
}
