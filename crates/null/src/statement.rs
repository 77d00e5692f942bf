//! As much of CQL's grammar as a server needs that stores nothing: what kind of statement a text
//! is, which table it names, what its bind markers stand for, and the definition in a CREATE TABLE.
//!
//! It accepts more than Cassandra does, and what it does not know is [`Statement::Other`]. It
//! never panics and never recurses deeper than [`NESTING_MAX`](super::types::NESTING_MAX),
//! whatever the text.

use super::definition::{CreateKeyspace, CreateTable, create_keyspace, create_table};
use super::tokens::{Token, TokenReader, tokenize};
use cql::CqlType;

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
    /// A statement that is not understood.
    Unknown,
}

/// Reads `text`. None: it is too long, or quotes are left open.
pub fn parse(text: &str) -> Option<Statement> {
    let tokens = tokenize(text)?;
    let mut cursor = TokenReader::new(&tokens);
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

/// Reads a table's name, with its keyspace if there is one.
pub fn table_name(cursor: &mut TokenReader) -> Option<TableName> {
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

fn insert(cursor: &mut TokenReader) -> Option<Write> {
    cursor.skip_keyword("into");
    let table = table_name(cursor)?;
    let mut markers = Vec::new();
    if cursor.skip_keyword("json") {
        markers.extend(
            cursor.rest().iter().filter_map(Token::as_marker).map(|name| Marker {
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

fn delete(cursor: &mut TokenReader) -> Option<TableName> {
    cursor.skip_past_keyword("from");
    table_name(cursor)
}

fn select(cursor: &mut TokenReader) -> Option<Select> {
    let all = cursor.rest();
    if !cursor.skip_keyword("distinct") {
        cursor.skip_keyword("json");
    }
    let list_start = cursor.rest();
    cursor.skip_past_keyword("from");
    let list = &list_start[..list_start.len() - cursor.rest().len()];
    let list = list.strip_suffix(&[Token::keyword("from")]).unwrap_or(list);
    let table = table_name(cursor)?;
    let selectors = super::tokens::split_at_commas(list).filter_map(selector).collect();
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
    let mut marker = all[..before].iter().filter(|token| token.as_marker().is_some()).count();
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

fn create(cursor: &mut TokenReader) -> Statement {
    let parsed = match cursor.next_keyword().unwrap_or("") {
        "keyspace" | "schema" => create_keyspace(cursor).map(Statement::CreateKeyspace),
        "table" | "columnfamily" => create_table(cursor).map(Statement::CreateTable),
        _ => None,
    };
    parsed.unwrap_or(Statement::OtherSchema)
}

fn drop(cursor: &mut TokenReader) -> Statement {
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

/// Passes over `IF NOT EXISTS`; whether it was there.
pub fn skip_if_not_exists(cursor: &mut TokenReader) -> bool {
    cursor.skip_keyword("if") && cursor.skip_keyword("not") && cursor.skip_keyword("exists")
}
