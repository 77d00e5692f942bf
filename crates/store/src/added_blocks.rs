//! Blocks that were added to a finished run.
//!
//! `plan.json` does not change once the run has begun. Added blocks are in separate files:
//! `added-1.json`, `added-2.json`, …. cassay first writes the file and then a line in the journal,
//! which announces the file and contains its checksum. A reader of the run sees the trials of all
//! these files.

use crate::event::JournalEvent;
use crate::file;
use crate::file_digests::{self, Damage, DamagedRun, Depth, Sums};
use crate::journal::Journal;
use crate::record::{PlanRecord, TrialRecord};
use crate::run::read_json;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `added-N.json`: trials that were added to the plan of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddedRecord {
    /// Format number of the record: 1.
    pub format: u32,
    /// Version of cassay that added the blocks.
    pub cassay: String,
    /// Number of blocks that were added.
    pub blocks: usize,
    /// Trials of the added blocks. Their numbers continue the numbers of the existing trials.
    pub trials: Vec<TrialRecord>,
}

pub(crate) fn next_file(journal: &Journal) -> String {
    format!("added-{}.json", added(journal).count() + 1)
}

/// Returns, for each addition in order, the number of its blocks and the checksums of its files.
pub(crate) fn added(journal: &Journal) -> impl Iterator<Item = (usize, &Sums)> {
    journal.records.iter().filter_map(|line| match &line.event {
        JournalEvent::RunExtended { blocks, files } => Some((*blocks, files)),
        _ => None,
    })
}

/// Returns the plan of a run with all additions. Fails if the plan, the study or an addition does
/// not match its checksum in the journal.
pub(crate) fn whole_plan(run: &Path, journal: &Journal) -> Result<PlanRecord> {
    let mut records = journal.records.iter();
    let planned = records.find_map(|line| match &line.event {
        JournalEvent::RunPlanned { files } => Some(files),
        _ => None,
    });
    let later = added(journal).map(|(_, files)| files);
    let mut damages: Vec<Damage> = Vec::new();
    for (file, sum) in planned.into_iter().chain(later).flatten() {
        damages.extend(file_digests::damage(run, file, sum, Depth::Bytes)?);
    }
    if !damages.is_empty() {
        return Err(DamagedRun {
            run: run.to_owned(),
            files: damages,
            resumable: false,
        }
        .into());
    }
    let mut plan: PlanRecord = read_json(&run.join(file::PLAN))?;
    for name in added(journal).flat_map(|(_, files)| files.keys()) {
        let added: AddedRecord = read_json(&run.join(crate::name::inner_path(name)?))?;
        plan.trials.extend(added.trials);
    }
    Ok(plan)
}
