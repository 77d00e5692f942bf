//! Packets that the switch loses.

use super::state::Breakable;
use crate::state::AgentState;
use anyhow::Result;
use host::Broken;
use host::process::Identity;
use kernel::filter::{Filter, Loss};

/// The table of the packet filter that is its own.
pub(crate) fn table(broken: Broken) -> String {
    format!("broken{}", broken.0)
}

/// What is lost. The table goes with the network of the agent, so no guard needs to know of it.
pub(super) struct Packets {
    broken: Broken,
    losses: Vec<Loss>,
    is_lost: bool,
}

impl Packets {
    pub fn of(broken: Broken, losses: Vec<Loss>) -> Packets {
        Packets {
            broken,
            losses,
            is_lost: false,
        }
    }
}

impl Breakable for Packets {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.check_switch()?;
        let mut filter = Filter::open()?;
        self.is_lost = true;
        filter.add(&table(self.broken), &self.losses)
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        if self.is_lost {
            Filter::open()?.remove(&table(self.broken))?;
            self.is_lost = false;
        }
        Ok(Vec::new())
    }
}
