//! A compiled workload: its schema, its statements, and how operation numbers become rows.

use std::sync::Arc;

use crate::bijection::Bijection;
use crate::distribution::Sampler;
use crate::generator::{Generator, Operation};
use crate::mix::Mix;
use crate::random::{Draws, lane};
use crate::{iot, kv, standard1};
use cql::Consistency;

/// The lanes of the seed: one per purpose, so that no two purposes share draws.
pub(crate) mod lanes {
    /// Which kind an operation is.
    pub(crate) const MIX: u64 = 0;
    /// Which row the main stage chooses.
    pub(crate) const ROWS: u64 = 1;
    /// Which rows zipf makes popular.
    pub(crate) const POPULAR: u64 = 2;
    /// Which loaded rows the verify stage samples.
    pub(crate) const SAMPLE: u64 = 3;
    /// Sizes of values.
    pub(crate) const SIZES: u64 = 4;
    /// Contents of values.
    pub(crate) const CONTENTS: u64 = 5;
}

/// What a generator's operation numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Operation n writes row n; n from 0 to below [`Program::rows`].
    Load,
    /// Operation n is drawn from the mix.
    Main,
    /// Operation n reads a loaded row; the first [`Program::rows`] numbers read all rows, each
    /// once, in scattered order.
    Verify,
}

/// The statements that make and unmake a workload's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// `CREATE KEYSPACE IF NOT EXISTS …`
    pub create_keyspace: String,
    /// `CREATE TABLE IF NOT EXISTS …`, one per table.
    pub create_tables: Vec<String>,
    /// `TRUNCATE …`, one per table.
    pub truncate: Vec<String>,
    /// `DROP KEYSPACE IF EXISTS …`
    pub drop_keyspace: String,
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in mixes and reports.
    pub name: &'static str,
    /// Whether it changes data.
    pub is_write: bool,
}

/// A statement to prepare. Operations name theirs by its index in [`Program::statements`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text, tables qualified by their keyspace.
    pub cql: String,
    /// Index in [`Program::kinds`].
    pub kind: u8,
    /// Number of bind markers.
    pub values_count: u16,
    /// The consistency level of its kind.
    pub consistency: Consistency,
    /// Whether executing it twice is the same as once.
    pub idempotent: bool,
    /// Whether its result is rows.
    pub returns_rows: bool,
    /// Whether [`Generator::check`] can judge its result.
    pub verifies: bool,
    /// Rows per page; `None` leaves paging off.
    pub page_size: Option<i32>,
    /// The serial consistency of conditional statements.
    pub serial_consistency: Option<Consistency>,
}

/// How operation numbers become kinds and rows.
#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) mix: Mix,
    pub(crate) rows: Sampler,
    /// The kind that adds rows beyond the loaded ones.
    pub(crate) insert_kind: Option<u8>,
    /// Per kind, its statement in the main stage.
    pub(crate) main_statements: Vec<u16>,
    /// Kind and statement of the load stage.
    pub(crate) load: (u8, u16),
    /// Kind and statement of the verify stage.
    pub(crate) verify: (u8, u16),
    pub(crate) sample: Bijection,
    pub(crate) rows_seed: u64,
}

/// The part of a program that knows its rows.
#[derive(Debug)]
pub(crate) enum Source {
    Standard1(standard1::Table),
    Iot(iot::Table),
    Kv(kv::Table),
}

/// A compiled workload; shared by the generators of all workers.
#[derive(Debug)]
pub struct Program {
    pub(crate) name: &'static str,
    pub(crate) keyspace: String,
    pub(crate) tables: Vec<String>,
    pub(crate) schema: Schema,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) rows: u64,
    pub(crate) choices: Choices,
    pub(crate) source: Source,
}

impl Program {
    /// The named workload.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The keyspace of its tables.
    pub fn keyspace(&self) -> &str {
        &self.keyspace
    }

    /// How to make, empty and drop its tables.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The names of its tables, without the keyspace.
    pub fn tables(&self) -> Vec<&str> {
        self.tables.iter().map(String::as_str).collect()
    }

    /// Its kinds of operation, weighed or not; at most 8.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Every statement that any stage executes.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Rows that the load stage writes.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of keys and values in a row, on average, before any compression or overhead of the
    /// database.
    pub fn row_bytes_estimate(&self) -> u64 {
        match &self.source {
            Source::Standard1(table) => table.row_bytes_estimate(),
            Source::Iot(table) => table.row_bytes_estimate(),
            Source::Kv(table) => table.row_bytes_estimate(),
        }
    }

    /// A generator for one worker.
    pub fn generator(self: &Arc<Self>, stage: Stage) -> Generator {
        Generator::new(Arc::clone(self), stage)
    }

    /// A hash over numbers, kinds, tokens and value bytes of the first operations of all stages:
    /// equal fingerprints mean equal work.
    pub fn fingerprint(self: &Arc<Self>, operations: u64) -> u64 {
        [Stage::Load, Stage::Main, Stage::Verify]
            .into_iter()
            .fold(0, |hash, stage| {
                lane(hash, self.fingerprint_of(stage, operations))
            })
    }

    /// As [`Program::fingerprint`], of one stage.
    pub fn fingerprint_of(self: &Arc<Self>, stage: Stage, operations: u64) -> u64 {
        let mut generator = self.generator(stage);
        let mut hash = 0xCBF2_9CE4_8422_2325u64; // FNV-1a, 64 bits: offset basis
        let mut values = Vec::with_capacity(generator.values_bytes_max());
        for n in 0..operations {
            let operation = generator.begin(n);
            values.clear();
            values.extend_from_slice(&operation.number.to_le_bytes());
            values.extend_from_slice(&operation.key.to_le_bytes());
            values.extend_from_slice(&operation.statement.to_le_bytes());
            values.push(operation.kind);
            values.extend_from_slice(&generator.token().to_le_bytes());
            generator.append_values(&mut values);
            for byte in &values {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3); // FNV's prime
            }
        }
        hash
    }
}

impl Choices {
    /// The seed's lanes for choosing, for `seed` and `rows` of a spec.
    pub(crate) fn sample(seed: u64, rows: u64) -> (Bijection, u64) {
        (
            Bijection::new(rows, lane(seed, lanes::SAMPLE)),
            lane(seed, lanes::ROWS),
        )
    }

    /// Operation `n` of a stage. `rows` is the generator's copy of the distribution of rows.
    #[inline]
    pub(crate) fn operation(&self, stage: Stage, n: u64, rows: &mut Sampler) -> Operation {
        match stage {
            Stage::Load => Operation {
                number: n,
                key: n,
                statement: self.load.1,
                kind: self.load.0,
            },
            Stage::Main => self.main_operation(n, rows),
            Stage::Verify => {
                let key = self.sample.apply(n % self.sample.count());
                Operation {
                    number: n,
                    key,
                    statement: self.verify.1,
                    kind: self.verify.0,
                }
            }
        }
    }

    #[inline]
    fn main_operation(&self, n: u64, rows: &mut Sampler) -> Operation {
        let choice = self.mix.choose(n);
        let kind = choice.kind as u8;
        let statement = self.main_statements[choice.kind];
        let key = match self.insert_kind {
            Some(insert) if insert == kind => self.sample.count() + choice.ordinal,
            Some(insert) => {
                let added = self.mix.count_before_window(usize::from(insert), n);
                rows.draw(n, added, &mut Draws::new(self.rows_seed, n))
            }
            None => rows.draw(n, 0, &mut Draws::new(self.rows_seed, n)),
        };
        Operation {
            number: n,
            key,
            statement,
            kind,
        }
    }
}
