//! The clock of whoever breaks things.

use std::time::Duration;

/// Time, and the order to heal.
pub trait Timer {
    /// Now, monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for so long, or until healing is ordered; whether it is.
    fn wait(&mut self, for_: Duration) -> bool;
}
