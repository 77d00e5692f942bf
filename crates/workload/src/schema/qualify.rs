//! Adds, finds and replaces the keyspaces that a statement names.

use super::{CqlMistake, Token, TokenKind, tokens};
use cql::tokens::quoted_name;

/// Words that may precede the name of a table, type or view.
const BEFORE: [&str; 9] = [
    "from",
    "into",
    "update",
    "table",
    "columnfamily",
    "type",
    "view",
    "truncate",
    "on",
];

/// Returns the statement with `keyspace` inserted before every name of a table, type or view that
/// does not have a keyspace.
pub fn qualify(cql: &str, keyspace: &str) -> Result<String, CqlMistake> {
    let tokens = tokens(cql)?;
    let mut out = String::new();
    let mut copied = 0;
    let verb = tokens.first().map_or("", |token| token.text.as_str());
    for (number, token) in tokens.iter().enumerate() {
        let Some(name) = name_after(&tokens, number, verb) else {
            continue;
        };
        let is_qualified = tokens.get(name + 1).is_some_and(|next| next.text == ".");
        if is_qualified || token.kind != TokenKind::Word {
            continue;
        }
        let at = tokens[name].at;
        out += &cql[copied..at];
        out += &format!("{}.", quoted_name(keyspace));
        copied = at;
    }
    out += &cql[copied..];
    Ok(out)
}

/// Returns the keyspaces that a statement names before tables, types and views.
pub fn keyspaces(tokens: &[Token]) -> Vec<&Token> {
    let verb = tokens.first().map_or("", |token| token.text.as_str());
    let names = (0..tokens.len()).filter_map(|number| name_after(tokens, number, verb));
    let is_qualified = |name: &usize| tokens.get(name + 1).is_some_and(|next| next.text == ".");
    names.filter(is_qualified).map(|name| &tokens[name]).collect()
}

/// Returns the table that a statement reads or writes, with its keyspace if the statement names the
/// keyspace.
pub fn named_table(tokens: &[Token]) -> Option<(Option<&str>, &str)> {
    let is_word = |at: usize, word: &str| {
        let token = tokens.get(at);
        token.is_some_and(|token| token.kind == TokenKind::Word && token.text == word)
    };
    let before = (0..tokens.len()).find(|at| {
        is_word(*at, "from") || is_word(*at, "into") || (*at == 0 && is_word(0, "update"))
    })?;
    let name = |at: usize| tokens.get(at).map(|token| token.text.as_str());
    match name(before + 2) {
        Some(".") => Some((name(before + 1), name(before + 3)?)),
        _ => Some((None, name(before + 1)?)),
    }
}

/// Returns the statement with the keyspace `to` instead of `from`. Replaces the keyspace before
/// tables, and before the types of columns in definitions.
pub fn moved(cql: &str, from: &str, to: &str) -> Result<String, CqlMistake> {
    let tokens = tokens(cql)?;
    let before_tables: Vec<usize> = keyspaces(&tokens).iter().map(|token| token.at).collect();
    let defines = tokens.first().is_some_and(|verb| verb.text == "create");
    let (mut out, mut copied) = (String::new(), 0);
    for pair in tokens.windows(2) {
        let [name, dot] = pair else { continue };
        let is_name = matches!(name.kind, TokenKind::Word | TokenKind::Quoted) && name.text == from;
        let is_before = dot.kind == TokenKind::Symbol && dot.text == ".";
        if is_name && is_before && (defines || before_tables.contains(&name.at)) {
            out += &cql[copied..name.at];
            out += &quoted_name(to);
            copied = dot.at;
        }
    }
    out += &cql[copied..];
    Ok(out)
}

/// Returns the index of the table, type or view name that follows token `number`, without `IF NOT
/// EXISTS`. Token `number` must be a word that precedes such a name.
pub fn name_after(tokens: &[Token], number: usize, verb: &str) -> Option<usize> {
    let word = &tokens[number];
    if word.kind != TokenKind::Word || !BEFORE.contains(&word.text.as_str()) {
        return None;
    }
    // The function accepts `update` and `truncate` only as the first word. It accepts `on`, `type`,
    // `table` and `view` only in schema statements and TRUNCATE, because a column in another
    // statement may have such a name.
    let fits = match word.text.as_str() {
        "update" | "truncate" => number == 0,
        "from" | "into" => !(verb == "update" && number > 0),
        // The longest sequence of words before `on` is CREATE CUSTOM INDEX IF NOT EXISTS name.
        "on" => verb == "create" && number < 8,
        // From the fifth word on, a word such as `type` may be the name of a column.
        _ => matches!(verb, "create" | "alter" | "drop" | "truncate") && number < 4,
    };
    let mut next = number + 1;
    for skipped in ["if", "not", "exists"] {
        if tokens.get(next).is_some_and(|t| t.kind == TokenKind::Word && t.text == skipped) {
            next += 1;
        }
    }
    let token = tokens.get(next)?;
    let is_name = matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
    let is_keyword =
        token.kind == TokenKind::Word && matches!(token.text.as_str(), "table" | "using");
    (fits && is_name && !is_keyword).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_without_a_keyspace_get_one() {
        for (cql, expected) in [
            (
                "select a, from_x from t where k = ?",
                "select a, from_x from \"ks\".t where k = ?",
            ),
            ("SELECT * FROM o.t", "SELECT * FROM o.t"),
            (
                "INSERT INTO \"T\" (a) VALUES (?)",
                "INSERT INTO \"ks\".\"T\" (a) VALUES (?)",
            ),
            (
                "UPDATE t SET type = ? WHERE k = ?",
                "UPDATE \"ks\".t SET type = ? WHERE k = ?",
            ),
            (
                "DELETE a FROM t WHERE k = ?",
                "DELETE a FROM \"ks\".t WHERE k = ?",
            ),
            ("TRUNCATE TABLE t", "TRUNCATE TABLE \"ks\".t"),
            ("truncate t", "truncate \"ks\".t"),
            (
                "CREATE TABLE IF NOT EXISTS t (type int PRIMARY KEY)",
                "CREATE TABLE IF NOT EXISTS \"ks\".t (type int PRIMARY KEY)",
            ),
            (
                "CREATE TABLE t (type int PRIMARY KEY)",
                "CREATE TABLE \"ks\".t (type int PRIMARY KEY)",
            ),
            (
                "CREATE CUSTOM INDEX IF NOT EXISTS i ON t (a)",
                "CREATE CUSTOM INDEX IF NOT EXISTS i ON \"ks\".t (a)",
            ),
            ("CREATE TYPE p (x int)", "CREATE TYPE \"ks\".p (x int)"),
            ("CREATE INDEX i ON t (a)", "CREATE INDEX i ON \"ks\".t (a)"),
            (
                "CREATE MATERIALIZED VIEW v AS SELECT * FROM t WHERE k IS NOT NULL",
                "CREATE MATERIALIZED VIEW \"ks\".v AS SELECT * FROM \"ks\".t WHERE k IS NOT NULL",
            ),
        ] {
            assert_eq!(qualify(cql, "ks").as_deref(), Ok(expected));
        }
    }

    #[test]
    fn a_keyspace_is_replaced_where_it_is_one_and_only_there() {
        for (cql, expected) in [
            // The statement keeps a column, an alias and a text that have the name of the keyspace.
            (
                "SELECT ks, 'ks.t' FROM \"ks\".\"t\" WHERE ks = ?",
                "SELECT ks, 'ks.t' FROM \"x\".\"t\" WHERE ks = ?",
            ),
            ("SELECT ks.a FROM KS.t", "SELECT ks.a FROM \"x\".t"),
            ("UPDATE ks.t SET ks = ?", "UPDATE \"x\".t SET ks = ?"),
            (
                "DELETE FROM ks.ks WHERE k = ?",
                "DELETE FROM \"x\".ks WHERE k = ?",
            ),
            (
                "INSERT INTO other.t (k) VALUES (?)",
                "INSERT INTO other.t (k) VALUES (?)",
            ),
            // A quoted name with different capital letters is another keyspace.
            ("SELECT a FROM \"KS\".t", "SELECT a FROM \"KS\".t"),
            (
                "CREATE TABLE ks.t (k int PRIMARY KEY, v frozen<ks.p>, ks text)",
                "CREATE TABLE \"x\".t (k int PRIMARY KEY, v frozen<\"x\".p>, ks text)",
            ),
            (
                "CREATE MATERIALIZED VIEW ks.v AS SELECT * FROM ks.t WHERE k IS NOT NULL",
                "CREATE MATERIALIZED VIEW \"x\".v AS SELECT * FROM \"x\".t WHERE k IS NOT NULL",
            ),
        ] {
            assert_eq!(moved(cql, "ks", "x").as_deref(), Ok(expected));
        }
    }

    #[test]
    fn every_keyspace_before_a_table_is_found() {
        for (cql, expected) in [
            ("SELECT a.b FROM t", &[][..]),
            ("SELECT a.b FROM ks.t", &["ks"]),
            ("CREATE INDEX i ON ks.t (a)", &["ks"]),
            (
                "CREATE MATERIALIZED VIEW a.v AS SELECT * FROM b.t WHERE k IS NOT NULL",
                &["a", "b"],
            ),
            ("CREATE TYPE IF NOT EXISTS ks.p (x int)", &["ks"]),
        ] {
            let tokens = tokens(cql).expect(cql);
            let found: Vec<&str> = keyspaces(&tokens).iter().map(|t| t.text.as_str()).collect();
            assert_eq!(found, expected, "{cql}");
        }
    }
}
