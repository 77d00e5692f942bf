//! Tests searches. cassay runs, records and shows the requested points.
//!
//! `cargo xtask searches` tests how precise a search is. In this module, the bounds are so far away
//! that they are met on any machine, or missed on any machine.

use crate::program::Lab;
use serde_json::Value;

fn study(procedure: &str) -> String {
    format!(
        "study: search\nquestion: How much?\ntarget: {{null: {{capacity: 1k}}}}\n\
         workload: {{use: standard1}}\nprocedure: {procedure}\n\
         window: {{warmup: 0s, measure: 1s}}\n"
    )
}

fn steps(search: &Value) -> Vec<String> {
    let steps = search["steps"].as_array().expect("steps").iter();
    let step = |step: &Value| {
        let words = [&step["role"], &step["point"]["threads"], &step["result"]];
        words.map(|word| word.to_string().replace('"', "")).join(" ")
    };
    steps.map(step).collect()
}

/// A latency limit of an hour is met on any machine.
#[test]
fn a_search_measures_and_reports_its_points() {
    let lab = Lab::with(&study(
        "{peak: {threads: {from: 2, to: 4}, p50_ms: 3600000, expected: 0.5}}",
    ));
    let planned = lab.cassay(&["plan", "study.yaml"]).ended_with(0).stdout;
    for part in [
        "2 to 26. a point that the search finds",
        "verifies its result twice",
        "at most to 4",
    ] {
        assert!(planned.contains(part), "{part}: {planned}");
    }
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab).json();
    let search = &findings["searches"][0];
    let walked = ["probe 2.0 pass", "probe 4.0 pass", "expected 2.0 expected"];
    assert_eq!(steps(search), walked, "{search:#}");
    assert_eq!(
        (&search["outcome"], &search["procedure"]),
        (&"not_reached".into(), &"peak".into())
    );
    let first = findings["answer"][0].as_str().unwrap();
    assert!(
        first.starts_with("The limit was not reached: 4 threads"),
        "{first}"
    );
    let shown = lab.cassay(&["show"]).stdout;
    assert!(shown.contains("Results of the searches"), "{shown}");
}

/// The target always takes at least 1 ms for an answer, so no load meets the limit of 0.1 ms.
#[test]
fn a_search_goes_down_to_one_thread_and_reports_no_held_load() {
    let lab = Lab::with(&study(
        "{latency_target: {threads: {from: 4, to: 8}, p50_ms: 0.1}}",
    ));
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab).json();
    let search = &findings["searches"][0];
    assert_eq!(
        steps(search),
        ["probe 4.0 fail", "probe 2.0 fail", "probe 1.0 fail"]
    );
    assert_eq!(search["outcome"], "none", "{search:#}");
}
