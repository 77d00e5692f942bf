//! The only module that reads clocks.
//!
//! Reading `CLOCK_MONOTONIC` through the vDSO takes about 25 ns on the measured machines. Every
//! process of one machine reads the same clock, so samples of several processes align without
//! conversion. The hot path reads the clock once per batch, not once per operation.

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND_NS: u64 = 1_000_000;

/// Returns the time of the monotonic clock in ns. On Linux, it counts from boot, without suspended
/// time.
#[inline]
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns the time since 1970-01-01 UTC in ns. Use it only for time stamps, because this clock may
/// jump.
pub fn unix_ns() -> u64 {
    read(ClockId::Realtime)
}

/// Returns the CPU time (user and system) of the calling thread in ns.
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// Returns the CPU time (user and system) of all threads of this process in ns.
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// Blocks the calling thread for `duration`. Only the control plane may call this.
#[expect(clippy::disallowed_methods, reason = "the only function that sleeps")]
pub fn sleep(duration: Duration) {
    std::thread::sleep(duration);
}

/// Blocks the calling thread until the monotonic clock reaches `at_ns`, or until a signal arrives.
/// The data plane uses this function, because the timer is precise to the nanosecond.
#[inline]
pub fn sleep_until(at_ns: u64) {
    let at = Timespec {
        tv_sec: (at_ns / SECOND_NS) as _,
        tv_nsec: (at_ns % SECOND_NS) as _,
    };
    // The result is ignored, because the caller reads the clock afterwards.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &at);
}

#[inline]
fn read(clock: ClockId) -> u64 {
    let t = clock_gettime(clock);
    t.tv_sec as u64 * SECOND_NS + t.tv_nsec as u64
}

/// Point in time at which a wait must end.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at_ns: u64,
}

impl Deadline {
    /// Returns the deadline `duration` from now.
    pub fn after(duration: Duration) -> Deadline {
        Deadline {
            at_ns: now_ns().saturating_add(duration.as_nanos() as u64),
        }
    }

    /// Returns true if the deadline has passed.
    pub fn passed(self) -> bool {
        now_ns() >= self.at_ns
    }

    /// Returns the remaining time, or zero if the deadline has passed.
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
    fn a_sleep_until_a_time_ends_after_it_or_at_once_if_it_passed() {
        let at_ns = now_ns() + MILLISECOND_NS;
        sleep_until(at_ns);
        assert!(now_ns() >= at_ns);
        sleep_until(0);
    }

    #[test]
    fn a_deadline_passes_once_its_time_is_over() {
        assert!(Deadline::after(Duration::ZERO).passed());
        let later = Deadline::after(Duration::from_secs(3600));
        assert!(!later.passed());
        assert!(later.left() > Duration::from_secs(3500));
    }
}
