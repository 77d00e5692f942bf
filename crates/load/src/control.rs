//! What the caller and the workers share: a few words, which workers read once per turn.

use crate::facts::Facts;
use std::sync::atomic::{AtomicU64, Ordering};

/// Times of the run, on the monotonic clock.
#[derive(Debug)]
pub(crate) struct Control {
    start_ns: AtomicU64,
    window_from_ns: AtomicU64,
    stop_ns: AtomicU64,
    /// Until when the drain sends what was due before the stop.
    sends_until_ns: AtomicU64,
    /// How long after the stop that is.
    sends_for_ns: u64,
    /// From when on nobody waits for answers any more.
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

    /// When the measured window begins, monotonic clock.
    #[inline]
    pub fn window_from_ns(&self) -> u64 {
        self.window_from_ns.load(Ordering::Relaxed)
    }

    /// Until when what was due before the stop is sent, monotonic clock.
    pub fn sends_until_ns(&self) -> u64 {
        self.sends_until_ns.load(Ordering::Relaxed)
    }

    /// Nothing becomes due from `stop_ns` on. The first stop holds.
    pub fn stop_at(&self, stop_ns: u64) {
        let before_ns = self.stop_ns.fetch_min(stop_ns, Ordering::Relaxed);
        let until_ns = before_ns.min(stop_ns).saturating_add(self.sends_for_ns);
        self.sends_until_ns.fetch_min(until_ns, Ordering::Relaxed);
    }

    /// The measured window begins at `from_ns`.
    pub fn measure_from(&self, from_ns: u64) {
        self.window_from_ns.store(from_ns, Ordering::Relaxed);
    }

    /// Nothing more is sent from `now_ns` on, and what is in flight is awaited until `until_ns`.
    pub fn abandon(&self, now_ns: u64, until_ns: u64) {
        self.stop_at(now_ns);
        self.sends_until_ns.store(0, Ordering::Relaxed);
        self.hangs_up_ns.fetch_min(until_ns, Ordering::Relaxed);
    }

    /// From when on nobody waits for answers any more, monotonic clock.
    pub fn hangs_up_ns(&self) -> u64 {
        self.hangs_up_ns.load(Ordering::Relaxed)
    }

    /// Draws the start line.
    pub fn start_at(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Ordering::Relaxed);
    }

    /// When issuing stops, monotonic clock.
    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// The start line, monotonic clock; 0 before it is drawn.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }
}
