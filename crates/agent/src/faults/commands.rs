//! What programs break and heal: of somebody else's machines, as their owner says.

use super::state::Breakable;
use crate::state::AgentState;
use anyhow::Result;
use host::invocation::{LIMIT, succeed};
use host::process::Identity;
use host::undo::Undo;
use target::Invocation;

/// One program, and what heals what it did.
pub(super) struct Commands {
    pub inject: Invocation,
    pub heal: Invocation,
}

impl Breakable for Commands {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.undo.add_noted_if_noting(Undo::Command(self.heal.clone()))?;
        succeed(&self.inject, LIMIT)
    }

    /// What has not healed stays on the list, so that it is tried once more at the end.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        succeed(&self.heal, LIMIT)?;
        here.undo.forget(&Undo::Command(self.heal.clone()))?;
        Ok(Vec::new())
    }
}
