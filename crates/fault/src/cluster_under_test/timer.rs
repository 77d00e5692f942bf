//! Clock of a fault's life cycle.

use std::time::Duration;

/// Clock that also receives the controller's order to heal the fault.
pub trait Timer {
    /// Returns the time of the monotonic clock in ns.
    fn now_ns(&self) -> u64;

    /// Waits for this time, or until the order to heal arrives. Returns true if it has arrived.
    fn wait(&mut self, for_: Duration) -> bool;
}
