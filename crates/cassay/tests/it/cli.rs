//! The program as its user runs it, on the null target: no Java, no network beyond loopback.

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// A study that takes about four seconds on the null target.
const SMALL: &str = "\
study: small
question: Does the whole way from file to report work?
target: {null: {}}
workload: {use: standard1, mix: {write: 3, read: 1}}
data: {load: {operations: 2k}}
variants:
  few: {}
  many: {workload: {mix: {write: 1}}}
procedure: {sweep: {threads: [2, 4]}}
window: {warmup: 0s, measure: 1s}
";

fn folder(study: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("make a folder");
    std::fs::write(folder.path().join("study.yaml"), study).expect("write the study");
    folder
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program under test is started by its test, which waits for it"
)]
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cassay"));
    command
        .args(args)
        .current_dir(folder)
        // Its own folders: a test neither sees nor clears what the user has running.
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CACHE_HOME", folder.join("cache"));
    command
}

fn cassay(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("run cassay")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn a_study_becomes_findings_a_report_and_a_place_in_the_list() {
    let folder = folder(SMALL);
    let run = cassay(folder.path(), &["run", "study.yaml", "--json"]);
    let findings = json(&run);
    // A window of a second is too short to be valid, and long enough to be believed.
    assert_eq!(code(&run), Some(0), "{}", text(&run.stderr));
    assert_eq!(findings["verdict"], "suspect", "{findings:#}");
    let trials = findings["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        assert!(trial["all"]["ops_per_s"].as_f64().unwrap() > 0.0);
        assert!(trial["client"]["ceiling_ops_per_s"].as_f64().unwrap() > 0.0);
        let server = &trial["server"];
        assert_eq!(server["writes"], server["client_writes"], "{trial:#}");
        assert_eq!(server["reads"], server["client_reads"], "{trial:#}");
    }
    let loads = trials.iter().filter(|trial| !trial["load"].is_null());
    assert_eq!(loads.count(), 1, "equal data is loaded once");
    let html = std::fs::read_to_string(
        findings["report"]
            .as_str()
            .map(|p| folder.path().join(p))
            .unwrap(),
    );
    assert!(
        html.unwrap()
            .contains("Does the whole way from file to report work?")
    );

    let list = json(&cassay(folder.path(), &["list", "--json"]));
    assert_eq!(list[0]["state"], "finished");
    assert_eq!(list[0]["trials_finished"], 4);
    let shown = cassay(folder.path(), &["show"]);
    assert!(
        text(&shown.stdout).contains("many"),
        "{}",
        text(&shown.stdout)
    );
    let compared = cassay(
        folder.path(),
        &["compare", "latest", "latest", "--require-not-slower"],
    );
    assert_eq!(code(&compared), Some(0), "{}", text(&compared.stderr));
    let again = cassay(folder.path(), &["resume"]);
    assert_eq!(code(&again), Some(0));
    assert!(text(&again.stderr).contains("nothing is left to do"));
}

#[test]
fn a_plan_starts_nothing_and_is_the_same_twice() {
    let folder = folder(SMALL);
    let plan = || {
        cassay(
            folder.path(),
            &["plan", "study.yaml", "--json", "--seed", "7"],
        )
    };
    let (first, second) = (plan(), plan());
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(json(&first)["trials"].as_array().unwrap().len(), 4);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn mistakes_are_shown_together_and_end_with_2() {
    let study = SMALL
        .replace("threads: [2, 4]", "threds: [2, 4]")
        .replace("1s}", "1}");
    let folder = folder(&study);
    let run = cassay(folder.path(), &["run", "study.yaml", "--json"]);
    assert_eq!(code(&run), Some(2));
    let stderr = text(&run.stderr);
    for part in [
        "study.yaml:9:21",
        "did you mean `threads`?",
        "study.yaml:10:31",
        "it has no unit",
    ] {
        assert!(stderr.contains(part), "{part} is not in\n{stderr}");
    }
    assert_eq!(json(&run)["mistakes"][0]["line"], 9);
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_missing_file_ends_with_1_and_a_wrong_option_with_2() {
    let folder = folder(SMALL);
    assert_eq!(
        code(&cassay(folder.path(), &["run", "other.yaml"])),
        Some(1)
    );
    assert_eq!(code(&cassay(folder.path(), &["run", "--wrong"])), Some(2));
    assert_eq!(code(&cassay(folder.path(), &["show", "nothing"])), Some(1));
}

#[test]
fn an_interrupted_run_ends_with_130_and_is_taken_up_again_where_it_was() {
    let folder = folder(&SMALL.replace("measure: 1s", "measure: 2s"));
    let child = command(folder.path(), &["run", "study.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (status, stderr) = interrupt_after(child, "op/s");
    assert_eq!(status, Some(130), "{stderr}");
    assert!(stderr.contains("cassay resume"), "{stderr}");
    let before = json(&cassay(folder.path(), &["list", "--json"]));
    assert_eq!(before[0]["state"], "interrupted");
    let finished = before[0]["trials_finished"].as_u64().unwrap();
    assert!((1..4).contains(&finished), "{before:#}");

    let resumed = json(&cassay(folder.path(), &["resume", "--json"]));
    assert_eq!(resumed["trials"].as_array().unwrap().len(), 4);
    let journal = folder.path().join("results/latest/journal.ndjson");
    let journal = std::fs::read_to_string(journal).unwrap();
    let count = |event: &str| journal.matches(&format!("\"event\":\"{event}\"")).count();
    assert_eq!(count("run_started"), 2);
    assert_eq!(count("trial_finished"), 4, "no trial is done twice");
}

/// Waits until the program has said `word` (its first finished trial), then sends Ctrl-C.
fn interrupt_after(mut child: Child, word: &str) -> (Option<i32>, String) {
    use std::io::{BufRead, BufReader, Read};
    let mut reader = BufReader::new(child.stderr.take().expect("stderr is a pipe"));
    let mut said = String::new();
    while !said.contains(word) {
        if reader.read_line(&mut said).expect("read stderr") == 0 {
            break;
        }
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("send Ctrl-C");
    reader.read_to_string(&mut said).expect("read stderr");
    (child.wait().expect("wait for cassay").code(), said)
}

#[test]
fn a_ladder_ends_after_the_point_that_times_out() {
    let study = "\
study: ladder
question: Where does it end?
target: {null: {latency: 50ms}}
workload: {use: standard1, mix: {write: 1}}
procedure: {sweep: {threads: [1, 2, 4], until: timeout}}
window: {warmup: 0s, measure: 1s}
client: {timeout: 20ms}
";
    let folder = folder(study);
    let run = cassay(folder.path(), &["run", "study.yaml", "--json"]);
    assert_eq!(code(&run), Some(3), "a trial with time-outs is invalid");
    assert_eq!(json(&run)["trials"].as_array().unwrap().len(), 1);
    assert!(text(&run.stderr).contains("the ladder ended at 1 threads"));
}
