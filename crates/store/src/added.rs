//! Blocks that were added to a run which had come to its end.
//!
//! `plan.json` stays what it was when the run began. What is added stands in a file of its own,
//! `added-1.json`, `-2`, …, written before the journal says so and vouched for by that line. Who
//! reads a run sees the trials of both.

use crate::event::JournalEvent;
use crate::file;
use crate::journal::Journal;
use crate::record::{PlanRecord, TrialRecord};
use crate::run::read_json;
use crate::sums::{self, Damage, Damaged, Depth, Sums};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// `added-N.json`: trials that were added to the plan of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AddedRecord {
    /// [`crate::record::FORMAT`].
    pub format: u32,
    /// Version of cassay that added them.
    pub cassay: String,
    /// How many blocks they are.
    pub blocks: usize,
    /// The trials, which go on counting where those before them end.
    pub trials: Vec<TrialRecord>,
}

/// The file of the next blocks that are added.
pub(crate) fn next_file(journal: &Journal) -> String {
    format!("added-{}.json", added(journal).count() + 1)
}

/// How many blocks were added each time, in their order, with the files that say which.
pub(crate) fn added(journal: &Journal) -> impl Iterator<Item = (usize, &Sums)> {
    journal.records.iter().filter_map(|line| match &line.event {
        JournalEvent::RunExtended { blocks, files } => Some((*blocks, files)),
        _ => None,
    })
}

/// The plan of a run with all that was added to it. It and the study are what the journal says, or
/// nothing is read at all.
pub(crate) fn whole_plan(run: &Path, journal: &Journal) -> Result<PlanRecord> {
    let mut records = journal.records.iter();
    let planned = records.find_map(|line| match &line.event {
        JournalEvent::RunPlanned { files } => Some(files),
        _ => None,
    });
    let later = added(journal).map(|(_, files)| files);
    let mut damages: Vec<Damage> = Vec::new();
    for (file, sum) in planned.into_iter().chain(later).flatten() {
        damages.extend(sums::damage(run, file, sum, Depth::Bytes)?);
    }
    if !damages.is_empty() {
        return Err(Damaged {
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
