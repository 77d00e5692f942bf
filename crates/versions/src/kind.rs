//! The valid values of a setting in a line. They follow from the type of the setting's field in the
//! server's class `Config`.

use crate::number;
use crate::quantity::{self, QuantityKind as Measure};
use serde_json::Value;

/// Kind of values that a setting accepts, as written after the name of the setting in
/// `settings.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueKind<'a> {
    takes: Takes<'a>,
    /// True if the value may be empty. An empty value means the default.
    may_be_empty: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes<'a> {
    Switch,
    Whole(Width),
    Number,
    Text,
    /// One of several words. In the text, the words are separated by `|`.
    OneOf(&'a str),
    /// A whole number with a unit. The text is the smallest unit that the setting accepts.
    Quantity(Width, &'a str),
    /// A list, a map or a class. The words name the forms of its value and are separated by `|`.
    Forms(&'a str),
    /// A value of unknown form. Only the server checks such a value.
    Other,
}

/// Java type of a whole number, which determines the range of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Int,
    Long,
}

/// Description of a wrong value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrongValue {
    /// Description of the values that the setting accepts.
    pub takes: String,
    /// A valid value that is close to the wrong value, if known.
    pub example: Option<String>,
}

/// Words that YAML 1.1 reads as true or false. Each word for true comes before its opposite.
const SWITCHES: [&str; 6] = ["yes", "no", "true", "false", "on", "off"];

impl<'a> ValueKind<'a> {
    /// Parses the kind in a line of `settings.txt`. An unknown kind counts as `other`.
    pub(crate) fn parse(text: &'a str) -> ValueKind<'a> {
        let (takes, may_be_empty) = match text.strip_suffix('?') {
            Some(takes) => (takes, true),
            None => (text, false),
        };
        let mut parts = takes.split(':');
        let takes = match (parts.next(), parts.next(), parts.next()) {
            (Some("bool"), ..) => Takes::Switch,
            (Some("int"), ..) => Takes::Whole(Width::Int),
            (Some("long"), ..) => Takes::Whole(Width::Long),
            (Some("number"), ..) => Takes::Number,
            (Some("text"), ..) => Takes::Text,
            (Some("one"), Some(words), _) => Takes::OneOf(words),
            (Some(_), Some("int"), Some(unit)) => Takes::Quantity(Width::Int, unit),
            (Some(_), Some("long"), Some(unit)) => Takes::Quantity(Width::Long, unit),
            (Some(words), None, _) if words.split('|').all(|word| form(word).is_some()) => {
                Takes::Forms(words)
            }
            _ => Takes::Other,
        };
        ValueKind {
            takes,
            may_be_empty,
        }
    }

    /// Returns the description of a value that the server would refuse when it reads its file.
    /// Returns `None` if the server accepts the value, or checks the value later.
    pub(crate) fn wrong(self, value: &Value) -> Option<WrongValue> {
        let is_right = match (self.takes, value) {
            (Takes::Other, _) => true,
            (_, Value::Null) => self.may_be_empty,
            (Takes::Forms(words), value) => words.split('|').any(|word| has_form(value, word)),
            (Takes::Text, value) => !value.is_object(),
            (_, Value::Array(_) | Value::Object(_)) => false,
            (Takes::Switch, Value::Bool(_)) => true,
            (Takes::Switch, Value::String(text)) => {
                SWITCHES.iter().any(|word| text.eq_ignore_ascii_case(word))
            }
            (Takes::Whole(width), Value::Number(number)) => {
                number.as_i64().is_some_and(|count| width.holds(i128::from(count)))
            }
            (Takes::Whole(width), Value::String(text)) => {
                number::whole(text).is_some_and(|count| width.holds(count))
            }
            (Takes::Number, Value::String(text)) => number::number(text).is_some(),
            (Takes::Number, Value::Number(_)) => true,
            (Takes::OneOf(words), Value::String(text)) => words.split('|').any(|one| one == text),
            (Takes::Quantity(width, unit), Value::String(text)) => {
                count(text, unit).is_some_and(|count| count < width.max())
            }
            _ => false,
        };
        (!is_right).then(|| WrongValue {
            takes: self.describe(),
            example: self.near(value),
        })
    }

    fn describe(self) -> String {
        let takes = match self.takes {
            Takes::Switch => "true or false".to_owned(),
            Takes::Whole(Width::Int) => "a whole number below 2147483648".to_owned(),
            Takes::Whole(Width::Long) => "a whole number".to_owned(),
            Takes::Number => "a number".to_owned(),
            Takes::Text => "a string".to_owned(),
            Takes::OneOf(words) => format!("one of {}", words.replace('|', ", ")),
            Takes::Quantity(_, unit) => {
                let units = quantity::from(unit).join(", ");
                format!("a whole number with one of these units immediately after it: {units}")
            }
            Takes::Forms(words) => {
                let forms: Vec<&str> = words.split('|').filter_map(form).collect();
                forms.join(", or ")
            }
            Takes::Other => "something else".to_owned(),
        };
        if self.may_be_empty {
            format!("{takes}; or nothing")
        } else {
            takes
        }
    }

    /// Returns a valid value that the user may have meant, or `None` if none is known.
    fn near(self, value: &Value) -> Option<String> {
        let Takes::Quantity(width, unit) = self.takes else {
            return None;
        };
        let text = match value {
            Value::String(text) => text.split_whitespace().collect(),
            Value::Number(number) => format!("{number}{unit}"),
            _ => String::new(),
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, written) = text.split_at(digits);
        // For example, `MB`, `mb` and `Mb` are read as `MiB`. A unit that is smaller than the
        // setting accepts is not changed.
        let like = |known: &&&str| {
            let plain = known.replace('i', "");
            written.eq_ignore_ascii_case(known) || written.eq_ignore_ascii_case(&plain)
        };
        let is_right = |text: &String| count(text, unit).is_some_and(|count| count < width.max());
        let units = quantity::from(unit);
        let meant = units.iter().find(|known| **known == written).or(units.iter().find(like));
        meant.map(|meant| format!("{number}{meant}")).filter(is_right)
    }

    /// Returns the number that the server reads in a value. A quantity counts in the smallest unit
    /// of its kind. Returns `None` if the server reads no number.
    pub(crate) fn number(self, value: &Value) -> Option<f64> {
        match (self.takes, value) {
            (Takes::Quantity(..), Value::String(text)) => quantity::smallest(text),
            (Takes::Whole(_), Value::String(text)) => number::whole(text).map(|n| n as f64),
            (Takes::Number, Value::String(text)) => number::number(text),
            (Takes::Whole(_) | Takes::Number, value) => value.as_f64(),
            _ => None,
        }
    }

    /// Returns the truth value that the server reads. Returns `None` if the value is not a truth
    /// value.
    pub(crate) fn switch(value: &Value) -> Option<bool> {
        match value {
            Value::Bool(is_on) => Some(*is_on),
            Value::String(text) => {
                let at = SWITCHES.iter().position(|word| text.eq_ignore_ascii_case(word))?;
                Some(at % 2 == 0)
            }
            _ => None,
        }
    }

    /// Returns true if the value is a time, a number of bytes, or a rate in bytes per second. For
    /// such a setting, a number without a unit is ambiguous.
    pub(crate) fn is_quantity(self) -> bool {
        matches!(self.takes, Takes::Quantity(..))
    }
}

/// Returns the description of a form, such as `list`. Returns `None` for other words.
fn form(word: &str) -> Option<&'static str> {
    Some(match word {
        "bool" => "true or false",
        "number" => "a number",
        "text" => "a string",
        "list" => "a list",
        "object" => "an object",
        _ => return None,
    })
}

/// Returns true if a value has a form. A text may also stand for a truth value or a number. The
/// server reads an empty list as an object without parts.
fn has_form(value: &Value, form: &str) -> bool {
    match form {
        "bool" => ValueKind::switch(value).is_some(),
        "number" => value.is_number() || value.as_str().is_some_and(number::is_number),
        "text" => !value.is_array() && !value.is_object(),
        "list" => value.is_array(),
        _ => value.is_object() || value.as_array().is_some_and(Vec::is_empty),
    }
}

impl Width {
    fn holds(self, count: i128) -> bool {
        match self {
            Width::Int => i32::try_from(count).is_ok(),
            Width::Long => i64::try_from(count).is_ok(),
        }
    }

    /// Returns the largest number of this width. The number in a quantity must be below this
    /// maximum.
    fn max(self) -> i128 {
        match self {
            Width::Int => i128::from(i32::MAX),
            Width::Long => i128::from(i64::MAX),
        }
    }
}

/// Returns the number of a quantity in units of `smallest`. Returns `None` unless the quantity has
/// this unit or a larger unit of the same kind.
fn count(text: &str, smallest: &str) -> Option<i128> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (measure, factor): (Measure, f64) = quantity::parse_unit(unit)?;
    let (own, least) = quantity::parse_unit(smallest)?;
    if measure != own || factor < least || quantity::is_old(unit) {
        return None;
    }
    let number: i64 = number.parse().ok()?;
    i128::from(number).checked_mul((factor / least) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_right_or_wrong_as_the_server_s_own_class_has_them() {
        for (kind, right, wrong) in [
            (
                "time:int:ms",
                vec![json!("5s"), json!("2ms"), json!("1d")],
                vec![
                    json!("2500us"),
                    json!("1 s"),
                    json!(64),
                    json!("-1s"),
                    json!("99999999999s"),
                    json!(null),
                ],
            ),
            (
                "rate:long:B/s",
                vec![json!("64MiB/s"), json!("0B/s")],
                vec![
                    json!("64MB/s"),
                    json!(64),
                    json!("64MiB"),
                    json!("24Mbit/s"),
                ],
            ),
            (
                "size:int:MiB?",
                vec![json!("32MiB"), json!("1GiB"), json!(null)],
                vec![json!("32KiB"), json!("32"), json!(["32MiB"])],
            ),
            (
                "one:periodic|batch|group",
                vec![json!("batch")],
                vec![json!("Batch"), json!(true), json!("none")],
            ),
            (
                "int",
                vec![json!(4), json!(-1), json!("1_000"), json!("0x20")],
                vec![
                    json!(4.0),
                    json!("x"),
                    json!(1_u64 << 31),
                    json!("4294967296"),
                ],
            ),
            (
                "bool",
                vec![json!(true), json!("yes")],
                vec![json!(1), json!("maybe")],
            ),
            (
                "number",
                vec![json!(4.5), json!("1e3"), json!(".inf"), json!(".nan")],
                vec![json!("abc"), json!("0x10"), json!(null)],
            ),
            (
                "object?",
                vec![json!({}), json!({"a": 1}), json!(null)],
                vec![json!(1), json!("a"), json!([1])],
            ),
            (
                "bool|object",
                vec![json!({}), json!("yes"), json!(false)],
                vec![json!("a"), json!(1), json!(null)],
            ),
            ("other", vec![json!(1), json!([1]), json!(null)], vec![]),
        ] {
            let kind = ValueKind::parse(kind);
            for value in right {
                assert_eq!(kind.wrong(&value), None, "{kind:?} {value}");
            }
            for value in wrong {
                assert!(kind.wrong(&value).is_some(), "{kind:?} {value}");
            }
        }
    }

    #[test]
    fn a_wrong_value_comes_with_the_likely_one() {
        let near = |kind, value: Value| ValueKind::parse(kind).wrong(&value).unwrap().example;
        for (kind, value, expected) in [
            ("rate:long:B/s", json!("64MB/s"), Some("64MiB/s")),
            ("time:int:ms", json!("1 s"), Some("1s")),
            ("time:int:ms", json!("2500us"), None),
            ("size:int:MiB", json!("32mb"), Some("32MiB")),
        ] {
            assert_eq!(near(kind, value).as_deref(), expected, "{kind}");
        }
    }
}
