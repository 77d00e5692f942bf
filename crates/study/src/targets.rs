//! The target crate's own form of what a study says of targets, and what lies between two of them.

use crate::human;
use crate::settings::{self, Latency, Secret, Target};
use anyhow::{Result, bail};
use std::time::Duration;
use target::null::{NullSpec, Stall};
use target::{AttachSpec, LocalSpec, SecretSource, TlsSpec};

/// Whether nodes as `there` become `wanted` by restarts at most, and keep their data.
pub fn is_same_cluster(there: &Target, wanted: &Target) -> bool {
    match (there, wanted) {
        (Target::Local(there), Target::Local(wanted)) => {
            local_spec(wanted).restart_suffices(&local_spec(there))
        }
        _ => there == wanted,
    }
}

/// What a restart from one configuration to another changes, in words.
pub fn difference_words(there: &Target, wanted: &Target) -> String {
    let (Target::Local(there), Target::Local(wanted)) = (there, wanted) else {
        return "another target".to_owned();
    };
    let mut words = Vec::new();
    if there.heap_bytes != wanted.heap_bytes {
        words.push(format!("heap {}", human::format_bytes(wanted.heap_bytes)));
    }
    if there.collector != wanted.collector {
        let collector = wanted.collector.as_deref().unwrap_or("g1");
        words.push(format!("collector {collector}"));
    }
    let value = |yaml: &[(String, serde_json::Value)], key: &str| {
        let found = yaml.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.clone())
    };
    for (key, setting) in &wanted.yaml {
        if value(&there.yaml, key).as_ref() != Some(setting) {
            words.push(format!("{key}: {setting}"));
        }
    }
    for (key, _) in &there.yaml {
        if value(&wanted.yaml, key).is_none() {
            words.push(format!("{key} as by default"));
        }
    }
    let added = wanted.jvm.iter().filter(|option| !there.jvm.contains(option));
    words.extend(added.cloned());
    let removed = there.jvm.iter().filter(|option| !wanted.jvm.contains(option));
    words.extend(removed.map(|option| format!("without {option}")));
    if there.hosts != wanted.hosts {
        words.push("other limits of the hosts".to_owned());
    }
    format!("restart the nodes in turn: {}", words.join(", "))
}

/// A local target.
pub fn local_spec(local: &settings::Local) -> LocalSpec {
    LocalSpec {
        version: local.version.clone(),
        nodes: local.nodes,
        // Dealt in turn: the target itself would repeat the last one.
        racks: (0..local.nodes)
            .map(|node| local.racks[node % local.racks.len().max(1)].clone())
            .collect(),
        datacenter: local.datacenter.clone(),
        heap_bytes: local.heap_bytes,
        yaml: local.yaml.iter().cloned().collect(),
        jvm_options: local.jvm.clone(),
        start_timeout: Duration::from_nanos(local.start_timeout_ns),
        ..LocalSpec::default()
    }
}

/// An attached target.
pub fn attach_spec(attach: &settings::Attach) -> AttachSpec {
    AttachSpec {
        contact_points: attach.contact_points.clone(),
        user: attach.user.clone(),
        password: attach.password.as_ref().map(|secret| match secret {
            Secret::File(path) => SecretSource::File(path.clone()),
            Secret::Env(name) => SecretSource::Env(name.clone()),
        }),
        tls: attach.tls.as_ref().map(|tls| TlsSpec {
            ca: tls.ca.clone(),
            verify: tls.verify,
            server_name: tls.server_name.clone(),
        }),
        datacenter: attach.datacenter.clone(),
        jolokia: None,
    }
}

/// The null target's own form of the settings.
pub fn null_spec(null: &settings::Null) -> Result<NullSpec> {
    let mut errors = Vec::new();
    for (name, share) in &null.errors {
        match target::null::error_code(name) {
            Some(code) => errors.push((code, *share)),
            None => bail!("`{name}` is not an error that the null target answers"),
        }
    }
    Ok(NullSpec {
        latency: match null.latency {
            Latency::None => target::null::Latency::None,
            Latency::Fixed(ns) => target::null::Latency::Fixed { ns },
            Latency::Exponential(mean_ns) => target::null::Latency::Exponential { mean_ns },
            Latency::Uniform(from_ns, to_ns) => target::null::Latency::Uniform { from_ns, to_ns },
        },
        stall: null.stall_ns.map(|(every, length)| Stall {
            every: Duration::from_nanos(every),
            length: Duration::from_nanos(length),
        }),
        errors,
        cpus: null.cpu.into_iter().collect(),
        ..NullSpec::default()
    })
}
