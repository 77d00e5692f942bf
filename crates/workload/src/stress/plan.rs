//! What a command line comes to, but for its rows: the statements before it, how much is asked and
//! for how long, and how to get in.
//!
//! What must hold: the same schema, warm-up, limits and pace as the tool; where that is not so, a
//! note says it.

use yaml::{Diagnostics, Place};

use super::command::{Command, Limit, Run, Task, Truncate, Verb};
use super::options::{Connect, Order, Pace, Rate, Seeds};
use crate::import::{Connection, Import, Offer, ReadFile, Secret, Step, StepLimit};
use crate::program::{Policy, Program, Stage};
use std::sync::Arc;

/// What a run comes to, but for its rows.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Statements before anything else; those of profiles stand in the profiles.
    pub(crate) before: Vec<String>,
    /// When it ends.
    pub(crate) limit: StepLimit,
    /// How much is asked at a time.
    pub(crate) offer: Offer,
    /// Operations before the measured ones, per kind of operation.
    pub(crate) warmup_per_kind: u64,
    /// What is done about failures, for every kind.
    pub(crate) policy: Policy,
    /// Whom to ask.
    pub(crate) connection: Connection,
    /// What is done differently than the tool does it.
    pub(crate) notes: Vec<String>,
}

/// Operations of a warm-up at most, and their share of the run; as the tool has them.
const WARMUP_MAX: u64 = 50_000;
const WARMUP_SHARE: f64 = 0.25;
/// More would be a list of something else than nodes.
const NODES_MAX: usize = 10_000;

/// The rows of a run: what makes and reads them, and what they need beforehand.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The operations.
    pub program: Arc<Program>,
    /// The schema of its profiles; none for the predefined commands.
    pub before: Vec<String>,
    /// What the rows do differently than the tool's.
    pub notes: Vec<String>,
}

/// Everything that a command line asks for. `rows` makes the rows of the run, under the policy for
/// failures; `read` is asked for the files of nodes and of credentials.
///
/// # Errors
///
/// When there is nothing to run, a file cannot be read, or the rows cannot be made.
pub fn import(
    command: &Command,
    read: ReadFile,
    rows: impl FnOnce(&Run, Policy) -> Result<Rows, Diagnostics>,
) -> Result<Import, Diagnostics> {
    let run = run_of(command)?;
    let mut plan = plan(command, read)?;
    let rows = rows(run, plan.policy)?;
    plan.notes.extend(rows.notes);
    let step = plan.step(run, rows.program, rows.before);
    Ok(Import {
        steps: vec![step],
        notes: plan.notes,
        connection: plan.connection,
    })
}

/// The run that a command line asks for.
///
/// # Errors
///
/// When it asks for something else: help, a version, the shape of a distribution.
pub(crate) fn run_of(command: &Command) -> Result<&Run, Diagnostics> {
    match &command.task {
        Task::Run(run) => Ok(run),
        Task::Help(_) | Task::Print(_) | Task::Version => {
            let mut diagnostics = command.line.diagnostics();
            let place = command
                .line
                .words
                .first()
                .map_or(Place::default(), |word| word.place());
            let message = "this command line asks for no operations, so there is nothing to run";
            let hint = "write read, write, mixed, counter_write, counter_read or user";
            diagnostics.add(&place, message, Some(hint.to_owned()));
            Err(diagnostics)
        }
    }
}

/// Makes the plan of a run. `read` is asked for the files of nodes and of credentials.
///
/// # Errors
///
/// When a file cannot be read, or does not hold what it should.
pub(crate) fn plan(command: &Command, read: ReadFile) -> Result<Plan, Diagnostics> {
    let run = run_of(command)?;
    let mut diagnostics = command.line.diagnostics();
    let mut notes = run.notes.clone();
    let connection = connection(&run.options.connect, read, &mut diagnostics);
    diagnostics.into_result()?;
    let nodes = connection.nodes.len().max(1) as u64;
    Ok(Plan {
        before: before(run, &mut notes),
        limit: limit(run, &mut notes),
        offer: offer(run.options.rate),
        warmup_per_kind: warmup(run, nodes),
        policy: Policy {
            retries: run.options.errors.retries.unwrap_or(0),
            ..Policy::default()
        },
        connection,
        notes,
    })
}

impl Plan {
    /// The step that runs `program`, after the statements of its profiles, if it has any.
    pub(crate) fn step(&self, run: &Run, program: Arc<Program>, profile: Vec<String>) -> Step {
        let kinds = match &run.verb {
            Verb::Mixed(weights) => weights.len(),
            Verb::User { ops, .. } => ops.len(),
            Verb::Read | Verb::Write | Verb::CounterRead | Verb::CounterWrite => 1,
        };
        let mut before = profile;
        before.extend(self.before.iter().cloned());
        Step {
            name: run.verb.name().to_owned(),
            program,
            stage: Stage::Main,
            before,
            first_operation: 0,
            limit: self.limit,
            offer: self.offer,
            warmup_operations: self.warmup_per_kind * kinds as u64,
        }
    }
}

/// The schema of the predefined commands, and the emptying of their tables.
fn before(run: &Run, notes: &mut Vec<String>) -> Vec<String> {
    if run.truncate != Truncate::Never && run.warmup {
        let note = "`truncate`: tables are emptied before the warm-up, by the tool after it; \
                    the rows of the warm-up are there when measuring begins.";
        notes.push(note.to_owned());
    }
    if run.truncate == Truncate::Always && matches!(run.options.rate, Rate::Ladder { .. }) {
        let note = "`truncate=always`: tables are emptied before the ladder of threads, by the \
                    tool before each of its steps.";
        notes.push(note.to_owned());
    }
    if matches!(run.verb, Verb::User { .. }) {
        return Vec::new();
    }
    let (schema, columns) = (&run.options.schema, &run.options.columns);
    let mut statements = vec![
        schema.create_keyspace(),
        schema.create_table("standard1", columns, "blob"),
        schema.create_table("counter1", columns, "counter"),
    ];
    if run.truncate != Truncate::Never {
        for table in ["standard1", "counter1"] {
            statements.push(format!("TRUNCATE \"{}\".{table}", schema.keyspace));
        }
    }
    statements
}

fn warmup(run: &Run, nodes: u64) -> u64 {
    let iterations = match run.limit {
        // Rounded down, as the tool does.
        Limit::Operations(count) => ((count as f64 * WARMUP_SHARE) as u64).min(WARMUP_MAX),
        Limit::Duration(_) | Limit::Uncertainty { .. } => WARMUP_MAX,
    };
    if run.warmup { iterations * nodes } else { 0 }
}

fn limit(run: &Run, notes: &mut Vec<String>) -> StepLimit {
    let population = &run.options.population;
    if population.order == Order::Shuffled {
        let note = "`contents=shuffled`: the tool shuffles anew in every run; here the order \
                    follows from the seed.";
        notes.push(note.to_owned());
    }
    let seeds = match population.seeds {
        Seeds::Sequence {
            first,
            last,
            wrap: false,
            ..
        } => Some((last - first).saturating_add(1)),
        Seeds::Sequence { .. } | Seeds::Drawn(_) => None,
    };
    match (run.limit, seeds) {
        (Limit::Operations(count), Some(seeds)) => StepLimit::Operations(count.min(seeds)),
        (Limit::Operations(count), None) => StepLimit::Operations(count),
        (Limit::Duration(_) | Limit::Uncertainty { .. }, Some(seeds)) => {
            let note = "`no-wrap` ends the run at its last seed, whatever else would have.";
            notes.push(note.to_owned());
            StepLimit::Operations(seeds)
        }
        (Limit::Duration(time), None) => StepLimit::Duration(time),
        (Limit::Uncertainty { target, min, max }, None) => {
            StepLimit::Uncertainty { target, min, max }
        }
    }
}

fn offer(rate: Rate) -> Offer {
    let paced = |per_second: u64, threads, hides_wait| Offer::Rate {
        // Never through a period in whole nanoseconds: 300 000/s would become 300 030/s.
        per_second: per_second as f64,
        threads,
        hides_wait,
    };
    match rate {
        Rate::Threads { threads, pace } => match pace {
            Pace::Free => Offer::Threads(threads),
            Pace::Throttle(per_second) => paced(per_second, threads, true),
            Pace::Fixed(per_second) => paced(per_second, threads, false),
        },
        Rate::Ladder { from, to, .. } => Offer::Ladder { from, to },
    }
}

fn connection(connect: &Connect, read: ReadFile, d: &mut Diagnostics) -> Connection {
    let nodes = match &connect.nodes_file {
        Some((file, place)) => nodes(file, place, read, d),
        None => connect.nodes.clone(),
    };
    let (mut username, mut password) = (connect.user.clone(), connect.password.clone());
    if let Some((file, place)) = &connect.credentials_file {
        match read(file) {
            Ok(text) => {
                // What is written beside it wins, as in the tool.
                username = username.or_else(|| property(&text, "cql.username"));
                let from_file = property(&text, "cql.password").map(Secret::new);
                password = password.or(from_file);
            }
            Err(problem) => {
                let message = format!("the credentials in {file} cannot be read: {problem}");
                d.add(place, message, Some("check the path".to_owned()));
            }
        }
    }
    Connection {
        nodes,
        port: connect.port,
        username,
        password,
        tls: connect.tls.then_some(true),
        compression: connect.compression,
        connections_per_node: connect.connections_per_node,
        datacenter: connect.datacenter.clone(),
    }
}

/// The nodes of a file: one per line.
fn nodes(file: &str, place: &Place, read: ReadFile, d: &mut Diagnostics) -> Vec<String> {
    let text = match read(file) {
        Ok(text) => text,
        Err(problem) => {
            let message = format!("the nodes in {file} cannot be read: {problem}");
            d.add(place, message, Some("check the path".to_owned()));
            return Vec::new();
        }
    };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let nodes: Vec<String> = lines.map(str::to_owned).collect();
    if nodes.is_empty() || nodes.len() > NODES_MAX {
        let count = nodes.len();
        let message = format!("{file} names {count} nodes; it must be 1 to {NODES_MAX}");
        d.add(place, message, Some("write one node per line".to_owned()));
    }
    if let Some(line) = nodes
        .iter()
        .position(|node| node.contains(char::is_whitespace))
    {
        let message = format!("line {} of {file} is no node", line + 1);
        d.add(
            place,
            message,
            Some("write one host name or address per line".to_owned()),
        );
    }
    nodes
}

/// A value of a properties file.
fn property(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().map(str::trim);
    let mut pairs = lines
        .filter(|line| !line.starts_with(['#', '!']))
        .filter_map(|line| line.split_once(['=', ':']));
    pairs
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests;
