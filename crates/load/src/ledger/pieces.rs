//! Divides a ledger into pieces, for transfer to the client that joins the pieces of all clients.

use super::{
    CHUNK_OPERATIONS, CHUNK_TIMES, LEDGER_OPERATIONS_MAX, Ledger, LedgerPart, Numbers,
    STATES_PER_BYTE, TIMED_OPERATIONS_MAX,
};
use crate::record_pieces::{ClientRecords, RecordKind, RecordPiece};

impl Ledger {
    /// Returns the contents of the parts in pieces of at most `bytes_max` bytes. Omits pieces that
    /// contain only zeros.
    pub(crate) fn pieces(&self, bytes_max: usize) -> impl Iterator<Item = RecordPiece> + '_ {
        self.parts.iter().flat_map(move |part| {
            let states = part.chunks.iter().map(|chunk| (RecordKind::States, chunk.to_vec()));
            let times = part.times.iter().map(|chunk| {
                let bytes = chunk.iter().flat_map(|word| word.to_le_bytes());
                (RecordKind::Times, bytes.collect())
            });
            let numbered = states.enumerate().chain(times.enumerate());
            numbered.flat_map(move |(chunk, (what, bytes))| {
                let cut = bytes.chunks(bytes_max).enumerate();
                let holding = cut.filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
                let pieces = holding.map(|(number, bytes)| RecordPiece {
                    what,
                    first: part.first,
                    chunk,
                    at: number * bytes_max,
                    bytes: bytes.to_vec(),
                });
                pieces.collect::<Vec<_>>()
            })
        })
    }

    /// Creates an empty ledger for the pieces of all clients.
    pub(crate) fn collect(all: ClientRecords) -> Ledger {
        let step = all.workers.max(1);
        let part = |worker| LedgerPart {
            timed_max: TIMED_OPERATIONS_MAX / step,
            start_ns: all.start_ns,
            ..LedgerPart::new(all.first + worker, step, LEDGER_OPERATIONS_MAX / step, 0)
        };
        let numbers = Numbers {
            first: all.first,
            step,
            before: 0,
        };
        Ledger::new(numbers, (0..step).map(part).collect())
    }

    /// Inserts a piece at its position. Returns `None` if the piece does not fit into the ledger.
    pub(crate) fn take_over(&mut self, piece: &RecordPiece) -> Option<()> {
        let worker = piece.first.checked_sub(self.numbers.first)?;
        let part = self.parts.get_mut(usize::try_from(worker).ok()?)?;
        match piece.what {
            RecordKind::States => part.take_states(piece),
            RecordKind::Times => part.take_times(piece),
            RecordKind::Operations | RecordKind::Beyond => None,
        }
    }
}

impl LedgerPart {
    fn take_states(&mut self, piece: &RecordPiece) -> Option<()> {
        let end = piece.at.checked_add(piece.bytes.len())?;
        let fits = end <= (CHUNK_OPERATIONS / STATES_PER_BYTE) as usize;
        let chunks_max = self.operations_max.div_ceil(CHUNK_OPERATIONS);
        (fits && (piece.chunk as u64) < chunks_max).then_some(())?;
        if piece.chunk >= self.chunks.len() {
            self.grow(piece.chunk + 1);
        }
        self.chunks[piece.chunk][piece.at..end].copy_from_slice(&piece.bytes);
        Some(())
    }

    fn take_times(&mut self, piece: &RecordPiece) -> Option<()> {
        let (words, rest) = piece.bytes.as_chunks();
        let begin = piece.at / size_of::<u64>();
        let fits = rest.is_empty()
            && piece.at.is_multiple_of(size_of::<u64>())
            && begin + words.len() <= CHUNK_TIMES as usize;
        let chunks_max = self.timed_max.div_ceil(CHUNK_TIMES);
        (fits && (piece.chunk as u64) < chunks_max).then_some(())?;
        if piece.chunk >= self.times.len() {
            self.grow_times(piece.chunk + 1);
        }
        for (to, word) in self.times[piece.chunk][begin..].iter_mut().zip(words) {
            *to = u64::from_le_bytes(*word);
        }
        Some(())
    }
}
