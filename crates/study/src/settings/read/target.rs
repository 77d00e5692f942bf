//! The section `target` of a checked tree → settings.

use super::{text, texts, weights};
use crate::settings::{
    Attach, Authentication, Collector, Hosts, Isolation, Jolokia, Latency, Local, Null, Secret,
    Target, Tls,
};
use crate::tree::Tree;
use std::path::PathBuf;

/// Reads a checked tree's section `target`.
pub(super) fn target(tree: &Tree) -> Option<Target> {
    let (kind, section) = tree.entries().first()?;
    match kind.as_str() {
        "local" => local(section).map(Target::Local),
        "attach" => attach(section).map(Target::Attach),
        _ => null(section).map(Target::Null),
    }
}

fn local(tree: &Tree) -> Option<Local> {
    let hosts = match tree.at("hosts") {
        None => None,
        Some(count) => Some(hosts(tree, count.count()? as usize)?),
    };
    let nodes = match (&hosts, tree.at("nodes")) {
        (Some(hosts), _) => hosts.count * hosts.nodes_per_host,
        (None, Some(nodes)) => nodes.count()? as usize,
        (None, None) => 1,
    };
    let racks = match (tree.at("racks"), &hosts) {
        (Some(racks @ Tree::List(_)), _) => texts(Some(racks)),
        (Some(_) | None, Some(hosts)) => {
            let number = |host| format!("rack{}", host + 1);
            (0..hosts.count).map(number).collect()
        }
        (Some(_) | None, None) => vec!["rack1".to_owned()],
    };
    let yaml = tree.at("yaml").map(Tree::entries).unwrap_or_default();
    Some(Local {
        version: text(tree, "cassandra")?,
        nodes,
        hosts,
        racks,
        datacenter: text(tree, "datacenter")?,
        heap_bytes: tree.at("heap")?.bytes()?,
        collector: tree.at("gc").and_then(|gc| collector(gc.text()?)),
        yaml: yaml.iter().map(|(k, v)| (k.clone(), v.to_json())).collect(),
        jvm: texts(tree.at("jvm")),
        class_sharing: tree.at("class_sharing").and_then(Tree::bool) == Some(true),
        start_timeout_ns: tree.at("start_timeout")?.duration_ns()?,
        authentication: Authentication::of_name(tree.at("authentication")?.text()?)?,
    })
}

fn hosts(tree: &Tree, count: usize) -> Option<Hosts> {
    let host = |path: &str| tree.at("host").and_then(|host| host.at(path));
    let cpus = host("cpus").map(Tree::items);
    Some(Hosts {
        count,
        nodes_per_host: tree.at("nodes_per_host")?.count()? as usize,
        isolation: match tree.at("isolation")?.text()? {
            "hosts" => Isolation::Hosts,
            "loopback" => Isolation::Loopback,
            _ => Isolation::Auto,
        },
        cpus: cpus.map(|cpus| {
            let cpus = cpus.iter().filter_map(Tree::count);
            cpus.map(|cpu| cpu as usize).collect()
        }),
        cpu_quota: host("cpu_quota").and_then(Tree::number),
        memory_bytes: host("memory").and_then(Tree::bytes),
        volume_bytes: host("volume").and_then(Tree::bytes),
        link_rate_bits: host("link.rate").and_then(Tree::bit_rate),
        link_delay_ns: host("link.delay").and_then(Tree::duration_ns),
    })
}

fn collector(word: &str) -> Option<Collector> {
    Some(match word {
        "g1" => Collector::G1,
        "zgc" => Collector::Z,
        "shenandoah" => Collector::Shenandoah,
        "parallel" => Collector::Parallel,
        _ => return None,
    })
}

fn attach(tree: &Tree) -> Option<Attach> {
    let jolokia = match tree.at("jolokia") {
        None => None,
        Some(jolokia) => Some(Jolokia {
            port: u16::try_from(jolokia.at("port")?.count()?).ok()?,
            user: text(jolokia, "user"),
            password: secret(jolokia.at("password")),
            tls: tls(jolokia.at("tls")),
        }),
    };
    Some(Attach {
        contact_points: texts(tree.at("contact_points")),
        user: text(tree, "user"),
        password: secret(tree.at("password")),
        tls: tls(tree.at("tls")),
        datacenter: text(tree, "datacenter"),
        jolokia,
    })
}

fn secret(tree: Option<&Tree>) -> Option<Secret> {
    match tree?.entries() {
        [(kind, Tree::Text(text))] => match kind.as_str() {
            "file" => Some(Secret::File(text.into())),
            "env" => Some(Secret::Env(text.clone())),
            _ => Some(Secret::Named(text.clone())),
        },
        _ => None,
    }
}

/// `true` stands for a section without keys, `false` for none.
fn tls(tree: Option<&Tree>) -> Option<Tls> {
    let tls = tree.filter(|tls| tls.bool() != Some(false))?;
    Some(Tls {
        ca: text(tls, "ca").map(PathBuf::from),
        verify: tls.at("verify") != Some(&Tree::Bool(false)),
        server_name: text(tls, "server_name"),
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
