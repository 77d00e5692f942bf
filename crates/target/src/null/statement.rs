//! As much of CQL's grammar as a server needs that stores nothing: what kind of statement a text
//! is, which table it names, what its bind markers stand for, and the definition in a CREATE TABLE.
//!
//! It accepts more than Cassandra does, and what it does not know is [`Statement::Other`]. It
//! never panics and never recurses deeper than [`NESTING_MAX`], whatever the text.

use super::tokens::{Cursor, Token, tokenize};
use cql::CqlType;

/// Types may be nested this deep; Cassandra's own tables stay below 5.
pub const NESTING_MAX: usize = 32;

/// Of an expression in a select list, this much becomes the name of its result.
const NAME_SHOWN_CHARS: usize = 64;

/// A table's name, with its keyspace where the text gives one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableName {
    /// None: the keyspace that the connection uses.
    pub keyspace: Option<String>,
    /// The name as stored: lower case unless it was quoted.
    pub table: String,
}

/// What a statement asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Reads rows.
    Select(Select),
    /// INSERT, UPDATE or DELETE.
    Write(Write),
    /// `USE keyspace`.
    Use(String),
    /// `CREATE KEYSPACE`.
    CreateKeyspace(CreateKeyspace),
    /// `CREATE TABLE`.
    CreateTable(CreateTable),
    /// `DROP KEYSPACE`.
    DropKeyspace {
        /// Its name.
        keyspace: String,
        /// Whether it may be missing.
        if_exists: bool,
    },
    /// `DROP TABLE`.
    DropTable {
        /// Its name.
        table: TableName,
        /// Whether it may be missing.
        if_exists: bool,
    },
    /// Another change of a schema that needs no more than an acknowledgement: ALTER, CREATE INDEX,
    /// CREATE TYPE, DROP VIEW, TRUNCATE, GRANT, ….
    OtherSchema,
    /// Anything else: BEGIN BATCH, or no CQL at all.
    Other {
        /// Its bind markers, in order.
        markers: Vec<Marker>,
    },
}

/// A SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Where it reads from.
    pub table: TableName,
    /// What it returns; empty: all columns.
    pub selectors: Vec<Selector>,
    /// What its WHERE clause demands of columns, as far as it is equality.
    pub conditions: Vec<Condition>,
    /// Its bind markers, in order.
    pub markers: Vec<Marker>,
}

/// One item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    /// The name of the result column.
    pub name: String,
    /// What it is computed from.
    pub of: SelectorOf,
}

/// What a result column is computed from.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectorOf {
    /// A column.
    Column(String),
    /// The number of rows.
    Count,
    /// A function or something else that is not looked into.
    Expression,
}

/// `column = operand` or `column IN (operands)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The column.
    pub column: String,
    /// What its value must be one of.
    pub operands: Vec<Operand>,
}

/// What a column is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A text literal.
    Text(String),
    /// The value bound to this marker.
    Marker(usize),
    /// The elements of the list bound to this marker.
    MarkerList(usize),
}

/// An INSERT, UPDATE or DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Where it writes.
    pub table: TableName,
    /// Whether it has an IF clause, so that its answer has rows.
    pub conditional: bool,
    /// Its bind markers, in order.
    pub markers: Vec<Marker>,
}

/// A bind marker.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// The name of the value: the marker's own, else the column's.
    pub name: String,
    /// What decides its type.
    pub stands_for: StandsFor,
    /// The column whose value it sets or that it is equal to: what a partition key is made of.
    pub key_column: Option<String>,
}

/// What decides a marker's type.
#[derive(Clone, Debug, PartialEq)]
pub enum StandsFor {
    /// A column's value.
    Column(String),
    /// A list of values of a column.
    ListOf(String),
    /// A type that does not depend on the table.
    Type(CqlType),
    /// Unknown.
    Unknown,
}

/// A CREATE KEYSPACE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateKeyspace {
    /// Its name.
    pub keyspace: String,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// The replication map as written.
    pub replication: Vec<(String, String)>,
    /// Whether writes go to the commit log.
    pub durable_writes: bool,
}

/// A CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub table: TableName,
    /// Whether it may be there already.
    pub if_not_exists: bool,
    /// Its columns as written.
    pub columns: Vec<ColumnDefinition>,
    /// Names of the partition key's columns.
    pub partition_key: Vec<String>,
    /// Names of the clustering columns.
    pub clustering: Vec<String>,
    /// Which of these are in descending order.
    pub descending: Vec<String>,
}

/// A column in a CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: String,
    /// Its type as written.
    pub type_text: String,
    /// Its type; a user-defined type counts as a blob.
    pub typ: CqlType,
    /// Whether a partition has only one of it.
    pub is_static: bool,
}

/// Reads `text`. None: it is too long, or quotes are left open.
pub fn parse(text: &str) -> Option<Statement> {
    let tokens = tokenize(text)?;
    let mut cursor = Cursor::new(&tokens);
    let statement = match cursor.next_keyword().unwrap_or("") {
        "select" => select(&mut cursor).map(Statement::Select),
        "insert" => insert(&mut cursor).map(Statement::Write),
        "update" => table_name(&mut cursor).map(|table| write(table, &tokens)),
        "delete" => delete(&mut cursor).map(|table| write(table, &tokens)),
        "use" => cursor.next_name().map(Statement::Use),
        "create" => Some(create(&mut cursor)),
        "drop" => Some(drop(&mut cursor)),
        "alter" | "truncate" | "grant" | "revoke" => Some(Statement::OtherSchema),
        _ => None,
    };
    Some(statement.unwrap_or_else(|| Statement::Other {
        markers: super::markers::markers(&tokens),
    }))
}

fn table_name(cursor: &mut Cursor) -> Option<TableName> {
    let first = cursor.next_name()?;
    if cursor.skip_symbol('.') {
        let table = cursor.next_name()?;
        Some(TableName {
            keyspace: Some(first),
            table,
        })
    } else {
        Some(TableName {
            keyspace: None,
            table: first,
        })
    }
}

fn write(table: TableName, tokens: &[Token]) -> Statement {
    Statement::Write(Write {
        table,
        conditional: tokens.iter().any(|token| token.is_keyword("if")),
        markers: super::markers::markers(tokens),
    })
}

fn insert(cursor: &mut Cursor) -> Option<Write> {
    cursor.skip_keyword("into");
    let table = table_name(cursor)?;
    let mut markers = Vec::new();
    if cursor.skip_keyword("json") {
        markers.extend(
            cursor
                .rest()
                .iter()
                .filter_map(Token::as_marker)
                .map(|name| Marker {
                    name: name.unwrap_or("[json]").to_owned(),
                    stands_for: StandsFor::Type(CqlType::Text),
                    key_column: None,
                }),
        );
    } else {
        let columns: Vec<String> = cursor
            .parenthesised()?
            .iter()
            .filter_map(Token::as_name)
            .map(str::to_owned)
            .collect();
        cursor.skip_keyword("values");
        let values = cursor.parenthesised()?;
        super::markers::of_inserted_values(&columns, values, &mut markers);
        markers.extend(super::markers::markers(cursor.rest()));
    }
    let conditional = cursor.rest().iter().any(|token| token.is_keyword("if"));
    Some(Write {
        table,
        conditional,
        markers,
    })
}

fn delete(cursor: &mut Cursor) -> Option<TableName> {
    cursor.skip_past_keyword("from");
    table_name(cursor)
}

fn select(cursor: &mut Cursor) -> Option<Select> {
    let all = cursor.rest();
    if !cursor.skip_keyword("distinct") {
        cursor.skip_keyword("json");
    }
    let list_start = cursor.rest();
    cursor.skip_past_keyword("from");
    let list = &list_start[..list_start.len() - cursor.rest().len()];
    let list = list.strip_suffix(&[Token::keyword("from")]).unwrap_or(list);
    let table = table_name(cursor)?;
    let selectors = super::tokens::split_at_commas(list)
        .filter_map(selector)
        .collect();
    let conditions = conditions(cursor.rest(), all.len() - cursor.rest().len(), all);
    Some(Select {
        table,
        selectors,
        conditions,
        markers: super::markers::markers(all),
    })
}

/// One item of a select list; None for `*`.
fn selector(item: &[Token]) -> Option<Selector> {
    let (of, alias) = match item {
        [of @ .., as_, alias] if as_.is_keyword("as") => (of, alias.as_name()),
        _ => (item, None),
    };
    let (name, kind) = match of {
        [] | [Token::Symbol('*')] => return None,
        [name] => {
            let name = name.as_name().unwrap_or("[literal]");
            (name.to_owned(), SelectorOf::Column(name.to_owned()))
        }
        [function, Token::Symbol('('), _, Token::Symbol(')')] if function.is_keyword("count") => {
            ("count".to_owned(), SelectorOf::Count)
        }
        _ => {
            let text: String = of.iter().map(Token::text).collect();
            (
                text.chars().take(NAME_SHOWN_CHARS).collect(),
                SelectorOf::Expression,
            )
        }
    };
    Some(Selector {
        name: alias.map_or(name, str::to_owned),
        of: kind,
    })
}

/// The equalities in what follows a table's name. `before` tokens of `all` come before `rest`.
fn conditions(rest: &[Token], before: usize, all: &[Token]) -> Vec<Condition> {
    let mut marker = all[..before]
        .iter()
        .filter(|token| token.as_marker().is_some())
        .count();
    let mut found = Vec::new();
    for (index, token) in rest.iter().enumerate() {
        let operand = |token: &Token| match token {
            Token::Text(text) => Some(Operand::Text(text.clone())),
            Token::Marker(_) => Some(Operand::Marker(marker)),
            _ => None,
        };
        if let Some(column) = token.as_name() {
            let operands = match &rest[index + 1..] {
                [Token::Symbol('='), value, ..] => operand(value).into_iter().collect(),
                [in_, Token::Marker(_), ..] if in_.is_keyword("in") => {
                    vec![Operand::MarkerList(marker)]
                }
                [in_, Token::Symbol('('), list @ ..] if in_.is_keyword("in") => {
                    in_list(list, marker)
                }
                _ => Vec::new(),
            };
            if !operands.is_empty() {
                found.push(Condition {
                    column: column.to_owned(),
                    operands,
                });
            }
        }
        marker += usize::from(token.as_marker().is_some());
    }
    found
}

/// The operands up to the closing parenthesis; none at all when one of them is neither a text nor
/// a marker, since then nothing is known of what is demanded.
fn in_list(list: &[Token], first_marker: usize) -> Vec<Operand> {
    let mut operands = Vec::new();
    let mut marker = first_marker;
    for token in list {
        match token {
            Token::Text(text) => operands.push(Operand::Text(text.clone())),
            Token::Marker(_) => {
                operands.push(Operand::Marker(marker));
                marker += 1;
            }
            Token::Symbol(',') => {}
            Token::Symbol(')') => return operands,
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

fn create(cursor: &mut Cursor) -> Statement {
    let parsed = match cursor.next_keyword().unwrap_or("") {
        "keyspace" | "schema" => create_keyspace(cursor).map(Statement::CreateKeyspace),
        "table" | "columnfamily" => create_table(cursor).map(Statement::CreateTable),
        _ => None,
    };
    parsed.unwrap_or(Statement::OtherSchema)
}

fn drop(cursor: &mut Cursor) -> Statement {
    let what = cursor.next_keyword().unwrap_or("").to_owned();
    let if_exists = cursor.skip_keyword("if") && cursor.skip_keyword("exists");
    let parsed = match what.as_str() {
        "keyspace" | "schema" => cursor.next_name().map(|keyspace| Statement::DropKeyspace {
            keyspace,
            if_exists,
        }),
        "table" | "columnfamily" => {
            table_name(cursor).map(|table| Statement::DropTable { table, if_exists })
        }
        _ => None,
    };
    parsed.unwrap_or(Statement::OtherSchema)
}

fn skip_if_not_exists(cursor: &mut Cursor) -> bool {
    cursor.skip_keyword("if") && cursor.skip_keyword("not") && cursor.skip_keyword("exists")
}

fn create_keyspace(cursor: &mut Cursor) -> Option<CreateKeyspace> {
    let if_not_exists = skip_if_not_exists(cursor);
    let keyspace = cursor.next_name()?;
    let mut replication = Vec::new();
    let mut durable_writes = true;
    let rest = cursor.rest();
    for (index, token) in rest.iter().enumerate() {
        match &rest[index + 1..] {
            [Token::Symbol('='), Token::Symbol('{'), map @ ..]
                if token.is_keyword("replication") =>
            {
                replication = map_literal(map);
            }
            [Token::Symbol('='), value, ..] if token.is_keyword("durable_writes") => {
                durable_writes = !value.is_keyword("false");
            }
            _ => {}
        }
    }
    Some(CreateKeyspace {
        keyspace,
        if_not_exists,
        replication,
        durable_writes,
    })
}

/// The pairs `'key': value` up to the closing brace.
fn map_literal(tokens: &[Token]) -> Vec<(String, String)> {
    let inside = tokens.split(|token| *token == Token::Symbol('}')).next();
    super::tokens::split_at_commas(inside.unwrap_or(&[]))
        .filter_map(|pair| match pair {
            [key, Token::Symbol(':'), value] => Some((key.text(), value.text())),
            _ => None,
        })
        .collect()
}

fn create_table(cursor: &mut Cursor) -> Option<CreateTable> {
    let if_not_exists = skip_if_not_exists(cursor);
    let table = table_name(cursor)?;
    let mut create = CreateTable {
        table,
        if_not_exists,
        columns: Vec::new(),
        partition_key: Vec::new(),
        clustering: Vec::new(),
        descending: Vec::new(),
    };
    for item in super::tokens::split_at_commas(cursor.parenthesised()?) {
        let mut item = Cursor::new(item);
        if item.skip_keywords(&["primary", "key"]) {
            primary_key(&mut item, &mut create)?;
        } else {
            column_definition(&mut item, &mut create)?;
        }
    }
    create.descending = descending(cursor.rest());
    Some(create)
}

fn primary_key(item: &mut Cursor, create: &mut CreateTable) -> Option<()> {
    for (index, part) in super::tokens::split_at_commas(item.parenthesised()?).enumerate() {
        let names = part.iter().filter_map(Token::as_name).map(str::to_owned);
        if index == 0 {
            create.partition_key.extend(names);
        } else {
            create.clustering.extend(names);
        }
    }
    Some(())
}

fn column_definition(item: &mut Cursor, create: &mut CreateTable) -> Option<()> {
    let name = item.next_name()?;
    let before = item.rest();
    let typ = column_type(item, 0)?;
    let type_tokens = &before[..before.len() - item.rest().len()];
    let type_text = type_tokens
        .iter()
        .map(|token| match token {
            Token::Symbol(',') => ", ".to_owned(),
            token => token.text(),
        })
        .collect();
    let is_static = item.skip_keyword("static");
    if item.skip_keywords(&["primary", "key"]) {
        create.partition_key.push(name.clone());
    }
    create.columns.push(ColumnDefinition {
        name,
        type_text,
        typ,
        is_static,
    });
    Some(())
}

/// The names marked DESC in `CLUSTERING ORDER BY (…)`.
fn descending(options: &[Token]) -> Vec<String> {
    options
        .windows(2)
        .filter(|pair| pair[1].is_keyword("desc"))
        .filter_map(|pair| pair[0].as_name().map(str::to_owned))
        .collect()
}

/// Reads a type as it stands in a schema: `map<text, frozen<list<int>>>`. None: it is none.
pub fn parse_type(text: &str) -> Option<CqlType> {
    column_type(&mut Cursor::new(&tokenize(text)?), 0)
}

fn column_type(cursor: &mut Cursor, depth: usize) -> Option<CqlType> {
    if depth > NESTING_MAX {
        return None;
    }
    let name = cursor.next_name_or_text()?;
    let mut inner = Vec::new();
    let mut dimensions = 0;
    if cursor.skip_symbol('<') {
        while !cursor.skip_symbol('>') {
            if name == "vector" && !inner.is_empty() {
                dimensions = cursor.next_number()?.parse().ok()?;
            } else {
                inner.push(column_type(cursor, depth + 1)?);
            }
            cursor.skip_symbol(',');
        }
    }
    composed_type(&name, inner, dimensions)
}

/// The type `name<inner, …>`; a name that is none of Cassandra's own is a user-defined type.
fn composed_type(name: &str, mut inner: Vec<CqlType>, dimensions: u32) -> Option<CqlType> {
    let last = inner.pop().map(Box::new);
    Some(match (name, last) {
        ("frozen", Some(of)) => *of,
        ("list", Some(of)) => CqlType::List(of),
        ("set", Some(of)) => CqlType::Set(of),
        ("map", Some(of)) => CqlType::Map(Box::new(inner.pop()?), of),
        ("vector", Some(of)) => CqlType::Vector(of, dimensions),
        ("tuple", Some(of)) => {
            inner.push(*of);
            CqlType::Tuple(inner)
        }
        (_, Some(_)) => return None,
        ("ascii", None) => CqlType::Ascii,
        ("bigint", None) => CqlType::Bigint,
        ("boolean", None) => CqlType::Boolean,
        ("counter", None) => CqlType::Counter,
        ("decimal", None) => CqlType::Decimal,
        ("double", None) => CqlType::Double,
        ("float", None) => CqlType::Float,
        ("int", None) => CqlType::Int,
        ("timestamp", None) => CqlType::Timestamp,
        ("uuid", None) => CqlType::Uuid,
        ("text" | "varchar", None) => CqlType::Text,
        ("varint", None) => CqlType::Varint,
        ("timeuuid", None) => CqlType::Timeuuid,
        ("inet", None) => CqlType::Inet,
        ("date", None) => CqlType::Date,
        ("time", None) => CqlType::Time,
        ("smallint", None) => CqlType::Smallint,
        ("tinyint", None) => CqlType::Tinyint,
        ("duration", None) => CqlType::Duration,
        (_, None) => CqlType::Blob,
    })
}
