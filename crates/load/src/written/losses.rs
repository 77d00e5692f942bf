//! Of acknowledged writes that are not seen: which of them something that broke explains, by when
//! they were acknowledged.
//!
//! What must hold: a loss is called unexplained only where it is proven: the write was acknowledged
//! before or after every time at which writes may have been lost, whatever lies between its sending
//! and its acknowledgement.

use super::{RowWrites, TICK_NS, Written};
use crate::missed_rows::MISSED_ROWS_MAX;
use measure::Missed;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// When acknowledged writes may have been lost, and what was found of those that are.
#[derive(Debug)]
pub(crate) struct Losses {
    /// From a tick to another.
    spans: Vec<[u32; 2]>,
    unexplained: AtomicU64,
    /// When the oldest of all that are lost was acknowledged, in ticks; [`NEVER`]: none is lost.
    oldest: AtomicU32,
    /// Rows as they were found.
    examples: Mutex<Vec<(u64, Missed, u32)>>,
}

/// A row that is not as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedRow {
    /// Its number in the workload.
    pub row: u64,
    /// What it is.
    pub missed: Missed,
    /// When the last of its writes that are missed was acknowledged at the latest, monotonic clock,
    /// ns; none for what was loaded, and where nobody knows.
    pub acknowledged_ns: Option<u64>,
}

const NEVER: u32 = u32::MAX;

/// What was found of lost writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Rows of which a write is lost that nothing explains.
    pub unexplained: u64,
    /// When the oldest of all lost writes was acknowledged at the latest, monotonic clock, ns: for
    /// one of the load the begin of the main stage. None if none is lost, or nobody knows.
    pub oldest_ns: Option<u64>,
    /// The first rows that were found.
    pub rows: Vec<MissedRow>,
}

impl Default for Losses {
    fn default() -> Losses {
        Losses {
            spans: Vec::new(),
            unexplained: AtomicU64::new(0),
            oldest: AtomicU32::new(NEVER),
            examples: Mutex::default(),
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
        self.examples = Mutex::default();
    }

    /// Counts a row of which these writes are lost, each from when it was sent to when it was
    /// acknowledged.
    pub fn note(&self, row: u64, missed: Missed, writes: impl Iterator<Item = [u32; 2]>) {
        let mut is_explained = true;
        let mut last = 0;
        for [sent, done] in writes {
            last = done.max(last);
            let mut spans = self.spans.iter();
            is_explained &= spans.any(|[from, to]| done >= *from && sent <= *to);
            self.oldest.fetch_min(done, Ordering::Relaxed);
        }
        if !is_explained {
            self.unexplained.fetch_add(1, Ordering::Relaxed);
        }
        self.name(row, missed, last);
    }

    /// Names a row that is not as it should be: the tick at which that was acknowledged, 0 where
    /// nobody knows.
    pub fn name(&self, row: u64, missed: Missed, acknowledged: u32) {
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        if examples.len() < MISSED_ROWS_MAX {
            examples.push((row, missed, acknowledged));
        }
    }

    /// The first rows that were found, as [`Losses::name`] was told of them.
    pub fn named(&self) -> Vec<(u64, Missed, u32)> {
        let examples = self.examples.lock();
        examples.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Rows with a loss that nothing explains, and the tick of the oldest of all.
    pub fn found(&self) -> (u64, Option<u32>) {
        let oldest = self.oldest.load(Ordering::Relaxed);
        let known = (oldest != NEVER).then_some(oldest);
        (self.unexplained.load(Ordering::Relaxed), known)
    }
}

impl Written {
    /// What was acknowledged between these times may have been lost, monotonic clock, ns.
    pub fn may_lose(&mut self, span_ns: Range<u64>) {
        let Some(epoch_ns) = self.epoch_ns else {
            return;
        };
        let from = if span_ns.start > epoch_ns {
            self.ticks(span_ns.start)
        } else {
            // What was loaded too.
            0
        };
        let to = self.ticks(span_ns.end).saturating_add(1);
        self.losses.allow([from, to]);
    }

    /// Counts lost writes from nothing on.
    pub fn begin_losses(&mut self) {
        self.losses.begin();
    }

    /// What was found of lost writes since then.
    pub fn lost(&self) -> Lost {
        let (unexplained, oldest) = self.losses.found();
        let ns = |tick: u32| {
            let since_ns = u64::from(tick.saturating_sub(1)) * TICK_NS;
            Some(self.epoch_ns? + since_ns)
        };
        let named = self.losses.named().into_iter();
        let rows = named.map(|(row, missed, acknowledged)| MissedRow {
            row,
            missed,
            acknowledged_ns: (acknowledged > 0).then(|| ns(acknowledged)).flatten(),
        });
        Lost {
            unexplained,
            oldest_ns: oldest.and_then(ns),
            rows: rows.collect(),
        }
    }

    /// A row is not there. Its last acknowledged write is lost, and what was loaded if it was never
    /// deleted.
    pub(crate) fn note_missing(&self, number: u64, row: &RowWrites) {
        let last = (row.write_sent > 0).then_some([row.write_sent, row.write_done]);
        let is_loaded = row.delete_ended == 0 && self.is_loaded(number) == Some(true);
        let loaded = is_loaded.then_some([0, 0]);
        let writes = last.into_iter().chain(loaded);
        self.losses.note(number, Missed::Lost, writes);
    }

    /// An older value is there than the last one that was acknowledged.
    pub(crate) fn note_stale(&self, number: u64, row: &RowWrites) {
        let last = std::iter::once([row.write_sent, row.write_done]);
        self.losses.note(number, Missed::Stale, last);
    }

    /// A deletion is lost.
    pub(crate) fn note_resurrected(&self, number: u64, row: &RowWrites) {
        let last = std::iter::once([row.delete_sent, row.delete_done]);
        self.losses.note(number, Missed::Resurrected, last);
    }

    /// A value that nobody has written.
    pub(crate) fn note_wrong(&self, number: u64) {
        self.losses.name(number, Missed::Wrong, 0);
    }
}
