//! What is broken on a host, as its agent has it, and how each such thing is done and undone.

use crate::state::AgentState;
use anyhow::Result;
use host::calls::StartProcess;
use host::process::Identity;
use host::{Broken, Healed};
use measure::clock::Deadline;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How one of them is done and undone.
pub(crate) trait Breakable: Send {
    /// Breaks it. What somebody else has to undo if the agent is gone is on the undo list by then.
    fn inject(&mut self, here: &AgentState) -> Result<()>;

    /// Makes it whole; the processes that there are now of those that were touched, in their
    /// order. Also after an injection that failed half-way.
    fn heal(&mut self, here: &AgentState) -> Result<Vec<Identity>>;

    /// The processes that were started to break it.
    fn started(&self) -> Vec<Identity> {
        Vec::new()
    }

    /// Whether it cannot be made whole yet: an agent that is alone with it waits for a while.
    fn waits(&self) -> bool {
        false
    }

    /// What became of what was broken, if that is not the same every time.
    fn became(&self) -> Option<String> {
        None
    }
}

/// How long an agent waits alone for what cannot be made whole yet.
const ALONE_MAX: Duration = Duration::from_secs(600);

/// Between two looks at whether it can.
const ALONE_POLL: Duration = Duration::from_secs(1);

/// What is broken on a host, as its agent has it.
#[derive(Default)]
pub(crate) struct Faults {
    pub(super) all: Mutex<Vec<State>>,
    /// What has started processes, and until when they may be starting.
    pub(super) starts: Mutex<HashMap<Identity, (StartProcess, Deadline)>>,
    pub(super) news: Condvar,
}

pub(super) enum State {
    /// When the agent heals it by itself.
    Broken(Box<dyn Breakable>, Deadline),
    Whole(Result<Healed, String>),
}

impl Faults {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<State>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is healed any more: all ends.
    pub fn end(&self) {
        self.lock().clear();
        self.news.notify_all();
    }

    /// Waits until somebody has healed it, or all ends; true if nobody has when its time is over.
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
