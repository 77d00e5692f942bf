//! Finds the changes that a CQL statement would make.
//!
//! Invariants: this module interprets a statement as the server does, or returns an error. A
//! statement with an unknown effect counts as a change of everything.

use cql::tokens::{CqlMistake, Token, TokenKind};
use target_spec::{Act, Object};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub act: Act,
    /// Changed object. `None` if no name within a keyspace identifies the object.
    pub object: Option<Object>,
    /// True if the statement contains `IF NOT EXISTS`.
    pub if_absent: bool,
    /// Kind of the created or changed object.
    pub sort: Sort,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    Keyspace,
    /// Table, or rows of a table.
    Table,
    /// User-defined type.
    Type,
    /// Materialized view.
    View,
    /// Index with this name. An index without a name (`None`) cannot be looked up.
    Index(Option<String>),
}

/// Returns the keyspace that a `USE` statement selects.
pub fn used(cql: &str) -> Option<String> {
    let tokens = cql::tokens::tokens(cql).ok()?;
    let words = Words(&tokens, None);
    (words.word(0) == Some("use")).then(|| words.name(1))?
}

/// Returns the changes that a statement makes in a session with the keyspace `used`. Returns an
/// empty list for a statement that only reads.
///
/// # Errors
/// The text is not valid CQL, or is ambiguous.
pub fn changes(cql: &str, used: Option<&str>) -> Result<Vec<Change>, CqlMistake> {
    let tokens = cql::tokens::tokens(cql)?;
    let words = Words(&tokens, used);
    let first_end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    if words.word(0) != Some("begin") && !tokens[first_end..].iter().all(is_end) {
        // Several statements. Cassandra refuses such a text, but another server may accept it.
        return Ok(vec![change(Act::Alter, None, Sort::Keyspace)]);
    }
    Ok(match words.word(0).unwrap_or_default() {
        // The server refuses an empty statement.
        "" | "select" | "describe" | "desc" | "list" | "use" => Vec::new(),
        "create" => vec![words.created()],
        "alter" => vec![words.defined(Act::Alter)],
        "drop" => vec![words.defined(Act::Drop)],
        "truncate" => {
            let at = 1 + usize::from(words.is_any(1, &["table", "columnfamily"]));
            vec![change(Act::Truncate, words.qualified(at), Sort::Table)]
        }
        "insert" | "update" | "delete" | "begin" => words.written(),
        _ => vec![change(Act::Alter, None, Sort::Keyspace)],
    })
}

fn is_end(token: &Token) -> bool {
    token.kind == TokenKind::Symbol && token.text == ";"
}

fn change(act: Act, object: Option<Object>, sort: Sort) -> Change {
    Change {
        act,
        object,
        if_absent: false,
        sort,
    }
}

/// Tokens of a statement, and the session's keyspace.
struct Words<'a>(&'a [Token], Option<&'a str>);

impl Words<'_> {
    fn word(&self, at: usize) -> Option<&str> {
        let token = self.0.get(at).filter(|token| token.kind == TokenKind::Word)?;
        Some(&token.text)
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        self.word(at).is_some_and(|word| words.contains(&word))
    }

    fn name(&self, at: usize) -> Option<String> {
        let token = self.0.get(at)?;
        let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
        is_name.then(|| token.text.clone())
    }

    fn is_symbol(&self, at: usize, symbol: &str) -> bool {
        let token = self.0.get(at);
        token.is_some_and(|token| token.kind == TokenKind::Symbol && token.text == symbol)
    }

    /// Parses `keyspace.name`. An unqualified name belongs to the session's keyspace.
    fn qualified(&self, at: usize) -> Option<Object> {
        let first = self.name(at)?;
        let (keyspace, name) = if self.is_symbol(at + 1, ".") {
            (first, self.name(at + 2)?)
        } else {
            (self.1?.to_owned(), first)
        };
        Some(Object {
            keyspace,
            name: Some(name),
        })
    }

    fn keyspace(&self, at: usize) -> Option<Object> {
        let keyspace = self.name(at)?;
        Some(Object {
            keyspace,
            name: None,
        })
    }

    /// Skips `IF NOT EXISTS` or `IF EXISTS`. Returns the next position, and true for `IF NOT
    /// EXISTS`.
    fn behind_if(&self, at: usize) -> (usize, bool) {
        match (self.word(at), self.word(at + 1), self.word(at + 2)) {
            (Some("if"), Some("not"), Some("exists")) => (at + 3, true),
            (Some("if"), Some("exists"), _) => (at + 2, false),
            _ => (at, false),
        }
    }

    fn created(&self) -> Change {
        let at = 1 + usize::from(self.is_any(1, &["custom"]));
        if self.word(at) != Some("index") {
            return self.defined(Act::Create);
        }
        let (named, if_absent) = self.behind_if(at + 1);
        let on = (named..self.0.len()).find(|at| self.word(*at) == Some("on"));
        let name = on.filter(|on| *on > named).and_then(|_| self.name(named));
        Change {
            if_absent,
            ..change(
                Act::Create,
                on.and_then(|on| self.qualified(on + 1)),
                Sort::Index(name),
            )
        }
    }

    /// Parses `CREATE`, `ALTER` or `DROP` of a named object.
    fn defined(&self, act: Act) -> Change {
        let (at, sort) = match self.word(1) {
            Some("keyspace" | "schema") => (2, Sort::Keyspace),
            Some("table" | "columnfamily") => (2, Sort::Table),
            Some("type") => (2, Sort::Type),
            Some("materialized") => (3, Sort::View),
            Some("index") => (2, Sort::Index(None)),
            // A permission for a keyspace does not cover roles, functions and triggers.
            _ => return change(act, None, Sort::Keyspace),
        };
        let (at, if_absent) = self.behind_if(at);
        let object = match sort {
            Sort::Keyspace => self.keyspace(at),
            _ => self.qualified(at),
        };
        Change {
            if_absent,
            ..change(act, object, sort)
        }
    }

    /// Returns the tables to which an `INSERT`, an `UPDATE`, a `DELETE` or a batch writes.
    fn written(&self) -> Vec<Change> {
        let is_before = |at: &usize| match self.word(*at) {
            Some("into") => true,
            Some("update") => *at == 0 || self.word(0) == Some("begin"),
            Some("from") => true,
            _ => false,
        };
        let before = (0..self.0.len()).filter(is_before);
        let mut all: Vec<Change> = before
            .map(|at| change(Act::Write, self.qualified(at + 1), Sort::Table))
            .collect();
        // A column may have the name of a keyword, so a keyword is not always followed by a table.
        if all.iter().any(|change| change.object.is_some()) {
            all.retain(|change| change.object.is_some());
        }
        if all.is_empty() {
            all.push(change(Act::Write, None, Sort::Table));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change_words(cql: &str) -> String {
        let words = |change: &Change| {
            let object = change.object.as_ref().map(ToString::to_string).unwrap_or("?".to_owned());
            let absent = if change.if_absent { " if absent" } else { "" };
            format!("{} {object}{absent}", change.act.word())
        };
        let all = changes(cql, None).expect("the statement can be parsed");
        let all: Vec<String> = all.iter().map(words).collect();
        all.join(", ")
    }

    #[test]
    fn changes_of_a_statement_are_read_as_the_server_reads_them() {
        for (cql, expected) in [
            ("SELECT * FROM shop.users", ""),
            ("DESCRIBE KEYSPACE shop", ""),
            ("USE shop", ""),
            ("-- DROP KEYSPACE a\nSELECT 1 FROM s.t", ""),
            (
                "CREATE KEYSPACE IF NOT EXISTS \"Shop\" WITH x = 1",
                "create Shop if absent",
            ),
            ("create schema shop", "create shop"),
            (
                "CREATE TABLE shop.users (id int PRIMARY KEY)",
                "create shop.users",
            ),
            (
                "CREATE TABLE IF NOT EXISTS \"s\".\"T\" (a int)",
                "create s.T if absent",
            ),
            ("CREATE TYPE s.p (x int)", "create s.p"),
            ("CREATE INDEX i ON s.t (a)", "create s.t"),
            (
                "CREATE CUSTOM INDEX IF NOT EXISTS ON s.t (a) USING 'sai'",
                "create s.t if absent",
            ),
            (
                "CREATE MATERIALIZED VIEW s.v AS SELECT a FROM s.t",
                "create s.v",
            ),
            ("/* x */ DROP KEYSPACE IF EXISTS shop", "drop shop"),
            ("DROP TABLE shop.users", "drop shop.users"),
            ("DROP INDEX s.i", "drop s.i"),
            ("TRUNCATE shop.users", "truncate shop.users"),
            ("TRUNCATE TABLE shop.users", "truncate shop.users"),
            (
                "ALTER KEYSPACE shop WITH durable_writes = true",
                "alter shop",
            ),
            (
                "ALTER TABLE shop.users WITH comment = 'x'",
                "alter shop.users",
            ),
            ("INSERT INTO s.t (a) VALUES (?)", "write s.t"),
            ("UPDATE s.t SET \"from\" = 1 WHERE k = ?", "write s.t"),
            ("DELETE a FROM s.t WHERE k = ?", "write s.t"),
            (
                "BEGIN BATCH INSERT INTO a.b (c) VALUES (1); UPDATE d.e SET f = 1 WHERE g = 2 \
                 APPLY BATCH",
                "write a.b, write d.e",
            ),
            // No name within a keyspace identifies these objects.
            ("CREATE ROLE me", "create ?"),
            ("GRANT ALL ON KEYSPACE s TO me", "alter ?"),
            ("TRUNCATE users", "truncate ?"),
            ("DROP FUNCTION s.f", "drop ?"),
            ("INSERT INTO t (a) VALUES (1)", "write ?"),
            ("SELECT a FROM s.t; DROP TABLE s.t", "alter ?"),
            ("SELECT a FROM s.t;;", ""),
            ("-- a\r\nDROP TABLE s.t -- b\r", "drop s.t"),
        ] {
            assert_eq!(change_words(cql), expected, "{cql}");
        }
    }

    #[test]
    fn a_name_without_a_keyspace_is_in_the_one_that_is_used() {
        assert_eq!(used("USE \"Shop\"").as_deref(), Some("Shop"));
        assert_eq!(used("SELECT a FROM b"), None);
        let object = changes("TRUNCATE users", Some("shop")).expect("the statement can be parsed")
            [0]
        .object
        .clone();
        assert_eq!(
            object.expect("the object is known").to_string(),
            "shop.users"
        );
    }
}
