//! Tests a tuning on a target whose best setting is known.

use crate::program::Lab;

/// One setting makes the target fifty times faster, so its effect is visible on any machine, even
/// on a busy one. The other settings have no visible effect.
const TUNING: &str = "\
study: tuned
question: Which settings are faster?
target: {null: {latency: 100ms}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {threads: 2}}
screen:
  settings:
    latency: {slow: {}, fast: {target: {null: {latency: 2ms}}}}
    timeout: {low: {}, high: {client: {timeout: 9s}}}
    verify: {low: {}, high: {verify: {reads: none}}}
    page: {low: {}, high: {workload: {page_size: 10}}}
window: {warmup: 0s, measure: 1s}
tune: {minutes: 3}
";

#[test]
fn a_planted_better_setting_is_found_within_the_stated_time() {
    let lab = Lab::with(TUNING);
    let plan = lab.cassay(&["plan", "study.yaml"]);
    plan.ended_with(0).says(&["tests of up to 3 min tune the settings"]);
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab).json();
    let tuning = &findings["tuning"];
    let kept = tuning["kept"].as_array().unwrap();
    assert!(
        kept.iter().any(|one| one["setting"] == "latency" && one["value"] == "fast"),
        "{tuning:#}"
    );
    let result = &tuning["results"][0];
    assert!(result["ratio"].as_f64().unwrap() > 10.0, "{tuning:#}");
    assert_eq!(result["better"], true, "{tuning:#}");
    let answer = findings["answer"][0].as_str().unwrap();
    assert!(
        answer.contains("tuning improved throughput with latency “fast”"),
        "{answer}"
    );
    let report = lab.cassay(&["show"]).ended_with(0).stdout;
    assert!(
        report.contains("Tuned settings against the defaults"),
        "{report}"
    );
    let run = lab.run();
    let linked = run.path.join(tuning["run"].as_str().unwrap()).join("report.html");
    assert!(linked.is_file(), "{}", linked.display());
}
