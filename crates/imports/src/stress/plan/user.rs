//! The operations of user profiles: inserts, queries, reads by token, and validation.

use super::{Planner, RunTables, truncate};
use crate::import_result::ReadFile;
use crate::stress::argument_values::WrittenDistribution;
use crate::stress::command::Weight;
use crate::stress::draw::{Dist, Ratio};
use crate::stress::operations::{Cell, Op, OperationKind};
use crate::stress::options::Seeds;
use crate::stress::profile::{self, Profile, Query, TokenQuery, quoted};
use workload::schema::is_conditional;
use workload::{BatchKind, Statement};
use yaml::did_you_mean;

/// Number of parts into which reads by token divide the ring. With this number of parts, each part
/// has a few pages.
const TOKEN_RANGES: u64 = 1024;
/// Maximum number of operations in a batch of the protocol.
const BATCH_MAX: f64 = 65_535.0;

impl Planner<'_> {
    /// Adds the operations of user profiles to the step.
    pub(super) fn user(
        &mut self,
        paths: &[String],
        ops: &[Weight],
        read: ReadFile,
    ) -> Option<RunTables> {
        let mut profiles = Vec::new();
        for path in paths {
            let path = &path_of(path);
            let text = match read(path) {
                Ok(text) => text,
                Err(message) => {
                    let hint = if path.contains("://") {
                        "download the profile and name the file: cassay downloads no files"
                    } else {
                        "a relative path is relative to the folder in which the command runs"
                    };
                    let hint = hint.to_owned();
                    self.out.add(&self.profile_place, message, Some(hint));
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
            self.sparse.push(!self.fills_all(profile));
            self.notes.extend(profile.notes.clone());
        }
        for weight in ops {
            self.user_op(&profiles, weight);
        }
        self.disable_checks_of_written_tables(&profiles);
        self.allow_unwritten_rows(&profiles);
        self.note_mistakes_of_unused_queries(&profiles, ops);
        let first = profiles.first()?;
        Some(RunTables {
            keyspace: first.keyspace.clone(),
            truncate: profiles
                .iter()
                .map(|profile| truncate(&profile.keyspace, &profile.table.name))
                .collect(),
            tables: profiles.iter().map(|profile| profile.table.name.clone()).collect(),
            create_keyspace: first.create_keyspace.clone(),
            is_replication_stated: first.is_keyspace_defined,
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

    /// Handles queries that write. Such queries leave rows that inserts would not write, in this
    /// run or an earlier run. A read of the same table can therefore not be compared with the rows
    /// of the seeds, and need not find a row.
    fn disable_checks_of_written_tables(&mut self, profiles: &[Profile]) {
        let table_of = |profile: &Profile| (profile.keyspace.clone(), profile.table.name.clone());
        let (mut names, mut writing) = (Vec::new(), Vec::new());
        for op in &mut self.ops {
            let table = table_of(&profiles[op.table]);
            let same = profiles.iter().filter(|profile| table_of(profile) == table);
            let writers: Vec<&String> = same.flat_map(|profile| &profile.writing).collect();
            if writers.is_empty() {
                continue;
            }
            if let OperationKind::Query {
                returned,
                must_find,
                ..
            } = &mut op.what
                && (returned.take().is_some() || *must_find)
            {
                *must_find = false;
                let statement = &mut self.statements[usize::from(op.statement)];
                statement.verifies = false;
                statement.finds = false;
                names.push(self.kinds[usize::from(op.kind)].name.clone());
                writing.extend(writers.into_iter().cloned());
            }
        }
        writing.sort_unstable();
        writing.dedup();
        if !names.is_empty() {
            self.notes.push(format!(
                "cassay does not compare the rows that {} read, because the profile's {} may write \
                 to the same table, in this run or before it",
                names.join(", "),
                writing.join(", ")
            ));
        }
    }

    /// Handles reads of rows that may not have been written yet. In a run that also writes, a query
    /// may find no row. This occurs if seeds are drawn, or if each operation takes the next seed of
    /// a sequence. A read that looks back from the last write must find its row.
    fn allow_unwritten_rows(&mut self, profiles: &[Profile]) {
        let looks_back = matches!(
            &self.run.options.population.seeds,
            Seeds::Sequence {
                lookback: Some(_),
                ..
            }
        );
        if looks_back {
            return;
        }
        let of = |table: usize| {
            let profile = &profiles[table];
            (profile.keyspace.as_str(), profile.table.name.as_str())
        };
        let is_insert = |op: &&Op| matches!(op.what, OperationKind::Insert { .. });
        let inserts = self.ops.iter().filter(is_insert);
        let written: Vec<_> = inserts.map(|op| of(op.table)).collect();
        let mut names = Vec::new();
        for op in &mut self.ops {
            if let OperationKind::Query { must_find, .. } = &mut op.what
                && *must_find
                && written.contains(&of(op.table))
            {
                let name = &self.kinds[usize::from(op.kind)].name;
                // The operation `validate` itself requires that its rows exist.
                if !name.to_lowercase().ends_with("validate") {
                    *must_find = false;
                    names.push(name.clone());
                }
            }
        }
        if !names.is_empty() {
            self.notes.push(format!(
                "if {} does not find a partition, this is not an error: perhaps no operation has \
                 written the partition yet. cassay compares the rows that it finds",
                names.join(", ")
            ));
        }
    }

    /// Records notes on mistakes in queries that this run does not use.
    fn note_mistakes_of_unused_queries(&mut self, profiles: &[Profile], ops: &[Weight]) {
        let used = |name: &str| {
            ops.iter().any(|weight| {
                let own = weight.name.rsplit('.').next().unwrap_or_default();
                own.eq_ignore_ascii_case(name)
            })
        };
        for (name, mistakes) in profiles.iter().flat_map(|profile| &profile.unreadable) {
            if !used(name)
                && let Some(mistake) = mistakes.first()
            {
                self.notes.push(format!(
                    "this command does not use query {name}, which is invalid: line {}: {}",
                    mistake.line, mistake.message
                ));
            }
        }
    }

    /// Adds an operation of the mix. Its name is `insert`, `validate` or the name of a query,
    /// optionally after the name of a profile and a dot.
    fn user_op(&mut self, profiles: &[Profile], weight: &Weight) {
        // If a profile does not state a name, its name is `keyspace.table`. The last dot therefore
        // separates the profile from the query.
        let (spec, name) = match weight.name.rsplit_once('.') {
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
            let message = format!("no profile has the name `{}`", spec.unwrap_or_default());
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
            return self.query(query, table, weight);
        }
        if let Some(query) = profile.token_queries.iter().find(|query| query.name == name) {
            return self.token_query(query, table, weight);
        }
        let unreadable = profile.unreadable.iter().find(|(query, _)| *query == name);
        if let Some((_, mistakes)) = unreadable {
            self.out.list.extend(mistakes.iter().cloned());
            return;
        }
        let queries = profile.queries.iter().map(|query| query.name.as_str());
        let tokens = profile.token_queries.iter().map(|query| query.name.as_str());
        let known: Vec<&str> =
            ["insert", "validate"].into_iter().chain(queries).chain(tokens).collect();
        let message = format!("the profile has no operation `{}`", weight.name);
        self.out.add(&weight.place, message, did_you_mean(&name, known));
    }

    fn query(&mut self, query: &Query, table: usize, weight: &Weight) {
        if let Some(why) = query.not_compared {
            let name = &weight.name;
            let note = format!("cassay does not compare the rows that {name} reads: {why}");
            self.notes.push(note);
        }
        let kind = self.kind(&weight.name, !query.is_select);
        let level = query.consistency.unwrap_or(self.run.consistency);
        let statement = Statement {
            idempotent: query.is_select,
            returns_rows: query.is_select,
            verifies: query.returned.is_some(),
            serial_consistency: query.serial,
            conditional: is_conditional(&query.cql),
            ..Statement::new(&query.cql, kind, query.bound.len() as u16, level)
        };
        let statement = self.statement(statement);
        self.ops.push(Op {
            statement,
            kind,
            table,
            weight: weight.weight,
            what: OperationKind::Query {
                same_row: query.same_row,
                returned: query.returned.clone(),
                must_find: query.must_find,
                whole: false,
            },
            bound: query.bound.clone(),
        });
    }

    fn token_query(&mut self, query: &TokenQuery, table: usize, weight: &Weight) {
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
            what: OperationKind::Tokens {
                ranges: TOKEN_RANGES,
            },
            bound: Vec::new(),
        });
    }

    fn insert(&mut self, profile: &Profile, table: usize, weight: &Weight) {
        let insert = self.run.options.insert.clone();
        let inserts = profile.inserts;
        let written = insert.partitions.as_ref().map(|spelled| self.dist(spelled));
        let partitions = written.or(inserts.partitions).unwrap_or(Dist::fixed(1));
        let written = self.ratio(insert.select.as_ref());
        let select = written.or(inserts.select).unwrap_or(Ratio::one());
        let population = self.ratio(insert.row_population.as_ref()).or(inserts.population);
        let visits = self.dist(&insert.visits);
        let batch = insert.batch.or(inserts.batch).unwrap_or(BatchKind::Logged);
        let share = select.max() / visits.min().max(1) as f64;
        let rows_max = profile.columns.rows_max() * partitions.max() as f64 * share;
        if batch == BatchKind::Logged && rows_max > BATCH_MAX {
            let message = format!(
                "an insert may have {rows_max:.0} rows, but a logged batch has at most {BATCH_MAX}"
            );
            let hint =
                "use fewer partitions, a smaller `cluster`, or batchtype UNLOGGED".to_owned();
            self.out.add(&weight.place, message, Some(hint));
        }
        if batch != BatchKind::Logged && rows_max > BATCH_MAX {
            self.notes.push(format!(
                "an insert may have {rows_max:.0} rows. cassay sends at most the first {BATCH_MAX} \
                 of them, in one batch, but cassandra-stress sends several batches"
            ));
        }
        let batch = match (profile.has_counters, batch) {
            (true, BatchKind::Logged | BatchKind::Unlogged) => BatchKind::Counter,
            (_, batch) => batch,
        };
        let kind = self.kind(&weight.name, true);
        let level = insert.consistency.or(inserts.consistency).unwrap_or(self.run.consistency);
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
            what: OperationKind::Insert {
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
                "the seed determines the rows of a partition that `select` chooses; \
                 cassandra-stress chooses other rows in each run"
                    .to_owned(),
            );
        }
    }

    /// Returns true if an insert writes all rows that a visit can select.
    fn writes_all(&self, profile: &Profile) -> bool {
        let insert = &self.run.options.insert;
        insert.visits.text.eq_ignore_ascii_case("fixed(1)")
            && is_one(insert.select.as_ref(), profile.inserts.select)
            && self.fills_all(profile)
            && profile.columns.unseeded_counts().next().is_none()
    }

    /// Returns true if an insert sets a value in every column of a row.
    fn fills_all(&self, profile: &Profile) -> bool {
        let population = self.run.options.insert.row_population.as_ref();
        is_one(population, profile.inserts.population)
    }

    /// Adds an operation that reads a whole partition and compares every row.
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
            what: OperationKind::Query {
                same_row: true,
                returned: Some(profile.all_cells()),
                must_find: true,
                whole: self.writes_all(profile),
            },
            bound: (0..keys.len()).map(Cell::Key).collect(),
        });
    }
}

/// Returns the path of a profile. The command line may contain the path as `file:///path`.
fn path_of(name: &str) -> String {
    let Some(rest) = name.strip_prefix("file:") else {
        return name.to_owned();
    };
    let rest = rest.strip_prefix("//localhost").unwrap_or(rest);
    match rest.trim_start_matches('/') {
        path if path.len() < rest.len() => format!("/{path}"),
        path => path.to_owned(),
    }
}

/// Returns true if a share is always 1. The share comes from the command line, or from the profile
/// if the command line does not state it.
fn is_one(spelled: Option<&WrittenDistribution>, own: Option<Ratio>) -> bool {
    let written = spelled.and_then(|spelled| Ratio::parse(&spelled.text).ok());
    written.or(own).is_none_or(|ratio| ratio.is_one())
}
