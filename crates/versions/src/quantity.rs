//! Values of settings with a unit, and the numbers without a unit that had the same meaning before
//! Cassandra 4.1.

use serde_json::Value;

/// Unit that a number has under the old name of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit<'a> {
    /// The value is the same under the old and the new name.
    Same,
    /// The value has another meaning under the new name, and no number expresses this meaning.
    Other,
    /// A number under the old name has this unit, such as `ms` or `MiB/s`.
    Of(&'a str),
}

/// Megabits per second. Some settings had this unit under their old names. Under their new names,
/// the unit is bytes per second.
const MEGABITS: &str = "Mbit/s";

const MEGABIT_BYTES: f64 = 125_000.0;

/// Units with the quantity that they measure. The number is the size of the unit in the smallest
/// unit of its kind, which is nanoseconds, bytes, or bytes per second.
const UNITS: [(&str, QuantityKind, f64); 16] = [
    ("ns", QuantityKind::Time, 1.0),
    ("us", QuantityKind::Time, 1e3),
    ("µs", QuantityKind::Time, 1e3),
    ("ms", QuantityKind::Time, 1e6),
    ("s", QuantityKind::Time, 1e9),
    ("m", QuantityKind::Time, 60e9),
    ("h", QuantityKind::Time, 3600e9),
    ("d", QuantityKind::Time, 86_400e9),
    ("B", QuantityKind::Bytes, 1.0),
    ("KiB", QuantityKind::Bytes, 1024.0),
    ("MiB", QuantityKind::Bytes, 1_048_576.0),
    ("GiB", QuantityKind::Bytes, 1_073_741_824.0),
    ("B/s", QuantityKind::Rate, 1.0),
    ("KiB/s", QuantityKind::Rate, 1024.0),
    ("MiB/s", QuantityKind::Rate, 1_048_576.0),
    (MEGABITS, QuantityKind::Rate, MEGABIT_BYTES),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuantityKind {
    Time,
    Bytes,
    Rate,
}

impl<'a> Unit<'a> {
    /// Parses the unit in a table of settings.
    pub(crate) fn parse(text: &'a str) -> Unit<'a> {
        match text {
            "=" => Unit::Same,
            "?" => Unit::Other,
            unit => Unit::Of(unit),
        }
    }

    /// Converts a value under the old name to a value under the new name. Returns `None` if no
    /// value has the same meaning.
    pub(crate) fn now(self, old: &Value) -> Option<Value> {
        let unit = match self {
            Unit::Same => return Some(old.clone()),
            Unit::Other => return None,
            Unit::Of(unit) => unit,
        };
        if old.is_null() {
            return Some(Value::Null);
        }
        let count = old.as_i64()?;
        if unit == MEGABITS {
            return Some(format!("{}B/s", count.checked_mul(MEGABIT_BYTES as i64)?).into());
        }
        Some(format!("{count}{unit}").into())
    }

    /// Converts a value under the new name to a value under the old name. Returns `None` if no
    /// whole number has the same meaning, because old names accept only whole numbers.
    pub(crate) fn before(self, new: &Value) -> Option<Value> {
        let unit = match self {
            Unit::Same => return Some(new.clone()),
            Unit::Other => return None,
            Unit::Of(unit) => unit,
        };
        let text = match new {
            Value::Null => return Some(Value::Null),
            Value::String(text) => text.trim(),
            _ => return None,
        };
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
        let (count, written) = text.split_at(end);
        let count: i64 = count.parse().ok()?;
        let (kind, factor) = parse_unit(written.trim())?;
        let (old_kind, old_factor) = parse_unit(unit)?;
        let old = count as f64 * factor / old_factor;
        let is_whole = kind == old_kind && old.fract() == 0.0 && old.abs() < 9e15;
        is_whole.then(|| (old as i64).into())
    }
}

/// Returns the quantity that a unit measures, and the size of the unit in the smallest unit of its
/// kind. Returns `None` if the unit is unknown.
pub(crate) fn parse_unit(unit: &str) -> Option<(QuantityKind, f64)> {
    let found = UNITS.iter().find(|(name, ..)| *name == unit);
    found.map(|(_, kind, factor)| (*kind, *factor))
}

/// Returns a quantity in the smallest unit of its kind: nanoseconds, bytes, or bytes per second.
/// Returns `None` for other texts.
pub(crate) fn smallest(text: &str) -> Option<f64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at(digits);
    let (_, factor) = parse_unit(unit)?;
    Some(count.parse::<f64>().ok()? * factor)
}

/// Returns the units that a setting accepts if `smallest` is its smallest unit.
pub(crate) fn from(smallest: &str) -> Vec<&'static str> {
    let Some((kind, least)) = parse_unit(smallest) else {
        return Vec::new();
    };
    let units = UNITS
        .iter()
        .filter(|(name, own, factor)| *own == kind && *factor >= least && !is_old(name));
    units.map(|(name, ..)| *name).collect()
}

/// Returns true if a unit occurs only under an old name of a setting.
pub(crate) fn is_old(unit: &str) -> bool {
    unit == MEGABITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_gets_its_unit_and_loses_it_again() {
        for (unit, old, new) in [
            ("ms", json!(5000), json!("5000ms")),
            ("MiB/s", json!(64), json!("64MiB/s")),
            ("Mbit/s", json!(200), json!("25000000B/s")),
            ("=", json!(true), json!(true)),
            ("MiB", json!(null), json!(null)),
            ("s", json!(-1), json!("-1s")),
        ] {
            assert_eq!(Unit::parse(unit).now(&old), Some(new.clone()), "{unit}");
            assert_eq!(Unit::parse(unit).before(&new), Some(old), "{unit}");
        }
    }

    #[test]
    fn other_units_of_a_kind_convert_and_fractions_are_not_given() {
        let before = |unit: &'static str, new: &str| Unit::parse(unit).before(&json!(new));
        assert_eq!(before("ms", "10s"), Some(json!(10_000)));
        assert_eq!(before("MiB", "2GiB"), Some(json!(2048)));
        assert_eq!(before("KiB", "1 MiB"), Some(json!(1024)));
        assert_eq!(before("Mbit/s", "24MiB/s"), None, "201.3 megabits");
        assert_eq!(before("MiB", "100KiB"), None);
        assert_eq!(before("MiB", "10s"), None, "another kind");
        assert_eq!(before("MiB", "auto"), None);
        assert_eq!(before("MiB", ""), None);
        assert_eq!(Unit::parse("?").now(&json!(9)), None);
        assert_eq!(Unit::parse("ms").now(&json!("auto")), None);
        assert_eq!(
            Unit::parse("Mbit/s").now(&json!(i64::MAX)),
            None,
            "no overflow"
        );
    }
}
