//! MBean operations on a real cluster's nodes.

use super::Live;
use crate::cluster_under_test::Mbeans;
use anyhow::{Context, Result, anyhow, bail};
use cassandra::{Members, Operation};
use std::time::Duration;
use target_spec::NodeIndex;

impl Mbeans for Live {
    fn operate(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<()> {
        if self.at_work.contains_key(&node) {
            bail!("node {} is still busy", node.number());
        }
        let control = self.control(node)?.clone();
        let thread = std::thread::Builder::new()
            .name(format!("operation {}", node.number()))
            .spawn(move || control.perform(&what, limit));
        self.at_work.insert(node, thread.context("start a thread")?);
        Ok(())
    }

    fn operated(&mut self, node: NodeIndex) -> Option<Result<String>> {
        if !self.at_work.get(&node)?.is_finished() {
            return None;
        }
        let ended = self.at_work.remove(&node)?.join();
        Some(ended.unwrap_or_else(|_| Err(anyhow!("the thread of an operation panicked"))))
    }

    fn tell(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<String> {
        self.control(node)?.perform(&what, limit)
    }

    fn members(&mut self, node: NodeIndex, limit: Duration) -> Result<Members> {
        self.control(node)?.members(limit)
    }

    fn keyspaces(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>> {
        self.control(node)?.keyspaces(limit)
    }

    fn live(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>> {
        self.control(node)?.live(limit)
    }
}
