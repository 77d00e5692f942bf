//! Things of a host that are broken on purpose, as both sides of the conversation know them: what
//! an agent can be asked to break, and how it heals.
//!
//! What must hold: what heals is written down before anything is broken, on the undo list too if it
//! is for whoever outlives the agent; and the agent heals by itself when the time is over, though
//! its controller be silent or gone.

mod limits;
mod process;

use crate::Agent;
use crate::calls::StartProcess;
use crate::here::Here;
use crate::process::Identity;
use anyhow::{Context, Result};
use measure::clock::Deadline;
use reach::{Call, Serve};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A process that an agent has started, and what starts it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Restartable {
    /// Which.
    pub process: Identity,
    start: StartProcess,
}

impl Restartable {
    /// `process`, which `command` starts again, with its output to the file `output`.
    ///
    /// # Errors
    /// An argument is no Unicode.
    pub fn new(process: Identity, command: &Command, output: &Path) -> Result<Restartable> {
        let start = StartProcess::of(command, output)?;
        Ok(Restartable { process, start })
    }
}

/// What an agent can break. Processes are those that it has started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Break {
    /// A process is stopped (SIGSTOP), and goes on.
    Pause(Identity),
    /// A process is killed, and started again.
    Kill(Restartable),
    /// A process is asked to end, and started again.
    Stop(Restartable),
    /// A process may open no more files than it has; then as many as before.
    Descriptors(Identity),
    /// The host has this much CPU time, in cores; then as much as before.
    CpuQuota(f64),
    /// The host's volume does no more than this; then as much as before.
    Disk(crate::DiskSpec),
}

/// How one of them is done and undone.
trait Breakable: Send {
    /// Breaks it. What somebody else has to undo if the agent is gone is on the undo list by then.
    fn inject(&mut self, here: &Here) -> Result<()>;

    /// Makes it whole; the processes that there are now of those that were touched, in their
    /// order. Also after an injection that failed half-way.
    fn heal(&mut self, here: &Here) -> Result<Vec<Identity>>;
}

impl Break {
    fn into_breakable(self) -> Box<dyn Breakable> {
        match self {
            Break::Pause(process) => Box::new(process::Pause(process)),
            Break::Kill(one) => Box::new(process::Ended::killed(one)),
            Break::Stop(one) => Box::new(process::Ended::asked(one)),
            Break::Descriptors(process) => Box::new(process::Descriptors::of(process)),
            Break::CpuQuota(cores) => Box::new(limits::Limit::cpu(cores)),
            Break::Disk(disk) => Box::new(limits::Limit::disk(disk)),
        }
    }
}

/// Breaks something. The answer is what to heal it by.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inject {
    what: Break,
    /// After so long the agent heals it by itself.
    within_ms: u64,
}

impl Call for Inject {
    const NAME: &'static str = "break";
    type Answer = Broken;
}

/// Something that is broken, by its number at its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken(u64);

/// Heals what was broken.
#[derive(Serialize, Deserialize)]
pub(crate) struct Heal(Broken);

impl Call for Heal {
    const NAME: &'static str = "heal";
    type Answer = Healed;
}

/// What came of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healed {
    /// The processes that there are now, in the order of those that were broken; none where none
    /// was.
    pub processes: Vec<Identity>,
    /// Whether the agent had done it already, by itself.
    pub by_itself: bool,
}

/// How long breaking and healing may take: processes end and start, volumes are mounted.
const LIMIT: Duration = Duration::from_secs(90);

impl Agent {
    /// Breaks something of its host. If nobody heals it, it does so itself after `within`.
    ///
    /// # Errors
    /// It cannot be done (the process is none of its own, the machine does not permit it), or the
    /// guard cannot be told. What was done by then is undone.
    pub fn inject(&self, what: Break, within: Duration) -> Result<Broken> {
        let within_ms = within.as_millis() as u64;
        self.call_for(&Inject { what, within_ms }, LIMIT)
    }

    /// Makes whole again what was broken. Once more is the same as once.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn heal(&self, broken: Broken) -> Result<Healed> {
        self.call_for(&Heal(broken), LIMIT)
    }
}

/// What is broken on a host, as its agent has it.
#[derive(Default)]
pub(crate) struct Faults {
    all: Mutex<Vec<State>>,
    news: Condvar,
}

enum State {
    Broken(Box<dyn Breakable>),
    Whole(Result<Vec<Identity>, String>),
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
        while let Some(State::Broken(_)) = all.get(number as usize) {
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
        if let State::Broken(what) = state {
            let healed = what.heal(self);
            *state = State::Whole(healed.map_err(|error| format!("{error:#}")));
            self.faults.news.notify_all();
        }
        let State::Whole(healed) = state else {
            anyhow::bail!("it is still broken")
        };
        let processes = healed.clone().map_err(anyhow::Error::msg)?;
        Ok(Healed {
            processes,
            by_itself,
        })
    }
}

impl Serve<Here> for Inject {
    fn serve(self, here: &Here) -> Result<Broken> {
        let mut what = self.what.into_breakable();
        let own = here.own().context("this agent is ending")?;
        // Held while it is done: nobody heals what is not broken yet.
        let mut all = here.faults.lock();
        let broken = Broken(all.len() as u64);
        let deadline = Deadline::after(Duration::from_millis(self.within_ms));
        std::thread::Builder::new()
            .name(format!("heal {}", broken.0))
            .spawn(move || {
                if own.faults.is_left(broken, deadline) {
                    // Whoever asks for it hears how that went.
                    let _ = own.heal(broken);
                }
            })
            .context("start a thread that heals in time")?;
        match what.inject(here) {
            Ok(()) => all.push(State::Broken(what)),
            Err(error) => {
                let undone = what.heal(here);
                all.push(State::Whole(Ok(Vec::new())));
                return match undone {
                    Ok(_) => Err(error),
                    Err(failed) => Err(error.context(format!("and to undo it failed: {failed:#}"))),
                };
            }
        }
        Ok(broken)
    }
}

impl Serve<Here> for Heal {
    fn serve(self, here: &Here) -> Result<Healed> {
        here.heal(self.0)
    }
}
