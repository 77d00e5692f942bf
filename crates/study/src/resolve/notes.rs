//! Notes on a study before it runs, such as notes on adapted settings, and on differences between
//! an imported tool and cassay.

use super::ResolvedScale;
use crate::checked_tree::Tree;
use crate::settings::{Overrides, TUNE_MINUTES, Variant, WHY_MINUTES};
use analysis::VariantName;
use analysis::screening::Design;
use target_spec::Target;

/// Returns the notes on a study. Each note is one sentence.
pub(super) fn notes(
    resolved: &ResolvedScale,
    overrides: &Overrides,
    design: Option<Design>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let null = resolved.variants.iter().any(|v| matches!(v.settings.target, Target::Null(_)));
    if null && overrides.target.is_some() {
        notes.push(
            "the null target stores no data, so cassay verifies no reads, and settles or restores \
             no data"
                .to_owned(),
        );
    }
    if null && resolved.tree.find("faults").is_some() {
        notes.push("the null target has no nodes, so cassay omits faults".to_owned());
    }
    notes.extend(equal_variants(&resolved.variants));
    notes.extend(unseen(&resolved.variants));
    notes.extend(grid(resolved));
    notes.extend(notes_of_imports(&resolved.notes));
    if let Some(design) = design {
        notes.push(format!(
            "the screening uses {}, with {} runs and the study as written, in random order; {}",
            design.name(),
            design.signs().len(),
            design.price()
        ));
    }
    notes.extend(experiments(resolved));
    notes.extend(tuning(resolved));
    notes.extend(profiles(resolved));
    notes
}

fn experiments(resolved: &ResolvedScale) -> Option<String> {
    let why = resolved.tree.find("why")?;
    let minutes = why.find("confirm.minutes").and_then(Tree::count).unwrap_or(WHY_MINUTES);
    Some(format!(
        "after the trials, experiments of up to {minutes} min test the cause of the limit (`why: \
         confirm`); the durations above do not include these experiments"
    ))
}

fn tuning(resolved: &ResolvedScale) -> Option<String> {
    let tune = resolved.tree.find("tune")?;
    let minutes = tune.get("minutes").and_then(Tree::count).unwrap_or(TUNE_MINUTES);
    Some(format!(
        "after the trials, tests of up to {minutes} min tune the settings of the screening \
         (`tune`); the durations above do not include these tests"
    ))
}

fn profiles(resolved: &ResolvedScale) -> Option<String> {
    let profile = resolved.tree.find("probes.profile")?;
    let trials = profile.get("trials").map(Tree::to_word);
    (trials.as_deref() == Some("extra")).then(|| {
        "after the trials, cassay profiles at most two variants in extra trials \
         (`probes.profile`); the durations above do not include them"
            .to_owned()
    })
}

/// Returns the notes without duplicates. If a note does not apply to all sides, it contains the
/// names of its sides.
fn notes_of_imports(sides: &[(VariantName, Vec<String>)]) -> Vec<String> {
    let mut notes = Vec::new();
    for note in sides.iter().flat_map(|(_, notes)| notes) {
        let with = sides.iter().filter(|(_, notes)| notes.contains(note));
        let names: Vec<&str> = with.map(|(name, _)| name.as_str()).collect();
        let said = if names.len() == sides.len() {
            note.clone()
        } else {
            format!("{}: {note}", names.join(", "))
        };
        if !notes.contains(&said) {
            notes.push(said);
        }
    }
    notes
}

/// Describes a grid, with the number of its combinations and the points of each combination.
fn grid(resolved: &ResolvedScale) -> Option<String> {
    let first = resolved.variants.first().filter(|_| resolved.has_grid)?;
    let points = first.settings.procedure.outlook().points;
    let axis = points.first().map_or("threads", |point| point.axis());
    let values: Vec<String> = points.iter().map(|point| point.value().to_string()).collect();
    let load = (axis.to_owned(), values);
    let axes: Vec<String> = resolved
        .axes
        .iter()
        .map(|axis| (axis.name.clone(), axis.values.clone()))
        .chain([load])
        .map(|(name, values)| format!("{name} ({})", values.join(", ")))
        .collect();
    Some(format!("a grid of {}", axes.join(" × ")))
}

/// Returns a note for each group of compared variants with the same settings. Such a comparison is
/// allowed, because it shows the noise of the measurement.
fn equal_variants(variants: &[Variant]) -> Vec<String> {
    let own: Vec<&Variant> = variants.iter().filter(|variant| !variant.is_added).collect();
    let is_same = |a: &Variant, b: &Variant| a.step == b.step && a.settings == b.settings;
    let group = |(index, first): (usize, &&Variant)| {
        let is_known = own[..index].iter().any(|earlier| is_same(earlier, first));
        let rest = own[index + 1..].iter().filter(|later| !is_known && is_same(first, later));
        let names: Vec<&str> = [first].into_iter().chain(rest).map(|v| v.name.as_str()).collect();
        (names.len() > 1).then(|| {
            format!(
                "these variants have the same settings, so their comparison shows only noise (an \
                 A/A test): {}",
                names.join(", ")
            )
        })
    };
    own.iter().enumerate().filter_map(group).collect()
}

/// Names of probes, each with the changes that an endurance run cannot observe without the probe.
const WITHOUT: [(&str, &str); 4] = [
    ("processes", "growth of the memory of a node's process"),
    ("jvm", "growth of direct buffers, open files and threads"),
    ("cassandra", "compaction cycles and pending compaction"),
    (
        "gc_log",
        "heap growth, and pauses that coincide with a change",
    ),
];

/// Returns a note if a variant with a long trial lacks one of the probes in [`WITHOUT`].
fn unseen(variants: &[Variant]) -> Option<String> {
    let settings = variants.iter().map(|variant| &variant.settings);
    let long: Vec<_> = settings.filter(|s| s.procedure.endurance().is_some()).collect();
    let is_off = |key: &str| {
        long.iter().any(|settings| {
            let probes = settings.probes.as_ref();
            let periods = probes.into_iter().flat_map(|probes| probes.periods());
            !periods.into_iter().any(|(name, period)| name == key && period.is_some())
        })
    };
    let missing: Vec<String> = WITHOUT
        .iter()
        .filter(|(key, _)| is_off(key))
        .map(|(key, what)| format!("{what} (`probes.{key}`)"))
        .collect();
    (!long.is_empty() && !missing.is_empty()).then(|| {
        format!(
            "this long run does not observe these effects, because their probes are off: {}",
            missing.join("; ")
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::Overrides;

    #[test]
    fn variants_with_equal_settings_are_named_in_a_note() {
        let notes = |variants: &str| {
            let text = format!(
                "study: s\nquestion: q\ntarget: {{local: {{heap: 512MiB}}}}\n\
                 workload: {{use: kv, mix: {{write: 1}}}}\nprocedure: {{fixed: {{threads: 4}}}}\n\
                 variants: {variants}\n"
            );
            let study = resolve("s.yaml", &text, &Overrides::default()).unwrap();
            let is_wanted = |note: &String| note.contains("(an A/A test)");
            study.notes.into_iter().filter(is_wanted).collect::<Vec<_>>()
        };
        let heap = |size: &str| format!("{{target: {{local: {{heap: {size}}}}}}}");
        let [same, other] = ["512MiB", "1GiB"].map(heap);
        for (variants, groups) in [
            ("{a: {}, b: {}}".to_owned(), vec!["a, b"]),
            (format!("{{a: {{}}, b: {same}, c: {other}}}"), vec!["a, b"]),
            (
                format!("{{a: {other}, b: {same}, c: {other}, d: {{}}}}"),
                vec!["a, c", "b, d"],
            ),
            (format!("{{a: {{}}, b: {other}}}"), vec![]),
        ] {
            let found = notes(&variants);
            assert_eq!(found.len(), groups.len(), "{variants}: {found:?}");
            for (note, names) in found.iter().zip(groups) {
                assert!(note.ends_with(&format!(": {names}")), "{note}");
            }
        }
    }
}
