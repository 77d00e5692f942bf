//! Process that is repeatedly stopped for a short time. If the agent dies, the guard continues the
//! process.

use super::active_faults::Breakable;
use super::repeating_thread::RepeatingThread;
use crate::host_state::AgentState;
use anyhow::Result;
use host::process::Identity;
use host::undo::Undo;
use rustix::process::Signal;
use std::time::Duration;

pub(super) struct Stutter {
    process: Identity,
    stopped: Duration,
    every: Duration,
    keeper: Option<RepeatingThread>,
}

impl Stutter {
    pub fn new(process: Identity, stopped: Duration, every: Duration) -> Stutter {
        Stutter {
            process,
            stopped,
            every,
            keeper: None,
        }
    }
}

impl Breakable for Stutter {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.process)?;
        here.undo.add(Undo::Continue(self.process))?;
        let (process, stopped) = (self.process, self.stopped);
        let runs = self.every.saturating_sub(stopped);
        self.keeper = Some(RepeatingThread::start("stutter", move |goes_on| {
            loop {
                process.signal(Signal::STOP);
                let is_held = goes_on.after(stopped);
                process.signal(Signal::CONT);
                if !is_held || !goes_on.after(runs) {
                    break;
                }
            }
        })?);
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if let Some(keeper) = self.keeper.take() {
            keeper.end();
        }
        here.undo.forget(&Undo::Continue(self.process))?;
        Ok(vec![self.process])
    }
}
