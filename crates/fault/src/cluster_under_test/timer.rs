//! Clock of a fault's life cycle, which can wait for the order to heal.

use std::time::Duration;

/// A clock that also receives the controller's order to heal the fault.
pub trait Timer {
    /// Returns the time of the monotonic clock, in ns.
    fn now_ns(&self) -> u64;

    /// Waits for this time, or until the controller orders the healing. Returns true if the healing
    /// was ordered.
    fn wait(&mut self, for_: Duration) -> bool;
}
