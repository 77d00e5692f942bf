//! Generates the text of a managed node's `cassandra.yaml`, and changes single keys in this text.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use target_spec::{Origin, YamlRefusal, yaml_named, yaml_refusal, yaml_together};
use versions::Release;

/// Writes one key per line, with values in the flow style of YAML, which includes JSON.
pub fn write_yaml(settings: &Map<String, Value>) -> String {
    let mut text = String::from(
        "# cassay wrote this file for one cluster, and overwrites any changes to it.\n",
    );
    for (key, value) in settings {
        text.push_str(&format!("{key}: {value}\n"));
    }
    text
}

/// Adds `overrides` to `settings`, and removes a sync period that the server would refuse.
pub fn merge(
    mut settings: Map<String, Value>,
    overrides: &Map<String, Value>,
) -> Map<String, Value> {
    for (key, value) in overrides {
        settings.insert(key.clone(), value.clone());
    }
    if settings.get("commitlog_sync").is_some_and(|sync| sync != "periodic") {
        // In batch and group mode, the server refuses a sync period.
        settings.retain(|key, _| !key.starts_with("commitlog_sync_period"));
    }
    settings
}

/// Refuses settings that only cassay may set, and settings that contradict each other. `rest`
/// contains other settings of the same node.
///
/// # Errors
/// Keys are refused. The error lists every refused key, with the reason and a hint.
pub fn refuse(
    of: (&Release, &Origin),
    yaml: &Map<String, Value>,
    rest: &Map<String, Value>,
) -> Result<()> {
    let refused = yaml.iter().filter_map(|(key, value)| yaml_refusal(of, key, value));
    let twice = yaml_together(of, yaml, rest).into_iter().map(|(_, refusal)| refusal);
    let refused = refused.chain(twice);
    let problems: Vec<String> =
        refused.map(|YamlRefusal { why, hint }| format!("{why}: {hint}")).collect();
    if problems.is_empty() {
        return Ok(());
    }
    bail!(problems.join("\n"))
}

/// Changes keys in the text of a `cassandra.yaml` that cassay wrote.
///
/// # Errors
/// cassay did not write the text, or only cassay may set one of the keys. For example, only cassay
/// may set tokens, because the ring already contains them.
pub fn change(
    text: &str,
    of: (&Release, &Origin),
    overrides: &Map<String, Value>,
) -> Result<String> {
    if overrides.contains_key("num_tokens") {
        bail!("cassay cannot change num_tokens of a node that already has tokens");
    }
    let line = |line: &str| -> Result<(String, Value)> {
        let (key, value) = line.split_once(": ").context("a line of the file contains no key")?;
        let value = serde_json::from_str(value).with_context(|| format!("read {key}"))?;
        Ok((key.to_owned(), value))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let settings: Result<Map<String, Value>> = lines.map(line).collect();
    let settings = settings.context("the file differs from the file that cassay wrote")?;
    refuse(of, overrides, &settings)?;
    Ok(write_yaml(&merge(
        settings,
        &yaml_named(of.0.line(), overrides),
    )))
}

/// Returns the path of the configuration file of a node's Jolokia agent.
pub fn jolokia_file(conf: &Path) -> PathBuf {
    conf.join("jolokia.properties")
}
