//! Checks a workload file against a cluster, which prepares every statement but does not execute
//! any.
//!
//! Invariant: the check does not change existing keyspaces. If all tables of the workload exist,
//! the check prepares the statements on these tables. If a table is missing, the check creates the
//! schema in a scratch keyspace, which it always drops at the end.

use super::running_target::Running;
use anyhow::{Context, Error, Result, anyhow};
use cassandra::{OwnRuns, Permit, ServerError, Session};
use cluster::{Cluster, Dirs};
use cql::value::CqlType;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use target_spec::Target;
use workload::{CompiledFile, KeyspaceStatements};
use yaml::Diagnostics;

const SCRATCH: &str = "cassay_check_";

/// Result of preparing a workload's statements.
#[derive(Clone, Debug)]
pub struct PrepareResult {
    /// Name of the node that prepared the statements.
    pub node: String,
    /// Cassandra version of the node.
    pub version: String,
    /// Keyspace in which the node prepared the statements.
    pub keyspace: String,
    /// True if the keyspace was a scratch keyspace, which the check has dropped.
    pub is_scratch: bool,
    /// Number of statements that the node prepared.
    pub statements_count: usize,
    /// Statements that the server refuses, or interprets differently from cassay.
    pub mistakes: Diagnostics,
    /// True if the user ended the check before the last statement.
    pub is_interrupted: bool,
}

/// Prepares every statement of a workload on a target. If `stop` becomes true, the check ends after
/// the current statement.
///
/// # Errors
/// The target is not available, or a keyspace cannot be created or dropped on it.
/// [`PrepareResult::mistakes`] contains the server's complaints about the workload.
pub fn prepare(
    target: &Target,
    dirs: &Dirs,
    checked: &CompiledFile,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<PrepareResult> {
    let running = Running::start(target, dirs, say)?;
    // This call permits only the scratch keyspace.
    running.cluster.permit(Permit {
        makes: true,
        own: OwnRuns {
            run: "check".to_owned(),
            ..OwnRuns::default()
        },
        ..Permit::default()
    });
    let ask = Ask { checked, stop };
    ask.prepare(&running.cluster, say)
}

struct Ask<'a> {
    checked: &'a CompiledFile,
    stop: &'a AtomicBool,
}

impl Ask<'_> {
    fn prepare(&self, cluster: &Cluster, say: &mut dyn FnMut(&str)) -> Result<PrepareResult> {
        let node = cluster.nodes().first().context("the cluster has no node")?;
        let program = self.checked.program();
        let mut session = cluster.session()?;
        for keyspace in scratches(&mut session)? {
            say(&format!(
                "note: another check created the keyspace {keyspace}; if no check is running now, \
                 drop the keyspace: DROP KEYSPACE {keyspace}"
            ));
        }
        let there = tables(&mut session, program.keyspace())?;
        let all = program.tables();
        let missing: Vec<&str> = all.into_iter().filter(|t| !there.contains(*t)).collect();
        let mut prepared = PrepareResult {
            node: node.address.to_string(),
            version: node.version.clone(),
            keyspace: program.keyspace().to_owned(),
            is_scratch: !missing.is_empty(),
            statements_count: 0,
            mistakes: self.checked.no_mistakes(),
            is_interrupted: false,
        };
        if missing.is_empty() {
            let placed = self.checked.placed(program.keyspace());
            self.statements(&mut session, &placed, &mut prepared)?;
            return Ok(prepared);
        }
        let scratch = Scratch::make(cluster, &mut session)?;
        say(&format!(
            "{} has no table {} in the keyspace {}: cassay created the keyspace {} for this check",
            prepared.node,
            missing.join(", "),
            program.keyspace(),
            scratch.name
        ));
        prepared.keyspace = scratch.name.clone();
        let placed = self.checked.placed(&scratch.name);
        let result = match self.schema(&mut session, &placed, &mut prepared) {
            Ok(()) => self.statements(&mut session, &placed, &mut prepared),
            error => error,
        };
        scratch.end(result)?;
        Ok(prepared)
    }

    /// Returns true unless the user has pressed Ctrl-C. Records the interruption in `prepared`.
    fn goes_on(&self, prepared: &mut PrepareResult) -> bool {
        prepared.is_interrupted = self.stop.load(Ordering::Relaxed);
        !prepared.is_interrupted
    }

    /// Creates the tables. If the server refuses a table, the check ends, because the server would
    /// refuse later statements for the same reason.
    fn schema(
        &self,
        session: &mut Session,
        placed: &KeyspaceStatements,
        prepared: &mut PrepareResult,
    ) -> Result<()> {
        for (number, cql) in placed.schema.iter().enumerate() {
            if !self.goes_on(prepared) {
                return Ok(());
            }
            if let Err(error) = session.execute_schema(cql) {
                let words = refusal(&prepared.node, error)?;
                self.checked.refuse_schema(number, &words, &mut prepared.mistakes);
                return Ok(());
            }
        }
        Ok(())
    }

    fn statements(
        &self,
        session: &mut Session,
        placed: &KeyspaceStatements,
        prepared: &mut PrepareResult,
    ) -> Result<()> {
        if !prepared.mistakes.is_empty() {
            return Ok(());
        }
        for (number, cql) in placed.statements.iter().enumerate() {
            if !self.goes_on(prepared) {
                return Ok(());
            }
            match session.prepare(cql) {
                Ok(found) => {
                    let takes: Vec<CqlType> =
                        found.bind_columns.into_iter().map(|marker| marker.typ).collect();
                    self.checked.compare(number, &takes, &mut prepared.mistakes);
                }
                Err(error) => {
                    let words = refusal(&prepared.node, error)?;
                    self.checked.refuse(number, &words, &mut prepared.mistakes);
                }
            }
            prepared.statements_count += 1;
        }
        Ok(())
    }
}

/// Returns the refusal of the server as a message.
///
/// # Errors
/// The server did not answer.
fn refusal(node: &str, error: Error) -> Result<String> {
    match error.downcast::<ServerError>() {
        Ok(ServerError { code, message, .. }) => {
            Ok(format!("{node} refuses this statement ({code}): {message}"))
        }
        Err(other) => Err(other),
    }
}

/// Returns the tables of a keyspace. The list is empty if the keyspace does not exist.
fn tables(session: &mut Session, keyspace: &str) -> Result<BTreeSet<String>> {
    let rows = session
        .query(&format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {}",
            cql::tokens::literal(keyspace)
        ))
        .with_context(|| format!("look for the tables of the keyspace {keyspace}"))?;
    let names = rows.rows.iter().filter_map(|row| row.first()?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Returns the scratch keyspaces that other checks have created and not yet dropped.
fn scratches(session: &mut Session) -> Result<Vec<String>> {
    let rows = session
        .query("SELECT keyspace_name FROM system_schema.keyspaces")
        .context("list the keyspaces")?
        .rows;
    let names = rows.iter().filter_map(|row| row.first()?.as_str());
    let ours = names.filter(|name| name.starts_with(SCRATCH));
    Ok(ours.map(str::to_owned).collect())
}

/// A keyspace with an unused name, which contains only empty tables.
struct Scratch<'a> {
    cluster: &'a Cluster,
    name: String,
    is_there: bool,
}

impl<'a> Scratch<'a> {
    fn make(cluster: &'a Cluster, session: &mut Session) -> Result<Scratch<'a>> {
        let number = RandomState::new().build_hasher().finish();
        let mut scratch = Scratch {
            cluster,
            name: format!("{SCRATCH}{number:016x}"),
            is_there: true,
        };
        // The statement omits IF NOT EXISTS, because an existing keyspace with this name would
        // belong to another user.
        let create = format!(
            "CREATE KEYSPACE {} WITH replication = \
             {{'class': 'SimpleStrategy', 'replication_factor': '1'}}",
            scratch.name
        );
        let Err(error) = session.execute_schema(&create) else {
            return Ok(scratch);
        };
        let refused = error.downcast_ref::<ServerError>();
        if refused.is_some_and(ServerError::says_that_it_exists) {
            scratch.is_there = false;
        }
        let error = error.context(
            "create a keyspace for the check, because some tables of the workload do not \
             exist\nhint: create them first; or use a user who may CREATE on ALL KEYSPACES",
        );
        // If the server did not answer, the keyspace may exist, so this code tries to drop it. An
        // error of the drop is ignored, because the first error is more important.
        let _ = scratch.drop_keyspace();
        Err(error)
    }

    /// Drops the keyspace. If both the check and the drop fail, the returned error contains both,
    /// with the error of the check first.
    fn end(mut self, result: Result<()>) -> Result<()> {
        match (result, self.drop_keyspace()) {
            (result, Ok(())) => result,
            (Ok(()), Err(error)) => Err(error),
            (Err(first), Err(error)) => Err(anyhow!("{first:#}\nand then: {error:#}")),
        }
    }

    fn drop_keyspace(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.is_there) {
            return Ok(());
        }
        let drop = format!("DROP KEYSPACE IF EXISTS {}", self.name);
        // The session of the check may have failed, so this code opens another one.
        let session = self.cluster.session();
        let dropped = session.and_then(|mut session| session.execute_schema(&drop));
        dropped.with_context(|| {
            format!("cassay could not drop the keyspace of the check, so drop it yourself: {drop}")
        })
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = self.drop_keyspace();
    }
}

#[cfg(test)]
mod tests;
