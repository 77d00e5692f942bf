//! Tests the shipped studies. cassay can plan every study at each of its scales, and can run it to
//! the end.

use crate::program::Lab;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Returns the studies below a folder. Files whose names begin with `published` are not studies.
fn studies_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(studies_below(&path));
        } else if name.ends_with(".yaml") && !name.starts_with("published") {
            found.push(path);
        }
    }
    found
}

/// Plans each study at each of its scales, because each scale may have separate mistakes. At laptop
/// scale, the plan of each study takes at most twenty minutes, even with a long procedure.
#[test]
fn every_study_that_is_shipped_can_be_planned() {
    let lab = Lab::new();
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let all = studies_below(&studies);
    assert!(all.len() > 10, "{all:?}");
    for path in all {
        let named = path.to_str().unwrap();
        let plan = lab.cassay(&["plan", named, "--offline", "--json"]).ended_with(0).json();
        let name = path.file_stem().and_then(|name| name.to_str());
        assert_eq!(plan["study"].as_str(), name);
        assert!(plan["estimate"]["seconds"].as_f64() > Some(1.0), "{plan:#}");
        if std::fs::read_to_string(&path).unwrap().contains("\n  laptop:") {
            let plan = lab
                .cassay(&["plan", named, "--scale", "laptop", "--offline", "--json"])
                .ended_with(0)
                .json();
            let seconds = plan["estimate"]["seconds"].as_f64();
            assert!(seconds < Some(1200.0), "{named}: {seconds:?}");
        }
    }
}

/// Runs a study on the null target, with windows of one second and a single block. A latency keeps
/// closed loops from using all CPUs.
fn runs_to_its_last_trial(path: &Path) {
    let lab = Lab::new();
    let named = path.to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut arguments = vec!["run", named, "--json", "--target", "null"];
    if text.contains("\n  laptop:") {
        arguments.extend(["--scale", "laptop"]);
    }
    let times = if text.contains("procedure: {endurance:") {
        [
            "procedure.endurance.for=20s",
            "procedure.endurance.beside=[1s]",
        ]
    } else {
        ["window.measure=1s", "window.warmup=0s"]
    };
    for setting in times.iter().chain(&["repeat.blocks=1", "target.null.latency=5ms"]) {
        arguments.extend(["--set", setting]);
    }
    let said = lab.cassay(&arguments).measured(&lab);
    let findings = said.json();
    let trials = findings["trials"].as_array().expect("trials");
    assert!(!trials.is_empty(), "{named}: {said}");
    for trial in trials {
        let seconds = trial["seconds"].as_f64();
        assert!(seconds > Some(0.5), "{named}: {trial:#}");
    }
}

/// Behaviour that needs a cluster is tested manually, at laptop scale.
#[test]
fn every_study_that_is_shipped_runs_to_its_last_trial() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let left = Mutex::new(studies_below(&studies));
    let next = || left.lock().expect("no panic holds it").pop();
    // The runs wait more than they work, so three of them run at once.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(path) = next() {
                    runs_to_its_last_trial(&path);
                }
            });
        }
    });
}
