//! Assembles the sections of a workload file: kinds, statements, groups, the mix and the load
//! stage.

use std::sync::Arc;

use super::compiled_program::{FileSource, Group, Part};
use super::csv::Csv;
use super::resolve::Numbers;
use super::sections::{NamedStatement, Tables};
use super::server_refusal::StatementPlaces;
use super::sizes::sampler;
use super::statement::{Context, Verb};
use super::{File, KEYS, param_text};
use crate::distribution::{self, DistributionText, Sampler, Shape};
use crate::mix::Mix;
use crate::program::{BatchKind, Choices, Kind, Program, Schema, Statement, lanes};
use crate::random::lane;
use crate::workload_parts::ROWS_MAX;
use cql::Consistency;
use cql::template::BATCH_ENTRIES_MAX;
use cql::tokens::quoted_name;
use yaml::{Node, Place, Raw, did_you_mean};

/// Number of rows over which the estimate averages row sizes. The average then has an error of one
/// or two percent.
const ESTIMATED_ROWS: u64 = 500;

#[derive(Default)]
struct BuiltStatements {
    statements: Vec<Statement>,
    groups: Vec<Group>,
    group_of: Vec<usize>,
    /// Index of the first statement of each named statement.
    leads: Vec<u16>,
}

impl<'a> File<'a, '_> {
    /// Builds the program. Returns `None` if mistakes were reported.
    pub(super) fn program(&mut self, name: &str) -> Option<(Program, StatementPlaces)> {
        self.check_keys(self.root, &KEYS, "a workload file");
        self.root.entries()?;
        let csv = self.csv()?;
        let rows = self.row_count(csv.as_ref());
        let (keyspace, keyspaces) = self.keyspace();
        let before = self.out.list.len();
        let tables = self.tables(&keyspace);
        let is_incomplete = self.out.list.len() > before || self.is_misspelt("schema");
        let values = self.values(&tables.types);
        let last = (!self.adds_rows()).then_some(rows - 1);
        let named = self.statements(&Context {
            tables: &tables.tables,
            is_incomplete,
            values: &values,
            written: self.root.find("values"),
            has_lost_values: self.is_misspelt("values"),
            keyspace: &keyspace,
            rows: Numbers {
                last,
                csv: csv.as_ref(),
            },
            text: self.text,
        });
        for second in named.iter().filter(|named| named.options.adds_rows).skip(1) {
            let message = "this is the second statement with `rows: new`, but only one statement \
                           may add rows";
            self.say(&second.place, message);
        }
        let load = self.load(&named);
        let weights = self.weights(&named);
        let chosen = self.rows(rows);
        let sizes = self.sizes(&named);
        let verify = self.verify(&named, &tables, &load, weights.as_deref());
        if !self.out.is_empty() {
            return None;
        }
        let (weights, sizes) = (weights?, sizes?);
        let mut built = self.build(&named, &sizes, verify.as_ref().map(|(index, _)| *index));
        let verify_kind = match &verify {
            Some((index, _)) => *index,
            // If the workload does not check any read, the verify stage uses the first read.
            None => named.iter().position(|named| named.parts[0].verb == Verb::Select)?,
        };
        let load_lead = built.load(&named, &load, verify_kind);
        let source = self.source(
            &built,
            &named,
            (&load, load_lead),
            verify_kind,
            (chosen, rows),
            &weights,
        );
        let expected = verify.map(|(index, cells)| super::compiled_program::ExpectedResult {
            statement: built.leads[index],
            cells,
        });
        let program = Program {
            name: name.to_owned(),
            schema: schema(&tables, &keyspace, keyspaces),
            tables: tables.tables.iter().map(|t| t.name.clone()).collect(),
            keyspace,
            kinds: named.iter().map(kind).collect(),
            statements: built.statements,
            rows,
            source: Arc::new(FileSource { expected, ..source }),
        };
        Some((program, StatementPlaces::new(tables.places, &named)))
    }

    /// Reads the CSV that the file names. Returns `Some(None)` if the file does not name a CSV, and
    /// `None` after a mistake.
    fn csv(&mut self) -> Option<Option<Csv>> {
        let Some(node) = self.root.find("csv") else {
            return Some(None);
        };
        let name = self.text_of(node, "csv")?;
        let csv = (self.read)(name).and_then(|text| Csv::read(name, &text));
        match csv {
            Ok(csv) => Some(Some(csv)),
            Err(message) => {
                self.say(&node.place, message);
                None
            }
        }
    }

    /// Returns the number of rows that the study requests. With a CSV, returns the number of its
    /// records.
    fn row_count(&mut self, csv: Option<&Csv>) -> u64 {
        if let Some(csv) = csv {
            return csv.rows();
        }
        let rows = self.spec.rows;
        if rows == 0 || rows > ROWS_MAX {
            let place = self.study_place("rows", &rows.to_string());
            let message =
                format!("the workload has {rows} rows; the number must be from 1 to {ROWS_MAX}");
            self.say(&place, message);
        }
        rows.clamp(1, ROWS_MAX)
    }

    fn adds_rows(&self) -> bool {
        let statements = self.root.find("statements").and_then(Node::entries);
        let mut statements = statements.unwrap_or_default().iter();
        statements.any(|entry| entry.value.find("rows").and_then(Node::text) == Some("new"))
    }

    /// Returns the indices of the statements that the load stage executes.
    fn load(&mut self, named: &[NamedStatement]) -> Vec<usize> {
        let Some(node) = self.root.find("load") else {
            return Vec::new();
        };
        let items = match &node.raw {
            Raw::List(items) if !items.is_empty() => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut load = Vec::new();
        for item in items {
            let Some(index) = self.name_of(item, named, "load") else {
                continue;
            };
            let wrong = if named[index].parts[0].verb == Verb::Select {
                "the load stage writes, but this statement reads"
            } else if named[index].options.size.is_some() {
                "the load stage writes each row once, but a batch with a size would write rows \
                 twice"
            } else if named[index].options.adds_rows {
                "a statement with `rows: new` adds rows beyond the loaded rows"
            } else {
                load.push(index);
                continue;
            };
            self.say(&item.place, format!("{}: {wrong}", named[index].name));
        }
        load
    }

    /// Returns the index of the statement that a node names. Returns `None` after a mistake.
    pub(super) fn name_of(
        &mut self,
        node: &'a Node,
        named: &[NamedStatement],
        what: &str,
    ) -> Option<usize> {
        let text = self.text_of(node, what)?;
        let found = named.iter().position(|named| named.name == text);
        if found.is_none() && !self.is_statement(text) {
            let hint = did_you_mean(text, named.iter().map(|named| named.name.as_str()));
            self.out.add(
                &node.place,
                format!("statement `{text}` does not exist"),
                hint,
            );
        }
        found
    }

    /// Returns true if the file has a statement with this name, even if the statement has mistakes.
    fn is_statement(&self, name: &str) -> bool {
        let statements = self.root.find("statements");
        statements.is_some_and(|statements| statements.entry(name).is_some())
            || self.is_misspelt("statements")
    }

    /// Returns the weight of every statement in the mix. Returns `None` after a mistake.
    fn weights(&mut self, named: &[NamedStatement]) -> Option<Vec<f64>> {
        let mut stated: Vec<(String, Option<f64>, Place)> = Vec::new();
        if !self.spec.mix.is_empty() {
            for (name, weight) in &self.spec.mix {
                let place = self.study_place("mix", &format!("{name}: {weight}"));
                stated.push((name.clone(), Some(*weight), place));
            }
        } else if let Some(node) = self.root.find("mix") {
            let Some(entries) = node.entries() else {
                let message = format!("mix must be a mapping of weights, not {}", node.describe());
                self.say(&node.place, message);
                return None;
            };
            for entry in entries {
                let weight = entry.value.text().and_then(|text| text.parse().ok());
                let known = named.iter().any(|named| named.name == entry.key);
                let place = if known {
                    &entry.value.place
                } else {
                    &entry.place
                };
                stated.push((entry.key.clone(), weight, place.clone()));
            }
        } else {
            return Some(vec![1.0; named.len()]);
        }
        let mut weights = vec![0.0; named.len()];
        for (name, weight, place) in &stated {
            let Some(index) = named.iter().position(|named| named.name == *name) else {
                if !self.is_statement(name) {
                    let hint = did_you_mean(name, named.iter().map(|named| named.name.as_str()));
                    self.out.add(place, format!("statement `{name}` does not exist"), hint);
                }
                continue;
            };
            match weight.filter(|weight| weight.is_finite() && *weight >= 0.0) {
                Some(weight) => weights[index] = weight,
                None => self.say(
                    place,
                    format!("the weight of {name} must be a number from 0"),
                ),
            }
        }
        let sum: f64 = weights.iter().sum();
        if let Some((.., place)) = stated.first()
            && self.out.is_empty()
            && !(sum > 0.0 && sum.is_finite())
        {
            let message = format!(
                "the weights add up to {sum}; at least one statement needs a weight above 0"
            );
            self.say(place, message);
        }
        Some(weights)
    }

    fn rows(&mut self, rows: u64) -> DistributionText {
        let uniform = DistributionText {
            shape: Shape::Uniform,
            range: None,
        };
        let (text, place) = match (self.spec.params.get("rows"), self.root.find("rows")) {
            (Some(param), _) => {
                let text = param_text(param);
                let place = self.study_place("params.rows", &text);
                (text, place)
            }
            (None, Some(node)) => match self.text_of(node, "rows") {
                Some(text) => (text.to_owned(), node.place.clone()),
                None => return uniform,
            },
            (None, None) => return uniform,
        };
        match distribution::parse(&text) {
            Ok(written) if written.range.is_none_or(|(_, last)| last < rows) => written,
            Ok(_) => {
                let message = format!("`{text}` reaches beyond the rows 0 to {}", rows - 1);
                self.say(&place, message);
                uniform
            }
            Err(message) => {
                let name = text.split('(').next().unwrap_or_default();
                let is_known = distribution::NAMES.contains(&name);
                let hint = did_you_mean(name, distribution::NAMES).filter(|_| !is_known);
                self.out.add(&place, message, hint);
                uniform
            }
        }
    }

    /// Returns the number of rows per operation of each statement. Returns `None` after a mistake.
    fn sizes(&mut self, named: &[NamedStatement]) -> Option<Vec<Sampler>> {
        let one = DistributionText {
            shape: Shape::Fixed,
            range: Some((1, 1)),
        };
        let mut sizes = Vec::new();
        for named in named {
            let max = (BATCH_ENTRIES_MAX / named.parts.len()) as u64;
            let Some((expr, place)) = &named.options.size else {
                sizes.push(Sampler::new(one, (1, 1), None));
                continue;
            };
            match sampler(expr, (1, max)) {
                Ok(size) => sizes.push(size),
                Err(wrong) => self.wrong(place, wrong),
            }
        }
        (sizes.len() == named.len()).then_some(sizes)
    }

    fn build(
        &self,
        named: &[NamedStatement],
        sizes: &[Sampler],
        verify: Option<usize>,
    ) -> BuiltStatements {
        let mut built = BuiltStatements::default();
        for (index, (named, size)) in named.iter().zip(sizes).enumerate() {
            let group = built.groups.len();
            built.leads.push(built.statements.len() as u16);
            let mut parts = Vec::new();
            for part in &named.parts {
                parts.push(Part {
                    statement: built.statements.len() as u16,
                    bound: part.bound.clone(),
                    key: part.key.clone(),
                });
                let made = statement(named, part, index as u8, verify == Some(index));
                built.statements.push(made);
                built.group_of.push(group);
            }
            built.groups.push(Group {
                parts,
                size: *size,
                size_seed: lane(lane(self.spec.seed, lanes::SIZES), index as u64),
                same_partition: named.options.same_partition,
            });
        }
        built
    }

    fn source(
        &self,
        built: &BuiltStatements,
        named: &[NamedStatement],
        (load, load_lead): (&[usize], u16),
        verify_kind: usize,
        (chosen, rows): (DistributionText, u64),
        weights: &[f64],
    ) -> FileSource {
        let (sample, rows_seed) = Choices::sample(self.spec.seed, rows);
        let popular = lane(self.spec.seed, lanes::POPULAR);
        let parts = built.groups.iter().flat_map(|group| &group.parts);
        let bytes = parts.map(|part| {
            let bytes = part.bound.iter().map(|bound| 4 + bound.generate.bytes_max());
            bytes.fold(0, u64::saturating_add)
        });
        FileSource {
            choices: Choices {
                mix: Mix::new(weights, lane(self.spec.seed, lanes::MIX)),
                rows: Sampler::new(chosen, (0, rows - 1), Some(popular)),
                insert_kind: named
                    .iter()
                    .position(|named| named.options.adds_rows)
                    .map(|kind| kind as u8),
                main_statements: built.leads.clone(),
                load: (
                    load.first().copied().unwrap_or(verify_kind) as u8,
                    load_lead,
                ),
                verify: (verify_kind as u8, built.leads[verify_kind]),
                sample,
                rows_seed,
            },
            rows,
            deletes: named.iter().zip(weights).any(|(named, weight)| {
                *weight > 0.0 && named.parts.iter().any(|part| part.verb == Verb::Delete)
            }),
            values_bytes_max: bytes.max().unwrap_or(0) as usize,
            groups: built.groups.clone(),
            group_of: built.group_of.clone(),
            expected: None,
            row_bytes: row_bytes(named, load, rows),
        }
    }
}

impl BuiltStatements {
    /// Returns the index of the first statement of the load stage. If the load stage has several
    /// statements, the function appends chained copies of them to the program. The original
    /// statements remain separate operations of the main stage.
    fn load(&mut self, named: &[NamedStatement], load: &[usize], verify_kind: usize) -> u16 {
        let [_, _, ..] = load else {
            // If the file lists no load statement, the load stage executes the verify statement,
            // which reads rows.
            return self.leads[load.first().copied().unwrap_or(verify_kind)];
        };
        let first = self.statements.len() as u16;
        for (place, &index) in load.iter().enumerate() {
            let mut group = self.groups[index].clone();
            let start = self.statements.len();
            let next = start + named[index].parts.len();
            for part in &mut group.parts {
                let mut copy = self.statements[usize::from(part.statement)].clone();
                copy.kind = load[0] as u8;
                copy.then = (place + 1 < load.len()).then_some(next as u16);
                part.statement = self.statements.len() as u16;
                self.statements.push(copy);
                self.group_of.push(self.groups.len());
            }
            self.groups.push(group);
        }
        first
    }
}

fn kind(named: &NamedStatement) -> Kind {
    let writes = named.parts.iter().any(|part| part.verb != Verb::Select);
    Kind::new(&named.name, named.options.is_write.unwrap_or(writes))
}

fn statement(
    named: &NamedStatement,
    part: &super::statement::Read,
    kind: u8,
    checked: bool,
) -> Statement {
    let options = &named.options;
    let level = options.consistency.unwrap_or(Consistency::LocalOne);
    let is_batch = named.parts.len() > 1 || options.batch.is_some();
    let idempotent = named.parts.iter().all(|part| part.idempotent);
    Statement {
        idempotent: options.idempotent.unwrap_or(idempotent),
        returns_rows: part.verb == Verb::Select,
        verifies: checked,
        finds: checked || part.is_by_csv(),
        page_size: options.page_size,
        pages_max: options.pages_max,
        serial_consistency: options.serial,
        batch: is_batch.then(|| options.batch.unwrap_or(BatchKind::Logged)),
        client_timestamp: options.client_timestamp && part.verb != Verb::Select,
        conditional: named.parts.iter().any(|part| part.conditional),
        ..Statement::new(&part.cql, kind, part.bound.len() as u16, level)
    }
}

fn schema(tables: &Tables, keyspace: &str, keyspaces: (String, String)) -> Schema {
    let truncate = tables.tables.iter();
    Schema {
        create_keyspace: keyspaces.0,
        is_replication_stated: false,
        create_tables: tables.create.clone(),
        truncate: truncate
            .map(|table| format!("TRUNCATE \"{keyspace}\".{}", quoted_name(&table.name)))
            .collect(),
        drop_keyspace: keyspaces.1,
    }
}

/// Returns the mean number of bytes that the load stage binds per row.
fn row_bytes(named: &[NamedStatement], load: &[usize], rows: u64) -> u64 {
    let mut out = Vec::new();
    let (mut total, count) = (0, rows.min(ESTIMATED_ROWS));
    for row in 0..count {
        for bound in load.iter().flat_map(|&index| &named[index].parts).flat_map(|p| &p.bound) {
            out.clear();
            bound.generate.append(bound.seed, row, &mut out);
            total += out.len() as u64;
        }
    }
    total / count
}
