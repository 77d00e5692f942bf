//! Cassandra 6.0.

use crate::line::{Formats, Line, Presets};

/// Advice on a setting for a check that is now always made.
const METADATA: &str = "remove this setting: Cassandra checks every request against the cluster \
                        metadata";

pub(crate) static LINE: Line = Line {
    name: "6.0",
    pinned: "6.0-alpha2",
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
        "ZstdDictionaryCompressor",
    ],
    gone: &[
        (
            "native_transport_port_ssl",
            "write client_encryption_options with optional: true, so that one port accepts clients \
             with and without TLS",
        ),
        ("reject_out_of_token_range_requests", METADATA),
        ("log_out_of_token_range_requests", METADATA),
    ],
    java_supported: &[11, 17, 21],
    java_seen: &[17],
    formats: Formats {
        big: "pa",
        bti: Some("ea"),
    },
    has_dotted_names: true,
    starts_without_jamm: true,
    has_cluster_metadata: true,
    has_metric_tables: true,
    has_snapshot_table: true,
};
