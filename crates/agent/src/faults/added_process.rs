//! Starts a process that joins a cluster, and makes it leave the cluster.

use super::active_faults::Breakable;
use super::links::DuplicateAddress;
use crate::host_state::AgentState;
use anyhow::Result;
use host::FileStep;
use host::Join;
use host::Reach;
use host::invocation::succeed;
use host::process::Identity;
use std::time::Duration;

/// Time limit for a connection to a process on this host.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Time limit for the process to leave the cluster. A leaving node streams its data to other nodes.
const LEAVE_LIMIT: Duration = Duration::from_secs(600);

/// Process that the fault adds to the cluster. The undo list needs no entry, because the process
/// ends with the agent, and its folder belongs to the host.
pub(super) struct AddedProcess {
    taken: DuplicateAddress,
    what: Join,
    is_begun: bool,
    process: Option<Identity>,
}

impl AddedProcess {
    pub fn new(what: Join) -> AddedProcess {
        AddedProcess {
            taken: DuplicateAddress::new(*what.address.ip()),
            what,
            is_begun: false,
            process: None,
        }
    }
}

impl Breakable for AddedProcess {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        self.is_begun = true;
        // Nodes on a remote machine share its address, and have separate ports.
        if here.check_stand_in().is_ok() {
            self.taken.inject(here)?;
        }
        let mut files = self.what.files.iter();
        files.try_for_each(|step| here.change(step.clone()))?;
        self.process = Some(here.start(&self.what.start.0)?);
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if !std::mem::take(&mut self.is_begun) {
            return Ok(Vec::new());
        }
        if let Some(process) = self.process {
            let reach = Reach::connect(self.what.address.into(), CONNECT_LIMIT)?;
            if process.alive() && !matches!(reach, Reach::Refused) {
                succeed(&self.what.leave, LEAVE_LIMIT)?;
            }
            here.children.end(process, Duration::ZERO)?;
        }
        here.change(FileStep::Remove(self.what.folder.clone()))?;
        self.taken.heal(here)
    }

    fn started(&self) -> Vec<Identity> {
        self.process.into_iter().collect()
    }
}
