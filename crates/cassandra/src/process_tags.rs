//! JVM arguments that identify the processes of managed nodes by cluster and node.

use anyhow::Result;
use host::Agent;
use host::process::{self, Identity};
use std::process::Command;

pub fn mark(cluster: &str) -> String {
    format!("-Dcassay.cluster={cluster}")
}

pub fn mark_of_node(node: &str) -> String {
    format!("-Dcassay.node={node}")
}

/// Returns the arguments of a start command that contain the cluster and the node.
pub fn marks(command: &Command) -> Vec<String> {
    let arguments = command.get_args().filter_map(|one| one.to_str());
    let marks = [mark(""), mark_of_node("")];
    let is_one = |argument: &&str| marks.iter().any(|mark| argument.starts_with(mark));
    arguments.filter(is_one).map(str::to_owned).collect()
}

/// Returns the running processes of a cluster. Finds even a process whose id is not recorded,
/// because the command that started the process was killed.
pub fn processes(id: &str) -> Vec<Identity> {
    process::jvms_with(&[mark(id)])
}

/// Searches the node's host for the running process of the node.
///
/// # Errors
/// The agent has ended.
pub fn process_by(host: &Agent, id: &str, node: &str) -> Result<Option<Identity>> {
    Ok(host.find_marked(vec![mark(id), mark_of_node(node)])?.pop())
}

/// Searches the node's host for the process of the node that `command` starts, regardless of the
/// process's parent. Returns `None` if the node is not running or the agent does not answer.
pub fn started_by(host: &Agent, command: &Command) -> Option<Identity> {
    let marks = marks(command);
    // Without tags, every JVM would match.
    (!marks.is_empty()).then(|| host.find_marked(marks).ok()?.pop())?
}
