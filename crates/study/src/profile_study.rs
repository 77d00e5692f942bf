//! Builds the study of the extra trials that profile the nodes of a run.
//!
//! The study repeats one or two variants at one load in blocks. Each variant has a second side that
//! is profiled, so the report shows the cost of the profiler with its interval. All nodes load the
//! profiler, so a change of the side needs no restart.

use crate::child_study::{ChildStudy, settings_of};
use crate::settings::{Profile, ProfiledTrials, Study, Variant};
use analysis::procedure::Point;
use serde_json::{Map, Value, json};

/// End of the name of a side that is profiled. The rest is the name of the variant.
pub const PROFILED: &str = "-profiled";

/// Name of the only variant of a study without variants.
pub const ONLY: &str = "nodes";

/// Returns the profile whose extra trials follow the trials of a study. `None` without such trials.
pub fn wanted(study: &Study) -> Option<Profile> {
    let probes = study.variants.iter().filter_map(|variant| variant.settings.probes.as_ref());
    let mut profiles = probes.filter_map(|probes| probes.profile);
    profiles.find(|profile| profile.trials == ProfiledTrials::Extra)
}

/// Returns the text of the study for `variants` of `study` at `point`. The study has no faults and
/// no requirements, because it answers no question.
pub fn text(study: &Study, variants: &[&Variant], point: Point, profile: Profile) -> String {
    let whole: Vec<(String, Map<String, Value>)> = variants
        .iter()
        .map(|variant| {
            let name = variant.name.name().unwrap_or(ONLY).to_owned();
            (name, settings_of(&variant.tree))
        })
        .collect();
    let mut shared = whole.first().map(|(_, tree)| tree.clone()).unwrap_or_default();
    for (_, tree) in &whole {
        keep_common(&mut shared, tree);
    }
    let mut sides = Map::new();
    for (name, tree) in &whole {
        let own = without(tree, &shared);
        let side = |trials: ProfiledTrials| {
            let mut side = own.clone();
            let probes = side.entry("probes").or_insert_with(|| json!({}));
            if let Value::Object(probes) = probes {
                let event = profile.event.name();
                let profile = json!({"event": event, "trials": trials.name()});
                probes.insert("profile".to_owned(), profile);
            }
            Value::Object(side)
        };
        sides.insert(name.clone(), side(ProfiledTrials::None));
        let profiled = format!("{name}{PROFILED}");
        sides.insert(profiled, side(ProfiledTrials::Measured));
    }
    let child = ChildStudy {
        suffix: "profile",
        question: "Which methods use the nodes' time, and what does profiling cost?",
        point,
        repeat: json!({ "blocks": profile.blocks(study.blocks()) }),
        shared,
        variants: sides,
    };
    child.text(study)
}

/// Removes the entries of `shared` that `other` lacks or sets to another value.
fn keep_common(shared: &mut Map<String, Value>, other: &Map<String, Value>) {
    shared.retain(|key, value| match (value, other.get(key)) {
        (Value::Object(mine), Some(Value::Object(theirs))) => {
            keep_common(mine, theirs);
            true
        }
        (mine, Some(theirs)) => mine == theirs,
        (_, None) => false,
    });
}

/// Returns the entries of `tree` that `shared` lacks.
fn without(tree: &Map<String, Value>, shared: &Map<String, Value>) -> Map<String, Value> {
    let own = tree.iter().filter_map(|(key, value)| {
        let own = match (value, shared.get(key)) {
            (Value::Object(mine), Some(Value::Object(theirs))) => {
                let own = without(mine, theirs);
                if own.is_empty() {
                    return None;
                }
                Value::Object(own)
            }
            (_, Some(_)) => return None,
            (value, None) => value.clone(),
        };
        Some((key.clone(), own))
    });
    own.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::resolve;
    use crate::settings::{Overrides, ProfileEvent};

    fn study(text: &str) -> Study {
        resolve("s", text, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    const TWO: &str = "\
study: heaps
question: Which heap?
target: {local: {yaml: {concurrent_reads: 16}}}
workload: {use: standard1}
data: {load: {operations: 10k}}
procedure: {sweep: {threads: [1, 8]}}
window: {measure: 5s}
faults: [{kind: node-pause, at: 1s, for: 1s}]
probes: {cassandra: false, profile: {event: wall}}
variants:
  small: {target: {local: {heap: 512MiB, yaml: {concurrent_writes: 8}}}}
  large: {target: {local: {heap: 768MiB}}}
";

    #[test]
    fn each_variant_has_a_side_with_and_one_without_samples() {
        let study = study(TWO);
        let profile = wanted(&study).unwrap();
        assert_eq!(profile.event, ProfileEvent::Wall);
        let variants: Vec<&Variant> = study.variants.iter().collect();
        let child = self::study(&text(&study, &variants, Point::Threads(8), profile));
        assert_eq!(
            wanted(&child),
            None,
            "the extra trials have no extra trials"
        );
        let sides: Vec<_> = child
            .variants
            .iter()
            .map(|side| {
                let local = side.settings.target.local().unwrap();
                let profile = side.settings.probes.as_ref().unwrap().profile.unwrap();
                assert!(local.profiler);
                assert_eq!(local.yaml["concurrent_reads"], 16);
                let writes = local.yaml.contains_key("concurrent_writes");
                (
                    side.name.as_str().to_owned(),
                    local.heap_bytes >> 20,
                    writes,
                    profile.trials.name(),
                )
            })
            .collect();
        let side = |name: &str, heap, writes, trials| (name.to_owned(), heap, writes, trials);
        assert_eq!(
            sides,
            [
                side("small", 512, true, "none"),
                side("small-profiled", 512, true, "measured"),
                side("large", 768, false, "none"),
                side("large-profiled", 768, false, "measured"),
            ]
        );
        assert!(child.variants[0].settings.faults.is_empty());
        assert_eq!(
            child.variants[0].settings.probes.as_ref().unwrap().cassandra_ns,
            None
        );
    }

    #[test]
    fn a_study_without_variants_is_profiled_too() {
        let text_of = TWO.split("variants:").next().unwrap();
        let study = study(text_of);
        let variants: Vec<&Variant> = study.variants.iter().collect();
        let profile = wanted(&study).unwrap();
        let child = self::study(&text(&study, &variants, Point::Rate(500), profile));
        let names: Vec<&str> = child.variants.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(names, ["nodes", "nodes-profiled"]);
        assert_eq!(child.blocks(), 6);
    }

    #[test]
    fn only_nodes_that_cassay_starts_are_profiled() {
        let attached = "study: s\ntarget: {attach: {contact_points: [127.0.0.1]}}\nworkload: {use: \
                        kv}\nprocedure: {fixed: {threads: 1}}\nprobes: {profile: {}}\n";
        let mistakes = resolve("s", attached, &Overrides::default()).unwrap_err().to_string();
        let expected = "`probes.profile` requires nodes that cassay starts";
        assert!(mistakes.contains(expected), "{mistakes}");
    }
}
