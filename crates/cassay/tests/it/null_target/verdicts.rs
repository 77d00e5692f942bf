//! Tests that verdicts report the planted behaviour of targets.

use super::rule;
use crate::program::Lab;

/// A target that answers each operation after 400 ms, and sustains any rate.
const SLOW: &str = "\
study: slow
question: Does a slow target keep up?
target: {null: {latency: 400ms}}
workload: {use: kv}
data: {load: {operations: 100}}
client: {in_flight_max: 2000}
procedure: {fixed: {rate: 500}}
window: {warmup: 0s, measure: 3s}
";

#[test]
fn a_slow_target_that_answers_all_keeps_up_without_warm_up() {
    let lab = Lab::with(SLOW);
    let run = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
    let findings = run.json();
    // If other work on the machine left no valid trial, the findings have no point.
    assert_ne!(findings["points"][0]["saturated"], true, "{findings:#}");
    assert!(!run.stdout.contains("keep up"), "{run}");
}

#[test]
fn a_rate_with_a_count_schedules_exactly_that_many_operations() {
    let lab = Lab::new();
    let line = "stress write n=600 no-warmup -rate threads=600 fixed=400/s --target null --set \
                target.null.latency=500ms --json";
    let words: Vec<&str> = line.split(' ').collect();
    let findings = lab.cassay(&words).measured(&lab).json();
    let rule = rule(&findings["trials"][0], "V1");
    let detail = rule["detail"].as_str().unwrap();
    // If other work on the machine delayed the client, the text only says that the client was late.
    let is_late_only = !detail.contains("scheduled");
    assert!(
        is_late_only || detail.starts_with("100 % of the 600 scheduled requests"),
        "{detail}"
    );
}

#[test]
fn a_requirement_that_all_operations_miss_is_never_met() {
    let lab = Lab::with(&SLOW.replace("measure: 3s", "measure: 2s").replace("400ms", "2ms"));
    let required = "require={p99_ms: 1}";
    let run = lab.cassay(&["run", "study.yaml", "--set", required, "--json"]);
    // If other work on the machine made the trial invalid, cassay judges no requirement.
    if run.code != Some(4) {
        run.measured(&lab);
        return;
    }
    let required = &run.json()["requirements"][0];
    assert_eq!(required["outcome"], "missed", "{required}");
}

/// A workload for a keyspace that already exists. One statement contains a binding itself, instead
/// of the name of a binding.
const KV: &str = "\
scenarios:
  default:
    schema: run driver=cql tags=block:schema cycles=1
    rampup: run driver=cql tags=block:rampup cycles=100 threads=20x
bindings: {k: ToString()}
blocks:
  schema:
    ops:
      t: create table if not exists app.kv (key text primary key, value text)
  rampup:
    ops:
      w: insert into app.kv (key, value) values ({k}, {{NumberNameToString()}})
";

#[test]
fn a_workload_for_an_existing_keyspace_does_not_create_it() {
    let lab = Lab::new();
    lab.write("kv.yaml", KV);
    let run = lab.cassay(&["nb", "kv.yaml", "--target", "null"]).measured(&lab);
    assert!(
        run.stderr.contains("threads=20x means 200 threads"),
        "{run}"
    );
}

/// One second of too much load is enough to end the run, and the target gets no load after that.
#[test]
fn a_guard_ends_the_load_and_the_run_where_it_is_too_much() {
    let lab = Lab::with(&format!(
        "{SLOW}repeat: {{blocks: 3}}\nguard: {{p99_ms: 100}}\n"
    ));
    let run = lab.cassay(&["run", "study.yaml", "--json"]).ended_with(3);
    run.says(&["the guard stopped the load", "took longer than 100 ms"]);
    assert_eq!(run.json()["trials"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_load_that_is_guarded_has_risen_before_anything_is_measured() {
    let lab = Lab::with(&format!("{SLOW}guard: {{p99_ms: 60000, rise: 2s}}\n"));
    let plan = lab.cassay(&["plan", "study.yaml"]);
    assert!(plan.stdout.contains("the load ramps up over 2s"), "{plan}");
    let run = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
    let trial = &run.json()["trials"][0];
    let warmup_s = trial["warmup"]["seconds"].as_f64().unwrap();
    assert!(warmup_s > 1.9, "{warmup_s} s");
    // At the full rate, five hundred operations would be due in each of the two seconds of warm-up.
    // Because the load ramps up slowly, fewer operations end.
    let recorded = lab.run().trial(0).unwrap().expect("the trial");
    let lines = recorded.intervals().unwrap().map(Result::unwrap);
    let of_warmup = lines.filter(|line| line.phase == "warmup");
    let ended: u64 = of_warmup.map(|line| line.ok).sum();
    assert!((1..700).contains(&ended), "{ended} operations");
}
