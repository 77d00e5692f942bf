//! Distinguishes harmless settings of a node, which are only data, from harmful settings. Harmful
//! settings may run a program, load a class, or write and read files on this machine.
//!
//! For JVM options and for `cassandra.yaml`, lists name the settings that are known to be harmless.
//! A JVM has more than a thousand options, and Cassandra has five hundred settings. A setting that
//! was never reviewed is not on the list, so it requires the trust of the user (decision 028).
//!
//! Long because of these lists.

use serde_json::Value;

/// Flags of the forms `-XX:+NAME` and `-XX:-NAME` that affect only the internal work of the JVM.
/// Flags that select a collector, `Use…GC`, are recognized by their form.
const SWITCHES: &[&str] = &[
    "AggressiveOpts",
    "AlwaysPreTouch",
    "BackgroundCompilation",
    "CMSParallelRemarkEnabled",
    "ClassUnloading",
    "ClassUnloadingWithConcurrentMark",
    "DebugNonSafepoints",
    "DisableExplicitGC",
    "DoEscapeAnalysis",
    "EliminateAllocations",
    "EliminateLocks",
    "ExitOnOutOfMemoryError",
    "ExplicitGCInvokesConcurrent",
    "G1UseAdaptiveIHOP",
    "Inline",
    "OmitStackTraceInFastThrow",
    "OptimizeStringConcat",
    "ParallelRefProcEnabled",
    "PerfDisableSharedMem",
    "ResizePLAB",
    "ResizeTLAB",
    "RestrictContended",
    "ScavengeBeforeFullGC",
    "SegmentedCodeCache",
    "TieredCompilation",
    "UnlockDiagnosticVMOptions",
    "UnlockExperimentalVMOptions",
    "UseAdaptiveSizePolicy",
    "UseBiasedLocking",
    "UseCodeCacheFlushing",
    "UseCompressedClassPointers",
    "UseCompressedOops",
    "UseCondCardMark",
    "UseContainerSupport",
    "UseCountedLoopSafepoints",
    "UseDynamicNumberOfGCThreads",
    "UseFastUnorderedTimeStamps",
    "UseLargePages",
    "UseNUMA",
    "UseNUMAInterleaving",
    "UseOnStackReplacement",
    "UsePerfData",
    "UseStringDeduplication",
    "UseSuperWord",
    "UseTLAB",
    "UseThreadPriorities",
    "UseTransparentHugePages",
    "UseVectorizedMismatchIntrinsic",
    "ZGenerational",
    "ZProactive",
    "ZUncommit",
];

/// Names of harmless flags of the form `-XX:NAME=NUMBER`. Flags of G1 and Shenandoah are recognized
/// by their prefix. Checking the number alone is not enough, because `-XX:OnError=1` runs a
/// program.
const NUMBERS: &[&str] = &[
    "ActiveProcessorCount",
    "AdaptiveSizePolicyWeight",
    "CICompilerCount",
    "CompileThreshold",
    "CompressedClassSpaceSize",
    "ConcGCThreads",
    "FreqInlineSize",
    "GCPauseIntervalMillis",
    "GCTimeRatio",
    "GuaranteedSafepointInterval",
    "InitialCodeCacheSize",
    "InitialHeapSize",
    "InitialRAMPercentage",
    "InitialTenuringThreshold",
    "InitiatingHeapOccupancyPercent",
    "InlineSmallCode",
    "LargePageSizeInBytes",
    "LoopUnrollLimit",
    "MaxDirectMemorySize",
    "MaxGCMinorPauseMillis",
    "MaxGCPauseMillis",
    "MaxHeapFreeRatio",
    "MaxHeapSize",
    "MaxInlineLevel",
    "MaxInlineSize",
    "MaxMetaspaceSize",
    "MaxNewSize",
    "MaxRAM",
    "MaxRAMPercentage",
    "MaxTenuringThreshold",
    "MetaspaceSize",
    "MinHeapFreeRatio",
    "MinHeapSize",
    "MinRAMPercentage",
    "MinTLABSize",
    "NewRatio",
    "NewSize",
    "ObjectAlignmentInBytes",
    "ParallelGCThreads",
    "ReservedCodeCacheSize",
    "SoftMaxHeapSize",
    "SoftRefLRUPolicyMSPerMB",
    "StringTableSize",
    "SurvivorRatio",
    "TLABSize",
    "TargetSurvivorRatio",
    "ThreadPriorityPolicy",
    "ThreadStackSize",
    "TieredStopAtLevel",
    "UseAVX",
    "UseSSE",
    "ZAllocationSpikeTolerance",
    "ZCollectionInterval",
    "ZFragmentationLimit",
    "ZUncommitDelay",
];

/// Harmless flags whose value is a word, with the permitted words of each flag.
const WORDS: &[(&str, &[&str])] = &[
    (
        "ShenandoahGCHeuristics",
        &["adaptive", "static", "compact", "aggressive"],
    ),
    ("ShenandoahGCMode", &["satb", "iu", "generational"]),
];

/// Prefixes of system properties that Cassandra and Netty read as a number or a switch.
const PROPERTIES: &[&str] = &["cassandra.", "io.netty.", "jdk.nio.maxCachedBufferSize"];

/// Parts of the names of properties that open access to the node. Such a property is harmful even
/// if its value is a number.
const DOORS: &[&str] = &[
    "auth", "insecure", "jmx", "password", "rmi", "ssl", "udf", "unsafe",
];

/// Returns true if a JVM option is only data. Such options are sizes, numbers and switches that
/// affect only the internal work of the JVM.
pub fn is_harmless_option(option: &str) -> bool {
    if matches!(option, "-server" | "-ea" | "-da" | "-Xint" | "-Xrs") {
        return true;
    }
    if let Some(rest) = option.strip_prefix("-XX:") {
        return flag(rest);
    }
    if let Some(rest) = option.strip_prefix("-D") {
        return property(rest);
    }
    let sizes = ["-Xms", "-Xmx", "-Xmn", "-Xss"];
    let size = sizes.iter().find_map(|name| option.strip_prefix(name));
    size.is_some_and(is_number)
}

fn flag(rest: &str) -> bool {
    if let Some(name) = rest.strip_prefix(['+', '-']) {
        let collector = name.starts_with("Use") && name.ends_with("GC") && is_name(name);
        return collector || SWITCHES.contains(&name);
    }
    let Some((name, value)) = rest.split_once('=') else {
        return false;
    };
    let family = name.starts_with("G1") || name.starts_with("Shenandoah");
    let number = NUMBERS.contains(&name) || (family && is_name(name));
    let words = WORDS.iter().find(|(known, _)| *known == name);
    (number && is_number(value)) || words.is_some_and(|(_, words)| words.contains(&value))
}

fn property(rest: &str) -> bool {
    let (name, value) = rest.split_once('=').unwrap_or((rest, "true"));
    let lower = name.to_ascii_lowercase();
    PROPERTIES.iter().any(|known| name.starts_with(known))
        && !DOORS.iter().any(|door| lower.contains(door))
        && !names_port(&lower)
        && (is_number(value) || matches!(value, "true" | "false"))
}

/// Returns true if a component of the name means a port, as in `local.port`.
/// `native_transport_requests` has no such component.
fn names_port(name: &str) -> bool {
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    parts.any(|part| part.ends_with("port") && !part.ends_with("transport"))
}

/// Returns true if the text consists only of letters and digits. Such a text cannot contain a path
/// or another option.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns true for texts such as `12`, `1.5` or `64m`.
fn is_number(text: &str) -> bool {
    let digits = text.trim_end_matches(|c: char| "kKmMgGtT".contains(c));
    text.len() - digits.len() <= 1
        && digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Settings of `cassandra.yaml` that permit code in CQL statements.
const CODE_SWITCHES: &[&str] = &[
    "allow_extra_insecure_udfs",
    "allow_insecure_udfs",
    "enable_scripted_user_defined_functions",
    "enable_user_defined_functions",
    "enable_user_defined_functions_threads",
    "scripted_user_defined_functions_enabled",
    "user_defined_functions_enabled",
    "user_defined_functions_threads_enabled",
];

const COMPRESSORS: &[&str] = &[
    "DeflateCompressor",
    "LZ4Compressor",
    "NoopCompressor",
    "SnappyCompressor",
    "ZstdCompressor",
];

const ACCESS_MODES: &[&str] = &[
    "auto",
    "direct",
    "legacy",
    "mmap",
    "mmap_index_only",
    "standard",
];

/// Words that settings of `cassandra.yaml` may have as their values, by the path of the setting. In
/// a path, `*` matches any key. Items of a list have the path of the list.
const YAML_WORDS: &[(&str, &[&str])] = &[
    (
        "batchlog_endpoint_strategy",
        &["random_remote", "prefer_local", "dynamic_remote", "dynamic"],
    ),
    (
        "commit_failure_policy",
        &["die", "stop", "stop_commit", "ignore"],
    ),
    ("commitlog_compression.class_name", COMPRESSORS),
    ("commitlog_disk_access_mode", ACCESS_MODES),
    ("commitlog_sync", &["periodic", "batch", "group"]),
    (
        "corrupted_tombstone_strategy",
        &["disabled", "warn", "exception"],
    ),
    (
        "default_compaction.class_name",
        &[
            "LeveledCompactionStrategy",
            "SizeTieredCompactionStrategy",
            "TimeWindowCompactionStrategy",
            "UnifiedCompactionStrategy",
        ],
    ),
    ("default_secondary_index", &["legacy_local_table", "sai"]),
    ("disk_access_mode", ACCESS_MODES),
    (
        "disk_failure_policy",
        &["die", "stop", "stop_paranoid", "best_effort", "ignore"],
    ),
    ("disk_optimization_strategy", &["ssd", "spinning"]),
    ("flush_compression", &["none", "fast", "table"]),
    ("hints_compression.class_name", COMPRESSORS),
    ("internode_compression", &["all", "dc", "none"]),
    (
        "memtable.configurations.*.class_name",
        &[
            "ShardedSkipListMemtable",
            "SkipListMemtable",
            "SkipListMemtableFactory",
            "TrieMemtable",
        ],
    ),
    (
        "memtable.configurations.*.inherits",
        &["default", "skiplist", "trie"],
    ),
    (
        "memtable_allocation_type",
        &[
            "heap_buffers",
            "offheap_buffers",
            "offheap_objects",
            "unslabbed_heap_buffers",
            "unslabbed_heap_buffers_logged",
        ],
    ),
    (
        "paxos_variant",
        &[
            "v1",
            "v1_without_linearizable_reads",
            "v2",
            "v2_without_linearizable_reads",
        ],
    ),
    (
        "row_cache_class_name",
        &[
            "org.apache.cassandra.cache.OHCProvider",
            "org.apache.cassandra.cache.SerializingCacheProvider",
        ],
    ),
    ("sstable.selected_format", &["big", "bti"]),
    (
        "storage_compatibility_mode",
        &["CASSANDRA_4", "UPGRADING", "NONE"],
    ),
];

/// Returns the paths below a key of `cassandra.yaml` whose values may do harm. Numbers, switches
/// and quantities (`64MiB/s`, `10ms`) cannot name a class, a program or a file. So they are
/// harmless under all keys except those for code. A word is harmless if it is a known word of the
/// setting.
pub fn harmful_settings(key: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(key, value, &mut found);
    found
}

fn look(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Number(_) => {}
        Value::Bool(_) if !CODE_SWITCHES.contains(&path) => {}
        Value::String(text) if versions::is_number(text) || is_quantity(text) => {}
        Value::String(text) if is_known_word(path, text) => {}
        Value::Array(items) => items.iter().for_each(|item| look(path, item, found)),
        Value::Object(entries) => {
            for (key, value) in entries {
                look(&format!("{path}.{key}"), value, found);
            }
        }
        Value::Bool(_) | Value::String(_) => found.push(path.to_string()),
    }
}

/// Returns true for a number with a unit. Cassandra's units consist of letters. A rate is a size
/// followed by `/s`.
fn is_quantity(text: &str) -> bool {
    let unit = text
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-')
        .trim_start_matches(' ')
        .trim_end_matches("/s");
    let short = unit.len() <= 3 && unit.chars().all(|c| c.is_ascii_alphabetic());
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && short
}

fn is_known_word(path: &str, text: &str) -> bool {
    let fits = |pattern: &str| {
        let (mut one, mut other) = (pattern.split('.'), path.split('.'));
        loop {
            match (one.next(), other.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a == "*" || a == b => {}
                _ => return false,
            }
        }
    };
    YAML_WORDS.iter().any(|(pattern, words)| fits(pattern) && words.contains(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn options_of_heap_and_collector_are_data() {
        for option in [
            "-Xms1G",
            "-Xmx512m",
            "-Xss1m",
            "-XX:+UseZGC",
            "-XX:+UseParallelGC",
            "-XX:-ZGenerational",
            "-XX:MaxGCPauseMillis=200",
            "-XX:G1HeapRegionSize=16m",
            "-XX:MaxRAMPercentage=50.0",
            "-XX:ShenandoahGCHeuristics=compact",
            "-XX:+AlwaysPreTouch",
            "-Dcassandra.max_queued_native_transport_requests=128",
            "-Dio.netty.allocator.useCacheForAllThreads=true",
        ] {
            assert!(is_harmless_option(option), "{option}");
        }
    }

    #[test]
    fn options_that_run_load_write_or_open_something_are_not() {
        for option in [
            "-XX:OnOutOfMemoryError=touch /tmp/x",
            "-XX:OnError=1",
            "-XX:+HeapDumpOnOutOfMemoryError",
            "-XX:HeapDumpPath=/etc/cron.d/x",
            "-XX:ErrorFile=/x",
            "-XX:Flags=1",
            "-XX:VMOptionsFile=1",
            "-XX:LogFile=1",
            "-XX:+LogVMOutput",
            "-XX:SharedArchiveFile=x",
            "-XX:StartFlightRecording=filename=/x",
            "-XX:CompileCommandFile=1",
            "-XX:G1/../x=1",
            "-javaagent:x.jar",
            "-agentlib:jdwp=transport=dt_socket,server=y,address=*:5005",
            "-agentpath:/x.so",
            "-Xrunjdwp",
            "-Xbootclasspath/a:x",
            "-Xlog:gc:file=/etc/x",
            "-Xloggc:/etc/x",
            "-XshowSettings",
            "-cp",
            "-jar",
            "@args",
            "Main",
            "",
            "-Dcassandra.jmx.remote.port=7199",
            "-Dcassandra.native_transport_port=9042",
            "-Dcom.sun.management.jmxremote.port=7199",
            "-Dcassandra.custom_query_handler_class=x.Y",
            "-Dcassandra.triggers_dir=/tmp",
            "-Dcassandra.config=file:///tmp/x",
            "-Djava.library.path=/tmp",
            "-Dlogback.configurationFile=/tmp/x",
            "-Xmx1G -javaagent:x.jar",
            "-Xmx1GG",
        ] {
            assert!(!is_harmless_option(option), "{option}");
        }
    }

    #[test]
    fn numbers_switches_quantities_and_known_words_are_data() {
        for (key, value) in [
            ("concurrent_reads", json!(64)),
            ("trickle_fsync", json!(true)),
            ("compaction_throughput", json!("64MiB/s")),
            ("commitlog_sync_period", json!("10000ms")),
            ("key_cache_size", json!("1 GiB")),
            ("concurrent_reads", json!("1_000")),
            ("concurrent_reads", json!("0x20")),
            ("commitlog_sync", json!("batch")),
            (
                "commitlog_compression",
                json!([{"class_name": "LZ4Compressor"}]),
            ),
            (
                "memtable",
                json!({"configurations": {"default": {"class_name": "TrieMemtable"}}}),
            ),
            ("sstable", json!({"selected_format": "bti"})),
            ("row_cache_size", json!(null)),
        ] {
            assert_eq!(harmful_settings(key, &value), [""; 0], "{key}: {value}");
        }
    }

    #[test]
    fn settings_that_name_code_programs_or_files_are_not() {
        let archive = json!({"enabled": true, "archive_command": "batch %path"});
        for (key, value, at) in [
            (
                "full_query_logging_options",
                archive.clone(),
                "full_query_logging_options.archive_command",
            ),
            (
                "audit_logging_options",
                archive,
                "audit_logging_options.archive_command",
            ),
            (
                "audit_logging_options",
                json!({"logger": [{"class_name": "x.Y"}]}),
                "audit_logging_options.logger.class_name",
            ),
            ("role_manager", json!("x.Y"), "role_manager"),
            ("heap_dump_path", json!("/etc"), "heap_dump_path"),
            (
                "user_defined_functions_enabled",
                json!(true),
                "user_defined_functions_enabled",
            ),
            (
                "server_encryption_options",
                json!({"keystore": "/x"}),
                "server_encryption_options.keystore",
            ),
            (
                "commitlog_compression",
                json!([{"class_name": "x.Y"}]),
                "commitlog_compression.class_name",
            ),
            ("commitlog_sync", json!("touch"), "commitlog_sync"),
            (
                "crypto_provider",
                json!([{"class_name": "x"}]),
                "crypto_provider.class_name",
            ),
            // The setting is harmful, because an unknown key may name code in a later release.
            ("anything", json!("1/etc/passwd"), "anything"),
        ] {
            assert_eq!(harmful_settings(key, &value), [at], "{key}: {value}");
        }
    }
}
