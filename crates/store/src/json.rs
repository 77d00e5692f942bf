//! Writes JSON without negative zeros. In Rust, the sum of no numbers is a negative zero, and
//! `-0.0` would look like a measured value.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Encodes a value as indented JSON with several lines.
pub fn pretty<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Vec<u8>> {
    let mut out = Vec::new();
    value.serialize(&mut Serializer::with_formatter(
        &mut out,
        WithoutNegativeZero(PrettyFormatter::new()),
    ))?;
    Ok(out)
}

/// Encodes a value as one line of JSON.
pub fn compact<T: Serialize + ?Sized>(out: impl Write, value: &T) -> serde_json::Result<()> {
    let formatter = WithoutNegativeZero(CompactFormatter);
    value.serialize(&mut Serializer::with_formatter(out, formatter))
}

/// Returns a value as a JSON tree. The tree equals the tree that a reader of the written file would
/// get.
pub fn tree<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<serde_json::Value> {
    serde_json::from_slice(&pretty(value)?)
}

struct WithoutNegativeZero<F>(F);

/// Implements methods that only call the same method of the inner formatter.
macro_rules! same {
    ($($method:ident($($name:ident: $type:ty),*);)+) => {
        $(fn $method<W>(&mut self, out: &mut W $(, $name: $type)*) -> io::Result<()>
        where
            W: ?Sized + Write,
        {
            self.0.$method(out $(, $name)*)
        })+
    };
}

impl<F: Formatter> Formatter for WithoutNegativeZero<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        // Adding zero turns a negative zero into zero, and does not change other values.
        self.0.write_f64(out, value + 0.0)
    }

    fn write_f32<W: ?Sized + Write>(&mut self, out: &mut W, value: f32) -> io::Result<()> {
        self.0.write_f32(out, value + 0.0)
    }

    same! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_have_no_sign_and_all_else_is_as_serde_writes_it() {
        let nothing: [f64; 0] = [];
        let value = serde_json::json!({
            "sum": nothing.iter().sum::<f64>(),
            "list": [-0.0, 0.0, -1.5, 1e-300, 7, "-0.0", null, {"empty": {}, "none": []}],
        });
        let text = String::from_utf8(pretty(&value).unwrap()).unwrap();
        assert_eq!(text.matches("-0.0").count(), 1, "only the text: {text}");
        let expected = serde_json::to_string_pretty(&value).unwrap();
        let plain = expected.replace("-0.0,", "0.0,").replace("\"0.0\"", "\"-0.0\"");
        assert_eq!(text, plain.replace(": -0.0", ": 0.0"));
        let mut line = Vec::new();
        compact(&mut line, &-0.0).unwrap();
        assert_eq!(line, b"0.0");
        assert!(tree(&-0.0).unwrap().as_f64().unwrap().is_sign_positive());
    }
}
