//! Tests runs that end early. Finished trials stay finished, and `resume` runs the other trials
//! later.

use super::started_measuring;
use crate::program::{Lab, Started};
use serde_json::Value;

const LADDER: &str = "\
study: ladder
question: Can it be taken up again?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
data: {load: {operations: 1k}}
procedure: {sweep: {threads: [1, 2, 4]}}
window: {warmup: 0s, measure: 1s}
";

/// Every request of `slow` times out. Its ladder ends after the first of its three trials, and
/// cassay omits the trials 1 and 2 of the plan. The trials of `fine` come after this ladder.
const ENDS_EARLY: &str = "\
study: ladder
question: Is what was left out left out again?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
procedure: {sweep: {threads: [1, 2, 4], until: timeout}}
variants:
  slow: {target: {null: {latency: 50ms}}, client: {timeout: 20ms}}
  fine: {}
repeat: {order: sequential}
window: {warmup: 0s, measure: 1s}
";

/// Window lengths in seconds. If a busy machine delivers the signal only after the last window, the
/// test tries the next length.
const WINDOWS_S: [u32; 4] = [1, 5, 25, 125];

/// Ends a run of [`LADDER`] in its second trial. Returns the lab, and the result of `end`.
fn ended_in_its_second_trial<T>(end: impl Fn(Started) -> T) -> (Lab, T) {
    ended_in(LADDER, (1, 1), end)
}

/// Starts a run of `study`, and ends it in the trial with this index, after `before` trials have
/// finished. Returns the lab, and the result of `end`.
fn ended_in<T>(
    study: &str,
    (index, before): (usize, usize),
    end: impl Fn(Started) -> T,
) -> (Lab, T) {
    for seconds in WINDOWS_S {
        let lab = Lab::with(&study.replace("measure: 1s", &format!("measure: {seconds}s")));
        let said = end(started_measuring(&lab, index));
        let run = lab.run();
        let finished = run.trial_findings().len();
        if run.state == store::RunState::Interrupted && finished == before {
            return (lab, said);
        }
    }
    panic!("no signal came within {WINDOWS_S:?} s");
}

/// Checks the state of an interrupted run whose first trial was finished. Returns the finding of
/// this trial.
fn interrupted(lab: &Lab) -> Value {
    let list = lab.cassay(&["list", "--json"]).ended_with(0).json();
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    assert_eq!(list[0]["state"], "interrupted", "{list:#}");
    assert_eq!(list[0]["trials_finished"], 1, "{list:#}");
    let run = lab.run();
    assert!(run.findings.is_none() && run.report().is_none());
    let shown = lab.cassay(&["show"]).ended_with(0).stdout;
    assert!(shown.contains("interrupted"), "{shown}");
    serde_json::to_value(&run.trial_findings()[0]).unwrap()
}

/// Resumes the run, and checks that only the remaining trials were run.
fn resumed(lab: &Lab, first: &Value) {
    let findings = lab.cassay(&["resume", "--json"]).ended_with(0).json();
    let trials = findings["trials"].as_array().unwrap();
    let points: Vec<_> = trials.iter().map(|t| t["point"]["threads"].as_f64()).collect();
    assert_eq!(points, [Some(1.0), Some(2.0), Some(4.0)]);
    assert_eq!(&trials[0], first, "what was found before stays as it was");
    assert_eq!(lab.journaled("run_started", None), 2);
    for (trial, starts) in [(0, 1), (1, 2), (2, 1)] {
        assert_eq!(lab.journaled("trial_started", Some(trial)), starts);
        assert_eq!(lab.journaled("trial_finished", Some(trial)), 1);
    }
    let run = lab.run();
    assert_eq!(run.state, store::RunState::Finished);
    assert!(run.report().is_some());
    // The interrupted trial was repeated. So the trial has the intervals of one window, with
    // increasing times.
    let trial = run.trial(1).unwrap().unwrap();
    let intervals = trial.intervals().unwrap();
    let starts: Vec<f64> = intervals
        .map(Result::unwrap)
        .filter(|interval| interval.phase == "measure" && interval.kind == "write")
        .map(|interval| interval.t_s)
        .collect();
    assert!(
        starts.windows(2).all(|pair| pair[0] < pair[1]),
        "{starts:?}"
    );
    lab.cassay(&["resume"]).ended_with(0).says(&["so no trials remain"]);
}

#[test]
fn ctrl_c_ends_with_130_and_resume_does_the_rest() {
    let (lab, said) = ended_in_its_second_trial(|run| {
        run.interrupt();
        run.end()
    });
    let said = said.ended_with(130);
    said.says(&[
        "interrupted: cassay stopped all processes that it started",
        "cassay resume",
    ]);
    assert_eq!(said.stdout, "", "there is no answer yet");
    assert_eq!(lab.journaled("run_interrupted", None), 1);
    let first = interrupted(&lab);
    resumed(&lab, &first);
}

#[test]
fn kill_9_leaves_a_run_that_resume_takes_up() {
    let (lab, ()) = ended_in_its_second_trial(Started::kill);
    assert_eq!(lab.journaled("run_interrupted", None), 0);
    let first = interrupted(&lab);
    resumed(&lab, &first);
}

/// The end of a ladder is on disk, and a resumed run replays this end. So the resumed run does not
/// run trials that were omitted, and does not report them as missing.
#[test]
fn a_ladder_that_ended_before_kill_9_stays_ended() {
    let (lab, ()) = ended_in(ENDS_EARLY, (4, 2), Started::kill);
    let findings = lab.cassay(&["resume", "--json"]).ended_with(3).json();
    let trials = findings["trials"].as_array().unwrap();
    let indexes: Vec<_> = trials.iter().map(|trial| trial["index"].as_u64()).collect();
    assert_eq!(indexes, [Some(0), Some(3), Some(4), Some(5)]);
    for left_out in [1, 2] {
        assert_eq!(lab.journaled("trial_started", Some(left_out)), 0);
        assert_eq!(lab.journaled("trial_skipped", Some(left_out)), 2);
    }
    assert_eq!(lab.journaled("trial_started", Some(0)), 1);
    lab.cassay(&["resume"]).ended_with(0).says(&["so no trials remain"]);
}

/// cassay does not resume a run that another process is still writing. If another version of cassay
/// planned a run and its plan differs from today's plan of the study, cassay does not resume it
/// either.
#[test]
fn a_running_run_and_one_whose_plan_was_changed_are_not_resumed() {
    let lab = Lab::with(&LADDER.replace("measure: 1s", "measure: 600s"));
    let run = started_measuring(&lab, 0);
    let listed = lab.cassay(&["list", "--json"]).ended_with(0).json();
    assert_eq!(listed[0]["state"], "running");
    lab.cassay(&["resume"]).ended_with(1).says(&["error: "]);
    run.kill();
    let run = lab.run();
    let mut plan = run.plan.clone();
    plan.cassay = "0.0.9+0123456789ab".to_owned();
    plan.trials[2].point = Some(store::record::Point::Threads(8));
    let results = lab.path().join("results");
    let study = run.study_yaml().unwrap();
    drop(store::RunWriter::create(&results, &study, &plan).unwrap());
    let said = lab.cassay(&["resume"]).ended_with(1);
    said.says(&[
        "cassay 0.0.9+0123456789ab planned this run",
        "run the study again",
        "cassay run",
    ]);
}
