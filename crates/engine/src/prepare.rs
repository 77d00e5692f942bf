//! What a cluster says of a workload file: every statement prepared there, none executed.
//!
//! What must hold: no keyspace that was there before is changed. Where all tables of the workload
//! are, the statements are prepared on them as they are. Where one is missing, its schema is made
//! in a keyspace of a name of our own, which is dropped however the check ends.

use super::running::Running;
use anyhow::{Context, Error, Result, anyhow};
use cluster::{Cluster, Dirs, OwnRuns, Permit, ServerError, Session};
use cql::value::CqlType;
use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use target::Target;
use workload::{Checked, Placed};
use yaml::Diagnostics;

/// How the names of our own keyspaces begin.
const SCRATCH: &str = "cassay_check_";

/// What came of preparing a workload's statements.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The node that prepared them.
    pub node: String,
    /// Its version of Cassandra.
    pub version: String,
    /// The keyspace in which they were prepared.
    pub keyspace: String,
    /// Whether that was one of our own, which is gone again.
    pub is_scratch: bool,
    /// How many were prepared.
    pub statements_count: usize,
    /// What the server refuses, and what it understands in another way than we.
    pub mistakes: Diagnostics,
    /// Whether it was ended before the last statement.
    pub is_interrupted: bool,
}

/// Has every statement of a workload prepared on a target. `stop` ends it after the statement that
/// is being prepared.
///
/// # Errors
/// The target cannot be had, or a keyspace cannot be made or dropped on it. What the server says of
/// the workload is no error, but in [`Prepared::mistakes`].
pub fn prepare(
    target: &Target,
    dirs: &Dirs,
    checked: &Checked,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let running = Running::start(target, dirs, say)?;
    // A keyspace of a name of our own is all that it makes.
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
    checked: &'a Checked,
    stop: &'a AtomicBool,
}

impl Ask<'_> {
    fn prepare(&self, cluster: &Cluster, say: &mut dyn FnMut(&str)) -> Result<Prepared> {
        let node = cluster.nodes().first().context("the cluster has no node")?;
        let program = self.checked.program();
        let mut session = cluster.session()?;
        for keyspace in scratches(&mut session)? {
            say(&format!(
                "note: the keyspace {keyspace} is of another check; if none is running now, that \
                 one was killed: DROP KEYSPACE {keyspace}"
            ));
        }
        let there = tables(&mut session, program.keyspace())?;
        let all = program.tables();
        let missing: Vec<&str> = all.into_iter().filter(|t| !there.contains(*t)).collect();
        let mut prepared = Prepared {
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
            "{} has no table {} in the keyspace {}: made the keyspace {} for this check",
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

    /// Whether the check goes on: not after Ctrl-C, nor after a mistake that others follow from.
    fn goes_on(&self, prepared: &mut Prepared) -> bool {
        prepared.is_interrupted = self.stop.load(Ordering::Relaxed);
        !prepared.is_interrupted
    }

    /// Makes the tables. A refusal ends it: what comes after would be refused because of that.
    fn schema(
        &self,
        session: &mut Session,
        placed: &Placed,
        prepared: &mut Prepared,
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
        placed: &Placed,
        prepared: &mut Prepared,
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

/// The server's words, if it has answered at all.
fn refusal(node: &str, error: Error) -> Result<String> {
    match error.downcast::<ServerError>() {
        Ok(ServerError { code, message, .. }) => {
            Ok(format!("{node} refuses this ({code}): {message}"))
        }
        Err(other) => Err(other),
    }
}

/// The tables of a keyspace; none where it is not there.
fn tables(session: &mut Session, keyspace: &str) -> Result<BTreeSet<String>> {
    let rows = session
        .query(&format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {}",
            cql::text::literal(keyspace)
        ))
        .with_context(|| format!("look for the tables of the keyspace {keyspace}"))?;
    let names = rows.rows.iter().filter_map(|row| row.first()?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// The keyspaces that checks have made and not dropped yet.
fn scratches(session: &mut Session) -> Result<Vec<String>> {
    let rows = session
        .query("SELECT keyspace_name FROM system_schema.keyspaces")
        .context("list the keyspaces")?
        .rows;
    let names = rows.iter().filter_map(|row| row.first()?.as_str());
    let ours = names.filter(|name| name.starts_with(SCRATCH));
    Ok(ours.map(str::to_owned).collect())
}

/// A keyspace of a name that nobody has, with nothing in it but empty tables.
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
        // Without IF NOT EXISTS: one that is there would be somebody else's.
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
            "make a keyspace for the check, as not all tables of the workload are there\n\
             hint: make them first, and nothing is created; or use a user who may CREATE on ALL \
             KEYSPACES",
        );
        // No answer is no proof that nothing was made; that it cannot be dropped either is the
        // lesser news.
        let _ = scratch.drop_keyspace();
        Err(error)
    }

    /// Drops the keyspace; the first error is that of the check.
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
        // The other session may have failed.
        let session = self.cluster.session();
        let dropped = session.and_then(|mut session| session.execute_schema(&drop));
        dropped.with_context(|| format!("{drop}, which is to be done by hand now"))
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let _ = self.drop_keyspace();
    }
}

#[cfg(test)]
mod tests;
