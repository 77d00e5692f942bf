//! Packet loss on a switch, or on a host that uses its machine's own network.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::Result;
use host::Broken;
use host::process::Identity;
use host::undo::Undo;
use linux::packet_filter::{Filter, HostLoss, Loss};

fn table(broken: Broken) -> String {
    format!("broken{}", broken.0)
}

/// Returns the name of a fault's packet filter table on a machine. The prefix `host` distinguishes
/// it from tables of other programs.
fn host_table(host: &str, broken: Broken) -> String {
    format!("{host}-{}", table(broken))
}

/// Returns the packet filter tables that killed agents and guards of a host have left on its
/// machine. Empty if this user may not list tables.
pub(crate) fn left(host: &str) -> Vec<String> {
    let tables = Filter::<HostLoss>::open().and_then(|mut filter| filter.tables());
    let begin = format!("{host}-broken");
    let mut left = tables.unwrap_or_default();
    left.retain(|name| name.starts_with(&begin));
    left
}

/// Returns the number of dropped packets for each loss of a fault.
pub(crate) fn dropped(here: &AgentState, broken: Broken) -> Result<Vec<u64>> {
    if let Ok(host) = here.machine() {
        return Filter::<HostLoss>::open()?.dropped(&host_table(host, broken));
    }
    here.check_switch()?;
    Filter::<Loss>::open()?.dropped(&table(broken))
}

/// Packet loss on a switch. The undo list needs no entry, because the table disappears with the
/// agent's network namespace.
pub(super) struct Packets {
    broken: Broken,
    losses: Vec<Loss>,
    is_lost: bool,
}

impl Packets {
    pub fn new(broken: Broken, losses: Vec<Loss>) -> Packets {
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

/// Packet loss on a machine, whose network outlives the agent. So the undo list has an entry for
/// the table.
pub(super) struct HostPackets {
    broken: Broken,
    losses: Vec<HostLoss>,
    undo: Option<Undo>,
}

impl HostPackets {
    pub fn new(broken: Broken, losses: Vec<HostLoss>) -> HostPackets {
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
