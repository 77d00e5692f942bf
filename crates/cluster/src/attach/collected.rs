//! Logs of nodes that are not ours, as far as they have come since somebody attached: they are only
//! read, and what stood in them before is their owner's.

use super::hosts::AttachedHosts;
use super::logs::{Marks, is_log};
use crate::gaps::{self, Gap};
use crate::local::copy_log;
use crate::node::NodeInfo;
use anyhow::{Context, Result};
use host::Agent;
use std::io::Read;
use std::path::Path;

impl AttachedHosts {
    /// Copies what has come to the logs of every node to `into/<node>/`, where they are in sight;
    /// the nodes whose logs cannot be had.
    pub fn collect_logs(&self, nodes: &[NodeInfo], into: &Path) -> Vec<Gap> {
        let mut missing = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            if let (Some(host), Some(Ok((folder, marks)))) = (self.of(index), self.logs(index))
                && let Err(why) = collect(&host.agent, folder, marks, &into.join(&node.name))
            {
                missing.push(gaps::gap(node, &host.name, format!("{why:#}")));
            }
        }
        missing
    }
}

/// Copies what is new of the logs in `folder` into `to`.
///
/// # Errors
/// One cannot be read or written.
fn collect(agent: &Agent, folder: &Path, marks: &Marks, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let entries = agent
        .list(folder, None)?
        .with_context(|| format!("there is no {}", folder.display()))?;
    for entry in entries.iter().filter(|entry| is_log(entry)) {
        let Some(from) = marks.new_from(entry) else {
            continue;
        };
        let path = folder.join(&entry.name);
        // It may be written to still: as far as it goes now.
        let log = agent.reader(&path, from).take(entry.bytes - from);
        copy_log(log, &entry.name, &to.join(&entry.name))
            .with_context(|| format!("copy {} to {}", path.display(), to.display()))?;
    }
    Ok(())
}
