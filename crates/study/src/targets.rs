//! The target crate's own form of what a study says of targets, and what lies between two of them.

use crate::conditions::yaml_words;
use crate::human;
use crate::settings::{self, Reset, Secret, Settings, Target};
use cluster::hidden::hidden;
use cluster::{
    AttachSpec, Collector, HostSpec, HostsSpec, JolokiaAccess, LinkSpec, LocalSpec, Restarts,
    SecretSource, TlsSpec,
};
use std::time::Duration;

/// How the nodes of a trial are given another configuration: together where its data is brought
/// back afterwards anyway, so that nobody needs the ring meanwhile.
pub fn restarts(settings: &Settings) -> Restarts {
    match settings.data.reset {
        Reset::Snapshot => Restarts::Together,
        Reset::None | Reset::Truncate => Restarts::InTurn,
    }
}

/// What a restart from one configuration to another changes, in words.
pub fn difference_words(there: &Target, wanted: &Target, restarts: Restarts) -> String {
    let (Target::Local(there), Target::Local(wanted)) = (there, wanted) else {
        return "another target".to_owned();
    };
    let mut words = Vec::new();
    if there.heap_bytes != wanted.heap_bytes {
        words.push(format!("heap {}", human::format_bytes(wanted.heap_bytes)));
    }
    if there.collector != wanted.collector {
        let collector = wanted.collector.unwrap_or(Collector::G1);
        words.push(format!("collector {collector:?}"));
    }
    let value = |yaml: &[(String, serde_json::Value)], key: &str| {
        let found = yaml.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.clone())
    };
    for (key, setting) in &wanted.yaml {
        if value(&there.yaml, key).as_ref() != Some(setting) {
            words.push(format!("{key}: {}", yaml_words(key, setting)));
        }
    }
    for (key, _) in &there.yaml {
        if value(&wanted.yaml, key).is_none() {
            words.push(format!("{key} as by default"));
        }
    }
    let added = wanted
        .jvm
        .iter()
        .filter(|option| !there.jvm.contains(option));
    words.extend(added.map(|option| hidden(option).into_owned()));
    let removed = there
        .jvm
        .iter()
        .filter(|option| !wanted.jvm.contains(option));
    words.extend(removed.map(|option| format!("without {}", hidden(option))));
    if there.class_sharing != wanted.class_sharing {
        let with = if wanted.class_sharing {
            "with"
        } else {
            "without"
        };
        words.push(format!("{with} class data sharing"));
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

/// A local target.
pub fn local_spec(local: &settings::Local) -> LocalSpec {
    LocalSpec {
        version: local.version.clone(),
        nodes: local.nodes,
        hosts: local.hosts.as_ref().map(hosts_spec),
        // Of every node: the target itself would repeat the last one.
        racks: (0..local.nodes)
            .map(|node| local.rack_of(node).to_owned())
            .collect(),
        datacenter: local.datacenter.clone(),
        heap_bytes: local.heap_bytes,
        collector: local.collector,
        yaml: local.yaml.iter().cloned().collect(),
        jvm_options: local.jvm.clone(),
        class_sharing: local.class_sharing,
        start_timeout: Duration::from_nanos(local.start_timeout_ns),
        authentication: local.authentication,
        ..LocalSpec::default()
    }
}

fn hosts_spec(hosts: &settings::Hosts) -> HostsSpec {
    HostsSpec {
        count: hosts.count,
        isolation: hosts.isolation,
        host: HostSpec {
            cpus: hosts.cpus.clone(),
            cpu_quota: hosts.cpu_quota,
            memory_bytes: hosts.memory_bytes,
            volume_bytes: hosts.volume_bytes,
            link: LinkSpec {
                rate_bits_per_s: hosts.link_rate_bits,
                delay: hosts.link_delay_ns.map(Duration::from_nanos),
            },
        },
    }
}

/// An attached target.
pub fn attach_spec(attach: &settings::Attach) -> AttachSpec {
    AttachSpec {
        contact_points: attach.contact_points.clone(),
        user: attach.user.clone(),
        password: attach.password.as_ref().and_then(secret_source),
        tls: attach.tls.as_ref().map(tls_spec),
        datacenter: attach.datacenter.clone(),
        jolokia: attach.jolokia.as_ref().map(|jolokia| JolokiaAccess {
            port: jolokia.port,
            user: jolokia.user.clone(),
            password: jolokia.password.as_ref().and_then(secret_source),
            tls: jolokia.tls.as_ref().map(tls_spec),
        }),
    }
}

/// None for a name that stands for nothing: the rules have said so.
fn secret_source(secret: &Secret) -> Option<SecretSource> {
    Some(match secret {
        Secret::File(path) => SecretSource::File(path.clone()),
        Secret::Env(name) => SecretSource::Env(name.clone()),
        Secret::Held(secret) => SecretSource::Held(secret.clone()),
        Secret::Named(_) => return None,
    })
}

fn tls_spec(tls: &settings::Tls) -> TlsSpec {
    TlsSpec {
        ca: tls.ca.clone(),
        verify: tls.verify,
        server_name: tls.server_name.clone(),
    }
}
