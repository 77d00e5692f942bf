//! Cassandra 5.0.

use crate::line::{Formats, Line, Presets};

pub(crate) static LINE: Line = Line {
    name: "5.0",
    pinned: "5.0.9",
    lock: include_str!("supply.lock"),
    settings: include_str!("settings.txt"),
    limits: include_str!("limits.txt"),
    guardrails: include_str!("guardrails.txt"),
    presets: Some(Presets {
        shipped: include_str!("shipped.json"),
        latest: include_str!("latest.json"),
    }),
    releases: include_str!("releases.txt"),
    classes: &[
        "ShardedSkipListMemtable",
        "SkipListMemtable",
        "StorageAttachedIndex",
        "TrieMemtable",
        "UnifiedCompactionStrategy",
    ],
    gone: &[
        (
            "commitlog_sync_batch_window_in_ms",
            "remove this setting: `commitlog_sync: batch` does not wait",
        ),
        (
            "commitlog_periodic_queue_size",
            "remove this setting: the queue of the commit log has no limit",
        ),
        (
            "concurrent_replicates",
            "write concurrent_writes and concurrent_counter_writes instead",
        ),
        (
            "native_transport_max_negotiable_protocol_version",
            "remove this setting; `native_transport_allow_older_protocols: false` refuses old \
             clients",
        ),
    ],
    java_supported: &[11, 17],
    java_seen: &[17],
    formats: Formats {
        big: "oa",
        bti: Some("da"),
    },
    has_dotted_names: true,
    starts_without_jamm: true,
    has_cluster_metadata: false,
    has_metric_tables: false,
    has_snapshot_table: true,
};
