//! Attributes lost acknowledged writes to faults, using the times at which the writes were
//! acknowledged.
//!
//! Invariant: a loss counts as unexplained only if this is proven. For the proof, consider the
//! interval between the sending and the acknowledgement of the write. It must not overlap any span
//! in which faults may have lost writes.

use super::{EarlierWrites, RowWrites, TICK_NS};
use crate::missed_rows::MISSED_ROWS_MAX;
use measure::WriteMismatch;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Spans in which acknowledged writes may have been lost, and the losses that were found.
#[derive(Debug)]
pub(crate) struct Losses {
    /// Spans in which writes may have been lost, each as its first and its last tick.
    spans: Vec<[u32; 2]>,
    unexplained: AtomicU64,
    /// Tick at which the oldest lost write was acknowledged. [`NEVER`] if no write is lost.
    oldest: AtomicU32,
    /// Examples of rows that were not as expected.
    examples: Mutex<Vec<(u64, WriteMismatch, u32)>>,
}

/// Row whose read was not as expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissedRow {
    /// Number of the row in the workload.
    pub row: u64,
    /// Kind of the error.
    pub missed: WriteMismatch,
    /// Latest time at which the missing write of the row may have been acknowledged, in ns of the
    /// monotonic clock. `None` for loaded values, or if the time is unknown.
    pub acknowledged_ns: Option<u64>,
}

const NEVER: u32 = u32::MAX;

/// Losses of acknowledged writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Number of rows with a lost write that no fault explains.
    pub unexplained: u64,
    /// Latest time at which the oldest lost write may have been acknowledged, in ns of the
    /// monotonic clock. If the oldest loss is a loaded value, this is the start of the main stage.
    /// `None` if no write is lost, or if the time is unknown.
    pub oldest_ns: Option<u64>,
    /// The first rows with lost writes.
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
    /// Allows the loss of writes that were acknowledged in this span of ticks.
    pub fn allow(&mut self, span: [u32; 2]) {
        self.spans.push(span);
    }

    pub fn begin(&mut self) {
        self.unexplained = AtomicU64::new(0);
        self.oldest = AtomicU32::new(NEVER);
        self.examples = Mutex::default();
    }

    /// Counts a row whose writes in `writes` are lost. Each write consists of the ticks at which it
    /// was sent and acknowledged.
    pub fn note(&self, row: u64, missed: WriteMismatch, writes: impl Iterator<Item = [u32; 2]>) {
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

    /// Adds a row that was not as expected to the examples, with the tick at which its write was
    /// acknowledged (0 if unknown).
    pub fn name(&self, row: u64, missed: WriteMismatch, acknowledged: u32) {
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        if examples.len() < MISSED_ROWS_MAX {
            examples.push((row, missed, acknowledged));
        }
    }

    pub fn first_rows(&self) -> Vec<(u64, WriteMismatch, u32)> {
        let examples = self.examples.lock();
        examples.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of rows with an unexplained loss, and the tick of the oldest loss.
    pub fn found(&self) -> (u64, Option<u32>) {
        let oldest = self.oldest.load(Ordering::Relaxed);
        let known = (oldest != NEVER).then_some(oldest);
        (self.unexplained.load(Ordering::Relaxed), known)
    }
}

impl EarlierWrites {
    /// Allows the loss of writes that were acknowledged in this time span, in ns of the monotonic
    /// clock.
    pub fn may_lose(&mut self, span_ns: Range<u64>) {
        let Some(epoch_ns) = self.epoch_ns else {
            return;
        };
        let from = if span_ns.start > epoch_ns {
            self.ticks(span_ns.start)
        } else {
            // The span then also includes tick 0, and with it the loaded values.
            0
        };
        let to = self.ticks(span_ns.end).saturating_add(1);
        self.losses.allow([from, to]);
    }

    /// Resets the counts of lost writes.
    pub fn begin_losses(&mut self) {
        self.losses.begin();
    }

    /// Returns the losses since the last reset.
    pub fn lost(&self) -> Lost {
        let (unexplained, oldest) = self.losses.found();
        let ns = |tick: u32| {
            let since_ns = u64::from(tick.saturating_sub(1)) * TICK_NS;
            Some(self.epoch_ns? + since_ns)
        };
        let named = self.losses.first_rows().into_iter();
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

    /// Records that a row is missing. Its last acknowledged write is lost. The loaded value is also
    /// lost, unless the row was deleted.
    pub(crate) fn note_missing(&self, number: u64, row: &RowWrites) {
        let last = (row.write_sent > 0).then_some([row.write_sent, row.write_done]);
        let is_loaded = row.delete_ended == 0 && self.is_loaded(number) == Some(true);
        let loaded = is_loaded.then_some([0, 0]);
        let writes = last.into_iter().chain(loaded);
        self.losses.note(number, WriteMismatch::Lost, writes);
    }

    pub(crate) fn note_stale(&self, number: u64, row: &RowWrites) {
        let last = std::iter::once([row.write_sent, row.write_done]);
        self.losses.note(number, WriteMismatch::Stale, last);
    }

    pub(crate) fn note_resurrected(&self, number: u64, row: &RowWrites) {
        let last = std::iter::once([row.delete_sent, row.delete_done]);
        self.losses.note(number, WriteMismatch::Resurrected, last);
    }

    pub(crate) fn note_wrong(&self, number: u64) {
        self.losses.name(number, WriteMismatch::Wrong, 0);
    }
}
