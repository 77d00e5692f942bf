//! Renews the deadline for agents to heal a fault, while the fault is being injected or undone.

use crate::cluster_under_test::World;
use std::time::Duration;

const RENEWED_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(crate) struct Renewal {
    due_ns: u64,
}

impl Renewal {
    /// Renews the deadline if a renewal is due. Agents then heal the fault after `within` from now
    /// on, unless the deadline is renewed again.
    pub fn renew(&mut self, world: &mut dyn World, within: Duration) {
        let now_ns = world.now_ns();
        if now_ns >= self.due_ns {
            // An agent that has ended has also healed the fault, which the next observation shows.
            let _ = world.renew(within);
            self.due_ns = now_ns + RENEWED_EVERY.as_nanos() as u64;
        }
    }
}
