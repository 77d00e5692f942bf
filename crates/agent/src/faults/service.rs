//! Faults of a server that cassay did not start. The fault stops, kills or pauses the server, and
//! healing makes it serve again.

use super::active_faults::Breakable;
use crate::host_state::AgentState;
use anyhow::{Result, ensure};
use host::process::{self, Identity};
use host::undo::Undo;
use host::{ServiceBreak, ServiceFault};
use measure::clock::{self, Deadline};
use rustix::process::Signal;
use std::time::Duration;

/// Time limit for a process to reach the stopped state.
const STOP_LIMIT: Duration = Duration::from_secs(1);
const STOPPED_POLL: Duration = Duration::from_millis(1);

pub(super) struct OfOthers {
    fault: ServiceFault,
    /// True if the agent has begun the injection. Otherwise another program may have stopped the
    /// server, and the agent must not start it.
    is_begun: bool,
}

impl OfOthers {
    pub fn new(fault: ServiceFault) -> OfOthers {
        OfOthers {
            fault,
            is_begun: false,
        }
    }

    fn undo(&self) -> Undo {
        match self.fault.how {
            ServiceBreak::Pause => Undo::Continue(self.fault.process),
            ServiceBreak::Stop | ServiceBreak::Kill => Undo::Serve(self.fault.service.clone()),
        }
    }
}

impl Breakable for OfOthers {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        let found = self.fault.service.process()?;
        ensure!(
            found == Some(self.fault.process),
            "process {} no longer serves {}: the node has ended or restarted since cassay found \
             the process",
            self.fault.process.pid,
            self.fault.service.serves
        );
        here.undo.add_noted(self.undo())?;
        self.is_begun = true;
        match self.fault.how {
            ServiceBreak::Pause => {
                self.fault.process.signal(Signal::STOP);
                let deadline = Deadline::after(STOP_LIMIT);
                let runs = || process::state(self.fault.process).is_some_and(|state| state != 'T');
                while runs() && !deadline.passed() {
                    clock::sleep(STOPPED_POLL);
                }
                Ok(())
            }
            ServiceBreak::Stop => self.fault.service.stop(self.fault.process),
            ServiceBreak::Kill => self.fault.service.kill(self.fault.process),
        }
    }

    /// Continues or starts the server. After a failure, the undo entry remains, so that the agent
    /// retries when it ends.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if !self.is_begun {
            return Ok(Vec::new());
        }
        let process = match self.fault.how {
            ServiceBreak::Pause => {
                self.fault.process.signal(Signal::CONT);
                Some(self.fault.process)
            }
            ServiceBreak::Stop | ServiceBreak::Kill => self.fault.service.start()?,
        };
        here.undo.forget(&self.undo())?;
        Ok(process.into_iter().collect())
    }
}
