//! The ledger of a run's writes: which were acknowledged, so that a read afterwards can tell what
//! was lost from what was never written.
//!
//! Two bits per operation. Each worker writes its own part, in the order of its own operations; a
//! part grows in chunks, or is there whole before the start line when the number of operations is
//! known. What must hold: [`WriteState::Acknowledged`] is never said of a write that the server
//! did not answer with success.

/// Operations per chunk: 1 MiB, an allocation every few seconds at a million writes a second.
const CHUNK_OPERATIONS: u64 = 1 << 22;
/// The most operations that the ledger of a run keeps: 256 MiB. What is beyond is of unknown state.
pub const LEDGER_OPERATIONS_MAX: u64 = 1 << 30;
const STATES_PER_BYTE: u64 = 4;

/// What is known of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteState {
    /// Never sent, or its condition did not hold, or no write at all: it has changed nothing.
    NotSent = 0,
    /// The server has acknowledged it.
    Acknowledged = 1,
    /// Sent and not acknowledged, or beyond what the ledger keeps: it may have been done.
    Unknown = 2,
}

/// The ledger of one worker: operation `first + k * step` is its number `k`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerPart {
    first: u64,
    step: u64,
    operations_max: u64,
    chunks: Vec<Box<[u8]>>,
}

impl LedgerPart {
    /// An empty part for at most `operations_max` operations, with room for `expected`.
    pub fn new(first: u64, step: u64, operations_max: u64, expected: u64) -> LedgerPart {
        let mut part = LedgerPart {
            first,
            step: step.max(1),
            operations_max,
            chunks: Vec::new(),
        };
        let chunks = expected.min(operations_max).div_ceil(CHUNK_OPERATIONS);
        part.grow(chunks as usize);
        part
    }

    /// Writes down the state of the operation with this number, one of this worker's.
    #[inline]
    pub fn set(&mut self, number: u64, state: WriteState) {
        let index = (number - self.first) / self.step;
        if index >= self.operations_max {
            return;
        }
        let chunk = (index / CHUNK_OPERATIONS) as usize;
        if chunk >= self.chunks.len() {
            self.grow(chunk + 1);
        }
        let within = index % CHUNK_OPERATIONS;
        let byte = &mut self.chunks[chunk][(within / STATES_PER_BYTE) as usize];
        let shift = 2 * (within % STATES_PER_BYTE);
        *byte = *byte & !(3 << shift) | (state as u8) << shift;
    }

    #[cold]
    fn grow(&mut self, chunks: usize) {
        let bytes = (CHUNK_OPERATIONS / STATES_PER_BYTE) as usize;
        self.chunks
            .resize_with(chunks, || vec![0; bytes].into_boxed_slice());
    }

    fn state(&self, index: u64) -> WriteState {
        if index >= self.operations_max {
            return WriteState::Unknown;
        }
        let within = index % CHUNK_OPERATIONS;
        let chunk = self.chunks.get((index / CHUNK_OPERATIONS) as usize);
        let byte = chunk.map_or(0, |chunk| chunk[(within / STATES_PER_BYTE) as usize]);
        match byte >> (2 * (within % STATES_PER_BYTE)) & 3 {
            0 => WriteState::NotSent,
            1 => WriteState::Acknowledged,
            _ => WriteState::Unknown,
        }
    }
}

/// The ledger of a whole run.
#[derive(Debug)]
pub struct Ledger {
    first: u64,
    /// By worker; worker `w` has the operations `first + w`, `first + w + workers`, ….
    parts: Vec<LedgerPart>,
}

impl Ledger {
    /// Puts the parts of all workers together; part `w` is worker `w`'s.
    pub(crate) fn new(first: u64, parts: Vec<LedgerPart>) -> Ledger {
        Ledger { first, parts }
    }

    /// What is known of the write with this operation number.
    pub fn state(&self, number: u64) -> WriteState {
        let Some(index) = number.checked_sub(self.first) else {
            return WriteState::NotSent;
        };
        let workers = self.parts.len().max(1) as u64;
        let part = self.parts.get((index % workers) as usize);
        part.map_or(WriteState::NotSent, |part| part.state(index / workers))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        let chunks: usize = self.parts.iter().map(|part| part.chunks.len()).sum();
        chunks as u64 * CHUNK_OPERATIONS / STATES_PER_BYTE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const STATES: [WriteState; 3] = [
        WriteState::NotSent,
        WriteState::Acknowledged,
        WriteState::Unknown,
    ];

    proptest! {
        #[test]
        fn the_ledger_of_all_workers_says_what_each_has_written_down(
            first in 0u64..100,
            workers in 1u64..5,
            writes in prop::collection::vec((0u64..3 * CHUNK_OPERATIONS, 0usize..3), 0..50),
            expected in 0u64..CHUNK_OPERATIONS * 2,
        ) {
            let mut parts: Vec<LedgerPart> = (0..workers)
                .map(|w| LedgerPart::new(first + w, workers, u64::MAX, expected))
                .collect();
            let mut model = HashMap::new();
            for (index, state) in writes {
                parts[(index % workers) as usize].set(first + index, STATES[state]);
                model.insert(first + index, STATES[state]);
            }
            let ledger = Ledger::new(first, parts);
            for (&number, &state) in &model {
                prop_assert_eq!(ledger.state(number), state);
                for other in [number.wrapping_sub(1), number + 1] {
                    let known = model.get(&other).copied().unwrap_or(WriteState::NotSent);
                    prop_assert_eq!(ledger.state(other), known);
                }
            }
        }
    }

    #[test]
    fn beyond_its_limit_a_ledger_knows_nothing_and_takes_nothing() {
        let mut part = LedgerPart::new(0, 1, 10, u64::MAX);
        part.set(9, WriteState::Acknowledged);
        part.set(10, WriteState::Acknowledged);
        let ledger = Ledger::new(0, vec![part]);
        assert_eq!(ledger.state(9), WriteState::Acknowledged);
        assert_eq!(ledger.state(10), WriteState::Unknown);
        assert_eq!(ledger.bytes(), CHUNK_OPERATIONS / STATES_PER_BYTE);
    }
}
