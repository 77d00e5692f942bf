//! Packets that the switch loses, or a host that has its machine's network.

use super::state::Breakable;
use crate::state::AgentState;
use anyhow::Result;
use host::Broken;
use host::process::Identity;
use host::undo::Undo;
use kernel::filter::{Filter, HostLoss, Loss};

/// The name of a table that is one fault's.
fn table(broken: Broken) -> String {
    format!("broken{}", broken.0)
}

/// The same among all tables of a machine, where `host` is how what is the host's is called.
fn host_table(host: &str, broken: Broken) -> String {
    format!("{host}-{}", table(broken))
}

/// The tables that agents and guards of a host have left on its machine that were killed. Who may
/// not see any has left none.
pub(crate) fn left(host: &str) -> Vec<String> {
    let tables = Filter::<HostLoss>::open().and_then(|mut filter| filter.tables());
    let begin = format!("{host}-broken");
    let mut left = tables.unwrap_or_default();
    left.retain(|name| name.starts_with(&begin));
    left
}

/// How many packets each loss of a fault has lost.
pub(crate) fn dropped(here: &AgentState, broken: Broken) -> Result<Vec<u64>> {
    if let Ok(host) = here.machine() {
        return Filter::<HostLoss>::open()?.dropped(&host_table(host, broken));
    }
    here.check_switch()?;
    Filter::<Loss>::open()?.dropped(&table(broken))
}

/// What a switch loses. The table goes with the network of the agent, so no guard needs to know of
/// it.
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
            Filter::<Loss>::open()?.remove(&table(self.broken))?;
            self.is_lost = false;
        }
        Ok(Vec::new())
    }
}

/// What a machine loses. Its network outlives the agent, so the guard knows of the table.
pub(super) struct HostPackets {
    broken: Broken,
    losses: Vec<HostLoss>,
    undo: Option<Undo>,
}

impl HostPackets {
    pub fn of(broken: Broken, losses: Vec<HostLoss>) -> HostPackets {
        HostPackets {
            broken,
            losses,
            undo: None,
        }
    }
}

impl Breakable for HostPackets {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let table = host_table(here.machine()?, self.broken);
        let undo = Undo::Table(table.clone());
        self.undo = Some(undo.clone());
        here.undo.add_noted_if_noting(undo)?;
        Filter::open()?.add(&table, &self.losses)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if let Some(undo) = &self.undo {
            host::undo::undo(std::slice::from_ref(undo))?;
            here.undo.forget(undo)?;
            self.undo = None;
        }
        Ok(Vec::new())
    }
}
