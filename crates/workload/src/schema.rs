//! Parses `CREATE KEYSPACE`, `CREATE TABLE` and `CREATE TYPE`. The parser extracts names, columns,
//! types and keys, from which cassay generates data. Importers know a table only from the text of
//! its definition, without a server.
//!
//! The parser does not validate the statement. It skips options after the columns, because
//! Cassandra decides which options are valid.

mod counting;
mod markers;
mod options;
mod qualify;

use std::sync::Arc;

use cql::value::{CqlType, UdtType};

pub use counting::is_conditional;
pub use cql::tokens::{CqlMistake, Token, TokenKind, split, tokens};
pub use markers::{Marker, binds_partition, insert_counts, markers};
pub use options::{OptionValue, options};
pub use qualify::{keyspaces, moved, named_table, qualify};

/// Object that a CREATE statement defines.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinedObject {
    Keyspace(String),
    Table(Table),
    /// A user-defined type.
    Type(UdtType),
    /// Another object, such as an index, a view or a function.
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Keyspace of the table, if the statement names it.
    pub keyspace: Option<String>,
    pub name: String,
    /// Columns, in the order of the statement.
    pub columns: Vec<Column>,
    /// Indexes in `columns` of the partition key's columns, in key order.
    pub partition_key: Vec<usize>,
    /// Indexes in `columns` of the clustering columns, in key order.
    pub clustering: Vec<usize>,
    /// True if rows expire because the table sets `default_time_to_live`.
    pub expires: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name of the column, in lower case unless it was quoted.
    pub name: String,
    pub typ: CqlType,
    /// True if all rows of a partition share one value of the column.
    pub is_static: bool,
    /// True if the collection or user-defined type is stored as one value.
    pub is_frozen: bool,
}

impl Table {
    /// Returns the index of a column with exactly this name. Returns `None` if the table has no
    /// such column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Returns true if a column is part of the primary key.
    pub fn is_key(&self, column: usize) -> bool {
        self.partition_key.contains(&column) || self.clustering.contains(&column)
    }
}

/// Parses one statement. `types` contains the user-defined types that the columns may have.
pub fn parse(cql: &str, types: &[UdtType]) -> Result<DefinedObject, CqlMistake> {
    let mut reader = Reader {
        tokens: tokens(cql)?,
        next: 0,
        end: cql.len(),
        types,
    };
    if !reader.take_word("create") {
        return Ok(DefinedObject::Other);
    }
    if reader.take_word("keyspace") {
        reader.skip_if_not_exists();
        return Ok(DefinedObject::Keyspace(reader.name()?));
    }
    if reader.take_word("table") || reader.take_word("columnfamily") {
        reader.skip_if_not_exists();
        return Ok(DefinedObject::Table(reader.table()?));
    }
    if reader.take_word("type") {
        reader.skip_if_not_exists();
        return Ok(DefinedObject::Type(reader.user_type()?));
    }
    Ok(DefinedObject::Other)
}

struct Reader<'a> {
    tokens: Vec<Token>,
    next: usize,
    end: usize,
    types: &'a [UdtType],
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn position(&self) -> usize {
        self.peek().map_or(self.end, |token| token.at)
    }

    fn fault<T>(&self, message: impl Into<String>) -> Result<T, CqlMistake> {
        Err(CqlMistake {
            message: message.into(),
            at: self.position(),
        })
    }

    fn is(&self, kind: TokenKind, text: &str) -> bool {
        self.peek().is_some_and(|token| token.kind == kind && token.text == text)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is(TokenKind::Word, word);
        self.next += usize::from(found);
        found
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(TokenKind::Symbol, symbol);
        self.next += usize::from(found);
        found
    }

    fn need(&mut self, symbol: &str) -> Result<(), CqlMistake> {
        if self.take(symbol) {
            return Ok(());
        }
        let found = self.peek().map_or("the end", |token| token.text.as_str());
        self.fault(format!("expected `{symbol}` here, not {found}"))
    }

    fn skip_if_not_exists(&mut self) {
        if self.take_word("if") {
            self.take_word("not");
            self.take_word("exists");
        }
    }

    fn name(&mut self) -> Result<String, CqlMistake> {
        match self.peek() {
            Some(token) if matches!(token.kind, TokenKind::Word | TokenKind::Quoted) => {
                let name = token.text.clone();
                self.next += 1;
                Ok(name)
            }
            _ => self.fault("expected a name here"),
        }
    }

    /// Reads `name` or `keyspace.name`.
    fn qualified(&mut self) -> Result<(Option<String>, String), CqlMistake> {
        let first = self.name()?;
        if self.take(".") {
            Ok((Some(first), self.name()?))
        } else {
            Ok((None, first))
        }
    }

    fn table(&mut self) -> Result<Table, CqlMistake> {
        let (keyspace, name) = self.qualified()?;
        let mut table = Table {
            keyspace,
            name,
            columns: Vec::new(),
            partition_key: Vec::new(),
            clustering: Vec::new(),
            expires: false,
        };
        self.need("(")?;
        while !self.take(")") {
            if self.is(TokenKind::Word, "primary") {
                self.primary_key(&mut table)?;
            } else {
                self.column(&mut table)?;
            }
            if !self.take(",") && !self.is(TokenKind::Symbol, ")") {
                return self.fault(match self.peek() {
                    Some(_) => "expected `,` or `)` here",
                    None => "the `)` of the table is missing at the end",
                });
            }
        }
        if table.partition_key.is_empty() {
            return self.fault(format!("table {} has no PRIMARY KEY", table.name));
        }
        let options = self.tokens[self.next..].windows(3);
        let mut ttl = options.filter(|option| option[0].text == "default_time_to_live");
        table.expires = ttl.any(|option| option[2].text.parse() != Ok(0));
        Ok(table)
    }

    fn column(&mut self, table: &mut Table) -> Result<(), CqlMistake> {
        let at = self.position();
        let name = self.name()?;
        if table.column(&name).is_some() {
            return Err(CqlMistake {
                message: format!("column {name} occurs twice; this is the second"),
                at,
            });
        }
        let is_frozen = self.is(TokenKind::Word, "frozen");
        let typ = self.typ()?;
        table.columns.push(Column {
            name,
            is_frozen: is_frozen || matches!(typ, CqlType::Tuple(_) | CqlType::Vector(..)),
            typ,
            is_static: self.take_word("static"),
        });
        if self.take_word("primary") {
            if !self.take_word("key") {
                return self.fault("expected KEY after PRIMARY");
            }
            table.partition_key.push(table.columns.len() - 1);
        }
        if self.take_word("mask") || self.take_word("masked") {
            while !self.is(TokenKind::Symbol, ",")
                && !self.is(TokenKind::Symbol, ")")
                && self.next < self.tokens.len()
            {
                self.next += 1;
                self.skip_parentheses();
            }
        }
        Ok(())
    }

    fn skip_parentheses(&mut self) {
        if self.take("(") {
            let mut depth = 1;
            while depth > 0 && self.next < self.tokens.len() {
                depth += i32::from(self.is(TokenKind::Symbol, "("))
                    - i32::from(self.is(TokenKind::Symbol, ")"));
                self.next += 1;
            }
        }
    }

    /// Reads `PRIMARY KEY ((a, b), c, d)` or `PRIMARY KEY (a, c)`.
    fn primary_key(&mut self, table: &mut Table) -> Result<(), CqlMistake> {
        self.next += 1;
        if !self.take_word("key") {
            return self.fault("expected KEY after PRIMARY");
        }
        self.need("(")?;
        if self.take("(") {
            loop {
                table.partition_key.push(self.key_column(table)?);
                if !self.take(",") {
                    break;
                }
            }
            self.need(")")?;
        } else {
            table.partition_key.push(self.key_column(table)?);
        }
        while self.take(",") {
            table.clustering.push(self.key_column(table)?);
        }
        self.need(")")
    }

    fn key_column(&mut self, table: &Table) -> Result<usize, CqlMistake> {
        let at = self.position();
        let name = self.name()?;
        table.column(&name).ok_or_else(|| CqlMistake {
            message: format!("the primary key has {name}, but no column above it has this name"),
            at,
        })
    }

    fn typ(&mut self) -> Result<CqlType, CqlMistake> {
        let at = self.position();
        let is_text = self.peek().is_some_and(|token| token.kind == TokenKind::Text);
        if is_text {
            let class = self.tokens[self.next].text.clone();
            self.next += 1;
            return Ok(CqlType::Custom(class));
        }
        let (_, name) = self.qualified()?;
        if let Some(simple) = simple_type(&name) {
            return Ok(simple);
        }
        if let Some(udt) = self.types.iter().find(|udt| udt.name == name) {
            return Ok(CqlType::Udt(Box::new(udt.clone())));
        }
        let parameters = ["frozen", "list", "set", "map", "tuple", "vector"];
        if !parameters.contains(&name.as_str()) {
            return Err(CqlMistake {
                message: format!("{name} is not a CQL type, and no CREATE TYPE above defines it"),
                at,
            });
        }
        self.need("<")?;
        let typ = match name.as_str() {
            "frozen" => self.typ()?,
            "list" => CqlType::List(Box::new(self.typ()?)),
            "set" => CqlType::Set(Box::new(self.typ()?)),
            "map" => {
                let key = self.typ()?;
                self.need(",")?;
                CqlType::Map(Box::new(key), Box::new(self.typ()?))
            }
            "vector" => {
                let element = self.typ()?;
                self.need(",")?;
                let dimension = self.name()?;
                match dimension.parse() {
                    Ok(dimension) if dimension > 0 => CqlType::Vector(Box::new(element), dimension),
                    _ => return self.fault(format!("{dimension} is not a vector dimension")),
                }
            }
            _ => {
                let mut elements = vec![self.typ()?];
                while self.take(",") {
                    elements.push(self.typ()?);
                }
                CqlType::Tuple(elements)
            }
        };
        self.need(">")?;
        Ok(typ)
    }

    fn user_type(&mut self) -> Result<UdtType, CqlMistake> {
        let (keyspace, name) = self.qualified()?;
        self.need("(")?;
        let mut fields = Vec::new();
        while !self.take(")") {
            fields.push((Arc::from(self.name()?), self.typ()?));
            if !self.take(",") && !self.is(TokenKind::Symbol, ")") {
                return self.fault("expected `,` or `)` here");
            }
        }
        Ok(UdtType {
            keyspace: keyspace.unwrap_or_default(),
            name,
            fields,
        })
    }
}

fn simple_type(name: &str) -> Option<CqlType> {
    Some(match name {
        "ascii" => CqlType::Ascii,
        "bigint" => CqlType::Bigint,
        "blob" => CqlType::Blob,
        "boolean" => CqlType::Boolean,
        "counter" => CqlType::Counter,
        "date" => CqlType::Date,
        "decimal" => CqlType::Decimal,
        "double" => CqlType::Double,
        "duration" => CqlType::Duration,
        "float" => CqlType::Float,
        "inet" => CqlType::Inet,
        "int" => CqlType::Int,
        "smallint" => CqlType::Smallint,
        "text" | "varchar" => CqlType::Text,
        "time" => CqlType::Time,
        "timestamp" => CqlType::Timestamp,
        "timeuuid" => CqlType::Timeuuid,
        "tinyint" => CqlType::Tinyint,
        "uuid" => CqlType::Uuid,
        "varint" => CqlType::Varint,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
