//! Parses CQL types.

use super::tokens::{TokenReader, tokenize};
use cql::CqlType;

/// Maximum nesting depth of types. The types of Cassandra's own tables have a depth below 5.
pub const NESTING_MAX: usize = 32;

/// Parses a type in the form in which schemas contain it, such as `map<text, frozen<list<int>>>`.
/// Returns `None` if the text is not a type.
pub fn parse_type(text: &str) -> Option<CqlType> {
    column_type(&mut TokenReader::new(&tokenize(text)?), 0)
}

/// Parses a type at nesting level `depth`. Returns `None` if the next tokens are not a type, or if
/// it is nested too deeply.
pub fn column_type(cursor: &mut TokenReader, depth: usize) -> Option<CqlType> {
    if depth > NESTING_MAX {
        return None;
    }
    let name = cursor.next_name_or_text()?;
    let mut inner = Vec::new();
    let mut dimensions = 0;
    if cursor.skip_symbol('<') {
        while !cursor.skip_symbol('>') {
            if name == "vector" && !inner.is_empty() {
                dimensions = cursor.next_number()?.parse().ok()?;
            } else {
                inner.push(column_type(cursor, depth + 1)?);
            }
            cursor.skip_symbol(',');
        }
    }
    composed_type(&name, inner, dimensions)
}

/// Returns the type `name<inner, …>`. Returns blob for an unknown name, which may be a user-defined
/// type. Returns `None` if the parameters do not fit the name.
fn composed_type(name: &str, mut inner: Vec<CqlType>, dimensions: u32) -> Option<CqlType> {
    let last = inner.pop().map(Box::new);
    Some(match (name, last) {
        ("frozen", Some(of)) => *of,
        ("list", Some(of)) => CqlType::List(of),
        ("set", Some(of)) => CqlType::Set(of),
        ("map", Some(of)) => CqlType::Map(Box::new(inner.pop()?), of),
        ("vector", Some(of)) => CqlType::Vector(of, dimensions),
        ("tuple", Some(of)) => {
            inner.push(*of);
            CqlType::Tuple(inner)
        }
        (_, Some(_)) => return None,
        ("ascii", None) => CqlType::Ascii,
        ("bigint", None) => CqlType::Bigint,
        ("boolean", None) => CqlType::Boolean,
        ("counter", None) => CqlType::Counter,
        ("decimal", None) => CqlType::Decimal,
        ("double", None) => CqlType::Double,
        ("float", None) => CqlType::Float,
        ("int", None) => CqlType::Int,
        ("timestamp", None) => CqlType::Timestamp,
        ("uuid", None) => CqlType::Uuid,
        ("text" | "varchar", None) => CqlType::Text,
        ("varint", None) => CqlType::Varint,
        ("timeuuid", None) => CqlType::Timeuuid,
        ("inet", None) => CqlType::Inet,
        ("date", None) => CqlType::Date,
        ("time", None) => CqlType::Time,
        ("smallint", None) => CqlType::Smallint,
        ("tinyint", None) => CqlType::Tinyint,
        ("duration", None) => CqlType::Duration,
        (_, None) => CqlType::Blob,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_schemas_write_them() {
        let of = |typ| Box::new(typ);
        for (text, typ) in [
            ("varchar", Some(CqlType::Text)),
            ("frozen<list<INT>>", Some(CqlType::List(of(CqlType::Int)))),
            (
                "map<text, set<uuid>>",
                Some(CqlType::Map(
                    of(CqlType::Text),
                    of(CqlType::Set(of(CqlType::Uuid))),
                )),
            ),
            (
                "tuple<int, text>",
                Some(CqlType::Tuple(vec![CqlType::Int, CqlType::Text])),
            ),
            (
                "vector<float, 3>",
                Some(CqlType::Vector(of(CqlType::Float), 3)),
            ),
            ("my_type", Some(CqlType::Blob)),
            ("map<int>", None),
            ("list<", None),
            ("vector<float, x>", None),
        ] {
            assert_eq!(parse_type(text), typ, "{text}");
        }
        assert_eq!(parse_type(&"list<".repeat(100_000)), None);
    }
}
