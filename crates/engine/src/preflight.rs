//! Finds the changes that a run would make to an attached cluster, before the run makes any change.
//! So a mistake in a study has no effect on the cluster. If the cluster is unreachable, cassay does
//! not create a folder for the run.
//!
//! Invariant: the check sends only queries. Every statement of a trial passes the same permission
//! check as later in the run.

mod pods;

use crate::load_guard;
use crate::running_target::Running;
use crate::trial::data;
use anyhow::{Context, Result, bail};
use cassandra::{Estimate, MarkedTable, OwnRuns, Permit, Session};
use cluster::{Cluster, Dirs};
use std::collections::BTreeSet;
use std::path::Path;
use study::compile_workload;
use study::data_state::{DataState, Preparation};
use study::plan::Plan;
use study::settings::{Load, Reset, Settings, Study};
use study::units;
use target_spec::Target;
use workload::{Program, Stage};

/// State of an attached cluster, and the effects that the run would have on it.
#[derive(Clone, Debug, Default)]
pub struct Preflight {
    /// Sentences about existing keyspaces and tables, and about the statements that the run would
    /// send.
    pub says: Vec<String>,
    /// Actions that the user has not permitted, without duplicates. Each entry names the option
    /// that would permit the action.
    pub refusals: Vec<String>,
}

/// Error that lists the actions on an attached cluster that the user has not permitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct NotAllowed(pub Vec<String>);

/// Returns the runs whose tables a run of `study` may treat as its own. These are the runs in
/// `results`, and the runs with the name of the study. The name does not count if the study is a
/// command line of another tool. `stamp` is the stamp of this run, if the run already has a stamp.
///
/// # Errors
/// The results folder cannot be read.
pub fn own_runs(study: &Study, results: &Path, stamp: Option<&str>) -> Result<OwnRuns> {
    let run = stamp.map(|stamp| format!("{}/{stamp}", study.name));
    Ok(OwnRuns {
        run: run.unwrap_or_default(),
        study: study.overrides.command.is_none().then(|| study.name.clone()),
        known: store::run_names(results)?,
    })
}

/// Sets the permissions on an attached target: those that the user granted on the command line of
/// the study.
pub fn let_in(running: &Running, study: &Study, own: OwnRuns) {
    let overrides = &study.overrides;
    running.cluster.permit(Permit {
        allow: overrides.granted.allow.clone(),
        // The command line comes from the user and not from a record. The tool that cassay imitates
        // creates tables, so creating tables is permitted.
        makes: overrides.command.is_some() && !overrides.recorded,
        own,
    });
}

/// Checks a plan on every attached cluster of its study, without changing the clusters. Also checks
/// the permissions for pods.
///
/// # Errors
/// A cluster cannot be reached, or does not answer.
pub fn preflight(study: &Study, plan: &Plan, dirs: &Dirs, own: &OwnRuns) -> Result<Preflight> {
    let mut found = Preflight {
        refusals: pods::refused(study)?,
        ..Preflight::default()
    };
    let mut seen: Vec<&Target> = Vec::new();
    for variant in &study.variants {
        let target = &variant.settings.target;
        if matches!(target, Target::Attach(_)) && !seen.contains(&target) {
            seen.push(target);
            // The preflight drops this message, because the run itself reports that it attaches to
            // the cluster.
            let says = &mut found.says;
            let running = Running::start(target, dirs, &mut |text| {
                if !text.starts_with("attached to ") {
                    says.push(text.to_owned());
                }
            })?;
            let_in(&running, study, own.clone());
            let mut session = running.cluster.session()?;
            let others = load_guard::describe(&variant.settings.guard, &running)?;
            let node = session.node();
            found.says.extend(others.map(|said| format!("{node}: {said}")));
            Rehearsal {
                study,
                plan,
                target,
                cluster: &running.cluster,
                session: &mut session,
                sent: BTreeSet::new(),
                found: &mut found,
            }
            .go_through()?;
            found.says.extend(running.cluster.earlier().iter().map(rewritten));
        }
    }
    Ok(found)
}

/// Ends a run before it begins if its cluster would refuse it. Also ends a run that would need an
/// action that the user has not permitted.
///
/// # Errors
/// cassay did not read a table before the run, or a cluster does not answer. It is also an error if
/// the user has not permitted an action. The message then lists all such actions.
pub fn check(study: &Study, plan: &Plan, dirs: &Dirs, own: &OwnRuns) -> Result<Vec<String>> {
    if let Some((table, _)) = compile_workload::unread_tables(study).first() {
        bail!(
            "cassay did not read the table {} before the run",
            table.name
        );
    }
    let found = preflight(study, plan, dirs, own)?;
    if found.refusals.is_empty() {
        Ok(found.says)
    } else {
        Err(NotAllowed(found.refusals).into())
    }
}

fn rewritten(earlier: &MarkedTable) -> String {
    format!(
        "the run {1} created {0}, which still contains rows of that run. This run uses the table \
         (`cassay clean` drops it)",
        earlier.table, earlier.mark
    )
}

/// Name of a snapshot. The rehearsal only checks the permission, and does not take the snapshot.
const REHEARSAL_SNAPSHOT: &str = "rehearsed";

struct Rehearsal<'a> {
    study: &'a Study,
    plan: &'a Plan,
    target: &'a Target,
    cluster: &'a Cluster,
    session: &'a mut Session,
    /// Statements that the report already contains.
    sent: BTreeSet<String>,
    found: &'a mut Preflight,
}

impl Rehearsal<'_> {
    fn go_through(mut self) -> Result<()> {
        let mut standing = DataState::default();
        let mut looked: BTreeSet<String> = BTreeSet::new();
        for turn in &self.plan.trials {
            let settings = &self.study.variant(turn.variant).settings;
            if settings.target != *self.target {
                continue;
            }
            self.breaks(settings);
            let work = self.plan.work(turn.variant);
            let program = &work.program;
            if looked.insert(program.keyspace().to_owned()) {
                let there = there(self.cluster, self.session, program.keyspace())?;
                self.found.says.push(there);
            }
            match &work.step {
                Some(step) => {
                    self.all(step.before.iter().chain(&step.truncate))?;
                    self.writes(program, step.stage)?;
                }
                None => self.prepared(settings, program, &mut standing)?,
            }
        }
        Ok(())
    }

    fn prepared(
        &mut self,
        settings: &Settings,
        program: &Program,
        standing: &mut DataState,
    ) -> Result<()> {
        let schema = program.schema();
        let preparation = standing.preparation(settings, program);
        if settings.takes_as_it_is() {
            if let Err(why) = look_for_rows(self.session, program) {
                self.refuse(format!("{why:#}"));
            }
        } else if preparation == Preparation::Truncate {
            self.all(&schema.truncate)?;
        } else if preparation.fills() {
            let drop = (preparation == Preparation::Replace).then_some(&schema.drop_keyspace);
            self.all(drop)?;
            self.all([&schema.create_keyspace])?;
            self.all(&schema.create_tables)?;
        }
        self.all(&data::alters(settings.load_keyspace(), program))?;
        self.all(&data::alters(&settings.keyspace, program))?;
        if preparation.fills() {
            if settings.data.load != Load::None {
                self.writes(program, Stage::Load)?;
            }
            standing.prepared(settings, program, program.rows());
        }
        if settings.data.reset == Reset::Snapshot {
            standing.kept(settings, program, REHEARSAL_SNAPSHOT.to_owned());
            self.all(&schema.truncate)?;
        }
        self.writes(program, Stage::Main)
    }

    /// Checks that the target supports the faults of a variant, and that the user permits their
    /// actions on the nodes.
    fn breaks(&mut self, settings: &Settings) {
        for fault in &settings.faults {
            for one in self.cluster.capabilities() {
                if fault.kind.needs.contains(&one.capability) && !one.present {
                    let (kind, why) = (&fault.kind.name, &one.detail);
                    self.refuse(format!("{kind} is not available: {why}"));
                }
            }
            for act in fault.kind.acts().into_iter().flatten() {
                if let Err(why) = self.cluster.may_do(*act) {
                    self.refuse(format!("{}: {why:#}", fault.kind.name));
                }
            }
        }
        if settings.faults.iter().any(|fault| fault.kind.acts().is_some()) {
            for says in self.cluster.controls() {
                if !self.found.says.contains(&says) {
                    self.found.says.push(says);
                }
            }
        }
    }

    fn writes(&mut self, program: &Program, stage: Stage) -> Result<()> {
        for statement in program.writes(stage) {
            if !self.sent.insert(statement.cql.clone()) {
                continue;
            }
            if let Err(why) = self.session.may_send(&statement.cql) {
                self.refuse(format!("{why:#}"));
            }
        }
        Ok(())
    }

    /// Checks every statement, in order. The report contains each statement only once.
    fn all<'s>(&mut self, statements: impl IntoIterator<Item = &'s String>) -> Result<()> {
        for cql in statements {
            match self.session.rehearse(cql) {
                Ok(true) if self.sent.insert(cql.clone()) => {
                    self.found.says.push(format!("would send: {cql}"));
                }
                Ok(_) => {}
                // If a table already exists, the statement that creates it is still valid.
                Err(why) if says_that_it_exists(&why) => {}
                Err(why) => {
                    self.refuse(format!("{why:#}"));
                    self.session.suppose(cql);
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, why: String) {
        if !self.found.refusals.contains(&why) {
            self.found.refusals.push(why);
        }
    }
}

fn says_that_it_exists(error: &anyhow::Error) -> bool {
    let refused = error.downcast_ref::<cassandra::ServerError>();
    refused.is_some_and(cassandra::ServerError::says_that_it_exists)
}

fn there(cluster: &Cluster, session: &mut Session, keyspace: &str) -> Result<String> {
    let node = session.node();
    let named = cql::tokens::literal(keyspace);
    let found = session.query(&format!(
        "SELECT * FROM system_schema.keyspaces WHERE keyspace_name = {named}"
    ))?;
    let name = found.column("keyspace_name")?;
    let is_it = |row: &&Vec<cql::value::Value>| row[name].as_str() == Some(keyspace);
    let Some(row) = found.rows.iter().find(is_it) else {
        return Ok(format!("{node} has no keyspace {keyspace}"));
    };
    let replication = found.column("replication").map(|at| row[at].to_string()).unwrap_or_default();
    let tables = session.query(&format!(
        "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {named}"
    ))?;
    let names = tables.rows.iter().filter_map(|row| row.first()?.as_str());
    let estimates = cluster.estimates(keyspace)?.unwrap_or_default();
    let names: Vec<String> =
        names.map(|name| format!("{name}{}", estimated(estimates.get(name)))).collect();
    Ok(if names.is_empty() {
        format!("{node} has the keyspace {keyspace} ({replication}), but no table in it")
    } else {
        format!(
            "{node} has the keyspace {keyspace} ({replication}) with {}",
            names.join(", ")
        )
    })
}

fn estimated(estimate: Option<&Estimate>) -> String {
    match estimate {
        Some(estimate) if estimate.partitions > 0 => format!(
            " (about {} partitions, {} in total; Cassandra updates this estimate every few \
             minutes)",
            units::count_for_people(estimate.partitions),
            measure::number::bytes(estimate.bytes)
        ),
        _ => String::new(),
    }
}

/// Checks that an attached cluster may receive the load of a stage.
///
/// # Errors
/// The load would write to existing data, which the user has not permitted.
pub fn may_write(running: &Running, program: &Program, stage: Stage) -> Result<()> {
    if !running.cluster.is_attached() {
        return Ok(());
    }
    let mut session = running.cluster.session()?;
    for statement in program.writes(stage) {
        session.may_send(&statement.cql)?;
    }
    Ok(())
}

/// Checks the rows that a study declares as present. Each table of the workload must exist and have
/// at least one row. Only the tables of recorded traffic may be empty.
///
/// # Errors
/// A table is missing or empty.
pub fn look_for_rows(session: &mut Session, program: &Program) -> Result<()> {
    let keyspace = program.keyspace();
    if program.course().is_some() {
        return look_for_tables(session, program);
    }
    for table in program.tables() {
        let query = format!("SELECT * FROM \"{keyspace}\".\"{table}\" LIMIT 1");
        let found = session.query_rows(&query).with_context(|| {
            format!(
                "look for the rows of {keyspace}.{table}, which must exist according to \
                 `data.present`"
            )
        })?;
        if found.rows.is_empty() {
            bail!(
                "{} has no row in {keyspace}.{table}, but `data.present` states that rows \
                 exist\nhint: name the keyspace and the table that contain them, or load rows with \
                 `data.load`",
                session.node()
            );
        }
    }
    Ok(())
}

/// Checks that the tables of recorded traffic exist. The tables may be empty, because the recording
/// does not contain earlier writes.
fn look_for_tables(session: &mut Session, program: &Program) -> Result<()> {
    let mut known = BTreeSet::new();
    for statement in program.statements() {
        let Some(name) = statement.table().filter(|name| known.insert(name.clone())) else {
            continue;
        };
        let (keyspace, table) = name.split_once('.').unwrap_or(("", &name));
        let found = session.query(&format!(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = {} AND table_name = \
             {}",
            cql::tokens::literal(keyspace),
            cql::tokens::literal(table)
        ))?;
        if found.rows.is_empty() {
            bail!(
                "{} has no table {keyspace}.{table}, which recorded traffic uses\nhint: create it \
                 first, or name the statements that create it: `workload.recorded.schema: FILE`",
                session.node()
            );
        }
    }
    Ok(())
}
