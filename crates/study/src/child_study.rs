//! Builds the text of a study that follows the trials of another study: an experiment, or the extra
//! trials of a profile.
//!
//! Such a study compares variants at one load, so it has no faults, requirements, price or extra
//! trials of its own.

use crate::checked_tree::Tree;
use crate::format;
use crate::settings::Study;
use analysis::procedure::Point;
use serde_json::{Map, Value, json};

/// Keys that a child study does not take from its parent.
const OMITTED_KEYS: [&str; 5] = ["faults", "require", "price_per_hour", "procedure", "why"];

pub(crate) struct ChildStudy<'a> {
    /// End of the study's name, after the name of the parent and a hyphen.
    pub suffix: &'a str,
    pub question: &'a str,
    pub point: Point,
    /// Settings of the key `repeat`.
    pub repeat: Value,
    /// Settings of all variants.
    pub shared: Map<String, Value>,
    /// Settings of each variant, by name.
    pub variants: Map<String, Value>,
}

impl ChildStudy<'_> {
    pub(crate) fn text(self, parent: &Study) -> String {
        let load = match self.point {
            Point::Threads(count) => json!({ "threads": count }),
            Point::Rate(rate) => json!({ "rate": rate }),
        };
        let mut whole = self.shared;
        let mut set = |key: &str, value| whole.insert(key.to_owned(), value);
        set("study", json!(format!("{}-{}", parent.name, self.suffix)));
        set("question", json!(self.question));
        set("seed", json!(parent.seed));
        set("procedure", json!({ "fixed": load }));
        set("repeat", self.repeat);
        set("variants", Value::Object(self.variants));
        format!("{:#}\n", Value::Object(whole))
    }
}

/// Returns the settings of a variant that a child study keeps. They include no defaults, because
/// some defaults, such as the method of restoring a snapshot, are not permitted in every study.
pub(crate) fn settings_of(tree: &Tree) -> Map<String, Value> {
    let Value::Object(mut settings) = without_defaults(tree, "") else {
        return Map::new();
    };
    settings.retain(|key, _| !OMITTED_KEYS.contains(&key.as_str()));
    if let Some(Value::Object(probes)) = settings.get_mut("probes") {
        probes.remove("profile");
    }
    settings
}

pub(crate) fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

fn without_defaults(tree: &Tree, path: &str) -> Value {
    let Tree::Map(entries) = tree else {
        return tree.to_json();
    };
    let kept = entries.iter().filter_map(|(key, value)| {
        let path = match path {
            "" => key.clone(),
            _ => format!("{path}.{key}"),
        };
        let default = format::field(&path).and_then(|field| field.default);
        let is_default = default.is_some_and(|default| value.to_word() == default);
        (!is_default).then(|| (key.clone(), without_defaults(value, &path)))
    });
    Value::Object(kept.collect())
}
