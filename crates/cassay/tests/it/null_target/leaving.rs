//! Tests exports of a run: tables and figures for other programs, and pages about several runs.

use crate::program::{Lab, command, skip};
use std::fs;
use std::path::Path;

const TWO: &str = "\
study: two
question: What leaves?
target: {null: {}}
workload: {use: standard1, mix: {write: 1, read: 1}}
data: {load: {operations: 1k}}
procedure: {sweep: {threads: [1, 2]}}
window: {warmup: 0s, measure: 2s}
";

#[test]
fn an_intact_run_is_exported_and_a_damaged_one_is_refused() {
    let lab = Lab::with(TWO);
    lab.cassay(&["run", "study.yaml"]).measured(&lab);
    let run = lab.run();
    let nothing = lab.cassay(&["export"]).ended_with(2);
    nothing.says(&["--csv", "--parquet", "--figures"]);

    let all = [
        "export",
        "--csv",
        "--parquet",
        "--figures",
        "svg,png",
        "--json",
    ];
    let said = lab.cassay(&all).ended_with(0).json();
    let files = said["files"].as_array().unwrap();
    let rows = |table: &str| {
        let of = files.iter().find(|file| file["table"] == table && file["format"] == "csv");
        of.unwrap()["rows"].as_u64().unwrap()
    };
    assert_eq!((rows("points"), rows("trials"), rows("kinds")), (2, 2, 4));
    let export = run.path.join("export");
    for (name, begin) in [
        ("trials.csv", "trial,variant,threads".as_bytes()),
        ("trials.parquet", b"PAR1"),
        ("latency.svg", b"<svg "),
        ("latency.png", b"\x89PNG"),
    ] {
        let bytes = fs::read(export.join(name)).unwrap();
        assert!(bytes.starts_with(begin), "{name}");
    }
    in_a_notebook(&export);

    let page = lab.path().join("pages/compared.html");
    fs::create_dir_all(page.parent().unwrap()).unwrap();
    let to = page.to_str().unwrap();
    lab.cassay(&["compare", "two", "two", "two", "--to", to]).ended_with(0);
    let link = format!("href=\"../results/two/{}/report.html\"", run.stamp);
    assert_eq!(fs::read_to_string(&page).unwrap().matches(&link).count(), 3);
    lab.cassay(&["history", "two", "--to", to]).ended_with(0);
    assert!(fs::read_to_string(&page).unwrap().contains(&link));

    let trials = run.trials().unwrap();
    let lines = trials[0].path.join("intervals.ndjson");
    let bytes = fs::read(&lines).unwrap();
    fs::write(&lines, &bytes[..bytes.len() / 2]).unwrap();
    fs::remove_dir_all(&export).unwrap();
    lab.cassay(&["export", "--csv"]).ended_with(5).says(&["intervals.ndjson"]);
    assert!(!export.exists(), "nothing of a damaged run leaves");
}

/// Runs the documentation's Python code, if this machine has Python with pandas.
fn in_a_notebook(export: &Path) {
    let python = std::env::var("CASSAY_PYTHON").unwrap_or_else(|_| "python3".into());
    let can = command(&python).args(["-c", "import pandas, pyarrow"]).output();
    if !can.is_ok_and(|said| said.status.success()) {
        return skip("the notebook of the documents: no python3 with pandas and pyarrow");
    }
    let page = include_str!("../../../../../docs/notebook.md");
    let code = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let run = command(&python)
        .args(["-c", code.unwrap()])
        .current_dir(export.parent().unwrap())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
