//! The one place that reads time.
//!
//! `CLOCK_MONOTONIC` through the vDSO costs about 25 ns here, and every process of one machine
//! reads the same one, so that samples of several processes line up without translation. It is
//! read once per batch on the hot path, not once per operation.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND_NS: u64 = 1_000_000;

/// Now, in nanoseconds of the monotonic clock (since boot on Linux, suspended time left out).
#[inline]
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Now, in nanoseconds since 1970-01-01 UTC. For stamps only: it may jump.
pub fn unix_ns() -> u64 {
    read(ClockId::Realtime)
}

/// CPU time used by the calling thread, user and system, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// CPU time used by this process, user and system, all threads, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// Blocks the calling thread for `duration`. Control plane only.
#[expect(clippy::disallowed_methods, reason = "the one place that sleeps")]
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * SECOND_NS + t.tv_nsec as u64
}

/// A point in time after which waiting is given up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at_ns: u64,
}

impl Deadline {
    /// The deadline `duration` from now.
    pub fn after(duration: Duration) -> Deadline {
        Deadline {
            at_ns: now_ns().saturating_add(duration.as_nanos() as u64),
        }
    }

    /// Whether it has passed.
    pub fn passed(self) -> bool {
        now_ns() >= self.at_ns
    }

    /// What is left of it; zero when it has passed.
    pub fn left(self) -> Duration {
        Duration::from_nanos(self.at_ns.saturating_sub(now_ns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_does_not_go_back() {
        let readings: Vec<u64> = (0..1000).map(|_| now_ns()).collect();
        assert!(readings.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn a_deadline_passes_once_its_time_is_over() {
        assert!(Deadline::after(Duration::ZERO).passed());
        let later = Deadline::after(Duration::from_secs(3600));
        assert!(!later.passed());
        assert!(later.left() > Duration::from_secs(3500));
    }
}
