//! Packets that the switch loses.

use super::{Breakable, Broken};
use crate::filter::{Filter, Loss};
use crate::here::Here;
use crate::process::Identity;
use anyhow::Result;

impl Broken {
    /// The table of the packet filter that is its own.
    pub(crate) fn table(self) -> String {
        format!("broken{}", self.0)
    }
}

/// What is lost. The table goes with the network of the agent, so no guard needs to know of it.
pub(super) struct Packets {
    pub broken: Broken,
    pub losses: Vec<Loss>,
}

impl Breakable for Packets {
    fn inject(&mut self, here: &Here) -> Result<()> {
        here.is_switch()?;
        Filter::open()?.add(&self.broken.table(), &self.losses)
    }

    fn heal(&mut self, here: &Here) -> Result<Vec<Identity>> {
        if here.is_switch().is_ok() {
            Filter::open()?.remove(&self.broken.table())?;
        }
        Ok(Vec::new())
    }
}
