//! Tests endurance runs of some seconds. cassay finds a planted drift, and finds no drift in a run
//! without a planted drift.
//!
//! The planted drift is so large, and the tolerated drift so wide, that a busy machine cannot
//! confuse the two. On a busy machine, both runs may remain undecided, which is correct. `analysis`
//! simulates how small a drift can be found.

use crate::program::Lab;
use serde_json::Value;

/// Runs an endurance study: one window of 24 s, and a separate window of 2 s.
fn endured(drift: &str) -> (Value, String) {
    let lab = Lab::with(&format!(
        "study: hours\nquestion: Does it hold?\ntarget: {{null: {{capacity: 200{drift}}}}}\n\
         workload: {{use: standard1}}\nprocedure: {{endurance: {{threads: 4, for: 24s, beside: \
         [2s], within: 30%}}}}\nwindow: {{warmup: 0s}}\n"
    ));
    let planned = lab.cassay(&["plan", "study.yaml"]).ended_with(0);
    for part in ["(beside-1)", "(endurance)", "4 in flight, 24s"] {
        assert!(planned.stdout.contains(part), "{part}: {}", planned.stdout);
    }
    let note = "this long run does not observe these effects";
    assert!(planned.stderr.contains(note), "{}", planned.stderr);
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab).json();
    let shown = lab.cassay(&["show"]).stdout;
    assert!(
        shown.contains("Drift from the beginning to the end of the window"),
        "{shown}"
    );
    let answer = findings["answer"].as_array().expect("an answer");
    let sentences: Vec<&str> = answer.iter().filter_map(Value::as_str).collect();
    let answer = sentences.join(" ");
    (findings, answer)
}

fn rate(findings: &Value) -> &Value {
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(
        (&trials[0]["role"], &trials[1]["role"]),
        (&"beside-1".into(), &"endurance".into())
    );
    assert!(
        trials[0].get("endurance").is_none(),
        "of the long window only"
    );
    let drifts = trials[1]["endurance"]["drifts"].as_array().expect("drifts");
    let rate = drifts.iter().find(|drift| drift["of"] == "ops_per_s");
    rate.expect("throughput drifts or does not")
}

/// Returns true if the machine was too busy to decide. Otherwise asserts that cassay found the
/// planted trend.
fn is_open(rate: &Value, planted: &str) -> bool {
    let course = rate["course"].as_str().expect("a course");
    assert!([planted, "inconclusive"].contains(&course), "{rate:#}");
    let open = course == "inconclusive";
    let wide = |ends: &[Value]| ends[1].as_f64().unwrap() - ends[0].as_f64().unwrap() > 0.3;
    let ends = rate["ci95"].as_array().expect("an interval");
    assert!(
        !open || wide(ends),
        "nothing kept it from telling: {rate:#}"
    );
    open
}

#[test]
fn a_capacity_that_falls_is_found_to_fall() {
    let (findings, answer) = endured(", drift: {to: 30%, over: 30s}");
    let rate = rate(&findings);
    if !is_open(rate, "falling") {
        assert!(answer.starts_with("Throughput fell by"), "{answer}");
    }
    assert!(
        answer.ends_with("No probe recorded a resource that may grow."),
        "{answer}"
    );
}

#[test]
fn a_capacity_that_stays_is_found_to_stay() {
    let (findings, answer) = endured("");
    let rate = rate(&findings);
    is_open(rate, "steady");
    assert!(
        !answer.starts_with("Throughput was not sustained"),
        "{answer}"
    );
    assert!(!answer.starts_with("Throughput fell"), "{answer}");
    let endured = &findings["endured"][0];
    assert_eq!(
        endured["turns"].as_array().map(Vec::len),
        Some(2),
        "{endured:#}"
    );
}
