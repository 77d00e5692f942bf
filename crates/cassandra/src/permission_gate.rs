//! Permission check for clusters that cassay did not start. The check covers the statements of
//! control sessions and of the load.
//!
//! Invariants: without permission on the command line, no statement creates objects, or drops,
//! truncates, alters or writes objects that existed before the run. Exempt are tables that this run
//! created through the check, and tables whose [`Mark`] names one of the user's runs. Every session
//! with an attached cluster has the check, which is part of [`crate::Access`].

use crate::session::{QueryResult, ServerError, Session};
use crate::statement_change::{Change, Sort, changes};
use crate::table_comment::{Mark, MarkedTable, OwnRuns};
use anyhow::{Result, anyhow, bail};
use cql::response::ErrorCode;
use cql::tokens::CqlMistake;
use cql::value::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use target_spec::{Act, Allow, NodeAct, Object};

#[derive(Clone, Debug, Default)]
pub struct Permit {
    /// Actions that the command line permits.
    pub allow: Allow,
    /// True if the command line imitates a tool that creates its tables. Statements may then create
    /// objects that do not exist.
    pub makes: bool,
    /// Runs whose tables belong to the user.
    pub own: OwnRuns,
}

/// Permission check that all sessions with a cluster share. The check refuses all changes until it
/// receives a [`Permit`].
#[derive(Clone, Debug, Default)]
pub struct StatementGate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    permit: Permit,
    made: BTreeSet<Object>,
    /// Tables of earlier runs that statements of this run were permitted to change.
    earlier: BTreeSet<MarkedTable>,
    /// The user's own tables that remain when the run ends.
    left: BTreeSet<Object>,
}

/// Decision about a permitted statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateDecision {
    Send,
    /// Do not send the statement, because the object already exists.
    Skip,
}

impl StatementGate {
    pub fn permit(&self, permit: Permit) {
        self.state().permit = permit;
    }

    /// Returns true if the command line permits this action on the processes of nodes.
    pub fn may_do(&self, act: NodeAct) -> bool {
        self.state().permit.allow.names_of_nodes(act)
    }

    /// Returns the tables of earlier runs that statements of this run were permitted to change.
    pub fn earlier(&self) -> Vec<MarkedTable> {
        self.state().earlier.iter().cloned().collect()
    }

    /// Returns the user's tables that remain on the cluster after this run created them or wrote to
    /// them.
    pub fn left(&self) -> Vec<Object> {
        self.state().left.iter().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Errors
    /// The statement is not permitted, or the node does not answer.
    pub fn pass(&self, session: &mut Session, cql: &str) -> Result<GateDecision> {
        let changes = changes(cql, session.used());
        for change in changes.map_err(|fault| unreadable(&fault, cql))? {
            let Some(object) = &change.object else {
                bail!(
                    "cassay did not start {}, and never sends such a statement to clusters that it \
                     did not start: {cql}",
                    session.node()
                );
            };
            // The check does not look up the table of a write, because a lookup for every write
            // would be slow.
            let is_of_there = matches!(change.act, Act::Create | Act::Drop | Act::Truncate);
            let there = is_of_there && self.is_there(session, &change, object)?;
            if change.act == Act::Create && there {
                if change.if_absent {
                    return Ok(GateDecision::Skip);
                }
                // The server returns the same error to a user with permission.
                bail!(ServerError {
                    node: session.node(),
                    code: ErrorCode::AlreadyExists,
                    message: format!("{object} already exists"),
                    statement: cql.to_owned(),
                });
            }
            // Removing a missing object changes nothing, so the removal needs no permission.
            let nothing = matches!(change.act, Act::Drop | Act::Truncate) && !there;
            if !nothing && !self.may(session, &change, object)? {
                let mark = mark_of(session, object)?;
                bail!(refusal(session, (change.act, object), mark.as_ref(), cql));
            }
        }
        Ok(GateDecision::Send)
    }

    /// Records the objects that a successful statement created and removed. Returns the created
    /// tables.
    pub fn passed(&self, cql: &str, used: Option<&str>) -> Vec<Object> {
        let mut made = Vec::new();
        for Change {
            act, object, sort, ..
        } in changes(cql, used).unwrap_or_default()
        {
            let Some(object) = object else { continue };
            let mut state = self.state();
            match act {
                Act::Create if matches!(sort, Sort::Index(_)) => {}
                Act::Create => {
                    if sort == Sort::Table {
                        made.push(object.clone());
                        state.left.insert(object.clone());
                    }
                    state.made.insert(object);
                }
                Act::Drop => {
                    let stays = |one: &Object| {
                        one != &object && (object.name.is_some() || one.keyspace != object.keyspace)
                    };
                    state.made.retain(stays);
                    state.left.retain(stays);
                }
                _ => {}
            }
        }
        made
    }

    /// Returns the statement that marks a table as a table of this run.
    pub fn mark(&self, table: &Object) -> String {
        format!(
            "ALTER TABLE {}.{} WITH comment = {}",
            cql::tokens::quoted_name(&table.keyspace),
            cql::tokens::quoted_name(table.name.as_deref().unwrap_or_default()),
            cql::tokens::literal(&Mark::for_run(&self.state().permit.own.run).comment())
        )
    }

    fn may(&self, session: &mut Session, change: &Change, object: &Object) -> Result<bool> {
        let (named, makes, made) = {
            let state = self.state();
            let whole = Object {
                name: None,
                ..object.clone()
            };
            let made = state.made.contains(object) || state.made.contains(&whole);
            let named = state.permit.allow.names(change.act, object);
            (named, state.permit.makes, made)
        };
        if named {
            return Ok(true);
        }
        match (change.act, &change.sort) {
            // An index is absent here, because it adds work to an existing table.
            (Act::Create, Sort::Table | Sort::Type | Sort::View | Sort::Keyspace) => {
                Ok(made || makes)
            }
            // Other users may have created tables in a keyspace that the run drops, so the check
            // covers all tables of the keyspace.
            (_, Sort::Keyspace) => self.is_all_ours(session, object, made),
            _ => Ok(made || self.is_own(session, object)?),
        }
    }

    fn is_own(&self, session: &mut Session, object: &Object) -> Result<bool> {
        let Some(mark) = mark_of(session, object)? else {
            return Ok(false);
        };
        let mut state = self.state();
        let is_own = state.permit.own.has(&mark);
        if is_own {
            state.left.insert(object.clone());
        }
        if state.permit.own.is_earlier(&mark) {
            let table = object.clone();
            state.earlier.insert(MarkedTable { table, mark });
        }
        Ok(is_own)
    }

    /// Returns true if the user's runs created all tables of the keyspace. For an empty keyspace,
    /// returns `made`.
    fn is_all_ours(&self, session: &mut Session, object: &Object, made: bool) -> Result<bool> {
        let tables = tables(session, &object.keyspace)?;
        let is_any = made || !tables.is_empty();
        let state = self.state();
        let is_ours = |(name, comment): &(String, String)| {
            let table = Object {
                name: Some(name.clone()),
                ..object.clone()
            };
            let mark = Mark::read(comment);
            state.made.contains(&table) || mark.is_some_and(|mark| state.permit.own.has(&mark))
        };
        Ok(is_any && tables.iter().all(is_ours))
    }

    fn is_there(&self, session: &mut Session, change: &Change, object: &Object) -> Result<bool> {
        // During a rehearsal, the server lacks the objects that earlier statements of the rehearsal
        // created.
        if self.state().made.contains(object) && !matches!(change.sort, Sort::Index(_)) {
            return Ok(true);
        }
        let (source, column, name) = match &change.sort {
            Sort::Keyspace => ("keyspaces", "keyspace_name", Some(&object.keyspace)),
            Sort::Table => ("tables", "table_name", object.name.as_ref()),
            Sort::Type => ("types", "type_name", object.name.as_ref()),
            Sort::View => ("views", "view_name", object.name.as_ref()),
            Sort::Index(name) if change.act == Act::Create => {
                ("indexes", "index_name", name.as_ref())
            }
            Sort::Index(_) => ("indexes", "index_name", object.name.as_ref()),
        };
        let Some(name) = name else { return Ok(false) };
        let found = look(session, source, &object.keyspace)?;
        let at = found.column(column)?;
        let mut rows = found.rows.iter();
        Ok(rows.any(|row| row.get(at).and_then(Value::as_str) == Some(name)))
    }
}

fn unreadable(fault: &CqlMistake, cql: &str) -> anyhow::Error {
    anyhow!(
        "cassay cannot parse a statement as Cassandra would, so it does not send the statement: \
         {}: {cql}",
        fault.describe(cql)
    )
}

/// Returns the mark of a table, or `None` if the table has no mark or does not exist.
fn mark_of(session: &mut Session, object: &Object) -> Result<Option<Mark>> {
    let tables = tables(session, &object.keyspace)?;
    let found = tables.into_iter().find(|(name, _)| Some(name) == object.name.as_ref());
    Ok(found.and_then(|(_, comment)| Mark::read(&comment)))
}

/// Returns the name and comment of each table of a keyspace.
fn tables(session: &mut Session, keyspace: &str) -> Result<Vec<(String, String)>> {
    let found = look(session, "tables", keyspace)?;
    let tables = commented(&found)?.into_iter();
    Ok(tables.map(|(_, name, comment)| (name, comment)).collect())
}

/// # Errors
/// The node does not answer.
pub fn all_marked(session: &mut Session) -> Result<Vec<MarkedTable>> {
    let found = session.query("SELECT * FROM system_schema.tables")?;
    let marked = commented(&found)?.into_iter().filter_map(|(keyspace, name, comment)| {
        let name = Some(name);
        Some(MarkedTable {
            table: Object { keyspace, name },
            mark: Mark::read(&comment)?,
        })
    });
    let mut marked: Vec<MarkedTable> = marked.collect();
    marked.sort();
    Ok(marked)
}

/// Returns the keyspace, name and comment of each table in a result.
fn commented(found: &QueryResult) -> Result<Vec<(String, String, String)>> {
    let (keyspace, name) = (found.column("keyspace_name")?, found.column("table_name")?);
    // Without the comment column, no table has a mark.
    let comment = found.column("comment").ok();
    let text = |row: &[Value], at: usize| {
        let cell = row.get(at).and_then(Value::as_str);
        cell.unwrap_or_default().to_owned()
    };
    let rows = found.rows.iter();
    Ok(rows
        .map(|row| {
            let comment = comment.map(|at| text(row, at));
            (
                text(row, keyspace),
                text(row, name),
                comment.unwrap_or_default(),
            )
        })
        .collect())
}

fn look(session: &mut Session, source: &str, keyspace: &str) -> Result<QueryResult> {
    session.query(&format!(
        "SELECT * FROM system_schema.{source} WHERE keyspace_name = {}",
        cql::tokens::literal(keyspace)
    ))
}

fn refusal(
    session: &Session,
    (act, object): (Act, &Object),
    mark: Option<&Mark>,
    cql: &str,
) -> String {
    let node = session.node();
    let why = match (act, mark) {
        (Act::Create, _) => {
            let keyspace = if object.name.is_none() {
                "keyspace "
            } else {
                ""
            };
            format!("cassay did not start {node}, which has no {keyspace}{object}")
        }
        (_, Some(mark)) => format!(
            "the comment of {object} on {node} states that cassay created it in the run \
             \"{mark}\", but this run is neither in this results folder nor of this study"
        ),
        (_, None) => {
            format!("{object} existed before this run on {node}, which cassay did not start")
        }
    };
    let done = match act {
        Act::Create => "cassay creates no objects in it",
        Act::Write => "cassay writes no data to it",
        Act::Alter => "cassay alters no objects in it",
        Act::Truncate => "cassay empties no tables in it",
        Act::Drop => "cassay drops no objects in it",
    };
    format!(
        "{why}, and {done} unless the command line permits it. The statement would be: \
         {cql}\nhint: to permit this, add --allow {}={object}",
        act.word()
    )
}
