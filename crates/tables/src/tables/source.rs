//! The run that tables are made of.

use crate::head::Head;
use anyhow::Result;
use std::collections::BTreeMap;
use store::record::TrialFinding;
use store::{Run, Trial};

/// What all tables are made of.
pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    /// Those that have left records, in the plan's order.
    pub(super) trials: &'a [Trial],
    /// What those found that have ended, by number.
    pub(super) findings: &'a BTreeMap<usize, TrialFinding>,
}

impl Source<'_> {
    /// What the rows of a trial begin with.
    pub(super) fn head(&self, trial: &Trial) -> Result<Head> {
        Head::of_trial(trial, self.findings.get(&trial.record.index))
    }
}
