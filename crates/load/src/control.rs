//! State that the caller and the workers share. The state consists of a few atomic integers, which
//! the workers read once per iteration of their loop.

use crate::statement_facts::Facts;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub(crate) struct Control {
    start_ns: AtomicU64,
    window_from_ns: AtomicU64,
    stop_ns: AtomicU64,
    /// Time until which the client sends operations that were due before the stop, in ns of the
    /// monotonic clock.
    sends_until_ns: AtomicU64,
    /// Time after the stop during which the client still sends operations that were due before the
    /// stop, in ns.
    sends_for_ns: u64,
    /// Time at which the client stops waiting for responses, in ns of the monotonic clock.
    hangs_up_ns: AtomicU64,
}

impl Control {
    pub fn new(facts: &Facts) -> Control {
        let timeouts = facts.classes.iter().map(|class| class.timeout_ns);
        Control {
            start_ns: AtomicU64::new(0),
            window_from_ns: AtomicU64::new(u64::MAX),
            stop_ns: AtomicU64::new(u64::MAX),
            sends_until_ns: AtomicU64::new(u64::MAX),
            sends_for_ns: timeouts.max().unwrap_or(0),
            hangs_up_ns: AtomicU64::new(u64::MAX),
        }
    }

    #[inline]
    pub fn window_from_ns(&self) -> u64 {
        self.window_from_ns.load(Ordering::Relaxed)
    }

    pub fn sends_until_ns(&self) -> u64 {
        self.sends_until_ns.load(Ordering::Relaxed)
    }

    /// Sets the stop. From `stop_ns` on, no further operation becomes due. If the stop is set
    /// several times, the earliest time applies.
    pub fn stop_at(&self, stop_ns: u64) {
        let before_ns = self.stop_ns.fetch_min(stop_ns, Ordering::Relaxed);
        let until_ns = before_ns.min(stop_ns).saturating_add(self.sends_for_ns);
        self.sends_until_ns.fetch_min(until_ns, Ordering::Relaxed);
    }

    pub fn measure_from(&self, from_ns: u64) {
        self.window_from_ns.store(from_ns, Ordering::Relaxed);
    }

    /// Stops all sending at `now_ns`, and waits for operations in flight until `until_ns`.
    pub fn abandon(&self, now_ns: u64, until_ns: u64) {
        self.stop_at(now_ns);
        self.sends_until_ns.store(0, Ordering::Relaxed);
        self.hangs_up_ns.fetch_min(until_ns, Ordering::Relaxed);
    }

    pub fn hangs_up_ns(&self) -> u64 {
        self.hangs_up_ns.load(Ordering::Relaxed)
    }

    pub fn start_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
    }

    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// Returns the time of the start line on the monotonic clock, in ns. The time is 0 before the
    /// start line is set.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }
}
