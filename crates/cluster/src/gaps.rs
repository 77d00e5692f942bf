//! What of a cluster's nodes cannot be had any more: their logs, and what their hosts have seen of
//! them. A host that is lost takes both with it.

use crate::cluster::Cluster;
use crate::local::LocalNode;
use crate::log_marks::Marks;
use crate::node::NodeInfo;
use std::path::PathBuf;

/// Something of a node that is gone, or was never in reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The node.
    pub node: String,
    /// The host it lives on.
    pub host: String,
    /// Why it cannot be had.
    pub why: String,
}

impl Cluster {
    /// Nodes of whose host nothing is heard any more: what its probes read since then is lost.
    pub fn unheard(&self) -> Vec<Gap> {
        let nodes = self.nodes().iter().enumerate();
        nodes
            .filter_map(|(index, node)| {
                let place = self.log_place(index)?;
                Some(gap(node, place.host, place.agent.lost()?))
            })
            .collect()
    }

    /// Where a node's logs are, and by whom they are read; none where its host is out of sight.
    pub(crate) fn log_place(&self, index: usize) -> Option<LogPlace<'_>> {
        match self.local() {
            Some(nodes) => Some(LogPlace::of_own(nodes.all().get(index)?)),
            None => {
                let hosts = self.attached_hosts()?;
                let host = hosts.of(index)?;
                let logs = hosts.logs(index).and_then(Result::ok);
                Some(LogPlace {
                    host: &host.name,
                    agent: &host.agent,
                    folder: logs.map(|(folder, marks)| (folder.to_owned(), Some(marks))),
                })
            }
        }
    }
}

/// Where a node's logs are.
pub(crate) struct LogPlace<'a> {
    pub host: &'a str,
    pub agent: &'a host::Agent,
    /// Their folder, if they are in sight, and how far they had come when somebody attached.
    pub folder: Option<(PathBuf, Option<&'a Marks>)>,
}

impl<'a> LogPlace<'a> {
    fn of_own(node: &'a LocalNode) -> LogPlace<'a> {
        LogPlace {
            host: &node.layout.host,
            agent: &node.host,
            folder: Some((node.layout.logs(), None)),
        }
    }
}

/// What is missing of a node.
pub(crate) fn gap(node: &NodeInfo, host: &str, why: String) -> Gap {
    Gap {
        node: node.name.clone(),
        host: host.to_owned(),
        why,
    }
}
