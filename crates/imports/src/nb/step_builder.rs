//! Builds programs and steps from the lines of scenarios and from operations.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::File;
use super::operations::{CycleOp, Cycles};
use super::params::{self, On, Settings};
use super::scenario::{self, Line};
use super::statement::{is_schema, statement_text};
use super::tags::Filter;
use super::virtdata::Recipe;
use super::virtdata::chain::Env;
use super::workload_file::Op;
use crate::import_result::{Connection, ImportStep, Offer, ReadFile, Secret, StepLimit};
use cql::Consistency;
use workload::schema::{self, DefinedObject, Table};
use workload::{Kind, Program, Schema, Stage, Statement};
use yaml::{Diagnostics, Node, Place};

/// Maximum number of kinds of operations that results distinguish.
const KINDS_MAX: usize = 64;

/// Drivers whose operations are CQL.
pub(super) const DRIVERS: [&str; 3] = ["cql", "cqld3", "cqld4"];

pub(super) struct Builder<'a> {
    pub(super) out: &'a mut Diagnostics,
    pub(super) ops: Vec<Op>,
    pub(super) env: Env<'a>,
    pub(super) tables: Vec<Table>,
    /// Settings of the current line, which apply to all operations of the line.
    pub(super) defaults: Settings,
    pub(super) file: &'a File,
    keyspace: String,
    notes: Vec<String>,
    /// Notes on positions in the file, each with its line numbers.
    lined: BTreeMap<String, BTreeSet<usize>>,
    connection: Connection,
    name: String,
    /// Names that the recipes of the file save. Empty until they are needed.
    saved_names: OnceCell<HashSet<String>>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        root: &Node,
        ops: Vec<Op>,
        file: &'a File,
        read: ReadFile<'a>,
        out: &'a mut Diagnostics,
    ) -> Builder<'a> {
        let mut tables = Vec::new();
        let mut keyspace = None;
        for op in &ops {
            match schema::parse(&statement_text(op), &[]) {
                Ok(DefinedObject::Table(table)) => {
                    keyspace = keyspace.or(table.keyspace.clone());
                    tables.push(table);
                }
                Ok(DefinedObject::Keyspace(name)) => keyspace = Some(name),
                _ => {}
            }
        }
        let description = root.find("name").and_then(Node::text).unwrap_or("nb");
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
            file,
            notes: Vec::new(),
            lined: BTreeMap::new(),
            connection: Connection::default(),
            defaults: Settings::default(),
            saved_names: OnceCell::new(),
        }
    }

    pub(super) fn saved_names(&self) -> &HashSet<String> {
        self.saved_names.get_or_init(|| {
            let bindings = self.ops.iter().flat_map(|op| &op.bindings);
            // Operations share the bindings of the whole file.
            let texts: HashSet<&str> = bindings.filter_map(|entry| entry.value.text()).collect();
            texts.into_iter().flat_map(|text| Recipe::uses(text).saves).collect()
        })
    }

    /// Returns the step of a line. Returns `None` if the line has a mistake, has no cycles, or only
    /// changes the schema. Adds schema changes to `before`.
    pub(super) fn step(
        &mut self,
        name: &str,
        node: &Node,
        line: &Line,
        before: &mut Vec<String>,
    ) -> Option<ImportStep> {
        let ops = self.chosen(node, line)?;
        let mut unreadable = ops.iter().filter_map(|op| op.unreadable.clone());
        if let Some((place, message)) = unreadable.next() {
            return self.wrong(&place, message);
        }
        if ops.iter().all(|op| is_schema(&statement_text(op))) {
            let texts = self.schema_texts(&ops)?;
            before.extend(texts);
            return None;
        }
        if line.get("cycles").and_then(scenario::count) == Some(0) {
            let message = format!("{name} has no cycles, so cassay omits it");
            self.notes.push(message);
            return None;
        }
        let step = self.made(name, node, line, &ops)?;
        Some(ImportStep {
            before: std::mem::take(before),
            ..step
        })
    }

    /// Returns a separate step for schema changes. Such a step is necessary if no step with
    /// operations follows the changes.
    pub(super) fn schema_step(
        &mut self,
        name: &str,
        node: &Node,
        texts: &[String],
    ) -> Option<ImportStep> {
        let kinds: Vec<Kind> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| {
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                let mut kind = Kind::new(format!("{}-{}", words.join("-"), number + 1), true);
                kind.policy.timeout = Some(super::operation::SCHEMA_TIMEOUT);
                kind
            })
            .take(KINDS_MAX)
            .collect();
        if kinds.len() < texts.len() {
            let message = format!("{} schema changes; the maximum is {KINDS_MAX}", texts.len());
            return self.wrong(&node.place, message);
        }
        let statements: Vec<Statement> = texts
            .iter()
            .enumerate()
            .map(|(kind, text)| {
                let level = self.defaults.level.unwrap_or(Consistency::LocalOne);
                let mut statement = Statement::new(text.clone(), kind as u8, 0, level);
                statement.prepared = false;
                statement
            })
            .collect();
        let none = |_: &Statement| CycleOp {
            binds: Vec::new(),
            key: None,
            repeat: 1,
        };
        let count = statements.len();
        let source = Cycles {
            recipes: Vec::new(),
            ops: statements.iter().map(none).collect(),
            sequence: (0..count as u16).collect(),
            row_bytes: 0,
            again: None,
        };
        Some(ImportStep {
            name: name.to_owned(),
            program: Arc::new(self.program(kinds, statements, source)),
            stage: Stage::Main,
            before: Vec::new(),
            first_operation: 0,
            limit: StepLimit::Operations(count as u64),
            // The step keeps only one statement in flight, because the order is important. For
            // example, a table needs its keyspace.
            offer: Offer::Threads(1),
            warmup_operations: 0,
            truncate: Vec::new(),
            truncates_always: false,
        })
    }

    /// Reads the settings of a line, and returns the operations that the line selects.
    fn chosen(&mut self, node: &Node, line: &Line) -> Option<Vec<Op>> {
        self.own_file(node, line)?;
        self.connect(node, line);
        self.tell(node, line);
        self.defaults = match Settings::from_line(line) {
            Ok(defaults) => defaults,
            Err(message) => return self.wrong(&node.place, message),
        };
        let notes = std::mem::take(&mut self.defaults.notes);
        self.notes.extend(notes);
        let tags = line.get("tags").unwrap_or("");
        let ops = self.tagged(node, tags)?;
        if !ops.is_empty() {
            return Some(ops);
        }
        // In some files that NoSQLBench ships, the tags contain hyphens where the names of blocks
        // contain underscores.
        let ops = self.tagged(node, &tags.replace('-', "[-_]"))?;
        if ops.is_empty() {
            let message = format!("no operation has the tags {tags}");
            self.out.add(&node.place, message, self.blocks());
            return None;
        }
        let note = format!("tags={tags} matches no operation unless - and _ count as the same");
        self.note_at(&node.place.clone(), &note);
        Some(ops)
    }

    /// Reports a line that names the operations of another file.
    fn own_file(&mut self, node: &Node, line: &Line) -> Option<()> {
        fn stem(path: &str) -> Option<&OsStr> {
            Path::new(path).file_stem()
        }
        let named = line.get("workload").or_else(|| line.get("yaml"));
        let own = stem(&self.file.source.name);
        match named.filter(|named| stem(named) != own) {
            None => Some(()),
            Some(other) => {
                let hint =
                    format!("write run driver=cql workload={other} and the settings of the line");
                let message = format!(
                    "the line requests operations of {other}, but cassay imports only operations \
                     of {}",
                    self.file.source.name
                );
                self.out.add(&node.place, message, Some(hint));
                None
            }
        }
    }

    fn tagged(&mut self, node: &Node, tags: &str) -> Option<Vec<Op>> {
        match Filter::parse(tags) {
            Ok(filter) => {
                let ops = self.ops.iter().filter(|op| filter.matches(&op.tags));
                Some(ops.cloned().collect())
            }
            Err(message) => self.wrong(&node.place, message),
        }
    }

    fn made(&mut self, name: &str, node: &Node, line: &Line, ops: &[Op]) -> Option<ImportStep> {
        let (kinds, statements, mut source) = self.parts(node, line, ops)?;
        let frame = match super::frame(line, source.sequence.len()) {
            Ok(frame) => frame,
            Err(message) => return self.wrong(&node.place, message),
        };
        source.again = frame.again;
        let own = line.get("threads").filter(|text| super::are_per_processor(text));
        if let (Some(text), Offer::Threads(threads)) = (own, frame.offer) {
            self.notes.push(format!(
                "threads={text} means {threads} threads in cassay, on any machine. In NoSQLBench, \
                 the number depends on the processors of the machine, with ten threads per \
                 processor for `auto`"
            ));
        }
        if line.starts {
            self.notes.push(super::command_line::START.to_owned());
        }
        Some(ImportStep {
            name: name.to_owned(),
            program: Arc::new(self.program(kinds, statements, source)),
            stage: frame.stage,
            before: Vec::new(),
            first_operation: frame.first,
            limit: frame.limit,
            offer: frame.offer,
            warmup_operations: 0,
            truncate: Vec::new(),
            truncates_always: false,
        })
    }

    fn blocks(&self) -> Option<String> {
        let tags = self.ops.iter().flat_map(|op| &op.tags);
        let mut blocks: Vec<&str> = tags
            .filter(|(tag, _)| tag == "block" || tag == "phase")
            .map(|(_, value)| value.as_str())
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        let all = blocks.join(", ");
        (!all.is_empty()).then(|| format!("the file has {all}"))
    }

    pub(super) fn wrong<T>(&mut self, place: &Place, message: impl Into<String>) -> Option<T> {
        self.out.add(place, message, None);
        None
    }

    pub(super) fn note_at(&mut self, place: &Place, note: &str) {
        let text = &self.file.source.text;
        let (line, _) = yaml::line_and_column(text, place.span.start);
        self.lined.entry(note.to_owned()).or_default().insert(line);
    }

    pub(super) fn finish(mut self) -> (Vec<String>, Connection) {
        self.notes.append(&mut self.env.notes);
        for (note, lines) in &self.lined {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let name = &self.file.source.name;
            self.notes.push(format!("{name}:{}: {note}", lines.join(",")));
        }
        (self.notes, self.connection)
    }

    fn tell(&mut self, node: &Node, line: &Line) {
        for (key, _, value) in &line.settings {
            let acts = params::acting(On::Line).any(|known| known == key);
            if acts || value.is_empty() || self.file.parameters.contains(key) {
                continue;
            }
            let tls_note = crate::tls_files::note_for_nb(key, value);
            let value = if yaml::names_secret(key) {
                "***"
            } else {
                value
            };
            let note = match (tls_note, params::ignored_reason(On::Line, key)) {
                (Some(note), _) => note,
                (None, Some(why)) => format!("{key}={value} {why}"),
                (None, None) => {
                    let mut known: Vec<&str> = params::acting(On::Line).collect();
                    known.extend(self.file.parameters.iter().map(String::as_str));
                    let hint = yaml::near_name(key, known);
                    let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
                    format!("{key}={value} has no effect{hint}")
                }
            };
            if line.is_given(key) {
                self.notes.push(format!("command line: {note}"));
            } else {
                self.note_at(&node.place, &note);
            }
        }
    }

    fn parts(
        &mut self,
        node: &Node,
        line: &Line,
        ops: &[Op],
    ) -> Option<(Vec<Kind>, Vec<Statement>, Cycles)> {
        if ops.len() > KINDS_MAX {
            let message = format!("{} operations; the maximum is {KINDS_MAX}", ops.len());
            return self.wrong(&node.place, message);
        }
        let mut known: HashMap<(usize, String), usize> = HashMap::new();
        let mut recipes: Vec<Recipe> = Vec::new();
        let (mut made, mut statements, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut kinds: Vec<Kind> = Vec::new();
        for op in ops {
            let (ratio, before) = (self.number(op, "ratio", 1)? as u32, self.out.list.len());
            let operation = self.operation(made.len(), op, &mut known, &mut recipes);
            if operation.is_none() && ratio == 0 {
                // An operation with ratio 0 never runs, so its mistakes are removed.
                self.out.list.truncate(before);
                continue;
            }
            let operation = operation?;
            ratios.push(ratio);
            // Histogram logs do not permit commas or spaces in names, so hyphens replace them.
            let name = op.name.replace(|c: char| c == ',' || c.is_whitespace(), "-");
            let name = super::unused_name(&name, |one| kinds.iter().any(|kind| kind.name == one));
            let mut kind = Kind::new(name, !operation.statement.returns_rows);
            kind.policy = operation.policy;
            kinds.push(kind);
            statements.push(operation.statement);
            made.push(operation.cycle_op);
        }
        let name = line.get("seq").unwrap_or("bucket");
        let Some(sequence) = scenario::sequence(name, &ratios).filter(|s| !s.is_empty()) else {
            let message = format!("sequencer {name} with ratios {ratios:?} selects no operation");
            return self.wrong(&node.place, message);
        };
        let source = Cycles {
            recipes,
            ops: made,
            sequence,
            row_bytes: 0,
            again: None,
        };
        Some((kinds, statements, source))
    }

    fn program(&self, kinds: Vec<Kind>, statements: Vec<Statement>, source: Cycles) -> Program {
        let tables = self.tables.iter().map(|table| table.name.clone()).collect();
        Program::from_source(kinds, statements, Arc::new(source)).with_tables(
            &self.name,
            (self.keyspace.clone(), tables),
            self.schema(),
            0,
        )
    }

    fn schema(&self) -> Schema {
        let texts: Vec<String> = self.ops.iter().map(statement_text).collect();
        let of = |what: &str| {
            let begins = |text: &&String| text.to_lowercase().starts_with(what);
            texts.iter().filter(begins).cloned().collect::<Vec<_>>()
        };
        let keyspace = &self.keyspace;
        let qualified = self.tables.iter().map(|t| format!("TRUNCATE {keyspace}.{}", t.name));
        Schema {
            create_keyspace: of("create keyspace").first().cloned().unwrap_or_default(),
            is_replication_stated: true,
            create_tables: [of("create type"), of("create table")].concat(),
            truncate: qualified.collect(),
            drop_keyspace: format!("DROP KEYSPACE IF EXISTS {keyspace}"),
        }
    }

    fn connect(&mut self, node: &Node, line: &Line) {
        if let Some(driver) = line.get("driver").or_else(|| line.get("type"))
            && !DRIVERS.contains(&driver)
        {
            let hint = match driver {
                "stdout" => {
                    "`driver=cql --sample 10` prints the first statements with their values \
                     without sending them"
                }
                _ => "add driver=cql if the statements are CQL",
            };
            let hint = hint.to_owned();
            let message = format!("cassay supports only the driver cql, not {driver}");
            self.out.add(&node.place, message, Some(hint));
        }
        if let Some(hosts) = line.get("hosts").or_else(|| line.get("host")) {
            self.connection.nodes = hosts.split(',').map(|h| h.trim().to_owned()).collect();
        }
        if let Some(port) = line.get("port") {
            match port.parse() {
                Ok(port) => self.connection.port = Some(port),
                Err(_) => self.out.add(&node.place, format!("`{port}` is not a port number"), None),
            }
        }
        let compression = line
            .get("compression")
            .or_else(|| line.get("driver.advanced.protocol.compression"));
        match compression.map(str::to_uppercase).as_deref() {
            None | Some("NONE") => {}
            Some("LZ4") => self.connection.compression = Some(cql::Compression::Lz4),
            Some("SNAPPY") => self.connection.compression = Some(cql::Compression::Snappy),
            // In some workload files, a template parameter with this name selects the table's
            // compressor.
            Some(name) if name.ends_with("COMPRESSOR") => {}
            Some(other) => {
                let message =
                    format!("cassay supports only the compressions LZ4 and SNAPPY, not {other}");
                self.out.add(&node.place, message, None);
            }
        }
        self.connection.datacenter = line.get("localdc").map(str::to_owned);
        if let Some(pooling) = line.get("pooling") {
            self.pooling(node, pooling);
        }
        let tls = line.get("ssl").filter(|ssl| *ssl != "false");
        self.connection.tls = self.connection.tls.or(tls.map(|_| true));
        self.connection.username = self.user(node, line);
        // The client reads this file when it connects. An import must not read the file, because
        // cassay stores every file that an import reads together with the results.
        self.connection.password_file = line.get("passfile").map(str::to_owned);
        self.connection.password = line.get("password").map(Secret::new);
    }

    /// Parses `4:10:2000,…`. The first number is the number of connections to each local node.
    fn pooling(&mut self, node: &Node, pooling: &str) {
        let core = pooling.split([':', ',']).next().unwrap_or("");
        match core.parse().ok().filter(|n| *n > 0) {
            Some(connections) => {
                self.connection.connections_per_node = Some(connections);
                if core != pooling {
                    self.notes.push(format!(
                        "pooling={pooling}: cassay always uses {core} connections to each node"
                    ));
                }
            }
            None => {
                let message = format!("pooling={pooling} must begin with a number of connections");
                self.out.add(&node.place, message, None);
            }
        }
    }

    /// Returns the user name. The line states either the user name itself or a file that contains
    /// the user name.
    fn user(&mut self, node: &Node, line: &Line) -> Option<String> {
        let Some(file) = line.get("userfile") else {
            return line.get("username").map(str::to_owned);
        };
        match (self.env.read)(file) {
            Ok(text) => Some(text.lines().next().unwrap_or("").trim().to_owned()),
            Err(why) => self.wrong(&node.place, format!("userfile={file}: {why}")),
        }
    }
}
