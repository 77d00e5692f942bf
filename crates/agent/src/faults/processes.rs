//! Operations on several processes of a host.

use crate::host_state::AgentState;
use anyhow::Result;
use host::Restartable;
use host::process::Identity;

pub(super) fn check(here: &AgentState, all: &[Restartable]) -> Result<()> {
    let mut processes = all.iter().map(|one| one.process);
    processes.try_for_each(|one| here.children.check(one))
}

pub(super) fn restart(here: &AgentState, all: &[Restartable]) -> Result<Vec<Identity>> {
    all.iter().map(|one| here.start(&one.start)).collect()
}
