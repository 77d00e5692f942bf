//! Describes the conditions under which a study's trials run: hosts and their limits, configuration
//! of nodes and tables, source of the data, probes. The head of a plan shows these conditions.
//!
//! A condition that all variants share is listed once. If the variants differ in a condition, each
//! form of the condition is listed with the names of its variants.

use crate::settings::{
    GuardedClusters, Import, Keyspace, Load, PageCache, Probes, Profile, ProfiledTrials,
    Replication, Reset, RestoreMethod, Settings, Study, StudyFault, Variant,
};
use crate::target_differences;
use crate::units;
use measure::number::counted;
use std::collections::BTreeMap;
use target_spec::fault::{Length, Means};
use target_spec::{
    Authentication, Collector, HostSpec, Isolation, JavaChoice, LocalSpec, Target, Topology,
    redact::{hidden, hide_all},
};
use topology::Smt;
use versions::Preset;

/// A line of the head of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Subject of the condition: `hosts`, `each host`, `nodes`, `tables`, `data`, `loading`,
    /// `probes`, `faults`, `guard`.
    pub about: &'static str,
    /// Names of the variants, or of the values of an axis, that have this condition. `None` if all
    /// variants have the condition.
    pub of: Option<String>,
    /// Description of the condition.
    pub what: String,
}

/// Returns the conditions of a study. Their subjects have a fixed order. The null target has no
/// conditions for nodes, tables and data.
pub fn conditions(study: &Study) -> Vec<Condition> {
    let mut by_about: BTreeMap<usize, Vec<(&Variant, String)>> = BTreeMap::new();
    for variant in &study.variants {
        for (order, what) in list_conditions(&variant.settings) {
            by_about.entry(order).or_default().push((variant, what));
        }
    }
    let mut all = Vec::new();
    for (order, lines) in by_about {
        let about = ABOUT[order];
        let first = &lines[0].1;
        let is_shared =
            lines.len() == study.variants.len() && lines.iter().all(|(_, what)| what == first);
        if is_shared {
            let (of, what) = (None, first.clone());
            all.push(Condition { about, of, what });
            continue;
        }
        all.extend(differing(study, &lines).into_iter().map(|(of, what)| {
            let (of, what) = (Some(of), what.to_owned());
            Condition { about, of, what }
        }));
    }
    all
}

/// Groups equal conditions, and returns each condition with the names to which it applies. The
/// names are values of an axis if only that axis determines the condition. Otherwise, they are
/// variants.
fn differing<'a>(study: &Study, lines: &'a [(&Variant, String)]) -> Vec<(String, &'a str)> {
    let value = |axis: usize, variant: &Variant| variant.cell.get(axis).copied();
    let decides = |axis: &usize| {
        lines.iter().all(|(one, what)| {
            let same = |(other, _): &&(&Variant, String)| value(*axis, one) == value(*axis, other);
            lines.iter().filter(same).all(|(_, other)| what == other)
        })
    };
    let axis = (0..study.axes.len()).find(decides);
    let name = |variant: &Variant| match axis.zip(axis.and_then(|axis| value(axis, variant))) {
        Some((axis, value)) => study.axes[axis].values[value].clone(),
        None => variant.name.to_string(),
    };
    let mut said: Vec<(Vec<String>, &str)> = Vec::new();
    for (variant, what) in lines {
        let name = name(variant);
        match said.iter_mut().find(|(_, known)| known == what) {
            Some((names, _)) if names.contains(&name) => {}
            Some((names, _)) => names.push(name),
            None => said.push((vec![name], what)),
        }
    }
    let said = said.into_iter();
    said.map(|(names, what)| (names.join(", "), what)).collect()
}

/// Subjects of conditions, in the order in which a plan lists them.
const ABOUT: [&str; 9] = [
    "hosts",
    "each host",
    "nodes",
    "tables",
    "data",
    "loading",
    "probes",
    "faults",
    "guard",
];

/// Returns the conditions of one variant. Each condition comes with the index of its subject in
/// [`ABOUT`].
fn list_conditions(settings: &Settings) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut add = |order: usize, parts: Vec<String>| {
        if !parts.is_empty() {
            all.push((order, parts.join(", ")));
        }
    };
    if let Target::Local(local) = &settings.target {
        add(0, hosts(local));
        add(1, limits(local));
        add(2, nodes(local));
    }
    if !matches!(settings.target, Target::Null(_)) {
        add(3, tables(settings, &settings.keyspace));
        add(4, data(settings));
        add(5, loading(settings));
    }
    add(6, settings.probes.as_ref().map(probes).unwrap_or_default());
    add(7, settings.faults.iter().map(broken).collect());
    if settings.guard.when == GuardedClusters::Always {
        add(8, vec![settings.guard.words()]);
    }
    all
}

fn broken(fault: &StudyFault) -> String {
    let time = units::format_duration_ns;
    let at = time(fault.at_ns);
    let words = match fault.kind.length {
        Length::Stated | Length::Staged => {
            format!("{} at {at} for {}", fault.words(), time(fault.for_ns))
        }
        Length::Task => format!(
            "{} at {at} for at most {}",
            fault.words(),
            time(fault.for_ns)
        ),
        Length::Moment => format!("{} at {at}", fault.words()),
    };
    match &fault.kind.means {
        Means::Programs(_) => format!("{words} ({})", fault.kind.what),
        Means::BuiltIn(_) => words,
    }
}

fn hosts(local: &LocalSpec) -> Vec<String> {
    let mut racks: Vec<&str> = Vec::new();
    for rack in &local.racks {
        if !racks.contains(&rack.as_str()) {
            racks.push(rack);
        }
    }
    let racks = format!("racks {}", racks.join(" "));
    let Some(hosts) = &local.hosts else {
        let nodes = counted(local.nodes, "node");
        return vec![format!("none: {nodes} on loopback addresses"), racks];
    };
    let apart = match (hosts.isolation, &hosts.pods) {
        (_, Some(pods)) => &target_differences::pods_words(pods),
        _ if hosts.are_machines() => &format!("on the machines {}", hosts.names().join(" ")),
        (Isolation::Auto, None) => {
            "isolated if this machine supports isolation, otherwise on loopback addresses"
        }
        (Isolation::Hosts, None) => "kept apart",
        (Isolation::Loopback, None) => "on loopback addresses, not isolated",
    };
    let (count, shares) = (hosts.count, local.nodes_of_hosts());
    let each = || shares.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let dealt = match local.nodes_per_host() {
        most if shares.iter().any(|nodes| *nodes < most) => format!("{} nodes", each()),
        all => counted(all, "node"),
    };
    vec![format!("{count} of {dealt}"), racks, apart.to_owned()]
}

fn limits(local: &LocalSpec) -> Vec<String> {
    local.hosts.as_ref().map_or_else(Vec::new, |hosts| host_conditions(&hosts.host))
}

fn host_conditions(host: &HostSpec) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(cpus) = &host.cpus {
        let cpus: Vec<_> = cpus.iter().map(usize::to_string).collect();
        parts.push(format!("CPUs {}", cpus.join(" ")));
    }
    if let Some(cores) = host.cpu_quota {
        parts.push(format!("CPU time of {}", counted(cores, "core")));
    }
    if let Some(bytes) = host.memory_bytes {
        let bytes = units::format_bytes(bytes);
        parts.push(format!("{bytes} of memory, including page cache"));
    }
    if let Some(bytes) = host.volume_bytes {
        parts.push(format!("a volume of {}", units::format_bytes(bytes)));
    }
    let per_second = |what: &str, count: Option<u64>| {
        count.map(|count| format!("{} {what} a second", units::format_count(count)))
    };
    parts.extend(per_second("reads", host.disk.read_iops));
    parts.extend(per_second("writes", host.disk.write_iops));
    let rate = |what: &str, bytes: Option<u64>| {
        bytes.map(|bytes| format!("{what} of {}/s", units::format_bytes(bytes)))
    };
    parts.extend(rate("reads", host.disk.read_bytes_per_s));
    parts.extend(rate("writes", host.disk.write_bytes_per_s));
    if let Some(rate) = host.link.rate_bits_per_s {
        parts.push(format!("a link of {}/s", units::format_bit_rate(rate)));
    }
    if let Some(delay) = host.link.delay {
        let delay = units::format_duration_ns(delay.as_nanos() as u64);
        parts.push(format!("a delay of {delay} in each direction"));
    }
    parts
}

fn nodes(local: &LocalSpec) -> Vec<String> {
    let mut parts = vec![
        local.cassandra_words(),
        format!("heap {}", units::format_bytes(local.heap_bytes)),
    ];
    parts.extend(local.java.as_ref().map(JavaChoice::words));
    parts.extend(local.collector.map(|collector| {
        let name = match collector {
            Collector::G1 => "G1",
            Collector::Z => "ZGC",
            Collector::Shenandoah => "Shenandoah",
            Collector::Parallel => "Parallel",
        };
        format!("collector {name}")
    }));
    if local.authentication == Authentication::Password {
        parts.push("clients authenticate with a password".to_owned());
    }
    parts.extend(yaml(local));
    parts.extend(local.jvm_options.iter().map(|one| hidden(one).into_owned()));
    let shared = local.class_sharing.then(|| "class data sharing".to_owned());
    parts.extend(shared);
    parts.extend(local.profiler.then(|| "async-profiler loaded".to_owned()));
    parts.extend(topology(&local.topology));
    parts
}

/// Describes the settings of cassandra.yaml. The settings may include all settings of a preset file
/// that ships with Cassandra. Then the description names that file and lists only the settings that
/// differ from it.
fn yaml(local: &LocalSpec) -> Vec<String> {
    let line = local.release.line();
    let beside = |preset: Preset| {
        let says = line.preset(preset)?;
        let is_said = says.keys().all(|key| local.yaml.contains_key(key));
        let own = local.yaml.iter().filter(|(key, value)| says.get(*key) != Some(value));
        is_said.then(|| (preset, own.collect::<Vec<_>>()))
    };
    let closest = Preset::ALL.into_iter().filter_map(beside).min_by_key(|(_, own)| own.len());
    let (file, own) = match closest {
        Some((preset, own)) => (Some(preset.file().to_owned()), own),
        None => (None, local.yaml.iter().collect()),
    };
    let own = own.into_iter().map(|(key, value)| format!("{key}: {}", yaml_words(key, value)));
    file.into_iter().chain(own).collect()
}

/// Describes a topology. `None` for the default topology.
pub(crate) fn topology(asked: &Topology) -> Option<String> {
    let mut words = vec![format!("topology {}", asked.placing.name())];
    let cpus = |count: u32| match count {
        1 => "1 CPU".to_owned(),
        _ => format!("{count} CPUs"),
    };
    words.extend(asked.cpus.map(|count| format!("{} each", cpus(count))));
    let part = asked.part;
    words.extend(part.map(|(units, count)| format!("on {}", units.counted(count as usize))));
    words.extend(asked.smt.map(|smt| match smt {
        Smt::Pack => "whole cores".to_owned(),
        Smt::OnePerCore => "one thread of each core".to_owned(),
    }));
    let kept = Some(asked.housekeeping).filter(|cores| *cores > 0);
    words.extend(kept.map(|cores| format!("{cores} cores of each NUMA node without nodes")));
    words.extend(asked.client.map(|count| format!("{} for the client", cpus(count))));
    (*asked != Topology::default()).then(|| words.join(", "))
}

/// Formats a setting. Hides the value of a secret.
pub(crate) fn yaml_words(key: &str, value: &serde_json::Value) -> String {
    let mut setting = serde_json::json!({ key: value });
    hide_all(&mut setting);
    match &setting[key] {
        serde_json::Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn tables(settings: &Settings, keyspace: &Keyspace) -> Vec<String> {
    if settings.takes_as_it_is() {
        let table = settings.workload.table.as_ref().map(|table| table.name.clone());
        let mut parts: Vec<String> = table.into_iter().collect();
        parts.push("used unchanged".to_owned());
        parts.extend(keyspace.table_options());
        return parts;
    }
    let replicas = match &keyspace.replication {
        Replication::Simple { factor } => factor.to_string(),
        Replication::NetworkTopology(all) => {
            let all = all.iter().map(|(name, copies)| format!("{name}: {copies}"));
            all.collect::<Vec<_>>().join(", ")
        }
    };
    let mut parts = vec![format!("replicas {replicas}")];
    parts.extend(keyspace.own_options());
    parts.extend(keyspace.table_options());
    parts
}

fn data(settings: &Settings) -> Vec<String> {
    let data = &settings.data;
    let mut parts = Vec::new();
    let rows = units::count_for_people(data.load_rows);
    match data.load {
        Load::None => {}
        Load::Operations(rows) => parts.push(format!("load {} rows", units::format_count(rows))),
        Load::BytesPerNode(bytes) => {
            let bytes = units::format_bytes(bytes);
            parts.push(format!(
                "load until each node has {bytes}, about {rows} rows"
            ));
        }
        Load::Fraction(share) => {
            let percent = share * 100.0;
            let until = format!("load until the volumes are {percent:.0} % full");
            parts.push(format!("{until}, about {rows} rows"));
        }
    }
    parts.push(match (data.reset, data.restore) {
        (Reset::None, _) => "not reset between trials".to_owned(),
        (Reset::Truncate, _) => "emptied and loaded again before each trial".to_owned(),
        (Reset::Snapshot, how) => {
            let how = match how {
                RestoreMethod::Online => "online",
                RestoreMethod::Offline => "while the nodes are down",
            };
            format!("a snapshot restored before each trial, {how}")
        }
    });
    if data.page_cache == PageCache::Drop {
        parts.push("then page cache dropped".to_owned());
    }
    parts
}

/// Describes the conditions that differ while data is loaded.
fn loading(settings: &Settings) -> Vec<String> {
    let mut parts = Vec::new();
    let mut add = |there: Vec<String>, usual: &[String]| {
        parts.extend(there.into_iter().filter(|part| !usual.contains(part)));
    };
    if let (Some(local), Some(usual)) = (settings.load_target().local(), settings.target.local()) {
        add(nodes(local), &nodes(usual));
        add(limits(local), &limits(usual));
    }
    add(
        tables(settings, settings.load_keyspace()),
        &tables(settings, &settings.keyspace),
    );
    if parts.is_empty() && settings.load_phase.is_some() {
        // Compared with the measured phase, the load phase only omits settings. The omitted
        // settings have their defaults during the load.
        parts.push("as by default".to_owned());
    }
    parts
}

fn probes(probes: &Probes) -> Vec<String> {
    let mut periods: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for (name, period) in probes.periods() {
        if let Some(period) = period {
            periods.entry(period).or_default().push(name);
        }
    }
    let mut parts = Vec::new();
    for (period, names) in periods {
        let period = units::format_duration_ns(period);
        parts.push(format!("{} every {period}", names.join(" ")));
    }
    let measured = |profile: &&Profile| profile.trials == ProfiledTrials::Measured;
    let event = probes.profile.as_ref().filter(measured).map(|profile| profile.event.name());
    parts.extend(event.map(|event| format!("profiles of {event}")));
    parts.extend(probes.import.iter().map(|import| match import {
        Import::Esxtop { file, .. } => format!("esxtop from {file}"),
        Import::PrometheusFile { file } => format!("Prometheus from {file}"),
        Import::PrometheusUrl { url, period_ns } => {
            let period = units::format_duration_ns(*period_ns);
            format!("Prometheus from {url} every {period}")
        }
    }));
    parts
}

#[cfg(test)]
mod tests;
