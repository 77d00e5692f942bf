//! JVM arguments that name the cluster and the node. They identify the processes of managed nodes.

use anyhow::Result;
use host::Agent;
use host::process::{self, Identity};
use std::process::Command;

/// Returns the argument that marks the JVMs of one cluster.
pub fn mark(cluster: &str) -> String {
    format!("-Dcassay.cluster={cluster}")
}

/// Returns the argument that marks the JVM of one node.
pub fn mark_of_node(node: &str) -> String {
    format!("-Dcassay.node={node}")
}

/// Returns the arguments of a start command that mark the cluster and the node.
pub fn marks(command: &Command) -> Vec<String> {
    let arguments = command.get_args().filter_map(|one| one.to_str());
    let marks = [mark(""), mark_of_node("")];
    let is_one = |argument: &&str| marks.iter().any(|mark| argument.starts_with(mark));
    arguments.filter(is_one).map(str::to_owned).collect()
}

/// Returns the running processes of a cluster, even those that the cluster's state does not
/// contain. Such a process exists if a command was killed after it started the process and before
/// it recorded the process id.
pub fn processes(id: &str) -> Vec<Identity> {
    process::jvms_with(&[mark(id)])
}

/// Returns the running process of a node, as the agent of its host finds it. Returns `None` if the
/// node is not running.
///
/// # Errors
/// The agent has ended.
pub fn process_by(host: &Agent, id: &str, node: &str) -> Result<Option<Identity>> {
    Ok(host.find_marked(vec![mark(id), mark_of_node(node)])?.pop())
}

/// Returns the running process of a node that has this start command, as the agent of its host
/// finds it. It does not matter who started the process. Returns `None` if the node is not running,
/// or if the agent does not answer.
pub fn started_by(host: &Agent, command: &Command) -> Option<Identity> {
    let marks = marks(command);
    // If the command lacked the tagging arguments, every JVM would match.
    (!marks.is_empty()).then(|| host.find_marked(marks).ok()?.pop())?
}
