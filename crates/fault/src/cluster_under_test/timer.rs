//! Clock of faults.

use std::time::Duration;

/// Time, and the order to heal.
pub trait Timer {
    /// Returns the monotonic clock, ns.
    fn now_ns(&self) -> u64;

    /// Waits for this time, or until healing is ordered. Returns true if it is ordered.
    fn wait(&mut self, for_: Duration) -> bool;
}
