//! Renews the agents' auto-heal deadline while a fault is being injected or undone.

use crate::cluster_under_test::World;
use std::time::Duration;

/// Interval between two renewals.
const RENEWED_EVERY: Duration = Duration::from_secs(10);

/// Renewal of the agents' deadline at intervals.
#[derive(Debug, Default)]
pub(crate) struct Renewal {
    /// Time of the next renewal, ns.
    due_ns: u64,
}

impl Renewal {
    /// Renews the deadline if due: agents heal `within` from now on, unless renewed again.
    pub fn renew(&mut self, world: &mut dyn World, within: Duration) {
        let now_ns = world.now_ns();
        if now_ns >= self.due_ns {
            // An agent that has ended has also healed, which the next observation shows.
            let _ = world.renew(within);
            self.due_ns = now_ns + RENEWED_EVERY.as_nanos() as u64;
        }
    }
}
