//! How the JVMs of our nodes are told from all other processes: by arguments that name their
//! cluster and their node; and which processes carry them.

use anyhow::Result;
use host::Agent;
use host::process::{self, Identity};
use std::process::Command;

/// The argument that tells the JVMs of one cluster from all other processes.
pub(crate) fn mark(cluster: &str) -> String {
    format!("-Dcassay.cluster={cluster}")
}

/// The argument that tells the JVM of one node from those of others.
pub(crate) fn mark_of_node(node: &str) -> String {
    format!("-Dcassay.node={node}")
}

/// The two of a command that starts a node.
pub(crate) fn marks(command: &Command) -> Vec<String> {
    let arguments = command.get_args().filter_map(|one| one.to_str());
    let marks = [mark(""), mark_of_node("")];
    let is_one = |argument: &&str| marks.iter().any(|mark| argument.starts_with(mark));
    arguments.filter(is_one).map(str::to_owned).collect()
}

/// The running processes of a cluster, whether its state lists them or not: a starter may have been
/// killed between the start of a process and the writing of its id.
pub(crate) fn processes(id: &str) -> Vec<Identity> {
    process::jvms_with(&[mark(id)])
}

/// The running process of one node, as the agent of its host finds it.
///
/// # Errors
/// The agent is gone.
pub(crate) fn process_by(host: &Agent, id: &str, node: &str) -> Result<Option<Identity>> {
    Ok(host.find_marked(vec![mark(id), mark_of_node(node)])?.pop())
}

/// The running process of a node that this command starts, whoever has called it, as the agent of
/// its host finds it; none if it cannot be asked.
pub(crate) fn started_by(host: &Agent, command: &Command) -> Option<Identity> {
    let marks = marks(command);
    // Without any, every JVM would be one.
    (!marks.is_empty()).then(|| host.find_marked(marks).ok()?.pop())?
}
