//! Tests damaged results, full disks and closed readers, through the program.
//!
//! The store's own tests show that the store detects a thousand kinds of damage. The tests in this
//! module show that every command reads runs through the store.

use super::{POINT, started_measuring};
use crate::program::{Lab, ProgramOutput, command};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const TWO: &str = "\
study: two
question: Is it what it was?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
data: {load: {operations: 1k}}
procedure: {sweep: {threads: [1, 2]}}
window: {warmup: 0s, measure: 1s}
";

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path))
        } else {
            _ = files.insert(path.clone(), fs::read(&path).unwrap())
        }
    }
    files
}

fn restore(as_it_was: &BTreeMap<PathBuf, Vec<u8>>) {
    for (path, bytes) in as_it_was {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn halve(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// A journal may be a pipe or a device. If a command opened such a journal, the command would wait
/// for it or read it without end.
#[test]
fn a_journal_that_is_no_file_is_not_waited_for() {
    let lab = Lab::with(TWO);
    lab.cassay(&["run", "study.yaml"]).ended_with(0);
    let run = lab.run();
    let (name, journal) = (run.path.to_str().unwrap(), run.path.join("journal.ndjson"));
    fs::remove_file(&journal).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &journal, mode).unwrap();
    lab.cassay(&["list"]).ended_with(0);
    lab.cassay(&["show", name]).ended_with(5).says(&["journal.ndjson"]);
    fs::remove_file(&journal).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &journal).unwrap();
    lab.cassay(&["list"]).ended_with(0);
    lab.cassay(&["show", name]).ended_with(5).says(&["journal.ndjson"]);
}

#[test]
fn every_command_refuses_a_damaged_run_and_resume_repairs_it() {
    let lab = Lab::with(TWO);
    lab.cassay(&["run", "study.yaml"]).ended_with(0);
    let run = lab.run();
    let name = run.path.to_str().unwrap();
    let first = run.trial(0).unwrap().unwrap().path;
    let as_it_was = files(&run.path);
    type Do<'a> = &'a dyn Fn();
    let harms: [(&str, Do<'_>); 6] = [
        ("finding.json: expected", &|| {
            fs::remove_dir_all(&first).unwrap()
        }),
        ("latency.hlog: expected", &|| {
            halve(&first.join("latency.hlog"))
        }),
        ("intervals.ndjson: expected", &|| {
            halve(&first.join("intervals.ndjson"))
        }),
        ("findings.json: expected", &|| {
            let path = run.path.join("findings.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(
                &path,
                text.replacen("\"ops_per_s\": ", "\"ops_per_s\": 9", 1),
            )
            .unwrap();
        }),
        ("plan.json: expected", &|| {
            let path = run.path.join("plan.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replacen("Is it", "../..", 1)).unwrap();
        }),
        ("findings.json: expected", &|| {
            fs::remove_file(run.path.join("findings.json")).unwrap();
        }),
    ];
    for (expected, harm) in harms {
        harm();
        for arguments in [
            &["show", name][..],
            &["show", name, "--json"],
            &["report", name, "--to", "report.html"],
            &["report", name],
            &["compare", name, name],
        ] {
            let said = lab.cassay(arguments).ended_with(5);
            said.says(&[expected, "found "]);
            assert_eq!(said.stdout, "", "{arguments:?}");
        }
        assert!(!lab.path().join("report.html").exists());
        restore(&as_it_was);
    }
    lab.cassay(&["show"]).ended_with(0);

    halve(&first.join("latency.hlog"));
    let listed = lab.cassay(&["list", "--json"]).ended_with(0).json();
    assert_eq!(listed[0]["state"], serde_json::Value::Null, "{listed:#}");
    assert!(listed[0]["error"].to_string().contains("latency.hlog"));
    let resumed = lab.cassay(&["resume"]).ended_with(0);
    resumed.says(&["cassay repeats a damaged trial: trials/", "latency.hlog"]);
    lab.cassay(&["show"]).ended_with(0);
    for (trial, starts) in [(0, 2), (1, 1)] {
        assert_eq!(lab.journaled("trial_started", Some(trial)), starts);
    }
}

#[test]
fn a_torn_line_of_the_journal_is_said_and_read_around() {
    let lab = Lab::with(POINT);
    lab.cassay(&["run", "study.yaml"]).ended_with(0);
    let run = lab.run();
    let journal = run.path.join("journal.ndjson");
    let text = fs::read_to_string(&journal).unwrap();
    let torn = text.replacen("\"event\":\"phase_started\"", "\n", 1);
    assert_ne!(text, torn);
    fs::write(&journal, torn).unwrap();
    let said = lab.cassay(&["show"]).ended_with(5);
    said.says(&["journal.ndjson line", "omits it"]);
    assert!(said.stdout.contains("op/s"), "{said}");
    lab.cassay(&["resume"]).ended_with(0);
    assert_eq!(lab.journaled("trial_started", None), 1);
    let said = lab.cassay(&["show"]).ended_with(0);
    said.says(&["journal.ndjson line"]);
}

fn into_full_disk(lab: &Lab, arguments: &[&str]) -> ProgramOutput {
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = lab.command(arguments);
    command.stdout(Stdio::from(full.unwrap()));
    ProgramOutput::from_output(command.stderr(Stdio::piped()).output().unwrap())
}

#[test]
fn a_failed_print_is_an_error_and_a_closed_pipe_is_not() {
    let lab = Lab::with(POINT);
    lab.cassay(&["run", "study.yaml"]).ended_with(0);
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["show"],
        &["show", "--json"],
        &["compare", "latest", "latest"],
        &["report"],
        &["plan", "study.yaml"],
        &["plan", "study.yaml", "--json"],
        &["workload", "list"],
        &["target", "status", "--json"],
        &["--help"],
        &["--version"],
        &["run", "study.yaml", "--json"],
    ] {
        let said = into_full_disk(&lab, arguments).ended_with(1);
        said.says(&["error: cassay could not write to stdout"]);
    }
    let mut gone = lab.command(&["show"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let said = ProgramOutput::from_output(gone.stdout(writer).output().unwrap()).ended_with(0);
    assert_eq!(said.stderr, "");
}

/// The runtime replaces a closed stdout with `/dev/null`, to which every write succeeds.
#[test]
fn a_closed_stdout_takes_nothing_and_dev_null_all() {
    let lab = Lab::new();
    for (redirection, code) in [(">&-", 1), (">/dev/null", 0), ("<>/dev/null >&0", 0)] {
        let mut shell = command("/bin/sh");
        let script = format!("exec \"$0\" workload list {redirection}");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_cassay")]);
        shell.current_dir(lab.path()).env("CASSAY_DATA", "data");
        let said = ProgramOutput::from_output(shell.output().unwrap()).ended_with(code);
        assert_eq!(
            said.stderr
                .contains("could not write to stdout, so the output is incomplete: it is closed"),
            code == 1
        );
    }
}

/// A limit on the size of files replaces a full disk, because it needs no root. Only the report is
/// larger than the limit.
#[test]
fn a_report_that_had_no_room_is_written_by_resume() {
    let lab = Lab::with(POINT);
    let mut limited = command("/bin/sh");
    let script = "trap '' XFSZ; ulimit -f 512; exec \"$0\" run study.yaml";
    limited.args(["-c", script, env!("CARGO_BIN_EXE_cassay")]);
    limited.current_dir(lab.path()).env("CASSAY_DATA", "data");
    let said = ProgramOutput::from_output(limited.output().unwrap()).ended_with(1);
    said.says(&[
        "report.html",
        "free some space, then continue with: cassay resume",
    ]);
    let run = lab.run();
    assert!(run.findings.is_some() && run.report().is_none());
    lab.cassay(&["resume"]).ended_with(0).says(&["report: ", "so no trials remain"]);
    assert!(lab.run().report().is_some());
    assert_eq!(lab.journaled("run_started", None), 1);
}

#[test]
fn a_closed_terminal_ends_a_run_as_ctrl_c_does() {
    let lab = Lab::with(TWO);
    let run = started_measuring(&lab, 0);
    run.signal(rustix::process::Signal::HUP);
    run.end().ended_with(130).says(&["cassay resume"]);
    assert_eq!(lab.journaled("run_interrupted", None), 1);
}
