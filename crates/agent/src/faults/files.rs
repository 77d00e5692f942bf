//! Restarts a process with changed files or another command, and later with the original ones.

use super::active_faults::Breakable;
use super::process::STOP_LIMIT;
use crate::host_state::AgentState;
use anyhow::Result;
use host::FileStep;
use host::Restartable;
use host::process::Identity;

/// Changes to files that healing undoes. The undo list needs no entry, because the process that
/// reads the files ends with the agent.
pub(super) struct FileChanges {
    reader: Option<Restartable>,
    /// Start command during the fault, if it differs from the original one.
    instead: Option<Restartable>,
    forth: Vec<FileStep>,
    back: Vec<FileStep>,
    /// True if the fault has begun its steps.
    is_begun: bool,
    /// True if the fault has ended the process and not yet restarted it.
    is_ended: bool,
}

impl FileChanges {
    pub fn new(
        reader: Option<Restartable>,
        forth: Vec<FileStep>,
        back: Vec<FileStep>,
    ) -> FileChanges {
        FileChanges {
            reader,
            instead: None,
            forth,
            back,
            is_begun: false,
            is_ended: false,
        }
    }

    /// Sets a different start command for the duration of the fault.
    pub fn by(self, instead: Restartable) -> FileChanges {
        FileChanges {
            instead: Some(instead),
            ..self
        }
    }

    fn end(&mut self, here: &AgentState) -> Result<()> {
        let Some(reader) = self.reader.as_ref().filter(|_| !self.is_ended) else {
            return Ok(());
        };
        here.children.check(reader.process)?;
        self.is_ended = true;
        here.children.end(reader.process, STOP_LIMIT).map(drop)
    }

    /// Starts the process. With `meanwhile`, uses the start command in `instead`, if any.
    fn start(&mut self, here: &AgentState, meanwhile: bool) -> Result<()> {
        if let Some(reader) = &mut self.reader {
            let instead = self.instead.as_ref().filter(|_| meanwhile);
            let start = instead.map_or(&reader.start, |instead| &instead.start);
            reader.process = here.start(start)?;
            self.is_ended = false;
        }
        Ok(())
    }
}

impl Breakable for FileChanges {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        self.end(here)?;
        self.is_begun = true;
        let mut steps = self.forth.iter();
        steps.try_for_each(|step| here.change(step.clone()))?;
        self.start(here, true)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        let mut changed = Ok(());
        if self.is_begun {
            self.end(here)?;
            for step in &self.back {
                changed = changed.and(here.change(step.clone()));
            }
        }
        // Starts the process even if its files could not be restored, because no other code would.
        if self.is_ended {
            self.start(here, false)?;
        }
        changed.map(|()| self.started())
    }

    fn started(&self) -> Vec<Identity> {
        let reader = self.reader.as_ref();
        reader.map(|reader| reader.process).into_iter().collect()
    }
}
