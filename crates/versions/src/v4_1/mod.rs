//! Cassandra 4.1.

use crate::line::{Formats, Line};

pub(crate) static LINE: Line = Line {
    name: "4.1",
    pinned: "4.1.10",
    lock: include_str!("supply.lock"),
    settings: include_str!("settings.txt"),
    limits: include_str!("limits.txt"),
    guardrails: include_str!("guardrails.txt"),
    presets: None,
    releases: include_str!("releases.txt"),
    classes: &[
        "DateTieredCompactionStrategy",
        "ShardedSkipListMemtable",
        "SkipListMemtable",
    ],
    gone: &[],
    java_supported: &[8, 11],
    java_seen: &[17],
    formats: Formats {
        big: "nb",
        bti: None,
    },
    has_dotted_names: true,
    starts_without_jamm: false,
    has_cluster_metadata: false,
    has_metric_tables: false,
    has_snapshot_table: false,
};
