//! From a command line to a step that can be run: tables, statements, operations, limits.

use std::sync::Arc;

use super::column::Column;
use super::command::{Command, Limit, Run, Task, Truncate, Verb, Weight};
use super::draw::{Dist, Ratio};
use super::options::{Order, Pace, Rate, Seeds as SeedsOption, Style};
use super::partition::Columns;
use super::profile::{self, Profile, quoted};
use super::source::{Cell, Op, Operations, Seeds, What};
use super::values::Spelled;
use crate::import::{Connection, Import, Offer, ReadFile, Step, StepLimit};
use crate::program::{BatchKind, Kind, Policy, Program, Schema, Stage, Statement};
use cql::value::CqlType;
use yaml::{Diagnostics, Place, did_you_mean};

/// Operations of a warm-up at most, and their share of the run's.
const WARMUP_MAX: u64 = 50_000;
const WARMUP_SHARE: f64 = 0.25;
/// Ranges that the ring is cut into for reads by token, so that each is a few pages.
const TOKEN_RANGES: u64 = 1024;
/// Operations that a batch may hold in the protocol.
const BATCH_MAX: f64 = 65_535.0;

/// What a command line of cassandra-stress asks for. All that is drawn is a function of `seed`.
///
/// # Errors
/// Every mistake in the words and profiles, with its place.
pub fn import(words: &[String], seed: u64, read: ReadFile) -> Result<Import, Diagnostics> {
    let command = Command::parse(words)?;
    let mut out = command.line.diagnostics();
    let Task::Run(run) = &command.task else {
        let place = command.line.words.first().map(|word| word.place());
        let hint = "write, read, mixed, counter_write, counter_read and user run".to_owned();
        let message = "this command runs nothing";
        out.add(&place.unwrap_or_default(), message, Some(hint));
        return Err(out);
    };
    let mut planner = Planner {
        run,
        seed,
        out,
        notes: run.notes.clone(),
        kinds: Vec::new(),
        statements: Vec::new(),
        tables: Vec::new(),
        counters: Vec::new(),
        ops: Vec::new(),
    };
    let schema = planner.operations(read);
    let connection = planner.connection(read);
    let step = schema.and_then(|schema| planner.step(schema));
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

/// What stands before the run.
struct Prepared {
    keyspace: String,
    tables: Vec<String>,
    create_keyspace: Option<String>,
    create: Vec<String>,
}

struct Planner<'a> {
    run: &'a Run,
    seed: u64,
    out: Diagnostics,
    notes: Vec<String>,
    kinds: Vec<Kind>,
    statements: Vec<Statement>,
    tables: Vec<Columns>,
    counters: Vec<bool>,
    ops: Vec<Op>,
}

impl Planner<'_> {
    fn dist(&mut self, spelled: &Spelled) -> Dist {
        Dist::parse(&spelled.text).unwrap_or_else(|message| {
            self.out.add(&spelled.place, message, None);
            Dist::fixed(1)
        })
    }

    fn ratio(&mut self, spelled: Option<&Spelled>) -> Option<Ratio> {
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

    /// Adds a statement of the newest kind.
    fn statement(&mut self, statement: Statement) -> u16 {
        self.statements.push(Statement {
            prepared: self.run.options.connect.style == Style::Prepared,
            serial_consistency: statement.serial_consistency.or(self.run.serial_consistency),
            verifies: statement.verifies && !self.run.options.errors.skip_read_validation,
            ..statement
        });
        (self.statements.len() - 1) as u16
    }

    fn operations(&mut self, read: ReadFile) -> Option<Prepared> {
        if self.run.options.population.order != Order::Arbitrary {
            self.notes.push(
                "rows of a partition come in the order in which they are made, whatever \
                 `contents=` says: the tool's sorting compares values with their positions"
                    .to_owned(),
            );
        }
        if self.run.options.errors.retries.is_none() {
            self.notes.push(
                "an operation that fails is an error at once; cassandra-stress tries it ten \
                 times unless -errors retries= says otherwise"
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

    /// The predefined tables.
    fn predefined(&mut self, weights: &[(String, f64)]) -> Prepared {
        let options = &self.run.options;
        let keyspace = options.schema.keyspace.clone();
        let mut create = Vec::new();
        for (table, typ) in [("standard1", "blob"), ("counter1", "counter")] {
            create.push(qualified(
                &options.schema.create_table(table, &options.columns, typ),
                &keyspace,
            ));
        }
        let mut tables = Vec::new();
        for (name, weight) in weights {
            let counter = name.starts_with("counter");
            let table = if counter { "counter1" } else { "standard1" };
            if !tables.contains(&table.to_owned()) {
                tables.push(table.to_owned());
                self.predefined_table(counter);
            }
            let index = tables.iter().position(|known| known == table).unwrap_or(0);
            self.predefined_op(name, *weight, (&keyspace, table, index));
        }
        Prepared {
            create_keyspace: Some(options.schema.create_keyspace()),
            keyspace,
            tables,
            create,
        }
    }

    fn predefined_table(&mut self, counter: bool) {
        let (size, add) = (self.run.options.columns.size.clone(), self.run.add.clone());
        let (size, add) = (self.dist(&size), self.dist(&add));
        let column = |name: &String| match counter {
            true => Column::predefined_counter(name, add),
            false => Column::predefined(name, &CqlType::Blob, size),
        };
        let key = vec![Column::predefined_key(self.run.key_bytes as i64)];
        let values = self.run.options.columns.names.iter().map(column).collect();
        self.tables.push(Columns::new(key, Vec::new(), values));
        self.counters.push(counter);
    }

    fn predefined_op(
        &mut self,
        name: &str,
        weight: f64,
        (keyspace, table, index): (&str, &str, usize),
    ) {
        let columns = &self.run.options.columns;
        let names: Vec<String> = columns.names.iter().map(|name| quoted(name)).collect();
        let target = format!("{}.{}", quoted(keyspace), quoted(table));
        let is_write = name.ends_with("write");
        let kind = self.kind(name, is_write);
        let values: Vec<Cell> = (0..names.len()).map(Cell::Row).collect();
        let key = vec![Cell::Key(0)];
        let (cql, bound, what) = if is_write {
            let using = match columns.timestamp {
                Some(time) => format!(" USING TIMESTAMP {time}"),
                None => String::new(),
            };
            let set = |name: &String| match table {
                "counter1" => format!("{name}={name}+?"),
                _ => format!("{name} = ?"),
            };
            let sets: Vec<String> = names.iter().map(set).collect();
            let what = What::Insert {
                partitions: Dist::fixed(1),
                select: Ratio::one(),
                visits: 1,
                population: Ratio::one(),
                values: names.len(),
            };
            let cql = format!("UPDATE {target}{using} SET {} WHERE KEY=?", sets.join(","));
            (cql, [values, key].concat(), what)
        } else {
            let list = if columns.slice {
                "*".to_owned()
            } else {
                names.join(",")
            };
            let returned = if columns.slice {
                [key.clone(), values].concat()
            } else {
                values
            };
            let what = What::Query {
                same_row: true,
                returned: Some(returned),
                must_find: true,
            };
            (
                format!("SELECT {list} FROM {target} WHERE KEY=?"),
                key,
                what,
            )
        };
        let statement = Statement {
            idempotent: table != "counter1" || !is_write,
            returns_rows: !is_write,
            verifies: !is_write,
            ..Statement::new(cql, kind, bound.len() as u16, self.run.consistency)
        };
        let statement = self.statement(statement);
        self.ops.push(Op {
            statement,
            kind,
            table: index,
            weight,
            what,
            bound,
        });
    }

    /// The operations of user profiles.
    fn user(&mut self, paths: &[String], ops: &[Weight], read: ReadFile) -> Option<Prepared> {
        let mut profiles = Vec::new();
        for path in paths {
            let text = match read(path) {
                Ok(text) => text,
                Err(message) => {
                    self.out.add(&Place::default(), message, None);
                    continue;
                }
            };
            profiles.extend(profile::read(path, &text, &mut self.out));
        }
        if profiles.len() < paths.len() {
            return None;
        }
        for profile in &profiles {
            self.tables.push(profile.columns.clone());
            self.counters.push(profile.has_counters);
            self.notes.extend(profile.notes.clone());
        }
        for weight in ops {
            self.user_op(&profiles, weight);
        }
        let first = profiles.first()?;
        Some(Prepared {
            keyspace: first.keyspace.clone(),
            tables: profiles
                .iter()
                .map(|profile| profile.table.name.clone())
                .collect(),
            create_keyspace: first.create_keyspace.clone(),
            create: profiles
                .iter()
                .enumerate()
                .flat_map(|(index, profile)| {
                    let keyspace = profile.create_keyspace.clone().filter(|_| index > 0);
                    keyspace.into_iter().chain(profile.create.clone())
                })
                .collect(),
        })
    }

    /// `insert`, `query` or `spec.query`.
    fn user_op(&mut self, profiles: &[Profile], weight: &Weight) {
        let (spec, name) = match weight.name.split_once('.') {
            Some((spec, name)) => (Some(spec), name.to_lowercase()),
            None => (None, weight.name.to_lowercase()),
        };
        let named = |profile: &&Profile| match spec {
            None => true,
            Some(spec) => {
                let own = profile.name.clone();
                let usual = format!("{}.{}", profile.keyspace, profile.table.name);
                own.unwrap_or(usual).eq_ignore_ascii_case(spec)
            }
        };
        let Some(table) = profiles.iter().position(|profile| named(&profile)) else {
            let message = format!("no profile is named `{}`", spec.unwrap_or_default());
            return self.out.add(&weight.place, message, None);
        };
        let profile = &profiles[table];
        if name == "insert" {
            return self.insert(profile, table, weight);
        }
        if name == "validate" {
            return self.validate(profile, table, weight);
        }
        if let Some(query) = profile.queries.iter().find(|query| query.name == name) {
            let kind = self.kind(&weight.name, !query.is_select);
            let level = query.consistency.unwrap_or(self.run.consistency);
            let statement = Statement {
                idempotent: query.is_select,
                returns_rows: query.is_select,
                verifies: query.returned.is_some(),
                serial_consistency: query.serial,
                conditional: !query.is_select && query.cql.to_lowercase().contains(" if "),
                ..Statement::new(&query.cql, kind, query.bound.len() as u16, level)
            };
            let statement = self.statement(statement);
            self.ops.push(Op {
                statement,
                kind,
                table,
                weight: weight.weight,
                what: What::Query {
                    same_row: query.same_row,
                    returned: query.returned.clone(),
                    must_find: query.must_find,
                },
                bound: query.bound.clone(),
            });
            return;
        }
        if let Some(query) = profile
            .token_queries
            .iter()
            .find(|query| query.name == name)
        {
            let kind = self.kind(&weight.name, false);
            let statement = Statement {
                idempotent: true,
                returns_rows: true,
                page_size: Some(query.page_size),
                ..Statement::new(&query.cql, kind, 2, self.run.consistency)
            };
            let statement = self.statement(statement);
            self.notes.push(format!(
                "{} reads the ring in {TOKEN_RANGES} ranges of equal width, one after the other; \
                 cassandra-stress reads the nodes' own ranges",
                weight.name
            ));
            self.ops.push(Op {
                statement,
                kind,
                table,
                weight: weight.weight,
                what: What::Tokens {
                    ranges: TOKEN_RANGES,
                },
                bound: Vec::new(),
            });
            return;
        }
        let queries = profile.queries.iter().map(|query| query.name.as_str());
        let tokens = profile
            .token_queries
            .iter()
            .map(|query| query.name.as_str());
        let known: Vec<&str> = ["insert", "validate"]
            .into_iter()
            .chain(queries)
            .chain(tokens)
            .collect();
        let message = format!("the profile has no operation `{}`", weight.name);
        self.out
            .add(&weight.place, message, did_you_mean(&name, known));
    }

    fn insert(&mut self, profile: &Profile, table: usize, weight: &Weight) {
        let insert = self.run.options.insert.clone();
        let inserts = profile.inserts;
        let partitions = insert.partitions.as_ref().map(|spelled| self.dist(spelled));
        let partitions = partitions.or(inserts.partitions).unwrap_or(Dist::fixed(1));
        let select = self.ratio(insert.select.as_ref()).or(inserts.select);
        let population = self
            .ratio(insert.row_population.as_ref())
            .or(inserts.population);
        let visits = self.dist(&insert.visits);
        let select = select.unwrap_or(Ratio::one());
        let batch = insert.batch.or(inserts.batch).unwrap_or(BatchKind::Logged);
        let rows_max = profile.columns.rows_max() * partitions.max() as f64 * select.max();
        if batch == BatchKind::Logged && rows_max > BATCH_MAX {
            let message = format!(
                "an insert may hold {rows_max:.0} rows; a logged batch holds {BATCH_MAX} at most"
            );
            let hint = "fewer partitions, a smaller `cluster`, or batchtype UNLOGGED".to_owned();
            self.out.add(&weight.place, message, Some(hint));
        }
        let batch = match (profile.has_counters, batch) {
            (true, BatchKind::Logged | BatchKind::Unlogged) => BatchKind::Counter,
            (_, batch) => batch,
        };
        let kind = self.kind(&weight.name, true);
        let level = insert
            .consistency
            .or(inserts.consistency)
            .unwrap_or(self.run.consistency);
        let statement = Statement {
            idempotent: !profile.has_counters && !profile.insert_cql.contains("+ ?"),
            batch: Some(batch),
            serial_consistency: insert.serial_consistency.or(inserts.serial),
            ..Statement::new(
                &profile.insert_cql,
                kind,
                profile.insert_bound.len() as u16,
                level,
            )
        };
        let statement = self.statement(statement);
        self.ops.push(Op {
            statement,
            kind,
            table,
            weight: weight.weight,
            what: What::Insert {
                partitions,
                select,
                visits: visits.average().max(1),
                population: population.unwrap_or(Ratio::one()),
                values: profile.insert_values,
            },
            bound: profile.insert_bound.clone(),
        });
        if !select.is_one() {
            self.notes.push(
                "which rows of a partition `select` chooses follows from the seed; \
                 cassandra-stress chooses others in each run"
                    .to_owned(),
            );
        }
    }

    /// Reads whole partitions and compares every row.
    fn validate(&mut self, profile: &Profile, table: usize, weight: &Weight) {
        let keys: Vec<String> = profile
            .table
            .partition_key
            .iter()
            .map(|key| format!("{} = ?", quoted(&profile.table.columns[*key].name)))
            .collect();
        let cql = format!(
            "SELECT * FROM {}.{} WHERE {}",
            quoted(&profile.keyspace),
            quoted(&profile.table.name),
            keys.join(" AND ")
        );
        let kind = self.kind(&weight.name, false);
        let statement = Statement {
            idempotent: true,
            returns_rows: true,
            verifies: true,
            ..Statement::new(cql, kind, keys.len() as u16, self.run.consistency)
        };
        let statement = self.statement(statement);
        self.ops.push(Op {
            statement,
            kind,
            table,
            weight: weight.weight,
            what: What::Query {
                same_row: true,
                returned: Some(profile.all_cells()),
                must_find: true,
            },
            bound: (0..keys.len()).map(Cell::Key).collect(),
        });
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
                    },
                    end,
                )
            }
        }
    }

    fn step(&mut self, prepared: Prepared) -> Option<Step> {
        let run = self.run;
        let runs = self.dist(&run.clustering);
        let (seeds, end) = self.seeds();
        if self.ops.is_empty() || !self.out.is_empty() {
            return None;
        }
        let stated = match run.limit {
            Limit::Operations(count) => Some(count),
            Limit::Duration(_) | Limit::Uncertainty { .. } => None,
        };
        let total = match (stated, end) {
            (Some(count), Some(end)) => Some(count.min(end)),
            (stated, end) => stated.or(end),
        };
        let operations = Operations {
            seed: self.seed,
            tables: std::mem::take(&mut self.tables),
            counters: std::mem::take(&mut self.counters),
            ops: std::mem::take(&mut self.ops),
            runs,
            seeds,
            total,
        };
        let count = total.map(|_| operations.count());
        let limit = match (run.limit, count) {
            (Limit::Operations(_), count) => StepLimit::Operations(count.unwrap_or(0)),
            (Limit::Duration(length), None) => StepLimit::Duration(length),
            (Limit::Duration(length), Some(count)) => StepLimit::Either(count, length),
            (Limit::Uncertainty { target, min, max }, _) => {
                StepLimit::Uncertainty { target, min, max }
            }
        };
        let nodes = run.options.connect.nodes.len().max(1) as u64;
        let warmup = match (run.warmup, count) {
            (false, _) => 0,
            (true, Some(count)) => ((count as f64 * WARMUP_SHARE) as u64).min(WARMUP_MAX) * nodes,
            (true, None) => WARMUP_MAX * nodes,
        };
        let truncate: Vec<String> = prepared
            .tables
            .iter()
            .map(|table| format!("TRUNCATE {}.{}", quoted(&prepared.keyspace), quoted(table)))
            .collect();
        let mut before: Vec<String> = prepared.create_keyspace.iter().cloned().collect();
        before.extend(prepared.create.iter().cloned());
        if run.truncate != Truncate::Never {
            before.extend(truncate.iter().cloned());
        }
        let schema = Schema {
            create_keyspace: prepared.create_keyspace.unwrap_or_default(),
            create_tables: prepared.create,
            truncate,
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS {}", quoted(&prepared.keyspace)),
        };
        let program = Program {
            name: "stress".to_owned(),
            keyspace: prepared.keyspace,
            tables: prepared.tables,
            schema,
            kinds: std::mem::take(&mut self.kinds),
            statements: std::mem::take(&mut self.statements),
            rows: total.unwrap_or(1_000_000).max(1),
            source: Arc::new(operations),
        };
        Some(Step {
            name: run.verb.name().to_owned(),
            program: Arc::new(program),
            stage: Stage::Main,
            before,
            first_operation: 0,
            limit,
            offer: offer(run.options.rate),
            warmup_operations: warmup,
        })
    }

    fn connection(&mut self, read: ReadFile) -> Connection {
        let connect = &self.run.options.connect;
        let mut nodes = connect.nodes.clone();
        if let Some((file, place)) = &connect.nodes_file {
            match read(file) {
                Ok(text) => {
                    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                    nodes = lines.map(str::to_owned).collect();
                }
                Err(message) => self.out.add(place, message, None),
            }
        }
        let (mut username, mut password) = (connect.user.clone(), connect.password.clone());
        if let Some((file, place)) = &connect.credentials_file {
            match read(file) {
                Ok(text) => {
                    let value = |key: &str| {
                        let mut lines = text.lines();
                        let found = lines.find_map(|line| {
                            let (name, value) = line.split_once('=')?;
                            (name.trim() == key).then(|| value.trim().to_owned())
                        });
                        found
                    };
                    username = username.or(value("cql.username"));
                    password = password.or(value("cql.password").map(crate::import::Secret::new));
                }
                Err(message) => self.out.add(place, message, None),
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
    crate::schema::qualify(cql, keyspace).unwrap_or_else(|_| cql.to_owned())
}
