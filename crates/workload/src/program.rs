//! A compiled workload: its schema, its statements, and the mapping of operation numbers to rows.

pub use cql::request::BatchKind;

use core::time::Duration;
use std::sync::Arc;

use crate::bijection::Bijection;
use crate::distribution::Sampler;
use crate::mix::Mix;
use crate::operation_generator::{Generator, Operation};
use crate::program_traits::OperationSource;
use crate::random::{Draws, lane};
use crate::recorded_arrivals::ArrivalTimes;
use cql::Consistency;

/// Purposes of random draws, each with a separate lane of the seed. Two purposes therefore never
/// share draws.
pub(crate) mod lanes {
    /// Lane for the kind of an operation.
    pub(crate) const MIX: u64 = 0;
    /// Lane for the row of an operation in the main stage.
    pub(crate) const ROWS: u64 = 1;
    /// Lane for the rows that zipf makes popular.
    pub(crate) const POPULAR: u64 = 2;
    /// Lane for the loaded rows that the verify stage samples.
    pub(crate) const SAMPLE: u64 = 3;
    pub(crate) const SIZES: u64 = 4;
    pub(crate) const CONTENTS: u64 = 5;
}

/// Meaning of the operation numbers of a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Operation n writes row n, with n from 0 to below [`Program::rows`].
    Load,
    /// The mix determines the kind of operation n, and the distribution of rows determines the row
    /// of operation n.
    Main,
    /// Operation n reads a loaded row. The first [`Program::rows`] numbers read all rows once, in
    /// scattered order.
    Verify,
    /// Operation n reads row n, including rows that the main stage has added.
    ReadBack,
}

/// Statements that create and remove a workload's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// `CREATE KEYSPACE IF NOT EXISTS …`
    pub create_keyspace: String,
    /// True if the study states the replication of the keyspace. An existing keyspace must then
    /// have this replication.
    pub is_replication_stated: bool,
    /// One `CREATE TABLE IF NOT EXISTS …` for each table.
    pub create_tables: Vec<String>,
    /// One `TRUNCATE …` for each table.
    pub truncate: Vec<String>,
    /// `DROP KEYSPACE IF EXISTS …`
    pub drop_keyspace: String,
}

/// A kind of operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name of the kind in mixes and reports.
    pub name: String,
    /// True if operations of this kind change data.
    pub is_write: bool,
    /// Rules for slow and failed operations of this kind.
    pub policy: Policy,
    /// True if this kind only records a part of operations of other kinds, such as the read within
    /// a read-modify-write.
    pub part: bool,
}

impl Kind {
    /// Creates a kind with the default policy.
    pub fn new(name: impl Into<String>, is_write: bool) -> Kind {
        Kind {
            name: name.into(),
            is_write,
            policy: Policy::default(),
            part: false,
        }
    }
}

/// Rules for slow and failed operations of a kind. By default, errors are final and the timeout of
/// the run applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Timeout of an attempt, measured from the send. If this is `None`, the timeout of the run
    /// applies.
    pub timeout: Option<Duration>,
    /// Number of retries.
    pub retries: u8,
    /// Time after the send at which the client also sends the operation to another node, if the
    /// first node has not answered by then. `None` means never.
    pub speculate_after: Option<Duration>,
}

/// A statement to prepare. Operations refer to it by its index in [`Program::statements`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Text of the statement. Table names in the text include the keyspace.
    pub cql: String,
    /// Index in [`Program::kinds`].
    pub kind: u8,
    /// Number of bind markers.
    pub values_count: u16,
    /// Consistency level of the statement.
    pub consistency: Consistency,
    /// True if executing the statement twice has the same effect as executing it once.
    pub idempotent: bool,
    /// True if the statement returns rows.
    pub returns_rows: bool,
    /// True if [`Generator::check`] can check the result.
    pub verifies: bool,
    /// True if the statement reads a row or partition that exists, provided that the data in the
    /// table is as the study states.
    pub finds: bool,
    /// Number of rows per page. `None` disables paging.
    pub page_size: Option<i32>,
    /// Maximum number of pages that an operation reads. `None` reads all pages, if a page size is
    /// set.
    pub pages_max: Option<u32>,
    /// Serial consistency level of a conditional statement. If it is `None`, requests do not state
    /// a level.
    pub serial_consistency: Option<Consistency>,
    /// True if the client prepares the statement once. Otherwise the client sends the text together
    /// with the values every time.
    pub prepared: bool,
    /// Kind of batch, if this is the first of several statements that an operation sends together
    /// as a batch.
    pub batch: Option<BatchKind>,
    /// Statement that the client executes after this statement has succeeded, within the same
    /// operation. `None` if the operation then ends.
    pub then: Option<u16>,
    /// Kind of operation under which the client records the latency of this statement, in addition
    /// to the latency of the whole operation. `None` if the client records only the latter.
    pub part: Option<u8>,
    /// True if the client sets the timestamp of the write (µs since 1970).
    pub client_timestamp: bool,
    /// True if the statement is conditional. The first column of its result, `[applied]`, then
    /// states whether the condition was true.
    pub conditional: bool,
    /// True if the statement deletes the row of its operation.
    pub deletes: bool,
}

impl Statement {
    /// Creates a prepared statement with defaults. By default, a statement is not idempotent, does
    /// not return rows and is not paged.
    pub fn new(
        cql: impl Into<String>,
        kind: u8,
        values_count: u16,
        consistency: Consistency,
    ) -> Self {
        Statement {
            cql: cql.into(),
            kind,
            values_count,
            consistency,
            idempotent: false,
            returns_rows: false,
            verifies: false,
            finds: false,
            page_size: None,
            pages_max: None,
            serial_consistency: None,
            prepared: true,
            batch: None,
            then: None,
            part: None,
            client_timestamp: false,
            conditional: false,
            deletes: false,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Choices {
    pub(crate) mix: Mix,
    pub(crate) rows: Sampler,
    /// The kind whose operations add rows beyond the loaded rows, if any.
    pub(crate) insert_kind: Option<u8>,
    pub(crate) main_statements: Vec<u16>,
    /// Kind and statement of the load stage.
    pub(crate) load: (u8, u16),
    /// Kind and statement of the verify stage.
    pub(crate) verify: (u8, u16),
    pub(crate) sample: Bijection,
    pub(crate) rows_seed: u64,
}

/// A compiled workload, which the generators of all workers share.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) name: String,
    pub(crate) keyspace: String,
    pub(crate) tables: Vec<String>,
    pub(crate) schema: Schema,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) statements: Vec<Statement>,
    pub(crate) rows: u64,
    pub(crate) source: Arc<dyn OperationSource>,
}

impl Program {
    /// Creates a program from a caller's source of operations, for existing tables. This is for
    /// tests of an engine, and for tools that are based on an engine.
    pub fn from_source(
        kinds: Vec<Kind>,
        statements: Vec<Statement>,
        source: Arc<dyn OperationSource>,
    ) -> Program {
        Program {
            name: "own source".to_owned(),
            keyspace: String::new(),
            tables: Vec::new(),
            schema: Schema {
                create_keyspace: String::new(),
                is_replication_stated: false,
                create_tables: Vec::new(),
                truncate: Vec::new(),
                drop_keyspace: String::new(),
            },
            kinds,
            statements,
            rows: 0,
            source,
        }
    }

    /// Returns the same program with a name, and with tables of a keyspace that the program's
    /// schema creates. The load stage writes `rows` rows.
    pub fn with_tables(
        self,
        name: &str,
        (keyspace, tables): (String, Vec<String>),
        schema: Schema,
        rows: u64,
    ) -> Program {
        Program {
            name: name.to_owned(),
            keyspace,
            tables,
            schema,
            rows,
            ..self
        }
    }

    /// Returns the name of the workload or of the import.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the keyspace of the program's tables.
    pub fn keyspace(&self) -> &str {
        &self.keyspace
    }

    /// Returns the statements that create, empty and drop the tables of the program.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Returns the names of the program's tables, without the keyspace.
    pub fn tables(&self) -> Vec<&str> {
        self.tables.iter().map(String::as_str).collect()
    }

    /// Returns the kinds of operation of the program, including those with weight 0. There are at
    /// most 64.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns every statement that any stage executes.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// Returns the number of rows that the load stage writes.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the same program, but reads of the given statements are not verified.
    pub fn without_judging(&self, statements: &[usize]) -> Program {
        let mut program = self.clone();
        for at in statements {
            program.statements[*at].verifies = false;
        }
        program
    }

    /// Returns the same program with a separate range of operations for each client in one stage.
    /// `workers` contains the number of workers of each client. `range` has the same meaning as in
    /// [`OperationSource::in_ranges`]. Returns `None` if the program does not support separate
    /// ranges.
    pub fn in_ranges(
        &self,
        stage: Stage,
        range: (u64, Option<u64>),
        workers: &[u64],
    ) -> Option<Program> {
        let source = Arc::clone(&self.source).in_ranges(stage, range, workers)?;
        Some(Program {
            source,
            ..self.clone()
        })
    }

    /// Returns the statements that change data, for all kinds that may occur in a stage.
    pub fn writes(&self, stage: Stage) -> Vec<&Statement> {
        self.stage_statements(stage, true)
    }

    /// Returns the statements that do not change data, for all kinds that may occur in a stage.
    pub fn reads(&self, stage: Stage) -> Vec<&Statement> {
        self.stage_statements(stage, false)
    }

    fn stage_statements(&self, stage: Stage, writing: bool) -> Vec<&Statement> {
        let is_asked = |statement: &&Statement| {
            let kind = usize::from(statement.kind);
            let is_write = self.kinds.get(kind).is_none_or(|kind| kind.is_write);
            is_write == writing && self.source.may_ask(stage, kind)
        };
        self.statements.iter().filter(is_asked).collect()
    }

    /// Returns a flag for each kind. The flag is true if all rows that the kind reads in the main
    /// stage exist, provided that the data is as stated. The flag is false if operations delete
    /// rows, or if the kind does not occur.
    pub fn finds(&self) -> Vec<bool> {
        let stage = Stage::Main;
        let asked = |kind: usize| self.source.may_ask(stage, kind);
        let mut all = self.statements.iter();
        let deletes = all.any(|one| one.deletes && asked(usize::from(one.kind)));
        let of = |kind: usize| {
            let reads = self.statements.iter();
            let mut reads = reads.filter(|one| usize::from(one.kind) == kind && one.returns_rows);
            !deletes && asked(kind) && reads.all(|one| one.finds)
        };
        (0..self.kinds.len()).map(of).collect()
    }

    /// Returns true if the main stage neither adds rows to those of the load stage nor deletes
    /// rows.
    pub fn keeps_rows(&self) -> bool {
        self.source.keeps_rows()
    }

    /// Returns the due times of the program's operations if they were recorded, and otherwise
    /// `None`.
    pub fn course(&self) -> Option<Arc<ArrivalTimes>> {
        self.source.course()
    }

    /// Returns true if all operations of a stage are writes.
    pub fn only_writes(&self, stage: Stage) -> bool {
        self.reads(stage).is_empty()
    }

    /// Returns the mean number of bytes of keys and values in a row, without compression or
    /// overhead of the database.
    pub fn row_bytes_estimate(&self) -> u64 {
        self.source.row_bytes_estimate()
    }

    /// Returns a generator for one worker.
    pub fn generator(self: &Arc<Self>, stage: Stage) -> Generator {
        Generator::new(self, stage)
    }

    /// Returns a hash of the numbers, kinds, tokens and value bytes of the first operations of the
    /// load, main and verify stages. Equal fingerprints mean equal operations.
    pub fn fingerprint(self: &Arc<Self>, operations: u64) -> u64 {
        [Stage::Load, Stage::Main, Stage::Verify].into_iter().fold(0, |hash, stage| {
            lane(hash, self.fingerprint_of(stage, operations))
        })
    }

    /// Returns the fingerprint of one stage, computed like [`Program::fingerprint`].
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
            values.extend_from_slice(&generator.token().unwrap_or(0).to_le_bytes());
            for entry in 0..generator.entries() {
                generator.append_entry_values(entry, &mut values);
            }
            for byte in &values {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3); // FNV's prime
            }
        }
        hash
    }
}

impl Choices {
    /// Returns the permutation for samples and the seed for rows, from the `seed` and `rows` of a
    /// specification.
    pub(crate) fn sample(seed: u64, rows: u64) -> (Bijection, u64) {
        (
            Bijection::new(rows, lane(seed, lanes::SAMPLE)),
            lane(seed, lanes::ROWS),
        )
    }

    pub(crate) fn may_ask(&self, stage: Stage, kind: usize) -> bool {
        match stage {
            Stage::Load => kind == usize::from(self.load.0),
            Stage::Main => self.mix.has(kind),
            Stage::Verify | Stage::ReadBack => kind == usize::from(self.verify.0),
        }
    }

    /// Returns true if the main stage uses only the `loaded` rows.
    pub(crate) fn adds_nothing(&self, loaded: u64) -> bool {
        let inserts = self.insert_kind.is_some_and(|kind| self.mix.has(usize::from(kind)));
        !inserts && self.rows.range().1 < loaded
    }

    /// Returns operation `n` of a stage. `rows` is the generator's copy of the row distribution.
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
            Stage::ReadBack => Operation {
                number: n,
                key: n,
                statement: self.verify.1,
                kind: self.verify.0,
            },
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
