//! Files that are changed on purpose, for what reads them when it starts, and changed back.

use super::process::STOP_LIMIT;
use super::{Breakable, Restartable};
use crate::files::Step;
use crate::here::Here;
use crate::process::Identity;
use anyhow::Result;

/// Files that are changed back. What is gone with the agent reads them no more, and needs no guard.
pub(super) struct Changed {
    reader: Option<Restartable>,
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
            forth,
            back,
            is_begun: false,
            is_ended: false,
        }
    }

    fn end(&mut self, here: &Here) -> Result<()> {
        let Some(reader) = self.reader.as_ref().filter(|_| !self.is_ended) else {
            return Ok(());
        };
        here.children.check(reader.process)?;
        self.is_ended = true;
        here.children.end(reader.process, STOP_LIMIT).map(drop)
    }

    fn start(&mut self, here: &Here) -> Result<()> {
        if let Some(reader) = &mut self.reader {
            reader.process = here.start(&reader.start)?;
            self.is_ended = false;
        }
        Ok(())
    }
}

impl Breakable for Changed {
    fn inject(&mut self, here: &Here) -> Result<()> {
        self.end(here)?;
        self.is_begun = true;
        let mut steps = self.forth.iter();
        steps.try_for_each(|step| here.change(step.clone()))?;
        self.start(here)
    }

    fn heal(&mut self, here: &Here) -> Result<Vec<Identity>> {
        if self.is_begun {
            self.end(here)?;
            let mut steps = self.back.iter();
            steps.try_for_each(|step| here.change(step.clone()))?;
        }
        if self.is_ended {
            self.start(here)?;
        }
        Ok(self.started())
    }

    fn started(&self) -> Vec<Identity> {
        let reader = self.reader.as_ref();
        reader.map(|reader| reader.process).into_iter().collect()
    }
}
