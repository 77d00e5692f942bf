//! Restarts a process without its data, because the data was lost or other nodes have received it.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::Result;
use host::FileStep;
use host::Reach;
use host::Restartable;
use host::process::Identity;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit for a connection to a process on this host.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

/// Time at which the agent kills the process and empties its folders.
pub(super) enum EmptyingTime {
    /// At the injection.
    Now,
    /// At the healing, after the process has left its cluster. Connections to this address then
    /// fail.
    Left(SocketAddr),
}

/// Process that is restarted without its data. The undo list needs no entry, because the process
/// ends with the agent, and its data cannot be restored.
pub(super) struct EmptiedNode {
    one: Restartable,
    folders: Vec<PathBuf>,
    when: EmptyingTime,
    is_begun: bool,
    has_stayed: bool,
}

impl EmptiedNode {
    pub fn new(one: Restartable, folders: Vec<PathBuf>, when: EmptyingTime) -> EmptiedNode {
        EmptiedNode {
            one,
            folders,
            when,
            is_begun: false,
            has_stayed: false,
        }
    }

    fn empty(&self, here: &AgentState) -> Result<()> {
        here.children.end(self.one.process, Duration::ZERO)?;
        let clear = |folder: &PathBuf| FileStep::Clear {
            folder: folder.clone(),
            but: Vec::new(),
        };
        let mut steps = self.folders.iter().map(clear);
        steps.try_for_each(|step| here.change(step))
    }

    /// Returns true if the process is still a member of its cluster.
    fn stays(&self) -> Result<bool> {
        let EmptyingTime::Left(address) = self.when else {
            return Ok(false);
        };
        let reach = Reach::connect(address, CONNECT_LIMIT)?;
        Ok(self.one.process.alive() && !matches!(reach, Reach::Refused))
    }
}

impl Breakable for EmptiedNode {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.one.process)?;
        self.folders
            .iter()
            .try_for_each(|folder| here.files.admit_to_write(folder).map(drop))?;
        self.is_begun = true;
        match self.when {
            EmptyingTime::Now => self.empty(here),
            EmptyingTime::Left(_) => Ok(()),
        }
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if !std::mem::take(&mut self.is_begun) {
            return Ok(Vec::new());
        }
        self.has_stayed = self.stays()?;
        if self.has_stayed {
            return Ok(vec![self.one.process]);
        }
        if let EmptyingTime::Left(_) = self.when {
            self.empty(here)?;
        }
        Ok(vec![here.start(&self.one.start)?])
    }

    fn waits(&self) -> bool {
        self.is_begun && self.stays().unwrap_or(false)
    }

    fn became(&self) -> Option<String> {
        let words = "the node had not left the ring, so cassay did not change the node";
        self.has_stayed.then(|| words.to_owned())
    }
}
