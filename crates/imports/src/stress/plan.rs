//! Converts a command line to a step. The step contains tables, statements, operations and limits.

mod predefined;
mod user;

use std::sync::Arc;

use super::access::connection;
use super::argument_values::WrittenDistribution;
use super::command::{Command, Limit, Run, Task, Truncate, Verb};
use super::draw::{Dist, Ratio};
use super::operations::{Op, OperationKind, Operations, Seeds};
use super::options::{Order, Pace, Rate, Seeds as SeedsOption, Style};
use super::partition::Columns;
use super::profile::quoted;
use crate::import_result::{Import, ImportStep, Offer, ReadFile, StepLimit};
use workload::{Kind, Policy, Program, Schema, Stage, Statement};
use yaml::{Diagnostics, Place};

/// Maximum number of warm-up operations.
const WARMUP_MAX: u64 = 50_000;
const WARMUP_SHARE: f64 = 0.25;

/// Imports a command line of cassandra-stress. Every random choice is a function of `seed`.
///
/// # Errors
/// Every mistake in the words and profiles, with its position.
pub fn import(words: &[String], seed: u64, read: ReadFile) -> Result<Import, Diagnostics> {
    let command = Command::parse(words)?;
    let mut out = command.line.diagnostics();
    let Task::Run(run) = &command.task else {
        let place = command.line.words.first().map(|word| word.place());
        let hint = "write, read, mixed, counter_write, counter_read and user run".to_owned();
        let message = "this command runs no operations";
        out.add(&place.unwrap_or_default(), message, Some(hint));
        return Err(out);
    };
    let is_profile = |text: &str| text.to_ascii_lowercase().starts_with("profile=");
    let profile = command.line.words.iter().find(|word| is_profile(&word.text));
    let mut planner = Planner {
        run,
        seed,
        profile_place: profile.map(|word| word.place()).unwrap_or_default(),
        out,
        notes: run.notes.clone(),
        kinds: Vec::new(),
        statements: Vec::new(),
        tables: Vec::new(),
        counters: Vec::new(),
        sparse: Vec::new(),
        ops: Vec::new(),
    };
    let schema = planner.operations(read);
    let connection = connection(&run.options.connect, read, &mut planner.out);
    let nodes = connection.nodes.len().max(1) as u64;
    let step = schema.and_then(|schema| planner.step(schema, nodes));
    let (out, notes) = (planner.out, planner.notes);
    out.clone().into_result()?;
    match step {
        Some(step) => Ok(Import {
            steps: vec![step],
            notes,
            connection,
        }),
        None => Err(out),
    }
}

/// Schema and tables that a run uses.
struct RunTables {
    keyspace: String,
    tables: Vec<String>,
    create_keyspace: Option<String>,
    is_replication_stated: bool,
    create: Vec<String>,
    truncate: Vec<String>,
}

struct Planner<'a> {
    run: &'a Run,
    seed: u64,
    /// Position of the words that name the profiles.
    profile_place: Place,
    out: Diagnostics,
    notes: Vec<String>,
    kinds: Vec<Kind>,
    statements: Vec<Statement>,
    tables: Vec<Columns>,
    counters: Vec<bool>,
    sparse: Vec<bool>,
    ops: Vec<Op>,
}

impl Planner<'_> {
    fn dist(&mut self, spelled: &WrittenDistribution) -> Dist {
        Dist::parse(&spelled.text).unwrap_or_else(|message| {
            self.out.add(&spelled.place, message, None);
            Dist::fixed(1)
        })
    }

    fn ratio(&mut self, spelled: Option<&WrittenDistribution>) -> Option<Ratio> {
        let spelled = spelled?;
        match Ratio::parse(&spelled.text) {
            Ok(ratio) => Some(ratio),
            Err(message) => {
                self.out.add(&spelled.place, message, None);
                None
            }
        }
    }

    fn kind(&mut self, name: &str, is_write: bool) -> u8 {
        let mut kind = Kind::new(name, is_write);
        kind.policy = Policy {
            retries: self.run.options.errors.retries.unwrap_or(0),
            ..Policy::default()
        };
        self.kinds.push(kind);
        (self.kinds.len() - 1) as u8
    }

    /// Adds a statement with the settings of the run. Returns its index.
    fn statement(&mut self, statement: Statement) -> u16 {
        self.statements.push(Statement {
            prepared: self.run.options.connect.style == Style::Prepared,
            serial_consistency: statement.serial_consistency.or(self.run.serial_consistency),
            verifies: statement.verifies && !self.run.options.errors.skip_read_validation,
            ..statement
        });
        (self.statements.len() - 1) as u16
    }

    fn operations(&mut self, read: ReadFile) -> Option<RunTables> {
        if self.run.options.population.order != Order::Arbitrary {
            self.notes.push(
                "rows of a partition are in the order in which they are generated, regardless of \
                 `contents=`: the tool's sorting compares values with their positions"
                    .to_owned(),
            );
        }
        match &self.run.verb {
            Verb::User { profiles, ops } => self.user(profiles, ops, read),
            Verb::Mixed(weights) => {
                let weights: Vec<(String, f64)> = weights
                    .iter()
                    .map(|weight| (weight.name.to_lowercase(), weight.weight))
                    .collect();
                Some(self.predefined(&weights))
            }
            verb => Some(self.predefined(&[(verb.name().to_owned(), 1.0)])),
        }
    }

    fn seeds(&mut self) -> (Seeds, Option<u64>) {
        match &self.run.options.population.seeds {
            SeedsOption::Drawn(spelled) => (Seeds::Drawn(self.dist(spelled)), None),
            SeedsOption::Sequence {
                first,
                last,
                wrap,
                lookback,
            } => {
                let lookback = lookback.as_ref().map(|spelled| self.dist(spelled));
                let count = last.saturating_sub(*first).saturating_add(1);
                let first = *first as i64;
                let end = (!wrap).then_some(count);
                (
                    Seeds::Sequence {
                        first,
                        count,
                        lookback,
                        ranges: None,
                    },
                    end,
                )
            }
        }
    }

    /// Returns the limit of the run. `count` is the number of operations at which `n=` or the seeds
    /// end the run. If `count` is present, a stated duration can only end the run earlier, and a
    /// stated uncertainty has no effect.
    fn limit(&mut self, count: Option<u64>) -> StepLimit {
        match (self.run.limit, count) {
            (Limit::Operations(_), count) => StepLimit::Operations(count.unwrap_or(0)),
            (Limit::Duration(length), None) => StepLimit::Duration(length),
            (Limit::Duration(length), Some(count)) => StepLimit::Either(count, length),
            (Limit::Uncertainty { target, min, max }, None) => {
                StepLimit::Uncertainty { target, min, max }
            }
            (Limit::Uncertainty { .. }, Some(count)) => {
                let note = "`no-wrap` ends the run at the last seed, regardless of the uncertainty \
                            of the rate";
                self.notes.push(note.to_owned());
                StepLimit::Operations(count)
            }
        }
    }

    /// Returns the step for a cluster that has `nodes` nodes.
    fn step(&mut self, prepared: RunTables, nodes: u64) -> Option<ImportStep> {
        let run = self.run;
        let runs = self.dist(&run.clustering);
        let (seeds, end) = self.seeds();
        if self.ops.is_empty() || !self.out.is_empty() {
            return None;
        }
        for op in &self.ops {
            let must_find = matches!(
                op.what,
                OperationKind::Query {
                    must_find: true,
                    ..
                }
            );
            self.statements[usize::from(op.statement)].finds = must_find;
        }
        let stated = match run.limit {
            Limit::Operations(count) => Some(count),
            Limit::Duration(_) | Limit::Uncertainty { .. } => None,
        };
        let operations = Operations {
            seed: self.seed,
            tables: std::mem::take(&mut self.tables),
            counters: std::mem::take(&mut self.counters),
            sparse: std::mem::take(&mut self.sparse),
            ops: std::mem::take(&mut self.ops),
            runs,
            seeds,
            partitions: stated,
            last_seed: end,
        };
        let limit = self.limit(operations.count());
        let mut before: Vec<String> = prepared.create_keyspace.iter().cloned().collect();
        before.extend(prepared.create.iter().cloned());
        let truncate = match run.truncate {
            Truncate::Never => Vec::new(),
            Truncate::Once | Truncate::Always => prepared.truncate.clone(),
        };
        let program = self.program(prepared, operations);
        Some(ImportStep {
            name: run.verb.name().to_owned(),
            program: Arc::new(program),
            stage: Stage::Main,
            before,
            first_operation: 0,
            limit,
            offer: offer(run.options.rate),
            warmup_operations: warmup(run, nodes),
            truncate,
            truncates_always: run.truncate == Truncate::Always,
        })
    }

    fn program(&mut self, prepared: RunTables, operations: Operations) -> Program {
        let ends = [operations.partitions, operations.last_seed];
        let rows = ends.into_iter().flatten().min();
        let schema = Schema {
            create_keyspace: prepared.create_keyspace.unwrap_or_default(),
            is_replication_stated: prepared.is_replication_stated,
            create_tables: prepared.create,
            truncate: prepared.truncate,
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS {}", quoted(&prepared.keyspace)),
        };
        let kinds = std::mem::take(&mut self.kinds);
        let statements = std::mem::take(&mut self.statements);
        Program::from_source(kinds, statements, Arc::new(operations)).with_tables(
            "stress",
            (prepared.keyspace, prepared.tables),
            schema,
            rows.unwrap_or(1_000_000).max(1),
        )
    }
}

/// Returns the number of warm-up operations. As in the tool, each kind of operation and each node
/// has the same number of them.
fn warmup(run: &Run, nodes: u64) -> u64 {
    let kinds = match &run.verb {
        Verb::Mixed(weights) => weights.len(),
        Verb::User { ops, .. } => ops.len(),
        Verb::Read | Verb::Write | Verb::CounterRead | Verb::CounterWrite => 1,
    };
    let iterations = match run.limit {
        // As in the tool, the number is rounded down.
        Limit::Operations(count) => ((count as f64 * WARMUP_SHARE) as u64).min(WARMUP_MAX),
        Limit::Duration(_) | Limit::Uncertainty { .. } => WARMUP_MAX,
    };
    if run.warmup {
        iterations * nodes * kinds as u64
    } else {
        0
    }
}

fn truncate(keyspace: &str, table: &str) -> String {
    format!("TRUNCATE {}.{}", quoted(keyspace), quoted(table))
}

fn offer(rate: Rate) -> Offer {
    match rate {
        Rate::Threads { threads, pace } => match pace {
            Pace::Free => Offer::Threads(threads),
            Pace::Throttle(rate) | Pace::Fixed(rate) => Offer::Rate {
                per_second: rate as f64,
                threads,
                hides_wait: matches!(pace, Pace::Throttle(_)),
            },
        },
        Rate::Ladder { from, to, auto } => Offer::Ladder {
            from,
            to,
            until_flat: auto,
        },
    }
}

fn qualified(cql: &str, keyspace: &str) -> String {
    workload::schema::qualify(cql, keyspace).unwrap_or_else(|_| cql.to_owned())
}

#[cfg(test)]
mod tests;
