//! Defines relations between keys: keys that exclude each other, and keys that a variant or a phase
//! may set.

/// Keys that users often write in the wrong section, each with its correct path.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("topology", "target.local.topology"),
    ("defaults", "variants"),
    ("scale_up", "procedure.scale_up"),
    ("faults.node", "faults.where.node"),
    ("faults.host", "faults.where.host"),
    ("require.untold", "require.inconclusive"),
];

/// Sections that a variant may change.
pub const VARIANT_SECTIONS: &[&str] = &[
    "target",
    "keyspace",
    "workload",
    "data",
    "procedure",
    "faults",
    "window",
    "client",
    "verify",
    "probes",
    "phases",
    "require",
    "guard",
    "price_per_hour",
];

/// Keys that a phase may set. They are settings that take effect when the nodes restart, and table
/// options. Every other key would require another cluster, or other data.
pub const PHASE_PATHS: &[&str] = &[
    "target.local.heap",
    "target.local.gc",
    "target.local.jvm",
    "target.local.yaml",
    "target.local.host",
    "keyspace.compaction",
    "keyspace.compression",
    "keyspace.options",
];

/// Paths of phases. The keys below such a path are merged like the same keys of the whole study.
pub const PHASES: &[&str] = &["phases.load", "phases.measure"];

/// A set of keys that exclude each other.
#[derive(Clone, Copy, Debug)]
pub struct Exclusive {
    /// Path of the mapping that contains the keys.
    pub path: &'static str,
    /// Keys of the mapping. At most one of these keys may be present.
    pub keys: &'static [&'static str],
    /// True if one of the keys must be present.
    pub needed: bool,
}

const fn one_of(path: &'static str, keys: &'static [&'static str]) -> Exclusive {
    Exclusive {
        path,
        keys,
        needed: true,
    }
}

/// Sets of keys that exclude each other. If an override sets one key of a set, cassay removes the
/// other keys.
pub const EXCLUSIVE: &[Exclusive] = &[
    one_of("target", &["local", "attach", "null"]),
    one_of(
        "target.attach",
        &["contact_points", "kubernetes", "secure_connect_bundle"],
    ),
    one_of("target.local.cassandra", &["home", "tarball", "build"]),
    one_of(
        "target.attach.kubernetes",
        &["k8ssandra", "cass_operator", "service"],
    ),
    one_of(
        "target.attach.hosts.control",
        &["systemd", "docker", "command"],
    ),
    one_of(
        "target.attach.hosts.ssh.control",
        &["systemd", "docker", "command"],
    ),
    one_of("target.null.latency", &["fixed", "exponential", "uniform"]),
    one_of(
        "workload",
        &[
            "use", "file", "table", "stress", "nb", "ycsb", "easy", "recorded",
        ],
    ),
    one_of(
        "procedure",
        &[
            "sweep",
            "peak",
            "band",
            "latency_target",
            "endurance",
            "grid",
            "fixed",
        ],
    ),
    one_of("procedure.sweep", &["threads", "rate"]),
    one_of("procedure.sweep.threads", &["step", "factor"]),
    one_of("procedure.sweep.rate", &["step", "factor"]),
    one_of("procedure.fixed", &["threads", "rate"]),
    one_of("procedure.grid", &["threads", "rate"]),
    one_of("procedure.endurance", &["threads", "rate"]),
    one_of("procedure.peak", &["rate", "threads"]),
    one_of("procedure.peak", &["p50_ms", "p95_ms", "p99_ms", "p999_ms"]),
    one_of(
        "procedure.latency_target",
        &["p50_ms", "p95_ms", "p99_ms", "p999_ms"],
    ),
    one_of("data.load", &["operations", "bytes_per_node", "fraction"]),
    one_of("probes.import", &["esxtop", "prometheus"]),
    Exclusive {
        path: "faults.where",
        keys: &["node", "host", "hosts", "role"],
        needed: false,
    },
    Exclusive {
        path: "faults",
        keys: &["for", "until"],
        needed: false,
    },
    Exclusive {
        path: "data",
        keys: &["load", "present"],
        needed: false,
    },
    Exclusive {
        path: "client",
        keys: &["machines", "kubernetes"],
        needed: false,
    },
    Exclusive {
        path: "target.local",
        keys: &["machines", "pods"],
        needed: false,
    },
    Exclusive {
        path: "",
        keys: &["variants", "matrix", "screen"],
        needed: false,
    },
];

/// Mappings that an override replaces as a whole. For example, if the mix `{write: 1}` overrides
/// `{write: 9, read: 1}`, the result contains only writes.
pub const REPLACED_WHOLE: &[&str] = &[
    "workload.mix",
    "workload.consistency",
    "workload.serial_consistency",
    "workload.timeout",
    "workload.retries",
    "workload.speculate_after",
    "workload.idempotent",
    "workload.page_size",
    "workload.timestamps",
    "keyspace.replication",
    "keyspace.compaction",
    "keyspace.compression",
    "target.null.errors",
    "target.attach.password",
    "target.attach.jolokia.password",
];

/// Returns a path without its phase. For example, returns `keyspace.name` for
/// `phases.load.keyspace.name`.
pub fn outside_phases(path: &str) -> &str {
    let behind = |phase: &&str| path.strip_prefix(*phase)?.strip_prefix('.');
    PHASES.iter().find_map(behind).unwrap_or(path)
}
