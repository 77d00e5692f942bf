//! Releases of simulated nodes and of their files.

use super::Works;
use anyhow::{Context, Result, ensure};
use cassandra::UpgradeStep;
use target_spec::NodeIndex;

impl Works {
    pub fn upgrade(&mut self, node: NodeIndex, to: &'static str) {
        if !self.stays {
            self.releases[node.0] = to;
        }
    }

    /// Sets the former release of a node, which reads its files at its next start.
    pub fn downgrade(&mut self, node: NodeIndex) -> Result<()> {
        self.releases[node.0] = "4.1.10";
        Ok(())
    }

    /// Saves the files of a node. Afterwards, the new release writes files that only it can read.
    pub fn keep_files(&mut self, node: NodeIndex) -> Result<()> {
        ensure!(!self.is_full, "the disk has no room left");
        let drained = self.told.last() == Some(&UpgradeStep::Drain);
        ensure!(drained, "it was not drained");
        self.kept[node.0] = Some(self.files[node.0]);
        self.files[node.0] = self.releases[node.0];
        Ok(())
    }

    pub fn put_files_back(&mut self, node: NodeIndex) -> Result<()> {
        let kept = self.kept[node.0].take();
        self.files[node.0] = kept.context("none were kept")?;
        Ok(())
    }
}
