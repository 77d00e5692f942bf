//! Analyses a recorded statement to find its verb, its table and its text. The resulting text names
//! the keyspace of each table, because the connections of a replay use no keyspace.

use crate::log_record::Why;
use cql::tokens::{Token, TokenKind, quoted_name};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// A statement that begins with SELECT.
    Select,
    /// A statement that begins with INSERT.
    Insert,
    /// A statement that begins with UPDATE.
    Update,
    /// A statement that begins with DELETE.
    Delete,
    /// A batch, which contains several statements.
    Batch,
}

impl Verb {
    /// Returns the verb as a word in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Select => "select",
            Verb::Insert => "insert",
            Verb::Update => "update",
            Verb::Delete => "delete",
            Verb::Batch => "batch",
        }
    }

    /// Returns true if the verb changes data.
    pub fn is_write(self) -> bool {
        self != Verb::Select
    }
}

/// A statement that cassay can replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownStatement {
    pub verb: Verb,
    /// Keyspace and table of the statement. For a batch, the keyspace and table of its first
    /// statement.
    pub table: (String, String),
    /// Text of the statement. The text names the keyspace of every table.
    pub cql: String,
    /// Number of bind markers in the statement.
    pub markers: usize,
    /// True if the statement has a condition. The result of such a statement shows whether the
    /// condition was true.
    pub conditional: bool,
}

/// Analyses a statement of a connection whose current keyspace is `used`.
///
/// # Errors
/// The statement cannot be replayed. The error states the reason.
pub fn analyse(cql: &str, used: Option<&str>) -> Result<KnownStatement, Why> {
    let tokens = cql::tokens::tokens(cql).map_err(|_| Why::Unknown)?;
    let words = Words(&tokens);
    let verb = match words.word(0).unwrap_or_default() {
        "select" => Verb::Select,
        "insert" => Verb::Insert,
        "update" => Verb::Update,
        "delete" => Verb::Delete,
        "begin" => Verb::Batch,
        "create" | "alter" | "drop" => return Err(Why::Definition),
        "truncate" | "grant" | "revoke" | "add" => return Err(Why::Administration),
        "use" => return Err(Why::Use),
        "list" | "describe" | "desc" => return Err(Why::NoStatement),
        _ => return Err(Why::Unknown),
    };
    let mut text = String::with_capacity(cql.len());
    let (mut copied, mut first) = (0, None);
    for at in words.tables(verb) {
        let (keyspace, table) = match words.qualified(at) {
            Some(Name::Whole(keyspace, table)) => (keyspace, table),
            Some(Name::Part(table)) => {
                let keyspace = used.ok_or(Why::NoKeyspace)?.to_owned();
                text.push_str(&cql[copied..tokens[at].at]);
                text.push_str(&quoted_name(&keyspace));
                text.push('.');
                copied = tokens[at].at;
                (keyspace, table)
            }
            None => return Err(Why::Unknown),
        };
        if is_system(&keyspace) {
            return Err(Why::System);
        }
        first.get_or_insert((keyspace, table));
    }
    text.push_str(&cql[copied..]);
    Ok(KnownStatement {
        verb,
        table: first.ok_or(Why::Unknown)?,
        markers: words.markers(),
        conditional: verb.is_write() && words.has_condition(),
        cql: text.trim_end().trim_end_matches(';').trim_end().to_owned(),
    })
}

/// Returns true if the server uses the keyspace for its own tables.
fn is_system(keyspace: &str) -> bool {
    keyspace == "system" || keyspace.starts_with("system_")
}

enum Name {
    Whole(String, String),
    Part(String),
}

struct Words<'a>(&'a [Token]);

impl Words<'_> {
    fn word(&self, at: usize) -> Option<&str> {
        let token = self.0.get(at).filter(|token| token.kind == TokenKind::Word)?;
        Some(&token.text)
    }

    fn is_symbol(&self, at: usize, symbol: &str) -> bool {
        let token = self.0.get(at);
        token.is_some_and(|token| token.kind == TokenKind::Symbol && token.text == symbol)
    }

    fn name(&self, at: usize) -> Option<String> {
        let token = self.0.get(at)?;
        matches!(token.kind, TokenKind::Word | TokenKind::Quoted).then(|| token.text.clone())
    }

    fn qualified(&self, at: usize) -> Option<Name> {
        let first = self.name(at)?;
        if self.is_symbol(at + 1, ".") {
            return Some(Name::Whole(first, self.name(at + 2)?));
        }
        Some(Name::Part(first))
    }

    /// Returns the positions of the table names, in the order of the text.
    fn tables(&self, verb: Verb) -> Vec<usize> {
        match verb {
            Verb::Insert => self.behind(0, "into").into_iter().collect(),
            Verb::Update => vec![1],
            // The first keyword `from` precedes the table. A column can have this name only in
            // quotes, and then its token is not a keyword.
            Verb::Select | Verb::Delete => self.behind(0, "from").into_iter().collect(),
            Verb::Batch => self.tables_of_batch(),
        }
    }

    fn behind(&self, from: usize, word: &str) -> Option<usize> {
        let all = from..self.0.len();
        Some(all.into_iter().find(|at| self.word(*at) == Some(word))? + 1)
    }

    /// Returns the positions of the table names in a batch. The first statement begins after the
    /// first words of the batch. Each other statement begins after the end of the previous
    /// statement.
    fn tables_of_batch(&self) -> Vec<usize> {
        let mut tables = Vec::new();
        let mut at = self.behind(0, "batch").unwrap_or(self.0.len());
        while at < self.0.len() {
            let (begins, table) = match self.word(at) {
                Some("insert") => (true, self.behind(at, "into")),
                Some("update") if !self.is_symbol(at + 1, "=") => (true, Some(at + 1)),
                Some("delete") => (true, self.behind(at, "from")),
                _ => (false, None),
            };
            tables.extend(table);
            at = match table {
                Some(table) if begins => self.end_of_statement(table),
                _ => at + 1,
            };
        }
        tables
    }

    /// Returns the position after the end of the statement in a batch that contains the position
    /// `from`. If the statement does not end with `;`, it ends before `APPLY` or `INSERT INTO`.
    fn end_of_statement(&self, from: usize) -> usize {
        let ends = |at: &usize| {
            let next = self.word(at + 1);
            self.is_symbol(*at, ";")
                || matches!(self.word(at + 1), Some("apply"))
                || (next == Some("insert") && self.word(at + 2) == Some("into"))
        };
        (from..self.0.len()).find(ends).map_or(self.0.len(), |at| at + 1)
    }

    /// Returns the number of bind markers, which are `?` and `:name`.
    fn markers(&self) -> usize {
        let is_named = |at: usize| {
            self.is_symbol(at, ":")
                && matches!(self.0.get(at + 1), Some(next) if next.kind != TokenKind::Symbol
                    && next.kind != TokenKind::Text && next.at == self.0[at].at + 1)
                && !self.is_map_colon(at)
        };
        (0..self.0.len()).filter(|at| self.is_symbol(*at, "?") || is_named(*at)).count()
    }

    /// Returns true if a `:` separates a key from a value in a map. Such a colon follows a token
    /// that ends a value.
    fn is_map_colon(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.0.get(before));
        before.is_some_and(|token| match token.kind {
            TokenKind::Text | TokenKind::Quoted => true,
            TokenKind::Symbol => matches!(token.text.as_str(), "?" | "}" | "]" | ")"),
            TokenKind::Word => token.text.starts_with(|c: char| c.is_ascii_digit()),
        })
    }

    fn has_condition(&self) -> bool {
        (1..self.0.len()).any(|at| {
            let before = at.checked_sub(1).is_some_and(|at| self.is_symbol(at, "."));
            self.word(at) == Some("if") && !before
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analyse_text(cql: &str, used: Option<&str>) -> String {
        match analyse(cql, used) {
            Ok(known) => format!(
                "{} {}.{} {} markers{}: {}",
                known.verb.name(),
                known.table.0,
                known.table.1,
                known.markers,
                if known.conditional { " if" } else { "" },
                known.cql
            ),
            Err(why) => why.name().to_owned(),
        }
    }

    #[test]
    fn statements_are_known_by_what_they_do_and_get_their_keyspace() {
        for (cql, expected) in [
            (
                "SELECT a, b FROM users WHERE id = ? AND n = :n;",
                "select shop.users 2 markers: SELECT a, b FROM \"shop\".users WHERE id = ? AND n = \
                 :n",
            ),
            (
                "select \"from\" from \"Other\".\"T\" where k = 'a?b'",
                "select Other.T 0 markers: select \"from\" from \"Other\".\"T\" where k = 'a?b'",
            ),
            (
                "INSERT INTO t (a, m) VALUES (?, {1:2, ?:?, 'k':'v'}) IF NOT EXISTS",
                "insert shop.t 3 markers if: INSERT INTO \"shop\".t (a, m) VALUES (?, {1:2, ?:?, \
                 'k':'v'}) IF NOT EXISTS",
            ),
            (
                "UPDATE shop.t USING TTL ? SET a = ? WHERE k = ? IF a = ?",
                "update shop.t 4 markers if: UPDATE shop.t USING TTL ? SET a = ? WHERE k = ? IF a \
                 = ?",
            ),
            (
                "DELETE a FROM t WHERE k = ?",
                "delete shop.t 1 markers: DELETE a FROM \"shop\".t WHERE k = ?",
            ),
            (
                "BEGIN UNLOGGED BATCH INSERT INTO a (k) VALUES (?); UPDATE other.b SET v = 1 WHERE \
                 k = 2; DELETE FROM c WHERE k = 3 APPLY BATCH",
                "batch shop.a 1 markers: BEGIN UNLOGGED BATCH INSERT INTO \"shop\".a (k) VALUES (?)\
                 ; UPDATE other.b SET v = 1 WHERE k = 2; DELETE FROM \"shop\".c WHERE k = 3 APPLY \
                 BATCH",
            ),
            ("SELECT * FROM system.local", "system"),
            ("SELECT * FROM system_schema.tables", "system"),
            ("CREATE TABLE t (k int PRIMARY KEY)", "definition"),
            ("TRUNCATE t", "administration"),
            ("USE \"shop\"", "use"),
            ("SELECT 'a FROM t", "unknown"),
            // Cassandra and other programs disagree about the position at which this comment ends.
            ("-- a\rSELECT a FROM t /*\nSELECT b FROM t -- */", "unknown"),
            (
                "-- a\r\nSELECT a FROM t",
                "select shop.t 0 markers: -- a\r\nSELECT a FROM \"shop\".t",
            ),
            ("", "unknown"),
            ("INSERT INTO", "unknown"),
            ("SELECT", "unknown"),
        ] {
            assert_eq!(analyse_text(cql, Some("shop")), expected, "{cql}");
        }
        assert_eq!(analyse_text("SELECT a FROM t", None), "no_keyspace");
    }
}
