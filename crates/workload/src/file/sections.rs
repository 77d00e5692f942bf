//! Reads the sections `schema`, `values` and `statements` of a workload file.

use std::collections::BTreeMap;

use super::compiled_program::Per;
use super::expr::{self, Argument, Expr, Form, Wrong};
use super::named_value::{MadeFrom, Value};
use super::server_refusal::strange_keyspace;
use super::statement::{self, Context};
use super::word_position::place_in;
use super::{File, param_text};
use crate::program::{BatchKind, lanes};
use crate::random::lane;
use crate::schema::{self, DefinedObject, Table, TokenKind};
use cql::Consistency;
use cql::value::{CqlType, UdtType};
use yaml::{Entry, Node, Place, Raw, did_you_mean};

const STATEMENT_KEYS: [&str; 10] = [
    "cql",
    "kind",
    "consistency",
    "serial_consistency",
    "page_size",
    "pages_max",
    "idempotent",
    "timestamps",
    "batch",
    "rows",
];
const VALUE_KEYS: [&str; 10] = [
    "is", "words", "by", "per", "type", "divide", "modulo", "groups", "within", "missing",
];
/// Maximum number of statements, because the engine distinguishes at most this number of kinds.
const STATEMENTS_MAX: usize = crate::mix::KINDS_MAX;

#[derive(Default)]
pub(super) struct Tables {
    /// Statements that create the schema, in order. The names in the statements include the
    /// keyspace.
    pub(super) create: Vec<String>,
    pub(super) places: Vec<Place>,
    pub(super) tables: Vec<Table>,
    pub(super) types: Vec<UdtType>,
}

pub(super) struct NamedStatement {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) parts: Vec<statement::Read>,
    pub(super) options: Options,
}

#[derive(Default)]
pub(super) struct Options {
    pub(super) is_write: Option<bool>,
    pub(super) consistency: Option<Consistency>,
    pub(super) serial: Option<Consistency>,
    pub(super) page_size: Option<i32>,
    pub(super) pages_max: Option<u32>,
    pub(super) idempotent: Option<bool>,
    pub(super) client_timestamp: bool,
    pub(super) batch: Option<BatchKind>,
    pub(super) size: Option<(Expr, Place)>,
    pub(super) same_partition: bool,
    pub(super) adds_rows: bool,
}

impl<'a> File<'a, '_> {
    pub(super) fn tables(&mut self, keyspace: &str) -> Tables {
        let mut made = Tables::default();
        let Some(node) = self.needed("schema", "[CREATE TABLE t (k bigint PRIMARY KEY, v text)]")
        else {
            return made;
        };
        let items = match &node.raw {
            Raw::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        for item in items {
            if let Some(text) = self.text_of(item, "a statement of the schema") {
                self.define(item, text, keyspace, &mut made);
            }
        }
        if made.tables.is_empty() && self.out.is_empty() {
            self.say(&node.place, "the schema creates no table");
        }
        made
    }

    fn define(&mut self, node: &Node, text: &str, keyspace: &str, made: &mut Tables) {
        let fault = |file: &mut Self, fault: schema::CqlMistake| {
            let place = place_in(file.text, node, fault.at);
            file.say(&place, fault.message);
        };
        let statements = match schema::split(text) {
            Ok(statements) => statements,
            Err(wrong) => return fault(self, wrong),
        };
        for (start, cql) in statements {
            let tokens = schema::tokens(cql).unwrap_or_default();
            let defined = schema::parse(cql, &made.types).map_err(|wrong| schema::CqlMistake {
                at: start + wrong.at,
                ..wrong
            });
            let place = place_in(self.text, node, start);
            match defined {
                Err(wrong) => return fault(self, wrong),
                Ok(DefinedObject::Keyspace(name)) => {
                    let message = format!("CREATE KEYSPACE {name} comes from the study");
                    let hint = "omit this statement: `keyspace:` names the keyspace, and the \
                                study's `replication` sets the number of replicas";
                    self.out.add(&place, message, Some(hint.to_owned()));
                    continue;
                }
                Ok(_) if !makes_tables(&tokens) => {
                    let message =
                        "only CREATE TABLE, TYPE, INDEX or MATERIALIZED VIEW belongs here";
                    self.say(&place, message);
                    continue;
                }
                Ok(DefinedObject::Table(table)) => self.table(table, &place, made),
                Ok(DefinedObject::Type(mut udt)) => {
                    udt.keyspace = keyspace.to_owned();
                    made.types.push(udt);
                }
                Ok(DefinedObject::Other) => {}
            }
            if let Some((at, message, hint)) = strange_keyspace(&tokens, keyspace) {
                let place = place_in(self.text, node, start + at);
                self.out.add(&place, message, Some(hint));
            }
            match schema::qualify(&if_not_exists(cql), keyspace) {
                Ok(cql) => {
                    made.create.push(cql);
                    made.places.push(place);
                }
                Err(wrong) => fault(self, wrong),
            }
        }
    }

    fn table(&mut self, table: Table, place: &Place, made: &mut Tables) {
        if made.tables.iter().any(|known| known.name == table.name) {
            self.say(
                place,
                format!("the schema creates the table {} twice", table.name),
            );
        }
        made.tables.push(table);
    }

    pub(super) fn values(&mut self, types: &[UdtType]) -> BTreeMap<String, Value> {
        let mut values = BTreeMap::new();
        let entries = match self.root.find("values") {
            None => &[][..],
            Some(node) => node.entries().unwrap_or_else(|| {
                let message = format!("values must be a mapping, not {}", node.describe());
                self.out.add(&node.place, message, None);
                &[]
            }),
        };
        for entry in entries {
            if let Some(value) = self.value(entry, types) {
                values.insert(entry.key.clone(), value);
            }
        }
        let spec = self.spec;
        for (name, param) in spec.params.iter().filter(|(name, _)| *name != "rows") {
            let text = param_text(param);
            let place = self.study_place(&format!("params.{name}"), &text);
            match (values.get_mut(name), expr::parse(&text)) {
                (_, Err(wrong)) => self.wrong(&place, wrong),
                (Some(value), Ok(expr)) => {
                    value.expr = expr;
                    value.place = place;
                }
                (None, Ok(_)) => {
                    let known = values.keys().map(String::as_str).chain(["rows"]);
                    let hint = did_you_mean(name, known);
                    let message = format!("the workload file has no value `{name}`");
                    self.out.add(&place, message, hint);
                }
            }
        }
        values
    }

    pub(super) fn wrong(&mut self, place: &Place, wrong: Wrong) {
        let start = (place.span.start + wrong.at).min(place.span.end);
        let place = Place {
            source: place.source,
            span: start..place.span.end,
        };
        self.out.add(&place, wrong.message, wrong.hint);
    }

    fn value(&mut self, entry: &'a Entry, types: &[UdtType]) -> Option<Value> {
        let mut per = Per::Row;
        let (mut typ, mut made_from, mut missing) = (None, MadeFrom::Itself, 0.0);
        let mut node = &entry.value;
        if node.entries().is_some() {
            self.check_keys(&entry.value, &VALUE_KEYS, "a value");
            made_from = self.made_from(&entry.value)?;
            missing = self.missing(&entry.value)?;
            per = match entry.value.find("per").and_then(Node::text) {
                Some("operation") => Per::Operation,
                None if entry.value.find("per").is_none() => Per::Row,
                Some("row") => Per::Row,
                _ => {
                    let place = entry.value.nearest("per").place.clone();
                    self.say(&place, "per must be row or operation");
                    return None;
                }
            };
            if let Some(written) = entry.value.find("type") {
                typ = Some(self.cql_type(written, types)?);
            }
            match (entry.value.find("is"), entry.value.find("words")) {
                (Some(is), None) => node = is,
                (None, Some(words)) => {
                    let by = entry.value.find("by");
                    let expr = self.words(words, by)?;
                    let place = words.place.clone();
                    return Some(Value {
                        expr,
                        per,
                        typ,
                        place,
                        seed: seed_of(entry, self.spec.seed),
                        made_from,
                        missing,
                    });
                }
                _ => {
                    self.say(
                        &entry.place,
                        "a value has either `is` or `words`: remove one of the two keys",
                    );
                    return None;
                }
            }
        }
        let text = self.text_of(node, "a value")?;
        let place = self.inside(node);
        match expr::parse(text) {
            Ok(expr) => Some(Value {
                expr,
                per,
                typ,
                place,
                seed: seed_of(entry, self.spec.seed),
                made_from,
                missing,
            }),
            Err(wrong) => {
                self.wrong(&place, wrong);
                None
            }
        }
    }

    /// Returns the position of a scalar's text. The position is after an opening quote.
    pub(super) fn inside(&self, node: &Node) -> Place {
        let mut place = node.place.clone();
        let slice = self.text.get(place.span.clone()).unwrap_or_default();
        if slice.len() >= 2 && slice.starts_with(['"', '\'']) {
            place.span = place.span.start + 1..place.span.end - 1;
        }
        place
    }

    /// Converts `words: [a, b]` in YAML to a call of the function `words`. Returns `None` after a
    /// mistake.
    fn words(&mut self, node: &'a Node, by: Option<&'a Node>) -> Option<Expr> {
        let Raw::List(items) = &node.raw else {
            let message = format!("words must be a list, not {}", node.describe());
            self.say(&node.place, message);
            return None;
        };
        let mut arguments = Vec::new();
        for item in items {
            let text = self.text_of(item, "a word")?.to_owned();
            let form = Form::Text(text.clone());
            let value = Expr { at: 0, text, form };
            arguments.push(Argument { name: None, value });
        }
        if let Some(by) = by {
            let text = self.text_of(by, "by")?;
            let value = match expr::parse(text) {
                Ok(value) => value,
                Err(wrong) => {
                    let place = self.inside(by);
                    self.wrong(&place, wrong);
                    return None;
                }
            };
            let name = Some("by".to_owned());
            arguments.push(Argument { name, value });
        }
        let form = Form::Call {
            name: "words".to_owned(),
            arguments,
        };
        let text = "words".to_owned();
        Some(Expr { at: 0, text, form })
    }

    fn cql_type(&mut self, node: &'a Node, types: &[UdtType]) -> Option<CqlType> {
        let text = self.text_of(node, "type")?;
        // This code parses the type of a value as the type of a column in a table.
        let table = format!("CREATE TABLE t (k int PRIMARY KEY, v {text})");
        match schema::parse(&table, types) {
            Ok(DefinedObject::Table(mut table)) if table.columns.len() == 2 => {
                table.columns.pop().map(|column| column.typ)
            }
            _ => {
                self.say(&node.place, format!("`{text}` is not a CQL type"));
                None
            }
        }
    }

    pub(super) fn statements(&mut self, context: &Context) -> Vec<NamedStatement> {
        let example = "{read: SELECT v FROM t WHERE k = :k}";
        let Some(node) = self.needed("statements", example) else {
            return Vec::new();
        };
        let Some(entries) = node.entries().filter(|entries| !entries.is_empty()) else {
            let message = format!(
                "statements must be a mapping of names, not {}",
                node.describe()
            );
            self.say(&node.place, message);
            return Vec::new();
        };
        if entries.len() > STATEMENTS_MAX {
            let message = format!("{} statements; at most {STATEMENTS_MAX}", entries.len());
            self.say(&node.place, message);
            return Vec::new();
        }
        let entries = entries.iter();
        entries.filter_map(|entry| self.statement(entry, context)).collect()
    }

    fn statement(&mut self, entry: &'a Entry, context: &Context) -> Option<NamedStatement> {
        let (mut options, mut cql) = (Options::default(), &entry.value);
        if entry.value.entries().is_some() {
            self.check_keys(&entry.value, &STATEMENT_KEYS, "a statement");
            options = self.options(&entry.value);
            let Some(found) = entry.value.find("cql") else {
                self.say(
                    &entry.place,
                    format!("the statement {} has no `cql`", entry.key),
                );
                return None;
            };
            cql = found;
        }
        let items = match &cql.raw {
            Raw::List(items) if !items.is_empty() => items.as_slice(),
            _ => std::slice::from_ref(cql),
        };
        let mut parts = Vec::new();
        for item in items {
            self.text_of(item, "cql")?;
            match statement::read(item, context) {
                Ok(read) => parts.push(read),
                Err(mistakes) => {
                    for mistake in mistakes {
                        self.out.add(&mistake.place, mistake.message, mistake.hint);
                    }
                }
            }
        }
        if parts.len() < items.len() {
            return None;
        }
        let named = NamedStatement {
            name: entry.key.clone(),
            place: entry.place.clone(),
            parts,
            options,
        };
        self.check_statement(&named, context.tables);
        Some(named)
    }
}

/// Returns true if a statement creates an object that belongs to the keyspace of the workload.
/// Other objects, such as roles and functions, would remain after cassay drops the keyspace. An
/// untrusted workload must not create them.
fn makes_tables(tokens: &[schema::Token]) -> bool {
    let words: Vec<&str> = tokens.iter().take(3).map(|t| t.text.as_str()).collect();
    match words.as_slice() {
        ["create", "custom", noun, ..] => *noun == "index",
        ["create", "materialized", noun, ..] => *noun == "view",
        ["create", noun, ..] => ["table", "columnfamily", "type", "index"].contains(noun),
        _ => false,
    }
}

/// Adds IF NOT EXISTS to the statement, so that a second run accepts the objects that the first run
/// created.
fn if_not_exists(cql: &str) -> String {
    let tokens = schema::tokens(cql).unwrap_or_default();
    let is_noun = |text: &str| ["table", "columnfamily", "type", "index", "view"].contains(&text);
    let mut first = tokens.iter().take(4);
    let noun = first.position(|token| token.kind == TokenKind::Word && is_noun(&token.text));
    let Some((noun, next)) = noun.and_then(|at| Some((tokens.get(at)?, tokens.get(at + 1)?)))
    else {
        return cql.to_owned();
    };
    if next.kind == TokenKind::Word && next.text == "if" {
        return cql.to_owned();
    }
    let end = noun.at + noun.text.len();
    format!("{} IF NOT EXISTS{}", &cql[..end], &cql[end..])
}

/// Returns the seed of a value. The random draws of the value depend on its name, and not on its
/// position in the file.
fn seed_of(entry: &Entry, seed: u64) -> u64 {
    entry.key.bytes().fold(lane(seed, lanes::CONTENTS), |seed, byte| {
        lane(seed, u64::from(byte))
    })
}
