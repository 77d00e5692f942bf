//! Tests a bisection over null targets. From a certain build on, the null targets are slower.

use crate::program::Lab;

const STUDY: &str = "\
study: slow
question: Which build made it slower?
target: {null: {latency: 200us}}
workload: {use: kv, mix: {write: 1}}
data: {load: {operations: 100}}
procedure: {fixed: {threads: 4}}
window: {warmup: 0s, measure: 1s}
";

const BUILDS: &str = "\
b1: {}
b2: {}
b3: {target: {null: {latency: 2ms}}}
b4: {target: {null: {latency: 2ms}}}
";

const BISECT: [&str; 7] = [
    "bisect",
    "study.yaml",
    "--builds",
    "builds.yaml",
    "--blocks",
    "4",
    "--json",
];

#[test]
fn the_first_slower_build_is_found_and_not_measured_again() {
    let lab = Lab::with(STUDY);
    lab.write("builds.yaml", BUILDS);
    let said = lab.cassay(&BISECT).ended_with(0);
    let found = said.json();
    assert_eq!(found["end"], "found", "{said}");
    assert_eq!(found["first_worse"], "b3", "{said}");
    let words = found["words"].as_str().unwrap();
    assert!(
        words.contains("b2 is the last build that is not"),
        "{words}"
    );
    assert!(words.contains("worse than b1: throughput -"), "{words}");
    assert_eq!(found["metric"], "ops_per_s");
    let ratio = found["builds"][2]["ratio"].as_f64().unwrap();
    assert!(ratio < 0.5, "{said}");
    let steps = || {
        let entries = std::fs::read_dir(lab.path().join("results/bisect-slow")).unwrap();
        entries.count()
    };
    let before = steps();
    let again = lab.cassay(&BISECT).ended_with(0);
    assert_eq!(again.json(), found);
    assert_eq!(steps(), before);
    lab.write("builds.yaml", &BUILDS.replace("b2: {}\n", ""));
    lab.cassay(&BISECT)
        .ended_with(1)
        .says(&["contains the steps of another bisection"]);
}

/// The target of the middle build answers only with errors, so the bisection cannot determine if
/// this build is slower.
#[test]
fn an_unmeasurable_build_is_skipped_and_named_if_it_matters() {
    let lab = Lab::with(STUDY);
    let broken = "b3: {target: {null: {errors: {server_error: 1}}}}\n";
    let builds = BUILDS.replace("b3: {target: {null: {latency: 2ms}}}\n", broken);
    lab.write("builds.yaml", &builds);
    let said = lab.cassay(&BISECT).ended_with(4);
    let found = said.json();
    assert_eq!(found["end"], "between", "{said}");
    assert_eq!(found["first_worse"], serde_json::Value::Null, "{said}");
    assert_eq!(found["skipped"], serde_json::json!(["b3"]), "{said}");
    let words = found["words"].as_str().unwrap();
    assert!(
        words.contains("builds without a comparison: b3. b2 is the last build that is not"),
        "{words}"
    );
    said.says(&["bisect: cassay skips b3: "]);
}

#[test]
fn a_study_with_its_own_sides_and_an_invalid_row_are_refused() {
    let lab = Lab::with(&format!("{STUDY}variants: {{a: {{}}, b: {{}}}}\n"));
    let refused = |study: &str, builds: &str, says: &str| {
        lab.write("study.yaml", study);
        lab.cassay(&["bisect", "study.yaml", "--builds", builds])
            .ended_with(1)
            .says(&[says]);
    };
    let sides = std::fs::read_to_string(lab.path().join("study.yaml")).unwrap();
    refused(&sides, "5.0.7,5.0.8", "creates two variants of a study");
    refused(STUDY, "5.0.8", "needs at least two builds");
    refused(STUDY, "5.0.7,9.9", "the study requests Cassandra 9.9");
}
