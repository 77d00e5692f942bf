//! Converts an expression and a CQL type to a generator. If they do not match, returns a message
//! that explains the reason.

use super::csv::Csv;
use super::expr::{Argument, Expr, Form, Wrong, split};
use super::literal;
use super::range::{from_zero, least, signed};
use super::sizes::{Sizes, sampler};
use super::value_generators::{As, Gen, Number};
use super::word_list::words;
use crate::compressible::random_bytes;
use crate::params::whole_number;
use cql::value::{CqlType, fixed_bytes};
use std::sync::Arc;
use yaml::did_you_mean;

/// Maximum size of a value, in bytes. It is the limit of Cassandra's commit log with its default
/// segment size, minus space for the rest of the row.
pub(super) const BYTES_MAX: u64 = 16_000_000;
/// Maximum number of elements of a collection. With far fewer elements, Cassandra already warns and
/// becomes slow.
const ELEMENTS_MAX: u64 = 65_535;
/// Default start of generated times, which is 2024-01-01, in ms since 1970.
const START_MS_DEFAULT: i64 = 1_704_067_200_000;

pub(super) const FUNCTIONS: [&str; 23] = [
    "row",
    "hash",
    "sequence",
    "uniform",
    "gaussian",
    "exponential",
    "zipf",
    "fixed",
    "real",
    "text",
    "blob",
    "words",
    "uuid",
    "timeuuid",
    "timestamp",
    "boolean",
    "inet",
    "list",
    "set",
    "map",
    "tuple",
    "vector",
    "column",
];

/// Properties of the numbers from which values are computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a> {
    /// The largest number. `None` if the numbers are unbounded, as for operations and added rows.
    pub(super) last: Option<u64>,
    /// The CSV whose records are the rows, if the file names a CSV.
    pub(super) csv: Option<&'a Csv>,
}

pub(super) fn resolve(expr: &Expr, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
    match &expr.form {
        Form::Number | Form::Text(_) => constant(expr, typ),
        Form::Call { name, .. } => call(expr, name, typ, numbers),
    }
}

fn constant(expr: &Expr, typ: &CqlType) -> Result<Gen, Wrong> {
    if expr.text.contains("..") && matches!(expr.form, Form::Number) {
        let message = format!("`{}` is a range, not a value", expr.text);
        return Err(Wrong::new(expr.at, message).hint(format!("uniform({})", expr.text)));
    }
    literal::bytes(expr, typ).map(Gen::Fixed)
}

fn call(expr: &Expr, name: &str, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
    match name {
        "true" | "false" => constant(expr, typ),
        "fixed" => match expr.arguments() {
            [Argument { name: None, value }] => constant(value, typ),
            _ => Err(Wrong::new(expr.at, "fixed has one value, as in fixed(100)")),
        },
        "row" | "hash" | "sequence" | "uniform" | "gaussian" | "exponential" | "zipf" => {
            number(expr, typ, numbers)
        }
        "real" => real(expr, typ),
        "text" => {
            allowed(expr, typ, matches!(typ, CqlType::Text | CqlType::Ascii))?;
            let (size, random) = sized(expr)?;
            Ok(Gen::Text { size, random })
        }
        "blob" => {
            allowed(expr, typ, matches!(typ, CqlType::Blob))?;
            let (size, random) = sized(expr)?;
            Ok(Gen::Blob { size, random })
        }
        "words" => words(expr, typ),
        "column" => column(expr, typ, numbers),
        "uuid" => {
            allowed(expr, typ, matches!(typ, CqlType::Uuid))?;
            no_arguments(expr, Gen::Uuid)
        }
        "timeuuid" => {
            allowed(expr, typ, matches!(typ, CqlType::Timeuuid | CqlType::Uuid))?;
            let (start_ms, step_ms) = times(expr)?;
            Ok(Gen::Timeuuid { start_ms, step_ms })
        }
        "timestamp" => {
            let (start_ms, step_ms) = times(expr)?;
            let written = match typ {
                CqlType::Timestamp | CqlType::Bigint => As::Int(8),
                CqlType::Date => As::DayOfTime,
                CqlType::Time => As::TimeOfTime,
                CqlType::Varint => As::Varint,
                _ => return Err(unfit(expr, typ)),
            };
            Ok(Gen::Number(Number::Time { start_ms, step_ms }, written))
        }
        "boolean" => boolean(expr, typ),
        "inet" => {
            allowed(expr, typ, matches!(typ, CqlType::Inet))?;
            no_arguments(expr, Gen::Inet)
        }
        "list" | "set" | "map" | "tuple" | "vector" => collection(expr, name, typ, numbers),
        _ => {
            let message = format!("function `{name}` for values does not exist");
            let hint = did_you_mean(name, FUNCTIONS);
            Err(Wrong {
                hint,
                ..Wrong::new(expr.at, message)
            })
        }
    }
}

fn unfit(expr: &Expr, typ: &CqlType) -> Wrong {
    let message = format!("`{}` generates no values of type {typ}", expr.text);
    let fitting = match typ {
        CqlType::Text | CqlType::Ascii => "text(10..20), words(a, b), row or hash",
        CqlType::Blob => "blob(100)",
        CqlType::Boolean => "boolean or boolean(0.9)",
        CqlType::Float | CqlType::Double | CqlType::Decimal => "real(0..100) or uniform(0..100)",
        CqlType::Timestamp | CqlType::Date | CqlType::Time => {
            "timestamp(start='2024-01-01', step=1s)"
        }
        CqlType::Uuid => "uuid",
        CqlType::Timeuuid => "timeuuid",
        CqlType::Inet => "inet",
        CqlType::List(_) => "list(value, size)",
        CqlType::Set(_) => "set(value, size)",
        CqlType::Map(..) => "map(key, value, size)",
        CqlType::Tuple(_) | CqlType::Udt(_) => "tuple(value, value, …)",
        CqlType::Vector(..) => "vector(value)",
        CqlType::Duration => "a constant such as '1mo2d3h'",
        CqlType::Custom(_) => return Wrong::new(expr.at, message),
        _ => "row, hash, uniform(1..100) or a number",
    };
    Wrong::new(expr.at, message).hint(format!("for {typ}, write {fitting}"))
}

fn allowed(expr: &Expr, typ: &CqlType, is_allowed: bool) -> Result<(), Wrong> {
    if is_allowed {
        Ok(())
    } else {
        Err(unfit(expr, typ))
    }
}

fn no_arguments(expr: &Expr, made: Gen) -> Result<Gen, Wrong> {
    match expr.arguments().first() {
        None => Ok(made),
        Some(extra) => {
            let message = format!("{} has no arguments", expr.name());
            Err(Wrong::new(extra.value.at, message))
        }
    }
}

fn number_of(expr: &Expr) -> Result<u64, Wrong> {
    whole_number(&expr.text).ok_or_else(|| {
        let message = format!("`{}` is not a whole number of at least 0", expr.text);
        Wrong::new(expr.at, message)
    })
}

fn number(expr: &Expr, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
    let (number, last) = match expr.name() {
        "row" => row(expr, numbers)?,
        "hash" => {
            no_arguments(expr, Gen::Inet)?;
            (Number::Hash, None)
        }
        "sequence" if expr.arguments().is_empty() => row(expr, numbers)?,
        _ => {
            let (from, moved) = from_zero(expr);
            if let Some(least) = least(typ).filter(|least| from < *least) {
                let message = format!("`{}` begins at {from}; {typ} begins at {least}", expr.text);
                return Err(Wrong::new(expr.at, message));
            }
            let sampler = sampler(moved.as_ref().unwrap_or(expr), (0, i64::MAX as u64))?;
            // If a range is entirely below 0, its largest value is certainly below the largest
            // value of every type.
            let last = sampler.range().1.checked_add_signed(from).unwrap_or(0);
            (Number::Draw(from, sampler), Some(last))
        }
    };
    let is_hash = matches!(number, Number::Hash);
    let (written, max) = match typ {
        CqlType::Tinyint => (As::Int(1), i8::MAX as u64),
        CqlType::Smallint => (As::Int(2), i16::MAX as u64),
        CqlType::Int => (As::Int(4), i32::MAX as u64),
        CqlType::Bigint | CqlType::Counter => (As::Int(8), u64::MAX),
        CqlType::Timestamp => (As::Int(8), u64::MAX),
        CqlType::Time => (As::Int(8), 86_399_999_999_999),
        CqlType::Blob => (As::Int(8), u64::MAX),
        CqlType::Text | CqlType::Ascii => (As::Digits, u64::MAX),
        CqlType::Varint => (As::Varint, u64::MAX),
        CqlType::Decimal => (As::Decimal, u64::MAX),
        CqlType::Float => (As::Float, u64::MAX),
        CqlType::Double => (As::Double, u64::MAX),
        // A day is an unsigned 32-bit number with 1970-01-01 in the middle of its range, so days
        // from 1970 on have 31 bits.
        CqlType::Date => (As::Day, i32::MAX as u64),
        CqlType::Inet if is_hash => return Ok(Gen::Inet),
        CqlType::Uuid if is_hash => return Ok(Gen::Uuid),
        CqlType::Boolean if is_hash => return Ok(Gen::Boolean { share: 0.5 }),
        _ => return Err(unfit(expr, typ)),
    };
    // Hashes can be truncated to any width of integers. A time of day is an exception, because its
    // values have a limit that is not a power of two.
    if is_hash && !matches!(typ, CqlType::Time) || last.unwrap_or(u64::MAX) <= max {
        return Ok(Gen::Number(number, written));
    }
    let reached = last.map_or("any number".to_owned(), |last| last.to_string());
    let message = format!("`{}` reaches {reached}; {typ} ends at {max}", expr.text);
    Err(Wrong::new(expr.at, message).hint("limit the values: row(modulo=1000), uniform(0..100)"))
}

/// Reads `row(from=0, divide=1, modulo=n)`. Returns the number and its largest value.
fn row(expr: &Expr, numbers: Numbers<'_>) -> Result<(Number, Option<u64>), Wrong> {
    let (positional, named) = split(expr, &["from", "divide", "modulo"])?;
    if let Some(extra) = positional.first() {
        let message = "`row` takes the named arguments from, divide and modulo";
        return Err(Wrong::new(extra.at, message).hint("row(divide=10)"));
    }
    let read = |place: usize| named[place].map(number_of).transpose();
    let from = read(0)?.unwrap_or(0);
    let divide = read(1)?.unwrap_or(1);
    let modulo = read(2)?;
    if divide == 0 || modulo == Some(0) || from > i64::MAX as u64 {
        let message = "divide and modulo must be at least 1, and from fit 63 bits";
        return Err(Wrong::new(expr.at, message));
    }
    let step = match (numbers.last, modulo) {
        (Some(last), Some(modulo)) => Some((last / divide).min(modulo - 1)),
        (Some(last), None) => Some(last / divide),
        (None, modulo) => modulo.map(|modulo| modulo - 1),
    };
    let number = Number::Row {
        from,
        divide,
        modulo,
    };
    Ok((number, step.map(|step| from.saturating_add(step))))
}

fn real(expr: &Expr, typ: &CqlType) -> Result<Gen, Wrong> {
    let written = match typ {
        CqlType::Float => As::Float,
        CqlType::Double => As::Double,
        CqlType::Decimal => As::Decimal,
        _ => return Err(unfit(expr, typ)),
    };
    let wrong = || {
        let message = format!("`{}` does not have the form real(from..to)", expr.text);
        Wrong::new(expr.at, message).hint("real(0..1), real(-2.5..99.9)")
    };
    let [Argument { name: None, value }] = expr.arguments() else {
        return Err(wrong());
    };
    let (from, to) = value.text.split_once("..").ok_or_else(wrong)?;
    let parse = |text: &str| {
        let whole = signed(text).map(|number| number as f64);
        let number = whole.or_else(|| text.trim().parse().ok());
        // A decimal is stored in 64 bits with two digits after the point, which limits its size.
        number.filter(|number| number.abs() <= 1e15)
    };
    match (parse(from), parse(to)) {
        (Some(from), Some(to)) if from <= to => Ok(Gen::Real { from, to, written }),
        _ => Err(wrong()),
    }
}

/// Reads the size of a text or blob, and the number of random bytes in each pattern.
fn sized(expr: &Expr) -> Result<(Sizes, usize), Wrong> {
    let (positional, named) = split(expr, &["compressible", "size"])?;
    let size = match (positional[..].first(), named[1], positional.len()) {
        (Some(size), None, 1) => size,
        (None, Some(size), 0) => size,
        _ => {
            let message = format!("{} requires one size, as in {0}(10..20)", expr.name());
            return Err(Wrong::new(expr.at, message));
        }
    };
    let share = match named[0] {
        None => 0.0,
        Some(share) => fraction(share)?,
    };
    Ok((Sizes::read(size, (0, BYTES_MAX))?, random_bytes(share)))
}

fn fraction(expr: &Expr) -> Result<f64, Wrong> {
    let number: Option<f64> = expr.text.parse().ok();
    number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
        let message = format!("`{}` is not a share from 0 to 1", expr.text);
        Wrong::new(expr.at, message)
    })
}

fn boolean(expr: &Expr, typ: &CqlType) -> Result<Gen, Wrong> {
    allowed(expr, typ, matches!(typ, CqlType::Boolean))?;
    match expr.arguments() {
        [] => Ok(Gen::Boolean { share: 0.5 }),
        [Argument { name: None, value }] => Ok(Gen::Boolean {
            share: fraction(value)?,
        }),
        _ => Err(Wrong::new(expr.at, "boolean has one share: boolean(0.9)")),
    }
}

/// Reads `column(user_id)`. Returns a generator of the cells in that column of the file's CSV.
fn column(expr: &Expr, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
    let Some(csv) = numbers.csv else {
        let message = "`column` reads its values from a CSV file, but the workload file names no \
                       CSV file";
        let hint = "name the CSV file at the top level: `csv: keys.csv`. Elements of a collection \
                    cannot use `column`";
        return Err(Wrong::new(expr.at, message).hint(hint));
    };
    let [Argument { name: None, value }] = expr.arguments() else {
        let message = "column requires the name of one column of the CSV file";
        return Err(Wrong::new(expr.at, message).hint("column(user_id), column('User id')"));
    };
    let name = match &value.form {
        Form::Text(text) => text,
        _ => &value.text,
    };
    let cells = csv.cells(name, typ).map_err(|message| Wrong {
        hint: did_you_mean(name, csv.names()),
        ..Wrong::new(value.at, message)
    })?;
    Ok(Gen::Cell(Arc::new(cells)))
}

/// Reads the arguments `start` and `step`. Returns both in milliseconds.
fn times(expr: &Expr) -> Result<(i64, i64), Wrong> {
    let (positional, named) = split(expr, &["start", "step"])?;
    if let Some(extra) = positional.first() {
        let message = format!("{} takes the named arguments start and step", expr.name());
        return Err(Wrong::new(extra.at, message).hint("start='2024-01-01', step=1s"));
    }
    let start = named[0].map_or(Ok(START_MS_DEFAULT), literal::time_ms)?;
    let step = named[1].map_or(Ok(1000), literal::span_ms)?;
    Ok((start, step))
}

fn collection(expr: &Expr, name: &str, typ: &CqlType, numbers: Numbers<'_>) -> Result<Gen, Wrong> {
    let (positional, _) = split(expr, &[])?;
    let size = |expr: &Expr| Sizes::read(expr, (0, ELEMENTS_MAX));
    // In a list, set, map or vector, a value is computed from the position of its element.
    let places = Numbers {
        last: Some(ELEMENTS_MAX),
        csv: None,
    };
    let inner = |expr: &Expr, typ: &CqlType| resolve(expr, typ, places).map(Box::new);
    let made = match (name, typ, &positional[..]) {
        ("list", CqlType::List(of), [value, count]) | ("set", CqlType::Set(of), [value, count]) => {
            Gen::List {
                of: inner(value, of)?,
                size: size(count)?,
            }
        }
        ("map", CqlType::Map(key, value), [k, v, count]) => Gen::Map {
            keys: inner(k, key)?,
            values: inner(v, value)?,
            size: size(count)?,
        },
        ("vector", CqlType::Vector(of, count), [value]) => Gen::Vector {
            is_fixed: fixed_bytes(of).is_some(),
            of: inner(value, of)?,
            count: *count,
        },
        ("tuple", CqlType::Tuple(types), values) if types.len() == values.len() => {
            let fields = values.iter().zip(types).map(|(value, typ)| resolve(value, typ, numbers));
            Gen::Tuple(fields.collect::<Result<_, _>>()?)
        }
        ("tuple", CqlType::Udt(udt), values) if udt.fields.len() == values.len() => {
            let fields = values
                .iter()
                .zip(&udt.fields)
                .map(|(value, (_, typ))| resolve(value, typ, numbers));
            Gen::Tuple(fields.collect::<Result<_, _>>()?)
        }
        _ => return Err(unfit(expr, typ)),
    };
    if made.bytes_max() > BYTES_MAX {
        let message = format!(
            "`{}` may take {} bytes; a value has at most {BYTES_MAX}",
            expr.text,
            made.bytes_max()
        );
        return Err(Wrong::new(expr.at, message));
    }
    Ok(made)
}
