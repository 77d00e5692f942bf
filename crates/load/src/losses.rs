//! Of acknowledged writes that are not seen: which of them something that broke explains, by when
//! they were acknowledged.
//!
//! What must hold: a loss is called unexplained only where it is proven: the write was acknowledged
//! before or after every time at which writes may have been lost, whatever lies between its sending
//! and its acknowledgement.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// When acknowledged writes may have been lost, and what was found of those that are.
#[derive(Debug)]
pub(crate) struct Losses {
    /// From a tick to another.
    spans: Vec<[u32; 2]>,
    unexplained: AtomicU64,
    /// When the oldest of all that are lost was acknowledged, in ticks; [`NEVER`]: none is lost.
    oldest: AtomicU32,
}

const NEVER: u32 = u32::MAX;

/// What was found of lost writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Rows of which a write is lost that nothing explains.
    pub unexplained: u64,
    /// When the oldest of all lost writes was acknowledged at the latest, monotonic clock, ns: for
    /// one of the load the begin of the main stage. None if none is lost, or nobody knows.
    pub oldest_ns: Option<u64>,
}

impl Default for Losses {
    fn default() -> Losses {
        Losses {
            spans: Vec::new(),
            unexplained: AtomicU64::new(0),
            oldest: AtomicU32::new(NEVER),
        }
    }
}

impl Losses {
    /// What is acknowledged from a tick to another may be lost.
    pub fn allow(&mut self, span: [u32; 2]) {
        self.spans.push(span);
    }

    /// Counts from nothing on.
    pub fn begin(&mut self) {
        self.unexplained = AtomicU64::new(0);
        self.oldest = AtomicU32::new(NEVER);
    }

    /// Counts a row of which these writes are lost, each from when it was sent to when it was
    /// acknowledged.
    pub fn note(&self, writes: impl Iterator<Item = [u32; 2]>) {
        let mut is_explained = true;
        for [sent, done] in writes {
            let mut spans = self.spans.iter();
            is_explained &= spans.any(|[from, to]| done >= *from && sent <= *to);
            self.oldest.fetch_min(done, Ordering::Relaxed);
        }
        if !is_explained {
            self.unexplained.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Rows with a loss that nothing explains, and the tick of the oldest of all.
    pub fn found(&self) -> (u64, Option<u32>) {
        let oldest = self.oldest.load(Ordering::Relaxed);
        let known = (oldest != NEVER).then_some(oldest);
        (self.unexplained.load(Ordering::Relaxed), known)
    }
}
