//! Ranges that begin below 0. For such a range, the generator draws a number from a range that
//! begins at 0, and then shifts the number.

use super::expr::Expr;
use crate::params::whole_number;
use cql::value::CqlType;

/// Splits a distribution whose range starts below 0. Returns the start of the range, and the
/// expression with its range shifted to begin at 0. If the range does not start below 0, returns 0
/// and `None`.
pub(super) fn from_zero(expr: &Expr) -> (i64, Option<Expr>) {
    let range = expr.arguments().first().map(|first| &first.value);
    let ends = range.and_then(|range| range.text.split_once(".."));
    let Some((from, to)) = ends.and_then(|(from, to)| Some((signed(from)?, signed(to)?))) else {
        return (0, None);
    };
    if from >= 0 || to < from {
        return (0, None);
    }
    let range = range.map_or("", |range| range.text.as_str());
    let text = expr.text.replacen(range, &format!("0..{}", to.abs_diff(from)), 1);
    let moved = Expr {
        text,
        ..expr.clone()
    };
    (from, Some(moved))
}

/// Parses a whole number that may begin with `-`. Returns `None` for other texts.
pub(super) fn signed(text: &str) -> Option<i64> {
    let text = text.trim();
    let number = i64::try_from(whole_number(text.strip_prefix('-').unwrap_or(text))?).ok()?;
    Some(if text.starts_with('-') {
        -number
    } else {
        number
    })
}

/// Returns the smallest number of a type. Returns `None` if the smallest number is so low that no
/// range reaches it.
pub(super) fn least(typ: &CqlType) -> Option<i64> {
    match typ {
        CqlType::Tinyint => Some(i8::MIN.into()),
        CqlType::Smallint => Some(i16::MIN.into()),
        CqlType::Int => Some(i32::MIN.into()),
        CqlType::Bigint | CqlType::Counter | CqlType::Varint => None,
        CqlType::Decimal | CqlType::Float | CqlType::Double => None,
        _ => Some(0),
    }
}
