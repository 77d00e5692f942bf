//! Tests a screening, and the study that confirms its choice.

use crate::program::Lab;

/// The first setting makes the target a hundred times slower. So its effect is visible on any
/// machine, even on a busy one. The other settings have no visible effect.
const SCREENING: &str = "\
study: which
question: Which setting slows it down?
target: {null: {latency: 4ms}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {threads: 2}}
screen:
  settings:
    latency: {low: {}, high: {target: {null: {latency: 500ms}}}}
    timeout: {low: {}, high: {client: {timeout: 9s}}}
    verify: {low: {}, high: {verify: {reads: none}}}
    page: {low: {}, high: {workload: {page_size: 10}}}
window: {warmup: 0s, measure: 2s}
scales:
  short:
    window.measure: 1s
    screen.settings.latency.high.target.null.latency: 400ms
    screen.settings.page.high.workload.page_size: 11
";

#[test]
fn a_screening_writes_the_study_that_confirms_it() {
    let lab = Lab::with(SCREENING);
    let run = ["run", "study.yaml", "--scale", "short", "--json"];
    let findings = lab.cassay(&run).measured(&lab).json();
    let screen = &findings["screens"][0];
    assert_eq!(screen["confirm"][0], "latency", "{screen:#}");
    let shown = lab.cassay(&["show"]).stdout;
    assert!(shown.contains("`cassay confirm which/"), "{shown}");
    let planned = lab.cassay(&["confirm", "--plan"]).ended_with(0).stdout;
    let trials = 5 << screen["confirm"].as_array().unwrap().len();
    for part in ["which-confirm: Which setting", &format!("{trials} trials")] {
        assert!(planned.contains(part), "{part}: {planned}");
    }
    // The value comes from the scale, because the scale overrides the study.
    let json = lab.cassay(&["confirm", "--plan", "--json"]).ended_with(0);
    let high = json.json()["resolved"]["variants"].to_string();
    assert!(high.contains("400ms") && !high.contains("500ms"), "{high}");
}
