//! Compares requested settings with reported ones. Compares values instead of texts, because
//! servers report `1GiB` as `1024MiB` and `10s` as `10000ms`.

mod java_text;

use super::outcome::Effect;
use serde_json::Value;
use std::collections::BTreeMap;
use target_spec::jvm_size;

/// Requested value of a `cassandra.yaml` key, compared with the reported value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingPair {
    /// Key in `cassandra.yaml`. The key of a flattened nested setting contains dots.
    pub key: String,
    pub wanted: String,
    pub effect: Effect,
}

/// Compares a `cassandra.yaml` key with the rows of `system_views.settings`. The server flattens
/// most nested keys with dots, and reports some nested values as one text.
pub(crate) fn yaml(key: &str, value: &Value, rows: &BTreeMap<String, String>) -> Vec<SettingPair> {
    if let Some(row) = rows.get(key) {
        return vec![SettingPair {
            key: key.to_string(),
            wanted: plain(value),
            effect: effect(value, row),
        }];
    }
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .flat_map(|(name, value)| yaml(&format!("{key}.{name}"), value, rows))
            .collect(),
        // The file may contain a class with parameters as a list of one element.
        Value::Array(list) if matches!(list.as_slice(), [Value::Object(_)]) => {
            yaml(key, &list[0], rows)
        }
        _ => vec![SettingPair {
            key: key.to_string(),
            wanted: plain(value),
            effect: Effect::NotShown(
                "system_views.settings has no row for this setting".to_string(),
            ),
        }],
    }
}

/// Values that the server reports only partly. For `mmap_index_only`, the server uses `standard`
/// for data files and `mmap` for index files (`DatabaseDescriptor` of 4.0 to 6.0). It reports only
/// the value for data files.
const SHOWN_IN_PART: [(&str, &str); 1] = [("mmap_index_only", "standard")];

/// Returns a value as text, without JSON quotes.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn effect(value: &Value, row: &str) -> Effect {
    let is_left_to_it = match value {
        Value::Null => !same("null", row),
        Value::String(word) => {
            let is_one = |(asked, shown): &(&str, &str)| asked == word && *shown == row;
            word == "auto" && !row.eq_ignore_ascii_case("auto") || SHOWN_IN_PART.iter().any(is_one)
        }
        _ => false,
    };
    if is_left_to_it {
        return Effect::NotShown(format!(
            "the server chose the value itself, and reports {row}"
        ));
    }
    match java_text::says(value, row) {
        Some(true) => Effect::InEffect(row.to_string()),
        Some(false) => Effect::NotInEffect(row.to_string()),
        None => Effect::NotShown(format!(
            "the server reports only a part of the value: {row}"
        )),
    }
}

/// Returns true if two texts represent the same value.
pub fn same(wanted: &str, shown: &str) -> bool {
    let (wanted, shown) = (wanted.trim(), shown.trim());
    if wanted.eq_ignore_ascii_case(shown) {
        return true;
    }
    if wanted == "null" {
        return shown.is_empty();
    }
    if let (Some(wanted), Some(shown)) = (quantity(wanted), quantity(shown)) {
        return wanted == shown;
    }
    // A class name may be given with or without its package.
    let is_class_of =
        |short: &str, long: &str| !short.is_empty() && long.ends_with(&format!(".{short}"));
    is_class_of(wanted, shown) || is_class_of(shown, wanted)
}

/// Unit, dimension, and size in the smallest unit of the dimension.
const UNITS: [(&str, &str, f64); 16] = [
    ("ns", "time", 1.0),
    ("us", "time", 1e3),
    ("µs", "time", 1e3),
    ("ms", "time", 1e6),
    ("s", "time", 1e9),
    ("m", "time", 60e9),
    ("h", "time", 3600e9),
    ("d", "time", 86_400e9),
    ("B", "size", 1.0),
    ("KiB", "size", 1024.0),
    ("MiB", "size", 1_048_576.0),
    ("GiB", "size", 1_073_741_824.0),
    ("B/s", "rate", 1.0),
    ("KiB/s", "rate", 1024.0),
    ("MiB/s", "rate", 1_048_576.0),
    ("", "number", 1.0),
];

/// Parses a number with a unit in the syntax of `cassandra.yaml`. Returns the dimension (`time`,
/// `size`, `rate` or `number`), and the value in the smallest unit of this dimension.
pub fn quantity(text: &str) -> Option<(&'static str, f64)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || ".-+eE".contains(c)))
        .unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim();
    let (_, what, factor) = UNITS.iter().find(|(name, _, _)| *name == unit)?;
    Some((what, number * factor))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    pub value: String,
    /// Origin of the value, such as `command line`, `ergonomic` or `default`.
    pub origin: String,
}

impl Flag {
    /// Returns the value, followed by its origin unless it comes from the command line.
    pub fn with_origin(&self) -> String {
        if self.origin == "command line" {
            self.value.clone()
        } else {
            format!("{} ({})", self.value, self.origin)
        }
    }
}

/// Parses the output of `VM.flags -all`, with lines such as `uintx MaxHeapSize = 1073741824
/// {product} {command line}`.
pub fn flags(text: &str) -> BTreeMap<String, Flag> {
    let flag = |line: &str| -> Option<(String, Flag)> {
        let (name, rest) = line.split_once('=')?;
        let name = name.split_ascii_whitespace().nth(1)?;
        let (value, kinds) = rest.split_once('{')?;
        let origin = kinds.rsplit_once('{')?.1.trim_end().strip_suffix('}')?;
        Some((
            name.trim_end_matches(':').to_string(),
            Flag {
                value: value.trim().to_string(),
                origin: origin.to_string(),
            },
        ))
    };
    text.lines().filter_map(flag).collect()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JvmOption<'a> {
    Flag(&'a str, String),
    Property(&'a str, &'a str),
    /// Option that cassay searches for verbatim among the arguments.
    Other,
}

/// Short options, and the flags that they set.
const SHORT: [(&str, &str); 4] = [
    ("-Xms", "InitialHeapSize"),
    ("-Xmx", "MaxHeapSize"),
    ("-Xmn", "NewSize"),
    ("-Xss", "ThreadStackSize"),
];

pub fn jvm_option(option: &str) -> JvmOption<'_> {
    if let Some(flag) = option.strip_prefix("-XX:") {
        if let Some(name) = flag.strip_prefix('+') {
            return JvmOption::Flag(name, "true".to_string());
        }
        if let Some(name) = flag.strip_prefix('-') {
            return JvmOption::Flag(name, "false".to_string());
        }
        if let Some((name, value)) = flag.split_once('=') {
            return JvmOption::Flag(name, value.to_string());
        }
    }
    if let Some(property) = option.strip_prefix("-D") {
        let (name, value) = property.split_once('=').unwrap_or((property, ""));
        return JvmOption::Property(name, value);
    }
    for (short, name) in SHORT {
        let size = option.strip_prefix(short).and_then(jvm_size);
        match size {
            // `ThreadStackSize` has the unit KiB.
            Some(bytes) if name == "ThreadStackSize" => {
                return JvmOption::Flag(name, (bytes / 1024).to_string());
            }
            Some(bytes) => return JvmOption::Flag(name, bytes.to_string()),
            None => {}
        }
    }
    JvmOption::Other
}

/// Returns true if a flag has the requested value. The JVM rounds heap sizes up to its granularity,
/// which is at most the size of the largest G1 region, 32 MiB.
pub fn flag_holds(name: &str, wanted: &str, shown: &str) -> bool {
    const REGION_BYTES_MAX: u64 = 32 << 20;
    if wanted.eq_ignore_ascii_case(shown) {
        return true;
    }
    if let (Some(wanted), Some(shown)) = (jvm_size(wanted), jvm_size(shown)) {
        let rounded = name.ends_with("HeapSize") && shown.saturating_sub(wanted) < REGION_BYTES_MAX;
        return shown == wanted || (rounded && shown > wanted);
    }
    matches!((wanted.parse::<f64>(), shown.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}

/// Parses the container section of `VM.info`. The result is empty outside a container.
pub fn container(text: &str) -> BTreeMap<String, String> {
    let section = text
        .lines()
        .skip_while(|line| !line.starts_with("container (cgroup) information:"))
        .skip(1)
        .take_while(|line| !line.trim().is_empty());
    let pair = |line: &str| {
        let (name, value) = line.split_once(':')?;
        // Resource usage and the number of tasks are not configuration.
        if name.contains("usage") || name.contains("number of tasks") {
            return None;
        }
        Some((name.trim().to_string(), value.trim().to_string()))
    };
    section.filter_map(pair).collect()
}

/// Returns the distinct names of class data archives that `VM.info` lists as mapped.
pub fn archives(text: &str) -> Vec<String> {
    let mapped = text.lines().skip_while(|line| !line.starts_with("Dynamic libraries:"));
    let mut names: Vec<String> = mapped
        .filter_map(|line| line.split_ascii_whitespace().last()?.rsplit('/').next())
        .filter(|name| name.ends_with(".jsa"))
        .map(str::to_string)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Parses a size in `VM.info`, such as `3145728 k` or a number of bytes.
pub fn container_bytes(text: &str) -> Option<u64> {
    jvm_size(&text.replace(' ', ""))
}

/// Parses a Java properties file, the output format of `VM.system_properties`.
pub fn properties(text: &str) -> BTreeMap<String, String> {
    let pair = |line: &str| -> Option<(String, String)> {
        if line.starts_with('#') {
            return None;
        }
        let mut end = line.find('=')?;
        // A name may contain escaped equals signs.
        while end > 0 && line.as_bytes()[end - 1] == b'\\' {
            end += 1 + line[end + 1..].find('=')?;
        }
        Some((unescape(&line[..end]), unescape(&line[end + 1..])))
    };
    text.lines().filter_map(pair).collect()
}

/// Removes the backslashes of a properties file. Non-ASCII characters remain escaped.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => plain.push('\n'),
                Some('t') => plain.push('\t'),
                Some('r') => plain.push('\r'),
                Some('u') => plain.push_str("\\u"),
                Some(other) => plain.push(other),
                None => {}
            },
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_the_same_by_value_and_not_by_text() {
        let cases = [
            ("1GiB", "1024MiB", true),
            ("10s", "10000ms", true),
            ("64MiB/s", "65536KiB/s", true),
            ("64MiB/s", "64MiB", false),
            ("1m", "1MiB", false),
            ("1m", "60s", true),
            ("0.1", "0.10", true),
            ("batch", "batch", true),
            ("BATCH", "batch", true),
            ("batch", "periodic", false),
            ("true", "false", false),
            ("null", "", true),
            ("auto", "mmap", false),
            ("1", "10", false),
            ("", "a.b.", false),
            ("mmap", "standard", false),
            (
                "LZ4Compressor",
                "org.apache.cassandra.io.compress.LZ4Compressor",
                true,
            ),
            (
                "Compressor",
                "org.apache.cassandra.io.compress.LZ4Compressor",
                false,
            ),
        ];
        for (wanted, shown, holds) in cases {
            assert_eq!(same(wanted, shown), holds, "{wanted} and {shown}");
        }
    }

    #[test]
    fn nested_keys_are_found_where_the_server_flattens_them() {
        let rows: BTreeMap<String, String> = [
            ("sstable.selected_format", "big"),
            ("commitlog_compression.class_name", "LZ4Compressor"),
            ("memtable.configurations", "{skiplist=SkipListMemtable}"),
            ("concurrent_reads", "32"),
            ("disk_access_mode", "mmap"),
        ]
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .into();
        let check = |key: &str, value: Value| {
            let shown = yaml(key, &value, &rows);
            let brief = shown.iter().map(|one| match &one.effect {
                Effect::InEffect(row) => format!("{} {row} yes", one.key),
                Effect::NotInEffect(row) => format!("{} {row} no", one.key),
                Effect::NotShown(why) => format!("{} ? {why}", one.key),
            });
            brief.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            check("concurrent_reads", json!(32)),
            "concurrent_reads 32 yes"
        );
        assert_eq!(
            check("concurrent_reads", json!(16)),
            "concurrent_reads 32 no"
        );
        assert_eq!(
            check(
                "sstable",
                json!({"selected_format": "bti", "unheard_of": 1})
            ),
            "sstable.selected_format big no; sstable.unheard_of ? system_views.settings has no row \
             for this setting"
        );
        assert_eq!(
            check(
                "commitlog_compression",
                json!([{"class_name": "LZ4Compressor"}])
            ),
            "commitlog_compression.class_name LZ4Compressor yes"
        );
        let memtable = |class: &str| {
            check(
                "memtable",
                json!({"configurations": {"skiplist": {"class_name": class}}}),
            )
        };
        assert!(memtable("SkipListMemtable").ends_with("} yes"));
        assert!(memtable("TrieMemtable").ends_with("} no"));
        assert!(check("disk_access_mode", json!("mmap_index_only")).ends_with("mmap no"));
        let sized = check("concurrent_reads", Value::Null);
        assert!(
            sized.ends_with("? the server chose the value itself, and reports 32"),
            "{sized}"
        );
        let auto = check("disk_access_mode", json!("auto"));
        assert!(
            auto.ends_with("? the server chose the value itself, and reports mmap"),
            "{auto}"
        );
    }

    #[test]
    fn flags_have_a_value_and_an_origin() {
        let text = "[Global flags]\n\
            \x20   size_t MaxHeapSize      = 536870912      {product} {command line}\n\
            \x20     bool UseZGC           = false          {product} {default}\n\
            \x20   ccstr ErrorFile         = /a b/x.log     {product} {command line}\n\
            \x20   ccstr AllocateHeapAt    =                {product} {default}\n\
            \x20   uint ParallelGCThreads  = 2              {product} {ergonomic}\n";
        let flags = flags(text);
        assert_eq!(flags.len(), 5);
        let flag = |name: &str| {
            let flag = &flags[name];
            format!("{}|{}", flag.value, flag.origin)
        };
        assert_eq!(flag("MaxHeapSize"), "536870912|command line");
        assert_eq!(flag("ErrorFile"), "/a b/x.log|command line");
        assert_eq!(flag("AllocateHeapAt"), "|default");
        assert_eq!(flag("ParallelGCThreads"), "2|ergonomic");
    }

    #[test]
    fn options_are_looked_for_where_they_show() {
        let flag = |name, value: &str| JvmOption::Flag(name, value.to_string());
        let cases = [
            ("-XX:+UseZGC", flag("UseZGC", "true")),
            ("-XX:-UseNUMA", flag("UseNUMA", "false")),
            ("-XX:MaxGCPauseMillis=50", flag("MaxGCPauseMillis", "50")),
            ("-Xmx640m", flag("MaxHeapSize", "671088640")),
            ("-Xss512k", flag("ThreadStackSize", "512")),
            (
                "-Dcassandra.x=1=2",
                JvmOption::Property("cassandra.x", "1=2"),
            ),
            ("-Dbare", JvmOption::Property("bare", "")),
            ("-ea", JvmOption::Other),
            ("-Xlog:gc", JvmOption::Other),
        ];
        for (option, expected) in cases {
            assert_eq!(jvm_option(option), expected, "{option}");
        }
    }

    #[test]
    fn a_flag_matches_in_any_notation_and_a_heap_within_rounding() {
        assert!(flag_holds("UseZGC", "true", "true"));
        assert!(flag_holds("G1HeapRegionSize", "16m", "16777216"));
        assert!(!flag_holds("G1HeapRegionSize", "16m", "16777217"));
        assert!(flag_holds("MaxHeapSize", "500m", "536870912"));
        assert!(!flag_holds("MaxHeapSize", "512m", "671088640"));
        assert!(!flag_holds("MaxHeapSize", "640m", "536870912"));
        assert!(flag_holds("MinRAMPercentage", "25", "25.000000"));
    }

    #[test]
    fn the_containers_facts_are_read_from_the_jvms_own_words() {
        let text = "OS: Linux\n\ncontainer (cgroup) information:\ncontainer_type: cgroupv1\n\
            cpu_cpuset_cpus: 0-1\nactive_processor_count: 2\ncpu_quota: 150000\n\
            memory_limit_in_bytes: 3145728 k\nmemory_usage_in_bytes: 7 k\n\nSteal ticks: 3\n";
        let facts = container(text);
        assert_eq!(facts["cpu_quota"], "150000");
        assert_eq!(
            container_bytes(&facts["memory_limit_in_bytes"]),
            Some(3 << 30)
        );
        assert_eq!(container_bytes("unlimited"), None);
        assert!(!facts.contains_key("Steal ticks") && !facts.contains_key("memory_usage_in_bytes"));
        assert!(container("OS: Linux\n").is_empty());
    }

    #[test]
    fn archives_are_those_that_are_mapped() {
        let text = "Command Line: -XX:SharedArchiveFile=/c/no.jsa\n\nDynamic libraries:\n\
            7f10-7f20 rw-p 00001000 fe:00 7 /usr/lib/jvm/17/lib/server/classes.jsa\n\
            7f20-7f30 r--p 00009000 fe:00 7 /usr/lib/jvm/17/lib/server/classes.jsa\n\
            7f30-7f40 rw-p 00001000 fe:00 8 /c/a b/cassandra-classes-1.jsa\n\
            7f50-7f60 rw-p 00000000 00:00 0\n7f60-7f70 r-xp 00000000 fe:00 9 /lib/libc.so.6\n";
        assert_eq!(archives(text), ["cassandra-classes-1.jsa", "classes.jsa"]);
        assert!(archives("Command Line: /c/no.jsa\n").is_empty());
    }

    #[test]
    fn properties_lose_their_escapes() {
        let found = properties("#Sat Nov 21\na.b=c\\:d\nodd\\=name=x=y\nempty=\n");
        assert_eq!(found["a.b"], "c:d");
        assert_eq!(found["odd=name"], "x=y");
        assert_eq!(found["empty"], "");
    }
}
