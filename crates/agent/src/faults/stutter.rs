//! A process that is stopped for a while, again and again. Whoever outlives the agent lets it go
//! on.

use super::state::Breakable;
use crate::state::AgentState;
use anyhow::{Context, Result};
use host::process::Identity;
use host::undo::Undo;
use rustix::process::Signal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// One that is stopped again and again, and goes on between.
pub(super) struct Stutter {
    process: Identity,
    stopped: Duration,
    every: Duration,
    /// Dropped, it ends the thread that does it.
    keeper: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stutter {
    pub fn of(process: Identity, stopped: Duration, every: Duration) -> Stutter {
        Stutter {
            process,
            stopped,
            every,
            keeper: None,
            thread: None,
        }
    }
}

/// Whether nobody has ended it meanwhile.
fn goes_on(dropped: &Receiver<()>, for_: Duration) -> bool {
    dropped.recv_timeout(for_) == Err(RecvTimeoutError::Timeout)
}

impl Breakable for Stutter {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.process)?;
        here.undo.add(Undo::Continue(self.process))?;
        let (process, stopped) = (self.process, self.stopped);
        let runs = self.every.saturating_sub(stopped);
        let (keeper, dropped) = channel();
        let stutter = move || {
            loop {
                process.signal(Signal::STOP);
                let is_held = goes_on(&dropped, stopped);
                process.signal(Signal::CONT);
                if !is_held || !goes_on(&dropped, runs) {
                    break;
                }
            }
        };
        let thread = std::thread::Builder::new().name("stutter".to_owned());
        self.thread = Some(thread.spawn(stutter).context("start a thread")?);
        self.keeper = Some(keeper);
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        self.keeper = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        here.undo.forget(&Undo::Continue(self.process))?;
        Ok(vec![self.process])
    }
}
