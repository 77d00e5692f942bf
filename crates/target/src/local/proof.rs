//! Proof of effect: what the nodes themselves say of what they were asked to be.
//!
//! Long because each kind of thing that is asked for is shown in a way of its own.
//!
//! A file that was written proves nothing. Settings are asked from the server's virtual table,
//! flags, properties and the machine's size from the JVM; limits of a host are believed when the
//! JVM inside counts by them.

use super::compare::{self, Flag, JvmOption};
use super::node::Node;
use crate::access::Access;
use crate::cluster::Cluster;
use crate::hidden;
use crate::jolokia::Jolokia;
use crate::session::Session;
use crate::spec::{Collector, HostSpec, LocalSpec};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// What one node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeConfiguration {
    /// Its name.
    pub node: String,
    /// `system_views.settings`; empty where it cannot be read.
    pub settings: BTreeMap<String, String>,
    /// Flags of the JVM that are not its defaults, with their origin behind the value where it is
    /// not the command line: `2 (ergonomic)`. Empty where the JVM cannot be asked.
    pub flags: BTreeMap<String, String>,
    /// The JVM and what it takes its machine for: `version`, `processors`, `memory`, and the facts
    /// of its container by the names that it gives them.
    pub jvm: BTreeMap<String, String>,
}

/// One thing that was asked for, and what a node says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the node.
    pub node: String,
    /// A key of `cassandra.yaml` with dots where the server flattens it, an option of the JVM
    /// without its value, `heap`, `collector`, or a host's `cpus`, `cpu_quota`, `memory`, `volume`.
    pub key: String,
    /// What was asked for.
    pub wanted: String,
    /// What is in effect; [`NOT_SHOWN`] where no node can tell.
    pub effective: String,
    /// Where that was read.
    pub source: &'static str,
    /// False only if something else than `wanted` is shown. What is [`NOT_SHOWN`] is not proved,
    /// and not disproved either.
    pub holds: bool,
}

/// What stands for the effective value where no node can tell.
pub const NOT_SHOWN: &str = "not shown";

const SETTINGS: &str = "system_views.settings";
const NO_ROW: &str = "system_views.settings has no row for it";
const FLAGS: &str = "VM.flags";
const PROPERTIES: &str = "VM.system_properties";
const ARGUMENTS: &str = "Runtime.InputArguments";
const CONTAINER: &str = "VM.info";
const NO_AGENT: &str = "the JVM cannot be asked: no agent";

/// How long the settings may take to be read.
const LIMIT: Duration = Duration::from_secs(30);

impl Proof {
    /// Whether the node could tell at all.
    pub fn is_shown(&self) -> bool {
        self.effective != NOT_SHOWN
    }
}

impl Cluster {
    /// The effective configuration of every node: of an attached one, as much as the user may see.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn configurations(&self) -> Result<Vec<NodeConfiguration>> {
        let Some(nodes) = self.local() else {
            let of_node = |(node, settings)| NodeConfiguration {
                node,
                settings,
                ..NodeConfiguration::default()
            };
            return Ok(self.settings()?.into_iter().map(of_node).collect());
        };
        let one = |node: &Node| Ok(see(node)?.configuration(&node.layout.name));
        nodes.nodes.iter().map(one).collect()
    }

    /// Everything that the spec asked for, key by key and node by node, beside what is in effect;
    /// nothing for an attached cluster, of which nothing was asked.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn proofs(&self) -> Result<Vec<Proof>> {
        let Some(nodes) = self.local() else {
            return Ok(Vec::new());
        };
        let mut proofs = Vec::new();
        for node in &nodes.nodes {
            let seen = see(node)?;
            proofs.extend(seen.proofs(&nodes.spec, &node.layout.name));
            if let Some(host) = nodes.limits() {
                proofs.extend(seen.host_proofs(host, &node.layout.name));
            }
        }
        Ok(proofs)
    }
}

/// What a node shows.
#[derive(Clone, Debug, Default)]
struct Seen {
    settings: BTreeMap<String, String>,
    /// What the JVM says; none without an agent.
    jvm: Option<Jvm>,
}

#[derive(Clone, Debug, Default)]
struct Jvm {
    /// All flags.
    flags: BTreeMap<String, Flag>,
    properties: BTreeMap<String, String>,
    arguments: Vec<String>,
    facts: BTreeMap<String, String>,
}

fn see(node: &Node) -> Result<Seen> {
    let name = &node.layout.name;
    let settings = Session::open(node.cql_address(), &Access::default(), LIMIT)
        .and_then(|mut session| session.pairs("SELECT name, value FROM system_views.settings"))
        .with_context(|| format!("read the settings of {name}"))?;
    let jvm = node.jolokia.as_ref().map(see_jvm).transpose();
    Ok(Seen {
        settings,
        jvm: jvm.with_context(|| format!("ask the JVM of {name}"))?,
    })
}

fn see_jvm(jolokia: &Jolokia) -> Result<Jvm> {
    const COMMAND: &str = "com.sun.management:type=DiagnosticCommand";
    let ask = |operation: &str, arguments: &[Value]| -> Result<String> {
        let answer = jolokia.call(COMMAND, operation, arguments)?;
        Ok(answer.as_str().unwrap_or_default().to_string())
    };
    let container = compare::container(&ask("vmInfo", &[])?);
    let (runtime, system) = ("java.lang:type=Runtime", "java.lang:type=OperatingSystem");
    let attributes = [
        (runtime, "InputArguments", "arguments"),
        (runtime, "SpecVersion", "java"),
        (runtime, "VmName", "name"),
        (runtime, "VmVendor", "vendor"),
        (runtime, "VmVersion", "version"),
        (system, "AvailableProcessors", "processors"),
        (system, "TotalMemorySize", "memory_bytes"),
    ];
    let names: Vec<(&str, &str)> = attributes.iter().map(|one| (one.0, one.1)).collect();
    let mut values = jolokia.read(&names)?;
    let arguments = values.remove(0);
    let mut facts = container;
    for ((_, _, name), value) in attributes[1..].iter().zip(values) {
        match value {
            Some(Value::String(text)) => facts.insert((*name).to_string(), text),
            Some(other) => facts.insert((*name).to_string(), other.to_string()),
            None => None,
        };
    }
    let text = |value: &Value| value.as_str().map(str::to_string);
    let arguments = arguments.as_ref().and_then(Value::as_array);
    let arguments = arguments.map(|list| list.iter().filter_map(text).collect());
    Ok(Jvm {
        flags: compare::flags(&ask("vmFlags", &[json!(["-all"])])?),
        properties: compare::properties(&ask("vmSystemProperties", &[])?),
        arguments: arguments.unwrap_or_default(),
        facts,
    })
}

impl Seen {
    fn configuration(self, node: &str) -> NodeConfiguration {
        let jvm = self.jvm.unwrap_or_default();
        let flag = |(name, flag): (String, Flag)| {
            let value = match flag.origin.as_str() {
                "default" => return None,
                "command line" => flag.value,
                origin => format!("{} ({origin})", flag.value),
            };
            Some((name, value))
        };
        NodeConfiguration {
            node: node.to_string(),
            settings: self.settings,
            flags: jvm.flags.into_iter().filter_map(flag).collect(),
            jvm: jvm.facts,
        }
    }

    fn proofs(&self, spec: &LocalSpec, node: &str) -> Vec<Proof> {
        let mut proofs = Vec::new();
        let heap_is_ours =
            |option: &&str| !spec.jvm_options.iter().any(|one| one.starts_with(*option));
        for option in ["-Xms", "-Xmx"]
            .iter()
            .filter(|option| heap_is_ours(option))
        {
            let asked = format!("{option}{}", spec.heap_bytes);
            let key = if *option == "-Xms" {
                "heap (initial)"
            } else {
                "heap"
            };
            proofs.push(Proof {
                key: key.to_string(),
                ..self.option(&asked, node)
            });
        }
        if let Some(collector) = spec.collector {
            proofs.push(self.collector_proof(collector, node));
        }
        for (key, value) in &spec.yaml {
            for shown in compare::yaml(key, value, &self.settings) {
                let source = shown.effective.as_ref().map_or(NO_ROW, |_| SETTINGS);
                proofs.push(hide(Proof {
                    node: node.to_string(),
                    key: shown.key,
                    wanted: shown.wanted,
                    effective: shown.effective.unwrap_or_else(|| NOT_SHOWN.to_string()),
                    source,
                    holds: shown.holds,
                }));
            }
        }
        for (index, option) in spec.jvm_options.iter().enumerate() {
            // The last of several wins, and is the one that must be in effect.
            let key = |option: &str| self.option(option, node).key;
            let later = &spec.jvm_options[index + 1..];
            if !later.iter().any(|other| key(other) == key(option)) {
                proofs.push(self.option(option, node));
            }
        }
        proofs
    }

    /// Which collector runs.
    fn collector_proof(&self, wanted: Collector, node: &str) -> Proof {
        let found = self.jvm.as_ref().map(|jvm| {
            let is_on = |one: &&Collector| {
                let flag = jvm.flags.get(one.flag());
                flag.is_some_and(|flag| flag.value == "true")
            };
            let found = Collector::ALL.iter().find(is_on);
            found.map_or("another", |one| one.name())
        });
        Proof {
            node: node.to_string(),
            key: "collector".to_string(),
            wanted: wanted.name().to_string(),
            effective: found.unwrap_or(NOT_SHOWN).to_string(),
            source: found.map_or(NO_AGENT, |_| FLAGS),
            holds: found.is_none_or(|found| found == wanted.name()),
        }
    }

    /// The proof of one option of the JVM.
    fn option(&self, option: &str, node: &str) -> Proof {
        let (key, wanted, found, source, holds) = match (jvm_key(option), &self.jvm) {
            ((key, wanted, _), None) => (key, wanted, None, NO_AGENT, true),
            ((key, wanted, JvmOption::Flag(name, _)), Some(jvm)) => {
                match jvm.flags.get(name) {
                    Some(flag) => {
                        let holds = compare::flag_holds(name, &wanted, &flag.value);
                        let origin = match flag.origin.as_str() {
                            "command line" => flag.value.clone(),
                            other => format!("{} ({other})", flag.value),
                        };
                        (key, wanted, Some(origin), FLAGS, holds)
                    }
                    // Flags that are locked are not listed.
                    None => argument(key, wanted, option, jvm),
                }
            }
            ((key, wanted, JvmOption::Property(name, value)), Some(jvm)) => {
                let found = jvm.properties.get(name).cloned();
                let holds = found.as_deref() == Some(value);
                let effective = found.unwrap_or_else(|| "absent".to_string());
                (key, wanted, Some(effective), PROPERTIES, holds)
            }
            ((key, wanted, JvmOption::Other), Some(jvm)) => argument(key, wanted, option, jvm),
        };
        hide(Proof {
            node: node.to_string(),
            key,
            wanted,
            effective: found.unwrap_or_else(|| NOT_SHOWN.to_string()),
            source,
            holds,
        })
    }

    /// What the JVM inside a host counts by, beside the host's limits.
    fn host_proofs(&self, host: &HostSpec, node: &str) -> Vec<Proof> {
        let facts = self.jvm.as_ref().map(|jvm| &jvm.facts);
        let fact = |name: &str| facts.and_then(|facts| facts.get(name)).cloned();
        let proof = |key: &str, wanted: String, found: Option<String>, holds: bool| Proof {
            node: node.to_string(),
            key: key.to_string(),
            wanted,
            source: facts.map_or(NO_AGENT, |_| CONTAINER),
            holds: holds || found.is_none(),
            effective: found.unwrap_or_else(|| NOT_SHOWN.to_string()),
        };
        let mut proofs = Vec::new();
        if let Some(cpus) = &host.cpus {
            let found = fact("cpu_cpuset_cpus");
            let holds = found.as_deref().and_then(cpu_list) == Some(sorted(cpus));
            let wanted: Vec<String> = cpus.iter().map(usize::to_string).collect();
            proofs.push(proof("cpus", wanted.join(","), found, holds));
        }
        if let Some(quota) = host.cpu_quota {
            let number = |name: &str| fact(name)?.parse::<f64>().ok();
            let cores = number("cpu_quota").zip(number("cpu_period"));
            let cores = cores.map(|(quota, period)| quota / period);
            // The kernel takes whole microseconds of a period of 100 ms.
            let holds = cores.is_some_and(|cores| (cores - quota).abs() < 1e-4);
            // Without a quota it says so in words.
            let found = cores
                .map(|cores| cores.to_string())
                .or_else(|| fact("cpu_quota"));
            proofs.push(proof("cpu_quota", quota.to_string(), found, holds));
        }
        if let Some(bytes) = host.memory_bytes {
            let found = fact("memory_limit_in_bytes");
            let shown = found.as_deref().and_then(compare::container_bytes);
            // The kernel rounds down to pages, the JVM shows KiB.
            let holds = shown.is_some_and(|shown| shown.abs_diff(bytes) < 65_536);
            let found = found.map(|text| text.replace(" k", " KiB"));
            proofs.push(proof(
                "memory",
                format!("{} KiB", bytes / 1024),
                found,
                holds,
            ));
        }
        proofs
    }
}

/// Keeps secrets out of a proof, which is compared already: whether it holds stays.
fn hide(mut proof: Proof) -> Proof {
    if hidden::names_secret(proof.key.split('=').next().unwrap_or_default()) {
        for value in [&mut proof.wanted, &mut proof.effective] {
            if ![NOT_SHOWN, "absent", "given"].contains(&value.as_str()) {
                *value = "***".to_string();
            }
        }
    }
    proof.key = hidden::hidden(&proof.key).into_owned();
    proof
}

/// Key, wanted value and kind of an option.
fn jvm_key(option: &str) -> (String, String, JvmOption<'_>) {
    let parsed = compare::jvm_option(option);
    let (key, wanted) = match &parsed {
        JvmOption::Flag(name, value) => (format!("-XX:{name}"), value.clone()),
        JvmOption::Property(name, value) => (format!("-D{name}"), (*value).to_string()),
        JvmOption::Other => (option.to_string(), "given".to_string()),
    };
    (key, wanted, parsed)
}

type Found = (String, String, Option<String>, &'static str, bool);

/// An option that only shows as it was given.
fn argument(key: String, wanted: String, option: &str, jvm: &Jvm) -> Found {
    let given = jvm.arguments.iter().any(|argument| argument == option);
    let effective = if given {
        wanted.clone()
    } else {
        "absent".to_string()
    };
    (key, wanted, Some(effective), ARGUMENTS, given)
}

fn sorted(cpus: &[usize]) -> Vec<usize> {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The numbers of a list of the kernel: `0-1,4`.
fn cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(facts: &[(&str, &str)]) -> Seen {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let text = "bool UseZGC = true {product} {command line}\n\
                    size_t MaxHeapSize = 536870912 {product} {command line}\n";
        Seen {
            settings: [pair(&("concurrent_reads", "32"))].into(),
            jvm: Some(Jvm {
                flags: compare::flags(text),
                arguments: vec!["-ea".to_string()],
                facts: facts.iter().map(pair).collect(),
                ..Jvm::default()
            }),
        }
    }

    /// `key: effective holds`, a line each.
    fn brief(proofs: &[Proof]) -> Vec<String> {
        let line = |one: &Proof| format!("{}: {} {}", one.key, one.effective, one.holds);
        proofs.iter().map(line).collect()
    }

    #[test]
    fn only_what_is_shown_differently_does_not_hold() {
        let spec = LocalSpec {
            heap_bytes: 512 << 20,
            collector: Some(Collector::G1),
            yaml: [
                ("concurrent_reads".to_string(), json!(16)),
                ("unheard_of".to_string(), json!(1)),
            ]
            .into_iter()
            .collect(),
            jvm_options: [
                "-Da=b",
                "-Dx.password=hunter2",
                "-ea",
                "-esa",
                "-Xmx1g",
                "-Xmx512m",
            ]
            .map(str::to_string)
            .to_vec(),
            ..LocalSpec::default()
        };
        let expected = [
            "heap (initial): absent false",
            "collector: zgc false",
            "concurrent_reads: 32 false",
            "unheard_of: not shown true",
            "-Da: absent false",
            "-Dx.password: absent false",
            "-ea: given true",
            "-esa: absent false",
            "-XX:MaxHeapSize: 536870912 true",
        ];
        let proofs = seen(&[]).proofs(&spec, "node1");
        assert_eq!(brief(&proofs), expected);
        assert!(!format!("{proofs:?}").contains("hunter2"), "{proofs:?}");
        let blind = Seen::default().proofs(&spec, "node1");
        assert!(
            blind.iter().all(|one| one.holds && !one.is_shown()),
            "{blind:#?}"
        );
    }

    #[test]
    fn limits_of_a_host_are_what_the_jvm_counts_by() {
        let host = HostSpec {
            cpus: Some(vec![1, 0]),
            cpu_quota: Some(1.5),
            memory_bytes: Some(3 << 30),
            ..HostSpec::default()
        };
        let limited = seen(&[
            ("cpu_cpuset_cpus", "0-1"),
            ("cpu_quota", "150000"),
            ("cpu_period", "100000"),
            ("memory_limit_in_bytes", "3145728 k"),
        ]);
        let proofs = limited.host_proofs(&host, "node1");
        let expected = [
            "cpus: 0-1 true",
            "cpu_quota: 1.5 true",
            "memory: 3145728 KiB true",
        ];
        assert_eq!(brief(&proofs), expected);
        let free = seen(&[
            ("cpu_cpuset_cpus", "0-3"),
            ("cpu_quota", "no quota"),
            ("memory_limit_in_bytes", "unlimited"),
        ]);
        let expected = [
            "cpus: 0-3 false",
            "cpu_quota: no quota false",
            "memory: unlimited false",
        ];
        assert_eq!(brief(&free.host_proofs(&host, "node1")), expected);
    }
}
