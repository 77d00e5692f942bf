//! JVM arguments that name cluster and node. They identify the processes of managed nodes.

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

/// Returns both tagging arguments of a start command.
pub fn marks(command: &Command) -> Vec<String> {
    let arguments = command.get_args().filter_map(|one| one.to_str());
    let marks = [mark(""), mark_of_node("")];
    let is_one = |argument: &&str| marks.iter().any(|mark| argument.starts_with(mark));
    arguments.filter(is_one).map(str::to_owned).collect()
}

/// Returns the running processes of a cluster, even those that its state does not contain. A
/// command may have been killed after it started a process and before it recorded the process id.
pub fn processes(id: &str) -> Vec<Identity> {
    process::jvms_with(&[mark(id)])
}

/// Returns the running process of a node, as the agent of its host finds it.
///
/// # Errors
/// The agent has ended.
pub fn process_by(host: &Agent, id: &str, node: &str) -> Result<Option<Identity>> {
    Ok(host.find_marked(vec![mark(id), mark_of_node(node)])?.pop())
}

/// Returns the running process of a node with this start command, as the agent of its host finds
/// it. Any process may have started it. Returns `None` if the agent does not answer.
pub fn started_by(host: &Agent, command: &Command) -> Option<Identity> {
    let marks = marks(command);
    // Without tagging arguments, every JVM would match.
    (!marks.is_empty()).then(|| host.find_marked(marks).ok()?.pop())?
}
