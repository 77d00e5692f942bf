//! Parses one CQL statement of a workload file. The markers of the statement become generators. The
//! text determines the kind of statement and its table.

use std::collections::BTreeMap;

use super::compiled_program::{Bound, Per};
use super::grammar;
use super::named_value::Value;
use super::resolve::Numbers;
use super::server_refusal::strange_keyspace;
use super::value_generators::Gen;
use super::word_position::place_in;
use crate::random::lane;
use crate::schema::{self, Marker, Table, Token, TokenKind};
use cql::value::CqlType;
use yaml::{Node, Place};

pub(super) struct Context<'a> {
    pub(super) tables: &'a [Table],
    /// True if the schema has mistakes. A table may then be missing because of such a mistake.
    pub(super) is_incomplete: bool,
    pub(super) values: &'a BTreeMap<String, Value>,
    /// The `values` section of the file. It includes values with mistakes. `None` if the file has
    /// no such section.
    pub(super) written: Option<&'a Node>,
    /// True if the `values` section is present under a misspelt name.
    pub(super) has_lost_values: bool,
    pub(super) keyspace: &'a str,
    pub(super) rows: Numbers<'a>,
    pub(super) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Insert,
    Update,
    Delete,
}

/// A marker, with the column to which it belongs.
#[derive(Clone, Debug)]
pub(super) struct Bind {
    pub(super) value: String,
    pub(super) column: Option<String>,
    /// True if the statement writes the marker to the column, or if the WHERE clause compares the
    /// column with the marker by `=`.
    pub(super) is_equal: bool,
    pub(super) typ: CqlType,
    pub(super) place: Place,
}

/// A parsed statement.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// Text of the statement, with `?` for each marker and with the keyspace before the table.
    pub(super) cql: String,
    pub(super) place: Place,
    pub(super) verb: Verb,
    pub(super) table: usize,
    pub(super) binds: Vec<Bind>,
    pub(super) bound: Vec<Bound>,
    /// Indexes of the markers of the partition key, as in [`super::compiled_program::Part::key`].
    pub(super) key: Vec<usize>,
    pub(super) conditional: bool,
    pub(super) idempotent: bool,
    pub(super) expires: bool,
    /// Columns that the statement writes, from markers or constants.
    pub(super) writes: Vec<String>,
    /// Column names between SELECT and FROM. `None` if this part contains anything other than
    /// names.
    pub(super) selected: Option<Vec<String>>,
}

impl Read {
    /// Returns true if the statement reads a partition whose key comes from a CSV. A user who
    /// provides a CSV states that its partitions exist.
    pub(super) fn is_by_csv(&self) -> bool {
        let is_cell = |&at: &usize| matches!(self.bound[at].generate, Gen::Cell(_));
        self.verb == Verb::Select && !self.key.is_empty() && self.key.iter().all(is_cell)
    }
}

/// A mistake in a statement, at an offset of the statement's text.
pub(super) struct Mistake {
    pub(super) place: Place,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

pub(super) fn read(node: &Node, context: &Context) -> Result<Read, Vec<Mistake>> {
    let text = node.text().unwrap_or_default();
    let mistake = |at: usize, message: String, hint: Option<String>| {
        vec![Mistake {
            place: place_in(context.text, node, at),
            message,
            hint,
        }]
    };
    let tokens = schema::tokens(text).map_err(|fault| mistake(fault.at, fault.message, None))?;
    let (names, plain) = markers_out(text, &tokens).map_err(|(at, message)| {
        let hint = "write :name, and define a value with that name".to_owned();
        mistake(at, message, Some(hint))
    })?;
    let (verb, table_name, table_at) = verb_and_table(&tokens, context.keyspace)
        .map_err(|(at, message, hint)| mistake(at, message, hint))?;
    let table = table_of(&table_name, context).map_err(|wrong| match wrong {
        // The compiler has already reported the mistakes in the schema. One of them may explain the
        // missing table.
        None => Vec::new(),
        Some((message, hint)) => mistake(table_at, message, hint),
    })?;
    if let Some(message) = counts_differ(&tokens) {
        return Err(mistake(table_at, message, None));
    }
    grammar::check(&tokens, verb, &context.tables[table]).map_err(|faults| {
        let one = |(at, message, hint)| mistake(at, message, hint);
        faults.into_iter().flat_map(one).collect::<Vec<_>>()
    })?;
    let markers = schema::markers(&plain).map_err(|fault| mistake(0, fault.message, None))?;
    if markers.len() != names.len() {
        let message = format!(
            "this statement has {} markers, but at most {} are possible",
            names.len(),
            markers.len()
        );
        let hint = "bind the complete map or user-defined type: m = :m".to_owned();
        return Err(mistake(0, message, Some(hint)));
    }
    let plain_tokens = schema::tokens(&plain).unwrap_or_default();
    let mut binder = Binder {
        node,
        context,
        table: &context.tables[table],
        binds: Vec::new(),
        bound: Vec::new(),
        mistakes: Vec::new(),
    };
    binder.bind_all(&names, &markers, &plain_tokens, verb);
    if !binder.mistakes.is_empty() {
        return Err(binder.mistakes);
    }
    let (binds, bound) = (binder.binds, binder.bound);
    let cql = schema::qualify(&plain, context.keyspace)
        .map_err(|fault| mistake(0, fault.message, None))?;
    Ok(Read {
        cql: cql.trim().to_owned(),
        place: node.place.clone(),
        verb,
        table,
        key: key(&context.tables[table], &binds),
        binds,
        bound,
        conditional: verb != Verb::Select && has(&tokens, "if"),
        idempotent: is_idempotent(&tokens, verb, &context.tables[table]),
        expires: has(&tokens, "ttl"),
        writes: writes(&plain_tokens, verb),
        selected: selected(&tokens),
    })
}

/// Returns a message if an INSERT has different numbers of values and columns.
fn counts_differ(tokens: &[Token]) -> Option<String> {
    let (columns, values) = schema::insert_counts(tokens).filter(|(c, v)| c != v)?;
    Some(format!(
        "this statement has {columns} columns, but {values} values"
    ))
}

/// Returns the index of a table, or an error message. The error is `None` if a mistake in the
/// schema may be the reason for the missing table.
fn table_of(name: &str, context: &Context) -> Result<usize, Option<(String, Option<String>)>> {
    let found = context.tables.iter().position(|table| table.name == name);
    found.ok_or_else(|| {
        let known = context.tables.iter().map(|table| table.name.as_str());
        let message = format!("no table `{name}` in the schema");
        (!context.is_incomplete).then(|| (message, yaml::did_you_mean(name, known)))
    })
}

fn is(token: &Token, symbol: &str) -> bool {
    token.kind == TokenKind::Symbol && token.text == symbol
}

fn is_word(token: &Token, word: &str) -> bool {
    token.kind == TokenKind::Word && token.text == word
}

fn has(tokens: &[Token], word: &str) -> bool {
    tokens.iter().any(|token| is_word(token, word))
}

type Names = Vec<(String, usize)>;

/// Returns the names of the markers, and the text with `?` in place of each marker.
fn markers_out(text: &str, tokens: &[Token]) -> Result<(Names, String), (usize, String)> {
    let (mut names, mut plain, mut copied) = (Vec::new(), String::new(), 0);
    for (index, token) in tokens.iter().enumerate() {
        if is(token, "?") {
            return Err((token.at, "this marker has no name".to_owned()));
        }
        let Some(next) = tokens.get(index + 1) else {
            break;
        };
        if is(token, ":") && next.kind == TokenKind::Word && next.at == token.at + 1 {
            let end = next.at + next.text.len();
            names.push((text[next.at..end].to_owned(), token.at));
            plain += &text[copied..token.at];
            plain.push('?');
            copied = end;
        }
    }
    plain += &text[copied..];
    Ok((names, plain))
}

type TableFault = (usize, String, Option<String>);

/// Returns the kind of statement, and the name and offset of its table.
fn verb_and_table(tokens: &[Token], keyspace: &str) -> Result<(Verb, String, usize), TableFault> {
    let first = tokens.first().map_or("", |token| token.text.as_str());
    let (verb, before) = match first {
        "select" => (Verb::Select, "from"),
        "insert" => (Verb::Insert, "into"),
        "update" => (Verb::Update, "update"),
        "delete" => (Verb::Delete, "from"),
        _ => {
            let message = format!("`{first}` is not SELECT, INSERT, UPDATE or DELETE");
            let hint = match first {
                "begin" => Some("cassay sends a list of statements under `cql` as a batch"),
                "create" => Some("statements that create tables belong in `schema`"),
                _ => None,
            };
            return Err((0, message, hint.map(str::to_owned)));
        }
    };
    if let Some(end) = tokens.iter().position(|token| is(token, ";"))
        && end + 1 < tokens.len()
    {
        let message = "a second statement begins here".to_owned();
        let hint = "cassay sends a list of statements under `cql` as a batch".to_owned();
        return Err((tokens[end + 1].at, message, Some(hint)));
    }
    if let Some((at, message, hint)) = strange_keyspace(tokens, keyspace) {
        return Err((at, message, Some(hint)));
    }
    let place = tokens.iter().position(|token| is_word(token, before));
    let place = place.map(|place| match tokens.get(place + 2) {
        Some(dot) if is(dot, ".") => place + 3,
        _ => place + 1,
    });
    match place.and_then(|place| tokens.get(place)) {
        Some(name) if matches!(name.kind, TokenKind::Word | TokenKind::Quoted) => {
            Ok((verb, name.text.clone(), name.at))
        }
        _ => {
            let before = before.to_uppercase();
            let message = match place {
                Some(_) => format!("no table name follows {before}"),
                None => format!("{before}, which precedes the table name, is missing"),
            };
            Err((0, message, None))
        }
    }
}

/// Returns the indexes of the markers of the partition key, in key order. The list is empty unless
/// every column of the partition key has a marker.
fn key(table: &Table, binds: &[Bind]) -> Vec<usize> {
    let columns = table.partition_key.iter();
    let found: Option<Vec<usize>> = columns
        .map(|&column| {
            let name = &table.columns[column].name;
            binds
                .iter()
                .position(|bind| bind.is_equal && bind.column.as_ref() == Some(name))
        })
        .collect();
    found.unwrap_or_default()
}

/// Returns true if the text shows that executing the statement twice has the same effect as
/// executing it once.
fn is_idempotent(tokens: &[Token], verb: Verb, table: &Table) -> bool {
    if verb == Verb::Select {
        return true;
    }
    let is_counter = table.columns.iter().any(|column| column.typ == CqlType::Counter);
    let calls = tokens
        .windows(2)
        .any(|pair| (is_word(&pair[0], "now") || is_word(&pair[0], "uuid")) && is(&pair[1], "("));
    // An addition is not idempotent. For example, `l = l + ?` appends twice if it is executed
    // twice.
    let adds = verb == Verb::Update && tokens.iter().any(|token| is(token, "+") || is(token, "-"));
    !(has(tokens, "if") || calls || adds || is_counter && verb == Verb::Update)
}

/// Returns the columns that an INSERT lists or an UPDATE sets.
fn writes(tokens: &[Token], verb: Verb) -> Vec<String> {
    let is_name = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
    let names = |tokens: &[Token]| -> Vec<String> {
        tokens.iter().filter(is_name).map(|token| token.text.clone()).collect()
    };
    let between = |open: &dyn Fn(&Token) -> bool, close: &dyn Fn(&Token) -> bool| {
        let start = tokens.iter().position(open).map_or(tokens.len(), |at| at + 1);
        let end = tokens[start..].iter().position(close);
        start..end.map_or(tokens.len(), |end| start + end)
    };
    match verb {
        Verb::Insert => names(&tokens[between(&|t| is(t, "("), &|t| is(t, ")"))]),
        // The list may contain too many names, but never too few. For example, `a = a + ?` names a
        // column twice. Constants are not included, because they are not names.
        Verb::Update => names(&tokens[between(&|t| is_word(t, "set"), &|t| is_word(t, "where"))]),
        Verb::Select | Verb::Delete => Vec::new(),
    }
}

fn selected(tokens: &[Token]) -> Option<Vec<String>> {
    let from = tokens.iter().position(|token| is_word(token, "from"))?;
    let items = tokens[1..from].split(|token| is(token, ","));
    items
        .map(|item| match item {
            [name] if matches!(name.kind, TokenKind::Word | TokenKind::Quoted) => {
                Some(name.text.clone())
            }
            _ => None,
        })
        .collect()
}

struct Binder<'a> {
    node: &'a Node,
    context: &'a Context<'a>,
    table: &'a Table,
    binds: Vec<Bind>,
    bound: Vec<Bound>,
    mistakes: Vec<Mistake>,
}

impl Binder<'_> {
    /// Binds every marker. The tokens before a marker determine its column.
    fn bind_all(
        &mut self,
        names: &[(String, usize)],
        markers: &[Marker],
        tokens: &[Token],
        verb: Verb,
    ) {
        let places =
            tokens.iter().enumerate().filter(|(_, token)| is(token, "?")).map(|(at, _)| at);
        for ((name, marker), at) in names.iter().zip(markers).zip(places) {
            self.bind(name, marker, &tokens[..at], verb);
        }
    }

    fn wrong(&mut self, at: usize, message: String, hint: Option<String>) {
        self.mistakes.push(Mistake {
            place: place_in(self.context.text, self.node, at),
            message,
            hint,
        });
    }

    fn bind(&mut self, name: &(String, usize), marker: &Marker, before: &[Token], verb: Verb) {
        let (name, at) = (&name.0, name.1);
        let Some(value) = self.context.values.get(name) else {
            let written = self.context.written;
            if self.context.has_lost_values
                || written.is_some_and(|values| values.entry(name).is_some())
            {
                // The compiler has already reported the mistake in the named value.
                return;
            }
            let known = self.context.values.keys().map(String::as_str);
            let hint = yaml::did_you_mean(name, known);
            return self.wrong(at, format!("the marker :{name} has no value"), hint);
        };
        let Some(typ) = value.typ.clone().or_else(|| self.type_of(marker, before, at)) else {
            return;
        };
        let rows = match value.per {
            Per::Row => self.context.rows,
            Per::Operation => Numbers {
                last: None,
                ..self.context.rows
            },
        };
        match value.generator(&typ, rows) {
            Ok(generate) if generate.may_be_missing() && self.is_of_key(marker) => {
                let message = format!(
                    "the values of :{name} may be missing, but :{name} is bound to a column of the \
                     primary key, which always needs a value"
                );
                self.wrong(at, message, Some("remove `missing`".to_owned()));
            }
            Ok(generate) => {
                let column = match marker {
                    Marker::Column(column) => Some(column.clone()),
                    _ => None,
                };
                let place = place_in(self.context.text, self.node, at);
                let is_equal =
                    verb == Verb::Insert || before.last().is_some_and(|last| is(last, "="));
                let bind = Bind {
                    value: name.to_owned(),
                    column,
                    is_equal,
                    typ,
                    place,
                };
                self.add(bind, value, generate);
            }
            Err(wrong) => {
                let start = value.place.span.start + wrong.at;
                let message = match marker {
                    Marker::Column(column) => {
                        format!("{} (column {}.{column})", wrong.message, self.table.name)
                    }
                    _ => wrong.message,
                };
                self.mistakes.push(Mistake {
                    place: Place {
                        source: value.place.source,
                        span: start.min(value.place.span.end)..value.place.span.end,
                    },
                    message,
                    hint: wrong.hint,
                });
            }
        }
    }

    fn is_of_key(&self, marker: &Marker) -> bool {
        let Marker::Column(name) = marker else {
            return false;
        };
        self.table.column(name).is_some_and(|column| self.table.is_key(column))
    }

    fn add(&mut self, bind: Bind, value: &Value, generate: Gen) {
        let mut keys = self.table.partition_key.iter();
        let in_partition_key = bind.is_equal
            && keys.any(|&key| Some(&self.table.columns[key].name) == bind.column.as_ref());
        self.binds.push(bind);
        self.bound.push(Bound {
            generate,
            seed: lane(value.seed, 0),
            per: value.per,
            in_partition_key,
        });
    }

    /// Returns the type of a marker's values. Reports a mistake if the text does not determine the
    /// type.
    fn type_of(&mut self, marker: &Marker, before: &[Token], at: usize) -> Option<CqlType> {
        let name = match marker {
            Marker::Int => return Some(CqlType::Int),
            Marker::Timestamp | Marker::Token => return Some(CqlType::Bigint),
            Marker::Column(name) => name,
            Marker::Unknown => {
                let message = "the text does not determine the type of this marker".to_owned();
                let hint = "set the type at the value: {is: …, type: int}".to_owned();
                self.wrong(at, message, Some(hint));
                return None;
            }
        };
        let Some(column) = self.table.column(name) else {
            let known = self.table.columns.iter().map(|column| column.name.as_str());
            let hint = yaml::did_you_mean(name, known);
            let message = format!("the table {} has no column `{name}`", self.table.name);
            self.wrong(at, message, hint);
            return None;
        };
        let typ = self.table.columns[column].typ.clone();
        let word = before.last().filter(|token| token.kind == TokenKind::Word);
        match (word.map(|word| word.text.as_str()), typ) {
            (Some("in"), typ) => Some(CqlType::List(Box::new(typ))),
            (Some("contains"), CqlType::List(of) | CqlType::Set(of)) => Some(*of),
            (Some("contains"), CqlType::Map(_, of)) => Some(*of),
            (_, typ) => Some(typ),
        }
    }
}
