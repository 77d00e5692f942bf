//! A program with one statement of each type that the worker treats differently. The values of an
//! operation contain its number, so that the server can identify the operation.

#[expect(
    dead_code,
    reason = "this module uses only a part of the file of the tests"
)]
#[path = "../../tests/it/program.rs"]
mod script;

use super::world;
use cql::Consistency;
use script::Script;
use std::sync::Arc;
use std::time::Duration;
use workload::random::mix;
use workload::{BatchKind, Kind, Policy, Program, Statement};

/// Kinds of the two parts of a chained operation.
pub const PARTS: [u8; 2] = [6, 7];
/// Statements with which an operation may begin.
pub const FIRST: [u16; 9] = [0, 1, 2, 3, 4, 5, 7, 8, 9];
/// Statements of `FIRST` whose operations have exactly one response.
const ONE_REQUEST: [u16; 3] = [0, 1, TEXT];
/// Statement that reads several pages.
pub const PAGED: u16 = 4;
pub const BATCH: u16 = 7;
pub const CONDITION: u16 = 8;
/// Statement that is never prepared.
pub const TEXT: u16 = 9;

/// Returns the number of statements of operation `n` if it is a batch. The worker cannot send an
/// operation with 0 statements.
pub fn entries(seed: u64, n: u64) -> usize {
    (mix(seed ^ n) % 16).min(3) as usize
}

/// Returns the statement with which operation `n` begins.
pub fn first_statement(seed: u64, first: &[u16], n: u64) -> u16 {
    first[index(seed, first.len(), n)]
}

fn index(seed: u64, length: usize, n: u64) -> usize {
    (mix(seed.wrapping_add(n)) as usize) % length
}

pub fn text(statement: u16) -> String {
    match statement {
        1 | 3 | PAGED | 5 => format!("SELECT v FROM t{statement} WHERE k = ?"),
        CONDITION => format!("INSERT INTO t{statement} (k) VALUES (?) IF NOT EXISTS"),
        _ => format!("INSERT INTO t{statement} (k) VALUES (?)"),
    }
}

/// Builds the program that the module documentation describes. `extra` determines which statements
/// are idempotent. If every operation is one request and one attempt, no statement of the program
/// leads to further requests.
pub fn program(
    seed: u64,
    first: &[u16],
    timeout_ns: u64,
    speculate_ns: u64,
    extra: u64,
) -> Arc<Program> {
    let (mut kinds, mut statements) = (kinds(timeout_ns, speculate_ns), statements(extra));
    if first.iter().all(|statement| ONE_REQUEST.contains(statement)) {
        kinds.iter_mut().for_each(|kind| kind.policy = Policy::default());
        statements.iter_mut().for_each(|of| (of.then, of.page_size) = (None, None));
    }
    let script = Script {
        seed,
        choose: |script, n| index(script.seed, script.first.len(), n),
        entries: |script, operation| match operation.statement {
            BATCH => entries(script.seed, operation.number),
            _ => 1,
        },
        token: |n| Some(mix(n) as i64),
        begun: world::begun,
        ..Script::new(&statements, first)
    };
    Arc::new(Program::from_source(kinds, statements, Arc::new(script)))
}

fn kinds(timeout_ns: u64, speculate_ns: u64) -> Vec<Kind> {
    let own = Some(Duration::from_nanos(timeout_ns * 2));
    let tries = |retries, speculates: bool| Policy {
        timeout: if speculates { own } else { None },
        retries,
        speculate_after: speculates.then(|| Duration::from_nanos(speculate_ns)),
    };
    let kind = |name: &str, is_write, policy| Kind {
        policy,
        ..Kind::new(name, is_write)
    };
    let mut kinds = vec![
        kind("write", true, tries(0, false)),
        kind("read", false, tries(0, false)),
        kind("write again", true, tries(2, false)),
        kind("read beside", false, tries(1, true)),
        kind("pages", false, tries(0, false)),
        kind("chain", true, tries(1, false)),
        kind("chain's read", false, Policy::default()),
        kind("chain's write", true, Policy::default()),
        kind("batch", true, tries(1, false)),
        kind("condition", true, tries(0, false)),
    ];
    PARTS.iter().for_each(|part| kinds[usize::from(*part)].part = true);
    kinds
}

fn statements(extra: u64) -> Vec<Statement> {
    let write = |index: u16, kind| Statement::new(text(index), kind, 1, Consistency::One);
    let read = |index: u16, kind| Statement {
        returns_rows: true,
        verifies: true,
        ..write(index, kind)
    };
    vec![
        write(0, 0),
        read(1, 1),
        Statement {
            idempotent: extra & 1 == 0,
            ..write(2, 2)
        },
        read(3, 3),
        Statement {
            page_size: Some(2),
            ..read(PAGED, 4)
        },
        Statement {
            then: Some(6),
            part: Some(PARTS[0]),
            ..read(5, 5)
        },
        Statement {
            part: Some(PARTS[1]),
            idempotent: extra & 2 == 0,
            ..write(6, 5)
        },
        Statement {
            batch: Some(BatchKind::Unlogged),
            client_timestamp: true,
            idempotent: extra & 4 == 0,
            ..write(BATCH, 8)
        },
        Statement {
            conditional: true,
            ..write(CONDITION, 9)
        },
        Statement {
            prepared: false,
            ..write(9, 0)
        },
    ]
}
