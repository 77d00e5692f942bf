//! The machines of a cluster that cassay did not start, and the programs that cassay may run on
//! them.

use crate::host::RemoteHost;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Placeholder for the address of the node, in a command of [`ProcessControl`] or in the path of a
/// folder.
pub const NODE_PLACE: &str = "{node}";

/// A machine on which nodes of an attached cluster run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedHost {
    /// Settings for the access to the machine.
    pub remote: RemoteHost,
    /// Addresses that the machine's nodes have in the cluster. If the list is empty, they have the
    /// addresses of the machine itself.
    pub addresses: Vec<IpAddr>,
    /// Method of stopping and starting the machine's nodes. `None` if the study does not state a
    /// method.
    pub control: Option<ProcessControl>,
    /// Folder with the logs of a node, which cassay only reads. `None` if the study does not name
    /// the folder. [`NODE_PLACE`] represents the address of the node.
    pub logs: Option<PathBuf>,
    /// Folder with the data of a node. `None` if the study does not name the folder. cassay reads
    /// only the settings of the disk that contains the folder. [`NODE_PLACE`] represents the
    /// address of the node.
    pub data: Option<PathBuf>,
}

/// Returns the path of a folder, in which the address of the node replaces the placeholder.
pub fn folder_of_node(folder: &Path, node: IpAddr) -> PathBuf {
    let text = folder.to_string_lossy();
    PathBuf::from(text.replace(NODE_PLACE, &node.to_string()))
}

/// Method of stopping and starting a node that cassay did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessControl {
    /// The node runs in the systemd unit with this name.
    Systemd(String),
    /// The node runs in the Docker container with this name.
    Docker(String),
    /// Two programs stop and start the node. They run with their arguments, without a shell.
    Command {
        /// Program that stops the node, with its arguments. It exits with 0 once the node has
        /// stopped.
        stop: Vec<String>,
        /// Program that starts the node, with its arguments. It exits with 0 once the node has
        /// started. It has no effect if the node already runs.
        start: Vec<String>,
    },
}

impl ProcessControl {
    /// Returns two programs with their arguments: the program that stops the node with this
    /// address, and the program that starts it.
    pub fn programs(&self, node: IpAddr) -> [Vec<String>; 2] {
        let filled = |words: &[String]| -> Vec<String> {
            let node = node.to_string();
            words.iter().map(|word| word.replace(NODE_PLACE, &node)).collect()
        };
        let both = |program: &str, name: &String| {
            let words = |act: &str| [program.to_owned(), act.to_owned(), name.clone()];
            [filled(&words("stop")), filled(&words("start"))]
        };
        match self {
            ProcessControl::Systemd(unit) => both("systemctl", unit),
            ProcessControl::Docker(name) => both("docker", name),
            ProcessControl::Command { stop, start } => [filled(stop), filled(start)],
        }
    }

    /// Returns true if the commands contain the address of the node, so that they can control one
    /// of several nodes.
    pub fn tells_nodes_apart(&self) -> bool {
        let has = |words: &[String]| words.iter().any(|word| word.contains(NODE_PLACE));
        match self {
            ProcessControl::Systemd(name) | ProcessControl::Docker(name) => {
                name.contains(NODE_PLACE)
            }
            ProcessControl::Command { stop, start } => has(stop) && has(start),
        }
    }

    /// Returns the method for the node with this address, without placeholders.
    #[must_use]
    pub fn for_node(&self, node: IpAddr) -> ProcessControl {
        let name = |name: &str| name.replace(NODE_PLACE, &node.to_string());
        match self {
            ProcessControl::Systemd(unit) => ProcessControl::Systemd(name(unit)),
            ProcessControl::Docker(container) => ProcessControl::Docker(name(container)),
            ProcessControl::Command { .. } => {
                let [stop, start] = self.programs(node);
                ProcessControl::Command { stop, start }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_names_the_node_where_it_is_told_to() {
        let node: IpAddr = "10.0.0.7".parse().unwrap();
        let unit = ProcessControl::Systemd("cassandra@{node}".to_owned());
        assert!(unit.tells_nodes_apart());
        let [stop, start] = unit.programs(node);
        assert_eq!(stop, ["systemctl", "stop", "cassandra@10.0.0.7"]);
        assert_eq!(start, ["systemctl", "start", "cassandra@10.0.0.7"]);
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = ProcessControl::Command {
            stop: words("ctl {node} off"),
            start: words("ctl on"),
        };
        assert!(
            !command.tells_nodes_apart(),
            "the start command does not contain the node"
        );
        assert_eq!(command.programs(node)[0], ["ctl", "10.0.0.7", "off"]);
        let container = ProcessControl::Docker("c".to_owned());
        assert_eq!(container.for_node(node), container);
        assert_eq!(container.programs(node)[1], ["docker", "start", "c"]);
    }
}
