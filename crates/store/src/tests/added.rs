//! Blocks that are added to a run which has come to its end.

use super::{findings, plan, trial};
use crate::record::{AddedRecord, FORMAT, TrialFinding};
use crate::{Run, RunWriter};
use std::fs;

/// What is added stands beside the plan, which stays what it was; the journal vouches for it.
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
    // A changed promise is no promise.
    let added = path.join("added-2.json");
    let text = fs::read_to_string(&added).unwrap();
    fs::write(&added, text.replace("\"blocks\": 2", "\"blocks\": 9")).unwrap();
    let said = format!("{:#}", Run::open(&path).unwrap_err());
    assert!(said.contains("added-2.json"), "{said}");
}
