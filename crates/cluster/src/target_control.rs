//! Operations that differ between managed and attached nodes: hosts, settings, logs and faults.
//!
//! [`crate::local::Nodes`] and [`crate::attach::AttachedControl`] each implement these operations.
//! A [`crate::Cluster`] calls the operations in the same way for managed and attached nodes.

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

/// Control over the nodes of a target. A parameter `nodes` contains all nodes of the cluster, in
/// the order of the cluster.
pub(crate) trait TargetControl: std::fmt::Debug {
    /// Returns the hosts of the nodes, without duplicates, in node order.
    ///
    /// # Errors
    /// The kernel does not report the limits of a managed host.
    fn hosts(&self, nodes: &[NodeInfo]) -> Result<Vec<HostInfo>>;

    fn host_kind(&self) -> HostKind;

    /// Returns the names of the hosts in order, or an empty list if the nodes share one machine.
    fn host_names(&self) -> PerHost<String>;

    /// Returns the agents that run nodes, each with its managed host. Returns an empty list for
    /// attached nodes.
    fn agents(&self) -> Vec<(&Arc<Agent>, Option<&Host>)>;

    /// Returns the name and the machine of each host, as the agent on the host reads the machine.
    ///
    /// # Errors
    /// An agent has ended, no host is reachable, or a kernel does not describe its machine.
    fn machines(&self) -> Result<Vec<(String, Machine)>>;

    /// Returns the answers of the hosts to `question`, by host name. Returns `None` if no host is
    /// reachable.
    ///
    /// # Errors
    /// An agent has ended.
    fn host_settings(
        &self,
        question: &Question,
        nodes: &[NodeInfo],
    ) -> Result<Option<Vec<(String, HostSettings)>>>;

    /// Returns the placement of managed nodes, or `None` for attached nodes.
    fn layout(&self) -> Option<&Layout>;

    /// Returns the CPUs and memory of the nodes whose processes are visible, as the kernel reports
    /// them.
    ///
    /// # Errors
    /// The agent of a managed host does not report the CPUs or the memory.
    fn places(&self, nodes: &[NodeInfo]) -> Result<Vec<NodePlace>>;

    /// Returns the report of every node, compared with the settings that the study requests. Empty
    /// if an attached node does not show its settings.
    ///
    /// # Errors
    /// A node does not answer.
    fn observe(&self, nodes: &[Node<'_>]) -> Result<NodeReports>;

    /// Returns the current lengths of the nodes' logs that cassay can read.
    fn log_marks(&self, nodes: &[NodeInfo]) -> LogMarks;

    /// Returns the causes of refused requests since `marks`, with at most one sentence per node.
    fn causes(&self, marks: &LogMarks, nodes: &[NodeInfo]) -> Vec<String>;

    /// Returns the location of the logs of a node, or `None` if no agent runs on its host.
    fn log_place(&self, node: NodeIndex) -> Option<LogPlace<'_>>;

    /// Returns the probe of a node's garbage collector log, or `None` if the log is not readable.
    fn gc_log(&self, node: NodeIndex, name: &str) -> Option<GcLog>;

    /// Returns the nodes that have ended, except those in `expected`, which should be down. Returns
    /// an empty list for attached nodes.
    fn died(&self, expected: &[&str]) -> Vec<NodeDied>;

    /// Returns the handles for breaking and healing the nodes.
    ///
    /// # Errors
    /// The logs cannot be read, or the agent on the machine that runs cassay cannot be started.
    fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles>;

    /// Converts the node index of a study to an index into `nodes`.
    ///
    /// # Errors
    /// The cluster does not have this node.
    fn index_of(&self, asked: NodeIndex, nodes: &[NodeInfo]) -> Result<NodeIndex>;

    /// Returns the MBean access of a node.
    ///
    /// # Errors
    /// The MBeans of the node are not accessible. The error contains the reason.
    fn jolokia(&self, node: NodeIndex) -> Result<&Jolokia, String>;

    /// Returns the access to the profiler of a node, or `None` if the node has not loaded the
    /// profiler.
    fn profiler(&self, node: NodeIndex) -> Option<ProfilerPlace<'_>>;

    /// Stops and removes everything that cassay started for the nodes.
    ///
    /// # Errors
    /// A process or a folder could not be removed, or a host did not return to its original state.
    fn end(self: Box<Self>) -> Result<()>;
}

pub(crate) struct LogPlace<'a> {
    /// Name of the host.
    pub host: &'a str,
    /// Agent that runs on the host.
    pub agent: &'a Agent,
    /// Log folder, or `None` if it is not readable. For attached nodes, also the lengths of the
    /// files at the time of attaching.
    pub folder: Option<(PathBuf, Option<&'a Marks>)>,
}

/// The library of async-profiler in a node, and the folder into which it writes.
pub(crate) struct ProfilerPlace<'a> {
    /// Agent on the node's host.
    pub agent: &'a Agent,
    /// Path of the library on the node's host.
    pub library: PathBuf,
    /// Folder of temporary files of the node.
    pub folder: PathBuf,
}
