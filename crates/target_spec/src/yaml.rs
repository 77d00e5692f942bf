//! Settings of `cassandra.yaml` that cassay refuses on managed nodes, with the reasons.

use crate::spec::Origin;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use versions::{LACKED_CLASS_HINT, Lack, Line, Release, Setting};

/// Settings that cassay controls, each group with the reason why a study must not set them.
const OWNED: [(&[&str], &str); 5] = [
    (
        &[
            "cluster_name",
            "seed_provider",
            "auto_bootstrap",
            "initial_token",
            "partitioner",
        ],
        "cassay creates the ring, with evenly spread tokens",
    ),
    (
        &[
            "listen_address",
            "listen_interface",
            "broadcast_address",
            "rpc_address",
            "rpc_interface",
            "broadcast_rpc_address",
        ],
        "cassay chooses a separate address for every node",
    ),
    (
        &[
            "storage_port",
            "ssl_storage_port",
            "native_transport_port",
            "native_transport_port_ssl",
            "start_native_transport",
        ],
        "cassay chooses free ports",
    ),
    (
        &[
            "data_file_directories",
            "local_system_data_file_directory",
            "commitlog_directory",
            "hints_directory",
            "saved_caches_directory",
            "cdc_raw_directory",
        ],
        "cassay stores the files of nodes in folders that it removes later",
    ),
    (
        &[
            "endpoint_snitch",
            "authenticator",
            "authorizer",
            "client_encryption_options",
        ],
        "`racks` sets racks, `authentication` sets passwords, and cassay's nodes use no TLS",
    ),
];

/// Maximum number of tokens. It is larger than any common number (256 was the default until 4.0),
/// but small enough for a list of tokens.
const TOKENS_COUNT_MAX: u64 = 1024;

/// Settings with values that exclude another setting. Each entry contains the reason. Observed on
/// nodes of 5.0.9.
const EXCLUDE: [(&str, &[&str], &str, &str); 3] = [
    (
        "commitlog_sync",
        &["batch", "group"],
        "commitlog_sync_period",
        "the period applies only to `commitlog_sync: periodic`",
    ),
    (
        "commitlog_disk_access_mode",
        &["direct"],
        "commitlog_compression",
        "Cassandra writes no compressed segments with direct I/O",
    ),
    (
        "commitlog_disk_access_mode",
        &["mmap"],
        "commitlog_compression",
        "Cassandra does not map compressed segments into memory",
    ),
];

/// Returns the reason why a key of `cassandra.yaml` cannot have a value on nodes of a release.
/// There are three reasons: cassay controls the key, the release has no such setting, or nodes with
/// this value do not form a ring. If the result is `None`, the server itself accepts or refuses the
/// value.
pub fn yaml_refusal(
    (release, origin): (&Release, &Origin),
    key: &str,
    value: &Value,
) -> Option<YamlRefusal> {
    let refusal = |why: String, hint: &str| YamlRefusal {
        why,
        hint: hint.to_owned(),
    };
    if let Some((_, why)) = OWNED.iter().find(|(keys, _)| keys.contains(&key)) {
        let why = format!("you cannot set {key} of cassandra.yaml: {why}");
        return Some(refusal(why, "remove it"));
    }
    // A release that is not pinned may have other settings, and a user's build may have settings of
    // other types. So cassay refuses such settings only for pinned releases from Maven.
    let is_pinned = release.is_pinned() && *origin == Origin::Maven;
    let is_of_one_release = |lack: Lack| match lack {
        Lack::Unknown => true,
        Lack::Value => *origin != Origin::Maven,
        Lack::GoneNode | Lack::Unsaid => false,
    };
    match release.line().setting(key, value) {
        Setting::Refused(refused) if is_pinned || !is_of_one_release(refused.lack) => {
            return Some(refusal(refused.why, &refused.hint));
        }
        Setting::Known | Setting::Named { .. } | Setting::Refused(_) => {}
    }
    // A user's build may contain other classes, or classes of a later release line. So cassay
    // checks classes only in releases from Maven.
    let lacking = || class_lacking(release.line(), value);
    if let Some(why) = (*origin == Origin::Maven).then(lacking).flatten() {
        return Some(refusal(why, LACKED_CLASS_HINT));
    }
    out_of_range(release.line(), key, value).map(|why| {
        refusal(
            why,
            "remove the setting, or write a value in the accepted form",
        )
    })
}

/// Settings with the range of numbers that a node accepts when it starts. The type of the setting
/// would allow more numbers. Observed on nodes of 4.0.19 to 6.0-alpha2.
const RANGES: [(&str, f64, f64); 7] = [
    ("concurrent_reads", 2.0, f64::INFINITY),
    ("concurrent_writes", 2.0, f64::INFINITY),
    ("concurrent_counter_writes", 2.0, f64::INFINITY),
    ("concurrent_compactors", 1.0, f64::INFINITY),
    ("phi_convict_threshold", 5.0, 16.0),
    ("memtable_cleanup_threshold", 0.01, 0.99),
    ("num_tokens", 1.0, TOKENS_COUNT_MAX as f64),
];

/// Settings whose size must not be 0.
const POSITIVE: [&str; 3] = [
    "commitlog_segment_size",
    "memtable_heap_space",
    "repair_session_space",
];

/// Words that a node refuses, although the type of the setting allows them.
const WORDS_REFUSED: [(&str, &[&str]); 1] = [(
    "commitlog_disk_access_mode",
    &["standard", "mmap_index_only"],
)];

/// Returns the reason why a node would not start with a value, although the type of the setting
/// allows the value. `None` if the node would start.
fn out_of_range(line: &Line, key: &str, value: &Value) -> Option<String> {
    let (key, value) = match line.setting(key, value) {
        Setting::Named { name, value } => (name, value),
        _ => (key.to_owned(), value.clone()),
    };
    let whole_only = key == "num_tokens";
    if let Some((_, least, most)) = RANGES.iter().find(|(name, ..)| *name == key) {
        let number = value.as_f64().filter(|_| !whole_only || value.is_u64());
        let is_in = number.map_or(value.is_null(), |number| (*least..=*most).contains(&number));
        let range = if most.is_finite() {
            format!("{least} to {most}")
        } else {
            format!("at least {least}")
        };
        return (!is_in).then(|| format!("{key} must be {range}, not {value}"));
    }
    let text = value.as_str().unwrap_or_default();
    let all_zero = text.bytes().take_while(u8::is_ascii_digit).all(|digit| digit == b'0');
    let is_zero = value.as_i64() == Some(0) || text.starts_with('0') && all_zero;
    // In release 4.0, the name of the setting ends with its unit.
    if is_zero && POSITIVE.contains(&key.strip_suffix("_in_mb").unwrap_or(&key)) {
        return Some(format!("{key} must be more than 0, not {value}"));
    }
    let words = WORDS_REFUSED.iter().find(|(name, _)| *name == key)?.1;
    words
        .contains(&text)
        .then(|| format!("{key} cannot be {value}: no node starts with this value"))
}

/// Returns the first class in a value, at any depth, that a release line does not contain.
fn class_lacking(line: &Line, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => line.lacks_class(text),
        Value::Array(items) => items.iter().find_map(|item| class_lacking(line, item)),
        Value::Object(map) => map.values().find_map(|value| class_lacking(line, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Returns the settings that have another name in a release line. Each entry contains the name in
/// `yaml`, and the name and the value in that line.
pub fn yaml_renamed(line: &Line, yaml: &Map<String, Value>) -> Vec<(String, (String, Value))> {
    let named = yaml.iter().filter_map(|(key, value)| match line.setting(key, value) {
        Setting::Named { name, value } => Some((key.clone(), (name, value))),
        Setting::Known | Setting::Refused(_) => None,
    });
    named.collect()
}

/// Returns the settings with their names in a release line. A setting that the line does not have
/// keeps its name.
pub fn yaml_named(line: &Line, yaml: &Map<String, Value>) -> Map<String, Value> {
    let mut named = yaml.clone();
    for (old, (name, value)) in yaml_renamed(line, yaml) {
        named.remove(&old);
        named.insert(name, value);
    }
    named
}

/// Returns the settings of one file that a server does not accept together. The reason is that two
/// names stand for the same setting, or that two settings exclude each other. Each setting comes
/// with an error message that names the other setting.
pub fn yaml_together(line: &Line, yaml: &Map<String, Value>) -> Vec<(String, YamlRefusal)> {
    let mut found = yaml_twice(line, yaml);
    let named = yaml_named(line, yaml);
    let is_group = named.get("commitlog_sync").is_some_and(|sync| sync == "group");
    if is_group && !named.keys().any(|name| name.starts_with("commitlog_sync_group_window")) {
        let refusal = YamlRefusal {
            why: "commitlog_sync: group of cassandra.yaml requires commitlog_sync_group_window"
                .to_owned(),
            hint: "add `commitlog_sync_group_window: 10ms`, or another duration".to_owned(),
        };
        found.push(("commitlog_sync".to_owned(), refusal));
    }
    for (key, is_so, other, why) in EXCLUDE {
        // In release 4.0, the name of the other setting ends with its unit.
        let beside = named
            .iter()
            .find(|(name, _)| name.strip_suffix("_in_ms").unwrap_or(name) == other);
        let (Some(value), Some((other, beside))) = (named.get(key), beside) else {
            continue;
        };
        if is_so.contains(&value.as_str().unwrap_or_default()) && !beside.is_null() {
            let refusal = YamlRefusal {
                why: format!(
                    "{key}: {value} and {other} of cassandra.yaml exclude each other: {why}"
                ),
                hint: format!("remove {other}"),
            };
            // The other setting may have another name in this file.
            let own = yaml_renamed(line, yaml).into_iter().find(|(_, (name, _))| name == other);
            found.push((own.map_or_else(|| other.clone(), |(own, _)| own), refusal));
        }
    }
    found
}

fn yaml_twice(line: &Line, yaml: &Map<String, Value>) -> Vec<(String, YamlRefusal)> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut twice = Vec::new();
    let renamed: BTreeMap<_, _> = yaml_renamed(line, yaml).into_iter().collect();
    for key in yaml.keys() {
        let name = renamed.get(key).map_or(key, |(name, _)| name);
        if let Some(other) = seen.insert(name.clone(), key.clone()) {
            let refusal = YamlRefusal {
                why: format!("{key} and {other} of cassandra.yaml are one setting, {name}"),
                hint: "remove one of the two names".to_owned(),
            };
            twice.push((key.clone(), refusal));
        }
    }
    twice
}

/// Reason why cassay refuses a setting of `cassandra.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlRefusal {
    /// Description of the problem. It includes the key of the setting.
    pub why: String,
    /// Advice on how to correct the setting.
    pub hint: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use versions::LINES;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn settings_are_written_by_the_names_of_the_line() {
        let yaml = map(json!({"compaction_throughput": "64MiB/s", "concurrent_reads": 8}));
        let old = map(json!({"compaction_throughput_mb_per_sec": 64, "concurrent_reads": 8}));
        assert_eq!(yaml_named(LINES[0], &yaml), old);
        for line in &LINES[1..] {
            assert_eq!(yaml_named(line, &old), yaml, "{}", line.name);
            assert_eq!(yaml_named(line, &yaml), yaml, "{}", line.name);
        }
    }

    #[test]
    fn one_setting_under_two_names_is_found() {
        let yaml = map(json!({
            "compaction_throughput": "64MiB/s", "compaction_throughput_mb_per_sec": 32,
        }));
        for line in LINES {
            let twice = yaml_twice(line, &yaml);
            assert_eq!(twice.len(), 1, "{}", line.name);
            assert!(twice[0].1.why.contains("are one setting"), "{twice:?}");
        }
        assert_eq!(
            yaml_twice(LINES[0], &map(json!({"concurrent_reads": 8}))),
            []
        );
    }

    #[test]
    fn a_class_of_a_later_line_is_refused_however_deep_it_stands() {
        let value = json!({"configurations": {"default": {"class_name": "TrieMemtable"}}});
        let refused = |line: &Line, origin: &Origin| {
            yaml_refusal((&line.release(), origin), "memtable", &value)
        };
        let why = refused(LINES[1], &Origin::Maven).expect("a refusal").why;
        assert_eq!(
            why,
            "Cassandra 4.1 has no TrieMemtable, which is in 5.0 and 6.0"
        );
        assert_eq!(refused(LINES[1], &Origin::Home("/b".into())), None);
        assert_eq!(refused(LINES[2], &Origin::Maven), None);
    }

    #[test]
    fn a_build_may_have_unknown_settings_but_no_removed_ones() {
        let release = LINES[3].release();
        let build = Origin::Home("/b".into());
        let refused = |origin, key| yaml_refusal((&release, origin), key, &json!(1)).is_some();
        assert!(refused(&Origin::Maven, "our_own"));
        assert!(!refused(&build, "our_own"));
        assert!(refused(&build, "log_out_of_token_range_requests"));
        assert!(refused(&build, "listen_address"));
        let newer = Release::parse("6.0.3").unwrap();
        assert_eq!(
            yaml_refusal((&newer, &Origin::Maven), "our_own", &json!(1)),
            None
        );
    }
}
