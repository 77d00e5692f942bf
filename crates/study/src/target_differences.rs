//! Describes targets, and the differences between them.

use crate::conditions::{self, yaml_words};
use crate::settings::{Reset, Settings};
use crate::units;
use std::net::Ipv4Addr;
use target_spec::{Collector, NodePods, Restarts, Target, redact::hidden};

/// Returns the order in which a trial restarts nodes to change their configuration. If the trial
/// restores the data afterwards, all nodes restart at once, because the ring is not needed during
/// the change.
pub fn restarts(settings: &Settings) -> Restarts {
    match settings.data.reset {
        Reset::Snapshot => Restarts::Together,
        Reset::None | Reset::Truncate => Restarts::InTurn,
    }
}

/// Returns the part of a target that only this machine can reach, with the reason. `None` if other
/// machines can reach the whole target.
pub fn only_reached_from_here(target: &Target) -> Option<&'static str> {
    match target {
        Target::Null(_) => Some("the null target, which listens on a loopback address"),
        Target::Local(local) if !local.machines().is_empty() => None,
        Target::Local(local) if local.hosts.is_none() => {
            Some("the nodes of `target.local`, which have loopback addresses")
        }
        Target::Local(_) => Some(
            "the simulated hosts of `target.local`, whose network exists only within this machine",
        ),
        Target::Attach(attach) => {
            let mut points = attach.contact_points.iter();
            let are_said = attach.kubernetes.is_none() && attach.secure_connect_bundle.is_none();
            (are_said && points.all(|point| is_loopback(point)))
                .then_some("`target.attach.contact_points`, which are loopback addresses")
        }
    }
}

/// Describes the pods of nodes, for example as `pods of cassandra:5.0, 2 CPUs and 4GiB each, on
/// volumes of 100GiB of the class fast`.
pub fn pods_words(pods: &NodePods) -> String {
    let cpus = measure::number::significant(f64::from(pods.millicpus) / 1000.0, 3);
    let memory = units::format_bytes(pods.memory_bytes);
    let class = pods.storage_class.iter().map(|class| format!(" of the class {class}"));
    let volume = match pods.volume_bytes {
        Some(bytes) => {
            let class: String = class.collect();
            format!("on volumes of {}{class}", units::format_bytes(bytes))
        }
        None => "on the disks of their nodes".to_owned(),
    };
    format!(
        "pods of {}, {cpus} CPUs and {memory} each, {volume}",
        pods.image
    )
}

/// Returns true if a host name always refers to the machine that uses the name. The text may also
/// contain a user and a port.
pub fn is_loopback(host: &str) -> bool {
    let host = host.strip_prefix("ssh://").unwrap_or(host);
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let name = host.split(':').next().unwrap_or_default();
    name == "localhost"
        || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || ["::1", "[::1]"]
            .iter()
            .any(|one| host == *one || host.starts_with(&format!("{one}:")))
}

/// Describes the changes that a restart makes to change the configuration `there` into `wanted`.
pub fn difference_words(there: &Target, wanted: &Target, restarts: Restarts) -> String {
    let (Target::Local(there), Target::Local(wanted)) = (there, wanted) else {
        return "another target".to_owned();
    };
    let mut words = Vec::new();
    if there.heap_bytes != wanted.heap_bytes {
        words.push(format!("heap {}", units::format_bytes(wanted.heap_bytes)));
    }
    if there.collector != wanted.collector {
        let collector = wanted.collector.unwrap_or(Collector::G1);
        words.push(format!("collector {collector:?}"));
    }
    for (key, setting) in &wanted.yaml {
        if there.yaml.get(key) != Some(setting) {
            words.push(format!("{key}: {}", yaml_words(key, setting)));
        }
    }
    let gone = there.yaml.keys().filter(|key| !wanted.yaml.contains_key(*key));
    words.extend(gone.map(|key| format!("{key} as by default")));
    let added = wanted.jvm_options.iter().filter(|option| !there.jvm_options.contains(option));
    words.extend(added.map(|option| hidden(option).into_owned()));
    let removed = there.jvm_options.iter().filter(|option| !wanted.jvm_options.contains(option));
    words.extend(removed.map(|option| format!("without {}", hidden(option))));
    if there.class_sharing != wanted.class_sharing {
        let with = if wanted.class_sharing {
            "with"
        } else {
            "without"
        };
        words.push(format!("{with} class data sharing"));
    }
    if there.profiler != wanted.profiler {
        let with = if wanted.profiler { "with" } else { "without" };
        words.push(format!("{with} async-profiler loaded"));
    }
    if there.topology != wanted.topology {
        let asked = conditions::topology(&wanted.topology);
        words.push(asked.unwrap_or_else(|| "topology none".to_owned()));
    }
    if there.hosts != wanted.hosts {
        words.push("other limits of the hosts".to_owned());
    }
    let how = match restarts {
        Restarts::InTurn => "in turn",
        Restarts::Together => "together",
    };
    format!("restart the nodes {how}: {}", words.join(", "))
}
