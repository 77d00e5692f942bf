//! What keeps agents from healing something that is still being brought about.

use crate::world::World;
use std::time::Duration;

/// How often agents are told.
const RENEWED_EVERY: Duration = Duration::from_secs(10);

/// Tells agents again and again to let be what is brought about, or undone step by step.
#[derive(Debug, Default)]
pub(crate) struct Renewal {
    /// When it is due.
    due_ns: u64,
}

impl Renewal {
    /// Tells them if it is due: they heal `within` from now on, if they hear no more of it.
    pub fn renew(&mut self, world: &mut dyn World, within: Duration) {
        let now_ns = world.now_ns();
        if now_ns >= self.due_ns {
            // An agent that is gone has healed, which the next look shows.
            let _ = world.renew(within);
            self.due_ns = now_ns + RENEWED_EVERY.as_nanos() as u64;
        }
    }
}
