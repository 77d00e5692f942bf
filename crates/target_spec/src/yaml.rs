//! Settings of `cassandra.yaml` that cassay refuses on managed nodes, with the reasons.

use crate::spec::Origin;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use versions::{BrokenLimit, LACKED_CLASS_HINT, Lack, Line, Release, Setting};

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
        "cassay configures this itself: `racks` sets racks, `authentication` sets passwords, and \
         cassay's nodes use no TLS",
    ),
];

/// Maximum number of tokens. It is larger than any common number (256 was the default until 4.0),
/// but small enough for a list of tokens.
const TOKENS_COUNT_MAX: i64 = 1024;

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
/// cassay may control the key, or the release may lack the setting or a class that the value names.
/// The value may also have the wrong type, or be beyond a limit. If the result is `None`, the
/// server itself accepts or refuses the value.
pub fn yaml_refusal(
    (release, origin): (&Release, &Origin),
    key: &str,
    value: &Value,
) -> Option<YamlRefusal> {
    let refusal = |why: String, hint: &str| YamlRefusal {
        why,
        hint: hint.to_owned(),
    };
    let whole = key.split('.').next().unwrap_or(key);
    if let Some((_, why)) = OWNED.iter().find(|(keys, _)| keys.contains(&whole)) {
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
    if let Some(why) = tokens_refused(key, value) {
        return Some(refusal(
            why,
            "write one of these numbers, or remove the setting",
        ));
    }
    // A user's build may have other limits.
    let (key, value) = match release.line().setting(key, value) {
        Setting::Named { name, value } => (name, value),
        Setting::Known | Setting::Refused(_) => (key.to_owned(), value.clone()),
    };
    let broken = release.line().beyond_limit(&key, &value).filter(|_| *origin == Origin::Maven);
    broken.map(|broken| refusal(broken.why, &broken.hint))
}

/// Returns the reason why cassay cannot give a node the number of tokens in a setting. `None` for
/// valid numbers and for other settings.
fn tokens_refused(key: &str, value: &Value) -> Option<String> {
    let is_number = key == "num_tokens" && !value.is_null();
    let count = versions::whole_number(value);
    let is_in = count.is_some_and(|count| (1..=TOKENS_COUNT_MAX).contains(&count));
    (is_number && !is_in)
        .then(|| format!("num_tokens must be 1 to {TOKENS_COUNT_MAX}, not {value}"))
}

/// Returns a sentence about the first class in a value, at any depth, that a release line does not
/// contain. Returns `None` if the line contains every class in the value.
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

/// Returns the settings of one file that a server does not accept together. Two names may refer to
/// the same setting, or one setting may exclude or require another. One setting may also break a
/// limit that depends on another. Each setting comes with an error message that names the other
/// setting. `rest` contains other settings of the same nodes. For all other settings, the server's
/// defaults apply.
pub fn yaml_together(
    (release, origin): (&Release, &Origin),
    yaml: &Map<String, Value>,
    rest: &Map<String, Value>,
) -> Vec<(String, YamlRefusal)> {
    let line = release.line();
    let mut found = yaml_twice(line, yaml);
    let named = yaml_named(line, yaml);
    // The setting may have another name in this file.
    let renamed = yaml_renamed(line, yaml);
    let own = |name: &str| {
        let own = renamed.iter().find(|(_, (new, _))| new == name);
        own.map_or_else(|| name.to_owned(), |(own, _)| own.clone())
    };
    // A user's build may have other limits.
    if *origin == Origin::Maven {
        let misfits = line.misfits(&named, &yaml_named(line, rest)).into_iter();
        found.extend(
            misfits.map(|BrokenLimit { name, why, hint }| (own(&name), YamlRefusal { why, hint })),
        );
    }
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
            found.push((own(other), refusal));
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
    fn limits_apply_under_each_name_of_a_setting() {
        let line = LINES[2];
        let of = (&line.release(), &Origin::Maven);
        for (key, legal, refused) in [
            ("max_value_size_in_mb", json!(256), json!(4096)),
            ("concurrent_reads", json!("64"), json!("1")),
            ("num_tokens", json!("16"), json!("0")),
            ("num_tokens", json!(null), json!(1025)),
        ] {
            assert_eq!(yaml_refusal(of, key, &legal), None, "{key}");
            assert!(yaml_refusal(of, key, &refused).is_some(), "{key}");
        }
        let too_large = map(json!({"max_mutation_size_in_kb": 65_536}));
        let found = yaml_together(of, &too_large, &Map::new());
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, "max_mutation_size_in_kb");
        let larger = map(json!({"commitlog_segment_size_in_mb": 256}));
        assert_eq!(yaml_together(of, &too_large, &larger), []);
        let build = Origin::Home("/b".into());
        assert_eq!(yaml_together((of.0, &build), &too_large, &Map::new()), []);
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
        // A part belongs to cassay if its setting does.
        assert!(refused(&build, "client_encryption_options.enabled"));
        let newer = Release::parse("6.0.3").unwrap();
        assert_eq!(
            yaml_refusal((&newer, &Origin::Maven), "our_own", &json!(1)),
            None
        );
    }
}
