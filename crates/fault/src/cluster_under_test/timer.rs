//! Clock of faults.

use std::time::Duration;

/// The clock, and the order to heal.
pub trait Timer {
    /// Returns the time of the monotonic clock, in ns.
    fn now_ns(&self) -> u64;

    /// Waits for this time, or until healing is ordered. Returns true if healing is ordered.
    fn wait(&mut self, for_: Duration) -> bool;
}
