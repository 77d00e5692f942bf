//! Cassandra 4.0.

use crate::line::{Formats, Line};

/// Advice on a setting of the old protocol.
const THRIFT: &str = "remove this setting: Cassandra no longer supports Thrift, and other settings \
                      configure the ports and threads of CQL";

pub(crate) static LINE: Line = Line {
    name: "4.0",
    pinned: "4.0.19",
    lock: include_str!("supply.lock"),
    settings: include_str!("settings.txt"),
    limits: include_str!("limits.txt"),
    guardrails: "",
    presets: None,
    releases: include_str!("releases.txt"),
    classes: &["DateTieredCompactionStrategy"],
    gone: &[
        ("start_rpc", THRIFT),
        ("rpc_port", THRIFT),
        ("rpc_server_type", THRIFT),
        ("rpc_min_threads", THRIFT),
        ("rpc_max_threads", THRIFT),
        ("thrift_framed_transport_size_in_mb", THRIFT),
        ("thrift_max_message_length_in_mb", THRIFT),
        ("thrift_prepared_statements_cache_size_mb", THRIFT),
        (
            "request_scheduler",
            "remove this setting: Cassandra no longer schedules requests by keyspace",
        ),
        (
            "encryption_options",
            "write server_encryption_options instead",
        ),
    ],
    java_supported: &[8, 11],
    java_seen: &[17],
    formats: Formats {
        big: "nb",
        bti: None,
    },
    has_dotted_names: false,
    starts_without_jamm: false,
    has_cluster_metadata: false,
    has_metric_tables: false,
    has_snapshot_table: false,
};
