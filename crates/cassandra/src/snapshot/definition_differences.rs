//! Compares existing tables with the definitions in another cluster's snapshot. With a different
//! definition, the server would misread imported data or fail to read it.
//!
//! The module compares DESCRIBE statements token by token. It ignores ids, because separately
//! created tables have different ids. It also ignores an option that only one definition has,
//! because the other Cassandra version may not have this option.

use super::table_definitions;
use crate::session::Session;
use anyhow::{Result, bail};
use cql::tokens::{Token, TokenKind};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Definition {
    /// Type and name of the created object, such as `create table k . t`.
    what: String,
    parts: String,
    options: BTreeMap<String, String>,
}

/// Returns true if the keyspace has all tables of `statements` with the same definitions, and false
/// if it has none of the tables.
///
/// # Errors
/// The node does not answer, or the keyspace has only some of the tables, or has a different
/// definition. The message contains the difference.
pub fn refuse_different(
    session: &mut Session,
    keyspace: &str,
    tables: &[&str],
    statements: &[String],
) -> Result<bool> {
    let mut found = table_definitions::query_tables(session, keyspace)?;
    found.retain(|name, _| tables.contains(&name.as_str()));
    if found.is_empty() {
        return Ok(false);
    }
    if let Some(missing) = tables.iter().find(|name| !found.contains_key(**name)) {
        let there: Vec<&str> = found.keys().map(String::as_str).collect();
        bail!(
            "{keyspace} has the tables {}, but not {missing} of the export, so cassay copied \
             nothing\nhint: drop the existing tables, or the keyspace, and import again",
            there.join(", ")
        );
    }
    let there = table_definitions::describe(session, keyspace, &found)?;
    match difference(&there, statements, keyspace) {
        None => Ok(true),
        Some(difference) => bail!(
            "the definition of {keyspace} differs from the definition in the export, so cassay \
             copied nothing: {difference}\nhint: drop the keyspace if you do not need it, or \
             import into another cluster"
        ),
    }
}

/// Returns the first difference between existing and required definitions. Ignores the replication,
/// because another check compares the token ranges.
fn difference(there: &[String], wanted: &[String], keyspace: &str) -> Option<String> {
    let definitions = |all: &[String]| -> Vec<Definition> {
        let each = all.iter().map(|one| Definition::parse(one));
        each.filter(|one| one.what != format!("create keyspace {keyspace}")).collect()
    };
    let (there, wanted) = (definitions(there), definitions(wanted));
    wanted.iter().find_map(|wanted| {
        let found = there.iter().find(|one| one.what == wanted.what);
        match found {
            None => Some(format!("the object `{} …` does not exist", wanted.what)),
            Some(found) => found.difference(wanted),
        }
    })
}

impl Definition {
    fn parse(statement: &str) -> Definition {
        let Ok(tokens) = cql::tokens::tokens(statement) else {
            // A statement that cannot be parsed equals only a statement with the same text.
            return Definition {
                what: statement.to_owned(),
                parts: String::new(),
                options: BTreeMap::new(),
            };
        };
        let mut depth = 0;
        let mut sections: Vec<Vec<&Token>> = vec![Vec::new()];
        let mut body = None;
        for token in &tokens {
            let is_symbol =
                |symbols: &str| token.kind == TokenKind::Symbol && symbols.contains(&token.text);
            if is_symbol("([{") {
                depth += 1;
                body.get_or_insert(sections[0].len());
            }
            if is_symbol(")]}") {
                depth -= 1;
            }
            let is_word = |word: &str| token.kind == TokenKind::Word && token.text == word;
            let is_first = sections.len() == 1;
            if depth == 0 && (is_first && is_word("with") || !is_first && is_word("and")) {
                sections.push(Vec::new());
                continue;
            }
            let last = sections.len() - 1;
            sections[last].push(token);
        }
        let (first, options) = (&sections[0], &sections[1..]);
        let body = body.unwrap_or(first.len()).min(first.len());
        let option = |tokens: &Vec<&Token>| {
            let name = tokens.first().map(|token| token.text.clone()).unwrap_or_default();
            (name, text(tokens))
        };
        let mut options: BTreeMap<String, String> = options.iter().map(option).collect();
        options.remove("id");
        Definition {
            what: text(&first[..body]),
            parts: text(&first[body..]),
            options,
        }
    }

    fn difference(&self, wanted: &Definition) -> Option<String> {
        if self.parts != wanted.parts {
            return Some(format!(
                "`{}` is `{}`, but the export has `{}`",
                self.what, self.parts, wanted.parts
            ));
        }
        let mut both = wanted.options.iter().filter_map(|(name, wanted)| {
            let found = self.options.get(name)?;
            (found != wanted).then_some((found, wanted))
        });
        let (found, wanted) = both.next()?;
        Some(format!(
            "`{}` has `{found}`, but the export has `{wanted}`",
            self.what
        ))
    }
}

fn text(tokens: &[&Token]) -> String {
    let one = |token: &&Token| match token.kind {
        TokenKind::Text => format!("'{}'", token.text),
        TokenKind::Quoted => format!("\"{}\"", token.text),
        TokenKind::Word | TokenKind::Symbol => token.text.clone(),
    };
    tokens.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "CREATE TABLE k.t (\n a int PRIMARY KEY,\n b text\n) WITH ID = 7a-b\n    \
                         AND comment = ''\n    AND compression = {'class': 'LZ4', 'x': '16 and'}";

    fn differences(there: &[&str], wanted: &[&str]) -> String {
        let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        difference(&owned(there), &owned(wanted), "k").unwrap_or("none".to_owned())
    }

    #[test]
    fn ids_white_space_and_options_of_one_side_are_no_difference() {
        let other = "CREATE TABLE k.t (a int PRIMARY KEY, b text) WITH compression = {'class': \
                     'LZ4', 'x': '16 and'} AND memtable = 'default' AND ID = 9";
        assert_eq!(differences(&[other], &[TABLE]), "none");
        let keyspace = |copies| format!("CREATE KEYSPACE k WITH replication = {{'a': '{copies}'}}");
        let (one, two) = (keyspace(1), keyspace(2));
        assert_eq!(differences(&[&one, TABLE], &[&two, TABLE]), "none");
    }

    #[test]
    fn columns_options_types_and_indexes_that_differ_are_named() {
        let check = |there: &str, wanted: &str, parts: &[&str]| {
            let said = differences(&[there], &[wanted]);
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
        };
        let wide = TABLE.replace("b text", "b text,\n c int");
        check(
            &wide,
            TABLE,
            &["create table k . t", "c int )`", "b text )`"],
        );
        let plain = TABLE.replace("LZ4", "Zstd");
        check(
            &plain,
            TABLE,
            &["compression = { 'class' : 'Zstd'", "'LZ4'"],
        );
        check(
            "CREATE TYPE k.p (x int)",
            "CREATE TYPE k.p (x text)",
            &["create type k . p", "( x int )"],
        );
        check(
            TABLE,
            "CREATE INDEX i ON k.t (b)",
            &["the object `create index i on k . t …` does not exist"],
        );
    }
}
