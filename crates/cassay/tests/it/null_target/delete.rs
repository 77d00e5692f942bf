//! Tests deleting runs: the list, the removed runs, and the remaining runs.

use super::POINT;
use crate::program::Lab;
use serde_json::Value;

fn lab_with_runs(count: usize) -> (Lab, Vec<String>) {
    let lab = Lab::with(POINT);
    for _ in 0..count {
        lab.cassay(&["run", "study.yaml"]).measured(&lab);
    }
    let list = lab.cassay(&["list", "--json"]).ended_with(0).json();
    let name = |run: &Value| {
        let text = |key: &str| run[key].as_str().expect("a text").to_owned();
        format!("{}/{}", text("study"), text("stamp"))
    };
    let names: Vec<String> = list.as_array().expect("a list").iter().map(name).collect();
    assert_eq!(names.len(), count);
    (lab, names)
}

#[test]
fn a_run_is_deleted_once_the_user_says_so() {
    let (lab, names) = lab_with_runs(2);
    let folder = |name: &str| lab.path().join("results").join(name);
    lab.cassay(&["tag", "good", &names[0]]).ended_with(0);
    let asked = lab.cassay(&["delete", &names[0]]).ended_with(2);
    asked.says(&["cassay deleted no run"]);
    assert!(
        asked.stdout.contains(&names[0]) && asked.stdout.contains("tag good"),
        "{asked}"
    );
    assert!(folder(&names[0]).is_dir());

    // `--older-than` keeps a tagged run, because later runs are compared with a tagged run.
    let old = lab
        .cassay(&["delete", "--older-than", "0s", "--yes", "--json"])
        .ended_with(0)
        .json();
    assert_eq!(old["kept"][0]["run"], names[0].as_str());
    assert!(old["runs"][0]["bytes"].as_u64().expect("bytes") > 0);
    assert!(folder(&names[0]).is_dir() && !folder(&names[1]).exists());

    lab.cassay(&["delete", "good", "--yes"]).ended_with(0);
    assert!(!folder("point").exists(), "its study has no runs any more");
    assert_eq!(lab.cassay(&["tag", "--json"]).json().to_string(), "{}");
}

#[test]
fn nothing_but_a_finished_run_of_the_results_folder_is_deleted() {
    let (lab, names) = lab_with_runs(1);
    let other = Lab::new();
    let path = lab.path().join("results").join(&names[0]);
    let path = path.to_str().expect("UTF-8");
    other.cassay(&["delete", path, "--yes"]).ended_with(1).says(&["--out"]);
    lab.cassay(&["delete", "nothing", "--yes"]).ended_with(1);
    lab.cassay(&["delete"]).ended_with(2);
    let linked = lab.path().join("results/point/20260101T000000Z");
    std::os::unix::fs::symlink(lab.path(), &linked).expect("a link");
    lab.cassay(&["delete", "point/20260101T000000Z", "--yes"]).ended_with(1);
    assert!(lab.path().join("study.yaml").is_file() && linked.is_symlink());
}
