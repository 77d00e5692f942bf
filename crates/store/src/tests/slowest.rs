//! Tests the file of the slowest operations.

use super::{start, started, trial};
use crate::Run;
use crate::record::{SlowOperationRecord, TrialFinding};
use std::fs;

/// A later version must still read this text, so only new fields may change it.
const WRITTEN: &str = r#"{
  "format": 1,
  "operations": [
    {
      "number": 4711,
      "kind": "read",
      "node": "node2",
      "due_s": 7.25,
      "sent_s": 7.2501,
      "end_s": 7.75,
      "due_unix_ns": 1767225600250000000,
      "latency_ms": 500.0,
      "at_least": true,
      "outcome": "client_timeout",
      "retries": 1,
      "speculated": true
    },
    {
      "number": 12,
      "kind": "write",
      "due_s": 8.0,
      "end_s": 8.25,
      "due_unix_ns": 1767225601000000000,
      "latency_ms": 250.0,
      "outcome": "never_sent"
    }
  ]
}"#;

#[test]
fn the_slowest_operations_have_this_form_and_are_read_back() {
    let operations = vec![
        SlowOperationRecord {
            number: 4711,
            kind: "read".to_owned(),
            node: Some("node2".to_owned()),
            due_s: 7.25,
            sent_s: Some(7.2501),
            end_s: 7.75,
            due_unix_ns: 1_767_225_600_250_000_000,
            latency_ms: 500.0,
            at_least: true,
            outcome: "client_timeout".to_owned(),
            retries: 1,
            speculated: true,
        },
        SlowOperationRecord {
            number: 12,
            kind: "write".to_owned(),
            due_s: 8.0,
            end_s: 8.25,
            due_unix_ns: 1_767_225_601_000_000_000,
            latency_ms: 250.0,
            outcome: "never_sent".to_owned(),
            ..SlowOperationRecord::default()
        },
    ];
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    writer.journal(None, started()).unwrap();
    let of_trial = writer.begin_trial(&trial(0), &["read".to_owned()]).unwrap();
    of_trial.write_slowest(operations.clone()).unwrap();
    let path = of_trial.path().join("slowest.json");
    assert_eq!(fs::read_to_string(&path).unwrap().trim_end(), WRITTEN);
    writer.finish_trial(0, &trial(0).slug, &TrialFinding::default()).unwrap();

    let run = Run::open(writer.path()).unwrap();
    let read = run.trial(0).unwrap().expect("the trial");
    assert_eq!(read.slowest().unwrap(), operations);

    // The checksum of the trial covers the file.
    fs::write(&path, WRITTEN.replace("500.0", "50.0")).unwrap();
    assert!(Run::open(writer.path()).is_err());
}

#[test]
fn a_run_of_an_earlier_version_has_no_slowest_operations() {
    let results = tempfile::tempdir().unwrap();
    let mut writer = start(results.path(), "first");
    writer.journal(None, started()).unwrap();
    writer.begin_trial(&trial(0), &["read".to_owned()]).unwrap();
    writer.finish_trial(0, &trial(0).slug, &TrialFinding::default()).unwrap();
    let run = Run::open(writer.path()).unwrap();
    assert_eq!(
        run.trial(0).unwrap().expect("the trial").slowest().unwrap(),
        []
    );
}
