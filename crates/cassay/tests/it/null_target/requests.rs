//! Tests options of requests, and the counts of retries and speculations. The tests cover the
//! study, the plan and the report.

use crate::program::Lab;
use measure::KindCount;
use serde_json::json;

/// One in a hundred answers is an error that leaves the data unchanged, so cassay may retry any
/// operation. Half of the answers take longer than the speculation delay.
const STUDY: &str = "\
study: requests
question: How are requests sent?
target: {null: {errors: {overloaded: 0.01}, latency: {uniform: {from: 0ms, to: 4ms}}}}
workload:
  use: standard1
  mix: {write: 1, read: 1}
  consistency: {write: QUORUM}
  timeout: {read: 500ms}
  retries: 3
  speculate_after: {read: 2ms}
  page_size: {read: 100}
  timestamps: client
data: {present: 1k}
client: {compression: lz4, timeout: 3s}
procedure: {fixed: {threads: 16}}
window: {warmup: 0s, measure: 1s}
";

#[test]
fn the_plan_records_effective_requests_and_a_report_shows_them() {
    let lab = Lab::with(STUDY);
    let said = lab.cassay(&["run", "study.yaml"]);
    let run = lab.run();
    let requests = json!(run.plan.resolved.requests[&"-".into()]);
    let requests = requests.as_array().expect("requests");
    let of = |kind: &str| {
        let mut all = requests.iter().filter(|one| one["kind"] == kind);
        all.next().unwrap_or_else(|| panic!("no {kind}: {requests:#?}"))
    };
    for (kind, key, value) in [
        ("write", "consistency", json!("QUORUM")),
        ("write", "timeout_ms", json!(3000.0)),
        ("read", "timeout_ms", json!(500.0)),
        ("read", "speculate_after_ms", json!(2.0)),
        ("read", "page_size", json!(100)),
        ("read", "returns_rows", json!(true)),
        ("write", "timestamps", json!("client")),
        ("write", "retries", json!(3)),
        ("write", "compression", json!("lz4")),
    ] {
        assert_eq!(of(kind)[key], value, "{kind} {key}");
    }

    let counts = &run.findings.as_ref().expect("findings").trials[0].counts;
    let (read, write) = (&counts["read"], &counts["write"]);
    assert!(
        read[KindCount::Retries] > 0 && write[KindCount::Retries] > 0,
        "{counts:?}"
    );
    assert!(
        read[KindCount::Speculations] > 0 && write[KindCount::Speculations] == 0,
        "{counts:?}"
    );
    assert!(
        said.stdout.contains("All trials together: retries: read "),
        "{said}"
    );
    assert!(said.stdout.contains(" answered first)"), "{said}");

    let shown = lab.cassay(&["show", "latest"]).ended_with(0).stdout;
    let after = |caption: &str| {
        let (_, table) = shown.split_once(caption).unwrap_or_else(|| panic!("{shown}"));
        table.split("\n\n").next().unwrap_or_default().to_owned()
    };
    let sent = after("How requests are sent\n");
    for part in [
        "QUORUM",
        "3 s",
        "500 ms",
        "after 2 ms",
        "compression lz4",
        "failed attempt: 3",
    ] {
        assert!(sent.contains(part), "{part}:\n{sent}");
    }
    let counted = after("Outcomes of operations\n");
    for part in ["Retries", "Speculative", "Pages"] {
        assert!(counted.contains(part), "{part}:\n{counted}");
    }
    assert!(!counted.contains("batches"), "{counted}");
}

#[test]
fn absent_retries_and_speculations_are_not_reported() {
    let lab = Lab::with(super::POINT);
    let said = lab.cassay(&["run", "study.yaml"]).measured(&lab);
    assert!(!said.stdout.contains("All trials together"), "{said}");
    // The null target stores nothing, so reads find no row.
    let counts = &lab.run().findings.expect("findings").trials[0].counts;
    assert!(
        counts["read"][KindCount::RowsMissing] > 0 && counts["read"][KindCount::Retries] == 0,
        "{counts:?}"
    );
}
