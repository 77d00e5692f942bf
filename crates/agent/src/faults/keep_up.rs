//! Processes that are to serve again after an agent has healed by itself, when nobody else sees
//! whether they do. A node may meet what its disk has lost, and end; or stop serving for good,
//! since it could open no file.

use super::state::{Faults, State};
use crate::state::AgentState;
use host::Reach;
use host::calls::StartProcess;
use host::process::Identity;
use measure::clock::Deadline;
use std::sync::PoisonError;
use std::time::Duration;

/// How long they are looked at: as long as two of them may take to start.
const WATCHED_FOR: Duration = Duration::from_secs(360);

/// Between two looks, and so two starts.
const POLL: Duration = Duration::from_secs(1);

/// How long one may take to start, on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(180);

/// How long one may refuse connections that was there before: what was broken may have to pass.
const REFUSES_MAX: Duration = Duration::from_secs(60);

/// How long one may take to accept a connection.
const ACCEPTS_WITHIN: Duration = Duration::from_millis(500);

/// How often one is started again.
const RESTARTS_MAX: usize = 3;

/// A process that is looked at.
struct WatchedProcess {
    process: Identity,
    start: StartProcess,
    /// Until when it may refuse connections.
    until: Deadline,
    restarts_count: usize,
}

impl Faults {
    /// Takes note of what has started a process that is to be kept up.
    pub fn remember(&self, process: Identity, start: &StartProcess) {
        if start.serves.is_some() {
            let starts = self.starts.lock();
            let mut starts = starts.unwrap_or_else(PoisonError::into_inner);
            starts.insert(process, (start.clone(), Deadline::after(STARTS_WITHIN)));
        }
    }

    fn kept(&self) -> Vec<WatchedProcess> {
        let starts = self.starts.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = |(process, (start, starts_until)): (&Identity, &(_, Deadline))| WatchedProcess {
            process: *process,
            start: StartProcess::clone(start),
            until: Deadline::after(starts_until.left().max(REFUSES_MAX)),
            restarts_count: 0,
        };
        starts.iter().map(kept).collect()
    }
}

impl AgentState {
    /// Starts those again that end by themselves or serve nobody, the second time so that they
    /// forgive what they meet. Who is ended on purpose stays so, and what is broken is let be.
    pub(super) fn keep_up(&self) {
        let deadline = Deadline::after(WATCHED_FOR);
        let mut all_kept = self.faults.kept();
        while !deadline.passed() {
            let all = self.faults.lock();
            let waited = self.faults.news.wait_timeout(all, POLL);
            // Held while one is started: nothing is when all ends, or while something is broken.
            let (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if all.is_empty() || all.iter().any(|one| matches!(one, State::Broken(..))) {
                return;
            }
            for kept in &mut all_kept {
                self.keep(kept);
            }
        }
    }

    fn keep(&self, kept: &mut WatchedProcess) {
        let accepts = || {
            let reach = kept.start.serves.map(|at| Reach::of(at, ACCEPTS_WITHIN));
            !matches!(reach, Some(Ok(Reach::Refused)))
        };
        let is_silent = self.children.runs(kept.process) && !accepts();
        if !is_silent {
            kept.until = Deadline::after(REFUSES_MAX);
        }
        let is_due = self.children.has_failed(kept.process) || kept.until.passed();
        if !is_due || kept.restarts_count == RESTARTS_MAX {
            return;
        }
        if kept.restarts_count > 0 {
            let forgiving = kept.start.forgiving.clone();
            kept.start.environment.extend(forgiving);
        }
        kept.restarts_count += 1;
        kept.until = Deadline::after(STARTS_WITHIN);
        if self.children.end(kept.process, Duration::ZERO).is_ok()
            && let Ok(again) = self.start(&kept.start)
        {
            kept.process = again;
        }
    }
}
