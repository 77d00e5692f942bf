//! Tests blocks that are added to a finished run.

use super::{findings, plan, trial};
use crate::record::{
    AddedRecord, FORMAT, FindingsRecord, RequirementOutcome, RequirementRecord, TrialFinding,
    Verdict,
};
use crate::{Run, RunWriter};
use std::fs;

/// The files of additions are in the same folder as the plan, and the plan does not change. The
/// journal contains the checksums of these files.
#[test]
fn blocks_are_added_to_a_plan_that_stays_what_it_was() {
    let results = tempfile::tempdir().unwrap();
    let mut run = RunWriter::create(results.path(), "study: first\n", &plan("first")).unwrap();
    let finding = TrialFinding::default();
    for index in 0..2 {
        run.finish_trial(index, &trial(index).slug, &finding).unwrap();
    }
    run.finish(&findings(crate::record::Verdict::Valid), "0.0.0", None).unwrap();
    let path = run.path().to_owned();
    drop(run);
    let before = fs::read(path.join("plan.json")).unwrap();
    for (number, index) in [(1, 2), (2, 3)] {
        let mut run = RunWriter::resume(&path).unwrap();
        let added = AddedRecord {
            format: FORMAT,
            cassay: "0.0.0".to_owned(),
            blocks: number,
            trials: vec![trial(index)],
        };
        run.extend(&added).unwrap();
        run.finish_trial(index, &trial(index).slug, &finding).unwrap();
        run.finish(&findings(crate::record::Verdict::Valid), "0.0.0", None).unwrap();
    }
    assert_eq!(fs::read(path.join("plan.json")).unwrap(), before);
    let read = Run::open(&path).unwrap();
    assert_eq!(read.added, [1, 2]);
    let slugs: Vec<&str> = read.plan.trials.iter().map(|t| t.slug.as_str()).collect();
    assert_eq!(slugs.len(), 4);
    assert_eq!(slugs[3], trial(3).slug);
    assert_eq!(read.finished_trials(), [0, 1, 2, 3]);
    let last = crate::last_finished(results.path(), "first").unwrap();
    assert_eq!(last.stamp, read.stamp);
    assert!(crate::last_finished(results.path(), "none").is_none());
    // cassay refuses to open a run if an addition was changed.
    let added = path.join("added-2.json");
    let text = fs::read_to_string(&added).unwrap();
    fs::write(&added, text.replace("\"blocks\": 2", "\"blocks\": 9")).unwrap();
    let said = format!("{:#}", Run::open(&path).unwrap_err());
    assert!(said.contains("added-2.json"), "{said}");
}

/// Creates a run of a study whose requirement has this outcome. Returns the stamp of the run.
fn ended(
    results: &std::path::Path,
    verdict: Verdict,
    outcome: Option<RequirementOutcome>,
) -> String {
    let mut run = RunWriter::create(results, "study: first\n", &plan("first")).unwrap();
    let requirements = outcome.map(|outcome| RequirementRecord {
        outcome,
        ..RequirementRecord::default()
    });
    let found = FindingsRecord {
        requirements: requirements.into_iter().collect(),
        ..findings(verdict)
    };
    run.finish(&found, "0.0.0", None).unwrap();
    Run::open(run.path()).unwrap().stamp
}

/// In an earlier version, a run that missed a requirement became the baseline of the next run. So
/// cassay reported a regression only once, and later runs passed.
#[test]
fn the_last_run_that_met_its_requirements_is_the_next_baseline() {
    use RequirementOutcome::{Inconclusive, Met, Missed};
    let results = tempfile::tempdir().unwrap();
    let of = |before: Option<&str>| {
        let (run, well) = crate::last_good(results.path(), "first", before)?;
        Some((run.stamp, well))
    };
    assert_eq!(of(None), None);
    ended(results.path(), Verdict::Valid, Some(Missed));
    assert_eq!(of(None), None, "one that missed is not a measure");
    let inconclusive = ended(results.path(), Verdict::Suspect, Some(Inconclusive));
    assert_eq!(
        of(None),
        Some((inconclusive.clone(), crate::DidWell::MissedNone))
    );
    let met = ended(results.path(), Verdict::Valid, Some(Met));
    for (verdict, outcome) in [
        (Verdict::Valid, Missed),
        (Verdict::Invalid, Met),
        (Verdict::Valid, Inconclusive),
    ] {
        ended(results.path(), verdict, Some(outcome));
        assert_eq!(
            of(None),
            Some((met.clone(), crate::DidWell::Met)),
            "{outcome}"
        );
    }
    let none = ended(results.path(), Verdict::Valid, None);
    assert_eq!(of(None), Some((none.clone(), crate::DidWell::Met)));
    // A run cannot have itself or a later run as its baseline.
    assert_eq!(of(Some(&none)), Some((met.clone(), crate::DidWell::Met)));
    assert_eq!(
        of(Some(&met)),
        Some((inconclusive, crate::DidWell::MissedNone))
    );
}
