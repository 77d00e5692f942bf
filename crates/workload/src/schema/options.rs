//! Parses the options after `WITH` in statements that create keyspaces and tables.

use super::{Token, TokenKind, tokens};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A number, a word or a text. A text is without its quotes.
    Plain(String),
    /// `{'key': 'value', …}`.
    Map(Vec<(String, String)>),
}

/// Returns the options of a `CREATE KEYSPACE` or `CREATE TABLE`, each with its value. The result
/// omits clauses without a value (`CLUSTERING ORDER BY`, `COMPACT STORAGE`), and options that
/// cannot be parsed.
pub fn options(cql: &str) -> Vec<(String, OptionValue)> {
    let tokens = tokens(cql).unwrap_or_default();
    let Some(with) = with_of(&tokens) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut rest = &tokens[with + 1..];
    while let Some(end) = end_of_option(rest) {
        let (option, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        if let [name, equals, value @ ..] = option
            && name.kind == TokenKind::Word
            && is(equals, "=")
            && let Some(given) = given(value)
        {
            found.push((name.text.clone(), given));
        }
    }
    found
}

fn is(token: &Token, symbol: &str) -> bool {
    token.kind == TokenKind::Symbol && token.text == symbol
}

/// Returns the position of the `WITH` that begins the options. The function ignores tokens in
/// brackets. Returns `None` if the statement has no options.
fn with_of(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    tokens.iter().position(|token| {
        depth += depth_of(token);
        depth == 0 && token.kind == TokenKind::Word && token.text == "with"
    })
}

fn depth_of(token: &Token) -> i32 {
    match token.text.as_str() {
        "(" | "{" | "[" if token.kind == TokenKind::Symbol => 1,
        ")" | "}" | "]" if token.kind == TokenKind::Symbol => -1,
        _ => 0,
    }
}

/// Returns the number of tokens before the next `AND`, or before the end of the statement. Returns
/// `None` if no tokens are left.
fn end_of_option(tokens: &[Token]) -> Option<usize> {
    let mut depth = 0;
    let end = tokens.iter().position(|token| {
        depth += depth_of(token);
        depth == 0 && (token.kind == TokenKind::Word && token.text == "and" || is(token, ";"))
    });
    (!tokens.is_empty()).then(|| end.unwrap_or(tokens.len()))
}

fn given(value: &[Token]) -> Option<OptionValue> {
    match value {
        [open, inner @ .., close] if is(open, "{") && is(close, "}") => {
            let pairs = inner.split(|token| is(token, ",")).filter(|pair| !pair.is_empty());
            pairs.map(pair).collect::<Option<Vec<_>>>().map(OptionValue::Map)
        }
        _ => plain(value).map(OptionValue::Plain),
    }
}

fn pair(tokens: &[Token]) -> Option<(String, String)> {
    let [key, colon, value @ ..] = tokens else {
        return None;
    };
    (key.kind == TokenKind::Text && is(colon, ":"))
        .then(|| Some((key.text.clone(), plain(value)?)))
        .flatten()
}

/// Returns the value of an option that is a text, a word or a number. A number such as `-0.5`
/// consists of several tokens. Returns `None` for other values.
fn plain(value: &[Token]) -> Option<String> {
    let is_piece = |token: &Token| {
        token.kind == TokenKind::Word || is(token, ".") || is(token, "-") || is(token, "+")
    };
    match value {
        [text] if text.kind == TokenKind::Text => Some(text.text.clone()),
        [] => None,
        pieces => (pieces.iter().all(is_piece))
            .then(|| pieces.iter().map(|piece| piece.text.as_str()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_with_their_values() {
        let cql = "CREATE TABLE IF NOT EXISTS k.t (\"with\" int, b map<int, int>, PRIMARY KEY \
                   (\"with\")) WITH CLUSTERING ORDER BY (b DESC) AND gc_grace_seconds = 60 AND \
                   compaction = {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': 160} \
                   AND bloom_filter_fp_chance=0.01 AND comment = 'a and b' AND COMPACT STORAGE;";
        let map = [
            ("class", "LeveledCompactionStrategy"),
            ("sstable_size_in_mb", "160"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plain = |name: &str, text: &str| (name.to_owned(), OptionValue::Plain(text.to_owned()));
        assert_eq!(
            options(cql),
            [
                plain("gc_grace_seconds", "60"),
                ("compaction".to_owned(), OptionValue::Map(map.into())),
                plain("bloom_filter_fp_chance", "0.01"),
                plain("comment", "a and b"),
            ]
        );
    }

    #[test]
    fn an_unreadable_statement_has_no_options() {
        for cql in [
            "CREATE KEYSPACE k",
            "CREATE KEYSPACE k WITH",
            "CREATE KEYSPACE k WITH replication = {'class'}",
            "CREATE KEYSPACE k WITH replication = {",
            "CREATE KEYSPACE k WITH a = AND = b AND",
            "",
        ] {
            assert_eq!(options(cql), [], "{cql}");
        }
    }
}
