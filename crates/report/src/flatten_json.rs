//! Flattens JSON to dotted paths with values, and describes the files of a study for such values.

use crate::number;
use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Returns the values in a JSON document by dotted path, for example `1` for `target.local.nodes`.
/// A list without objects or lists is one value, with its items separated by commas.
pub fn flatten(value: &Value) -> BTreeMap<String, String> {
    let mut flat = BTreeMap::new();
    flatten_into(value, String::new(), &mut flat);
    flat
}

fn flatten_into(value: &Value, path: String, flat: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let separator = if path.is_empty() { "" } else { "." };
                flatten_into(value, format!("{path}{separator}{key}"), flat);
            }
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            for (index, value) in items.iter().enumerate() {
                flatten_into(value, format!("{path}[{index}]"), flat);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            flat.insert(path, items.join(", "));
        }
        Value::Null if path.is_empty() => {}
        value => {
            flat.insert(path, scalar(value));
        }
    }
}

/// Describes the content of a file by its number of lines and the beginning of its hash. The
/// content may be private, so a page must not show it.
pub fn describe_file(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let begin: String = HEXLOWER.encode(&digest[..6]);
    let lines = measure::number::counted(text.lines().count(), "line");
    format!("{lines}, SHA-256 {begin}…")
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => number::ABSENT.into(),
        other => other.to_string(),
    }
}
