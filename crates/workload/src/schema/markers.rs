//! Finds the column of each bind marker of a statement from the text of the statement.

use super::{CqlMistake, Table, Token, TokenKind, tokens};

/// Meaning of the values that are bound to a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A value that the statement writes to this column, or compares with it.
    Column(String),
    /// An int, as in `LIMIT ?`, `PER PARTITION LIMIT ?` and `TTL ?`.
    Int,
    /// A token of the default partitioner, as in `token(k) > ?`.
    Token,
    /// Microseconds since 1970, as in `TIMESTAMP ?`.
    Timestamp,
    /// The text does not determine the meaning of the marker.
    Unknown,
}

/// Returns the meanings of a statement's markers, `?` and `:name`, in bind order.
pub fn markers(cql: &str) -> Result<Vec<Marker>, CqlMistake> {
    let tokens = tokens(cql)?;
    let inserted = inserted(&tokens);
    let mut markers = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_named =
            is(token, ":") && tokens.get(at + 1).is_some_and(|t| t.kind == TokenKind::Word);
        let within_word = at > 0 && is(&tokens[at - 1], ":");
        if !(is(token, "?") || is_named) || within_word {
            continue;
        }
        let column = inserted.iter().find(|(marker, _)| *marker == at);
        markers.push(match column {
            Some((_, column)) => Marker::Column(column.clone()),
            None => before(&tokens[..at]),
        });
    }
    Ok(markers)
}

/// Returns true if a statement's WHERE clause restricts every column of the partition key of
/// `table` by `= ?`. Other reads may return rows of any partition, because they use an index or a
/// scan. The order of these rows is that of tokens or of a vector's neighbours.
pub fn binds_partition(cql: &str, table: &Table) -> bool {
    let tokens = tokens(cql).unwrap_or_default();
    let Some(start) = tokens.iter().position(|token| is_word(token, "where")) else {
        return false;
    };
    let gives = |name: &str| {
        let mut triples = tokens[start + 1..].windows(3);
        triples.any(|triple| {
            let is_name = matches!(triple[0].kind, TokenKind::Word | TokenKind::Quoted)
                && triple[0].text.eq_ignore_ascii_case(name);
            is_name && is(&triple[1], "=") && (is(&triple[2], "?") || is(&triple[2], ":"))
        })
    };
    let mut key = table.partition_key.iter();
    key.all(|column| gives(&table.columns[*column].name))
}

fn is(token: &Token, symbol: &str) -> bool {
    token.kind == TokenKind::Symbol && token.text == symbol
}

fn is_word(token: &Token, word: &str) -> bool {
    token.kind == TokenKind::Word && token.text == word
}

/// Returns the number of columns and the number of values that an INSERT lists. Returns `None` for
/// other statements.
pub fn insert_counts(tokens: &[Token]) -> Option<(usize, usize)> {
    let is_insert = tokens.first().is_some_and(|token| is_word(token, "insert"));
    let values = tokens.iter().position(|token| is_word(token, "values"))?;
    let list = |from: usize| {
        let open = from + tokens[from..].iter().position(|token| is(token, "("))?;
        let (mut depth, mut count) = (0, 1);
        for token in &tokens[open..] {
            match token.text.as_str() {
                "(" | "{" | "[" if token.kind == TokenKind::Symbol => depth += 1,
                ")" | "}" | "]" if token.kind == TokenKind::Symbol => depth -= 1,
                "," if token.kind == TokenKind::Symbol && depth == 1 => count += 1,
                _ => {}
            }
            if depth == 0 {
                return Some(count);
            }
        }
        None
    };
    is_insert.then(|| Some((list(0)?, list(values)?)))?
}

/// Returns the markers among the VALUES of an INSERT. For each marker, the result contains the
/// index of its token, and the column at the same position of the column list.
fn inserted(tokens: &[Token]) -> Vec<(usize, String)> {
    if !tokens.first().is_some_and(|token| is_word(token, "insert")) {
        return Vec::new();
    }
    let Some(open) = tokens.iter().position(|token| is(token, "(")) else {
        return Vec::new();
    };
    let names: Vec<&str> = tokens[open + 1..]
        .iter()
        .take_while(|token| !is(token, ")"))
        .filter(|token| !is(token, ","))
        .map(|token| token.text.as_str())
        .collect();
    let Some(values) = tokens.iter().position(|token| is_word(token, "values")) else {
        return Vec::new();
    };
    let (mut depth, mut position, mut found) = (0, 0, Vec::new());
    for (at, token) in tokens.iter().enumerate().skip(values + 1) {
        match token.text.as_str() {
            "(" | "{" | "[" if token.kind == TokenKind::Symbol => depth += 1,
            ")" | "}" | "]" if token.kind == TokenKind::Symbol => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            "," if token.kind == TokenKind::Symbol && depth == 1 => position += 1,
            "?" | ":" if token.kind == TokenKind::Symbol && depth == 1 => {
                if let Some(name) = names.get(position) {
                    found.push((at, (*name).to_owned()));
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns the meaning of a marker, which follows from the tokens before the marker.
fn before(tokens: &[Token]) -> Marker {
    let mut rest = tokens;
    // For `IN (?, ?)` and `token(?)`, the tokens before the parenthesis determine the column.
    let mut position = 0;
    let open = rest.iter().rposition(|token| is(token, "(") || is(token, ")"));
    if let Some(open) = open
        && is(&rest[open], "(")
        && rest[open + 1..]
            .iter()
            .all(|t| is(t, "?") || is(t, ",") || is(t, ":") || t.kind == TokenKind::Word)
        && !rest[open + 1..].iter().any(|t| is_word(t, "and"))
    {
        position = rest[open + 1..].iter().filter(|token| is(token, ",")).count();
        rest = &rest[..open];
        if rest.last().is_some_and(|token| is_word(token, "token")) {
            return token_column(&rest[..rest.len() - 1], position);
        }
    }
    let operators = ["=", "<", ">", "!", "+", "-"];
    let mut end = rest.len();
    while end > 0
        && rest[end - 1].kind == TokenKind::Symbol
        && operators.contains(&rest[end - 1].text.as_str())
    {
        end -= 1;
    }
    let Some(last) = end.checked_sub(1).map(|last| &rest[last]) else {
        return Marker::Unknown;
    };
    if is(last, ")") && end < rest.len() {
        let open = rest[..end].iter().rposition(|token| is(token, "("));
        let of = open.and_then(|open| open.checked_sub(1));
        return if of.is_some_and(|of| is_word(&rest[of], "token")) {
            Marker::Token
        } else {
            Marker::Unknown
        };
    }
    if last.kind == TokenKind::Quoted {
        return Marker::Column(last.text.clone());
    }
    if last.kind != TokenKind::Word {
        return Marker::Unknown;
    }
    match last.text.as_str() {
        "limit" | "ttl" => Marker::Int,
        "timestamp" if end == rest.len() => Marker::Timestamp,
        "in" | "contains" | "like" if end >= 2 => Marker::Column(rest[end - 2].text.clone()),
        "of" if end >= 3 && is_word(&rest[end - 2], "ann") => {
            Marker::Column(rest[end - 3].text.clone())
        }
        _ if position > 0 => Marker::Unknown,
        name => Marker::Column(name.to_owned()),
    }
}

/// Returns the column at a position in the `token(…)` on the left of the comparison.
fn token_column(tokens: &[Token], position: usize) -> Marker {
    let Some(open) = tokens.iter().rposition(|token| is(token, "(")) else {
        return Marker::Unknown;
    };
    let names = tokens[open + 1..]
        .iter()
        .take_while(|token| !is(token, ")"))
        .filter(|token| !is(token, ","));
    names
        .map(|token| token.text.clone())
        .nth(position)
        .map_or(Marker::Unknown, Marker::Column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_marker_finds_its_column() {
        let column = |name: &str| Marker::Column(name.to_owned());
        for (cql, expected) in [
            (
                "INSERT INTO t (a, \"B\", c) VALUES (?, ?, 5) USING TTL ? AND TIMESTAMP ?",
                vec![column("a"), column("B"), Marker::Int, Marker::Timestamp],
            ),
            (
                "INSERT INTO t (a, b) VALUES (uuid(), :x)",
                vec![column("b")],
            ),
            (
                "UPDATE t USING TIMESTAMP ? SET a = ?, c = c + ? WHERE k=? AND d >= ? IF a != ?",
                vec![
                    Marker::Timestamp,
                    column("a"),
                    column("c"),
                    column("k"),
                    column("d"),
                    column("a"),
                ],
            ),
            (
                "SELECT * FROM t WHERE token(a, b) >= token(?, ?) LIMIT ?",
                vec![column("a"), column("b"), Marker::Int],
            ),
            (
                "SELECT * FROM t WHERE k IN (?, ?) AND timestamp > ? AND l CONTAINS ?",
                vec![column("k"), column("k"), column("timestamp"), column("l")],
            ),
            ("DELETE FROM t WHERE k IN ?", vec![column("k")]),
            (
                "SELECT k FROM t WHERE token(a, b) > ? AND token(a, b) <= :end LIMIT 5",
                vec![Marker::Token, Marker::Token],
            ),
            (
                "SELECT k FROM t WHERE b = ? ORDER BY v ANN OF ? LIMIT ?",
                vec![column("b"), column("v"), Marker::Int],
            ),
            ("SELECT '?' FROM t -- ?", vec![]),
        ] {
            assert_eq!(markers(cql).as_ref(), Ok(&expected), "{cql}");
        }
    }

    #[test]
    fn a_read_by_the_whole_partition_key_is_told_from_others() {
        let table =
            "CREATE TABLE t (a text, \"B\" int, c int, v text, PRIMARY KEY ((a, \"B\"), c))";
        let Ok(crate::schema::DefinedObject::Table(table)) = crate::schema::parse(table, &[])
        else {
            panic!("no table: {table}");
        };
        for (rest, is_keyed) in [
            ("WHERE a = ? AND \"B\" = ?", true),
            ("where \"B\" = :b and A = ? and c > ? limit 3", true),
            ("WHERE a = ? ALLOW FILTERING", false),
            ("WHERE a IN (?) AND \"B\" = ?", false),
            ("WHERE a = 'x' AND \"B\" = ?", false),
            ("WHERE v = ?", false),
            ("WHERE token(a, \"B\") > token(?, ?) LIMIT 5", false),
            ("WHERE a = ? AND \"B\" > ? ALLOW FILTERING", false),
            ("ORDER BY v ANN OF ? LIMIT 5", false),
            ("LIMIT 10", false),
        ] {
            let text = format!("select * from t {rest}");
            assert_eq!(binds_partition(&text, &table), is_keyed, "{text}");
        }
    }

    #[test]
    fn columns_and_values_of_an_insert_are_counted() {
        for (cql, expected) in [
            ("INSERT INTO t (a, b) VALUES (?, {1, 2})", Some((2, 2))),
            (
                "INSERT INTO t (a, b) VALUES (f(1, 2), [?, ?], (1, 2))",
                Some((2, 3)),
            ),
            ("INSERT INTO t JSON ?", None),
            ("UPDATE t SET a = ?", None),
        ] {
            let tokens = tokens(cql).expect("tokens");
            assert_eq!(insert_counts(&tokens), expected, "{cql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(INSERT|VALUES|IN|token|[ab?:,()=<+ ]){0,30}") {
            let _ = markers(&text);
            let _ = tokens(&text).map(|tokens| insert_counts(&tokens));
        }
    }
}
