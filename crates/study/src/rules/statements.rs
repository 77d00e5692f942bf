//! Decides which statements of a study only handle data, and which statements do more (decision
//! 028).
//!
//! A statement is parsed word by word without comments, as the server parses it, so that comments
//! cannot hide words. A statement does more if it changes objects outside the keyspace of the
//! study, grants access, or contains code. A read only handles data, because cassay compares the
//! rows and does not show them.

use cql::tokens::{CqlMistake, Token, TokenKind};

/// Kinds of objects that grant access or contain code. Every statement on such an object does more
/// than handle data.
const BEYOND: [&str; 6] = [
    "aggregate",
    "function",
    "identity",
    "role",
    "trigger",
    "user",
];

/// Words that precede the name of the object that a statement changes.
const BEFORE_A_NAME: [&str; 13] = [
    "columnfamily",
    "exists",
    "from",
    "index",
    "into",
    "keyspace",
    "on",
    "schema",
    "table",
    "truncate",
    "type",
    "update",
    "view",
];

/// Describes the first action of a statement that does more than store and read data in `keyspace`.
/// `None` if the statement has no such action.
///
/// # Errors
/// The text is not CQL, or is ambiguous.
pub fn beyond_data(cql: &str, keyspace: &str) -> Result<Option<String>, CqlMistake> {
    let tokens = cql::tokens::tokens(cql)?;
    Ok(beyond(&tokens, keyspace))
}

fn beyond(tokens: &[Token], keyspace: &str) -> Option<String> {
    let first = word(tokens, 0).unwrap_or_default();
    let makes = matches!(first, "create" | "alter" | "drop" | "add");
    let object = (1..tokens.len())
        .filter_map(|at| word(tokens, at))
        .clone()
        .find(|word| !["or", "replace"].contains(word))
        .unwrap_or_default();
    if makes && BEYOND.contains(&object) {
        return Some(format!(
            "{} {}",
            first.to_uppercase(),
            object.to_uppercase()
        ));
    }
    match first {
        "grant" | "revoke" => Some(first.to_uppercase()),
        "select" => None,
        "use" => name(tokens, 1).and_then(|other| other_keyspace(other, keyspace)),
        _ => {
            let changed = (0..tokens.len()).filter_map(|at| changed_keyspace(tokens, at));
            let mut others = changed.filter_map(|name| other_keyspace(name, keyspace));
            others.next().or_else(|| class_in(tokens).filter(|_| makes))
        }
    }
}

/// Returns true if a value names a class that does not belong to Cassandra. Cassandra searches its
/// own packages for a name without a package.
pub fn is_foreign_class(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        let begins = |c: char| c.is_alphabetic() || "_$".contains(c);
        chars.next().is_some_and(begins) && chars.all(|c| c.is_alphanumeric() || "_$".contains(c))
    };
    let text = text.trim();
    text.contains('.') && text.split('.').all(is_part) && !text.starts_with("org.apache.cassandra.")
}

/// Describes the change of a keyspace other than the study's own keyspace. `None` if `name` is the
/// study's own keyspace.
fn other_keyspace(name: &str, own: &str) -> Option<String> {
    if name == "system" || name.starts_with("system_") {
        return Some("a change of the server's own tables".to_owned());
    }
    (!name.eq_ignore_ascii_case(own)).then(|| {
        format!(
            "a statement that selects or changes keyspace {name}, which is not the study's \
             keyspace {own}"
        )
    })
}

/// Returns the keyspace of the object whose name begins at `at`.
fn changed_keyspace(tokens: &[Token], at: usize) -> Option<&str> {
    let found = name(tokens, at)?;
    let before = word(tokens, at.checked_sub(1)?)?;
    let is_keyspace = |word: &str| matches!(word, "keyspace" | "schema");
    let is_qualified = tokens
        .get(at + 1)
        .is_some_and(|next| next.kind == TokenKind::Symbol && next.text == ".");
    // This condition covers statements such as `CREATE KEYSPACE IF NOT EXISTS k`.
    let of_keyspace = is_keyspace(before) && !matches!(found, "if")
        || before == "exists" && word(tokens, 1).is_some_and(is_keyspace);
    (BEFORE_A_NAME.contains(&before) && (is_qualified || of_keyspace)).then_some(found)
}

/// Describes the first class in a definition that does not belong to Cassandra. Skips values of
/// `comment`, because they may contain any text.
fn class_in(tokens: &[Token]) -> Option<String> {
    let is_comment = |at: usize| {
        let before = at.checked_sub(2).and_then(|at| word(tokens, at));
        before == Some("comment")
    };
    let class = tokens.iter().enumerate().find(|(at, token)| {
        token.kind == TokenKind::Text && is_foreign_class(&token.text) && !is_comment(*at)
    })?;
    let class = &class.1.text;
    Some(format!(
        "the class {class}, which does not belong to Cassandra"
    ))
}

fn word(tokens: &[Token], at: usize) -> Option<&str> {
    let word = tokens.get(at).filter(|token| token.kind == TokenKind::Word)?;
    Some(&word.text)
}

/// Returns the name at `at`, which may be in quotes. `None` if the token is not a name.
fn name(tokens: &[Token], at: usize) -> Option<&str> {
    let is_name = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::Quoted);
    Some(&tokens.get(at).filter(is_name)?.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_access_or_the_server_are_not_data() {
        for cql in [
            "CREATE ROLE me WITH SUPERUSER = true AND PASSWORD = 'x'",
            "create or replace function f (a int) returns null on null input",
            "CREATE TRIGGER t ON k.t USING 'x'",
            "DROP USER cassandra",
            "ADD IDENTITY 'x' TO ROLE 'me'",
            "GRANT ALL ON ALL KEYSPACES TO me",
            "UPDATE system_auth.roles SET is_superuser = true WHERE role = 'me'",
            "DELETE FROM \"system_auth\" . roles WHERE role = 'x'",
            "/* data */ CREATE ROLE me",
            "-- data\nGRANT ALL ON ALL KEYSPACES TO me",
            "UPDATE // k.t\n system_auth.roles SET a = 1",
            "BEGIN BATCH UPDATE k.t SET a = 1; UPDATE other.t SET a = 1; APPLY BATCH",
            "USE system_auth",
            "TRUNCATE other.t",
            "DROP KEYSPACE IF EXISTS other",
            "CREATE SCHEMA other WITH replication = {}",
            "DROP TABLE IF EXISTS \"Other\".t",
            "CREATE INDEX i ON other.t (a)",
            "CREATE TABLE k.t (a int PRIMARY KEY) WITH compaction = {'class': 'evil.Strategy'}",
            "CREATE CUSTOM INDEX i ON k.t (a) USING $$evil.Index$$",
            "CREATE TABLE k.t (a 'evil.Type' PRIMARY KEY)",
        ] {
            assert!(
                beyond_data(cql, "k").expect("the statement can be parsed").is_some(),
                "{cql}"
            );
        }
        for cql in [
            "CREATE TABLE k.role (user text PRIMARY KEY)",
            "CREATE TABLE IF NOT EXISTS function (a int PRIMARY KEY)",
            "CREATE KEYSPACE IF NOT EXISTS K WITH replication = {'class': 'SimpleStrategy'}",
            "INSERT INTO k.t (a) VALUES (1.5)",
            "INSERT INTO k.t (a) VALUES ('UPDATE other.t')",
            "UPDATE k.t SET udt.part = 1 WHERE a = 1",
            "UPDATE t SET a = 1",
            "SELECT * FROM system.local",
            "SELECT * FROM other.t",
            "DROP TABLE IF EXISTS k.t",
            "INSERT INTO k.t (system) VALUES (1)",
            "INSERT INTO k.t (a) VALUES ('www.example.com')",
            "CREATE TABLE k.t (a int PRIMARY KEY) WITH comment = 'example.com' \
             AND compaction = {'class': 'org.apache.cassandra.db.compaction.Strategy'} \
             AND speculative_retry = '99.9PERCENTILE' AND compression = {'class': 'LZ4Compressor'}",
            "CREATE CUSTOM INDEX i ON k.t (a) USING 'StorageAttachedIndex'",
            "",
        ] {
            assert_eq!(beyond_data(cql, "k"), Ok(None), "{cql}");
        }
    }

    #[test]
    fn a_change_beyond_the_data_is_named() {
        assert_eq!(
            beyond_data("TRUNCATE other.t", "k"),
            Ok(Some(
                "a statement that selects or changes keyspace other, which is not the study's \
                 keyspace k"
                    .to_owned()
            ))
        );
    }
}
