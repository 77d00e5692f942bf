//! A checked tree → settings. The table has made sure of types, limits and required keys; none is
//! answered only for a tree that was not checked, or had mistakes.

mod procedure;
mod target;

pub(crate) use self::procedure::axis;
use self::procedure::{is_poisson, procedure};
use self::target::target;
use super::{
    Client, Data, How, Import, Imported, Keyspace, Load, PageCache, Phase, Primary, PrimaryMetric,
    Probes, ROWS_UNLOADED, Repeat, Replication, Reset, SAMPLED_NTH, Settings, Settle, Target,
    Verify, Warmup, Window, Workload,
};
use crate::tree::Tree;
use analysis::procedure::Procedure;
use imports::Tool;
use std::time::Duration;
use workload::Tuning;

impl Settings {
    /// Reads a checked tree. None only if the tree was not checked, or had mistakes.
    pub fn read(tree: &Tree) -> Option<Settings> {
        let target = target(tree.at("target")?)?;
        Some(Settings {
            probes: match (tree.at("probes"), &target) {
                (None, Target::Null(_)) => None,
                (None, Target::Local(_) | Target::Attach(_)) => Some(Probes::default()),
                (Some(tree), _) => probes(tree)?,
            },
            target,
            keyspace: keyspace(tree.at("keyspace")?)?,
            workload: workload(tree.at("workload")?)?,
            data: data(tree.at("data")?)?,
            procedure: match tree.at("procedure") {
                Some(tree) => procedure(tree)?,
                None => Procedure::default(),
            },
            poisson: tree.at("procedure").is_some_and(is_poisson),
            window: window(tree.at("window")?)?,
            client: client(tree.at("client")?)?,
            verify: verify(tree.at("verify")?)?,
            load_phase: None,
        })
    }
}

impl Phase {
    /// Reads the checked tree of a study that a phase was laid over.
    pub fn read(tree: &Tree) -> Option<Phase> {
        Some(Phase {
            target: target(tree.at("target")?)?,
            keyspace: keyspace(tree.at("keyspace")?)?,
        })
    }
}

impl Repeat {
    /// Reads a checked tree's section `repeat`.
    pub fn read(tree: &Tree) -> Option<Repeat> {
        Some(Repeat {
            blocks: tree.at("blocks")?.count()? as usize,
            interleaved: tree.at("order")?.text()? == "interleaved",
        })
    }
}

impl Primary {
    /// Reads a checked tree's section `primary`.
    pub fn read(tree: &Tree) -> Option<Primary> {
        Some(Primary {
            metric: match tree.at("metric")?.text()? {
                "throughput" => PrimaryMetric::Named("ops_per_s"),
                "p50" => PrimaryMetric::Named("latency_ms.p50"),
                "p99" => PrimaryMetric::Named("latency_ms.p99"),
                _ => PrimaryMetric::Auto,
            },
            point: tree.at("point").and_then(Tree::count).map(|at| at as f64),
        })
    }
}

fn text(tree: &Tree, path: &str) -> Option<String> {
    tree.at(path)?.text().map(str::to_owned)
}

fn texts(tree: Option<&Tree>) -> Vec<String> {
    let items = tree.map(Tree::items).unwrap_or_default();
    items
        .iter()
        .filter_map(Tree::text)
        .map(str::to_owned)
        .collect()
}

fn weights(tree: Option<&Tree>) -> Vec<(String, f64)> {
    let entries = tree.map(Tree::entries).unwrap_or_default().iter();
    entries
        .filter_map(|(key, tree)| Some((key.clone(), tree.number()?)))
        .collect()
}

/// Reads a checked tree's section `keyspace`.
pub(crate) fn keyspace(tree: &Tree) -> Option<Keyspace> {
    let replication = match tree.at("replication")? {
        Tree::Count(copies) => Replication::Simple(u32::try_from(*copies).ok()?),
        map => {
            let entries = map.entries().iter();
            let by = entries.map(|(dc, n)| Some((dc.clone(), u32::try_from(n.count()?).ok()?)));
            Replication::ByDatacenter(by.collect::<Option<_>>()?)
        }
    };
    let options = tree.at("options").map(Tree::entries).unwrap_or_default();
    Some(Keyspace {
        name: text(tree, "name"),
        replication,
        compaction: words(tree.at("compaction")),
        compression: words(tree.at("compression")),
        options: options
            .iter()
            .map(|(name, value)| (name.clone(), value.to_json()))
            .collect(),
    })
}

/// A mapping whose values are scalars, as texts: Cassandra takes numbers in quotes there.
fn words(tree: Option<&Tree>) -> Vec<(String, String)> {
    let entries = tree.map(Tree::entries).unwrap_or_default().iter();
    let word = |value: &Tree| match value {
        Tree::Text(text) => text.clone(),
        other => other.to_json().to_string(),
    };
    entries
        .map(|(key, value)| (key.clone(), word(value)))
        .collect()
}

/// Reads a checked tree's section `workload`.
pub(crate) fn workload(tree: &Tree) -> Option<Workload> {
    let import = Tool::ALL.into_iter().find_map(|tool| {
        Some(Imported {
            tool,
            command: text(tree, tool.name())?,
            step: 0,
        })
    });
    let file = text(tree, "file");
    let tool = import.as_ref().map(|import| import.tool.name().to_owned());
    Some(Workload {
        name: text(tree, "use").or(tool).or_else(|| file.clone())?,
        mix: weights(tree.at("mix")),
        params: tree
            .at("params")
            .map(|p| p.entries().to_vec())
            .unwrap_or_default(),
        tunings: tunings(tree),
        file,
        import,
    })
}

/// What `workload` says about kinds: for all of them first, so that a kind's own word wins.
fn tunings(tree: &Tree) -> Vec<(String, Tuning)> {
    type Set = fn(&mut Tuning, &Tree) -> Option<()>;
    let keys: [(&str, Set); 8] = [
        ("consistency", |t, v| {
            t.consistency = Some(v.text()?.parse().ok()?);
            Some(())
        }),
        ("serial_consistency", |t, v| {
            t.serial_consistency = Some(v.text()?.parse().ok()?);
            Some(())
        }),
        ("timeout", |t, v| {
            t.timeout = Some(Duration::from_nanos(v.duration_ns()?));
            Some(())
        }),
        ("retries", |t, v| {
            t.retries = Some(u8::try_from(v.count()?).ok()?);
            Some(())
        }),
        ("speculate_after", |t, v| {
            t.speculate_after = Some(Duration::from_nanos(v.duration_ns()?));
            Some(())
        }),
        ("idempotent", |t, v| {
            t.idempotent = Some(v.bool()?);
            Some(())
        }),
        ("page_size", |t, v| {
            t.page_size = Some(u32::try_from(v.count()?).ok()?);
            Some(())
        }),
        ("timestamps", |t, v| {
            t.client_timestamp = Some(v.text()? == "client");
            Some(())
        }),
    ];
    let (mut all, mut by_kind) = (Vec::new(), Vec::new());
    for (key, set) in keys {
        let Some(value) = tree.at(key) else { continue };
        let note = |kind: &str, value: &Tree, into: &mut Vec<(String, Tuning)>| {
            let mut tuning = Tuning::default();
            if set(&mut tuning, value).is_some() {
                into.push((kind.to_owned(), tuning));
            }
        };
        if let Tree::Map(kinds) = value {
            for (kind, value) in kinds {
                note(kind, value, &mut by_kind);
            }
        } else {
            note(workload::ALL_KINDS, value, &mut all);
        }
    }
    all.extend(by_kind);
    all
}

/// Reads a checked tree's section `data`.
pub(crate) fn data(tree: &Tree) -> Option<Data> {
    let load = match tree.at("load") {
        None => Load::None,
        Some(load) => {
            if let Some(rows) = load.at("operations") {
                Load::Operations(rows.count()?)
            } else if let Some(bytes) = load.at("bytes_per_node") {
                Load::BytesPerNode(bytes.bytes()?)
            } else {
                Load::Fraction(load.at("fraction")?.number()?)
            }
        }
    };
    // An amount of bytes becomes rows when the program is known: see `work::estimate_rows`.
    let load_rows = match load {
        Load::None => 0,
        Load::Operations(rows) => rows,
        Load::BytesPerNode(_) | Load::Fraction(_) => ROWS_UNLOADED,
    };
    let present = tree.at("present").map_or(Some(0), Tree::count)?;
    Some(Data {
        load,
        load_rows,
        has_rows: load_rows.max(present) > 0,
        rows: match load_rows.max(present) {
            0 => ROWS_UNLOADED,
            rows => rows,
        },
        settle: match tree.at("settle")?.text()? {
            "none" => Settle::None,
            "compactions" => Settle::Compactions,
            _ => Settle::Auto,
        },
        settle_limit_ns: tree.at("settle_limit")?.duration_ns()?,
        reset: match tree.at("reset")?.text()? {
            "truncate" => Reset::Truncate,
            "snapshot" => Reset::Snapshot,
            _ => Reset::None,
        },
        restore: match tree.at("restore")?.text()? {
            "offline" => How::Offline,
            _ => How::Online,
        },
        page_cache: match tree.at("page_cache")?.text()? {
            "drop" => PageCache::Drop,
            _ => PageCache::Keep,
        },
    })
}

/// The probes of a section; `Some(None)` for `none`.
fn probes(tree: &Tree) -> Option<Option<Probes>> {
    if tree.text().is_some() {
        return Some(None);
    }
    let usual = tree.at("period")?.duration_ns()?;
    let period = |key: &str| match tree.at(key)? {
        Tree::Text(word) => Some((word == "true").then_some(usual)),
        other => Some(Some(other.duration_ns()?)),
    };
    let imports = tree.at("import").map(Tree::items).unwrap_or_default();
    Some(Some(Probes {
        hosts_ns: period("hosts")?,
        processes_ns: period("processes")?,
        jvm_ns: period("jvm")?,
        cassandra_ns: period("cassandra")?,
        gc_log_ns: period("gc_log")?,
        import: imports
            .iter()
            .map(|tree| import(tree, usual))
            .collect::<Option<_>>()?,
    }))
}

fn import(tree: &Tree, usual_ns: u64) -> Option<Import> {
    if let Some(file) = text(tree, "esxtop") {
        let columns = texts(tree.at("columns"));
        return Some(Import::Esxtop { file, columns });
    }
    let source = text(tree, "prometheus")?;
    Some(match source.contains("://") {
        false => Import::PrometheusFile { file: source },
        true => Import::PrometheusUrl {
            url: source,
            period_ns: tree
                .at("period")
                .map_or(Some(usual_ns), Tree::duration_ns)?,
        },
    })
}

fn window(tree: &Tree) -> Option<Window> {
    let warmup = match tree.at("warmup")? {
        Tree::DurationNs(ns) => Warmup::Fixed(*ns),
        _ => Warmup::Auto(tree.at("warmup_max")?.duration_ns()?),
    };
    Some(Window {
        warmup,
        measure_ns: tree.at("measure")?.duration_ns()?,
    })
}

fn client(tree: &Tree) -> Option<Client> {
    let cpus = tree.at("cpus").map(Tree::items).unwrap_or_default();
    let size = |path| tree.at(path).and_then(Tree::count).map(|n| n as usize);
    Some(Client {
        workers: size("workers"),
        cpus: cpus
            .iter()
            .filter_map(Tree::count)
            .map(|n| n as usize)
            .collect(),
        connections_per_node: size("connections_per_node")?,
        timeout_ns: tree.at("timeout")?.duration_ns()?,
        in_flight_max: u32::try_from(tree.at("in_flight_max")?.count()?).ok()?,
        release_quantum_ns: tree.at("release_quantum")?.duration_ns()?,
        compression: cql::Compression::named(tree.at("compression")?.text()?),
    })
}

fn verify(tree: &Tree) -> Option<Verify> {
    let every_nth = match tree.at("reads")?.text()? {
        "none" => None,
        "all" => Some(1),
        _ => Some(SAMPLED_NTH),
    };
    Some(Verify {
        every_nth,
        sample: tree.at("sample")?.count()?,
    })
}
