//! Predicts how often a server counts a statement, for comparison with the server's own counts.
//!
//! Cassandra counts a write once for each table that a request writes. It counts a read once for
//! each requested partition, and once for each page of a range. The module lists statements whose
//! count cannot be derived from the text. cassay does not report a difference as an error if such a
//! statement may explain it.

use super::qualify::name_after;
use super::{Token, TokenKind, tokens};
use crate::program::{Program, Statement};

/// Aggregate functions. The server reads the rows of an aggregate page by page, and does not report
/// the number of pages.
const AGGREGATES: [&str; 5] = ["avg", "count", "max", "min", "sum"];

/// Maximum number of tables that the engine distinguishes in one request. Each table has a bit of a
/// 64-bit number.
const TABLES_MAX: usize = 64;

/// Returns true if a write has a condition (`IF …`). The result of such a write states whether the
/// server applied the write.
pub fn is_conditional(cql: &str) -> bool {
    let tokens = tokens(cql).unwrap_or_default();
    let is_word = |token: &Token, word: &str| token.kind == TokenKind::Word && token.text == word;
    let writes = ["insert", "update", "delete", "begin"];
    let is_write = |verb: &Token| writes.iter().any(|write| is_word(verb, write));
    tokens.first().is_some_and(is_write) && tokens.iter().any(|token| is_word(token, "if"))
}

impl Statement {
    /// Returns the table that the statement reads or writes. The name includes the keyspace if the
    /// text does. Returns `None` if the statement is not a single read or write.
    pub fn table(&self) -> Option<String> {
        let tokens = tokens(&self.cql).ok()?;
        let verb = tokens.first()?.text.as_str();
        if !matches!(verb, "select" | "insert" | "update" | "delete") {
            return None;
        }
        let name = (0..tokens.len()).find_map(|word| name_after(&tokens, word, verb))?;
        let is_qualified = tokens.get(name + 1).is_some_and(|next| next.text == ".");
        let last = name + if is_qualified { 2 } else { 0 };
        let parts = tokens.get(name..=last)?;
        Some(parts.iter().map(|token| token.text.as_str()).collect())
    }

    /// Returns the reason why the server's count of this statement cannot be predicted. Returns
    /// `None` if it can be predicted, or if the text cannot be split into tokens.
    fn uncountable(&self) -> Option<String> {
        let tokens = tokens(&self.cql).ok()?;
        let is_word = |number: usize, word: &str| {
            let token = tokens.get(number);
            token.is_some_and(|token| token.kind == TokenKind::Word && token.text == word)
        };
        let is_call = |number: usize| {
            AGGREGATES.iter().any(|name| is_word(number, name))
                && tokens.get(number + 1).is_some_and(|next| next.text == "(")
        };
        let numbers = || 0..tokens.len();
        let why = if self.table().is_none() {
            "is not a single read or write"
        } else if !is_word(0, "select") {
            return None;
        } else if numbers().any(|number| is_word(number, "in")) {
            "contains IN, for which the server counts each partition"
        } else if numbers().any(is_call) || numbers().any(|number| is_word(number, "group")) {
            "contains an aggregate, for which the server counts each page"
        } else {
            return None;
        };
        Some(format!("`{}` {why}", self.cql))
    }
}

impl Program {
    /// Returns the reason why the server's counts cannot be derived from the client's counts.
    /// Returns `None` if they can be derived.
    pub fn uncountable(&self) -> Option<String> {
        let mut tables: Vec<_> = self.statements.iter().filter_map(Statement::table).collect();
        tables.sort_unstable();
        tables.dedup();
        if tables.len() > TABLES_MAX {
            return Some(format!(
                "the workload has {} tables, more than {TABLES_MAX}",
                tables.len()
            ));
        }
        let other = tables
            .iter()
            .filter_map(|name| name.split_once('.'))
            .find(|(keyspace, _)| *keyspace != self.keyspace);
        if let Some((keyspace, _)) = other {
            return Some(format!(
                "the workload uses the keyspace {keyspace} in addition to {}",
                self.keyspace
            ));
        }
        self.statements.iter().find_map(Statement::uncountable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cql::Consistency;

    fn statement(cql: &str) -> Statement {
        Statement::new(cql, 0, 0, Consistency::One)
    }

    #[test]
    fn a_statement_names_its_table() {
        for (cql, table) in [
            ("SELECT a FROM k.t WHERE b = ?", Some("k.t")),
            ("INSERT INTO \"K\".t (a) VALUES (?)", Some("K.t")),
            ("UPDATE t SET a = ? WHERE b = 1", Some("t")),
            (
                "DELETE a FROM k.t USING TIMESTAMP ? WHERE b = 1",
                Some("k.t"),
            ),
            ("BEGIN BATCH INSERT INTO t (a) VALUES (1) APPLY BATCH", None),
            ("CREATE TABLE t (a int PRIMARY KEY)", None),
        ] {
            assert_eq!(statement(cql).table().as_deref(), table, "{cql}");
        }
    }

    #[test]
    fn a_condition_is_a_word_of_a_write_wherever_it_stands() {
        for (cql, conditional) in [
            ("INSERT INTO t (a) VALUES (?) IF NOT EXISTS", true),
            ("UPDATE t SET a = ?\nWHERE b = ?\nIF\ta = ?", true),
            (
                "BEGIN BATCH DELETE FROM t WHERE a = 1 IF EXISTS APPLY BATCH",
                true,
            ),
            ("INSERT INTO t (a) VALUES (' if ')", false),
            ("UPDATE t SET \"if\" = ? WHERE b = ?", false),
            ("CREATE TABLE IF NOT EXISTS t (a int PRIMARY KEY)", false),
            ("SELECT a FROM t WHERE b = ' if '", false),
        ] {
            assert_eq!(is_conditional(cql), conditional, "{cql}");
        }
    }

    #[test]
    fn statements_that_a_server_counts_otherwise_are_known() {
        for (cql, countable) in [
            ("SELECT a FROM k.t WHERE b = ? AND c > ? LIMIT ?", true),
            ("SELECT count FROM k.t WHERE b = ?", true),
            ("SELECT a FROM k.t WHERE b IN (?, ?)", false),
            ("SELECT count(*) FROM k.t WHERE b = ?", false),
            ("SELECT b, c FROM k.t GROUP BY b", false),
            ("DELETE FROM k.t WHERE b IN (?, ?)", true),
            (
                "BEGIN BATCH INSERT INTO t (a) VALUES (1) APPLY BATCH",
                false,
            ),
        ] {
            assert_eq!(statement(cql).uncountable().is_none(), countable, "{cql}");
        }
    }
}
