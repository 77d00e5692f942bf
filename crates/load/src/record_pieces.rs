//! Divides a client's records of its operations into pieces. Another process joins the records of
//! all clients of a run.

use crate::config::Summary;
use crate::ledger::{Ledger, LedgerMode};
use crate::register_history::History;
use std::sync::Arc;

measure::word_enum! {
    /// Kind of record to which a piece belongs.
    pub enum RecordKind {
        /// States of writes, such as acknowledged or unknown.
        States = "states",
        /// Times at which writes were sent and acknowledged.
        Times = "times",
        /// Requests to registers and their responses.
        Operations = "operations",
        /// Time from which on requests to registers were not recorded, because the history was
        /// full, and the number of these requests.
        Beyond = "beyond",
    }
}

/// Piece of the records of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPiece {
    /// Kind of record.
    pub what: RecordKind,
    /// Number of the worker's first operation, which identifies the worker.
    pub first: u64,
    /// Position of the piece. It is the number of the piece's chunk, or the number of its first
    /// operation.
    pub chunk: usize,
    /// Offset of the piece within the chunk, in bytes.
    pub at: usize,
    /// Bytes of the piece.
    pub bytes: Vec<u8>,
}

/// Properties of a run with several clients. The client that joins the records of all clients uses
/// these properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRecords {
    /// Number of the first operation of the run.
    pub first: u64,
    /// Number of workers of all clients.
    pub workers: u64,
    /// Time of the start line on the monotonic clock, in ns.
    pub start_ns: u64,
    /// Records that the run keeps of its writes.
    pub keeps: LedgerMode,
}

/// Conversion of a client's times to the local clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockConversion {
    /// Time by which the client's clock is ahead of the local clock, in ns.
    pub ahead_ns: i64,
    /// Bound on the error of `ahead_ns`, in ns.
    pub bound_ns: u64,
}

impl ClockConversion {
    /// Returns a local time that is certainly not after the client's time `theirs_ns`. A time of 0
    /// means no time and remains 0.
    pub(crate) fn before(self, theirs_ns: u64) -> u64 {
        match theirs_ns {
            0 => 0,
            ns => self.ours(ns).saturating_sub(self.bound_ns).max(1),
        }
    }

    /// Returns a local time that is certainly not before the client's time `theirs_ns`. A time of 0
    /// means no time and remains 0.
    pub(crate) fn after(self, theirs_ns: u64) -> u64 {
        match theirs_ns {
            0 => 0,
            ns => self.ours(ns).saturating_add(self.bound_ns).max(1),
        }
    }

    fn ours(self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(self.ahead_ns.saturating_neg())
    }
}

impl Summary {
    /// Returns the records in pieces of at most `bytes_max` bytes.
    pub fn pieces(&self, bytes_max: usize) -> impl Iterator<Item = RecordPiece> + '_ {
        let ledger = self.ledger.iter().flat_map(move |ledger| ledger.pieces(bytes_max));
        let history = self.history.iter().flat_map(move |history| history.pieces(bytes_max));
        ledger.chain(history)
    }
}

/// Joined records of all clients of a run.
#[derive(Debug)]
pub struct KeptRecords {
    ledger: Option<Ledger>,
    history: Option<History>,
}

impl KeptRecords {
    /// Creates empty records.
    pub fn new(all: ClientRecords) -> KeptRecords {
        KeptRecords {
            ledger: (all.keeps != LedgerMode::Nothing).then(|| Ledger::collect(all)),
            history: (all.keeps == LedgerMode::History).then(|| History::collect(all)),
        }
    }

    /// Inserts a client's piece at its position. Returns `None` if the piece does not fit.
    pub fn add(&mut self, piece: &RecordPiece, time: ClockConversion) -> Option<()> {
        match piece.what {
            RecordKind::States | RecordKind::Times => self.ledger.as_mut()?.take_over(piece),
            RecordKind::Operations | RecordKind::Beyond => {
                self.history.as_mut()?.take_over(piece, time)
            }
        }
    }

    /// Returns the joined ledger and history, with which the caller completes a summary.
    pub fn finish(self) -> (Option<Arc<Ledger>>, Option<Arc<History>>) {
        (self.ledger.map(Arc::new), self.history.map(Arc::new))
    }
}

#[cfg(test)]
mod tests;
