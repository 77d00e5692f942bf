//! What is started with something else on purpose, and then as before: with other files, which it
//! reads when it starts, or by another command.

use super::process::STOP_LIMIT;
use super::state::Breakable;
use crate::state::AgentState;
use anyhow::Result;
use host::Restartable;
use host::Step;
use host::process::Identity;

/// What is changed back. What is gone with the agent reads no files any more, and needs no guard.
pub(super) struct Changed {
    reader: Option<Restartable>,
    /// What is started meanwhile, if that is not the same.
    instead: Option<Restartable>,
    forth: Vec<Step>,
    back: Vec<Step>,
    /// Whether a step was done, or a part of one.
    is_begun: bool,
    /// Whether nothing reads them now.
    is_ended: bool,
}

impl Changed {
    pub fn of(reader: Option<Restartable>, forth: Vec<Step>, back: Vec<Step>) -> Changed {
        Changed {
            reader,
            instead: None,
            forth,
            back,
            is_begun: false,
            is_ended: false,
        }
    }

    /// The same, with something else that is started meanwhile.
    pub fn by(self, instead: Restartable) -> Changed {
        Changed {
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

    /// Starts it, by what is there meanwhile if it has not been healed.
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

impl Breakable for Changed {
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
        // Whatever became of the files: nobody else would start it.
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
