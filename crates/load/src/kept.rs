//! What a client has written down of its operations, in pieces: for another process that puts
//! together what all clients of a run have.

use crate::config::Summary;
use crate::history::History;
use crate::ledger::{Keeps, Ledger};
use std::sync::Arc;

measure::word_enum! {
    /// What a piece is of.
    pub enum KeptWhat {
        /// Which writes were acknowledged.
        States = "states",
        /// When they were sent and acknowledged.
        Times = "times",
        /// What was asked of registers and answered.
        Operations = "operations",
        /// From when on there was no room for such operations, and how many they were.
        Beyond = "beyond",
    }
}

/// A piece of what one worker has written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptPiece {
    /// What it is of.
    pub what: KeptWhat,
    /// Number of the worker's first operation: whose it is.
    pub first: u64,
    /// Where it belongs: the number of a chunk, or of the first operation in it.
    pub chunk: usize,
    /// Bytes of the chunk before it.
    pub at: usize,
    /// What stands there.
    pub bytes: Vec<u8>,
}

/// A run of several clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptOf {
    /// Its first operation.
    pub first: u64,
    /// The workers of all clients.
    pub workers: u64,
    /// The start line, monotonic clock, ns.
    pub start_ns: u64,
    /// What was to be written down.
    pub keeps: Keeps,
}

/// How times of a client become ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TheirTime {
    /// How far its clock is ahead of ours, ns.
    pub ahead_ns: i64,
    /// The truth is not further away than that, ns.
    pub bound_ns: u64,
}

impl TheirTime {
    /// A time of ours that is not after a time of theirs; 0, which is none, stays.
    pub(crate) fn before(self, theirs_ns: u64) -> u64 {
        match theirs_ns {
            0 => 0,
            ns => self.ours(ns).saturating_sub(self.bound_ns).max(1),
        }
    }

    /// A time of ours that is not before a time of theirs; 0, which is none, stays.
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
    /// What was written down, in pieces of at most `bytes_max`.
    pub fn pieces(&self, bytes_max: usize) -> impl Iterator<Item = KeptPiece> + '_ {
        let ledger = self.ledger.iter().flat_map(move |ledger| ledger.pieces(bytes_max));
        let history = self.history.iter().flat_map(move |history| history.pieces(bytes_max));
        ledger.chain(history)
    }
}

/// What all clients of a run have written down, put together.
#[derive(Debug)]
pub struct KeptRecords {
    ledger: Option<Ledger>,
    history: Option<History>,
}

impl KeptRecords {
    /// Nothing yet.
    pub fn new(all: KeptOf) -> KeptRecords {
        KeptRecords {
            ledger: (all.keeps != Keeps::Nothing).then(|| Ledger::of_all(all)),
            history: (all.keeps == Keeps::History).then(|| History::of_all(all)),
        }
    }

    /// Puts a piece of a client in its place. None: it belongs nowhere.
    pub fn add(&mut self, piece: &KeptPiece, time: TheirTime) -> Option<()> {
        match piece.what {
            KeptWhat::States | KeptWhat::Times => self.ledger.as_mut()?.take_over(piece),
            KeptWhat::Operations | KeptWhat::Beyond => {
                self.history.as_mut()?.take_over(piece, time)
            }
        }
    }

    /// Both, for a summary.
    pub fn finish(self) -> (Option<Arc<Ledger>>, Option<Arc<History>>) {
        (self.ledger.map(Arc::new), self.history.map(Arc::new))
    }
}

#[cfg(test)]
mod tests;
