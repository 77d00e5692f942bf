//! A checked tree → settings. The table has made sure of types, limits and required keys; none is
//! answered only for a tree that was not checked, or had mistakes.

use super::{
    Attach, Client, Data, Imported, Keyspace, LADDER_POINTS_MAX, Latency, Local, Null, Point,
    Procedure, ROWS_UNLOADED, Repeat, Replication, SAMPLED_NTH, Secret, Settings, Settle, Target,
    Tls, Until, Verify, Warmup, Window, Workload,
};
use crate::tree::Tree;
use std::path::PathBuf;
use std::time::Duration;
use workload::{Tool, Tuning};

impl Settings {
    /// Reads a checked tree. None only if the tree was not checked, or had mistakes.
    pub fn read(tree: &Tree) -> Option<Settings> {
        Some(Settings {
            target: target(tree.at("target")?)?,
            keyspace: keyspace(tree.at("keyspace")?)?,
            workload: workload(tree.at("workload")?)?,
            data: data(tree.at("data")?)?,
            procedure: match tree.at("procedure") {
                Some(tree) => procedure(tree)?,
                None => Procedure::default(),
            },
            window: window(tree.at("window")?)?,
            client: client(tree.at("client")?)?,
            verify: verify(tree.at("verify")?)?,
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

fn target(tree: &Tree) -> Option<Target> {
    let (kind, section) = tree.entries().first()?;
    match kind.as_str() {
        "local" => local(section).map(Target::Local),
        "attach" => attach(section).map(Target::Attach),
        _ => null(section).map(Target::Null),
    }
}

fn local(tree: &Tree) -> Option<Local> {
    let hosts = tree.at("hosts")?.count()? * tree.at("nodes_per_host")?.count()?;
    let nodes = tree.at("nodes").map_or(Some(hosts), Tree::count)?;
    let yaml = tree.at("yaml").map(Tree::entries).unwrap_or_default();
    Some(Local {
        version: text(tree, "cassandra")?,
        nodes: nodes as usize,
        racks: texts(tree.at("racks")),
        datacenter: text(tree, "datacenter")?,
        heap_bytes: tree.at("heap")?.bytes()?,
        yaml: yaml.iter().map(|(k, v)| (k.clone(), v.to_json())).collect(),
        jvm: texts(tree.at("jvm")),
        start_timeout_ns: tree.at("start_timeout")?.duration_ns()?,
    })
}

fn attach(tree: &Tree) -> Option<Attach> {
    let password = tree
        .at("password")
        .and_then(|secret| match secret.entries() {
            [(kind, Tree::Text(file))] if kind == "file" => Some(Secret::File(file.into())),
            [(_, Tree::Text(name))] => Some(Secret::Env(name.clone())),
            _ => None,
        });
    let tls = tree.at("tls").map(|tls| Tls {
        ca: text(tls, "ca").map(PathBuf::from),
        verify: tls.at("verify") != Some(&Tree::Bool(false)),
        server_name: text(tls, "server_name"),
    });
    Some(Attach {
        contact_points: texts(tree.at("contact_points")),
        user: text(tree, "user"),
        password,
        tls,
        datacenter: text(tree, "datacenter"),
    })
}

fn null(tree: &Tree) -> Option<Null> {
    let latency = match tree.at("latency") {
        None => Latency::None,
        Some(Tree::DurationNs(ns)) => Latency::Fixed(*ns),
        Some(section) => {
            let ns = |path| section.at(path).and_then(Tree::duration_ns);
            if let Some(fixed) = ns("fixed") {
                Latency::Fixed(fixed)
            } else if let Some(mean) = ns("exponential") {
                Latency::Exponential(mean)
            } else {
                Latency::Uniform(ns("uniform.from")?, ns("uniform.to")?)
            }
        }
    };
    let stall_ns = match tree.at("stall") {
        None => None,
        Some(stall) => Some((
            stall.at("every")?.duration_ns()?,
            stall.at("length")?.duration_ns()?,
        )),
    };
    Some(Null {
        latency,
        stall_ns,
        errors: weights(tree.at("errors")),
        cpu: tree.at("cpu").and_then(Tree::count).map(|cpu| cpu as usize),
    })
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
    Some(Keyspace {
        name: text(tree, "name"),
        replication,
    })
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
    let load_rows = tree.at("load.operations").map_or(Some(0), Tree::count)?;
    let present = tree.at("present").map_or(Some(0), Tree::count)?;
    Some(Data {
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
        truncate: tree.at("reset")?.text()? == "truncate",
    })
}

fn procedure(tree: &Tree) -> Option<Procedure> {
    let section = tree.at("sweep").or_else(|| tree.at("fixed"))?;
    let points = if let Some(threads) = section.at("threads") {
        let point = |n| u32::try_from(n).ok().map(Point::Threads);
        axis(threads)
            .into_iter()
            .map(point)
            .collect::<Option<_>>()?
    } else {
        axis(section.at("rate")?)
            .into_iter()
            .map(Point::Rate)
            .collect()
    };
    let until = match section.at("until") {
        None => None,
        Some(Tree::Text(_)) => Some(Until::Timeout),
        Some(section) => Some(Until::P99Ms(section.at("p99_ms")?.number()?)),
    };
    Some(Procedure {
        points,
        until,
        poisson: tree.at("arrival")?.text()? == "poisson",
    })
}

/// The points of a list or a range, ascending where a range says so.
fn axis(tree: &Tree) -> Vec<u64> {
    let Some(from) = tree.at("from").and_then(Tree::count) else {
        return tree.items().iter().filter_map(Tree::count).collect();
    };
    let to = tree.at("to").and_then(Tree::count).unwrap_or(u64::MAX);
    let step = tree.at("step").and_then(Tree::count);
    let factor = tree.at("factor").and_then(Tree::number);
    let mut points = Vec::new();
    let mut point = from;
    while point <= to && points.len() < LADDER_POINTS_MAX {
        points.push(point);
        point = match (step, factor) {
            (Some(step), _) => point.saturating_add(step),
            // At least one further, or a small factor would stand still on small numbers.
            (None, Some(factor)) => ((point as f64 * factor).round() as u64).max(point + 1),
            (None, None) => break,
        };
    }
    points
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
        lz4: tree.at("compression")?.text()? == "lz4",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Vec<u64> {
        let mut diagnostics = yaml::Diagnostics::new(Vec::new());
        let text = format!("study: s\nprocedure: {{sweep: {{threads: {text}}}}}");
        let node = yaml::parse(0, &text, yaml::Limits::STUDY, &mut diagnostics).unwrap();
        let tree = crate::check::study(&node, &mut diagnostics);
        axis(tree.at("procedure.sweep.threads").unwrap())
    }

    #[test]
    fn points_come_from_lists_steps_and_factors() {
        for (text, expected) in [
            ("[4, 8, 16]", vec![4, 8, 16]),
            ("8", vec![8]),
            ("{from: 28, step: 28, to: 100}", vec![28, 56, 84]),
            ("{from: 1, factor: 2, to: 8}", vec![1, 2, 4, 8]),
            ("{from: 1, factor: 1.1, to: 4}", vec![1, 2, 3, 4]),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
        assert_eq!(range("{from: 28, step: 28}").len(), LADDER_POINTS_MAX);
    }
}
