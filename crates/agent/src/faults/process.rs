//! Faults of processes, which are paused, ended, or get no further file descriptors.

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

/// Time limit for a process to end after SIGTERM. A node first flushes its memtables.
pub(super) const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for a process to reach the stopped state.
const STATE_LIMIT: Duration = Duration::from_secs(1);
const STOPPED_POLL: Duration = Duration::from_millis(1);

/// Process that the fault stops and healing continues.
pub(super) struct Pause(pub Identity);

impl Breakable for Pause {
    fn inject(&mut self, here: &AgentState) -> Result<()> {
        here.children.check(self.0)?;
        here.undo.add(Undo::Continue(self.0))?;
        self.0.signal(Signal::STOP);
        // The next query must find the process stopped. A process that waits for a disk may not be
        // stopped before the time limit, which is not an error.
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

/// Process that the fault ends and healing restarts. The undo list needs no entry, because the
/// process ends with the agent.
pub(super) struct TerminatedProcess {
    one: Restartable,
    grace: Duration,
    is_ended: bool,
}

impl TerminatedProcess {
    /// Creates a fault that kills the process (SIGKILL).
    pub fn killed(one: Restartable) -> TerminatedProcess {
        TerminatedProcess::after(one, Duration::ZERO)
    }

    /// Creates a fault that ends the process by SIGTERM.
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

/// Highest limit on file descriptors that the fault sets. A program keeps the files open that it
/// opens at its start, so no number below this limit becomes free.
const NUMBERS_KEPT: u64 = 16;

/// Process that cannot open any further file or connection.
pub(super) struct Descriptors {
    process: Identity,
    before: Option<Rlimit>,
    /// Thread that lowers the limit again after the process has closed a file.
    keeper: Option<RepeatingThread>,
}

/// Interval between two adjustments of the limit. The process could use the number of a file that
/// it has closed.
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

/// Sets the limit to the lowest free number, but at most to [`NUMBERS_KEPT`]. The process would use
/// this number for its next file. Open files with higher numbers remain open.
/// it closes one of them, it cannot open another file.
fn tighten(process: Identity, maximum: Option<u64>) -> Result<()> {
    let numbers = descriptors::numbers(process)?;
    let taken = (0..).zip(&numbers).take_while(|(at, number)| at == *number);
    let narrower = Rlimit {
        current: Some((taken.count() as u64).min(NUMBERS_KEPT)),
        // An unprivileged process can raise the soft limit again only up to the hard limit.
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
