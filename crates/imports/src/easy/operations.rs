//! Generates the operations of a workload of cassandra-easy-stress. An operation has a key, a
//! statement and a value.
//!
//! Keys have the form of the tool's keys, which consist of the run's id, the thread and a number,
//! as in `001.0.42`. The operations of a run are assigned to the threads in turn. The tool makes
//! some random choices per thread. In cassay, these choices are a function of the seed and the
//! operation's number. The number of letters of a value is drawn as in the tool. The first letters
//! of a value encode the operation that wrote it, combined with a pad from the key. To Cassandra,
//! these letters are therefore as random as the other letters. Every value can be verified without
//! other values.

use std::sync::Arc;

use cql::response::{RawRows, Row};
use cql::template::append_value;
use cql::token::murmur3;
use workload::decimal::Decimal;
use workload::random::{Draws, lane, mix};
use workload::{Check, Operation, OperationEncoder, OperationSource, Stage, normal};

/// Index of the statement that reads. Each statement and its kind of operation have the same index.
pub(super) const SELECT: u8 = 0;
pub(super) const MUTATION: u8 = 1;
pub(super) const DELETION: u8 = 2;

/// Number of the random stream for keys.
const KEYS: u64 = 41;
const KINDS: u64 = 42;
const VALUES: u64 = 43;
const PADS: u64 = 44;
/// Offset that populating operations add to the numbers of their random streams.
const POPULATE: u64 = 8;

const LETTERS: u64 = 26;
/// Number of letters that are sufficient to encode any operation's number.
const WRITER_LETTERS: usize = 14;
/// Minimum number of further letters. With fewer letters, a random text could look like a valid
/// value.
const CONTENT_LETTERS_MIN: u64 = 6;

/// The method by which a thread chooses the number of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// A uniform distribution over the numbers below the number of partitions.
    Random,
    /// A normal distribution over the numbers up to the number of partitions. The mean is half of
    /// the number of partitions, and the standard deviation is a quarter of the mean.
    Normal,
    /// A sequence from 0 up to the number of partitions, which then starts again from 0.
    Sequence,
}

#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) seed: u64,
    /// Prefix of the keys, which is the id of the run.
    pub(super) id: String,
    pub(super) threads: u64,
    pub(super) partitions: u64,
    pub(super) keys: Keys,
    /// Number of populating operations of each thread. These operations come before the operations
    /// of the run.
    pub(super) populated: u64,
    /// Share of reads among all operations.
    pub(super) reads: f64,
    pub(super) deletes: f64,
    pub(super) expires: bool,
    /// Limits of the number of letters of a value: the minimum, and the exclusive maximum.
    pub(super) lengths: (u64, u64),
}

impl Source {
    /// Returns true if values are long enough to be verified.
    pub(super) fn verifies(&self) -> bool {
        self.lengths.0 >= WRITER_LETTERS as u64 + CONTENT_LETTERS_MIN
    }

    fn draws(&self, purpose: u64, stage: Stage, n: u64) -> Draws {
        let further = if stage == Stage::Main { 0 } else { POPULATE };
        Draws::new(lane(self.seed, purpose + further), n)
    }

    /// Returns the kind of operation `n`. The tool draws a whole number of percent, so a share of
    /// 0.005 acts like 0.01. If the workload has deletions, the populating step also has them, but
    /// it has no reads.
    fn kind(&self, stage: Stage, n: u64) -> u8 {
        let side = self.draws(KINDS, stage, n).below(100) as f64;
        let reads = if stage == Stage::Main {
            self.reads
        } else {
            0.0
        };
        if matches!(stage, Stage::Verify | Stage::ReadBack) || reads * 100.0 > side {
            SELECT
        } else if self.deletes > 0.0 && reads * 100.0 + self.deletes * 100.0 > side {
            DELETION
        } else {
            MUTATION
        }
    }

    /// Returns the key of an operation as one number, which combines the thread and the number of
    /// the key.
    fn key(&self, stage: Stage, n: u64) -> u64 {
        let before = if stage == Stage::Main {
            self.populated
        } else {
            0
        };
        let mut draws = self.draws(KEYS, stage, n);
        let number = match self.keys {
            Keys::Random => draws.below(self.partitions),
            Keys::Sequence => before.wrapping_add(n / self.threads) % (self.partitions + 1),
            Keys::Normal => {
                let middle = (self.partitions / 2) as f64;
                loop {
                    let number = middle + middle / 4.0 * normal::from_bits(draws.bits());
                    let number = number.trunc();
                    if (0.0..=self.partitions as f64).contains(&number) {
                        break number as u64;
                    }
                }
            }
        };
        n % self.threads * (self.partitions + 1) + number
    }

    fn append_key(&self, key: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(self.id.as_bytes());
        for number in [key / (self.partitions + 1), key % (self.partitions + 1)] {
            out.push(b'.');
            out.extend_from_slice(Decimal::new(number).bytes());
        }
    }

    /// Appends the letters that the operation `writer` stores under a key.
    fn append_letters(&self, key: u64, writer: u64, out: &mut Vec<u8>) {
        let mut draws = Draws::new(lane(self.seed, VALUES) ^ mix(key), writer);
        let (least, bound) = self.lengths;
        let end = out.len() + (least + draws.below(bound - least)) as usize;
        if self.verifies() {
            let mut rest = writer ^ self.pad(key);
            out.extend((0..WRITER_LETTERS).map(|_| {
                let letter = rest % LETTERS;
                rest /= LETTERS;
                b'A' + letter as u8
            }));
        }
        while out.len() < end {
            // Each letter is the integer part of a scaled fraction. After eight letters, 26 bits of
            // the fraction are left.
            let mut fraction = draws.bits();
            for _ in 0..8.min(end - out.len()) {
                let product = u128::from(fraction) * u128::from(LETTERS);
                out.push(b'A' + (product >> 64) as u8);
                fraction = product as u64;
            }
        }
    }

    /// Returns the pad for a key. In the letters of a value, the pad hides the number of the
    /// operation that wrote the value.
    fn pad(&self, key: u64) -> u64 {
        mix(lane(self.seed, PADS) ^ mix(key))
    }

    /// Decodes the number of the operation that wrote a value from the letters of the value.
    /// Returns `None` if the value is too short.
    fn writer_of(&self, key: u64, value: &[u8]) -> Option<u64> {
        let letters = value.get(..WRITER_LETTERS)?.iter().rev();
        let number = letters.fold(0u64, |sum, letter| {
            let digit = u64::from(letter.wrapping_sub(b'A'));
            sum.wrapping_mul(LETTERS).wrapping_add(digit)
        });
        Some(number ^ self.pad(key))
    }

    /// Returns true if every row that the run reads exists after populating.
    pub(super) fn finds(&self) -> bool {
        // Populated rows have the lowest numbers, so it is sufficient to check both ends of the
        // range.
        self.is_there(0) && self.is_there(self.partitions)
    }

    /// Returns true if a row certainly exists during the whole run.
    fn is_there(&self, key: u64) -> bool {
        let gone = self.expires || self.deletes > 0.0;
        let number = key % (self.partitions + 1);
        !gone && self.keys == Keys::Sequence && number < self.populated
    }
}

impl OperationSource for Source {
    fn cursor(self: Arc<Self>, stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(Cursor {
            stage,
            operation: Operation::default(),
            key: Vec::with_capacity(self.id.len() + 42),
            expected: Vec::with_capacity(self.lengths.1 as usize),
            source: self,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.id.len() as u64 + 9 + u64::midpoint(self.lengths.0, self.lengths.1)
    }
}

#[derive(Debug)]
struct Cursor {
    source: Arc<Source>,
    stage: Stage,
    operation: Operation,
    key: Vec<u8>,
    expected: Vec<u8>,
}

impl Cursor {
    /// Returns the operation's number in the form in which values contain it.
    fn writer(&self) -> u64 {
        self.operation.number << 1 | u64::from(self.stage == Stage::Main)
    }

    /// Returns true if a row has the operation's key, and the value that the first letters of the
    /// value imply.
    fn is_right(&mut self, row: &Row) -> bool {
        let (source, key) = (&self.source, self.operation.key);
        let mut cells = row.cells();
        let has_key = cells.next().flatten() == Some(&self.key[..]);
        let value = cells.next().flatten().unwrap_or_default();
        let Some(writer) = source.writer_of(key, value).filter(|_| has_key) else {
            return false;
        };
        self.expected.clear();
        source.append_letters(key, writer, &mut self.expected);
        self.expected == value && cells.next().is_none()
    }
}

impl OperationEncoder for Cursor {
    fn begin(&mut self, n: u64) -> Operation {
        let kind = self.source.kind(self.stage, n);
        let operation = Operation {
            number: n,
            key: self.source.key(self.stage, n),
            statement: u16::from(kind),
            kind,
        };
        self.seek(operation);
        operation
    }

    fn seek(&mut self, operation: Operation) {
        self.operation = operation;
        self.key.clear();
        self.source.append_key(operation.key, &mut self.key);
    }

    fn token(&self) -> Option<i64> {
        Some(murmur3(&self.key))
    }

    fn entry_statement(&self, _entry: usize) -> u16 {
        self.operation.statement
    }

    fn append_values(&mut self, _entry: usize, out: &mut Vec<u8>) {
        append_value(out, &self.key);
        if self.operation.kind == MUTATION {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            let (source, writer) = (&self.source, self.writer());
            source.append_letters(self.operation.key, writer, out);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    fn check(&mut self, rows: &RawRows) -> Check {
        if self.operation.kind != SELECT {
            return Check::Unknown;
        }
        let mut rows = rows.rows();
        match rows.next() {
            None if self.source.is_there(self.operation.key) => Check::Missing,
            None => Check::Unknown,
            Some(Ok(row)) if self.is_right(&row) && rows.next().is_none() => Check::Right,
            Some(_) => Check::Wrong,
        }
    }

    fn values_bytes_max(&self) -> usize {
        4 * 2 + self.key.capacity() + self.source.lengths.1 as usize
    }
}
