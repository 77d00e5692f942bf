//! Faults of processes: they are paused, ended, or get no further file descriptors.

use super::active_faults::Breakable;
use super::repeating_thread::RepeatingThread;
use crate::descriptors;
use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::Restartable;
use host::process::{self, Identity};
use host::undo::Undo;
use measure::clock::{self, Deadline};
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use std::time::Duration;

/// Maximum time for a process to end after SIGTERM. A node flushes its memtables before it ends.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Maximum time until a stopped process is in the stopped state.
const STATE_LIMIT: Duration = Duration::from_secs(1);
/// Interval between two checks of whether a process is in the stopped state.
const STOPPED_POLL: Duration = Duration::from_millis(1);

/// A process that the fault stops, and that healing continues.
pub(super) struct Pause(pub Identity);

impl Breakable for Pause {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.0)?;
        here.undo.add(Undo::Continue(self.0))?;
        self.0.signal(Signal::STOP);
        // Waits until the process is stopped, so that the next query finds it stopped. A process
        // that waits for a disk may not be stopped before the time limit, which is not an error.
        let deadline = Deadline::after(STATE_LIMIT);
        while process::state(self.0).is_some_and(|state| state != 'T') && !deadline.passed() {
            clock::sleep(STOPPED_POLL);
        }
        Ok(())
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        self.0.signal(Signal::CONT);
        here.undo.forget(&Undo::Continue(self.0))?;
        Ok(vec![self.0])
    }
}

/// A process that the fault ends, and that healing restarts. The undo list needs no entry, because
/// the process ends with the agent.
pub(super) struct TerminatedProcess {
    one: Restartable,
    grace: Duration,
    is_ended: bool,
}

impl TerminatedProcess {
    /// Creates a fault that ends the process immediately (SIGKILL).
    pub fn killed(one: Restartable) -> TerminatedProcess {
        TerminatedProcess::after(one, Duration::ZERO)
    }

    /// Creates a fault that tells the process to end (SIGTERM).
    pub fn terminate(one: Restartable) -> TerminatedProcess {
        TerminatedProcess::after(one, STOP_LIMIT)
    }

    fn after(one: Restartable, grace: Duration) -> TerminatedProcess {
        TerminatedProcess {
            one,
            grace,
            is_ended: false,
        }
    }
}

impl Breakable for TerminatedProcess {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.one.process)?;
        self.is_ended = true;
        here.children.end(self.one.process, self.grace).map(drop)
    }

    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>> {
        if self.is_ended {
            Ok(vec![here.start(&self.one.start)?])
        } else {
            Ok(Vec::new())
        }
    }
}

/// Highest limit on file descriptors that the fault sets. A program opens this number of files at
/// its start and never closes them, so no number below this limit becomes free.
const NUMBERS_KEPT: u64 = 16;

/// A process that cannot open any further file or connection.
pub(super) struct Descriptors {
    process: Identity,
    before: Option<Rlimit>,
    /// Thread that lowers the limit again whenever the process has closed a file during the fault.
    keeper: Option<RepeatingThread>,
}

/// Interval between two checks of whether the process has closed a file. The process could use the
/// free number of such a file.
const TIGHTENED_EVERY: Duration = Duration::from_millis(100);

impl Descriptors {
    pub fn new(process: Identity) -> Descriptors {
        Descriptors {
            process,
            before: None,
            keeper: None,
        }
    }
}

fn limit(process: Identity, new: Rlimit) -> Result<()> {
    anyhow::ensure!(process.alive(), "process {} has ended", process.pid);
    let pid = Pid::from_raw(process.pid as i32).context("a process id must not be 0")?;
    let before = prlimit(Some(pid), Resource::Nofile, new);
    before.map(drop).context("limit the files that the process may open")
}

/// Sets the limit to the lowest free number, but at most to [`NUMBERS_KEPT`]. The process would get
/// the lowest free number for its next file. The process keeps open files with higher numbers. If
/// it closes one of them, it cannot open another file.
fn tighten(process: Identity, maximum: Option<u64>) -> Result<()> {
    let numbers = descriptors::numbers(process)?;
    let taken = (0..).zip(&numbers).take_while(|(at, number)| at == *number);
    let narrower = Rlimit {
        current: Some((taken.count() as u64).min(NUMBERS_KEPT)),
        // The hard limit remains unchanged, so that the soft limit can be raised again without
        // privileges.
        maximum,
    };
    limit(process, narrower)
}

impl Breakable for Descriptors {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.process)?;
        let (current, maximum) = descriptors::files_limit(self.process)?;
        self.before = Some(Rlimit { current, maximum });
        let process = self.process;
        tighten(process, maximum)?;
        self.keeper = Some(RepeatingThread::start("descriptors", move |goes_on| {
            while goes_on.after(TIGHTENED_EVERY) && tighten(process, maximum).is_ok() {}
        })?);
        Ok(())
    }

    fn heal(&mut self, _: &AgentState) -> Result<Vec<Identity>> {
        if let Some(keeper) = self.keeper.take() {
            keeper.end();
        }
        if let Some(before) = self.before.take()
            && self.process.alive()
        {
            limit(self.process, before)?;
        }
        Ok(vec![self.process])
    }
}
