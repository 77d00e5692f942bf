//! Environment variables with which a file configures the JVM of an instance. These are variables
//! of Cassandra's start scripts, and variables that every JVM reads.

use std::collections::BTreeMap;

use super::placement::Placement;

/// Variable whose options cassandra-env.sh appends last.
pub const EXTRA_OPTIONS: &str = "JVM_EXTRA_OPTS";

/// Variable from which cassandra-env.sh takes the size of the heap.
const HEAP: &str = "MAX_HEAP_SIZE";

/// Other variables that can set a heap or a number of CPUs. A placement does not contain them.
const OTHERS: [&str; 6] = [
    "HEAP_NEWSIZE",
    "JVM_OPTS",
    "JAVA_OPTS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
];

/// Adds the JVM options and the heap in these variables to a placement.
pub fn add(variables: &BTreeMap<String, String>, placement: &mut Placement) {
    if let Some(options) = variables.get(EXTRA_OPTIONS) {
        placement.jvm = Some(words_of(options));
    }
    if let Some(text) = variables.get(HEAP).filter(|text| !text.is_empty()) {
        placement.heap_bytes = jvm_size(text);
        if placement.heap_bytes.is_none() {
            placement.ignore(format!("{HEAP}={text}"));
        }
    }
    for name in OTHERS {
        if let Some(value) = variables.get(name).filter(|value| !value.trim().is_empty()) {
            placement.ignore(format!("{name}={value}"));
        }
    }
}

/// Splits options at spaces, as cassandra-env.sh does.
pub fn words_of(text: &str) -> Vec<String> {
    text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Parses a size of the JVM, such as `8G` or `800m`, into bytes. The unit is a power of 1024.
/// Returns `None` for any other text.
fn jvm_size(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let shift = match &text[end..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        _ => return None,
    };
    let number: u64 = text[..end].parse().ok()?;
    number.checked_mul(1 << shift)
}
