//! A checked tree. It contains the values that the user wrote, with their types, and defaults for
//! absent keys.

use crate::units;
use serde_json::{Value, json};
use versions::Release;

/// A checked value. Durations are in nanoseconds, and sizes are in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// The key has no value.
    Null,
    Bool(bool),
    /// A whole number that is not negative.
    Count(u64),
    /// A negative whole number, for keys that accept any value.
    Negative(i64),
    /// A number that may have a fraction.
    Number(f64),
    /// A length of time in nanoseconds.
    DurationNs(u64),
    /// A size in bytes.
    Bytes(u64),
    /// A bit rate in bit/s.
    BitRate(u64),
    /// A text or a word.
    Text(String),
    /// A release of Cassandra, with the text that the user wrote.
    Release(Release, String),
    List(Vec<Tree>),
    /// A mapping. The entries have the same order as in the text.
    Map(Vec<(String, Tree)>),
}

impl Tree {
    /// Returns the value at a dotted path. `None` if the value is absent, or if the path leads
    /// through a value that is not a mapping.
    pub fn find(&self, path: &str) -> Option<&Tree> {
        path.split('.').try_fold(self, |tree, key| tree.get(key))
    }

    /// Returns the value of one key, which may contain dots.
    pub fn get(&self, key: &str) -> Option<&Tree> {
        match self {
            Tree::Map(entries) => entries.iter().find(|(k, _)| k == key).map(|(_, tree)| tree),
            _ => None,
        }
    }

    /// Returns the entries of a mapping. Returns an empty slice for other values.
    pub fn entries(&self) -> &[(String, Tree)] {
        match self {
            Tree::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the items of a list. A scalar counts as a list of one item.
    pub fn items(&self) -> &[Tree] {
        match self {
            Tree::List(items) => items,
            Tree::Map(_) | Tree::Null => &[],
            scalar => std::slice::from_ref(scalar),
        }
    }

    /// Returns the text. `None` for other values.
    pub fn text(&self) -> Option<&str> {
        match self {
            Tree::Text(text) | Tree::Release(_, text) => Some(text),
            _ => None,
        }
    }

    /// Returns the release of Cassandra. `None` for other values.
    pub fn release(&self) -> Option<&Release> {
        match self {
            Tree::Release(release, _) => Some(release),
            _ => None,
        }
    }

    /// Returns the whole number. `None` for other values.
    pub fn count(&self) -> Option<u64> {
        match self {
            Tree::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// Returns the number, which may be a whole number. `None` for other values.
    pub fn number(&self) -> Option<f64> {
        match self {
            Tree::Number(number) => Some(*number),
            Tree::Count(count) => Some(*count as f64),
            Tree::Negative(number) => Some(*number as f64),
            _ => None,
        }
    }

    /// Returns the length of time, in nanoseconds. `None` for other values.
    pub fn duration_ns(&self) -> Option<u64> {
        match self {
            Tree::DurationNs(ns) => Some(*ns),
            _ => None,
        }
    }

    /// Returns the size, in bytes. `None` for other values.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Tree::Bytes(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// Returns a scalar as text, for settings that Cassandra accepts only as text in quotes.
    pub fn to_word(&self) -> String {
        match self {
            Tree::Text(text) | Tree::Release(_, text) => text.clone(),
            other => other.to_json().to_string(),
        }
    }

    /// Returns true if the tree contains a key whose value is absent because it had a mistake.
    pub fn has_hole(&self) -> bool {
        match self {
            Tree::Null => true,
            Tree::List(items) => items.iter().any(Tree::has_hole),
            Tree::Map(entries) => entries.iter().any(|(_, tree)| tree.has_hole()),
            _ => false,
        }
    }

    /// Converts the tree to JSON for `plan.json`. Counts become numbers. Durations and sizes become
    /// text in the format that people write.
    pub fn to_json(&self) -> Value {
        match self {
            Tree::Null => Value::Null,
            Tree::Bool(value) => json!(value),
            Tree::Count(count) => json!(count),
            Tree::Negative(number) => json!(number),
            Tree::Number(number) => json!(number),
            Tree::DurationNs(ns) => json!(units::format_duration_ns(*ns)),
            Tree::Bytes(bytes) => json!(units::format_bytes(*bytes)),
            Tree::BitRate(bits_per_s) => json!(units::format_bit_rate(*bits_per_s)),
            Tree::Text(text) | Tree::Release(_, text) => json!(text),
            Tree::List(items) => items.iter().map(Tree::to_json).collect(),
            Tree::Map(entries) => Value::Object(
                entries.iter().map(|(key, tree)| (key.clone(), tree.to_json())).collect(),
            ),
        }
    }
}
