//! Reads a user profile, which contains the CQL of one table, the values of its columns, its
//! inserts and its queries.
//!
//! Long because it reads every key of a profile.

mod queries;
mod statements;

use std::collections::BTreeMap;

use super::column::{Column, Spec};
use super::draw::{Dist, Ratio};
use super::operations::Cell;
use super::partition::Columns;
use cql::Consistency;
use cql::value::{CqlType, UdtType};
pub(super) use statements::quoted;
use statements::{all_cells, columns, insert};
use workload::BatchKind;
use workload::schema::{self, CqlMistake, DefinedObject, Table};
use yaml::{
    Diagnostic, Diagnostics, Entry, Limits, Node, Place, Raw, SourceText, did_you_mean, near_name,
};

const KEYS: [&str; 11] = [
    "specname",
    "keyspace",
    "keyspace_definition",
    "table",
    "table_definition",
    "extra_definitions",
    "columnspec",
    "insert",
    "queries",
    "token_range_queries",
    "type_definitions",
];

/// The key of the table definition. Its value may come from the cluster.
pub(super) const DEFINITION: &str = "table_definition";

/// Limits for the text of a profile. If a key is repeated, its last value counts, as in SnakeYAML.
pub(super) const LIMITS: Limits = Limits {
    last_wins: true,
    ..Limits::WORKLOAD
};

/// Keys of inserts in older profiles that current versions of cassandra-stress do not know. Each
/// has its replacement.
const OLD_INSERT: [(&str, &str); 3] = [
    (
        "pervisit",
        "cassandra-stress 2.1 renamed this key: write `select`",
    ),
    ("perbatch", "omit this key: cassandra-stress 2.1 removed it"),
    (
        "visits",
        "write this option on the command line: -insert visits=…",
    ),
];

/// Settings of inserts in a profile. If a setting is absent, it comes from the command line, or has
/// the tool's default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inserts {
    pub(super) partitions: Option<Dist>,
    pub(super) select: Option<Ratio>,
    pub(super) population: Option<Ratio>,
    pub(super) batch: Option<BatchKind>,
    pub(super) consistency: Option<Consistency>,
    pub(super) serial: Option<Consistency>,
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) name: String,
    pub(super) cql: String,
    pub(super) same_row: bool,
    pub(super) bound: Vec<Cell>,
    pub(super) returned: Option<Vec<Cell>>,
    /// Reason why the rows of the query are not compared. `None` if they are compared, or if the
    /// query does not read.
    pub(super) not_compared: Option<&'static str>,
    pub(super) must_find: bool,
    pub(super) is_select: bool,
    pub(super) consistency: Option<Consistency>,
    pub(super) serial: Option<Consistency>,
}

/// A query over ranges of tokens.
#[derive(Clone, Debug)]
pub(super) struct TokenQuery {
    pub(super) name: String,
    pub(super) cql: String,
    pub(super) page_size: i32,
}

#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) name: Option<String>,
    pub(super) keyspace: String,
    pub(super) table: Table,
    pub(super) columns: Columns,
    /// Statement that creates the keyspace. The statements in `create` are executed after it.
    pub(super) create_keyspace: Option<String>,
    /// True if the profile itself defines the keyspace.
    pub(super) is_keyspace_defined: bool,
    pub(super) create: Vec<String>,
    pub(super) inserts: Inserts,
    pub(super) queries: Vec<Query>,
    /// Queries that cannot be parsed, by name. If a run uses such a query, this is a mistake.
    pub(super) unreadable: Vec<(String, Vec<Diagnostic>)>,
    /// Names of queries that may write to the profile's table. The list includes queries that
    /// cannot be parsed.
    pub(super) writing: Vec<String>,
    pub(super) token_queries: Vec<TokenQuery>,
    /// Text of the insert statement.
    pub(super) insert_cql: String,
    pub(super) insert_bound: Vec<Cell>,
    pub(super) insert_values: usize,
    pub(super) has_counters: bool,
    pub(super) notes: Vec<String>,
}

impl Profile {
    /// Returns the cells of `SELECT *`. The key columns come first, then the static columns, and
    /// then the other columns, by name.
    pub(super) fn all_cells(&self) -> Vec<Cell> {
        all_cells(&self.table)
    }
}

/// Returns the message for a key that the profile lacks.
pub(super) fn missing(key: &str) -> String {
    format!("`{key}` is missing")
}

/// Reads the profile in `text`. Messages refer to the profile as `name`. Adds mistakes to `out`.
pub(super) fn read(name: &str, text: &str, out: &mut Diagnostics) -> Option<Profile> {
    let source = out.sources.len();
    out.sources.push(SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let before = out.list.len();
    let root = yaml::parse(source, text, LIMITS, out)?;
    let mut reader = Reader {
        root: &root,
        notes: repeats(&root, out),
        out,
    };
    let profile = reader.profile();
    if out.list.len() > before {
        None
    } else {
        profile
    }
}

struct Reader<'a, 'd> {
    root: &'a Node,
    out: &'d mut Diagnostics,
    notes: Vec<String>,
}

/// Returns a note for each key that is repeated, at any depth.
fn repeats(node: &Node, out: &Diagnostics) -> Vec<String> {
    let of_entry = |entry: &Entry| {
        let earlier = entry.earlier.as_ref();
        let own = earlier.map(|earlier| {
            format!(
                "{} occurs twice; like cassandra-stress, cassay uses {}, not {}",
                entry.key,
                where_is(&entry.place, out),
                where_is(earlier, out)
            )
        });
        let within = repeats(&entry.value, out);
        own.into_iter().chain(within).collect::<Vec<_>>()
    };
    match &node.raw {
        Raw::Map(entries) => entries.iter().flat_map(of_entry).collect::<Vec<_>>(),
        Raw::List(items) => items.iter().flat_map(|item| repeats(item, out)).collect(),
        Raw::Null | Raw::Scalar { .. } => Vec::new(),
    }
}

/// Describes a position by file and line, as in `p.yaml:3`.
fn where_is(place: &Place, out: &Diagnostics) -> String {
    let source = &out.sources[place.source];
    let (line, _) = yaml::line_and_column(&source.text, place.span.start);
    format!("{}:{line}", source.name)
}

/// Returns the position in the file of the mistake `fault` in a statement. The function searches
/// for the token at the mistake, because YAML changes a text of several lines.
fn within(node: &Node, source: &str, text: &str, fault: &CqlMistake) -> Place {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let rest = text.get(fault.at..).unwrap_or_default();
    let length = match rest.find(|c| !word(c)) {
        Some(0) => rest.chars().next().map_or(0, char::len_utf8),
        Some(length) => length,
        None => rest.len(),
    };
    let token = &rest[..length];
    let span = node.place.span.clone();
    let written = source.get(span.clone()).unwrap_or_default();
    if token.is_empty() {
        return node.place.clone();
    }
    let before = text[..fault.at].matches(token).count();
    match written.match_indices(token).nth(before) {
        Some((at, _)) => Place {
            source: node.place.source,
            span: span.start + at..span.start + at + length,
        },
        None => node.place.clone(),
    }
}

impl<'a> Reader<'a, '_> {
    fn say(&mut self, place: &Place, message: impl Into<String>) {
        self.out.add(place, message, None);
    }

    /// Checks that the keys of a mapping are known. Ignores case.
    fn keys(&mut self, node: &Node, known: &[&str], what: &str) {
        let Some(entries) = node.entries() else {
            let message = format!("{what} must be a mapping, not {}", node.describe());
            return self.say(&node.place, message);
        };
        for entry in entries {
            if !known.contains(&entry.key.to_lowercase().as_str()) {
                let message = format!("`{}` is not a key of {what}", entry.key);
                let hint = did_you_mean(&entry.key, known.iter().copied());
                self.out.add(&entry.place, message, hint);
            }
        }
    }

    fn text(&mut self, key: &str) -> Option<(&'a str, &'a Node)> {
        let node = self.root.find(key)?;
        let text = node.text();
        if text.is_none() {
            let message = format!("`{key}` must be a string, not {}", node.describe());
            self.say(&node.place, message);
        }
        Some((text?, node))
    }

    fn needed(&mut self, key: &str, hint: &str) -> Option<&'a str> {
        let found = self.text(key).map(|(text, _)| text);
        if found.is_none() && self.root.find(key).is_none() {
            let place = Place {
                source: self.root.place.source,
                span: self.root.place.span.start..self.root.place.span.start,
            };
            self.out.add(&place, missing(key), Some(hint.to_owned()));
        }
        found
    }

    fn profile(&mut self) -> Option<Profile> {
        self.keys(self.root, &KEYS, "a profile");
        let keyspace = self.needed("keyspace", "add the name of the table's keyspace");
        let table = self.needed("table", "add the name of the table");
        let definition = self.needed(
            DEFINITION,
            "add the table's CREATE TABLE, or use `cassay stress`, which reads the definition from \
             an existing table on Cassandra 4.0 or later",
        );
        let (keyspace, table_name) = (keyspace?.to_lowercase(), table?);
        let types = self.types();
        let table = self.table(definition?, table_name, &types)?;
        let columns = self.columns(&table)?;
        let (insert_cql, insert_bound, insert_values) = insert(&keyspace, &table);
        let create = self.create(&keyspace, &types);
        let notes = self.notes(&keyspace, &columns);
        let (queries, unreadable) = self.queries(&keyspace, &table);
        Some(Profile {
            name: self.text("specname").map(|(text, _)| text.to_owned()),
            create_keyspace: Some(self.create_keyspace(&keyspace)),
            is_keyspace_defined: self.text("keyspace_definition").is_some(),
            create,
            inserts: self.inserts(),
            queries,
            unreadable,
            writing: self.writing(&keyspace, &table),
            token_queries: self.token_queries(&keyspace, &table),
            has_counters: table.columns.iter().any(|c| c.typ == CqlType::Counter),
            insert_cql,
            insert_bound,
            insert_values,
            keyspace,
            table,
            columns,
            notes,
        })
    }

    fn notes(&mut self, keyspace: &str, columns: &Columns) -> Vec<String> {
        let named = |is: fn(&Column) -> bool| {
            let all = [&columns.key, &columns.clustering, &columns.values];
            let named = all.into_iter().flatten().filter(|column| is(column));
            named.map(|column| column.name.as_str()).collect::<Vec<&str>>().join(", ")
        };
        let mut notes = std::mem::take(&mut self.notes);
        if self.root.find("keyspace_definition").is_none() {
            notes.push(format!(
                "the profile has no keyspace_definition: cassay creates keyspace {keyspace} with \
                 one replica, unless it already exists"
            ));
        }
        let own = named(Column::is_own);
        if !own.is_empty() {
            notes.push(format!(
                "in cassay, the seed determines the values of {own}. cassandra-stress has no such \
                 type, or draws new collection sizes in each run"
            ));
        }
        let half = named(|column| column.has_unseeded_value() || column.has_unseeded_length());
        if !half.is_empty() {
            notes.push(format!(
                "in cassay, the seed determines the values of {half}. cassandra-stress seeds only \
                 the quantum of QEXTREME, and draws a new value within it in each run"
            ));
        }
        for column in columns.unseeded_counts() {
            notes.push(format!(
                "in cassay, the seed determines the number of values of {} in a partition. \
                 cassandra-stress draws a new number in each run",
                column.name
            ));
        }
        notes
    }

    /// Returns the generators of the table's columns. Returns `None` if a row may become too large.
    fn columns(&mut self, table: &Table) -> Option<Columns> {
        let columns = columns(table, &self.columnspec(table));
        if let Some(message) = columns.too_large() {
            self.say(&self.root.nearest("columnspec").place, message);
            return None;
        }
        Some(columns)
    }

    /// Returns the statement that creates the keyspace. If the profile does not define the
    /// keyspace, the tool expects the keyspace to exist. The statement creates it on a new cluster,
    /// and does not change an existing keyspace.
    fn create_keyspace(&mut self, keyspace: &str) -> String {
        match self.text("keyspace_definition") {
            Some((text, _)) => text.trim().trim_end_matches(';').to_owned(),
            None => format!(
                "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = \
                 {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
                quoted(keyspace)
            ),
        }
    }

    /// Returns the statements that create the types and the table, and the extra definitions. Each
    /// name in the statements includes the keyspace.
    fn create(&mut self, keyspace: &str, types: &[UdtType]) -> Vec<String> {
        let (mut create, mut types_count) = (Vec::new(), 0);
        for key in ["type_definitions", "table_definition", "extra_definitions"] {
            for (text, place) in self.statements(key) {
                let text = text.trim().trim_end_matches(';');
                match schema::qualify(text, keyspace) {
                    // The types come first, regardless of their position in the profile, because
                    // the table needs them.
                    Ok(cql) if matches!(schema::parse(text, types), Ok(DefinedObject::Type(_))) => {
                        create.insert(types_count, cql);
                        types_count += 1;
                    }
                    Ok(cql) => create.push(cql),
                    Err(fault) => self.say(&place, fault.message),
                }
            }
        }
        create
    }

    /// Returns the texts of a key. The value of the key is one text or a list of texts.
    fn statements(&mut self, key: &str) -> Vec<(String, Place)> {
        let Some(node) = self.root.find(key) else {
            return Vec::new();
        };
        let items = match &node.raw {
            Raw::List(items) => items.iter().collect(),
            _ => vec![node],
        };
        let mut texts = Vec::new();
        for item in items {
            match item.text() {
                Some(text) => texts.push((text.to_owned(), item.place.clone())),
                None => self.say(&item.place, format!("`{key}` must contain only statements")),
            }
        }
        texts
    }

    fn types(&mut self) -> Vec<UdtType> {
        let mut types = Vec::new();
        for key in ["type_definitions", "extra_definitions"] {
            for (text, place) in self.statements(key) {
                match schema::parse(&text, &types) {
                    Ok(DefinedObject::Type(udt)) => types.push(udt),
                    Ok(_) => {}
                    Err(fault) if key == "type_definitions" => self.say(&place, fault.message),
                    Err(_) => {}
                }
            }
        }
        types
    }

    fn table(&mut self, definition: &str, name: &str, types: &[UdtType]) -> Option<Table> {
        let node = self.root.find("table_definition")?;
        let place = node.place.clone();
        match schema::parse(definition, types) {
            Ok(DefinedObject::Table(table)) if table.name.eq_ignore_ascii_case(name) => Some(table),
            Ok(DefinedObject::Table(table)) => {
                let message = format!(
                    "table_definition defines `{}` instead of \
                                       `{name}`",
                    table.name
                );
                self.say(&place, message);
                None
            }
            Ok(_) => {
                self.say(&place, "table_definition is not a CREATE TABLE");
                None
            }
            Err(fault) => {
                let source = &self.out.sources[place.source].text;
                let place = within(node, source, definition, &fault);
                self.say(&place, format!("table_definition: {}", fault.message));
                None
            }
        }
    }

    fn dist(&mut self, node: &Node) -> Option<Dist> {
        match Dist::parse(node.text().unwrap_or_default()) {
            Ok(dist) => Some(dist),
            Err(message) => {
                self.say(&node.place, message);
                None
            }
        }
    }

    fn ratio(&mut self, node: &Node) -> Option<Ratio> {
        match Ratio::parse(node.text().unwrap_or_default()) {
            Ok(ratio) => Some(ratio),
            Err(message) => {
                self.say(&node.place, message);
                None
            }
        }
    }

    fn columnspec(&mut self, table: &Table) -> BTreeMap<String, Spec> {
        let mut specs = BTreeMap::new();
        let Some(node) = self.root.find("columnspec") else {
            return specs;
        };
        let Raw::List(items) = &node.raw else {
            if !matches!(node.raw, Raw::Null) {
                self.say(&node.place, "`columnspec` must be a list of columns");
            }
            return specs;
        };
        for item in items {
            self.keys(item, &["name", "size", "population", "cluster"], "a column");
            let mut spec = Spec::default();
            let mut name = None;
            for entry in item.entries().unwrap_or_default() {
                match entry.key.to_lowercase().as_str() {
                    "name" => name = Some((entry.value.text().unwrap_or_default(), &entry.value)),
                    "size" => spec.size = self.dist(&entry.value),
                    "population" => spec.population = self.dist(&entry.value),
                    "cluster" => spec.cluster = self.dist(&entry.value),
                    _ => {}
                }
            }
            let Some((name, node)) = name else {
                self.say(&item.place, "a column of `columnspec` has no `name`");
                continue;
            };
            let known: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            let found = known.iter().find(|column| column.eq_ignore_ascii_case(name));
            match found {
                Some(column) => {
                    specs.insert((*column).to_owned(), spec);
                }
                // For each column, the tool looks up the specification. It never checks
                // specifications without a column.
                None => {
                    let near =
                        near_name(name, known).map_or(String::new(), |hint| format!("; {hint}"));
                    self.notes.push(format!(
                        "{}: the table has no column {name}, so its specification has no \
                         effect{near}",
                        where_is(&node.place, self.out)
                    ));
                }
            }
        }
        specs
    }

    fn inserts(&mut self) -> Inserts {
        let mut inserts = Inserts::default();
        let Some(node) = self.root.find("insert") else {
            return inserts;
        };
        let known = [
            "partitions",
            "select",
            "row-population",
            "batchtype",
            "consistencylevel",
            "serialconsistencylevel",
        ];
        let old = |key: &str| OLD_INSERT.iter().find(|(old, _)| key.eq_ignore_ascii_case(old));
        let all: Vec<&str> = known.into_iter().chain(OLD_INSERT.map(|(old, _)| old)).collect();
        self.keys(node, &all, "insert");
        for entry in node.entries().unwrap_or_default() {
            let value = &entry.value;
            if let Some((_, hint)) = old(&entry.key) {
                let message = format!("`{}` is not a key of `insert`", entry.key);
                self.out.add(&entry.place, message, Some((*hint).to_owned()));
            }
            match entry.key.to_lowercase().as_str() {
                "partitions" => inserts.partitions = self.dist(value),
                "select" => inserts.select = self.ratio(value),
                "row-population" => inserts.population = self.ratio(value),
                "batchtype" => inserts.batch = self.batch(value),
                "consistencylevel" => inserts.consistency = self.level(value),
                "serialconsistencylevel" => inserts.serial = self.level(value),
                _ => {}
            }
        }
        inserts
    }

    fn batch(&mut self, node: &Node) -> Option<BatchKind> {
        let name = node.text().unwrap_or_default();
        let kind = BatchKind::from_name(name);
        if kind.is_none() {
            let message = format!("batchtype is `{name}`; it must be LOGGED, UNLOGGED or COUNTER");
            self.say(&node.place, message);
        }
        kind
    }

    fn level(&mut self, node: &Node) -> Option<Consistency> {
        let level = node.text().unwrap_or_default().to_uppercase().parse();
        if level.is_err() {
            let message = format!("{} is not a consistency level", node.describe());
            self.say(&node.place, message);
        }
        level.ok()
    }

    fn token_queries(&mut self, keyspace: &str, table: &Table) -> Vec<TokenQuery> {
        let entries = self.root.find("token_range_queries").and_then(Node::entries);
        let mut queries = Vec::new();
        for entry in entries.unwrap_or_default() {
            let node = &entry.value;
            self.keys(node, &["columns", "page_size"], "a token range query");
            let columns = match node.entry("columns").map(|entry| &entry.value.raw) {
                Some(Raw::Scalar { text, .. }) => text.clone(),
                Some(Raw::List(items)) => {
                    let names: Vec<&str> = items.iter().filter_map(Node::text).collect();
                    names.join(", ")
                }
                _ => "*".to_owned(),
            };
            let page_size = node.find("page_size").and_then(Node::text).unwrap_or("5000");
            let Ok(page_size @ 1..) = page_size.parse() else {
                let message = format!("page_size is `{page_size}`; it must be 1 or more");
                self.say(&node.nearest("page_size").place, message);
                continue;
            };
            let keys = table.partition_key.iter().map(|index| quoted(&table.columns[*index].name));
            let token = format!("token({})", keys.collect::<Vec<_>>().join(", "));
            let columns = match columns.as_str() {
                "*" => "*".to_owned(),
                columns => format!("{token}, {columns}"),
            };
            queries.push(TokenQuery {
                name: entry.key.to_lowercase(),
                cql: format!(
                    "SELECT {columns} FROM {}.{} WHERE {token} > ? AND {token} <= ?",
                    quoted(keyspace),
                    quoted(&table.name)
                ),
                page_size,
            });
        }
        queries
    }
}

#[cfg(test)]
mod tests;
