//! Tests the user's command at the end of a run.

use super::POINT;
use crate::program::{Lab, ProgramOutput};
use std::fs;

/// Runs the study with a command, and returns the output and the exit code of the run alone.
fn run(lab: &Lab, options: &[&str]) -> (ProgramOutput, i32) {
    let mut arguments = vec!["run", "study.yaml"];
    arguments.extend(options);
    let said = lab.cassay(&arguments);
    // The verdict of a short run depends on the machine.
    let of_run = fs::read_to_string(lab.path().join("exit")).expect("the command ran");
    (said, of_run.trim().parse().expect("a number"))
}

fn journal(lab: &Lab) -> String {
    fs::read_to_string(lab.run().path.join("journal.ndjson")).expect("a journal")
}

#[test]
fn the_command_gets_the_run_and_leaves_its_output() {
    let lab = Lab::with(POINT);
    let command = "printf %s \"$CASSAY_EXIT\" > exit; test -f \"$CASSAY_REPORT\" && \
                   echo \"$CASSAY_STUDY is $CASSAY_VERDICT\" && ls \"$CASSAY_RUN\"";
    let (said, of_run) = run(&lab, &["--then", command]);
    said.ended_with(of_run).says(&["point is ", "findings.json"]);
    let journal = journal(&lab);
    let line = journal.lines().find(|line| line.contains("end_command")).expect("a line");
    assert!(
        line.contains("point is ") && !line.contains("failure"),
        "{line}"
    );
    let shown = lab.cassay(&["show", "latest"]);
    assert!(shown.stdout.contains("What does one point say?"), "{shown}");
}

#[test]
fn a_failed_command_is_a_warning_unless_it_is_required() {
    let lab = Lab::with(POINT);
    let command = "printf %s \"$CASSAY_EXIT\" > exit; echo sorry >&2; exit 7";
    let (said, of_run) = run(&lab, &["--then", command]);
    let said = said.ended_with(of_run);
    said.says(&["sorry", "the command of --then failed: exit status: 7"]);
    assert!(journal(&lab).contains("\"failure\":\"exit status: 7\""));

    let (said, of_run) = run(&lab, &["--then", command, "--then-required"]);
    said.ended_with(if of_run == 0 { 1 } else { of_run });

    let slow = "printf %s \"$CASSAY_EXIT\" > exit; sleep 100";
    let (said, of_run) = run(&lab, &["--then", slow, "--then-within", "300ms"]);
    said.ended_with(of_run).says(&["did not end within 0.3 s"]);
    lab.cassay(&["run", "study.yaml", "--then-required"]).ended_with(2);
}
