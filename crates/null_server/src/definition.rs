//! Parses CREATE KEYSPACE and CREATE TABLE, as far as a null server stores their content.

use super::statement::{TableName, skip_if_not_exists, table_name};
use super::tokens::{Token, TokenReader, split_at_commas};
use super::types::column_type;
use cql::CqlType;

#[derive(Clone, Debug, PartialEq)]
pub struct CreateKeyspace {
    pub keyspace: String,
    pub if_not_exists: bool,
    /// Replication map as the client wrote it, as pairs of a key and a value.
    pub replication: Vec<(String, String)>,
    /// True if writes go to the commit log.
    pub durable_writes: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    pub table: TableName,
    pub if_not_exists: bool,
    /// Columns of the table, in the order of the statement.
    pub columns: Vec<ColumnDefinition>,
    /// Names of the columns of the partition key, in the order of the key.
    pub partition_key: Vec<String>,
    /// Names of the clustering columns, in the order of the key.
    pub clustering: Vec<String>,
    /// Names of the clustering columns in descending order.
    pub descending: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    pub name: String,
    /// Type of the column, as written in the statement.
    pub type_text: String,
    /// Type of the column. A user-defined type is treated as a blob.
    pub typ: CqlType,
    /// True if the column has only one value per partition.
    pub is_static: bool,
}

/// Parses the text after `CREATE KEYSPACE`. Returns `None` if it does not contain a name.
pub fn create_keyspace(cursor: &mut TokenReader) -> Option<CreateKeyspace> {
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

/// Returns the pairs `'key': value` up to the closing brace.
fn map_literal(tokens: &[Token]) -> Vec<(String, String)> {
    let inside = tokens.split(|token| *token == Token::Symbol('}')).next();
    split_at_commas(inside.unwrap_or(&[]))
        .filter_map(|pair| match pair {
            [key, Token::Symbol(':'), value] => Some((key.text(), value.text())),
            _ => None,
        })
        .collect()
}

/// Parses the text after `CREATE TABLE`. Returns `None` if the definition is incomplete.
pub fn create_table(cursor: &mut TokenReader) -> Option<CreateTable> {
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
    for item in split_at_commas(cursor.parenthesised()?) {
        let mut item = TokenReader::new(item);
        if item.skip_keywords(&["primary", "key"]) {
            primary_key(&mut item, &mut create)?;
        } else {
            column_definition(&mut item, &mut create)?;
        }
    }
    create.descending = descending(cursor.rest());
    Some(create)
}

fn primary_key(item: &mut TokenReader, create: &mut CreateTable) -> Option<()> {
    for (index, part) in split_at_commas(item.parenthesised()?).enumerate() {
        let names = part.iter().filter_map(Token::as_name).map(str::to_owned);
        if index == 0 {
            create.partition_key.extend(names);
        } else {
            create.clustering.extend(names);
        }
    }
    Some(())
}

fn column_definition(item: &mut TokenReader, create: &mut CreateTable) -> Option<()> {
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

/// Returns the columns that are marked DESC in `CLUSTERING ORDER BY (…)`.
fn descending(options: &[Token]) -> Vec<String> {
    options
        .windows(2)
        .filter(|pair| pair[1].is_keyword("desc"))
        .filter_map(|pair| pair[0].as_name().map(str::to_owned))
        .collect()
}
