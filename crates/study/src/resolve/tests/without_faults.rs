//! Tests variants without faults that cassay adds for variants with faults.

use super::*;
use crate::plan::{Turn, plan};

const HEAD: &str = "\
study: s
question: q
target: {local: {nodes: 3}}
workload: {use: standard1, mix: {write: 1}}
data: {load: {operations: 10k}}
window: {measure: 60s}
";
const PAUSE: &str = "faults: [{at: 20s, kind: node-pause, where: {node: 2}, for: 10s}]";
const FIXED: &str = "procedure: {fixed: {rate: 100}}\n";
const WITHOUT_FAULTS: &str = "repeat: {blocks: 2, without_faults: true}\n";

fn study(rest: &str) -> Result<Study, String> {
    let text = format!("{HEAD}{rest}");
    resolve("s", &text, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
}

fn names(study: &Study) -> Vec<&str> {
    let variants = study.variants.iter();
    variants.map(|variant| variant.name.as_str()).collect()
}

#[test]
fn a_faulty_trial_has_a_fault_free_twin_in_each_block() {
    let study = study(&format!("{PAUSE}\n{FIXED}{WITHOUT_FAULTS}")).unwrap();
    assert_eq!(names(&study), ["with-faults", "without-faults"]);
    let [with, without] = &study.variants[..] else {
        panic!("two")
    };
    assert!(without.settings.faults.is_empty() && without.tree.find("faults").is_none());
    assert_eq!(without.settings, with.settings.without_faults());
    assert_eq!(study.without_faults(with).unwrap().name, without.name);
    assert!(study.without_faults(without).is_none());
    // The added variant is not a side of the comparison.
    assert_eq!(study.contenders(), 0);
    let plan = plan(&study).unwrap();
    let [a, b, c, d] = &plan.trials[..] else {
        panic!("two blocks of two: {}", plan.trials.len())
    };
    for (one, other) in [(a, b), (c, d)] {
        let shared = |trial: &Turn| (trial.block, trial.point, trial.first_operation);
        assert_eq!(shared(one), shared(other));
        assert_ne!(one.variant, other.variant);
    }
    // The order of the variants is counterbalanced between the two blocks.
    assert_ne!(a.variant, c.variant);
}

#[test]
fn variants_that_differ_only_by_faults_share_a_faultless_one() {
    let kill = PAUSE.replace("node-pause", "node-kill");
    let sides = format!("variants: {{pause: {{{PAUSE}}}, kill: {{{kill}}}}}\n");
    let shared = study(&format!("{FIXED}{WITHOUT_FAULTS}{sides}")).unwrap();
    assert_eq!(names(&shared), ["pause", "kill", "without-faults"]);
    assert_eq!(shared.contenders(), 1);
    // A variant of the study may itself be the variant without faults. In this case, it remains a
    // side of the comparison.
    let own = format!("variants: {{none: {{}}, pause: {{{PAUSE}}}, kill: {{{kill}}}}}\n");
    let own = study(&format!("{FIXED}{WITHOUT_FAULTS}{own}")).unwrap();
    assert_eq!(names(&own), ["none", "pause", "kill"]);
    let pause = own.without_faults(&own.variants[1]).unwrap();
    assert_eq!((pause.name.as_str(), own.contenders()), ("none", 2));
    // A side's requirement does not apply to the variant without faults.
    let required =
        format!("variants: {{pause: {{{PAUSE}, require: {{p99_ms: 10}}}}, kill: {{{kill}}}}}\n");
    let required = study(&format!("{FIXED}{WITHOUT_FAULTS}{required}")).unwrap();
    assert_eq!(names(&required), ["pause", "kill", "without-faults"]);
    assert!(required.variants[2].tree.find("require").is_none());
    // If sides also differ in other settings, cassay adds a separate variant without faults for
    // each side.
    let levels = format!(
        "matrix: {{level: {{one: {{workload: {{consistency: ONE}}}}, \
         all: {{workload: {{consistency: ALL}}}}}}, kind: {{pause: {{{PAUSE}}}, \
         kill: {{{kill}}}}}}}\n"
    );
    let levels = study(&format!("{FIXED}{WITHOUT_FAULTS}{levels}")).unwrap();
    assert_eq!(
        names(&levels)[4..],
        ["one-pause-without-faults", "all-pause-without-faults"]
    );
    for variant in &levels.variants[..4] {
        let level = variant.name.as_str().split('-').next().unwrap();
        let without = levels.without_faults(variant).unwrap();
        assert!(without.name.as_str().starts_with(level), "{}", without.name);
    }
}

#[test]
fn without_a_pair_at_the_same_point_of_one_block_it_is_refused() {
    for (rest, expected) in [
        (FIXED.to_owned() + WITHOUT_FAULTS, "no variant has `faults`"),
        (
            format!(
                "{PAUSE}\nprocedure: {{peak: {{rate: {{from: 100}}, p99_ms: 5}}}}\n{WITHOUT_FAULTS}"
            ),
            "`procedure.peak` chooses points",
        ),
        (
            format!("{PAUSE}\n{FIXED}repeat: {{without_faults: true, order: sequential}}\n"),
            "`order: sequential` measures one variant after the other",
        ),
        (
            format!(
                "{PAUSE}\n{FIXED}{WITHOUT_FAULTS}variants: {{without-faults: {{workload: \
                 {{consistency: ALL}}}}}}\n"
            ),
            "would have the name `without-faults`",
        ),
        (
            format!("{PAUSE}\n{FIXED}repeat: {{without_faults: sometimes}}\n"),
            "true",
        ),
    ] {
        let said = study(&rest).map(|study| study.name).unwrap_err();
        assert!(said.contains(expected), "{rest}: {said}");
    }
}

#[test]
fn the_null_target_has_no_faults_and_needs_none_without_them() {
    let overrides = Overrides {
        target: Some("null".to_owned()),
        ..Overrides::default()
    };
    let text = format!("{HEAD}{PAUSE}\n{FIXED}{WITHOUT_FAULTS}");
    let study = resolve("s", &text, &overrides).unwrap();
    assert_eq!(names(&study), ["-"]);
}
