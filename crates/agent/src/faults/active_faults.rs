//! State of an agent's faults, and the interface of their implementations.

use crate::host_state::AgentState;
use anyhow::Result;
use host::calls::StartProcess;
use host::process::Identity;
use host::{Broken, HealAnswer};
use measure::clock::Deadline;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) trait Breakable: Send {
    /// Injects the fault. Before each change that must be undone even after the agent's end, adds
    /// an entry to the undo list.
    fn inject(&mut self, here: &AgentState) -> Result<()>;

    /// Heals the fault, even after a partial injection. Returns the current processes of the
    /// affected nodes, in order.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>>;

    /// Returns the processes that the injection has started.
    fn started(&self) -> Vec<Identity> {
        Vec::new()
    }

    /// Returns true if the fault cannot be healed yet. An agent without a controller then waits up
    /// to [`ALONE_MAX`].
    fn waits(&self) -> bool {
        false
    }

    /// Returns a remark on the result of healing, for faults whose healing can have different
    /// results.
    fn became(&self) -> Option<String> {
        None
    }
}

/// Maximum time for which an agent without a controller waits until a fault can be healed.
const ALONE_MAX: Duration = Duration::from_secs(600);

/// Interval between two checks whether a fault can be healed.
const ALONE_POLL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Faults {
    pub(super) all: Mutex<Vec<State>>,
    /// Start command of each process, and the time until which the process may still be starting.
    pub(super) starts: Mutex<HashMap<Identity, (StartProcess, Deadline)>>,
    pub(super) news: Condvar,
}

pub(super) enum State {
    /// A fault that is not healed, and the time at which the agent heals it.
    Broken(Box<dyn Breakable>, Deadline),
    Whole(Result<HealAnswer, String>),
}

impl Faults {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all threads that wait to heal a fault, because the agent is ending.
    pub fn end(&self) {
        self.lock().clear();
        self.news.notify_all();
    }

    /// Waits until a fault is healed or the agent ends. Returns true if the fault's time limit
    /// expires first.
    pub(super) fn is_left(&self, Broken(number): Broken) -> bool {
        let mut all = self.lock();
        let mut alone_until = None;
        while let Some(State::Broken(what, deadline)) = all.get(number as usize) {
            let mut left = deadline.left();
            if deadline.passed() {
                let until = alone_until.get_or_insert_with(|| Deadline::after(ALONE_MAX));
                if until.passed() || !what.waits() {
                    return true;
                }
                left = ALONE_POLL;
            }
            let waited = self.news.wait_timeout(all, left);
            (all, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        false
    }
}
