//! Tests recorded traffic on the null target, from a log to the results.

use crate::program::Lab;
use flate2::read::GzDecoder;
use serde_json::Value;
use std::io::Read;

const STUDY: &str = "\
study: again
question: Is what was recorded offered again?
target: {null: {}}
workload: {recorded: {files: [log], speed: 0.25}}
";

/// A full query log of a real node, with 73 operations in half a second.
const LOG: &[u8] = include_bytes!("../../../../query_log/fixtures/full-query-log.cq4.gz");

fn lab(study: &str) -> Lab {
    let lab = Lab::with(study);
    lay_log(&lab);
    lab
}

/// Puts a real node's log into the folder `log` of a lab.
pub(crate) fn lay_log(lab: &Lab) {
    let mut bytes = Vec::new();
    GzDecoder::new(LOG).read_to_end(&mut bytes).expect("a whole log");
    lab.write("log/metadata.cq4t", "the queue's own");
    std::fs::write(lab.path().join("log/20261126-13.cq4"), bytes).expect("a log");
}

/// Returns the numbers of operations of each kind that were due in the window, regardless of when
/// they ended.
fn counts(trial: &Value) -> Vec<(String, u64)> {
    let kinds = trial["kinds"].as_object().expect("kinds");
    let due = |kind: &Value| kind["latency_ms"]["count"].as_u64().unwrap_or(0);
    kinds.iter().map(|(name, kind)| (name.clone(), due(kind))).collect()
}

/// Returns the number of operations that were due in the window. On a busy machine, the last of
/// these operations end after the window.
fn due(trial: &Value) -> u64 {
    trial["all"]["latency_ms"]["count"].as_u64().expect("a count")
}

#[test]
fn a_recording_is_offered_when_it_was_and_as_often() {
    let lab = lab(STUDY);
    let said = lab.cassay(&["run", "study.yaml", "--trust", "--json"]).measured(&lab);
    let trial = said.json()["trials"][0].clone();
    assert_eq!(trial["errors"], serde_json::json!({}), "{trial:#}");
    // cassay sends each operation once, although the recording ends in the middle of a second.
    assert_eq!(due(&trial), 73, "{trial:#}");
    let seconds = trial["seconds"].as_f64().expect("the window's length");
    assert!(seconds.fract() > 0.0, "{seconds}");
    let planned = lab.cassay(&["plan", "study.yaml", "--trust"]).ended_with(0);
    let shown = format!("{}{}", planned.stdout, planned.stderr);
    assert!(
        shown.contains("cassay replays all 73 operations once"),
        "{shown}"
    );
}

#[test]
fn nothing_of_a_recording_is_left_out_at_any_speed() {
    for speed in ["0.05", "0.13", "0.3"] {
        let lab = lab(&STUDY.replace("0.25", speed));
        let said = lab.cassay(&["run", "study.yaml", "--trust", "--json"]).measured(&lab);
        let findings = said.json();
        let trial = findings["trials"][0].clone();
        assert_eq!(due(&trial), 73, "speed {speed}: {trial:#}");
        // On a busy machine, the trial may have no usable result.
        let answer = findings["answer"].to_string();
        if trial["verdict"] != "invalid" {
            let at = format!("replay at {speed} times the recorded speed");
            assert!(answer.contains(&at), "{answer}");
        }
    }
}

#[test]
fn any_procedure_keeps_the_shares_of_a_recording() {
    let study = STUDY.replace(", speed: 0.25", ", keyspaces: [shop]");
    let more = "procedure: {fixed: {rate: 710}}\nwindow: {warmup: 0s, measure: 2s}\n";
    let lab = lab(&(study + more));
    let said = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab);
    let trial = said.json()["trials"][0].clone();
    // The study repeats the 71 operations on one keyspace twenty times.
    let counts = counts(&trial);
    for (name, count) in [("insert-shop.users", 23), ("select-shop.users", 32)] {
        let found = counts.iter().find(|(kind, _)| kind == name).map(|kind| kind.1);
        assert_eq!(found, Some(20 * count), "{counts:?}");
    }
}

/// The process that starts the clients reads the logs, and sends their content to the clients.
#[test]
fn several_clients_offer_a_recording_as_one_does() {
    let in_all = STUDY.replace(", speed: 0.25", ", keyspaces: [shop]")
        + "procedure: {fixed: {rate: 710}}\nwindow: {warmup: 0s, measure: 2s}\n";
    for study in [STUDY, &in_all] {
        let lab = lab(study);
        let run = ["run", "study.yaml", "--trust", "--json"];
        let alone = lab.cassay(&run).measured(&lab).json()["trials"][0].clone();
        let machines = "client.machines=[here, {workers: 1}]";
        let set = [&run[..], &["--set", machines]].concat();
        let together = lab.cassay(&set).measured(&lab).json()["trials"][0].clone();
        // Every kind of operation is present. On a busy machine, even a kind whose only operation
        // ends after the window is present.
        assert_eq!(counts(&together), counts(&alone), "{together:#}");
        for trial in [&together, &alone] {
            let of_kinds: u64 = counts(trial).iter().map(|(_, count)| count).sum();
            assert_eq!(of_kinds, due(trial), "{trial:#}");
        }
        let clients = together["clients"].as_array().expect("clients");
        let each = clients.iter().map(|one| one["latency_ms"]["count"].as_u64());
        assert!(
            clients.len() == 2 && each.clone().all(|count| count > Some(0)),
            "{clients:?}"
        );
        let sum: u64 = each.flatten().sum();
        assert_eq!(together["all"]["latency_ms"]["count"].as_u64(), Some(sum));
        for id in ["V6", "V7"] {
            let result = &super::rule(&together, id)["result"];
            assert_ne!(result, "fail", "{id}: {together:#}");
        }
    }
}

#[test]
fn a_log_is_described_before_a_study_is_made_of_it() {
    let lab = lab(STUDY);
    let said = lab.cassay(&["workload", "recorded", "log"]).ended_with(0);
    for part in [
        "73 operations",
        "select-shop.users",
        "43.84 %",
        "another page",
    ] {
        assert!(said.stdout.contains(part), "{part}: {said}");
    }
    let said = lab.cassay(&["workload", "recorded", "log", "--json"]).ended_with(0).json();
    assert_eq!(
        (&said["operations"], &said["consistency"]["LOCAL_QUORUM"]),
        (&73.into(), &20.into())
    );
    lab.cassay(&["workload", "recorded", "."]).ended_with(0);
    lab.cassay(&["workload", "recorded", "results"])
        .ended_with(1)
        .says(&["cassay cannot read"]);
}

#[test]
fn mistakes_about_recorded_traffic_are_shown_where_they_stand() {
    let lab = lab(STUDY);
    let refused = |set: &str, says: &str| {
        let words = ["plan", "study.yaml", "--trust", "--set", set];
        lab.cassay(&words).ended_with(2).says(&[says]);
    };
    refused("procedure={fixed: {threads: 1}}", "both set the load");
    refused("workload.mix={a: 1}", "does not apply to recorded traffic");
    refused("workload.recorded.files=[absent]", "absent");
    refused(
        "workload.recorded.files=[../log]",
        "is outside the study's folder",
    );
    refused("target={local: {}}", "have no tables for recorded traffic");
    // This operation writes to another keyspace than most operations, so the study needs trust.
    lab.cassay(&["plan", "study.yaml"]).ended_with(2).says(&["Other", "--trust"]);
}

/// A run stores only a digest of the recording, so `resume` reads the recording again. This needs
/// trust, because the recording may come from a stranger.
#[test]
fn a_run_resumes_with_the_same_recording_or_not_at_all() {
    let lab = lab(STUDY);
    lab.cassay(&["run", "study.yaml", "--trust"]).measured(&lab);
    let path = lab.run().path;
    let path = path.to_str().expect("a path of letters");
    lab.cassay(&["resume", path])
        .ended_with(2)
        .says(&["recorded traffic", "--trust"]);
    lab.cassay(&["resume", path, "--trust"]).measured(&lab);
    std::fs::remove_file(lab.path().join("log/20261126-13.cq4")).expect("a log");
    lab.write(
        "log/audit.log",
        "user:a|timestamp:1|type:SELECT|ks:k|operation:SELECT * FROM t\n",
    );
    let changed = lab.cassay(&["resume", path, "--trust"]).ended_with(2);
    changed.says(&["has changed since the run began"]);
}
