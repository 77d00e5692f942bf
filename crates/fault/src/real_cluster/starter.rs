//! Starting and stopping the nodes of a real cluster.

use super::{Live, RESTART_LIMIT};
use crate::cluster_under_test::Starter;
use anyhow::{Context, Result};
use cassandra::RestartMode;
use host::{FileStep, Injection, Join, Restartable};
use std::path::PathBuf;
use std::sync::Arc;
use target_spec::{HostIndex, NodeIndex};
use versions::Release;

impl Starter for Live {
    fn restartable(&self, node: NodeIndex) -> Result<Restartable> {
        self.node_handle(node)?.restartable()
    }

    fn stopping(&self, node: NodeIndex) -> Result<Injection> {
        self.node_handle(node)?.stopping()
    }

    fn upgrade(&mut self, node: NodeIndex, to: &Release) -> Result<Injection> {
        let found = self.handles.nodes.get_mut(node);
        found
            .with_context(|| format!("node {} does not exist", node.number()))?
            .upgrade(to)
    }

    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection> {
        let found = self.handles.nodes.get_mut(node);
        found
            .with_context(|| format!("node {} does not exist", node.number()))?
            .downgrade()
    }

    fn killing(&self, node: NodeIndex) -> Result<Injection> {
        self.node_handle(node)?.killing()
    }

    fn pausing(&self, node: NodeIndex) -> Result<Injection> {
        self.node_handle(node)?.pausing()
    }

    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)> {
        let known = self.node_handle(node)?;
        Ok((known.anew(how)?, known.kept()?.to_vec()))
    }

    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])> {
        self.node_handle(node)?.shifted(by_ms)
    }

    fn newcomer(&self, host: HostIndex) -> Result<Join> {
        Ok(self.newcomer_on(host)?.join.clone())
    }

    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()> {
        let known = self.node_handle(node)?;
        if let Some(service) = &known.service {
            let process = service.restart(RESTART_LIMIT)?;
            self.note(&[node], process.into_iter().collect());
            return Ok(());
        }
        let again = if forgiving {
            known.forgiving()?
        } else {
            known.restartable()?
        };
        // After a normal start, a node without its data would not stream data.
        let what = Injection::Kill(match self.emptied.get(&node) {
            Some(anew) => anew.for_process(again.process),
            None => again,
        });
        let agent = Arc::clone(&known.agent);
        let healed = agent.heal(agent.inject(what, RESTART_LIMIT)?)?;
        self.handles.nodes[node].process = healed.processes.first().copied();
        Ok(())
    }
}
