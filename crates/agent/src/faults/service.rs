//! A server that somebody else has started, which is stopped or whose process is, and serves again.

use super::state::Breakable;
use crate::state::AgentState;
use anyhow::{Result, ensure};
use host::process::{self, Identity};
use host::undo::Undo;
use host::{ServiceBreak, ServiceFault};
use measure::clock::{self, Deadline};
use rustix::process::Signal;
use std::time::Duration;

/// How long a process may run on that is told to stop, and how often it is looked at.
const STOPPED_WITHIN: Duration = Duration::from_secs(1);
const STOPPED_POLL: Duration = Duration::from_millis(1);

/// One server, and what is done to it.
pub(super) struct OfOthers(pub ServiceFault);

impl OfOthers {
    /// What undoes it.
    fn undo(&self) -> Undo {
        match self.0.how {
            ServiceBreak::Pause => Undo::Continue(self.0.process),
            ServiceBreak::Stop | ServiceBreak::Kill => Undo::Serve(self.0.service.clone()),
        }
    }
}

impl Breakable for OfOthers {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let found = self.0.service.process()?;
        ensure!(
            found == Some(self.0.process),
            "process {} does not serve {} any more",
            self.0.process.pid,
            self.0.service.serves
        );
        here.undo.add_noted(self.undo())?;
        match self.0.how {
            ServiceBreak::Pause => {
                self.0.process.signal(Signal::STOP);
                let deadline = Deadline::after(STOPPED_WITHIN);
                let runs = || process::state(self.0.process).is_some_and(|state| state != 'T');
                while runs() && !deadline.passed() {
                    clock::sleep(STOPPED_POLL);
                }
                Ok(())
            }
            ServiceBreak::Stop => self.0.service.stop(self.0.process),
            ServiceBreak::Kill => self.0.service.kill(self.0.process),
        }
    }

    /// What has not come back stays on the list, so that it is tried once more at the end.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        let process = match self.0.how {
            ServiceBreak::Pause => {
                self.0.process.signal(Signal::CONT);
                Some(self.0.process)
            }
            ServiceBreak::Stop | ServiceBreak::Kill => self.0.service.start()?,
        };
        here.undo.forget(&self.undo())?;
        Ok(process.into_iter().collect())
    }
}
