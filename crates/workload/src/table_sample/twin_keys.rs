//! Primary keys of a similar table. The partitions differ from the partitions of the original, but
//! have the same numbers of rows.

use super::shape::{Cells, expression, fields_at, range};
use super::yaml_text::quoted;
use cql::value::CqlType;

const STEP_MS: i64 = 1000;
/// Default start of times: 2024-01-01, in ms since 1970.
const START_MS: i64 = 1_704_067_200_000;
/// Minimum number of characters of random texts. With this length, the texts for different numbers
/// are almost certainly different.
const UNIQUE_CHARACTERS: f64 = 16.0;

/// Returns an expression for values that are similar to those of a column and differ for all
/// numbers. Returns `None` if the type does not permit this.
pub(super) fn unique(cells: &Cells<'_>, typ: &CqlType) -> Option<String> {
    let length = mean_length(cells);
    Some(match typ {
        CqlType::Uuid => "uuid".to_owned(),
        CqlType::Timeuuid => format!("timeuuid(start={START_MS}, step={STEP_MS}ms)"),
        CqlType::Timestamp => times(cells),
        CqlType::Text | CqlType::Ascii if length >= UNIQUE_CHARACTERS => {
            format!("text({})", length.round())
        }
        // The texts consist of digits and have the observed length, if this number of digits
        // distinguishes enough rows.
        CqlType::Text | CqlType::Ascii => digits(length),
        CqlType::Blob if length >= UNIQUE_CHARACTERS => format!("blob({})", length.round()),
        CqlType::Blob | CqlType::Varint => "row".to_owned(),
        CqlType::Bigint => "hash".to_owned(),
        CqlType::Int | CqlType::Decimal | CqlType::Date => "row".to_owned(),
        CqlType::Tuple(types) => tuple(cells, types.iter())?,
        CqlType::Udt(udt) => tuple(cells, udt.fields.iter().map(|(_, typ)| typ))?,
        _ => return None,
    })
}

/// Returns an expression for values that differ for all positions in a partition, counted from 0.
/// Returns `None` if the type does not permit this.
pub(super) fn by_place(cells: &Cells<'_>, typ: &CqlType) -> Option<String> {
    let from = range(cells).map_or(0, |(from, _)| from.max(0));
    Some(match typ {
        CqlType::Int | CqlType::Smallint | CqlType::Tinyint => "row".to_owned(),
        CqlType::Bigint | CqlType::Varint => format!("row(from={})", from.min(1 << 62)),
        CqlType::Date => "row".to_owned(),
        other => return unique(cells, other),
    })
}

/// Builds an expression for tuples, field by field. The first field whose type permits unique
/// values gets unique values. Returns `None` if no field permits them.
fn tuple<'t>(cells: &Cells<'_>, types: impl Iterator<Item = &'t CqlType>) -> Option<String> {
    let mut is_unique = false;
    let mut fields = Vec::new();
    for (place, typ) in types.enumerate() {
        let own = fields_at(cells, place);
        match unique(&own, typ).filter(|_| !is_unique) {
            Some(made) => {
                is_unique = true;
                fields.push(made);
            }
            None => fields.push(expression(&own, typ, 1.0)?),
        }
    }
    is_unique.then(|| format!("tuple({})", fields.join(", ")))
}

fn mean_length(cells: &Cells<'_>) -> f64 {
    let mut bytes = Vec::new();
    cells.iter().for_each(|(value, _)| value.append(&mut bytes));
    bytes.len() as f64 / cells.len().max(1) as f64
}

/// Returns an expression such as `row(from=10000000)`, which generates numbers of about `length`
/// digits.
fn digits(length: f64) -> String {
    // The range begins with at least nine digits, so that a billion rows never require another
    // digit.
    let places = (length.round() as u32).clamp(9, 18);
    format!("row(from={})", 10u64.pow(places - 1))
}

/// Returns an expression for times that begin with the first observed time.
fn times(cells: &Cells<'_>) -> String {
    let first = range(cells).map_or(START_MS, |(from, _)| from);
    // A workload file accepts only times from 1970 to 9999.
    let start = first.clamp(0, 253_402_300_799_999);
    format!("timestamp(start={start}, step={STEP_MS}ms)")
}

/// Formats a value of a workload file. `more` contains further keys next to the expression.
pub(super) fn value(expression: &str, more: &[(&str, String)]) -> String {
    if more.is_empty() {
        return quoted(expression);
    }
    let more: Vec<String> = more.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    format!("{{is: {}, {}}}", quoted(expression), more.join(", "))
}
