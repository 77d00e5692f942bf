//! Tests endurance runs, which apply one load for hours: the lengths of their windows, and the
//! studies that cassay refuses.

use super::*;
use analysis::procedure::Role;

fn study(rest: &str) -> Result<Study, String> {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n{rest}\n"
    );
    resolve("s", &text, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
}

#[test]
fn turns_are_planned_with_windows_and_names_of_their_own() {
    let keys = "procedure: {endurance: {rate: 500, for: 3m, beside: [30s, 40s]}}\n\
                window: {warmup: 2s}\nrepeat: {blocks: 2}";
    let study = study(keys).unwrap();
    let plan = crate::plan::plan(&study).unwrap();
    let slugs: Vec<&str> = plan.trials.iter().map(|turn| turn.slug.as_str()).collect();
    assert_eq!(
        slugs[..3],
        [
            "00-rate-500-beside-1-block-1",
            "01-rate-500-beside-2-block-1",
            "02-rate-500-endurance-block-1"
        ]
    );
    let lengths: Vec<f64> = plan
        .trials
        .iter()
        .flat_map(|turn| &turn.phases)
        .filter(|phase| phase.kind == crate::plan::PhaseKind::Measure)
        .map(|phase| phase.seconds)
        .collect();
    assert_eq!(lengths, [30.0, 40.0, 180.0, 30.0, 40.0, 180.0]);
    let last = plan.trials.last().unwrap();
    assert_eq!((last.role, last.certain), (Role::Endurance, true));
    let settings = last.settings(&study.variants[0].settings);
    assert_eq!(settings.window.measure_ns, 180 * SECOND_NS);
    assert!(last.phases.iter().any(|phase| phase.work.to_string().ends_with("op/s, 3m")));
    let notes = study.notes.join("; ");
    assert!(
        notes.contains("growth of the memory of a node's process (`probes.processes`)"),
        "{notes}"
    );
    let asked = study.variants[0].settings.procedure.endurance().unwrap();
    assert_eq!(asked.within, 0.04);
}

#[test]
fn hours_that_make_no_sense_are_refused_with_what_to_do() {
    let with = |keys: &str| study(&format!("procedure: {{endurance: {{{keys}}}}}"));
    for (keys, expected) in [
        ("threads: 4", "`procedure.endurance.for` is missing"),
        ("threads: 4, for: 5s", "the minimum is 20s"),
        ("threads: 4, for: 30500ms", "it must be whole seconds"),
        (
            "threads: 4, for: 30s, beside: [1500ms]",
            "it must be whole seconds",
        ),
        ("threads: 4, for: 30s, beside: [1m]", "longer than `for`"),
        ("threads: 4, for: 30s, within: 90%", "the maximum is 50%"),
        ("threads: 4, rate: 5, for: 30s", "both"),
        ("for: 30s", "threads"),
        (
            "threads: 4, for: 30s, beside: [1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s, 1s]",
            "has 9 windows; the maximum is 8",
        ),
    ] {
        let said = with(keys).unwrap_err();
        assert!(said.contains(expected), "{keys}: {said}");
    }
    let said = study("procedure: {endurance: {threads: 4, for: 30s}}\nwindow: {measure: 10s}");
    assert!(said.unwrap_err().contains("`for` and `beside` set the lengths"));
}

#[test]
fn a_capacity_that_drifts_is_one() {
    let with = |null: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{{null}}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 1}}}}\n"
        );
        resolve("s", &text, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
    };
    let found = with("capacity: 100, drift: {to: 90%, over: 1m}").unwrap();
    let Target::Null(null) = &found.variants[0].settings.target else {
        panic!("{found:?}");
    };
    let drift = null.drift.unwrap();
    assert_eq!((drift.to, drift.over.as_secs()), (0.9, 60));
    let said = with("drift: {to: 90%, over: 1m}").unwrap_err();
    assert!(said.contains("requires `capacity`"), "{said}");
    let said = with("capacity: 100, drift: {to: 90%}").unwrap_err();
    assert!(said.contains("over"), "{said}");
}
