//! Turns a recording into a program. Operation n of the program (counted from 0) is the recorded
//! operation with the same index. After the last recorded operation, the program starts again with
//! the first operation.

use crate::recording::{Form, Only, Recording};
use cql::response::RawRows;
use std::sync::Arc;
use workload::{
    ArrivalTimes, Check, Kind, Operation, OperationEncoder, OperationSource, Program, Schema,
    Stage, Statement,
};

/// Maximum memory that is reserved in advance for the values of a request, in bytes. For a larger
/// request, the program allocates more memory when it generates the request.
const VALUES_BYTES_MAX: u64 = 1 << 20;

/// Returns the program of a recording. `schema` contains the statement that creates the keyspace,
/// followed by those that create the tables. It is empty if these statements are unknown.
pub fn program(recording: &Arc<Recording>, name: &str, schema: &[String]) -> Program {
    let kinds = recording.kinds.iter().map(|kind| Kind::new(&kind.name, kind.is_write));
    let statements = recording.forms.iter().map(statement);
    let source = Arc::new(Source {
        row_bytes: row_bytes(recording),
        values_bytes_max: values_bytes_max(recording),
        recording: Arc::clone(recording),
    });
    let most = recording.keyspaces.iter().max_by_key(|(_, count)| **count);
    let keyspace = most.map(|(name, _)| name.clone()).unwrap_or_default();
    let own = recording.tables.keys().filter(|(of, _)| *of == keyspace);
    let tables: Vec<String> = own.map(|(_, table)| table.clone()).collect();
    let quoted = |table: &String| format!("TRUNCATE \"{keyspace}\".\"{table}\"");
    let mut definitions = schema.iter().cloned();
    let schema = Schema {
        create_keyspace: definitions.next().unwrap_or_default(),
        is_replication_stated: false,
        create_tables: definitions.collect(),
        truncate: tables.iter().map(quoted).collect(),
        drop_keyspace: format!("DROP KEYSPACE IF EXISTS \"{keyspace}\""),
    };
    let program = Program::from_source(kinds.collect(), statements.collect(), source);
    program.with_tables(name, (keyspace, tables), schema, 0)
}

fn statement(form: &Form) -> Statement {
    let plain = Statement::new(&form.cql, form.kind, form.values_count, form.consistency);
    Statement {
        idempotent: form.returns_rows,
        returns_rows: form.returns_rows,
        page_size: form.page_size,
        // The program reads only one page, because the log contains each further page as a separate
        // request.
        pages_max: form.page_size.map(|_| 1),
        serial_consistency: form.serial_consistency,
        // The log does not state whether the client prepared the statement. This code assumes that
        // a client that binds values has prepared it.
        prepared: form.values_count > 0,
        batch: form.batch,
        client_timestamp: form.stamped,
        conditional: form.conditional,
        ..plain
    }
}

fn row_bytes(recording: &Recording) -> u64 {
    let (mut bytes, mut count) = (0, 0);
    for operation in &recording.operations {
        if recording.kinds[usize::from(operation.kind)].is_write {
            let parts = recording.parts_of(operation);
            bytes += parts.iter().map(|part| u64::from(part.bytes)).sum::<u64>();
            count += parts.len() as u64;
        }
    }
    (bytes / count.max(1)).max(1)
}

fn values_bytes_max(recording: &Recording) -> usize {
    let of = |operation| -> u64 {
        let parts = recording.parts_of(operation).iter();
        parts.map(|part| u64::from(part.bytes)).sum()
    };
    let most = recording.operations.iter().map(of).max().unwrap_or(0);
    most.min(VALUES_BYTES_MAX) as usize
}

#[derive(Debug)]
struct Source {
    recording: Arc<Recording>,
    row_bytes: u64,
    values_bytes_max: usize,
}

impl OperationSource for Source {
    fn cursor(self: Arc<Self>, _stage: Stage) -> Box<dyn OperationEncoder> {
        Box::new(Cursor {
            source: self,
            at: 0,
        })
    }

    fn row_bytes_estimate(&self) -> u64 {
        self.row_bytes
    }

    fn may_ask(&self, stage: Stage, _kind: usize) -> bool {
        stage == Stage::Main
    }

    fn course(&self) -> Option<Arc<ArrivalTimes>> {
        Some(Arc::clone(&self.recording.course))
    }
}

#[derive(Debug)]
struct Cursor {
    source: Arc<Source>,
    at: usize,
}

impl OperationEncoder for Cursor {
    #[inline]
    fn begin(&mut self, n: u64) -> Operation {
        let recording = &self.source.recording;
        let at = n % recording.operations.len() as u64;
        self.at = at as usize;
        let operation = recording.operations[self.at];
        Operation {
            number: n,
            key: at,
            statement: recording.parts[operation.first as usize].form,
            kind: operation.kind,
        }
    }

    #[inline]
    fn seek(&mut self, operation: Operation) {
        self.at = operation.key as usize % self.source.recording.operations.len();
    }

    /// Returns no token, so that the client may use any node. The columns of the partition key are
    /// unknown, because only the server can determine them.
    fn token(&self) -> Option<i64> {
        None
    }

    #[inline]
    fn entries(&self) -> usize {
        usize::from(self.source.recording.operations[self.at].parts)
    }

    #[inline]
    fn entry_statement(&self, entry: usize) -> u16 {
        let recording = &self.source.recording;
        recording.parts_of(&recording.operations[self.at])[entry].form
    }

    #[inline]
    fn append_values(&mut self, entry: usize, out: &mut Vec<u8>) {
        let recording = &self.source.recording;
        let part = recording.parts_of(&recording.operations[self.at])[entry];
        let at = part.at as usize;
        out.extend_from_slice(&recording.values[at..at + part.bytes as usize]);
    }

    /// Returns an unknown result. The program cannot check the answers, because the recording does
    /// not contain results.
    fn check(&mut self, _rows: &RawRows) -> Check {
        Check::Unknown
    }

    fn values_bytes_max(&self) -> usize {
        self.source.values_bytes_max
    }
}

impl Only {
    /// Returns the name of the selection, as written in a study.
    pub fn name(self) -> &'static str {
        match self {
            Only::All => "all",
            Only::Reads => "reads",
            Only::Writes => "writes",
        }
    }
}
