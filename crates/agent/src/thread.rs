//! Agent in a thread of this process, for tests. It receives calls in the same way as a real agent.

use crate::calls::CALLS;
use crate::host_state::AgentState;
use crate::undo_list::UndoList;
use anyhow::{Context, Result};
use host::Agent;
use host::agent::{LEASE_S, MACHINE, folder_of, listen};
use remote::agent_loop::{self, Outbox};
use std::path::Path;
use std::time::Duration;

/// Starts an agent for the files in `folder`.
///
/// # Errors
/// The folder does not exist, or already has an agent.
pub fn in_thread(folder: &Path) -> Result<Agent> {
    let own = folder_of(folder, MACHINE);
    std::fs::create_dir_all(&own).with_context(|| format!("make {}", own.display()))?;
    let door = listen(&own)?;
    let outbox = Outbox::default();
    let undo = UndoList::new(Box::new(|_| Ok(())));
    let here = AgentState::new(own, vec![folder.to_owned()], undo, outbox.clone());
    std::thread::spawn(move || -> Result<()> {
        let (reader, _) = door.accept()?;
        let writer = reader.try_clone()?;
        let lease = Duration::from_secs(LEASE_S);
        agent_loop::serve(CALLS, &here, &outbox, Box::new(reader), writer, lease);
        Ok(())
    });
    Agent::reach_machine(folder)
}
