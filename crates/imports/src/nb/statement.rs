//! The text of a statement, with its anchors, its markers, and the types that can be bound to the
//! markers.

use super::virtdata::{Recipe, Ty, Val};
use super::workload_file::Op;
use cql::tokens::TokenKind;
use cql::value::CqlType;
use workload::schema::{Marker, Table};

/// Returns the markers of the partition key's columns, in key order. Returns `None` unless all of
/// these columns have markers.
pub(super) fn key_markers(table: &Table, marked: &[Marker]) -> Option<Vec<usize>> {
    let bound = |column: &usize| {
        let column = Marker::Column(table.columns[*column].name.clone());
        marked.iter().position(|marker| *marker == column)
    };
    table.partition_key.iter().map(bound).collect()
}

/// Number of cycles whose values are examined to find the types of elements in a recipe's
/// collections.
const SAMPLES: i64 = 3;

/// Returns true if the driver can bind a recipe's values to a column of a CQL type.
pub(super) fn is_bindable(recipe: &Recipe, typ: &CqlType) -> bool {
    is_of_type(recipe.ty, typ)
        && (0..SAMPLES).all(|cycle| are_elements_bindable(&recipe.value(cycle), typ))
}

/// Returns true if a value of a Java type can be bound to a column. For a collection, the function
/// checks only the outer type.
fn is_of_type(ty: Ty, typ: &CqlType) -> bool {
    match ty {
        Ty::Long => matches!(typ, CqlType::Bigint | CqlType::Counter | CqlType::Time),
        Ty::Int => matches!(typ, CqlType::Int),
        Ty::Short => matches!(typ, CqlType::Smallint),
        Ty::Byte => matches!(typ, CqlType::Tinyint),
        Ty::Float => matches!(typ, CqlType::Float),
        Ty::Double => matches!(typ, CqlType::Double),
        Ty::Bool => matches!(typ, CqlType::Boolean),
        Ty::Text | Ty::Chars => matches!(typ, CqlType::Text | CqlType::Ascii),
        Ty::Uuid => matches!(typ, CqlType::Uuid | CqlType::Timeuuid),
        Ty::Date | Ty::Instant => matches!(typ, CqlType::Timestamp),
        Ty::Day => matches!(typ, CqlType::Date),
        Ty::Bytes => matches!(typ, CqlType::Blob),
        Ty::List => matches!(typ, CqlType::List(_)),
        Ty::Set => matches!(typ, CqlType::Set(_)),
        Ty::Map => matches!(typ, CqlType::Map(..)),
        Ty::Floats | Ty::Vector => matches!(typ, CqlType::Vector(..)),
        Ty::BigInt => matches!(typ, CqlType::Varint),
        Ty::Decimal => matches!(typ, CqlType::Decimal),
        Ty::Duration => matches!(typ, CqlType::Duration),
        Ty::Inet => matches!(typ, CqlType::Inet),
        Ty::Time => matches!(typ, CqlType::Time),
        Ty::Object => false,
    }
}

fn are_elements_bindable(value: &Val, typ: &CqlType) -> bool {
    let one = |value: &Val, typ: &CqlType| {
        is_of_type(value.ty(), typ) && are_elements_bindable(value, typ)
    };
    match (value, typ) {
        (Val::List(items), CqlType::List(typ) | CqlType::Set(typ)) => {
            items.iter().all(|item| one(item, typ))
        }
        (Val::Map(pairs), CqlType::Map(keys, values)) => {
            pairs.iter().all(|(key, value)| one(key, keys) && one(value, values))
        }
        _ => true,
    }
}

/// Returns the CQL without its last semicolon. Also renames an option that newer Cassandra releases
/// do not know.
pub(super) fn statement_text(op: &Op) -> String {
    let text = op.cql.text().unwrap_or("").trim().trim_end_matches(';').trim_end();
    text.replace("'sstable_compression'", "'class'")
}

/// Returns the first word of a statement after comments, in lower case. Returns an empty text if
/// the statement cannot be parsed.
pub(super) fn first_word(cql: &str) -> String {
    let first = cql::tokens::tokens(cql).ok().and_then(|all| all.into_iter().next());
    let word = first.filter(|token| token.kind == TokenKind::Word);
    word.map_or_else(String::new, |token| token.text)
}

pub(super) fn is_schema(cql: &str) -> bool {
    let schema = [
        "create", "drop", "alter", "truncate", "use", "grant", "revoke",
    ];
    schema.contains(&first_word(cql).as_str())
}

pub(super) fn is_cql(cql: &str) -> bool {
    let first = first_word(cql);
    let others = ["select", "insert", "update", "delete", "begin", "list"];
    is_schema(cql) || others.contains(&first.as_str())
}

pub(super) fn mentions(cql: &str, table: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    cql.split(|c| !is_part(c)).any(|word| word.eq_ignore_ascii_case(table))
}

/// A statement with markers instead of anchors.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct MarkedStatement {
    pub(super) cql: String,
    /// Names of the anchors, in the order of the statement.
    pub(super) names: Vec<String>,
    /// For each anchor, true if it was in quotes. The statement no longer contains these quotes.
    pub(super) quoted: Vec<bool>,
    /// For each anchor, the offset of its marker in `cql`.
    pub(super) places: Vec<usize>,
}

/// Replaces `{name}`, `?name` and `'{name}'` with markers. Leaves maps such as `{'a': 1}`
/// unchanged.
pub(super) fn anchors(cql: &str) -> MarkedStatement {
    let mut out = MarkedStatement::default();
    let mut rest = cql;
    while let Some((before, name, after)) = next_anchor(rest) {
        let quoted = name.starts_with('{') && before.ends_with('\'') && after.starts_with('\'');
        let (before, after) = if quoted {
            (&before[..before.len() - 1], &after[1..])
        } else {
            (before, after)
        };
        out.cql.push_str(before);
        out.places.push(out.cql.len());
        out.cql.push('?');
        let name = name.trim_matches(['{', '}', '?']);
        out.names.push(name.to_owned());
        out.quoted.push(quoted);
        rest = after;
    }
    out.cql.push_str(rest);
    out
}

/// Returns a statement with a value in place of each anchor. Returns `None` if an anchor has no
/// value.
pub(super) fn rendered(cql: &str, value: &mut dyn FnMut(&str) -> Option<String>) -> Option<String> {
    let (mut out, mut rest) = (String::new(), cql);
    while let Some((before, name, after)) = next_anchor(rest) {
        out.push_str(before);
        out.push_str(&value(name.trim_matches(['{', '}', '?']))?);
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

fn begins_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Returns true if a text in braces is the name of a binding. Files that NoSQLBench generates from
/// a schema name bindings after CQL types: `list<text>`, `map<int,text>`. If the text has a comma
/// outside of `<` and `>`, it is a literal.
pub(super) fn is_name_in_braces(text: &str) -> bool {
    let is_part = |c: char| is_part_of_name(c) || "<>,".contains(c);
    let comma_is_of_type = text.find(',').is_none_or(|comma| text[..comma].contains('<'));
    begins_name(text) && text.chars().all(is_part) && comma_is_of_type
}

/// Returns the first anchor, with the text before it and the text after it.
fn next_anchor(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find(['{', '?']) {
        let at = from + found;
        let after = &text[at + 1..];
        let braces = text[at..].starts_with('{');
        let length = match after.find('}') {
            Some(length) if braces => length,
            None if braces => 0,
            _ => after.find(|c| !is_part_of_name(c)).unwrap_or(after.len()),
        };
        let name = &after[..length];
        let is_anchor = if braces {
            is_name_in_braces(name)
        } else {
            begins_name(name)
        };
        if is_anchor {
            let end = at + 1 + length + usize::from(braces);
            return Some((&text[..at], &text[at..end], &text[end..]));
        }
        from = at + 1;
    }
    None
}

/// Returns true if a SELECT may return more rows than one page of the driver.
pub(super) fn may_be_long(cql: &str, table: Option<&Table>, marked: &[Marker]) -> bool {
    let lower = cql.to_lowercase();
    if lower.split_whitespace().any(|word| word == "limit") {
        return false;
    }
    let Some(table) = table else {
        return true;
    };
    let is_bound = |column: &usize| {
        let name = &table.columns[*column].name;
        let marker = Marker::Column(name.clone());
        marked.contains(&marker)
            || lower.contains(&format!("{name} ="))
            || lower.contains(&format!("{name}="))
    };
    let mut key = table.partition_key.iter().chain(&table.clustering);
    !key.all(is_bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_become_markers_and_maps_stay() {
        for (cql, expected, names) in [
            ("a={b} c=?d", "a=? c=?", "b d"),
            ("x='{b}' y='{c}z'", "x=? y='?z'", "b c"),
            ("{'class': 'x'} {a-b.c} ?", "{'class': 'x'} ? ?", "a-b.c"),
            ("{1} {} {a", "{1} {} {a", ""),
            (
                "{list<text>}, {map<int,text>}, {true,false}",
                "?, ?, {true,false}",
                "list<text> map<int,text>",
            ),
        ] {
            let anchored = anchors(cql);
            assert_eq!(anchored.cql, expected);
            assert_eq!(anchored.names.join(" "), names);
        }
        assert_eq!(anchors("x='{b}' y={c}").quoted, [true, false]);
    }

    #[test]
    fn statements_of_cql_are_told_from_other_texts() {
        for (text, is) in [
            ("-- the first\n// the second\n/* and */ SELECT 1", true),
            ("begin batch insert", true),
            ("verify-fields: key", false),
            ("GET http://host/", false),
            ("", false),
        ] {
            assert_eq!(is_cql(text), is, "{text}");
        }
    }

    #[test]
    fn values_are_written_in_the_place_of_anchors() {
        let mut value = |name: &str| (name == "t").then(|| "users".to_owned());
        let written = rendered("create table k.{t} (a map<int, int>)", &mut value);
        assert_eq!(
            written.as_deref(),
            Some("create table k.users (a map<int, int>)")
        );
        assert_eq!(rendered("drop table {u}", &mut value), None);
    }
}
