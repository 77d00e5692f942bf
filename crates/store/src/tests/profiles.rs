//! Tests the profiles of a trial: written, read, damaged, and with the name of another file.

use super::{findings, plan, trial};
use crate::record::{TrialFinding, Verdict};
use crate::{ProfileRecord, Run, RunWriter, Trial};
use std::fs;
use std::path::Path;

fn profile(node: &str) -> ProfileRecord {
    ProfileRecord {
        node: node.to_owned(),
        event: "ctimer".to_owned(),
        interval_ns: 10_000_000,
        window_s: 30.0,
        operations: 210_000,
        unit: "ns".to_owned(),
        ..ProfileRecord::default()
    }
}

fn written(results: &Path) -> std::path::PathBuf {
    let mut run = RunWriter::create(results, "study: first\n", &plan("first")).unwrap();
    let writer = run.begin_trial(&trial(0), &["write".to_owned()]).unwrap();
    let folded = "[ReadStage-1 tid=7];a/B.c 3\n[ReadStage-2 tid=8];a/B.c 4\n[GC Thread#0] 1\n";
    let nodes = ["node1", "node2"].map(|node| (profile(node), folded.to_owned()));
    writer.write_profiles(nodes.into()).unwrap();
    assert!(writer.write_profiles(vec![(profile("../x"), folded.to_owned())]).is_err());
    let wrong = vec![(profile("node3"), "no count\n".to_owned())];
    let why = format!("{:#}", writer.write_profiles(wrong).unwrap_err());
    assert!(why.contains("profile of node3: line 1"), "{why}");
    run.finish_trial(0, &trial(0).slug, &TrialFinding::default()).unwrap();
    run.finish(&findings(Verdict::Valid), "0.0.0", None).unwrap();
    run.path().to_owned()
}

fn stacks(trial: &Trial, profile: &ProfileRecord) -> Vec<(String, u64)> {
    trial.folded(profile).unwrap().map(Result::unwrap).collect()
}

#[test]
fn profiles_are_read_as_they_were_written() {
    let results = tempfile::tempdir().unwrap();
    let run = Run::open(&written(results.path())).unwrap();
    let trial = run.trial(0).unwrap().unwrap();
    let profiles = trial.profiles().unwrap();
    let names: Vec<&str> = profiles.iter().map(|one| one.node.as_str()).collect();
    assert_eq!(names, ["node1", "node2"]);
    assert_eq!(profiles[1].file, "profiles/node2.collapsed");
    assert_eq!(profiles[1].samples, 8);
    let expected = [
        ("GC Thread".to_owned(), 1),
        ("ReadStage;a/B.c".to_owned(), 7),
    ];
    assert_eq!(stacks(&trial, &profiles[1]), expected);
}

#[test]
fn a_changed_profile_is_a_damaged_run() {
    let results = tempfile::tempdir().unwrap();
    let path = written(results.path());
    let file = path.join("trials").join(trial(0).slug).join("profiles/node1.collapsed");
    fs::write(&file, "ReadStage;a/B.c 9\n").unwrap();
    let why = Run::open(&path).unwrap_err().to_string();
    assert!(why.contains("profiles/node1.collapsed"), "{why}");
}

#[test]
fn a_profile_is_never_a_file_elsewhere() {
    let results = tempfile::tempdir().unwrap();
    let run = Run::open(&written(results.path())).unwrap();
    let trial = run.trial(0).unwrap().unwrap();
    for file in [
        "",
        "trial.json",
        "profiles/",
        "profiles/../trial.json",
        "/etc/passwd",
    ] {
        let elsewhere = ProfileRecord {
            file: file.to_owned(),
            ..ProfileRecord::default()
        };
        assert!(trial.folded(&elsewhere).is_err(), "{file}");
    }
}

#[test]
fn a_line_that_is_no_stack_is_an_error_with_its_number() {
    let results = tempfile::tempdir().unwrap();
    let run = Run::open(&written(results.path())).unwrap();
    let trial = run.trial(0).unwrap().unwrap();
    let profile = trial.profiles().unwrap().remove(0);
    for (text, said) in [
        ("a;b 1\na;b\n".to_owned(), "line 2"),
        (format!("{} 1\n", "a;".repeat(1 << 20)), "longer than"),
    ] {
        fs::write(trial.path.join(&profile.file), text).unwrap();
        let lines: Result<Vec<_>, _> = trial.folded(&profile).unwrap().collect();
        let why = format!("{:#}", lines.unwrap_err());
        assert!(why.contains(said), "{why}");
    }
    fs::remove_file(trial.path.join("profiles.json")).unwrap();
    assert!(trial.profiles().unwrap().is_empty());
}
