//! A user profile: one table by its CQL, what its columns hold, how rows are inserted, queries.
//!
//! Long because each key of the file has its reader here.

mod statements;

use std::collections::BTreeMap;

use super::column::Spec;
use super::draw::{Dist, Ratio};
use super::partition::Columns;
use super::source::Cell;
use crate::program::BatchKind;
use crate::schema::{self, Defined, Marker, Table};
use cql::Consistency;
use cql::value::{CqlType, UdtType};
pub(super) use statements::quoted;
use statements::{all_cells, cell_of, columns, insert, relations, returned};
use yaml::{Diagnostics, Limits, Node, Place, Raw, Source, did_you_mean};

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

/// What a profile says of inserts; absent: the command line's or the tool's default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inserts {
    pub(super) partitions: Option<Dist>,
    pub(super) select: Option<Ratio>,
    pub(super) population: Option<Ratio>,
    pub(super) batch: Option<BatchKind>,
    pub(super) consistency: Option<Consistency>,
    pub(super) serial: Option<Consistency>,
}

/// A query of a profile.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) name: String,
    pub(super) cql: String,
    pub(super) same_row: bool,
    pub(super) bound: Vec<Cell>,
    pub(super) returned: Option<Vec<Cell>>,
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

/// A profile, read.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) name: Option<String>,
    pub(super) keyspace: String,
    pub(super) table: Table,
    pub(super) columns: Columns,
    /// The statements of its schema, in order.
    pub(super) create_keyspace: Option<String>,
    pub(super) create: Vec<String>,
    pub(super) inserts: Inserts,
    pub(super) queries: Vec<Query>,
    pub(super) token_queries: Vec<TokenQuery>,
    /// The insert's statement, what it binds, and how many of those are no key.
    pub(super) insert_cql: String,
    pub(super) insert_bound: Vec<Cell>,
    pub(super) insert_values: usize,
    pub(super) has_counters: bool,
    pub(super) notes: Vec<String>,
}

impl Profile {
    /// What `SELECT *` returns: keys, then statics, then the others, by name.
    pub(super) fn all_cells(&self) -> Vec<Cell> {
        all_cells(&self.table)
    }
}

/// Reads the profile in `text`, which is called `name`; mistakes go to `out`.
pub(super) fn read(name: &str, text: &str, out: &mut Diagnostics) -> Option<Profile> {
    let source = out.sources.len();
    out.sources.push(Source {
        name: name.to_owned(),
        text: text.to_owned(),
    });
    let before = out.list.len();
    let root = yaml::parse(source, text, Limits::WORKLOAD, out)?;
    let mut reader = Reader { root: &root, out };
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
}

impl<'a> Reader<'a, '_> {
    fn say(&mut self, place: &Place, message: impl Into<String>) {
        self.out.add(place, message, None);
    }

    /// The keys of a mapping must be known ones, whatever their case.
    fn keys(&mut self, node: &Node, known: &[&str], what: &str) {
        let Some(entries) = node.entries() else {
            let message = format!("{what} is a mapping, not {}", node.describe());
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
        let node = self.root.at(key)?;
        let text = node.text();
        if text.is_none() {
            let message = format!("`{key}` is a text, not {}", node.describe());
            self.say(&node.place, message);
        }
        Some((text?, node))
    }

    fn needed(&mut self, key: &str) -> Option<&'a str> {
        let found = self.text(key).map(|(text, _)| text);
        if found.is_none() && self.root.at(key).is_none() {
            let place = Place {
                source: self.root.place.source,
                span: self.root.place.span.start..self.root.place.span.start,
            };
            self.say(&place, format!("`{key}` is missing"));
        }
        found
    }

    fn profile(&mut self) -> Option<Profile> {
        self.keys(self.root, &KEYS, "a profile");
        let (keyspace, table) = (self.needed("keyspace"), self.needed("table"));
        let definition = self.needed("table_definition");
        let (keyspace, table_name) = (keyspace?.to_lowercase(), table?);
        let types = self.types();
        let table = self.table(definition?, table_name, &types)?;
        let specs = self.columnspec(&table);
        let columns = columns(&table, &specs);
        let (insert_cql, insert_bound, insert_values) = insert(&keyspace, &table);
        let create = self.create(&keyspace, &types);
        let own = [&columns.key, &columns.clustering, &columns.values];
        let own = own.into_iter().flatten().filter(|column| column.is_own());
        let own: Vec<&str> = own.map(|column| column.name.as_str()).collect();
        let mut notes = Vec::new();
        if !own.is_empty() {
            notes.push(format!(
                "values of {} follow from the seed here; cassandra-stress has no such type, or \
                 draws the sizes of its collections anew in each run",
                own.join(", ")
            ));
        }
        for column in columns.unseeded_counts() {
            notes.push(format!(
                "how many values of {} a partition has follows from the seed here; \
                 cassandra-stress draws it anew in each run",
                column.name
            ));
        }
        Some(Profile {
            name: self.text("specname").map(|(text, _)| text.to_owned()),
            create_keyspace: self
                .text("keyspace_definition")
                .map(|(text, _)| text.trim().trim_end_matches(';').to_owned()),
            create,
            inserts: self.inserts(),
            queries: self.queries(&keyspace, &table),
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

    /// The statements that make the table, each with its keyspace.
    fn create(&mut self, keyspace: &str, types: &[UdtType]) -> Vec<String> {
        let (mut create, mut types_count) = (Vec::new(), 0);
        for key in ["type_definitions", "table_definition", "extra_definitions"] {
            for (text, place) in self.statements(key) {
                let text = text.trim().trim_end_matches(';');
                match schema::qualify(text, keyspace) {
                    // The table needs its types, wherever the profile has them.
                    Ok(cql) if matches!(schema::parse(text, types), Ok(Defined::Type(_))) => {
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

    /// The texts of a key: one, or a list.
    fn statements(&mut self, key: &str) -> Vec<(String, Place)> {
        let Some(node) = self.root.at(key) else {
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
                None => self.say(&item.place, format!("`{key}` holds statements")),
            }
        }
        texts
    }

    fn types(&mut self) -> Vec<UdtType> {
        let mut types = Vec::new();
        for key in ["type_definitions", "extra_definitions"] {
            for (text, place) in self.statements(key) {
                match schema::parse(&text, &types) {
                    Ok(Defined::Type(udt)) => types.push(udt),
                    Ok(_) => {}
                    Err(fault) if key == "type_definitions" => self.say(&place, fault.message),
                    Err(_) => {}
                }
            }
        }
        types
    }

    fn table(&mut self, definition: &str, name: &str, types: &[UdtType]) -> Option<Table> {
        let place = self.root.at("table_definition")?.place.clone();
        match schema::parse(definition, types) {
            Ok(Defined::Table(table)) if table.name.eq_ignore_ascii_case(name) => Some(table),
            Ok(Defined::Table(table)) => {
                let message = format!("table_definition is of `{}`, not of `{name}`", table.name);
                self.say(&place, message);
                None
            }
            Ok(_) => {
                self.say(&place, "table_definition is no CREATE TABLE");
                None
            }
            Err(fault) => {
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
        let Some(node) = self.root.at("columnspec") else {
            return specs;
        };
        let Raw::List(items) = &node.raw else {
            if !matches!(node.raw, Raw::Null) {
                self.say(&node.place, "`columnspec` is a list");
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
            let found = known
                .iter()
                .find(|column| column.eq_ignore_ascii_case(name));
            match found {
                Some(column) => {
                    specs.insert((*column).to_owned(), spec);
                }
                None => {
                    let message = format!("the table has no column `{name}`");
                    self.out
                        .add(&node.place, message, did_you_mean(name, known));
                }
            }
        }
        specs
    }

    fn inserts(&mut self) -> Inserts {
        let mut inserts = Inserts::default();
        let Some(node) = self.root.at("insert") else {
            return inserts;
        };
        let known = [
            "partitions",
            "select",
            "row-population",
            "batchtype",
            "consistencylevel",
            "serialconsistencylevel",
            "visits",
        ];
        self.keys(node, &known, "insert");
        for entry in node.entries().unwrap_or_default() {
            let value = &entry.value;
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
        match node.text().unwrap_or_default().to_lowercase().as_str() {
            "logged" => Some(BatchKind::Logged),
            "unlogged" => Some(BatchKind::Unlogged),
            "counter" => Some(BatchKind::Counter),
            other => {
                let message = format!("batchtype is `{other}`; it is LOGGED, UNLOGGED or COUNTER");
                self.say(&node.place, message);
                None
            }
        }
    }

    fn level(&mut self, node: &Node) -> Option<Consistency> {
        let level = node.text().unwrap_or_default().to_uppercase().parse();
        if level.is_err() {
            let message = format!("{} is no consistency level", node.describe());
            self.say(&node.place, message);
        }
        level.ok()
    }

    fn queries(&mut self, keyspace: &str, table: &Table) -> Vec<Query> {
        let entries = self.root.at("queries").and_then(Node::entries);
        let mut queries = Vec::new();
        for entry in entries.unwrap_or_default() {
            let node = &entry.value;
            let known = [
                "cql",
                "fields",
                "consistencylevel",
                "serialconsistencylevel",
            ];
            self.keys(node, &known, "a query");
            let at = |key: &str| {
                let mut entries = node.entries().unwrap_or_default().iter();
                entries
                    .find(|entry| entry.key.eq_ignore_ascii_case(key))
                    .map(|e| &e.value)
            };
            let Some(cql) = at("cql") else {
                self.say(&entry.place, format!("query `{}` has no `cql`", entry.key));
                continue;
            };
            let same_row = match at("fields").map(|node| (node.text().unwrap_or_default(), node)) {
                None => false,
                Some((fields, _)) if fields.eq_ignore_ascii_case("samerow") => true,
                Some((fields, _)) if fields.eq_ignore_ascii_case("multirow") => false,
                Some((fields, node)) => {
                    let message = format!("fields is `{fields}`; it is samerow or multirow");
                    self.say(&node.place, message);
                    false
                }
            };
            let levels = [at("consistencylevel"), at("serialconsistencylevel")];
            let [consistency, serial] = levels.map(|node| node.and_then(|node| self.level(node)));
            let text = cql.text().unwrap_or_default();
            if let Some(mut query) = self.query(text, &cql.place, keyspace, table) {
                query.name = entry.key.to_lowercase();
                query.same_row = same_row;
                (query.consistency, query.serial) = (consistency, serial);
                queries.push(query);
            }
        }
        queries
    }

    fn query(&mut self, text: &str, place: &Place, keyspace: &str, table: &Table) -> Option<Query> {
        let text = text.trim().trim_end_matches(';');
        let read =
            schema::qualify(text, keyspace).and_then(|cql| Ok((schema::markers(text)?, cql)));
        let (markers, cql) = match read {
            Ok(read) => read,
            Err(fault) => {
                self.say(place, fault.message);
                return None;
            }
        };
        let mut bound = Vec::new();
        for marker in markers {
            let column = match &marker {
                Marker::Column(name) => cell_of(table, name),
                Marker::Int | Marker::Timestamp | Marker::Token | Marker::Unknown => None,
            };
            let Some(cell) = column else {
                let what = match marker {
                    Marker::Column(name) => format!("`{name}` is no column of the table"),
                    _ => "a marker stands where no column gives it a value".to_owned(),
                };
                self.say(place, what);
                return None;
            };
            bound.push(cell);
        }
        let is_select = text.to_lowercase().starts_with("select");
        let only_keys = bound.iter().all(|cell| matches!(cell, Cell::Key(_)));
        let whole = table.partition_key.len() == bound.len() && relations(text) == bound.len();
        Some(Query {
            name: String::new(),
            returned: is_select.then(|| returned(text, table)).flatten(),
            must_find: is_select && only_keys && whole && !text.to_lowercase().contains(" if "),
            cql,
            same_row: false,
            bound,
            is_select,
            consistency: None,
            serial: None,
        })
    }

    fn token_queries(&mut self, keyspace: &str, table: &Table) -> Vec<TokenQuery> {
        let entries = self.root.at("token_range_queries").and_then(Node::entries);
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
            let page_size = node.at("page_size").and_then(Node::text).unwrap_or("5000");
            let Ok(page_size @ 1..) = page_size.parse() else {
                let message = format!("page_size is `{page_size}`; it must be 1 or more");
                self.say(&node.nearest("page_size").place, message);
                continue;
            };
            let keys = table
                .partition_key
                .iter()
                .map(|index| quoted(&table.columns[*index].name));
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
