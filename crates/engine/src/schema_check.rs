//! Checks that the tables have the types that the statements expect. Prepares every statement on
//! the server before the load executes any of them.
//!
//! Invariants: the check does not execute any statement. It refuses a value whose type differs from
//! the type of the column, because a server may misread the bytes of the value. The client does not
//! compare reads whose rows the workload cannot predict, and the check reports these reads.

use anyhow::{Context, Result};
use cassandra::Session;
use cql::response::{ColumnSpec, PreparedStatement};
use cql::value::CqlType;
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::{Definitions, Expectation, Program, Statement, is_taken, table_of};

/// Maximum number of statements to prepare. A workload may have thousands of fields, and a
/// statement for each field.
const STATEMENTS_MAX: usize = 500;

/// Error with sentences about columns whose types differ from those that the workload expects.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}\nhint: use another keyspace or table, or use the types of the existing table in the \
     workload",
    .0.join("\n")
)]
pub struct OtherTypes(Vec<String>);

/// Returns the program. In the returned program, the client does not compare reads that cannot be
/// judged on these tables. Also returns a sentence for each kind of such reads.
///
/// # Errors
/// The server expects values of other types than the program generates, refuses a statement, or
/// does not answer.
pub fn checked(
    session: &mut Session,
    program: &Arc<Program>,
) -> Result<(Arc<Program>, Vec<String>)> {
    let definitions = Definitions::read(program);
    let expiring = expiring(session, program)?;
    let (mut wrong, mut strange) = (Vec::new(), Vec::new());
    let prepared = program
        .statements()
        .iter()
        .enumerate()
        .filter(|(_, statement)| statement.prepared);
    for (at, statement) in prepared.take(STATEMENTS_MAX) {
        let Some(expected) = definitions.expectation(&statement.cql) else {
            continue;
        };
        let found = session
            .prepare(&statement.cql)
            .with_context(|| format!("prepare {}", statement.cql))?;
        wrong.extend(other_types(session, statement, &expected, &found));
        if statement.verifies {
            let ttl = table_of(&statement.cql).and_then(|table| expiring.get(&table).copied());
            let why = other_columns(&expected, &found).or_else(|| ttl.map(expires));
            strange.extend(why.map(|why| (at, why)));
        }
    }
    wrong.sort();
    wrong.dedup();
    if !wrong.is_empty() {
        return Err(OtherTypes(wrong).into());
    }
    Ok(without(program, strange))
}

/// Returns the program without the comparison of the `strange` statements. Also returns the reason
/// for each kind of operation with such a statement.
fn without(program: &Arc<Program>, strange: Vec<(usize, String)>) -> (Arc<Program>, Vec<String>) {
    if strange.is_empty() {
        return (Arc::clone(program), Vec::new());
    }
    let statements: Vec<usize> = strange.iter().map(|(at, _)| *at).collect();
    let mut why: Vec<String> = strange
        .into_iter()
        .map(|(at, why)| {
            let kind = usize::from(program.statements()[at].kind);
            let name = program.kinds().get(kind).map_or("", |kind| &kind.name);
            format!("cassay does not compare the rows that {name} reads: {why}")
        })
        .collect();
    why.dedup();
    (Arc::new(program.without_judging(&statements)), why)
}

/// Returns the name of each table whose rows expire, and the time after which its rows expire, in
/// seconds.
fn expiring(session: &mut Session, program: &Program) -> Result<BTreeMap<String, i64>> {
    let found = session.query(&format!(
        "SELECT table_name, default_time_to_live FROM system_schema.tables \
         WHERE keyspace_name = {}",
        cql::tokens::literal(program.keyspace())
    ))?;
    let of = |row: &Vec<cql::Value>| {
        let name = row.first()?.as_str()?.to_owned();
        let seconds = row.get(1)?.as_i64().filter(|seconds| *seconds > 0)?;
        Some((name, seconds))
    };
    Ok(found.rows.iter().filter_map(of).collect())
}

fn expires(seconds: i64) -> String {
    format!("rows of the table expire after {seconds} s (default_time_to_live)")
}

/// Returns a sentence for each marker whose values have another type than the server expects.
fn other_types(
    session: &Session,
    statement: &Statement,
    expected: &Expectation,
    found: &PreparedStatement,
) -> Vec<String> {
    let table = table_of(&statement.cql).unwrap_or_default();
    let pairs = expected.markers.iter().zip(&found.bind_columns);
    let differing = pairs.filter_map(|(made, takes)| {
        let made = made.as_ref().filter(|made| !may_be(&takes.typ, made))?;
        Some(format!(
            "column {} of {table} is {} on {}, but this workload writes and reads it as {made}",
            takes.name,
            takes.typ,
            session.node()
        ))
    });
    differing.collect()
}

/// Returns true if the server may report the type `takes` for a marker whose column has the type
/// `made`. The types may differ, because `IN ?` takes a list, and `CONTAINS ?` and `m[?]` take an
/// element.
fn may_be(takes: &CqlType, made: &CqlType) -> bool {
    let is_element = match made {
        CqlType::List(element) | CqlType::Set(element) => is_taken(takes, element),
        CqlType::Map(key, value) => is_taken(takes, key) || is_taken(takes, value),
        _ => false,
    };
    let is_list = matches!(takes, CqlType::List(element) if is_taken(element, made));
    is_element || is_list || is_taken(takes, made)
}

/// Returns the reason why the workload cannot predict the rows of a read. Returns `None` if the
/// workload can predict the rows.
fn other_columns(expected: &Expectation, found: &PreparedStatement) -> Option<String> {
    let known = expected.all_columns.as_ref()?;
    let shown: Vec<&ColumnSpec> = found.result_columns.iter().collect();
    if shown.iter().map(|column| &column.name).eq(known.iter()) {
        return None;
    }
    let names = |names: Vec<&str>| names.join(", ");
    let added: Vec<&str> = shown
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !known.iter().any(|known| known == name))
        .collect();
    Some(if added.is_empty() {
        format!(
            "the statement selects *, and the columns of the table differ from the workload's \
             definition ({})",
            names(shown.iter().map(|column| column.name.as_str()).collect())
        )
    } else {
        format!(
            "the statement selects *, but the table has columns that the workload's definition \
             does not contain ({})",
            names(added)
        )
    })
}
