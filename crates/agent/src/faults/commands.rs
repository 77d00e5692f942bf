//! Faults that the user's programs inject and heal.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::Result;
use host::invocation::{LIMIT, succeed};
use host::process::Identity;
use host::undo::Undo;
use target_spec::Invocation;

/// Fault that one program injects and another program heals.
pub(super) struct Commands {
    pub inject: Invocation,
    pub heal: Invocation,
}

impl Breakable for Commands {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.undo.add_noted_if_noting(Undo::Command(self.heal.clone()))?;
        succeed(&self.inject, LIMIT)
    }

    /// If the program fails, its undo entry remains, so that the agent runs the program again when
    /// it ends.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        succeed(&self.heal, LIMIT)?;
        here.undo.forget(&Undo::Command(self.heal.clone()))?;
        Ok(Vec::new())
    }
}
