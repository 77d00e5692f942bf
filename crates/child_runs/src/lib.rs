//! The only crate that decides which runs follow the trials of a run: experiments, tuning, profiled
//! trials.
//!
//! Each of these runs has a folder in the folder of its parent and a report, and cassay can resume
//! it. The engine conducts them.

mod experiments;
mod profiles;
mod starter;
mod tuning;

pub use starter::{ChildResult, ChildRuns, ChildRunsEnd};

use anyhow::Result;
use store::record::FindingsRecord;

/// Tests the cause of the limit by experiments, tunes settings, and profiles the nodes in extra
/// trials, if the study requests these steps. Adds the results to the findings.
///
/// # Errors
/// The files of a run cannot be written. Failures of a run's target are part of the results.
pub fn follow(runs: &mut ChildRuns<'_>, findings: &mut FindingsRecord) -> Result<ChildRunsEnd> {
    for step in [experiments::test, tuning::tune, profiles::profile] {
        if step(runs, findings)? == ChildRunsEnd::Interrupted {
            return Ok(ChildRunsEnd::Interrupted);
        }
    }
    Ok(ChildRunsEnd::Done)
}
