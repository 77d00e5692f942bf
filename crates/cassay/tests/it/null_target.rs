//! Tests the program end to end on the null target: no Java, no network beyond loopback.
//!
//! The findings must match the known behaviour of the null target (its stalls, its errors, its
//! counts). Windows are as short as possible: a window under five seconds is *suspect*. No test
//! needs a verdict that a busy machine could spoil, or a time that it could exceed. Long tests
//! check only properties that are true on any machine.

mod answered;
mod damage;
mod delete;
mod end_command;
mod endurance;
pub(crate) mod fleet;
mod grids;
mod imports;
mod interruption;
mod leaving;
mod record;
pub(crate) mod recorded_traffic;
mod requests;
mod screen;
mod screening;
mod searches;
mod serving;
mod tuning;
mod verdicts;
mod watching;

use crate::cli::SMALL;
use crate::program::{Lab, Started};
use serde_json::Value;
use store::record::JournalEvent;

pub(crate) const POINT: &str = "\
study: point
question: What does one point say?
target: {null: {}}
workload: {use: standard1, mix: {write: 1, read: 1}}
data: {load: {operations: 1k}}
procedure: {fixed: {threads: 16}}
window: {warmup: 0s, measure: 1s}
";

/// Runs the study `POINT` with settings, and returns its only trial.
#[track_caller]
fn trial(settings: &[&str], code: i32) -> Value {
    let lab = Lab::with(POINT);
    let mut arguments = vec!["run", "study.yaml", "--json"];
    for setting in settings {
        arguments.extend(["--set", setting]);
    }
    let said = lab.cassay(&arguments);
    let findings = match code {
        0 => said.measured(&lab).json(),
        code => said.ended_with(code).json(),
    };
    assert_eq!(findings["trials"].as_array().map(Vec::len), Some(1));
    findings["trials"][0].clone()
}

pub(crate) fn rule<'a>(trial: &'a Value, id: &str) -> &'a Value {
    let rules = trial["rules"].as_array().expect("rules");
    let found = rules.iter().find(|rule| rule["rule"] == id);
    found.unwrap_or_else(|| panic!("{id} was not judged: {trial:#}"))
}

/// Checks that the counts of the server and of the client match exactly. The counts must match,
/// because nothing is lost on loopback.
#[track_caller]
fn assert_counts_agree(trial: &Value) {
    let server = &trial["server"];
    assert!(server["client_writes"].as_u64() > Some(0), "{trial:#}");
    assert_eq!(server["writes"], server["client_writes"], "{trial:#}");
    assert_eq!(server["reads"], server["client_reads"], "{trial:#}");
    assert_eq!(rule(trial, "V7")["result"], "pass", "{trial:#}");
}

/// A stall delays a quarter of the due operations. Only the operations that are in flight when the
/// stall begins wait for the server. The default limit of operations in flight must delay the other
/// operations. If a client sent thousands of operations during the stall, both clocks would show
/// the stall and could not be distinguished.
#[test]
fn a_stall_shows_in_latency_and_not_in_service_time() {
    let lab = Lab::with(POINT);
    let sets = [
        "target.null.stall={every: 4s, length: 1s}",
        "procedure.fixed={rate: 5000}",
        "window.warmup=1s",
        "window.measure=8s",
    ];
    let mut arguments = vec!["run", "study.yaml", "--json"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let run = lab.cassay(&arguments);
    let trial = &run.json()["trials"][0];
    let p99_ms = |clock: &str| trial["all"][clock]["p99"].as_f64();
    assert!(p99_ms("latency_ms") >= Some(500.0), "{trial:#}");
    // A slow machine affects both clocks, so the test compares the two clocks with each other.
    let half = p99_ms("latency_ms").map(|ms| ms / 2.0);
    assert!(p99_ms("service_ms") <= half, "{trial:#}");
    assert!(trial["all"]["service_ms"]["max"].as_f64() >= Some(500.0));
    assert_eq!(rule(trial, "V2")["result"], "pass");
    assert_counts_agree(trial);
    // A silence of a second is an eighth of the window, so rule V19 warns. A busy machine may hide
    // the silence: if the client itself stalled, cassay blames the client, and all answers to a
    // late client take long.
    let was_away = rule(trial, "V4")["result"] != "pass";
    assert!(
        rule(trial, "V19")["result"] == "warn" || was_away,
        "{trial:#}"
    );
    // A quarter of the operations began late, because of the target. The trial still reports their
    // number.
    assert!(trial["late"].as_u64() > Some(4000), "{trial:#}");
    // Rule V1 warns. If other work on the machine also delays the client, V1 fails.
    assert_ne!(rule(trial, "V1")["result"], "pass", "{trial:#}");
    run.measured(&lab);
}

#[test]
fn errors_are_counted_by_name_and_make_the_verdict() {
    for (errors, code, verdict, result) in [
        ("{overloaded: 0.005}", 0, "suspect", "warn"),
        (
            "{overloaded: 0.1, write_timeout: 0.1}",
            3,
            "invalid",
            "fail",
        ),
    ] {
        // The study loads no rows, because cassay refuses a load with errors. Another test covers
        // that case.
        let errors = format!("target.null.errors={errors}");
        let trial = trial(&[&errors, "data={present: 1k}"], code);
        if code != 0 || trial["verdict"] != "invalid" {
            assert_eq!(trial["verdict"], verdict, "{trial:#}");
        }
        assert_eq!(rule(&trial, "V8")["result"], result, "{trial:#}");
        let counts = trial["errors"].as_object().unwrap();
        let failed: u64 = counts.values().filter_map(Value::as_u64).sum();
        let total = trial["ops_total"].as_u64().unwrap();
        // Up to 16 operations are in flight at the end of the window. cassay counts them if they
        // fail, but not if they succeed.
        let ops = trial["all"]["ops"].as_u64().unwrap();
        assert!((total..=total + 16).contains(&(ops + failed)), "{trial:#}");
        assert_eq!(trial["all"]["error_ms"]["count"].as_u64(), Some(failed));
        let overloaded = counts["overloaded"].as_u64().unwrap() as f64 / total as f64;
        let wanted = if code == 0 { 0.005 } else { 0.1 };
        assert!((overloaded / wanted - 1.0).abs() < 0.5, "{overloaded}");
        assert_eq!(counts.contains_key("write_timeout"), code == 3);
        let reasons = trial["reasons"].to_string();
        assert!(reasons.contains("overloaded"), "{reasons}");
        assert_counts_agree(&trial);
    }
}

#[test]
fn a_time_out_makes_a_trial_invalid_and_ends_its_ladder() {
    let study = "\
study: ladder
question: Where does it end?
target: {null: {latency: 50ms}}
workload: {use: standard1, mix: {write: 1}}
procedure: {sweep: {threads: [1, 2, 4], until: timeout}}
window: {warmup: 0s, measure: 1s}
client: {timeout: 20ms}
";
    let lab = Lab::with(study);
    let run = lab.cassay(&["run", "study.yaml", "--json"]).ended_with(3);
    run.says(&["the ladder ended at 1 thread"]);
    let findings = run.json();
    assert_eq!(findings["verdict"], "invalid");
    assert_eq!(findings["trials"].as_array().map(Vec::len), Some(1));
    assert!(findings["trials"][0]["errors"]["client_timeout"].as_u64() > Some(0));
    let report = lab.run().report().expect("an invalid run is kept");
    // In an earlier version, the output suggested that two trials were still to come.
    let ended =
        "Of 3 planned trials, 2 left out: the ladder ended at 1 thread: a request times out";
    let page = std::fs::read_to_string(report).unwrap();
    assert!(page.contains(ended), "{}", &page[..page.len().min(4000)]);
    let report = lab.cassay(&["show", "latest", "--json"]).ended_with(0).json();
    assert_eq!(report["summary"]["trials_left_out"], 2);
    let listed = lab.cassay(&["list"]).ended_with(0);
    let ended = "1/3 trials, 2 left out: the ladder ended at 1 thread";
    assert!(listed.stdout.contains(ended), "{listed}");
}

#[test]
fn known_latency_is_measured_as_it_is() {
    let trial = trial(&["target.null.latency=20ms"], 0);
    let latency = &trial["all"]["latency_ms"];
    // No operation is early. Operations are late only because of the machine. The 16 operations in
    // flight spend 16 s of latency in each second, and a median is never above twice the mean.
    let p50_ms = latency["p50"].as_f64().expect("a median");
    assert!(p50_ms >= 20.0, "{latency}");
    let per_second = trial["all"]["ops_per_s"].as_f64().expect("a throughput");
    assert!(per_second * p50_ms <= 2.0 * 16.0 * 1000.0, "{trial:#}");
    assert_counts_agree(&trial);
}

#[test]
fn frames_may_be_compressed() {
    let trial = trial(&["client.compression=lz4"], 0);
    assert_counts_agree(&trial);
    assert_eq!(trial["errors"], serde_json::json!({}));
}

#[test]
fn two_workers_share_the_work_and_lose_nothing() {
    let trial = trial(&["client.workers=2", "client.connections_per_node=3"], 0);
    assert_eq!(trial["client"]["workers"], 2);
    assert_eq!(trial["client"]["connections"], 6);
    assert_counts_agree(&trial);
}

/// Drivers with one connection per host made the servers look slow, because a node serves all
/// requests of a connection on a single event loop.
#[test]
fn one_connection_to_each_node_is_not_the_default() {
    let trial = trial(&["client.workers=1"], 0);
    assert_eq!(trial["client"]["workers"], 1);
    assert_eq!(trial["client"]["connections"], 2);
}

/// The server acts like a cluster that shows neither counts nor settings. cassay's rules do not
/// judge properties that a server does not show, and the server's own final counts match the
/// client's records.
#[test]
fn a_server_of_another_process_is_attached_to() {
    let lab = Lab::with(POINT);
    let mut server = lab.start(&["null", "--port", "0"]);
    let target = format!("attach:{}", server.first_line());
    let arguments = ["run", "study.yaml", "--json", "--target", &target];
    let verify = ["--set", "verify={reads: none, sample: 0}"];
    // cassay creates nothing on a cluster that it did not start, and does not create a run folder
    // either.
    let refused = lab.cassay(&arguments).ended_with(2);
    refused.says(&[
        "has no keyspace keyspace1",
        "CREATE KEYSPACE",
        "--allow create=keyspace1",
    ]);
    assert!(!lab.path().join("results").exists(), "{refused}");
    let allow = ["--allow", "create=keyspace1"];
    let run = lab.cassay(&[&arguments[..], &verify, &allow].concat());
    let findings = run.measured(&lab).json();
    let trial = &findings["trials"][0];
    assert_eq!(trial["errors"], serde_json::json!({}));
    assert_eq!(rule(trial, "V7")["result"], "unknown");
    assert_eq!(
        rule(trial, "V15")["result"],
        "warn",
        "settings are not on record"
    );

    let recorded = lab.run().trial(0).unwrap().expect("the trial");
    let count = |kind: &str| -> u64 {
        let lines = recorded.intervals().unwrap().map(Result::unwrap);
        lines.filter(|line| line.kind == kind).map(|line| line.ok).sum()
    };
    server.interrupt();
    let said = server.end().ended_with(0);
    let counts = format!(
        "{} reads and {} writes; it refused 0 requests",
        count("read"),
        count("write")
    );
    assert!(count("write") > 1000, "{counts}");
    said.says(&[&counts]);
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let lab = Lab::with(POINT);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let target = format!("attach:{address}");
    let run = lab.cassay(&["run", "study.yaml", "--target", &target]);
    assert_eq!(run.code, Some(1), "{run}");
    assert!(run.to_string().contains(&address), "{run}");
    assert!(
        !lab.path().join("results").exists(),
        "a run of nothing: {run}"
    );
}

#[test]
fn two_runs_of_one_seed_have_the_same_trials_and_compare() {
    let lab = Lab::with(SMALL);
    let run = |seed: &str| {
        let one_point = ["--set", "procedure.sweep.threads=[2]"];
        let arguments = [&["run", "study.yaml", "--seed", seed], &one_point[..]].concat();
        lab.cassay(&arguments).measured(&lab);
        lab.run()
    };
    let (first, second) = (run("7"), run("7"));
    assert_ne!(first.path, second.path);
    let trials = |run: &store::Run| serde_json::to_value(&run.plan.trials).unwrap();
    assert_eq!(trials(&first), trials(&second));
    let (first, second) = (first.stamp.as_str(), second.stamp.as_str());

    let compared = lab.cassay(&["compare", first, second, "--json"]).ended_with(0);
    assert!(compared.json().is_object());
    let text = lab.cassay(&["compare", first, second]).ended_with(0).stdout;
    for part in ["few", "many", "threads"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let itself = ["compare", first, first, "--require-not-slower"];
    lab.cassay(&itself).ended_with(0);

    let listed = lab.cassay(&["list", "--json"]).ended_with(0).json();
    let stamps: Vec<_> = listed.as_array().unwrap().iter().map(|r| &r["stamp"]).collect();
    assert_eq!(stamps, [first, second], "oldest first");
}

/// Runs the same study on a fast server and on a slower server. Only the run on the slower server
/// misses the requirement.
#[test]
fn a_slower_contender_misses_the_requirement() {
    let lab = Lab::with(POINT);
    let run = |latency: &str| {
        let set = format!("target.null.latency={latency}");
        // One block shows no variation between runs, so cassay draws no conclusion from a single
        // block.
        let blocks = ["--set", "repeat.blocks=3"];
        let arguments = [&["run", "study.yaml", "--set", &set], &blocks[..]].concat();
        lab.cassay(&arguments).measured(&lab);
        lab.run().stamp
    };
    let (fast, slow) = (run("1ms"), run("50ms"));
    let require = |baseline: &str, contender: &str| {
        lab.cassay(&["compare", baseline, contender, "--require-not-slower"])
    };
    require(&fast, &slow).ended_with(4).says(&["a requirement was missed"]);
    require(&slow, &fast).ended_with(0);
}

/// Starts the program in the background, and waits until it offers load in trial `index`.
fn started_measuring(lab: &Lab, index: usize) -> Started {
    let run = lab.start(&["run", "study.yaml"]);
    crate::program::wait_until("measuring", || {
        let results = lab.path().join("results");
        let Ok(run) = store::find(&results, "latest") else {
            return false;
        };
        let measures = |line: &&store::record::JournalRecord| {
            let event = &line.event;
            line.trial == Some(index)
                && matches!(event, JournalEvent::PhaseStarted { phase } if phase == "measure")
        };
        run.journal.iter().any(|line| measures(&line))
    });
    run
}
