//! Releases of simulated nodes and of their files.

use super::Works;
use anyhow::{Context, Result, ensure};
use cassandra::UpgradeStep;

impl Works {
    pub fn upgrade(&mut self, node: usize, to: &'static str) {
        if !self.stays {
            self.releases[node] = to;
        }
    }

    /// When it is started as the former release, it reads its own files.
    pub fn downgrade(&mut self, node: usize) -> Result<()> {
        self.releases[node] = "4.1.10";
        Ok(())
    }

    /// The other release writes files that only it can read.
    pub fn keep_files(&mut self, node: usize) -> Result<()> {
        ensure!(!self.is_full, "the disk has no room left");
        let drained = self.told.last() == Some(&UpgradeStep::Drain);
        ensure!(drained, "it was not drained");
        self.kept[node] = Some(self.files[node]);
        self.files[node] = self.releases[node];
        Ok(())
    }

    pub fn put_files_back(&mut self, node: usize) -> Result<()> {
        let kept = self.kept[node].take();
        self.files[node] = kept.context("none were kept")?;
        Ok(())
    }
}
