//! What of a cluster's nodes cannot be had any more: their logs, and what their hosts have seen of
//! them. A host that is lost takes both with it.

use crate::cluster::Cluster;
use crate::local::{LocalNode, Nodes};
use crate::node::NodeInfo;
use std::path::Path;
use target::Ability;

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

/// All that is missing of a cluster, which should be there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Nodes whose logs cannot be read.
    pub logs: Vec<Gap>,
    /// Nodes of whose host nothing is heard any more: what its probes read since then is lost.
    pub readings: Vec<Gap>,
}

impl Cluster {
    /// What cannot be had now. Nothing is copied for that.
    pub fn gaps(&self) -> Gaps {
        let mut gaps = Gaps::default();
        let has_logs = self.can(Ability::Logs);
        for (index, node) in self.nodes().iter().enumerate() {
            let Some(place) = self.log_place(index) else {
                continue;
            };
            let gap = |why| gap(node, place.host, why);
            match (place.agent.lost(), place.folder) {
                (Some(why), folder) => {
                    gaps.readings.push(gap(why.clone()));
                    let had_logs = has_logs && folder.is_some();
                    gaps.logs.extend(had_logs.then(|| gap(why)));
                }
                (None, Some(folder)) if has_logs => match place.agent.list(&folder, None) {
                    Ok(Some(_)) => {}
                    Ok(None) => gaps.logs.push(gap(format!("there is no {}", folder.display()))),
                    Err(error) => gaps.logs.push(gap(format!("{error:#}"))),
                },
                (None, _) => {}
            }
        }
        gaps
    }

    /// Where a node's logs are, and by whom they are read; none where its host is out of sight.
    fn log_place(&self, index: usize) -> Option<LogPlace<'_>> {
        match self.local() {
            Some(nodes) => Some(LogPlace::of_own(nodes.all().get(index)?)),
            None => {
                let hosts = self.attached_hosts()?;
                let host = hosts.of(index)?;
                let folder = hosts.logs(index).and_then(Result::ok);
                Some(LogPlace {
                    host: &host.name,
                    agent: &host.agent,
                    folder: folder.map(|(folder, _)| folder.to_owned()),
                })
            }
        }
    }

    /// Copies the log folder of every node of ours to `into/<node>/`; of others, what has come to
    /// their logs since somebody attached, where they are in sight. The nodes whose logs cannot be
    /// had do not keep the others' from coming.
    pub fn collect_logs(&self, into: &Path) -> Vec<Gap> {
        match self.local() {
            Some(nodes) => of_own(nodes, into),
            None => match self.attached_hosts() {
                Some(hosts) => hosts.collect_logs(self.nodes(), into),
                None => Vec::new(),
            },
        }
    }
}

struct LogPlace<'a> {
    host: &'a str,
    agent: &'a host::Agent,
    folder: Option<std::path::PathBuf>,
}

impl<'a> LogPlace<'a> {
    fn of_own(node: &'a LocalNode) -> LogPlace<'a> {
        LogPlace {
            host: &node.layout.host,
            agent: &node.host,
            folder: Some(node.layout.logs()),
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

fn of_own(nodes: &Nodes, into: &Path) -> Vec<Gap> {
    let missing = |node: &LocalNode| {
        let why = node.collect_logs(into).err()?;
        Some(Gap {
            node: node.layout.name.clone(),
            host: node.layout.host.clone(),
            why: format!("{why:#}"),
        })
    };
    nodes.all().iter().filter_map(missing).collect()
}
