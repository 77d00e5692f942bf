//! Describes the values of a column as an expression of a workload file. The expression contains
//! the sizes, compression and repetitions of the values, and the ranges of numbers. It never
//! contains the values themselves.

use super::bins::{BINS, bins, whole};
use super::yaml_text::word;
use crate::random::mix;
use cql::compression::lz4_block_bytes;
use cql::value::{CqlType, Value};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Maximum number of different values in a list of words.
const WORDS_MAX: usize = 50;
/// Minimum mean number of occurrences of each different value. If values occur less often, the
/// table may contain more different values than the sample.
const OCCURRENCES_MIN: usize = 8;
/// Sum of the shares in a list of words. Each share is accurate to a thousandth.
const PLACES: f64 = 1000.0;
/// Number of bytes that are compressed together to measure compression. It is the default chunk
/// size of Cassandra's tables.
const CHUNK_BYTES: usize = 16 << 10;
/// Maximum number of collection elements that the analysis examines.
const ELEMENTS_MAX: usize = 4000;
/// Limit of the numbers that determine the range of the expression `real`. cassay ignores numbers
/// at or above this limit.
const REAL_MAX: f64 = 1e15;

/// Values of a column without nulls. Each value has a weight.
pub(super) type Cells<'a> = [(&'a Value, f64)];

/// Returns an expression that generates values similar to `cells`. `squeeze` scales the
/// incompressible share of texts and blobs. With a factor of 1, the generated values compress like
/// the original values. Returns `None` if cassay cannot generate values of the type.
pub(super) fn expression(cells: &Cells<'_>, typ: &CqlType, squeeze: f64) -> Option<String> {
    if let Some(words) = few(cells, typ) {
        return Some(words);
    }
    Some(match typ {
        CqlType::Text | CqlType::Ascii => sized("text", cells, squeeze),
        CqlType::Blob => sized("blob", cells, squeeze),
        CqlType::Boolean => boolean(cells),
        CqlType::Uuid => "uuid".to_owned(),
        CqlType::Timeuuid => "timeuuid".to_owned(),
        CqlType::Inet => inet(cells),
        CqlType::Duration => word("1mo2d3h"),
        CqlType::Float | CqlType::Double | CqlType::Decimal => real(cells, typ),
        CqlType::List(of) | CqlType::Set(of) => {
            let function = if matches!(typ, CqlType::List(_)) {
                "list"
            } else {
                "set"
            };
            let element = expression(&elements(cells), of, squeeze)?;
            format!("{function}({element}, {})", counts(cells))
        }
        CqlType::Map(key, value) => {
            let keys = expression(&elements(cells), key, squeeze)?;
            let values = expression(&mapped(cells), value, squeeze)?;
            format!("map({keys}, {values}, {})", counts(cells))
        }
        CqlType::Vector(of, _) => format!("vector({})", expression(&elements(cells), of, squeeze)?),
        CqlType::Tuple(types) => tuple(cells, types.iter(), squeeze)?,
        CqlType::Udt(udt) => tuple(cells, udt.fields.iter().map(|(_, typ)| typ), squeeze)?,
        CqlType::Custom(_) => return None,
        _ => number(cells, typ),
    })
}

fn tuple<'t>(
    cells: &Cells<'_>,
    types: impl Iterator<Item = &'t CqlType>,
    squeeze: f64,
) -> Option<String> {
    let fields = types
        .enumerate()
        .map(|(at, typ)| expression(&fields_at(cells, at), typ, squeeze));
    Some(format!(
        "tuple({})",
        fields.collect::<Option<Vec<_>>>()?.join(", ")
    ))
}

/// Returns the values of one field of tuples or user-defined types. Omits missing fields.
pub(super) fn fields_at<'a>(cells: &Cells<'a>, place: usize) -> Vec<(&'a Value, f64)> {
    let of = |value: &'a Value| match value {
        Value::Tuple(fields) => fields.get(place),
        Value::Udt(fields) => fields.get(place).map(|(_, value)| value),
        _ => None,
    };
    let fields = cells.iter().filter_map(|(value, weight)| Some((of(value)?, *weight)));
    fields.filter(|(value, _)| !value.is_null()).collect()
}

/// Returns an expression for values that are few and repeat: a list of words with their shares, or
/// a single word. Returns `None` for other values.
fn few(cells: &Cells<'_>, typ: &CqlType) -> Option<String> {
    let kind = match typ {
        CqlType::Text | CqlType::Ascii => Placeholder::Letters,
        CqlType::Int | CqlType::Bigint | CqlType::Smallint | CqlType::Tinyint => Placeholder::Rank,
        CqlType::Varint | CqlType::Timestamp => Placeholder::Rank,
        _ => return None,
    };
    let mut weights: BTreeMap<Vec<u8>, f64> = BTreeMap::new();
    let mut total = 0.0;
    for (value, weight) in cells {
        let mut bytes = Vec::new();
        value.append(&mut bytes);
        *weights.entry(bytes).or_default() += weight;
        total += weight;
        if weights.len() > WORDS_MAX {
            return None;
        }
    }
    if weights.len() * OCCURRENCES_MIN > cells.len() || weights.is_empty() {
        return None;
    }
    let made = |(rank, bytes): (usize, &Vec<u8>)| {
        word(&match kind {
            Placeholder::Letters => letters(bytes.len(), rank as u64),
            Placeholder::Rank => (rank + 1).to_string(),
        })
    };
    let words: Vec<String> = weights.keys().enumerate().map(made).collect();
    let share = |weight: &f64| (weight / total * PLACES).round().max(1.0).to_string();
    let shares: Vec<String> = weights.values().map(share).collect();
    if words.len() == 1 {
        return words.into_iter().next();
    }
    Some(format!(
        "words({}, shares={})",
        words.join(", "),
        word(&shares.join(" "))
    ))
}

/// Placeholder that replaces a value in a list of words.
#[derive(Clone, Copy)]
enum Placeholder {
    /// Letters, with the same length as the value.
    Letters,
    /// The rank of the value among all values.
    Rank,
}

/// Returns `count` letters, which are different for each rank.
fn letters(count: usize, rank: u64) -> String {
    let letter = |at: u64| char::from(b'a' + (mix(rank << 32 | at) % 26) as u8);
    (0..count as u64).map(letter).collect()
}

/// Returns an expression such as `text(one_of(3, 8, 20), compressible=0.4)`.
fn sized(function: &str, cells: &Cells<'_>, squeeze: f64) -> String {
    let length = |value: &Value| {
        let mut bytes = Vec::new();
        value.append(&mut bytes);
        bytes.len() as f64
    };
    let sizes: Vec<(f64, f64)> = cells.iter().map(|(v, weight)| (length(v), *weight)).collect();
    let random = (random_share(cells) * squeeze).clamp(0.0, 1.0);
    let size = one_of(&sizes);
    if random > 0.98 {
        return format!("{function}({size})");
    }
    format!("{function}({size}, compressible={:.2})", 1.0 - random)
}

/// Returns the size of a chunk of consecutive values after compression with LZ4, as a share of the
/// original size.
fn random_share(cells: &Cells<'_>) -> f64 {
    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
    for (value, _) in cells {
        if bytes.len() >= CHUNK_BYTES {
            break;
        }
        value.append(&mut bytes);
    }
    if bytes.is_empty() {
        return 1.0;
    }
    (lz4_block_bytes(&bytes) as f64 / bytes.len() as f64).min(1.0)
}

/// Returns an expression for a size. The expression is one number, or a choice of several numbers.
fn one_of(sizes: &[(f64, f64)]) -> String {
    let sizes = whole(&bins(sizes, BINS), 0);
    match sizes[..] {
        [] => "10".to_owned(),
        [one] => one.to_string(),
        _ => {
            let all: Vec<String> = sizes.iter().map(u64::to_string).collect();
            format!("one_of({})", all.join(", "))
        }
    }
}

fn counts(cells: &Cells<'_>) -> String {
    let count = |value: &Value| match value {
        Value::List(values) | Value::Set(values) => values.len(),
        Value::Map(entries) => entries.len(),
        _ => 0,
    };
    let sizes: Vec<(f64, f64)> =
        cells.iter().map(|(v, weight)| (count(v) as f64, *weight)).collect();
    if sizes.is_empty() {
        return "1".to_owned();
    }
    one_of(&sizes)
}

/// Returns the elements of lists, sets and vectors, and the keys of maps.
fn elements<'a>(cells: &Cells<'a>) -> Vec<(&'a Value, f64)> {
    let mut all: Vec<(&Value, f64)> = Vec::new();
    for (value, weight) in cells {
        match value {
            Value::List(values) | Value::Set(values) | Value::Vector(values) => {
                all.extend(values.iter().map(|value| (value, *weight)));
            }
            Value::Map(entries) => all.extend(entries.iter().map(|(key, _)| (key, *weight))),
            _ => {}
        }
        if all.len() > ELEMENTS_MAX {
            break;
        }
    }
    all
}

fn mapped<'a>(cells: &Cells<'a>) -> Vec<(&'a Value, f64)> {
    let entries = |value: &'a Value| match value {
        Value::Map(entries) => entries.as_slice(),
        _ => &[],
    };
    let all = cells.iter().flat_map(|&(value, weight)| {
        entries(value).iter().map(move |(_, mapped)| (mapped, weight))
    });
    all.take(ELEMENTS_MAX).collect()
}

fn boolean(cells: &Cells<'_>) -> String {
    let total: f64 = cells.iter().map(|(_, weight)| weight).sum();
    let yes: f64 = cells
        .iter()
        .filter(|(value, _)| value.as_bool() == Some(true))
        .map(|(_, weight)| weight)
        .sum();
    format!(
        "boolean({:.3})",
        if total > 0.0 { yes / total } else { 0.5 }
    )
}

/// Returns an expression for IPv6 addresses if most values are IPv6 addresses. Otherwise returns an
/// expression for IPv4 addresses.
fn inet(cells: &Cells<'_>) -> String {
    let long = cells.iter().filter(|(v, _)| matches!(v, Value::Inet(IpAddr::V6(_)))).count();
    if long * 2 <= cells.len() {
        return "inet".to_owned();
    }
    // The addresses belong to the block that is reserved for documentation.
    let one = |n: u64| word(&format!("2001:db8::{:x}:{:x}", mix(n) & 0xFFFF, n + 1));
    format!("words({})", (0..32).map(one).collect::<Vec<_>>().join(", "))
}

fn real(cells: &Cells<'_>, typ: &CqlType) -> String {
    let number = |value: &Value| match value {
        Value::Decimal { unscaled, scale } => Some(signed(unscaled)? as f64 * 10f64.powi(-*scale)),
        other => other.as_f64(),
    };
    let numbers: Vec<f64> = cells
        .iter()
        .filter_map(|(value, _)| number(value))
        .filter(|n| n.is_finite() && n.abs() < REAL_MAX)
        .collect();
    let (Some(from), Some(to)) = (
        numbers.iter().copied().reduce(f64::min),
        numbers.iter().copied().reduce(f64::max),
    ) else {
        return "real(0..1)".to_owned();
    };
    if from == to && !matches!(typ, CqlType::Decimal) {
        return word(&from.to_string());
    }
    format!("real({}..{})", short(from), short(to))
}

/// Rounds a number to four significant digits. This precision is sufficient for the ends of a
/// range.
fn short(number: f64) -> f64 {
    // Parsing cannot fail here, since the text consists of formatted digits.
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// Returns an expression for whole numbers in the observed range.
fn number(cells: &Cells<'_>, typ: &CqlType) -> String {
    let Some((from, to)) = range(cells) else {
        return "uniform(0..100)".to_owned();
    };
    match to.checked_sub(from) {
        Some(0) if !matches!(typ, CqlType::Date | CqlType::Time | CqlType::Counter) => {
            word(&from.to_string())
        }
        Some(_) => format!("uniform({from}..{to})"),
        None => "hash".to_owned(),
    }
}

/// Returns the smallest and the largest value, in the units of a workload file. Dates are in days
/// since 1970, and times are in nanoseconds since midnight. Returns `None` if no cell contains a
/// number.
pub(super) fn range(cells: &Cells<'_>) -> Option<(i64, i64)> {
    let number = |value: &Value| match value {
        Value::Varint(bytes) => signed(bytes),
        Value::Date(day) => Some((i64::from(*day) - (1 << 31)).max(0)),
        Value::Timestamp(ms) | Value::Time(ms) => Some(*ms),
        other => other.as_i64(),
    };
    // The smallest 64-bit number is raised by 1, because ranges require that each number has a
    // positive counterpart.
    let numbers: Vec<i64> = cells
        .iter()
        .filter_map(|(value, _)| number(value))
        .map(|n| n.max(-i64::MAX))
        .collect();
    Some((*numbers.iter().min()?, *numbers.iter().max()?))
}

/// Parses a number in two's complement with at most eight bytes. Returns `None` for no bytes or
/// more bytes.
fn signed(bytes: &[u8]) -> Option<i64> {
    let first = *bytes.first()?;
    if bytes.len() > 8 {
        return None;
    }
    let fill = if first & 0x80 == 0 { 0 } else { -1 };
    Some(bytes.iter().fold(fill, |number, byte| number << 8 | i64::from(*byte)))
}
