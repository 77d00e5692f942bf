//! The run from which tables are built.

use crate::head::Head;
use anyhow::Result;
use std::collections::BTreeMap;
use store::record::TrialFinding;
use store::{Run, Trial};

/// Data from which all tables are built.
pub(super) struct Source<'a> {
    pub(super) run: &'a Run,
    /// Trials that wrote records, in the plan's order.
    pub(super) trials: &'a [Trial],
    /// Findings of the trials that have ended, by number.
    pub(super) findings: &'a BTreeMap<usize, TrialFinding>,
}

impl Source<'_> {
    /// Returns the leading columns of a trial's rows.
    pub(super) fn head(&self, trial: &Trial) -> Result<Head> {
        Head::from_trial(trial, self.findings.get(&trial.record.index))
    }
}
