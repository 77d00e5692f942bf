//! Report of a node, which cassay queries once, and proofs that follow from the report. Settings
//! come from the server's virtual table. Flags, properties and the machine size come from the JVM.

use super::compare_settings::{self, Flag, JvmOption, SettingPair};
use super::outcome::{Effect, Proof};
use crate::jolokia::Jolokia;
use crate::node::Node;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use target_spec::{Collector, LocalSpec, redact};
use versions::{Line, Release};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeConfiguration {
    pub node: String,
    /// Empty if the node does not report its version.
    pub version: String,
    /// Rows of `system_views.settings`. Empty if the table cannot be read.
    pub settings: BTreeMap<String, String>,
    /// JVM flags that differ from the defaults, and the collector's number of threads. A value that
    /// does not come from the command line is followed by its origin, as in `2 (ergonomic)`. Empty
    /// if the JVM cannot be queried.
    pub flags: BTreeMap<String, String>,
    /// Facts about the JVM and its view of the machine: `java`, `name`, `vendor`, `version`,
    /// `processors`, `memory_bytes` and `class_archives`. Facts about the container have the JVM's
    /// names.
    pub jvm: BTreeMap<String, String>,
}

impl Proof {
    /// Compares the requested `cassandra.yaml` keys with the rows `shown` of
    /// `system_views.settings`.
    pub fn compare_yaml(
        yaml: &Map<String, Value>,
        shown: &BTreeMap<String, String>,
        node: &str,
        line: &Line,
    ) -> Vec<Proof> {
        let mut shown = shown.clone();
        for key in yaml.keys() {
            if let Some(row) = shown.get_mut(key) {
                *row = line.shown_with_unit(key, row);
            }
        }
        // A number under this key has an older unit, and the server also reports the value in this
        // unit.
        let whole = |key: &str, value: &Value| match value {
            Value::Number(number) => {
                let text = line.shown_with_unit(key, &number.to_string());
                text.parse::<f64>().map_or(Value::String(text), |_| value.clone())
            }
            other => other.clone(),
        };
        let keys = yaml.iter();
        let all =
            keys.flat_map(|(key, value)| compare_settings::yaml(key, &whole(key, value), &shown));
        // An empty value means the server's default, `AllowAllAuthenticator`.
        let class = ["authenticator", "authenticator.class_name"];
        let mut classes = class.iter().filter_map(|key| shown.get(*key)).peekable();
        let is_open = classes.peek().is_some()
            && classes.all(|class| class.is_empty() || class.contains("AllowAllAuthenticator"));
        let binds_nobody = |key: &str| is_open && line.is_guardrail(key);
        let proof = |shown: SettingPair| Proof {
            node: node.to_string(),
            effect: match shown.effect {
                Effect::InEffect(_) if binds_nobody(&shown.key) => {
                    Effect::NotShown(GUARDRAIL_BINDS_NOBODY.to_owned())
                }
                effect => effect,
            },
            key: shown.key,
            wanted: shown.wanted,
            source: SETTINGS,
        };
        all.map(|shown| hide(proof(shown))).collect()
    }
}

/// Reason why a guardrail in effect does not limit the load.
const GUARDRAIL_BINDS_NOBODY: &str = "a guardrail limits only ordinary users, and nodes without \
                                      authentication treat every client as a superuser";

const SETTINGS: &str = "system_views.settings";
const FLAGS: &str = "VM.flags";
const PROPERTIES: &str = "VM.system_properties";
const ARGUMENTS: &str = "Runtime.InputArguments";
/// Source of facts about the JVM's container.
pub const CONTAINER: &str = "VM.info";
const MAPPED: &str = "VM.info";
/// Source of facts about the JVM itself.
pub const JVM: &str = "JVM";
/// Name of the fact that lists the mapped class data archives.
const ARCHIVES: &str = "class_archives";
const ABSENT: &str = "absent";
pub const NO_AGENT: &str = "cassay cannot query the JVM: the JVM has no Jolokia agent";

/// Prefix of the names of class data archives that cassay dumped. By this prefix, cassay recognises
/// its archive among the mappings of a JVM.
pub const ARCHIVE_PREFIX: &str = "cassandra-classes-";

#[derive(Clone, Debug, Default)]
pub struct NodeReport {
    /// Rows of `system_views.settings`.
    pub settings: BTreeMap<String, String>,
    /// `None` if the node has no Jolokia agent.
    pub jvm: Option<Jvm>,
}

#[derive(Clone, Debug, Default)]
pub struct Jvm {
    pub flags: BTreeMap<String, Flag>,
    pub properties: BTreeMap<String, String>,
    /// Arguments of the JVM's command line.
    pub arguments: Vec<String>,
    /// Facts about the JVM, as in [`NodeConfiguration::jvm`].
    pub facts: BTreeMap<String, String>,
}

impl Node<'_> {
    /// Requests the settings from the node, and the other parts from its JVM. `jvm` is `None` if
    /// the MBeans are not accessible.
    ///
    /// # Errors
    /// The node or its JVM does not answer.
    pub fn report(&self) -> Result<NodeReport> {
        let name = self.name();
        let settings = self
            .session()
            .and_then(|mut session| session.pairs("SELECT name, value FROM system_views.settings"))
            .with_context(|| format!("read the settings of {name}"))?;
        let jvm = self.mbeans.as_ref().ok().map(|agent| see_jvm(agent)).transpose();
        Ok(NodeReport {
            settings,
            jvm: jvm.with_context(|| format!("query the JVM of {name}"))?,
        })
    }
}

const RUNTIME: &str = "java.lang:type=Runtime";
const SYSTEM: &str = "java.lang:type=OperatingSystem";

/// Reads the JVM facts of [`NodeConfiguration::jvm`].
///
/// # Errors
/// The Jolokia agent does not answer.
pub fn java_of(jolokia: &Jolokia) -> Result<BTreeMap<String, String>> {
    let attributes = [
        (RUNTIME, "SpecVersion", "java"),
        (RUNTIME, "VmName", "name"),
        (RUNTIME, "VmVendor", "vendor"),
        (RUNTIME, "VmVersion", "version"),
        (SYSTEM, "AvailableProcessors", "processors"),
        (SYSTEM, "TotalMemorySize", "memory_bytes"),
    ];
    let asked = attributes.map(|(mbean, attribute, _)| (mbean, attribute));
    let values = jolokia.read(&asked)?;
    let fact = |((_, _, name), value): ((&str, &str, &str), Option<Value>)| {
        let text = match value? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Some((name.to_owned(), text))
    };
    Ok(attributes.into_iter().zip(values).filter_map(fact).collect())
}

fn see_jvm(jolokia: &Jolokia) -> Result<Jvm> {
    const COMMAND: &str = "com.sun.management:type=DiagnosticCommand";
    let ask = |operation: &str, arguments: &[Value]| -> Result<String> {
        let answer = jolokia.call(COMMAND, operation, arguments)?;
        Ok(answer.as_str().unwrap_or_default().to_string())
    };
    let information = ask("vmInfo", &[])?;
    let arguments = jolokia.read(&[(RUNTIME, "InputArguments")])?.pop().flatten();
    let mut facts = compare_settings::container(&information);
    let archives = compare_settings::archives(&information);
    facts.insert(ARCHIVES.to_string(), archives.join(", "));
    facts.extend(java_of(jolokia)?);
    let text = |value: &Value| value.as_str().map(str::to_string);
    let arguments = arguments
        .as_ref()
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(text).collect());
    Ok(Jvm {
        flags: compare_settings::flags(&ask("vmFlags", &[json!(["-all"])])?),
        properties: compare_settings::properties(&ask("vmSystemProperties", &[])?),
        arguments: arguments.unwrap_or_default(),
        facts,
    })
}

impl NodeReport {
    /// Returns the part of the report that records contain.
    pub fn configuration(self, node: &str, release: &Release) -> NodeConfiguration {
        let jvm = self.jvm.unwrap_or_default();
        let flag = |(name, flag): (String, Flag)| {
            // The JVM derives this flag from the number of CPUs, but reports the origin `default`.
            let is_told = flag.origin != "default" || name == "ParallelGCThreads";
            is_told.then(|| (name, flag.with_origin()))
        };
        NodeConfiguration {
            node: node.to_string(),
            version: release.version().to_owned(),
            settings: self.settings,
            flags: jvm.flags.into_iter().filter_map(flag).collect(),
            jvm: jvm.facts,
        }
    }

    /// Compares the requested settings of a managed node with the report.
    pub fn proofs(&self, spec: &LocalSpec, node: &str) -> Vec<Proof> {
        let mut proofs = Vec::new();
        let heap_is_ours =
            |option: &&str| !spec.jvm_options.iter().any(|one| one.starts_with(*option));
        for option in ["-Xms", "-Xmx"].iter().filter(|option| heap_is_ours(option)) {
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
        if spec.class_sharing {
            proofs.push(self.sharing_proof(node));
        }
        let yaml = target_spec::yaml_named(spec.release.line(), &spec.yaml);
        let line = spec.release.line();
        proofs.extend(Proof::compare_yaml(&yaml, &self.settings, node, line));
        for (index, option) in spec.jvm_options.iter().enumerate() {
            // The last occurrence of a repeated option takes effect.
            let key = |option: &str| self.option(option, node).key;
            let later = &spec.jvm_options[index + 1..];
            if !later.iter().any(|other| key(other) == key(option)) {
                proofs.push(self.option(option, node));
            }
        }
        proofs
    }

    fn collector_proof(&self, wanted: Collector, node: &str) -> Proof {
        let found = self.jvm.as_ref().map(|jvm| {
            let is_on = |one: &&Collector| {
                let flag = jvm.flags.get(one.flag());
                flag.is_some_and(|flag| flag.value == "true")
            };
            let found = Collector::ALL.iter().find(is_on);
            found.map_or("another", |one| one.name())
        });
        let judged = found.map(|found| (found.to_string(), found == wanted.name()));
        Proof {
            node: node.to_string(),
            key: "collector".to_string(),
            wanted: wanted.name().to_string(),
            effect: Effect::from_comparison(judged, NO_AGENT),
            source: FLAGS,
        }
    }

    /// Verifies that the JVM has mapped the archive of Cassandra's classes.
    fn sharing_proof(&self, node: &str) -> Proof {
        let judged = self.jvm.as_ref().map(|jvm| {
            let mapped = jvm.facts.get(ARCHIVES).map_or("", String::as_str);
            if mapped.contains(ARCHIVE_PREFIX) {
                ("true".to_string(), true)
            } else {
                (format!("false (mapped: {mapped})"), false)
            }
        });
        Proof {
            node: node.to_string(),
            key: "class_sharing".to_string(),
            wanted: "true".to_string(),
            effect: Effect::from_comparison(judged, NO_AGENT),
            source: MAPPED,
        }
    }

    pub fn option(&self, option: &str, node: &str) -> Proof {
        let (key, wanted, parsed) = jvm_key(option);
        let (shown, source) = match &self.jvm {
            None => (None, JVM),
            Some(jvm) => {
                let (shown, holds, source) = jvm.option(option, &wanted, &parsed);
                (Some((shown, holds)), source)
            }
        };
        hide(Proof {
            node: node.to_string(),
            key,
            wanted,
            effect: Effect::from_comparison(shown, NO_AGENT),
            source,
        })
    }
}

impl Jvm {
    /// Returns the reported value of an option, the result of the comparison, and the source.
    fn option(&self, option: &str, wanted: &str, parsed: &JvmOption<'_>) -> ShownSetting {
        match parsed {
            JvmOption::Flag(name, _) => match self.flags.get(*name) {
                Some(flag) => {
                    let holds = compare_settings::flag_holds(name, wanted, &flag.value);
                    (flag.with_origin(), holds, FLAGS)
                }
                // The JVM does not list locked flags.
                None => self.argument(option, wanted),
            },
            JvmOption::Property(name, value) => {
                let found = self.properties.get(*name).cloned();
                let holds = found.as_deref() == Some(*value);
                let shown = found.unwrap_or_else(|| ABSENT.to_string());
                (shown, holds, PROPERTIES)
            }
            JvmOption::Other => self.argument(option, wanted),
        }
    }

    /// Looks up an option among the arguments, the only place where the JVM shows it.
    fn argument(&self, option: &str, wanted: &str) -> ShownSetting {
        let given = self.arguments.iter().any(|argument| argument == option);
        let shown = if given { wanted } else { ABSENT };
        (shown.to_string(), given, ARGUMENTS)
    }
}

/// Masks secrets in a proof. The result of the proof remains.
fn hide(mut proof: Proof) -> Proof {
    let is_said = |value: &str| [ABSENT, "given"].contains(&value);
    let mask = |value: &mut String| {
        if !is_said(value) {
            *value = "***".to_string();
        }
    };
    if redact::names_secret(proof.key.split('=').next().unwrap_or_default()) {
        mask(&mut proof.wanted);
        match &mut proof.effect {
            Effect::InEffect(shown) | Effect::NotInEffect(shown) => mask(shown),
            Effect::NotShown(_) => {}
        }
    }
    proof.key = redact::hidden(&proof.key).into_owned();
    proof
}

/// Returns the key, the requested value and the parsed form of an option.
fn jvm_key(option: &str) -> (String, String, JvmOption<'_>) {
    let parsed = compare_settings::jvm_option(option);
    let (key, wanted) = match &parsed {
        JvmOption::Flag(name, value) => (format!("-XX:{name}"), value.clone()),
        JvmOption::Property(name, value) => (format!("-D{name}"), (*value).to_string()),
        JvmOption::Other => (option.to_string(), "given".to_string()),
    };
    (key, wanted, parsed)
}

/// Reported value, true if this value is the requested one, and source.
type ShownSetting = (String, bool, &'static str);

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::settings) fn report(facts: &[(&str, &str)]) -> NodeReport {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let text = "bool UseZGC = true {product} {command line}\n\
                    size_t MaxHeapSize = 536870912 {product} {command line}\n";
        NodeReport {
            settings: [pair(&("concurrent_reads", "32"))].into(),
            jvm: Some(Jvm {
                flags: compare_settings::flags(text),
                arguments: vec!["-ea".to_string()],
                facts: facts.iter().map(pair).collect(),
                ..Jvm::default()
            }),
        }
    }

    /// Formats each proof as a line such as `key: value yes`.
    pub(in crate::settings) fn brief(proofs: &[Proof]) -> Vec<String> {
        let line = |one: &Proof| match &one.effect {
            Effect::InEffect(shown) => format!("{}: {shown} yes", one.key),
            Effect::NotInEffect(shown) => format!("{}: {shown} no", one.key),
            Effect::NotShown(_) => format!("{}: ?", one.key),
        };
        proofs.iter().map(line).collect()
    }

    #[test]
    fn an_unshown_setting_is_neither_proved_nor_disproved() {
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
            "heap (initial): absent no",
            "collector: zgc no",
            "concurrent_reads: 32 no",
            "unheard_of: ?",
            "-Da: absent no",
            "-Dx.password: absent no",
            "-ea: given yes",
            "-esa: absent no",
            "-XX:MaxHeapSize: 536870912 yes",
        ];
        let proofs = report(&[]).proofs(&spec, "node1");
        assert_eq!(brief(&proofs), expected);
        assert!(!format!("{proofs:?}").contains("hunter2"), "{proofs:?}");
        let blind = NodeReport::default().proofs(&spec, "node1");
        assert!(
            blind
                .iter()
                .all(|one| matches!(&one.effect, Effect::NotShown(why) if !why.is_empty())),
            "{blind:#?}"
        );
    }
}
