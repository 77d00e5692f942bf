//! Builds the studies of a tuning. These studies compare settings of a screening at one load, in
//! blocks of trials.

use crate::child_study::{ChildStudy, merge, settings_of};
use crate::screening::scalar;
use crate::settings::{Axis, Study, Variant};
use analysis::procedure::Point;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Name of the variant with the best settings so far.
pub const BEST_SO_FAR: &str = "best-so-far";
/// Name of the variant with changed settings.
pub const CHANGED: &str = "changed";
/// Name of the variant with the settings that the tuning kept.
pub const TUNED: &str = "tuned";
/// Name of the variant with the settings of the study as written.
pub const DEFAULT: &str = "default";
/// Name of the variant with `cassandra_latest.yaml`.
pub const LATEST: &str = "latest";

/// A setting of a screening with the value to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub setting: String,
    pub value: String,
    /// Partial study that sets the value.
    pub overlay: Value,
}

/// Parameters that all studies of a tuning share.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Study with the screening.
    pub study: &'a Study,
    /// The study as written, which is a variant of the screening.
    pub variant: &'a Variant,
    /// Load of the comparison.
    pub point: Point,
    /// Name of the metric: `ops_per_s`, `latency_ms.p50` or `latency_ms.p99`.
    pub metric: &'a str,
}

/// Returns the candidate for the value with number `value` of a setting. `None` if the study as
/// written already has this value.
pub fn candidate(axis: &Axis, value: usize) -> Option<Candidate> {
    let overlay = axis.settings.get(value)?;
    let is_default = overlay.as_object().is_none_or(Map::is_empty);
    (!is_default).then(|| Candidate {
        setting: axis.name.clone(),
        value: axis.values.get(value).cloned().unwrap_or_default(),
        overlay: overlay.clone(),
    })
}

/// Returns the partial study that sets all values of `candidates`.
pub fn overlay(candidates: &[Candidate]) -> Value {
    let mut all = json!({});
    for candidate in candidates {
        merge(&mut all, &candidate.overlay);
    }
    all
}

/// Formats a partial study as YAML in one line.
pub fn flow(overlay: &Value) -> String {
    match overlay {
        Value::Object(entries) => {
            let mut text = String::from("{");
            for (number, (key, value)) in entries.iter().enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{key}: {}", flow(value));
            }
            text + "}"
        }
        Value::String(text) => scalar(text, is_other_type(text)),
        other => other.to_string(),
    }
}

/// Returns true if YAML would read a text without quotes as another type.
fn is_other_type(text: &str) -> bool {
    text.parse::<f64>().is_ok() || matches!(text, "true" | "false" | "null")
}

/// Returns the partial study that selects `cassandra_latest.yaml`. `None` for nodes that cassay
/// does not start, or if the study already selects a file of settings.
pub fn latest(variant: &Variant) -> Option<Value> {
    variant.tree.find("target.local")?;
    let selected = variant.tree.find("target.local.yaml").and_then(|yaml| yaml.get("use"));
    selected
        .is_none()
        .then(|| json!({"target": {"local": {"yaml": {"use": "latest"}}}}))
}

impl Comparison<'_> {
    /// Returns the text of a study that compares the changed settings with the best settings so
    /// far. The study ends as soon as it has an answer. `blocks` contains its smallest and largest
    /// number of blocks.
    pub fn test(&self, best: &[Candidate], changed: &[Candidate], blocks: [usize; 2]) -> String {
        let names: Vec<String> =
            changed.iter().map(|one| format!("{}: {}", one.setting, one.value)).collect();
        let question = format!("Is {} better?", names.join(" with "));
        let [blocks_min, blocks_max] = blocks;
        let repeat = json!({"until": "answered", "min": blocks_min, "max": blocks_max});
        let sides = [
            (BEST_SO_FAR, overlay(best)),
            (CHANGED, overlay(&[best, changed].concat())),
        ];
        self.text(&question, repeat, &sides)
    }

    /// Returns the text of the study for the final comparison. It compares the kept settings with
    /// the study as written and with `cassandra_latest.yaml`.
    pub fn confirmation(&self, kept: &[Candidate], latest: Option<Value>, blocks: usize) -> String {
        let mut sides = vec![(DEFAULT, json!({})), (TUNED, overlay(kept))];
        sides.extend(latest.map(|overlay| (LATEST, overlay)));
        let question = "Are the tuned settings better than the defaults?";
        self.text(question, json!({ "blocks": blocks }), &sides)
    }

    fn text(&self, question: &str, mut repeat: Value, sides: &[(&str, Value)]) -> String {
        let metric = match self.metric.strip_prefix("latency_ms.") {
            Some(percentile) => percentile,
            None => self.metric,
        };
        if let Value::Object(repeat) = &mut repeat {
            repeat.insert("primary".to_owned(), json!(metric));
        }
        let child = ChildStudy {
            suffix: "tune",
            question,
            point: self.point,
            repeat,
            shared: settings_of(&self.variant.tree),
            variants: sides
                .iter()
                .map(|(name, overlay)| ((*name).to_owned(), overlay.clone()))
                .collect(),
        };
        child.text(self.study)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;
    use crate::settings::Overrides;

    const STUDY: &str = "\
study: tune-it
question: Which settings are better?
target: {null: {latency: {fixed: 1ms}}}
workload: {use: standard1}
procedure: {fixed: {threads: 4}}
window: {measure: 2s}
screen:
  settings:
    timeout: {low: {client: {timeout: 5s}}, high: {client: {timeout: 10s}}}
    compression: {low: {}, high: {client: {compression: lz4}}}
    connections: {low: {}, high: {client: {connections_per_node: 4}}}
    latency: {low: {}, high: {target: {'null': {latency: {fixed: 2ms}}}}}
tune: {minutes: 5, p99_ms: 20}
";

    fn study(text: &str) -> Study {
        resolve("s", text, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    #[test]
    fn a_test_has_the_best_settings_and_the_changed_ones() {
        let study = study(STUDY);
        let tune = study.tune.unwrap();
        assert_eq!((tune.minutes, tune.p99_ms), (5, Some(20.0)));
        let of = |axis: usize, value: usize| candidate(&study.axes[axis], value);
        assert_eq!(of(1, 0), None, "the study as written has this value");
        let (timeout, connections) = (of(0, 1).unwrap(), of(2, 1).unwrap());
        let comparison = Comparison {
            study: &study,
            variant: &study.variants[0],
            point: Point::Threads(4),
            metric: "ops_per_s",
        };
        let test = comparison.test(
            std::slice::from_ref(&timeout),
            std::slice::from_ref(&connections),
            [4, 8],
        );
        let test = resolve("s", &test, &Overrides::default()).unwrap();
        assert_eq!(test.question, "Is connections: high better?");
        let connections_of = |at: usize| test.variants[at].settings.client.connections_per_node;
        let timeout_of = |at: usize| test.variants[at].settings.client.timeout_ns;
        assert_eq!(
            (connections_of(1), timeout_of(0), timeout_of(1)),
            (4, 10_000_000_000, 10_000_000_000)
        );
        assert_ne!(connections_of(0), 4);
        assert!(test.tune.is_none() && test.screen.is_none());
        let last = comparison.confirmation(&[timeout, connections], None, 6);
        let last = resolve("s", &last, &Overrides::default()).unwrap();
        let names: Vec<&str> = last.variants.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names, last.blocks()), (vec![DEFAULT, TUNED], 6));
    }

    #[test]
    fn a_tuning_needs_a_screening() {
        let (head, _) = STUDY.split_once("screen:").unwrap();
        let text = format!("{head}tune: {{}}\n");
        let mistakes = resolve("s", &text, &Overrides::default()).unwrap_err().to_string();
        assert!(mistakes.contains("`tune` requires `screen`"), "{mistakes}");
    }

    #[test]
    fn a_partial_study_is_written_in_one_line() {
        let overlay = json!({"target": {"local": {"heap": "2GiB", "yaml": {"a": 4, "b": "4"}}}});
        assert_eq!(
            flow(&overlay),
            "{target: {local: {heap: 2GiB, yaml: {a: 4, b: '4'}}}}"
        );
    }
}
