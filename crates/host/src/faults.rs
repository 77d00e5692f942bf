//! Processes of a host that are broken on purpose, as both sides of the conversation know it: what
//! an agent can be asked, and what it does then.
//!
//! What must hold: what heals is written down before anything is broken, on the undo list too if it
//! is for whoever outlives the agent; and the agent heals by itself when the time is over, though
//! its controller be silent or gone.

use crate::Agent;
use crate::calls::StartProcess;
use crate::here::Here;
use crate::process::{self, Identity};
use crate::undo::Undo;
use anyhow::{Context, Result};
use measure::clock::Deadline;
use reach::{Call, Serve};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Breaks a process that the agent has started. The answer is what to heal it by.
#[derive(Serialize, Deserialize)]
pub(crate) struct Break {
    process: Identity,
    how: How,
    /// After so long the agent heals it by itself.
    within_ms: u64,
}

impl Call for Break {
    const NAME: &'static str = "break-a-process";
    type Answer = Broken;
}

/// How a process is broken, with what heals it.
#[derive(Serialize, Deserialize)]
enum How {
    /// It is stopped, and goes on.
    Pause,
    /// It is killed, and this is started.
    Kill(StartProcess),
}

/// Something that is broken, by its number at its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken(u64);

/// Heals what was broken.
#[derive(Serialize, Deserialize)]
pub(crate) struct Heal(Broken);

impl Call for Heal {
    const NAME: &'static str = "heal-a-process";
    type Answer = Healed;
}

/// What came of healing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healed {
    /// The process that there is now.
    pub process: Identity,
    /// Whether the agent had done it already, by itself.
    pub by_itself: bool,
}

/// What the kernel says of a process: the letter of its state; none if it is gone.
#[derive(Serialize, Deserialize)]
pub(crate) struct StateOf(Identity);

impl Call for StateOf {
    const NAME: &'static str = "look-at-a-process";
    type Answer = Option<char>;
}

impl Agent {
    /// Stops a process that it has started. If nobody heals it, it does so itself after `within`.
    ///
    /// # Errors
    /// The process is none of its own, or the guard cannot be told: then nothing was done.
    pub fn pause(&self, process: Identity, within: Duration) -> Result<Broken> {
        self.break_process(process, How::Pause, within)
    }

    /// Kills a process that it has started. Healing starts what `command` says, with its output to
    /// the file `output`; if nobody heals, it does so itself after `within`.
    ///
    /// # Errors
    /// As [`Agent::pause`].
    pub fn kill(
        &self,
        process: Identity,
        (command, output): (&Command, &Path),
        within: Duration,
    ) -> Result<Broken> {
        let how = How::Kill(StartProcess::of(command, output)?);
        self.break_process(process, how, within)
    }

    fn break_process(&self, process: Identity, how: How, within: Duration) -> Result<Broken> {
        let within_ms = within.as_millis() as u64;
        self.call(&Break {
            process,
            how,
            within_ms,
        })
    }

    /// Makes whole again what was broken. Once more is the same as once.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn heal(&self, broken: Broken) -> Result<Healed> {
        self.call(&Heal(broken))
    }

    /// What the kernel says of a process: the letter of its state, as in `ps`; none if it is gone.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn state_of(&self, process: Identity) -> Result<Option<char>> {
        self.call(&StateOf(process))
    }
}

/// What is broken on a host, as its agent has it.
#[derive(Default)]
pub(crate) struct Faults {
    all: Mutex<Vec<State>>,
    news: Condvar,
}

enum State {
    Broken(Identity, How),
    Whole(Result<Identity, String>),
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Vec<State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is healed any more: all ends.
    pub fn end(&self) {
        self.lock().clear();
        self.news.notify_all();
    }

    /// Waits until somebody has healed it, or all ends; true if nobody has when the time is over.
    fn is_left(&self, Broken(number): Broken, deadline: Deadline) -> bool {
        let mut all = self.lock();
        while let Some(State::Broken(..)) = all.get(number as usize) {
            if deadline.passed() {
                return true;
            }
            let waited = self.news.wait_timeout(all, deadline.left());
            (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}

impl Here {
    /// Heals what is still broken.
    fn heal(&self, Broken(number): Broken) -> Result<Healed> {
        // Held while it is done: who ends everything waits, and nothing is started after that.
        let mut all = self.faults.lock();
        let state = all.get_mut(number as usize);
        let state = state.context("nothing was broken by this number")?;
        let by_itself = matches!(state, State::Whole(_));
        if let State::Broken(process, how) = state {
            let healed = match how {
                How::Pause => {
                    let undo = Undo::Continue(*process);
                    process.signal(Signal::CONT);
                    self.undo.forget(&undo).map(|()| *process)
                }
                How::Kill(start) => self.start(start),
            };
            *state = State::Whole(healed.map_err(|error| format!("{error:#}")));
            self.faults.news.notify_all();
        }
        let State::Whole(healed) = state else {
            anyhow::bail!("it is still broken")
        };
        let process = healed.clone().map_err(anyhow::Error::msg)?;
        Ok(Healed { process, by_itself })
    }
}

impl Serve<Here> for Break {
    fn serve(self, here: &Here) -> Result<Broken> {
        let process = self.process;
        here.children.check(process)?;
        let signal = match &self.how {
            How::Pause => {
                here.undo.add(Undo::Continue(process))?;
                Signal::STOP
            }
            // What is gone with the agent needs no guard.
            How::Kill(_) => Signal::KILL,
        };
        let own = here.own().context("this agent is ending")?;
        let mut all = here.faults.lock();
        let broken = Broken(all.len() as u64);
        all.push(State::Broken(process, self.how));
        let deadline = Deadline::after(Duration::from_millis(self.within_ms));
        std::thread::Builder::new()
            .name(format!("heal {}", process.pid))
            .spawn(move || {
                if own.faults.is_left(broken, deadline) {
                    // Whoever asks for it hears how that went.
                    let _ = own.heal(broken);
                }
            })
            .context("start a thread that heals in time")?;
        // Before the lock goes: nobody heals what is not broken yet.
        process.signal(signal);
        drop(all);
        Ok(broken)
    }
}

impl Serve<Here> for Heal {
    fn serve(self, here: &Here) -> Result<Healed> {
        here.heal(self.0)
    }
}

impl Serve<Here> for StateOf {
    fn serve(self, _: &Here) -> Result<Option<char>> {
        Ok(process::state(self.0))
    }
}
