//! Determines the meaning of the bind markers of a statement.
//!
//! The module uses the tokens around a marker instead of a full grammar. A marker belongs to the
//! last column before an operator. If the column is ambiguous, the marker's type is unknown (and
//! becomes a blob), but it is never wrong.

use super::statement::{Marker, MarkerType};
use super::tokens::{Token, split_at_commas};
use cql::CqlType;

/// Words that follow the left side of a relation, which is a name.
const RELATION_WORDS: [&str; 5] = ["in", "contains", "like", "between", "is"];

/// Returns the markers among the tokens of a statement. For the values of an INSERT, callers use
/// [`add_inserted_values`] instead.
pub fn markers(tokens: &[Token]) -> Vec<Marker> {
    let mut found = Vec::new();
    let mut left = LeftSide::default();
    for (index, token) in tokens.iter().enumerate() {
        let next = tokens.get(index + 1);
        match token {
            Token::Name { name, .. } => left.name(name, token, next),
            Token::Symbol(symbol) => left.symbol(*symbol),
            Token::Marker(own_name) => {
                let previous = index.checked_sub(1).and_then(|index| tokens.get(index));
                found.push(left.marker(own_name.as_deref(), previous, found.len()));
            }
            Token::Text(_) | Token::Number(_) => left.operator.clear(),
        }
    }
    found
}

/// Adds the markers among the values of an INSERT. The values belong to the columns at the same
/// positions.
pub fn add_inserted_values(columns: &[String], values: &[Token], found: &mut Vec<Marker>) {
    for (column, value) in columns.iter().zip(split_at_commas(values)) {
        for token in value {
            let Token::Marker(own_name) = token else {
                continue;
            };
            let is_whole_value = value.len() == 1;
            found.push(Marker {
                name: own_name.clone().unwrap_or_else(|| column.clone()),
                stands_for: if is_whole_value {
                    MarkerType::Column(column.clone())
                } else {
                    MarkerType::Unknown
                },
                key_column: is_whole_value.then(|| column.clone()),
            });
        }
    }
}

/// The left side of the relation that contains the current token.
#[derive(Default)]
struct LeftSide {
    /// The last column before an operator.
    column: Option<String>,
    /// The symbols after the column.
    operator: String,
    /// True if the current token is within `column[…]`, or in the value that is assigned to such an
    /// element.
    element: bool,
    /// True if the left side of the relation is `token(…)`.
    token_function: bool,
}

impl LeftSide {
    fn name(&mut self, name: &str, token: &Token, next: Option<&Token>) {
        let is_left_side = match next {
            Some(Token::Symbol(symbol)) => "=<>!+-[".contains(*symbol),
            Some(next) => RELATION_WORDS.iter().any(|word| next.is_keyword(word)),
            None => false,
        };
        let is_word = token.is_keyword(name);
        if is_word && name == "token" && next == Some(&Token::Symbol('(')) {
            *self = LeftSide {
                token_function: self.operator.is_empty(),
                ..LeftSide::default()
            };
        } else if is_left_side && !(is_word && RELATION_WORDS.contains(&name)) {
            *self = LeftSide {
                column: Some(name.to_owned()),
                ..LeftSide::default()
            };
        } else if is_word && ["and", "where", "set", "if", "using"].contains(&name) {
            *self = LeftSide::default();
        } else if is_word && RELATION_WORDS.contains(&name) {
            self.operator = name.to_owned();
        }
    }

    fn symbol(&mut self, symbol: char) {
        match symbol {
            '[' => self.element = true,
            '=' | '<' | '>' | '!' | '+' | '-' | '(' | '{' => self.operator.push(symbol),
            _ => {}
        }
    }

    fn marker(&self, own_name: Option<&str>, previous: Option<&Token>, index: usize) -> Marker {
        let (name, stands_for) = self.meaning(previous, index);
        let is_equal = self.operator == "=" && matches!(stands_for, MarkerType::Column(_));
        Marker {
            name: own_name.map_or(name, str::to_owned),
            stands_for,
            key_column: if is_equal { self.column.clone() } else { None },
        }
    }

    fn meaning(&self, previous: Option<&Token>, index: usize) -> (String, MarkerType) {
        let after = |word: &str| previous.is_some_and(|token| token.is_keyword(word));
        let special = |name: &str, typ| (name.to_owned(), MarkerType::Type(typ));
        if after("limit") {
            return special("[limit]", CqlType::Int);
        } else if after("ttl") {
            return special("[ttl]", CqlType::Int);
        } else if after("timestamp") {
            return special("[timestamp]", CqlType::Bigint);
        } else if self.token_function {
            return special("partition key token", CqlType::Bigint);
        }
        match &self.column {
            None => (format!("arg{index}"), MarkerType::Unknown),
            Some(column) if self.element || self.operator.contains('{') => {
                (format!("value({column})"), MarkerType::Unknown)
            }
            Some(column) if self.operator == "contains" => {
                (format!("value({column})"), MarkerType::Unknown)
            }
            Some(column) if self.operator == "in" => {
                (format!("in({column})"), MarkerType::ListOf(column.clone()))
            }
            Some(column) => (column.clone(), MarkerType::Column(column.clone())),
        }
    }
}
