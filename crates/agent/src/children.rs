//! Processes that an agent has started. One thread per process waits until the process ends, and
//! reports its exit status.

use anyhow::{Context, Result, bail};
use host::calls::Note;
use host::process::{self, Identity, KILL_LIMIT, Life};
use measure::clock::Deadline;
use remote::agent_loop::Outbox;
use rustix::process::Signal;
use std::collections::{HashMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All processes that the agent has started, including those that have ended.
pub(crate) struct Children {
    known: Arc<ProcessEnds>,
    outbox: Outbox,
}

#[derive(Default)]
struct ProcessEnds {
    /// Exit status of each process. `None` while the process runs.
    processes: Mutex<HashMap<Identity, Option<i32>>>,
    /// Processes to which the agent has sent SIGTERM or SIGKILL.
    told: Mutex<HashSet<Identity>>,
    news: Condvar,
}

impl ProcessEnds {
    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Option<i32>>> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProcessEnds {
    fn tell(&self, process: Identity) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(process);
    }
}

impl Children {
    pub fn new(outbox: Outbox) -> Children {
        Children {
            known: Arc::default(),
            outbox,
        }
    }

    pub fn start(&self, command: Command) -> Result<Identity> {
        let mut child = process::spawn(command, Life::Ours)?;
        let identity = Identity::from_child(&child)?;
        self.known.lock().insert(identity, None);
        let (known, outbox) = (Arc::clone(&self.known), self.outbox.clone());
        std::thread::Builder::new()
            .name(format!("await {}", identity.pid))
            .spawn(move || {
                // Returns when the last thread of the process has ended and all its ports and files
                // are closed.
                let status = child.wait().map_or(0, ExitStatusExt::into_raw);
                // An agent that is ending waits only for the record, so the report comes first.
                outbox.note(&Note::Ended(identity, status));
                known.lock().insert(identity, Some(status));
                known.news.notify_all();
            })
            .context("start a thread that awaits a process")?;
        Ok(identity)
    }

    pub fn all(&self) -> Vec<(Identity, Option<i32>)> {
        let known = self.known.lock();
        known.iter().map(|(one, status)| (*one, *status)).collect()
    }

    pub fn check(&self, process: Identity) -> Result<()> {
        if !self.known.lock().contains_key(&process) {
            bail!("this agent did not start process {}", process.pid);
        }
        Ok(())
    }

    pub fn runs(&self, process: Identity) -> bool {
        self.known.lock().get(&process) == Some(&None)
    }

    /// Returns true if the process has ended, but not on the agent's request.
    pub fn has_failed(&self, process: Identity) -> bool {
        let told = self.known.told.lock();
        let is_told = told.unwrap_or_else(PoisonError::into_inner).contains(&process);
        !is_told && self.known.lock().get(&process).is_some_and(Option::is_some)
    }

    /// Sends SIGTERM to a process, and SIGKILL after `grace`. A zero `grace` means SIGKILL only.
    /// Returns true if the process ended before SIGKILL.
    pub fn end(&self, process: Identity, grace: Duration) -> Result<bool> {
        self.check(process)?;
        self.known.tell(process);
        if !grace.is_zero() {
            process.signal(Signal::TERM);
            if self.wait(process, grace) {
                return Ok(true);
            }
        }
        process.signal(Signal::KILL);
        if self.wait(process, KILL_LIMIT) {
            return Ok(false);
        }
        Err(process.stuck())
    }

    /// Sends SIGTERM to all of `processes`, waits up to `grace` in total, and kills the remaining
    /// ones. A zero `grace` means an immediate kill.
    pub fn end_all(&self, processes: &[Identity], grace: Duration) -> Result<()> {
        processes.iter().try_for_each(|one| self.check(*one))?;
        processes.iter().for_each(|one| self.known.tell(*one));
        let signal = |signal| processes.iter().for_each(|one| one.signal(signal));
        let deadline = Deadline::after(grace);
        if !grace.is_zero() {
            signal(Signal::TERM);
        }
        let mut waited = processes.iter();
        if grace.is_zero() || !waited.all(|one| self.wait(*one, deadline.left())) {
            signal(Signal::KILL);
        }
        let stuck = processes.iter().find(|one| !self.wait(**one, KILL_LIMIT));
        stuck.map_or(Ok(()), |process| Err(process.stuck()))
    }

    pub fn kill(&self) -> Result<()> {
        let all = self.all();
        for (process, _) in &all {
            self.known.tell(*process);
            process.signal(Signal::KILL);
        }
        let stuck = all.iter().find(|(one, _)| !self.wait(*one, KILL_LIMIT));
        stuck.map_or(Ok(()), |(process, _)| Err(process.stuck()))
    }

    fn wait(&self, process: Identity, limit: Duration) -> bool {
        let deadline = Deadline::after(limit);
        let mut known = self.known.lock();
        while known.get(&process) == Some(&None) {
            if deadline.passed() {
                return false;
            }
            let waited = self.known.news.wait_timeout(known, deadline.left());
            (known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}
