//! Operations → statements, recipes and steps.
//!
//! Long because each part of a file has its reader here.

use std::collections::HashMap;
use std::sync::Arc;

use super::file::Op;
use super::scenario::{self, Line};
use super::source::{CycleOp, Cycles};
use super::tags::Filter;
use super::virtdata::resolve::Env;
use super::virtdata::{Recipe, Ty};
use crate::import::{Connection, Offer, ReadFile, Secret, Step};
use crate::program::{BatchKind, Kind, Program, Schema, Statement};
use crate::schema::{self, Defined, Marker, Table, markers};
use cql::Consistency;
use cql::value::CqlType;
use yaml::{Diagnostics, Node, Place};

/// More kinds than this are not told apart in results.
const KINDS_MAX: usize = 64;
/// Cassandra refuses larger batches long before.
const REPEAT_MAX: u64 = 65_535;
/// Settings of a line that are understood elsewhere, or say what is so anyhow.
const QUIET: [&str; 19] = [
    "driver",
    "type",
    "tags",
    "cycles",
    "threads",
    "cyclerate",
    "rate",
    "seq",
    "alias",
    "yaml",
    "workload",
    "host",
    "hosts",
    "port",
    "localdc",
    "username",
    "password",
    "cl",
    "compression",
];

/// Makes steps of the operations of a file.
pub(crate) struct Builder<'a> {
    pub(crate) out: &'a mut Diagnostics,
    ops: Vec<Op>,
    env: Env<'a>,
    tables: Vec<Table>,
    keyspace: String,
    notes: Vec<String>,
    connection: Connection,
    name: String,
    /// Consistency of the current line's operations that state none.
    default_level: Consistency,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(
        root: &Node,
        ops: Vec<Op>,
        read: ReadFile<'a>,
        out: &'a mut Diagnostics,
    ) -> Builder<'a> {
        let mut tables = Vec::new();
        let mut keyspace = None;
        for op in &ops {
            match schema::parse(&statement_text(op), &[]) {
                Ok(Defined::Table(table)) => {
                    keyspace = keyspace.or(table.keyspace.clone());
                    tables.push(table);
                }
                Ok(Defined::Keyspace(name)) => keyspace = Some(name),
                _ => {}
            }
        }
        let description = root.at("name").and_then(Node::text).unwrap_or("nb");
        Builder {
            name: description.to_owned(),
            out,
            ops,
            env: Env {
                read,
                notes: Vec::new(),
            },
            tables,
            keyspace: keyspace.unwrap_or_else(|| "baselines".to_owned()),
            notes: Vec::new(),
            connection: Connection::default(),
            default_level: Consistency::LocalOne,
        }
    }

    /// The step of a line; None when it only changes the schema, which goes to `before`, or is
    /// wrong.
    pub(crate) fn step(
        &mut self,
        name: &str,
        node: &Node,
        line: &Line,
        before: &mut Vec<String>,
    ) -> Option<Step> {
        self.connect(node, line);
        let filter = match Filter::parse(line.get("tags").unwrap_or("")) {
            Ok(filter) => filter,
            Err(message) => return self.wrong(&node.place, message),
        };
        let ops: Vec<Op> = self
            .ops
            .iter()
            .filter(|op| filter.matches(&op.tags))
            .cloned()
            .collect();
        if ops.is_empty() {
            let message = format!(
                "no operation has the tags {}",
                line.get("tags").unwrap_or("")
            );
            self.out.add(&node.place, message, self.blocks());
            return None;
        }
        if ops.iter().all(|op| is_schema(&statement_text(op))) {
            before.extend(ops.iter().map(statement_text));
            return None;
        }
        if line.get("cycles") == Some("0") {
            let message = format!("{name} has no cycles and is left out");
            self.notes.push(message);
            return None;
        }
        self.default_level = match line.get("cl").map(|cl| (cl, cl.to_uppercase().parse())) {
            None => Consistency::LocalOne,
            Some((_, Ok(level))) => level,
            Some((cl, Err(_))) => {
                return self.wrong(&node.place, format!("cl={cl} is no consistency level"));
            }
        };
        let program = self.program(node, line, &ops)?;
        let (source_length, program) = program;
        let (offer, first_operation, limit, stage) = match super::frame(line, source_length) {
            Ok(frame) => frame,
            Err(message) => return self.wrong(&node.place, message),
        };
        if line.get("threads") == Some("auto") && matches!(offer, Offer::Threads(_)) {
            self.notes.push(
                "threads=auto is 100 here; NoSQLBench takes ten per processor of its machine"
                    .to_owned(),
            );
        }
        Some(Step {
            name: name.to_owned(),
            program: Arc::new(program),
            stage,
            before: std::mem::take(before),
            first_operation,
            limit,
            offer,
            warmup_operations: 0,
            truncate: Vec::new(),
            truncates_always: false,
        })
    }

    /// The blocks that there are, for a hint.
    fn blocks(&self) -> Option<String> {
        let tags = self.ops.iter().flat_map(|op| &op.tags);
        let mut blocks: Vec<&str> = tags
            .filter(|(tag, _)| tag == "block" || tag == "phase")
            .map(|(_, value)| value.as_str())
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        let all = blocks.join(", ");
        (!all.is_empty()).then(|| format!("there are {all}"))
    }

    fn wrong<T>(&mut self, place: &Place, message: impl Into<String>) -> Option<T> {
        self.out.add(place, message, None);
        None
    }

    /// Notes, and how to get in.
    pub(crate) fn finish(mut self, _given: &[(String, String)]) -> (Vec<String>, Connection) {
        self.notes.append(&mut self.env.notes);
        self.notes.sort();
        self.notes.dedup();
        (self.notes, self.connection)
    }

    fn connect(&mut self, node: &Node, line: &Line) {
        if let Some(driver) = line.get("driver").or_else(|| line.get("type"))
            && !["cql", "cqld3", "cqld4"].contains(&driver)
        {
            let message = format!("driver {driver} is not understood; cql is");
            self.out.add(&node.place, message, None);
        }
        if let Some(hosts) = line.get("hosts").or_else(|| line.get("host")) {
            self.connection.nodes = hosts.split(',').map(str::to_owned).collect();
        }
        if let Some(port) = line.get("port") {
            match port.parse() {
                Ok(port) => self.connection.port = Some(port),
                Err(_) => self
                    .out
                    .add(&node.place, format!("port {port} is no port"), None),
            }
        }
        match line.get("compression").map(str::to_uppercase).as_deref() {
            None | Some("NONE") => {}
            Some("LZ4") => self.connection.compression = Some(cql::Compression::Lz4),
            // Another workload file's template of the table's compressor has the same name.
            Some(name) if name.ends_with("COMPRESSOR") => {}
            Some(other) => {
                let message = format!("compression {other} of frames is not there; LZ4 is");
                self.out.add(&node.place, message, None);
            }
        }
        self.connection.datacenter = line.get("localdc").map(str::to_owned);
        self.connection.username = line.get("username").map(str::to_owned);
        self.connection.password = line.get("password").map(Secret::new);
        for (key, _, value) in &line.settings {
            if !QUIET.contains(&key.as_str()) && !value.is_empty() {
                self.notes.push(format!(
                    "{key}={value} has no effect here unless the file uses it"
                ));
            }
        }
    }

    fn program(&mut self, node: &Node, line: &Line, ops: &[Op]) -> Option<(usize, Program)> {
        if ops.len() > KINDS_MAX {
            let message = format!("{} operations; at most {KINDS_MAX} in a step", ops.len());
            return self.wrong(&node.place, message);
        }
        let mut known: HashMap<(usize, String), usize> = HashMap::new();
        let (mut recipes, mut made, mut statements) = (Vec::new(), Vec::new(), Vec::new());
        let mut ratios = Vec::new();
        for (index, op) in ops.iter().enumerate() {
            ratios.push(self.number(op, "ratio", 1)? as u32);
            let (statement, cycle_op) = self.operation(index, op, &mut known, &mut recipes)?;
            statements.push(statement);
            made.push(cycle_op);
        }
        let name = line.get("seq").unwrap_or("bucket");
        let Some(sequence) = scenario::sequence(name, &ratios).filter(|s| !s.is_empty()) else {
            let message = format!("sequencer {name} with ratios {ratios:?} gives no operation");
            return self.wrong(&node.place, message);
        };
        let kinds = ops.iter().zip(&statements);
        let kinds = kinds.map(|(op, s): (_, &Statement)| Kind::new(&*op.name, !s.returns_rows));
        let source = Cycles {
            recipes,
            ops: made,
            sequence,
            row_bytes: 0,
        };
        let length = source.sequence.len();
        let program = Program {
            name: self.name.clone(),
            keyspace: self.keyspace.clone(),
            tables: self.tables.iter().map(|table| table.name.clone()).collect(),
            schema: self.schema(),
            kinds: kinds.collect(),
            rows: 0,
            source: Arc::new(source),
            statements,
        };
        Some((length, program))
    }

    fn schema(&self) -> Schema {
        let texts: Vec<String> = self.ops.iter().map(statement_text).collect();
        let of = |what: &str| {
            let begins = |text: &&String| text.to_lowercase().starts_with(what);
            texts.iter().filter(begins).cloned().collect::<Vec<_>>()
        };
        let keyspace = &self.keyspace;
        let qualified = self
            .tables
            .iter()
            .map(|t| format!("TRUNCATE {keyspace}.{}", t.name));
        Schema {
            create_keyspace: of("create keyspace").first().cloned().unwrap_or_default(),
            create_tables: of("create table"),
            truncate: qualified.collect(),
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS {keyspace}"),
        }
    }

    fn number(&mut self, op: &Op, key: &str, default: u64) -> Option<u64> {
        let Some(node) = op.param(key) else {
            return Some(default);
        };
        match node
            .text()
            .and_then(scenario::count)
            .filter(|n| *n <= REPEAT_MAX)
        {
            Some(number) => Some(number),
            None => {
                let message = format!("{key} is {}; a count up to {REPEAT_MAX}", node.describe());
                let place = node.place.clone();
                self.wrong(&place, message)
            }
        }
    }

    fn operation(
        &mut self,
        kind: usize,
        op: &Op,
        known: &mut HashMap<(usize, String), usize>,
        recipes: &mut Vec<Recipe>,
    ) -> Option<(Statement, CycleOp)> {
        let (cql, names) = anchors(&statement_text(op));
        let table = self
            .tables
            .iter()
            .find(|table| mentions(&cql, &table.name))
            .cloned();
        let marked = match markers(&cql) {
            Ok(marked) if marked.len() == names.len() => marked,
            _ => vec![Marker::Unknown; names.len()],
        };
        let mut binds = Vec::new();
        for (name, marker) in names.iter().zip(&marked) {
            let Some(entry) = op.bindings.iter().find(|entry| entry.key == *name).cloned() else {
                let known = op.bindings.iter().map(|entry| entry.key.as_str());
                let hint = yaml::did_you_mean(name, known);
                let message = format!(
                    "operation {} uses binding {name}, which is not there",
                    op.name
                );
                self.out.add(&op.cql.place, message, hint);
                return None;
            };
            let id = (entry.value.place.span.start, name.clone());
            let index = match known.get(&id) {
                Some(index) => *index,
                None => {
                    recipes.push(self.recipe(&entry.value)?);
                    known.insert(id, recipes.len() - 1);
                    recipes.len() - 1
                }
            };
            self.fits(
                &entry.value,
                name,
                recipes[index].ty,
                marker,
                table.as_ref(),
            )?;
            binds.push(index);
        }
        let repeat = match &op.repeat {
            None => 1,
            Some(_) => self.number(op, "repeat", 1)?.max(1),
        };
        let key = table.as_ref().and_then(|table| key_markers(table, &marked));
        let mut statement = Statement::new(
            cql,
            kind as u8,
            binds.len() as u16,
            self.level(op, self.default_level)?,
        );
        statement.serial_consistency = self.serial_level(op)?;
        self.settings(op, &mut statement, repeat);
        Some((statement, CycleOp { binds, key, repeat }))
    }

    fn settings(&mut self, op: &Op, statement: &mut Statement, repeat: u64) {
        let is = |key: &str| {
            op.param(key)
                .and_then(Node::text)
                .map(|text| text == "true")
        };
        let lower = statement.cql.trim_start().to_lowercase();
        statement.returns_rows = lower.starts_with("select");
        statement.idempotent = is("idempotent").unwrap_or(statement.returns_rows);
        statement.prepared = op.prepared.or_else(|| is("prepared")).unwrap_or(true);
        statement.conditional = !statement.returns_rows
            && (lower.contains(" if not exists")
                || lower.contains(" if exists")
                || lower.contains(" if "));
        if op.repeat.is_some() && repeat >= 1 {
            statement.batch = Some(match op.param("batch").and_then(Node::text) {
                Some("unlogged") => BatchKind::Unlogged,
                Some("counter") => BatchKind::Counter,
                _ => BatchKind::Logged,
            });
        }
    }

    /// `default` is that of the line.
    fn level(&mut self, op: &Op, default: Consistency) -> Option<Consistency> {
        let node = ["cl", "consistency", "consistency_level"]
            .iter()
            .find_map(|key| op.param(key));
        match node.cloned() {
            None => Some(default),
            Some(node) => self.consistency(&node),
        }
    }

    fn serial_level(&mut self, op: &Op) -> Option<Option<Consistency>> {
        let keys = [
            "scl",
            "serial_cl",
            "serial cl",
            "serial_consistency",
            "serial_consistency_level",
        ];
        let Some(node) = keys.iter().find_map(|key| op.param(key)).cloned() else {
            return Some(None);
        };
        let level = self.consistency(&node)?;
        if !level.is_serial() {
            let message = format!("{level} is no serial consistency level");
            return self.wrong(&node.place, message);
        }
        Some(Some(level))
    }

    fn consistency(&mut self, node: &Node) -> Option<Consistency> {
        match node.text().unwrap_or("").to_uppercase().parse() {
            Ok(level) => Some(level),
            Err(_) => {
                let message = format!("{} is no consistency level", node.describe());
                self.wrong(&node.place, message)
            }
        }
    }

    fn recipe(&mut self, node: &Node) -> Option<Recipe> {
        let text = node.text().unwrap_or("");
        match Recipe::compile(text, &mut self.env) {
            Ok(recipe) => Some(recipe),
            Err(fault) => {
                let mut place = node.place.clone();
                let end = place.span.end;
                // In quotes or over several lines the offset in the text is only near the place.
                place.span.start = (place.span.start + fault.at).min(end);
                self.out.add(&place, fault.message, fault.hint);
                None
            }
        }
    }

    fn fits(
        &mut self,
        node: &Node,
        name: &str,
        ty: Ty,
        marker: &Marker,
        table: Option<&Table>,
    ) -> Option<()> {
        let typ = match marker {
            Marker::Int => CqlType::Int,
            Marker::Timestamp | Marker::Token => CqlType::Bigint,
            Marker::Unknown => return Some(()),
            Marker::Column(column) => {
                let table = table?;
                match table.column(column) {
                    Some(column) => table.columns[column].typ.clone(),
                    None => return Some(()),
                }
            }
        };
        if is_bindable(ty, &typ) {
            return Some(());
        }
        let message = format!(
            "binding {name} gives a {}, which the driver does not bind to {typ:?}",
            ty.name()
        );
        let place = node.place.clone();
        self.wrong(&place, message)
    }
}

/// The markers of the partition key's columns, in the key's order, if all are bound.
fn key_markers(table: &Table, marked: &[Marker]) -> Option<Vec<usize>> {
    let bound = |column: &usize| {
        let column = Marker::Column(table.columns[*column].name.clone());
        marked.iter().position(|marker| *marker == column)
    };
    table.partition_key.iter().map(bound).collect()
}

/// Whether the driver binds a value of a Java type to a column of a CQL type.
fn is_bindable(ty: Ty, typ: &CqlType) -> bool {
    match ty {
        Ty::Long => matches!(typ, CqlType::Bigint | CqlType::Counter | CqlType::Time),
        Ty::Int => matches!(typ, CqlType::Int),
        Ty::Short => matches!(typ, CqlType::Smallint),
        Ty::Byte => matches!(typ, CqlType::Tinyint),
        Ty::Float => matches!(typ, CqlType::Float),
        Ty::Double => matches!(typ, CqlType::Double),
        Ty::Bool => matches!(typ, CqlType::Boolean),
        Ty::Text | Ty::Chars => matches!(typ, CqlType::Text | CqlType::Ascii),
        Ty::Uuid => matches!(typ, CqlType::Uuid | CqlType::Timeuuid),
        Ty::Date | Ty::Instant => matches!(typ, CqlType::Timestamp),
        Ty::Day => matches!(typ, CqlType::Date),
        Ty::Bytes => matches!(typ, CqlType::Blob),
        Ty::List => matches!(typ, CqlType::List(_)),
        Ty::Floats | Ty::Vector => matches!(typ, CqlType::Vector(..)),
        Ty::Object => false,
    }
}

/// The CQL without its last semicolon; an option that newer releases do not know is renamed.
fn statement_text(op: &Op) -> String {
    let text = op
        .cql
        .text()
        .unwrap_or("")
        .trim()
        .trim_end_matches(';')
        .trim_end();
    text.replace("'sstable_compression'", "'class'")
}

fn is_schema(cql: &str) -> bool {
    let first = cql.split_whitespace().next().unwrap_or("").to_lowercase();
    ["create", "drop", "alter", "truncate", "use", "grant"].contains(&first.as_str())
}

fn mentions(cql: &str, table: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    cql.split(|c| !is_part(c))
        .any(|word| word.eq_ignore_ascii_case(table))
}

/// `{name}` and `?name` → markers, with the names in their order. Maps such as `{'a': 1}` stay.
fn anchors(cql: &str) -> (String, Vec<String>) {
    let (mut out, mut names, mut rest) = (String::new(), Vec::new(), cql);
    while let Some(at) = rest.find(['{', '?']) {
        let after = &rest[at + 1..];
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
        let length = after.find(|c| !is_part(c)).unwrap_or(after.len());
        let begins = after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let braces = rest[at..].starts_with('{');
        let closes = !braces || after[length..].starts_with('}');
        out.push_str(&rest[..at]);
        if begins && closes {
            out.push('?');
            names.push(after[..length].to_owned());
            rest = &after[length + usize::from(braces)..];
        } else {
            out.push_str(&rest[at..=at]);
            rest = after;
        }
    }
    out.push_str(rest);
    (out, names)
}
