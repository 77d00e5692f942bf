//! The format of a study, as one table: key, type, default, meaning.
//!
//! The table drives what is accepted, what is suggested, which defaults are filled in, what is set
//! by it ([`Draft`]) and the reference `docs/study-file.md`. A key that is not here does not exist.
//! Paths are dotted; a section's keys are the paths below its own.

mod fields;

pub use fields::LOCAL_NODES_MAX;

use crate::settings::{Draft, SecretSource};
use crate::tree::Tree;
use cql::Consistency;

/// What a value may be, and what it does to the settings: each type ends with that.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// Any text that is not empty.
    Text(fn(&mut Draft, &str)),
    /// Letters, digits, `.`, `_` and `-`: becomes part of a path.
    Name(fn(&mut Draft, &str)),
    /// A CQL name: letters, digits and `_`, beginning with a letter, at most 48.
    CqlName(fn(&mut Draft, &str)),
    /// A whole number with optional suffix, between two limits.
    Count(u64, u64, fn(&mut Draft, u64)),
    /// A number, fractions allowed, between two limits.
    Number(f64, f64, fn(&mut Draft, f64)),
    /// A share between two limits: `5%` or `0.05`.
    Share(f64, f64, fn(&mut Draft, f64)),
    /// A length of time between two limits, in nanoseconds.
    Duration(u64, u64, fn(&mut Draft, u64)),
    /// A size between two limits, in bytes.
    Bytes(u64, u64, fn(&mut Draft, u64)),
    /// A bit rate between two limits, in bit/s.
    BitRate(u64, u64, fn(&mut Draft, u64)),
    /// `true` or `false`.
    Bool(fn(&mut Draft, bool)),
    /// One of these words.
    Choice(&'static [Word]),
    /// A kind of fault.
    Fault(fn(&mut Draft, fault::Kind)),
    /// One of these consistency levels.
    Level(&'static [Consistency], fn(&mut Draft, Consistency)),
    /// A list of at least one; each item does what its type says.
    List(&'static Type),
    /// Free keys, values of one type, which find their key in the draft.
    Map(&'static Type),
    /// Anything, handed on as it is: cassandra.yaml, parameters of a workload.
    Any(fn(&mut Draft, &Tree)),
    /// One of these words, or else the type.
    WordOr(&'static [Word], &'static Type),
    /// A scalar or list of the first type, or a mapping of the second.
    Either(&'static Type, &'static Type),
    /// Fixed keys: the rows below, which come after what their section does.
    Section(fn(&mut Draft)),
    /// A name, a file, or an environment variable, never the secret itself.
    Secret(fn(&mut Draft, SecretSource)),
    /// Names with partial studies.
    Variants,
    /// Names of axes with names of values with partial studies.
    Matrix,
    /// A partial study of what a phase may have of its own.
    Phase,
    /// Names with dotted paths and values.
    Scales,
}

/// A word, and what it does.
pub type Word = (&'static str, fn(&mut Draft));

impl Type {
    /// The words that it takes.
    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Type::Choice(words) | Type::WordOr(words, _) => {
                words.iter().map(|(word, _)| *word).collect()
            }
            Type::Fault(_) => fault::FaultName::ALL.map(fault::FaultName::name).into(),
            Type::Level(levels, _) => levels.iter().map(|level| level.name()).collect(),
            _ => Vec::new(),
        }
    }
}

/// One row: one key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Dotted path.
    pub path: &'static str,
    /// What the value may be.
    pub typ: Type,
    /// Whether it must be there when its section is.
    pub required: bool,
    /// What holds when it is absent, as it would be written; none: nothing, or see the meaning.
    pub default: Option<&'static str>,
    /// What it means.
    pub what: &'static str,
}

/// Keys that are looked for at the top, and where they stand.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("topology", "target.local.topology"),
    ("scale_up", "procedure.scale_up"),
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

/// What a phase may have of its own: settings that a restart of the nodes brings about, and options
/// of tables. All else would be another cluster, or other data.
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

/// Where phases stand: a path below one of these is merged as the path behind it.
pub const PHASES: &[&str] = &["phases.load", "phases.measure"];

/// Keys that exclude each other.
#[derive(Clone, Copy, Debug)]
pub struct Exclusive {
    /// Path of the mapping.
    pub path: &'static str,
    /// Its keys of which at most one may stand there.
    pub keys: &'static [&'static str],
    /// Whether one must.
    pub needed: bool,
}

const fn one_of(path: &'static str, keys: &'static [&'static str]) -> Exclusive {
    Exclusive {
        path,
        keys,
        needed: true,
    }
}

/// Keys that exclude each other. An override that sets one of them removes the others.
pub const EXCLUSIVE: &[Exclusive] = &[
    one_of("target", &["local", "attach", "null"]),
    one_of("target.null.latency", &["fixed", "exponential", "uniform"]),
    one_of("workload", &["use", "file", "stress", "nb", "ycsb", "easy"]),
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
        path: "",
        keys: &["variants", "matrix", "screen"],
        needed: false,
    },
];

/// Mappings that an override replaces whole: a mix of `{write: 1}` over `{write: 9, read: 1}`
/// means writes only.
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

/// A path as it is outside of phases: `phases.load.keyspace.name` is `keyspace.name`.
pub fn outside_phases(path: &str) -> &str {
    let behind = |phase: &&str| path.strip_prefix(*phase)?.strip_prefix('.');
    PHASES.iter().find_map(behind).unwrap_or(path)
}

/// Every row.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    fields::FIELDS.into_iter().flatten()
}

/// The row of a path.
pub fn field(path: &str) -> Option<&'static Field> {
    fields().find(|field| field.path == path)
}

/// The rows directly below a path (the top level for the empty path), with their last part.
pub fn children(path: &str) -> impl Iterator<Item = (&'static str, &'static Field)> {
    fields().filter_map(move |field| {
        let rest = if path.is_empty() {
            field.path
        } else {
            field.path.strip_prefix(path)?.strip_prefix('.')?
        };
        (!rest.contains('.')).then_some((rest, field))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_its_section_and_stands_once() {
        let mut seen = BTreeSet::new();
        for row in fields() {
            assert!(seen.insert(row.path), "{} stands twice", row.path);
            if let Some((parent, _)) = row.path.rsplit_once('.') {
                assert!(seen.contains(parent), "{} comes before {parent}", row.path);
            }
        }
        for group in EXCLUSIVE {
            for key in group.keys {
                let path = match group.path {
                    "" => (*key).to_owned(),
                    path => format!("{path}.{key}"),
                };
                assert!(field(&path).is_some(), "{path}");
            }
        }
        let others = [VARIANT_SECTIONS, PHASE_PATHS, PHASES];
        for path in REPLACED_WHOLE.iter().chain(others.into_iter().flatten()) {
            assert!(field(path).is_some(), "{path}");
        }
    }

    #[test]
    fn what_stands_elsewhere_stands_there() {
        for (name, path) in ELSEWHERE {
            assert!(field(name).is_none() && field(path).is_some(), "{name}");
        }
    }
}
