//! The run from which tables are built.

use crate::head::Head;
use anyhow::Result;
use std::collections::BTreeMap;
use store::record::TrialFinding;
use store::{Run, Trial};

pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    /// Trials that wrote records, in the order of the plan.
    pub(super) trials: &'a [Trial],
    /// Findings of the trials that have ended, by the number of the trial.
    pub(super) findings: &'a BTreeMap<usize, TrialFinding>,
}

impl Source<'_> {
    pub(super) fn head(&self, trial: &Trial) -> Result<Head> {
        Head::from_trial(trial, self.findings.get(&trial.record.index))
    }
}
