//! What of `cassandra.yaml` cannot be set on nodes of ours, and why.

use crate::spec::Origin;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use versions::{LACKED_CLASS_HINT, Lack, Line, Release, Setting};

/// Settings that cassay owns, and why somebody else may not set them.
const OWNED: [(&[&str], &str); 5] = [
    (
        &[
            "cluster_name",
            "seed_provider",
            "auto_bootstrap",
            "initial_token",
            "partitioner",
        ],
        "the ring is made by cassay, with tokens spread evenly",
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
        "every node has an address of its own, chosen by cassay",
    ),
    (
        &[
            "storage_port",
            "ssl_storage_port",
            "native_transport_port",
            "native_transport_port_ssl",
            "start_native_transport",
        ],
        "ports are chosen by cassay, where they are free",
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
        "a node's files are where cassay can remove them",
    ),
    (
        &[
            "endpoint_snitch",
            "authenticator",
            "authorizer",
            "client_encryption_options",
        ],
        "racks are set with `racks`, a password is asked for with `authentication`, and there is \
         no TLS",
    ),
];

/// More tokens than anybody ever used (256 was the default until 4.0), and few enough to list.
const TOKENS_COUNT_MAX: u64 = 1024;

/// Why a key of `cassandra.yaml` cannot have a value on nodes of a release: because cassay owns it,
/// because the release has nothing of its kind, or because it makes no ring. None: the server will
/// say itself what it thinks of it.
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
        let why = format!("{key} of cassandra.yaml cannot be set: {why}");
        return Some(refusal(why, "remove it"));
    }
    // What is not of the release that is pinned may have settings of its own.
    let is_pinned = release.is_pinned() && *origin == Origin::Maven;
    match release.line().setting(key, value) {
        Setting::Refused(refused) if is_pinned || refused.lack != Lack::Unknown => {
            return Some(refusal(refused.why, &refused.hint));
        }
        Setting::Known | Setting::Named { .. } | Setting::Refused(_) => {}
    }
    // A build may have classes of its own, or of a later line.
    let lacking = || class_lacking(release.line(), value);
    if let Some(why) = (*origin == Origin::Maven).then(lacking).flatten() {
        return Some(refusal(why, LACKED_CLASS_HINT));
    }
    let is_ring = |count: &Value| {
        let count = count.as_u64();
        count.is_some_and(|count| (1..=TOKENS_COUNT_MAX).contains(&count))
    };
    (key == "num_tokens" && !is_ring(value)).then(|| {
        let why = format!("num_tokens must be 1 to {TOKENS_COUNT_MAX}, not {value}");
        refusal(why, "remove it, or write such a number")
    })
}

/// Which class a value names, however deep, that a line does not have.
fn class_lacking(line: &Line, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => line.lacks_class(text),
        Value::Array(items) => items.iter().find_map(|item| class_lacking(line, item)),
        Value::Object(map) => map.values().find_map(|value| class_lacking(line, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Which settings are called otherwise in a line: what each is called here, then what it is there.
pub fn yaml_renamed(line: &Line, yaml: &Map<String, Value>) -> Vec<(String, (String, Value))> {
    let named = yaml.iter().filter_map(|(key, value)| match line.setting(key, value) {
        Setting::Named { name, value } => Some((key.clone(), (name, value))),
        Setting::Known | Setting::Refused(_) => None,
    });
    named.collect()
}

/// Settings by their names in a line. Those that it does not have stay as they are.
pub fn yaml_named(line: &Line, yaml: &Map<String, Value>) -> Map<String, Value> {
    let mut named = yaml.clone();
    for (old, (name, value)) in yaml_renamed(line, yaml) {
        named.remove(&old);
        named.insert(name, value);
    }
    named
}

/// Which settings of one file are the same one under two names, which a server refuses: each with
/// the other.
pub fn yaml_twice(line: &Line, yaml: &Map<String, Value>) -> Vec<(String, YamlRefusal)> {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut twice = Vec::new();
    let renamed: BTreeMap<_, _> = yaml_renamed(line, yaml).into_iter().collect();
    for key in yaml.keys() {
        let name = renamed.get(key).map_or(key, |(name, _)| name);
        if let Some(other) = seen.insert(name.clone(), key.clone()) {
            let refusal = YamlRefusal {
                why: format!("{key} and {other} of cassandra.yaml are one setting, {name}"),
                hint: "remove one of them".to_owned(),
            };
            twice.push((key.clone(), refusal));
        }
    }
    twice
}

/// Why a setting of `cassandra.yaml` is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlRefusal {
    /// What is wrong, with the key.
    pub why: String,
    /// What to do.
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
    fn a_build_may_have_settings_that_no_release_has_but_none_that_are_gone() {
        let release = LINES[3].release();
        let build = Origin::Home("/b".into());
        let refused = |origin, key| yaml_refusal((&release, origin), key, &json!(1)).is_some();
        assert!(refused(&Origin::Maven, "our_own"));
        assert!(!refused(&build, "our_own"));
        assert!(refused(&build, "log_out_of_token_range_requests"));
        assert!(refused(&build, "listen_address"));
        let newer = Release::of("6.0.3").unwrap();
        assert_eq!(
            yaml_refusal((&newer, &Origin::Maven), "our_own", &json!(1)),
            None
        );
    }
}
