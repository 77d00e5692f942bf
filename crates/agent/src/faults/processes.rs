//! What is done to several processes of a host.

use crate::here::Here;
use anyhow::Result;
use host::Restartable;
use host::process::Identity;

/// Refuses processes that the agent has not started.
pub(super) fn check(here: &Here, all: &[Restartable]) -> Result<()> {
    let mut processes = all.iter().map(|one| one.process);
    processes.try_for_each(|one| here.children.check(one))
}

/// Starts all of them again.
pub(super) fn restart(here: &Here, all: &[Restartable]) -> Result<Vec<Identity>> {
    all.iter().map(|one| here.start(&one.start)).collect()
}
