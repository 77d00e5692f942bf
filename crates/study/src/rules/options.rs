//! Rules for table options. They check that CQL accepts the names and the values.

use super::rule_input::Subject;
use crate::checked_tree::Tree;
use ::yaml::{Diagnostics, did_you_mean};

/// Options of a table of Cassandra 5.0, besides `compaction` and `compression`.
const KNOWN: &[&str] = &[
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "crc_check_chance",
    "default_time_to_live",
    "extensions",
    "gc_grace_seconds",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "speculative_retry",
];

/// Applies the rules for table options.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    for key in ["compaction", "compression"] {
        map(subject, key, out);
    }
    let path = "keyspace.options";
    let options = subject.tree.find(path).map(Tree::entries).unwrap_or_default();
    for (name, value) in options {
        option(subject, name, value, out);
    }
}

/// Checks an option that is a mapping of scalars. The mapping needs a `class` unless the option is
/// switched off.
fn map(subject: &Subject<'_>, key: &str, out: &mut Diagnostics) {
    let path = format!("keyspace.{key}");
    let Some(tree) = subject.tree.find(&path) else {
        return;
    };
    for (name, value) in tree.entries() {
        if matches!(value, Tree::Map(_) | Tree::List(_) | Tree::Null) {
            let path = format!("{path}.{name}");
            let message = format!("`{path}` must be one word or number");
            subject.say(&path, message, None, out);
        }
    }
    let is_off = key == "compression" && tree.find("enabled") == Some(&Tree::Bool(false));
    if !is_off && tree.find("class").is_none() && matches!(tree, Tree::Map(_)) {
        let message = format!("`{path}` has no `class`");
        let hint = match key {
            "compaction" => "for example {class: LeveledCompactionStrategy}",
            _ => "for example {class: LZ4Compressor}, or {enabled: false}",
        };
        subject.say(&path, message, Some(hint), out);
    }
}

fn option(subject: &Subject<'_>, name: &str, value: &Tree, out: &mut Diagnostics) {
    let path = format!("keyspace.options.{name}");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if ["compaction", "compression"].contains(&name) {
        let message = format!("`{path}` has a separate key");
        let hint = format!("write this option as `keyspace.{name}`");
        subject.say(&path, message, Some(&hint), out);
    } else if !name.chars().all(plain) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        let message = format!("`{name}` is not a valid option name: use letters, digits and `_`");
        subject.say(&path, message, None, out);
    } else if !KNOWN.contains(&name) && subject.has("target.local") {
        // This check applies only to local nodes. An attached cluster may run another version of
        // Cassandra, or another database, and refuses unknown options itself.
        let message = format!("`{name}` is not a table option of Cassandra 5.0");
        let hint = did_you_mean(name, KNOWN.iter().copied());
        subject.say(&path, message, hint.as_deref(), out);
    } else if matches!(value, Tree::List(_) | Tree::Null) {
        let message = format!("`{path}` must be a word, a number or a mapping");
        subject.say(&path, message, None, out);
    } else if value.entries().iter().any(|(_, v)| matches!(v, Tree::Map(_) | Tree::List(_))) {
        let message = format!("`{path}` must be a mapping whose values are words or numbers");
        subject.say(&path, message, None, out);
    }
}
