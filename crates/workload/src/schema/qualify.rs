//! Puts the tables that a statement names into a keyspace, where it does not say one itself.

use super::{Fault, Kind, Token, tokens};

/// Words before the name of a table, type or view.
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

/// The statement with `keyspace` before every table that has none.
pub(crate) fn qualify(cql: &str, keyspace: &str) -> Result<String, Fault> {
    let tokens = tokens(cql)?;
    let mut out = String::new();
    let mut copied = 0;
    let verb = tokens.first().map_or("", |token| token.text.as_str());
    for (number, token) in tokens.iter().enumerate() {
        let Some(name) = name_after(&tokens, number, verb) else {
            continue;
        };
        let is_qualified = tokens.get(name + 1).is_some_and(|next| next.text == ".");
        if is_qualified || token.kind != Kind::Word {
            continue;
        }
        let at = tokens[name].at;
        out += &cql[copied..at];
        out += &format!("\"{}\".", keyspace.replace('"', "\"\""));
        copied = at;
    }
    out += &cql[copied..];
    Ok(out)
}

/// The token that is a table's name, when `number` is a word that stands before one.
pub(super) fn name_after(tokens: &[Token], number: usize, verb: &str) -> Option<usize> {
    let word = &tokens[number];
    if word.kind != Kind::Word || !BEFORE.contains(&word.text.as_str()) {
        return None;
    }
    // `update` and `truncate` are verbs; `on`, `type`, `table` and `view` belong to schema only:
    // a column may have such a name.
    let fits = match word.text.as_str() {
        "update" | "truncate" => number == 0,
        "from" | "into" => !(verb == "update" && number > 0),
        // At most CREATE CUSTOM INDEX IF NOT EXISTS name stands before it.
        "on" => verb == "create" && number < 8,
        // The fifth word may be a column already.
        _ => matches!(verb, "create" | "alter" | "drop" | "truncate") && number < 4,
    };
    let mut next = number + 1;
    for skipped in ["if", "not", "exists"] {
        if tokens
            .get(next)
            .is_some_and(|t| t.kind == Kind::Word && t.text == skipped)
        {
            next += 1;
        }
    }
    let token = tokens.get(next)?;
    let is_name = matches!(token.kind, Kind::Word | Kind::Quoted);
    let is_keyword = token.kind == Kind::Word && matches!(token.text.as_str(), "table" | "using");
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
}
