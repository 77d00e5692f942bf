//! Tests a grid. The plan describes the grid. cassay runs it as a matrix and a sweep, and shows the
//! results in rows and columns.

use crate::program::Lab;

#[test]
fn a_grid_is_run_and_shown_and_said_in_the_plan() {
    let lab = Lab::with(
        "study: grid\nquestion: What do level and size do?\ntarget: {null: {capacity: 200}}\n\
         workload: {use: standard1, mix: {write: 1}}\nprocedure: {grid: {consistency: [ONE, \
         QUORUM], payload: [170B, 340B], threads: [1, 2]}}\nwindow: {warmup: 0s, measure: 1s}\n",
    );
    let planned = lab.cassay(&["plan", "study.yaml"]).ended_with(0);
    let note = "a grid of consistency (ONE, QUORUM) × payload (170B, 340B) × threads (1, 2)";
    assert!(planned.stderr.contains(note), "{}", planned.stderr);
    assert!(planned.stdout.contains("8 trials"), "{}", planned.stdout);
    let findings = lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab).json();
    let trials = findings["trials"].as_array().expect("trials");
    assert_eq!(
        (trials.len(), &trials[0]["variant"]),
        (8, &"ONE-170B".into())
    );
    let shown = lab.cassay(&["show"]).stdout;
    for part in [
        "threads by consistency with payload 170B",
        "threads by consistency with payload 340B",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}
