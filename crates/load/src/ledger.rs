//! Ledger of a run's writes. It records which writes were acknowledged, so that a later read can
//! distinguish lost writes from writes that never happened. It can also record the times of writes,
//! from which the order of two writes to one row follows.
//!
//! The ledger takes two bits per operation, and eight additional bytes per operation if it records
//! times. Each worker writes a separate part of the ledger, in the order of its operations. A part
//! grows in chunks, or is allocated before the start line if the number of operations is known.
//! Invariants: a write is [`WriteState::Acknowledged`] only if the server reported success. A write
//! takes effect between its two times.

mod pieces;

/// Number of operations per chunk. A chunk takes 1 MiB, so at a million writes per second a worker
/// allocates a chunk every few seconds.
const CHUNK_OPERATIONS: u64 = 1 << 22;
/// Maximum number of operations in the ledger of a run. They take 256 MiB. The states of further
/// operations are unknown.
pub const LEDGER_OPERATIONS_MAX: u64 = 1 << 30;
const STATES_PER_BYTE: u64 = 4;
/// Maximum number of operations with times in the ledger of a run. The times take 512 MiB. For
/// further operations, the ledger only shows that they were sent after the start line.
pub const TIMED_OPERATIONS_MAX: u64 = 1 << 26;
/// Number of operations per chunk of times. A chunk takes 1 MiB.
const CHUNK_TIMES: u64 = 1 << 17;
/// Unit of recorded times, in ns. The clocks that order writes may differ by a millisecond, and the
/// unit is fine compared with this. It is also coarse enough for five days in 32 bits.
const TICK_NS: u64 = 100_000;

/// Records that a run keeps of its writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerMode {
    /// The run does not keep records.
    #[default]
    Nothing,
    /// Records only whether each write was acknowledged. This takes two bits per operation, at most
    /// 256 MiB.
    States,
    /// Records the states, and the times at which each write was sent and acknowledged. The times
    /// take eight bytes per operation, at most 512 MiB.
    Times,
    /// Records the states and times, and the requests to registers with their responses. The
    /// requests and responses take 32 bytes per operation, at most 32 MiB.
    History,
}

impl LedgerMode {
    pub(crate) fn times(self) -> bool {
        matches!(self, LedgerMode::Times | LedgerMode::History)
    }
}

/// Knowledge about the effect of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WriteState {
    /// The operation has changed nothing. It was never sent, its condition did not hold, or it is
    /// not a write.
    NotSent = 0,
    /// The server has acknowledged the write.
    Acknowledged = 1,
    /// The write may have been applied. Either it was sent but not acknowledged, or it is beyond
    /// the ledger's limit.
    Unknown = 2,
}

/// Times at which one write was sent and acknowledged, in ticks after the start line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    /// Lower bound of the send time.
    sent: u32,
    /// Upper bound of the acknowledgement time. It is 0 if the write was not acknowledged, or if
    /// the time is unknown.
    acknowledged: u32,
}

impl Times {
    /// Packs both times into one number. A number of 0 means no times, so that the ledger can use
    /// zeroed memory without writing to it.
    fn packed(self) -> u64 {
        u64::from(self.acknowledged) << 32 | u64::from(self.sent)
    }

    fn unpack(packed: u64) -> Times {
        Times {
            sent: packed as u32,
            acknowledged: (packed >> 32) as u32,
        }
    }
}

/// Ledger of one worker. Entry `k` of the ledger belongs to operation `first + k * step`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerPart {
    first: u64,
    step: u64,
    operations_max: u64,
    chunks: Vec<Box<[u8]>>,
    timed_max: u64,
    start_ns: u64,
    /// Send and acknowledgement times of each write, in ticks. The two times of a write are packed
    /// into one word.
    times: Vec<Box<[u64]>>,
}

impl LedgerPart {
    /// Creates an empty part for at most `operations_max` operations. Allocates memory for
    /// `expected` operations at once.
    pub fn new(first: u64, step: u64, operations_max: u64, expected: u64) -> LedgerPart {
        let mut part = LedgerPart {
            first,
            step: step.max(1),
            operations_max,
            ..LedgerPart::default()
        };
        let chunks = expected.min(operations_max).div_ceil(CHUNK_OPERATIONS);
        part.grow(chunks as usize);
        part
    }

    /// Records the state of the operation with this number, which must belong to this worker.
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

    /// Makes the part also record the times of at most `timed_max` operations.
    pub fn timed(mut self, timed_max: u64, expected: u64) -> LedgerPart {
        self.timed_max = timed_max;
        let chunks = expected.min(timed_max).div_ceil(CHUNK_TIMES);
        self.grow_times(chunks as usize);
        self
    }

    pub fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// Records the first send of the operation with this number.
    #[inline]
    pub fn sent(&mut self, number: u64, now_ns: u64) {
        let ticks = now_ns.saturating_sub(self.start_ns) / TICK_NS;
        if let Some(times) = self.times_of(number) {
            let (sent, acknowledged) = (ticks as u32, 0);
            *times = Times { sent, acknowledged }.packed();
        }
    }

    #[inline]
    pub fn acknowledged(&mut self, number: u64, now_ns: u64) {
        let ticks = now_ns.saturating_sub(self.start_ns) / TICK_NS;
        if let Some(times) = self.times_of(number) {
            let sent = Times::unpack(*times).sent;
            let acknowledged = ticks as u32 + 1;
            *times = Times { sent, acknowledged }.packed();
        }
    }

    #[inline]
    fn times_of(&mut self, number: u64) -> Option<&mut u64> {
        let index = (number - self.first) / self.step;
        if index >= self.timed_max {
            return None;
        }
        let chunk = (index / CHUNK_TIMES) as usize;
        if chunk >= self.times.len() {
            self.grow_times(chunk + 1);
        }
        Some(&mut self.times[chunk][(index % CHUNK_TIMES) as usize])
    }

    #[cold]
    fn grow_times(&mut self, chunks: usize) {
        self.times
            .resize_with(chunks, || vec![0; CHUNK_TIMES as usize].into_boxed_slice());
    }

    fn times(&self, index: u64) -> Option<Times> {
        let chunk = self.times.get((index / CHUNK_TIMES) as usize)?;
        (index < self.timed_max).then(|| Times::unpack(chunk[(index % CHUNK_TIMES) as usize]))
    }

    #[cold]
    fn grow(&mut self, chunks: usize) {
        let bytes = (CHUNK_OPERATIONS / STATES_PER_BYTE) as usize;
        self.chunks.resize_with(chunks, || vec![0; bytes].into_boxed_slice());
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

/// Assignment of operations to workers. Worker `w` of this client has the operations `first +
/// before + w`, `first + before + w + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// First operation of the run.
    pub first: u64,
    /// Number of workers of all clients that share the load.
    pub step: u64,
    /// Number of workers of other clients with lower numbers than the workers of this client.
    pub before: u64,
}

impl Numbers {
    /// Returns the assignment for a client that shares the load with no other client.
    #[cfg(test)]
    pub fn alone(first: u64, workers: usize) -> Numbers {
        Numbers {
            first,
            step: workers as u64,
            before: 0,
        }
    }

    /// Returns the worker of this client to which an operation belongs, and the index of the
    /// operation in that worker. Returns `None` if the operation belongs to another client, or if
    /// it precedes the first operation.
    pub fn place(self, number: u64) -> Option<(usize, u64)> {
        let index = number.checked_sub(self.first)?;
        let step = self.step.max(1);
        let worker = (index % step).checked_sub(self.before)?;
        Some((worker as usize, index / step))
    }
}

/// Ledger of a whole run.
#[derive(Debug)]
pub struct Ledger {
    numbers: Numbers,
    start_ns: u64,
    parts: Vec<LedgerPart>,
}

impl Ledger {
    /// Joins the parts of all workers. Part `w` belongs to worker `w`.
    pub(crate) fn new(numbers: Numbers, parts: Vec<LedgerPart>) -> Ledger {
        let start_ns = parts.iter().map(|part| part.start_ns).max().unwrap_or(0);
        Ledger {
            numbers,
            start_ns,
            parts,
        }
    }

    /// Returns the state of the write with this operation number.
    pub fn state(&self, number: u64) -> WriteState {
        let found = self.part_of(number);
        found.map_or(WriteState::NotSent, |(part, index)| part.state(index))
    }

    /// Returns the time of the start line on the monotonic clock, in ns.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Returns a time at which the write with this number had not been sent yet, in ns of the
    /// monotonic clock. If the ledger has no time of this write, returns the start line.
    pub fn sent_after_ns(&self, number: u64) -> u64 {
        let times = self.times_of(number).unwrap_or_default();
        self.start_ns + u64::from(times.sent) * TICK_NS
    }

    /// Returns a time by which the write with this number had been acknowledged, in ns of the
    /// monotonic clock. Returns `None` if the write was not acknowledged, or if the time is
    /// unknown.
    pub fn done_before_ns(&self, number: u64) -> Option<u64> {
        let times = self.times_of(number)?;
        let is_done = self.state(number) == WriteState::Acknowledged && times.acknowledged > 0;
        is_done.then(|| self.start_ns + u64::from(times.acknowledged) * TICK_NS)
    }

    fn times_of(&self, number: u64) -> Option<Times> {
        let (part, index) = self.part_of(number)?;
        part.times(index)
    }

    /// Returns the part to which the operation belongs, and the index of the operation in that
    /// part.
    fn part_of(&self, number: u64) -> Option<(&LedgerPart, u64)> {
        let (worker, index) = self.numbers.place(number)?;
        Some((self.parts.get(worker)?, index))
    }

    /// Returns the size of the ledger in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let of = |part: &LedgerPart| {
            let states = part.chunks.len() as u64 * CHUNK_OPERATIONS / STATES_PER_BYTE;
            states + part.times.len() as u64 * CHUNK_TIMES * size_of::<u64>() as u64
        };
        self.parts.iter().map(of).sum()
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
            let ledger = Ledger::new(Numbers::alone(first, parts.len()), parts);
            for (&number, &state) in &model {
                prop_assert_eq!(ledger.state(number), state);
                for other in [number.wrapping_sub(1), number + 1] {
                    let known = model.get(&other).copied().unwrap_or(WriteState::NotSent);
                    prop_assert_eq!(ledger.state(other), known);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn the_effect_of_a_write_lies_between_its_times(
            workers in 1u64..4,
            start_ns in 0u64..1 << 40,
            writes in prop::collection::vec((0u64..1 << 42, 0u64..1 << 34), 1..50),
        ) {
            let part = |w| LedgerPart::new(w, workers, u64::MAX, 1).timed(u64::MAX, 1);
            let mut parts: Vec<LedgerPart> = (0..workers).map(part).collect();
            parts.iter_mut().for_each(|part| part.start(start_ns));
            for (number, &(sent_ns, took_ns)) in (0u64..).zip(&writes) {
                let part = &mut parts[(number % workers) as usize];
                part.set(number, WriteState::Acknowledged);
                part.sent(number, start_ns + sent_ns);
                part.acknowledged(number, start_ns + sent_ns + took_ns);
            }
            let ledger = Ledger::new(Numbers::alone(0, parts.len()), parts);
            for (number, &(sent_ns, took_ns)) in (0u64..).zip(&writes) {
                let sent_ns = start_ns + sent_ns;
                let after_ns = ledger.sent_after_ns(number);
                prop_assert!(after_ns <= sent_ns && sent_ns - after_ns < TICK_NS);
                let before_ns = ledger.done_before_ns(number).expect("it was acknowledged");
                let done_ns = sent_ns + took_ns;
                prop_assert!(before_ns >= done_ns && before_ns - done_ns <= TICK_NS);
            }
            prop_assert_eq!(ledger.done_before_ns(writes.len() as u64), None);
        }
    }

    #[test]
    fn of_writes_without_times_only_the_start_line_is_known() {
        let mut part = LedgerPart::new(5, 1, 10, 1).timed(2, 1);
        part.start(1_000_000);
        for number in 5..8 {
            part.set(number, WriteState::Acknowledged);
            part.sent(number, 2_000_000);
        }
        part.acknowledged(5, 3_000_000);
        part.acknowledged(7, 3_000_000);
        let ledger = Ledger::new(Numbers::alone(5, 1), vec![part]);
        assert_eq!(ledger.sent_after_ns(6), 2_000_000);
        assert_eq!(ledger.sent_after_ns(7), 1_000_000, "beyond its times");
        let done = [5, 6, 7].map(|number| ledger.done_before_ns(number));
        assert_eq!(done, [Some(3_100_000), None, None]);
    }

    #[test]
    fn beyond_its_limit_a_ledger_knows_nothing_and_takes_nothing() {
        let mut part = LedgerPart::new(0, 1, 10, u64::MAX);
        part.set(9, WriteState::Acknowledged);
        part.set(10, WriteState::Acknowledged);
        let ledger = Ledger::new(Numbers::alone(0, 1), vec![part]);
        assert_eq!(ledger.state(9), WriteState::Acknowledged);
        assert_eq!(ledger.state(10), WriteState::Unknown);
        assert_eq!(ledger.bytes(), CHUNK_OPERATIONS / STATES_PER_BYTE);
    }
}
