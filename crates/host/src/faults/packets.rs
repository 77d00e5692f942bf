//! Packets that the switch loses.

use super::{Breakable, Broken};
use crate::here::Here;
use crate::process::Identity;
use anyhow::Result;
use kernel::filter::{Filter, Loss};

impl Broken {
    /// The table of the packet filter that is its own.
    pub(crate) fn table(self) -> String {
        format!("broken{}", self.0)
    }
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
    fn inject(&mut self, here: &Here) -> Result<()> {
        here.check_switch()?;
        let mut filter = Filter::open()?;
        self.is_lost = true;
        filter.add(&self.broken.table(), &self.losses)
    }

    fn heal(&mut self, _: &Here) -> Result<Vec<Identity>> {
        if self.is_lost {
            Filter::open()?.remove(&self.broken.table())?;
            self.is_lost = false;
        }
        Ok(Vec::new())
    }
}
