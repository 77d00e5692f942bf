//! Collects the checksums of a run's files from the records that contain them.
//!
//! The journal contains the checksums of the study, the plan, additions to the plan, and each
//! `finding.json`. The journal also contains the checksums of `findings.json`, and of files that
//! were added to a trial after its end. A `finding.json` contains the checksums of its trial's
//! files, and `findings.json` repeats the checksums of all files. So a lost journal line or file
//! does not affect the verification of other files. A single changed line of the journal is
//! detected, because the lines are chained.

use crate::event::{JournalEvent, JournalRecord};
use crate::file_digests::{self, Damage, Depth, FileSum, Sums};
use crate::journal::Journal;
use crate::record::{PlanRecord, TrialFinding};
use crate::run::read_sealed;
use crate::{file, name};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Checksums of files, by path in the folder of the run.
    pub(crate) sums: Sums,
    /// Findings of the finished trials whose files are intact, by the number of the trial.
    pub(crate) findings: BTreeMap<usize, TrialFinding>,
    /// Damaged findings of trials.
    pub(crate) damages: Vec<Damage>,
    /// One sentence for each finding that has no checksum.
    pub(crate) notes: Vec<String>,
    /// True if the run has checksums. Runs of earlier versions have no checksums.
    pub(crate) summed: bool,
}

impl Ledger {
    /// Reads the checksums and the findings of the trials. `listed` contains the checksums in
    /// `findings.json`, if that file is intact.
    pub(crate) fn read(
        run: &Path,
        plan: &PlanRecord,
        journal: &Journal,
        listed: &Sums,
    ) -> Result<Ledger> {
        let mut sums = Sums::new();
        let mut added = Sums::new();
        let slug_of = |line: &JournalRecord| {
            let trial = plan.trials.get(line.trial?)?;
            Some(trial.slug.as_str())
        };
        for line in &journal.records {
            match (&line.event, slug_of(line)) {
                (
                    JournalEvent::RunPlanned { files } | JournalEvent::RunExtended { files, .. },
                    _,
                ) => sums.extend(files.clone()),
                (JournalEvent::FilesAdded { files }, _) => added.extend(files.clone()),
                (JournalEvent::TrialStarted { .. }, Some(slug)) => {
                    forget(&mut sums, slug);
                    forget(&mut added, slug);
                }
                (JournalEvent::TrialFinished { finding, .. }, Some(slug)) => {
                    sums.extend(finding.clone().map(|sum| (finding_path(slug), sum)));
                }
                _ => {}
            }
        }
        let is_finding = |path: &&String| path.ends_with(file::FINDING);
        let known = listed.iter().filter(|(path, _)| is_finding(path));
        sums.extend(known.map(|(path, sum)| (path.clone(), sum.clone())));
        let mut ledger = Ledger {
            summed: journal.chained || !listed.is_empty(),
            sums,
            ..Ledger::default()
        };
        for trial in &plan.trials {
            ledger.read_finding(run, &trial.slug, trial.index)?;
        }
        ledger.sums.append(&mut added);
        ledger.sums.extend(listed.clone());
        Ok(ledger)
    }

    fn read_finding(&mut self, run: &Path, slug: &str, index: usize) -> Result<()> {
        let path = finding_path(slug);
        let whole = run.join(name::inner_path(&path)?);
        match self.sums.get(&path) {
            Some(expected) => {
                if let Some(damage) = file_digests::damage(run, &path, expected, Depth::Bytes)? {
                    self.damages.push(damage);
                    return Ok(());
                }
            }
            None if !whole.is_file() => return Ok(()),
            None => {}
        }
        let (finding, seal): (TrialFinding, _) = read_sealed(&whole)?;
        self.summed |= !seal.files.is_empty();
        // A finding without a checksum does not count, unless a version without checksums wrote the
        // run.
        let is_vouched = self.sums.contains_key(&path);
        if !is_vouched && self.summed {
            self.notes.push(format!(
                "{} is not in the journal, so the trial does not count, and `cassay resume` \
                 repeats the trial",
                whole.display()
            ));
            return Ok(());
        }
        let files = seal.files.into_iter();
        self.sums
            .extend(files.map(|(inner, sum)| (format!("{}{inner}", prefix(slug)), sum)));
        self.findings.insert(index, finding);
        Ok(())
    }
}

/// Returns the checksum of `findings.json` from the journal. `None` if the journal does not contain
/// this checksum yet.
pub(crate) fn vouched_findings(journal: &[JournalRecord]) -> Option<FileSum> {
    let mut lines = journal.iter().rev();
    lines.find_map(|line| match &line.event {
        JournalEvent::RunFinished { findings, .. } => Some(findings.clone()),
        JournalEvent::RunStarted { .. } => Some(None),
        _ => None,
    })?
}

pub(crate) fn prefix(slug: &str) -> String {
    format!("{}/{slug}/", file::TRIALS)
}

pub(crate) fn finding_path(slug: &str) -> String {
    format!("{}{}", prefix(slug), file::FINDING)
}

/// Removes the checksums of a trial's files, because the trial will be repeated.
pub(crate) fn forget(sums: &mut Sums, slug: &str) {
    let prefix = prefix(slug);
    sums.retain(|path, _| !path.starts_with(&prefix));
}
