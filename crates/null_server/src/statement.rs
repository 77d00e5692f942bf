//! Parses CQL as far as necessary for a server that does not store data. It finds the kind of a
//! statement, its table, its bind markers, and the definition in a CREATE TABLE.
//!
//! The parser accepts more than Cassandra does. Unknown statements are [`Statement::Other`]. The
//! parser never panics and never recurses deeper than [`NESTING_MAX`](super::types::NESTING_MAX),
//! regardless of the text.

use super::definition::{CreateKeyspace, CreateTable, create_keyspace, create_table};
use super::tokens::{Token, TokenReader, tokenize};
use cql::CqlType;

/// Maximum number of characters of a select expression that are used in the name of its result.
const NAME_SHOWN_CHARS: usize = 64;

/// A table's name, with its keyspace if the text contains the keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableName {
    /// Name of the keyspace. `None` means the keyspace that the connection uses.
    pub keyspace: Option<String>,
    /// Name of the table as it is stored, which is in lower case unless it was quoted.
    pub table: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Select(Select),
    /// An INSERT, UPDATE or DELETE.
    Write(Write),
    Use(String),
    CreateKeyspace(CreateKeyspace),
    CreateTable(CreateTable),
    DropKeyspace {
        keyspace: String,
        if_exists: bool,
    },
    DropTable {
        table: TableName,
        if_exists: bool,
    },
    /// Another statement that the server only acknowledges: ALTER, CREATE INDEX, CREATE TYPE, DROP
    /// VIEW, TRUNCATE, GRANT, and so on.
    OtherSchema,
    /// Any other text, such as BEGIN BATCH or a text that is not CQL.
    Other {
        markers: Vec<Marker>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub table: TableName,
    /// Result columns. If the list is empty, the statement selects all columns.
    pub selectors: Vec<Selector>,
    /// Equality conditions of the WHERE clause.
    pub conditions: Vec<Condition>,
    pub markers: Vec<Marker>,
}

/// One item of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct Selector {
    /// Name of the result column.
    pub name: String,
    pub of: SelectorOf,
}

/// Source of a result column.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectorOf {
    Column(String),
    /// The number of rows, from `count(…)`.
    Count,
    /// A function or another expression that is not evaluated.
    Expression,
}

/// An equality condition, which is `column = operand` or `column IN (operands)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub column: String,
    /// Values. The column must equal one of them.
    pub operands: Vec<Operand>,
}

/// A value with which a column is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    Text(String),
    /// The value that is bound to the marker with this index.
    Marker(usize),
    /// The elements of the list that is bound to the marker with this index.
    MarkerList(usize),
}

/// An INSERT, UPDATE or DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    pub table: TableName,
    /// True if the statement has an IF clause, so that its answer has rows.
    pub conditional: bool,
    pub markers: Vec<Marker>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Name of the value. It is the name of the marker, or the name of the column if the marker has
    /// no name.
    pub name: String,
    /// Source of the value's type.
    pub stands_for: MarkerType,
    /// The column that the value sets or must equal. If this is a column of the partition key, the
    /// value is a part of the partition key.
    pub key_column: Option<String>,
}

/// Source of a marker's type.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkerType {
    /// A column's value.
    Column(String),
    /// The marker is a list of values of this column.
    ListOf(String),
    /// The marker has this type, which does not depend on the table.
    Type(CqlType),
    /// The type is unknown, because the statement cannot be interpreted.
    Unknown,
}

/// Parses the text of a statement. Returns `None` if [`tokenize`] cannot split the text into
/// tokens.
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

/// Parses a table's name, with its keyspace if the text contains one. Returns `None` if the next
/// token is not a name.
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
                stands_for: MarkerType::Type(CqlType::Text),
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
        super::markers::add_inserted_values(&columns, values, &mut markers);
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

/// Parses one item of a select list. Returns `None` for `*` or an empty item.
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

/// Returns the equality conditions after a table's name. `all` contains the tokens after SELECT,
/// and `rest` contains those after the first `before` tokens.
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

/// Returns the operands up to the closing parenthesis. The list is empty if an operand is neither a
/// text nor a marker, because the condition is then unknown.
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

/// Skips `IF NOT EXISTS`. Returns true if it was present.
pub fn skip_if_not_exists(cursor: &mut TokenReader) -> bool {
    cursor.skip_keyword("if") && cursor.skip_keyword("not") && cursor.skip_keyword("exists")
}
