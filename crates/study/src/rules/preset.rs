//! Expands `yaml: {use: latest}`, which selects a file of settings that ships with Cassandra.
//! Settings in the study take precedence over this file.

use serde_json::{Map, Value};
use target_spec::{LocalSpec, yaml_named};
use versions::{Line, Preset};

/// The key that selects the file.
pub(super) const USE: &str = "use";

/// Returns a mistake and a hint if a release line of Cassandra does not ship the file that `value`
/// selects. `None` if it does.
pub(super) fn refusal(line: &Line, value: &Value) -> Option<(String, String)> {
    let words = || Preset::ALL.map(Preset::word).join(" or ");
    let Some(preset) = value.as_str().and_then(Preset::find) else {
        let why = format!("`use` must be {}, not {value}", words());
        let hint = "`latest` means cassandra_latest.yaml, and `shipped` means cassandra.yaml of \
                    the distribution";
        return Some((why, hint.to_owned()));
    };
    line.preset(preset).is_none().then(|| {
        let known = Line::with_presets();
        let why = format!(
            "cassay does not have {} of Cassandra {}",
            preset.file(),
            line.name
        );
        (
            why,
            format!(
                "cassay has this file for {known}; for other versions, write the settings \
                 themselves"
            ),
        )
    })
}

/// Replaces `use` by the settings of the selected file, and returns a note. Leaves an unknown word
/// in place, because a rule refuses it.
pub(super) fn laid(local: &mut LocalSpec) -> Option<String> {
    let line = local.release.line();
    let preset = local.yaml.get(USE).and_then(Value::as_str).and_then(Preset::find)?;
    let settings = line.preset(preset)?;
    local.yaml.remove(USE);
    // The study may use the name that a setting has in another release line.
    let own: Map<String, Value> = yaml_named(line, &local.yaml);
    let new: Vec<(String, Value)> =
        settings.into_iter().filter(|(key, _)| !own.contains_key(key)).collect();
    let names: Vec<&str> = new.iter().map(|(key, _)| key.as_str()).collect();
    let said = format!(
        "{} of Cassandra {} sets {}",
        preset.file(),
        line.name,
        names.join(", ")
    );
    local.yaml.extend(new);
    Some(said)
}
