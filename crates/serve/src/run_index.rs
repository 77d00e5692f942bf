//! Lists the runs of a results folder. A run is read again only if its journal or its findings have
//! changed.

use crate::watcher::lock;
use anyhow::Result;
use report::RunEntry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use store::live::RunFingerprint;
use store::record::{RequirementOutcome, left_out_words, outcome_of};
use store::{Run, RunState};

/// The runs that were read before.
#[derive(Default)]
pub(crate) struct RunIndex {
    known: Mutex<BTreeMap<PathBuf, (RunFingerprint, RunEntry)>>,
}

impl RunIndex {
    /// Returns all runs, oldest first.
    ///
    /// # Errors
    /// The results folder cannot be read.
    pub(crate) fn runs(&self, results: &Path) -> Result<Vec<RunEntry>> {
        let mut runs = Vec::new();
        let mut known = lock(&self.known);
        let mut still = BTreeMap::new();
        for name in store::run_names(results)? {
            let path = results.join(&name);
            let fingerprint = store::live::fingerprint(&path);
            let entry = match known.remove(&path) {
                // A run that was not finished may have ended without a change of its files.
                Some((before, entry)) if before == fingerprint => {
                    let is_running = entry.verdict.is_none() && store::live::is_running(&path);
                    with_state(entry, is_running)
                }
                _ => read(&path, &name),
            };
            runs.push(entry.clone());
            still.insert(path, (fingerprint, entry));
        }
        *known = still;
        runs.sort_by(|a, b| (order(&a.stamp), &a.study).cmp(&(order(&b.stamp), &b.study)));
        Ok(runs)
    }
}

/// Returns the sort key of a stamp: the second, and the number of the run in this second.
fn order(stamp: &str) -> (&str, u32) {
    match stamp.split_once('-') {
        Some((second, number)) => (second, number.parse().unwrap_or(u32::MAX)),
        None => (stamp, 1),
    }
}

fn with_state(mut entry: RunEntry, is_running: bool) -> RunEntry {
    if entry.verdict.is_none() && entry.state != DAMAGED {
        let state = if is_running {
            RunState::Running
        } else {
            RunState::Interrupted
        };
        state.name().clone_into(&mut entry.state);
        entry.is_running = is_running;
    }
    entry
}

/// State of a run that cannot be read.
const DAMAGED: &str = "damaged";

fn read(path: &Path, name: &str) -> RunEntry {
    let (study, stamp) = name.split_once('/').unwrap_or((name, ""));
    let entry = RunEntry {
        study: study.to_owned(),
        stamp: stamp.to_owned(),
        state: DAMAGED.to_owned(),
        ..RunEntry::default()
    };
    let run = match Run::look(path) {
        Ok(run) => run,
        Err(error) => {
            let remark = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
            return RunEntry { remark, ..entry };
        }
    };
    let mut remarks: Vec<String> = left_out_words(&run.journal).into_iter().collect();
    let findings = run.findings.as_ref();
    match findings.and_then(|findings| outcome_of(&findings.requirements)) {
        Some(RequirementOutcome::Missed) => remarks.push("a requirement missed".to_owned()),
        Some(RequirementOutcome::Inconclusive) => {
            remarks.push("requirements inconclusive".to_owned());
        }
        Some(RequirementOutcome::Met) => remarks.push("requirements met".to_owned()),
        None => {}
    }
    RunEntry {
        state: run.state.name().to_owned(),
        is_running: run.state == RunState::Running,
        verdict: findings.map(|findings| findings.verdict),
        trials_finished: run.finished_trials().len(),
        trials_planned: run.plan.trials.len(),
        ops_per_s: run.trial_findings().iter().map(|trial| trial.all.ops_per_s).collect(),
        remark: remarks.join("; "),
        ..entry
    }
}
