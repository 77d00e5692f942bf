//! Which statements of a study are data, and which are more (decision 028).
//!
//! A statement is read as the server reads it, word by word without its comments, so that nothing
//! hides behind one. What must hold: whatever changes something outside of the study's keyspace,
//! lets somebody in, or brings code, is named; reading is none of that, for what was read is
//! compared and shown to nobody.

/// A word of CQL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A keyword or a name, in small letters.
    Word(String),
    /// A name in double quotes.
    Name(String),
    /// A text.
    Text(String),
    /// Anything else that is not a space.
    Sign(char),
}

/// Objects that let somebody in or hold code, whatever is done to them.
const BEYOND: [&str; 6] = [
    "aggregate",
    "function",
    "identity",
    "role",
    "trigger",
    "user",
];

/// What stands before the name of something that is changed.
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

/// A statement of a study that does more than keep and read data in `keyspace`, in words; none: it
/// is data.
pub fn beyond_data(cql: &str, keyspace: &str) -> Option<String> {
    let tokens = tokens(cql);
    let first = word(&tokens, 0).unwrap_or_default();
    let makes = matches!(first, "create" | "alter" | "drop" | "add");
    let object = (1..tokens.len()).filter_map(|at| word(&tokens, at));
    let object = object
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
        "use" => name(&tokens, 1).and_then(|other| other_keyspace(other, keyspace)),
        _ => {
            let changed = (0..tokens.len()).filter_map(|at| changed_keyspace(&tokens, at));
            let mut others = changed.filter_map(|name| other_keyspace(name, keyspace));
            others
                .next()
                .or_else(|| class_in(&tokens).filter(|_| makes))
        }
    }
}

/// Whether a value names a class that is not one of Cassandra's own. A name without a package is
/// looked for in Cassandra's.
pub fn is_foreign_class(text: &str) -> bool {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        let begins = |c: char| c.is_alphabetic() || "_$".contains(c);
        chars.next().is_some_and(begins) && chars.all(|c| c.is_alphanumeric() || "_$".contains(c))
    };
    let text = text.trim();
    text.contains('.') && text.split('.').all(is_part) && !text.starts_with("org.apache.cassandra.")
}

/// A change of a keyspace that is not the study's, in words.
fn other_keyspace(name: &str, own: &str) -> Option<String> {
    if name == "system" || name.starts_with("system_") {
        return Some("a change of the server's own tables".to_owned());
    }
    (!name.eq_ignore_ascii_case(own))
        .then(|| format!("a change of the keyspace {name}, while the study's own is {own}"))
}

/// The keyspace of what is changed, if its name begins at `at`.
fn changed_keyspace(tokens: &[Token], at: usize) -> Option<&str> {
    let found = name(tokens, at)?;
    let before = word(tokens, at.checked_sub(1)?)?;
    let is_keyspace = |word: &str| matches!(word, "keyspace" | "schema");
    let is_qualified = tokens.get(at + 1) == Some(&Token::Sign('.'));
    // `CREATE KEYSPACE IF NOT EXISTS k`.
    let of_keyspace = is_keyspace(before) && !matches!(found, "if")
        || before == "exists" && word(tokens, 1).is_some_and(is_keyspace);
    (BEFORE_A_NAME.contains(&before) && (is_qualified || of_keyspace)).then_some(found)
}

/// The first class in a definition that is not Cassandra's own, in words. A comment may say
/// anything.
fn class_in(tokens: &[Token]) -> Option<String> {
    let is_comment = |at: usize| {
        let before = at.checked_sub(2).and_then(|at| word(tokens, at));
        before == Some("comment")
    };
    let class = tokens
        .iter()
        .enumerate()
        .find_map(|(at, token)| match token {
            Token::Text(text) if is_foreign_class(text) && !is_comment(at) => Some(text),
            _ => None,
        })?;
    Some(format!(
        "the class {class}, which is not one of Cassandra's"
    ))
}

fn word(tokens: &[Token], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some(Token::Word(word)) => Some(word),
        _ => None,
    }
}

/// A name, quoted or not.
fn name(tokens: &[Token], at: usize) -> Option<&str> {
    match tokens.get(at) {
        Some(Token::Word(name) | Token::Name(name)) => Some(name),
        _ => None,
    }
}

fn tokens(cql: &str) -> Vec<Token> {
    let mut rest = cql;
    let mut tokens = Vec::new();
    while let Some(c) = rest.chars().next() {
        let quoted = |quote: &str| {
            let inside = rest.strip_prefix(quote)?;
            Some(until(inside, quote))
        };
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if rest.starts_with("--") || rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some((text, after)) = quoted("$$").or_else(|| quoted("'")) {
            tokens.push(Token::Text(text));
            rest = after;
        } else if let Some((name, after)) = quoted("\"") {
            tokens.push(Token::Name(name));
            rest = after;
        } else if is_of_word(c) {
            let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_lowercase()));
            rest = &rest[end..];
        } else {
            if !c.is_whitespace() {
                tokens.push(Token::Sign(c));
            }
            rest = &rest[c.len_utf8()..];
        }
    }
    tokens
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What stands before the closing quote, and what behind it; a doubled quote stands for itself.
fn until<'a>(inside: &'a str, quote: &str) -> (String, &'a str) {
    let mut text = String::new();
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once(quote) {
        text += before;
        rest = after;
        match rest.strip_prefix(quote) {
            Some(after) if quote != "$$" => {
                text += quote;
                rest = after;
            }
            _ => return (text, rest),
        }
    }
    (text + rest, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_let_in_run_or_change_the_server_are_told_from_data() {
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
            assert!(beyond_data(cql, "k").is_some(), "{cql}");
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
            "'",
            "/*",
            "",
        ] {
            assert_eq!(beyond_data(cql, "k"), None, "{cql}");
        }
    }

    #[test]
    fn what_would_be_changed_is_named() {
        let said = beyond_data("TRUNCATE other.t", "k").unwrap();
        assert_eq!(
            said,
            "a change of the keyspace other, while the study's own is k"
        );
    }
}
