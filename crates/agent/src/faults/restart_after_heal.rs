//! Restarts processes that end after an agent has healed a fault without a controller. For example,
//! a node may end because its disk has lost data, or stop serving because it could not open a file.

use super::active_faults::{Faults, State};
use crate::host_state::AgentState;
use host::Reach;
use host::calls::StartProcess;
use host::process::Identity;
use measure::clock::Deadline;
use std::sync::PoisonError;
use std::time::Duration;

/// Time for which the agent watches processes, twice the limit of a start.
const WATCHED_FOR: Duration = Duration::from_secs(360);

/// Interval between two checks of the processes, and minimum interval between two starts of a
/// process.
const POLL: Duration = Duration::from_secs(1);

/// Maximum duration of a start on a busy machine.
const PROCESS_START_LIMIT: Duration = Duration::from_secs(180);

/// Time for which a process that ran during the fault may refuse connections, until the fault's
/// effect has passed.
const REFUSES_MAX: Duration = Duration::from_secs(60);

/// Time limit of the connection attempt in a check.
const CONNECT_LIMIT: Duration = Duration::from_millis(500);

/// Maximum number of restarts of each process.
const RESTARTS_MAX: usize = 3;

/// Process that the agent restarts if it ends by itself or refuses connections for too long.
struct WatchedProcess {
    process: Identity,
    start: StartProcess,
    /// Time until which the process may refuse connections.
    until: Deadline,
    restarts_count: usize,
}

impl Faults {
    /// Records the start of a process that the agent must keep running.
    pub fn remember(&self, process: Identity, start: &StartProcess) {
        if start.serves.is_some() {
            let starts = self.starts.lock();
            let mut starts = starts.unwrap_or_else(PoisonError::into_inner);
            starts.insert(
                process,
                (start.clone(), Deadline::after(PROCESS_START_LIMIT)),
            );
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
    /// Restarts processes that end by themselves or do not serve. From the second restart on,
    /// applies the `forgiving` changes to the environment. Stops at the next injection.
    pub(super) fn keep_up(&self) {
        let deadline = Deadline::after(WATCHED_FOR);
        let mut all_kept = self.faults.kept();
        while !deadline.passed() {
            let all = self.faults.lock();
            let waited = self.faults.news.wait_timeout(all, POLL);
            // With the lock, no process starts while the agent ends or injects a fault.
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
            let reach = kept.start.serves.map(|at| Reach::connect(at, CONNECT_LIMIT));
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
        kept.until = Deadline::after(PROCESS_START_LIMIT);
        if self.children.end(kept.process, Duration::ZERO).is_ok()
            && let Ok(again) = self.start(&kept.start)
        {
            kept.process = again;
        }
    }
}
