//! Reads a run of this version or an older one. The run may be finished, running or interrupted.
//!
//! Invariants: a run can be opened with the files that exist, and every completed file matches its
//! checksum. If a file is damaged, reading ends with an error that names the file. The reader skips
//! and reports a damaged line of the journal, because the findings are in other files. It reads
//! runs of versions without checksums without verification, and reports this.

mod raw;
mod trial;

pub use trial::{HistogramKind, Trial};

use crate::added_blocks;
use crate::event::{JournalEvent, JournalRecord};
use crate::file;
use crate::file_digests::{self, Damage, DamagedRun, Depth, FileSum, Sums};
use crate::journal::Journal;
use crate::ledger::{self, Ledger};
use crate::name::Name;
use crate::record::{FORMAT, FileDigestRecord, FindingsRecord, PlanRecord, TrialFinding};
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use raw::Raw;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};

measure::word_enum! {
    /// State of a run.
    pub enum RunState {
        /// The run has findings.
        Finished = "finished",
        /// A process is writing the run.
        Running = "running",
        /// The run was stopped before it had findings. It can be resumed.
        Interrupted = "interrupted",
    }
}

/// A run on disk, with verified files.
#[derive(Clone, Debug)]
pub struct Run {
    /// Folder of the run.
    pub path: PathBuf,
    /// Stamp of the run, which is the name of the folder.
    pub stamp: String,
    /// State of the run when it was opened.
    pub state: RunState,
    /// Plan of the run, including trials that were added later.
    pub plan: PlanRecord,
    /// Number of blocks in each addition, in order of time.
    pub added: Vec<usize>,
    /// Records of the journal, in order of time.
    pub journal: Vec<JournalRecord>,
    /// Findings of the run. `None` unless the run is finished.
    pub findings: Option<FindingsRecord>,
    /// Version of cassay that wrote the findings. Empty if the run has no findings, or if they do
    /// not contain the version.
    pub findings_by: String,
    /// Sentences about skipped lines, and about files that cassay could not verify.
    pub notes: Vec<String>,
    /// True if lines of the journal are damaged and no resume has recorded the damage.
    pub is_journal_damaged: bool,
    /// True if the raw lines are too large to be read for a page. Pages then use the overviews
    /// instead.
    pub is_long: bool,
    ledger: Ledger,
}

/// A possibly damaged run, opened for a resume. The resume keeps the intact files, and repeats the
/// work that produced the damaged files.
#[derive(Clone, Debug)]
pub struct SalvagedRun {
    /// The run. It has no findings if the findings are damaged, or if files that they depend on are
    /// damaged.
    pub run: Run,
    /// Findings of the finished trials whose files are intact, by the number of the trial.
    pub whole: BTreeMap<usize, TrialFinding>,
    /// Files of the run that are damaged.
    pub damages: Vec<Damage>,
}

impl Run {
    /// Opens the run in the folder `path` (or the folder of the file `path`), and compares every
    /// byte of its completed files with the checksums. In a long run ([`Run::is_long`]), compares
    /// only the files that a page uses, and the lengths of the raw lines.
    ///
    /// # Errors
    /// The path is not a run, or the run is damaged ([`DamagedRun`]).
    pub fn open(path: &Path) -> Result<Run> {
        Run::read(path, Depth::Shown)?.whole()
    }

    /// Opens the run for a list. Compares every byte of the files that a list shows, and only the
    /// lengths of all other files.
    pub fn look(path: &Path) -> Result<Run> {
        Run::read(path, Depth::Lengths)?.whole()
    }

    /// Opens the run for a resume, even if the run is damaged. Only its study and plan must be
    /// intact.
    ///
    /// # Errors
    /// The path is not a run, or its study or plan is damaged ([`DamagedRun`]).
    pub fn salvage(path: &Path) -> Result<SalvagedRun> {
        Run::read(path, Depth::Bytes)
    }

    /// Reads a run in four steps: 1. Find the run. 2. Verify the plan and the study against the
    /// journal. 3. Verify the findings against the journal. 4. Collect the other checksums, and
    /// compare the files with them.
    fn read(path: &Path, depth: Depth) -> Result<SalvagedRun> {
        let path = locate(path)?;
        let journal = Journal::read(&path.join(file::JOURNAL))?;
        let plan = added_blocks::whole_plan(&path, &journal)?;
        let added = added_blocks::added(&journal).map(|(blocks, _)| blocks).collect();
        let mut damages = Vec::new();
        let (findings, mut listed) = (read_findings(&path, &journal, &mut damages)?, Sums::new());
        let (findings, findings_by) = match findings {
            Some((findings, seal)) => {
                listed = seal.files;
                (Some(findings), seal.cassay)
            }
            None => (None, String::new()),
        };
        let mut ledger = Ledger::read(&path, &plan, &journal, &listed)?;
        if ledger.summed && !journal.chained {
            damages.push(Damage {
                file: file::JOURNAL.to_owned(),
                expected: "the lines of a run whose trials have checksums".to_owned(),
                seen: "none of them".to_owned(),
            });
        }
        damages.append(&mut ledger.damages);
        let raw = Raw::read(&path, &plan, &ledger.sums)?;
        for (file, expected) in &ledger.sums {
            // The findings of trials were already compared when they were read, so they are skipped
            // here.
            if !file.ends_with(file::FINDING) {
                damages.extend(file_digests::damage(
                    &path,
                    file,
                    expected,
                    raw.depth(depth, file),
                )?);
            }
        }
        let whole = ledger
            .findings
            .iter()
            .filter(|(index, _)| {
                let prefix = ledger::prefix(&plan.trials[**index].slug);
                !damages.iter().any(|damage| damage.file.starts_with(&prefix))
            })
            .map(|(index, found)| (*index, found.clone()))
            .collect();
        let (mut notes, is_journal_damaged) = notes(&path, &journal, ledger.summed, &plan);
        notes.extend(raw.note(depth));
        // A process that is writing the run writes files before the journal lists them, so remarks
        // about such files would be wrong.
        if state(&path, findings.is_some()) != RunState::Running {
            notes.append(&mut ledger.notes);
        }
        let run = Run {
            stamp: stamp_of(&path),
            state: state(&path, findings.is_some()),
            plan,
            added,
            journal: journal.records,
            findings: findings.filter(|_| damages.is_empty()),
            findings_by,
            notes,
            is_journal_damaged,
            is_long: raw.is_long(),
            path,
            ledger,
        };
        Ok(SalvagedRun {
            run,
            whole,
            damages,
        })
    }

    /// Returns the run's copy of the study, in the form in which the user wrote it.
    pub fn study_yaml(&self) -> Result<String> {
        let path = self.path.join(file::STUDY);
        foreign::text(FileKind::Study, &path).with_context(|| format!("read {}", path.display()))
    }

    /// Returns the path of the HTML report. `None` if the report does not exist.
    pub fn report(&self) -> Option<PathBuf> {
        Some(self.path.join(file::REPORT)).filter(|path| path.exists())
    }

    /// Returns the trials that have begun, in the order of the plan.
    pub fn trials(&self) -> Result<Vec<Trial>> {
        let folder = self.path.join(file::TRIALS);
        let mut trials = Vec::new();
        for planned in &self.plan.trials {
            let path = Name::new("trial", &planned.slug)?.in_folder(&folder);
            let record_path = path.join(file::TRIAL);
            // cassay does not create links in this folder, and a link could lead to any other
            // folder, so links are skipped.
            let is_folder = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
            if is_folder && record_path.exists() {
                let record = read_json(&record_path)?;
                let probes = self.probes_of(&planned.slug);
                let series = self.series_of(&planned.slug);
                trials.push(Trial {
                    path,
                    record,
                    probes,
                    series,
                });
            }
        }
        Ok(trials)
    }

    /// Returns the names of a trial's probes according to its checksums. Other files in the folder
    /// are not part of the run. `None` if the trial has not ended, or if it has no checksums.
    fn probes_of(&self, slug: &str) -> Option<BTreeSet<String>> {
        let sums = &self.ledger.sums;
        sums.contains_key(&ledger::finding_path(slug)).then(|| {
            let prefix = format!("{}{}/", ledger::prefix(slug), file::PROBES);
            let names = sums.keys().filter_map(|path| path.strip_prefix(&prefix));
            names
                .filter_map(|name| name.strip_suffix(PROBE_ENDING).map(str::to_owned))
                .collect()
        })
    }

    /// Returns the checksum of the series in a trial's overview. `None` if the trial has no
    /// overview.
    fn series_of(&self, slug: &str) -> Option<FileSum> {
        let path = ledger::prefix(slug) + file::SERIES;
        self.ledger.sums.get(&path).cloned()
    }

    /// Returns the trial with this number. `None` if the trial has not begun.
    pub fn trial(&self, index: usize) -> Result<Option<Trial>> {
        Ok(self.trials()?.into_iter().find(|trial| trial.record.index == index))
    }

    /// Returns the findings of the trials. They come from `findings.json`, or, if that file does
    /// not exist, from the trials that have ended.
    pub fn trial_findings(&self) -> Vec<TrialFinding> {
        match &self.findings {
            Some(findings) => findings.trials.clone(),
            None => self.ledger.findings.values().cloned().collect(),
        }
    }

    /// Returns the numbers of the trials that have finished.
    pub fn finished_trials(&self) -> Vec<usize> {
        let finished = self
            .journal
            .iter()
            .filter(|line| matches!(line.event, JournalEvent::TrialFinished { .. }));
        let mut numbers: BTreeSet<usize> = finished.filter_map(|line| line.trial).collect();
        numbers.extend(self.ledger.findings.keys());
        numbers.into_iter().collect()
    }
}

impl SalvagedRun {
    fn whole(self) -> Result<Run> {
        if self.damages.is_empty() {
            return Ok(self.run);
        }
        Err(DamagedRun {
            run: self.run.path,
            files: self.damages,
            resumable: true,
        }
        .into())
    }
}

const PROBE_ENDING: &str = ".ndjson";

/// Returns the folder of the run that `path` refers to. `path` is this folder, or a file in it.
pub(crate) fn locate(path: &Path) -> Result<PathBuf> {
    let path = if path.is_file() {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let path = fs::canonicalize(path).with_context(|| format!("open {}", path.display()))?;
    if !path.join(file::PLAN).is_file() {
        bail!(
            "{} is not the folder of a run: it contains no {}; `cassay list` shows all runs",
            path.display(),
            file::PLAN
        );
    }
    Ok(path)
}

/// Reads the findings, if the file exists and matches the checksum in the journal.
fn read_findings(
    run: &Path,
    journal: &Journal,
    damages: &mut Vec<Damage>,
) -> Result<Option<(FindingsRecord, FileDigestRecord)>> {
    let path = run.join(file::FINDINGS);
    let vouched = ledger::vouched_findings(&journal.records);
    let damage = match &vouched {
        // The writer appends the line to the journal before it writes the file, so the file may not
        // exist yet.
        Some(_) if !path.exists() && is_locked(run) => None,
        Some(expected) => file_digests::damage(run, file::FINDINGS, expected, Depth::Bytes)?,
        None if journal.chained && path.exists() => Some(unvouched()),
        None => None,
    };
    if let Some(damage) = damage {
        damages.push(damage);
        return Ok(None);
    }
    path.exists().then(|| read_sealed(&path)).transpose()
}

fn unvouched() -> Damage {
    Damage {
        file: file::FINDINGS.to_owned(),
        expected: format!("a last line of {} that confirms it", file::JOURNAL),
        seen: "none".to_owned(),
    }
}

/// Returns the remarks on a run. The second value is true if the journal of the run is damaged and
/// no resume has recorded the damage.
fn notes(path: &Path, journal: &Journal, summed: bool, plan: &PlanRecord) -> (Vec<String>, bool) {
    let mut notes: Vec<String> = journal.torn.iter().cloned().collect();
    let noted = journal.records.iter().filter_map(|line| match &line.event {
        JournalEvent::JournalDamaged { lines } => Some(lines),
        _ => None,
    });
    let known: BTreeSet<usize> = noted.flatten().copied().collect();
    notes.extend(journal.damaged.iter().map(|(_, said)| said.clone()));
    if !summed {
        notes.push(format!(
            "{} is a run of cassay {}, which stored no checksums: cassay cannot verify that its \
             files are intact",
            path.display(),
            plan.cassay
        ));
    }
    let mut damaged = journal.damaged.iter();
    (notes, damaged.any(|(line, _)| !known.contains(line)))
}

pub(crate) fn stamp_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Returns the sorted names of the files and folders in a folder. Returns an empty list if the
/// folder is missing.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e).with_context(|| format!("read {}", folder.display())),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("read {}", folder.display()))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn state(path: &Path, has_findings: bool) -> RunState {
    if has_findings {
        RunState::Finished
    } else if is_locked(path) {
        RunState::Running
    } else {
        RunState::Interrupted
    }
}

/// Returns true if a writer holds the lock on the journal. The operating system releases the lock
/// when the process ends, even after kill -9.
pub(crate) fn is_locked(path: &Path) -> bool {
    let journal = foreign::open(FileKind::Journal, path.join(file::JOURNAL));
    journal.is_ok_and(|j| matches!(j.file().try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Checks the format number of a JSON file, and reads the whole file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(path, &read_known(path)?)
}

/// Reads a JSON file like `read_json`, and also the checksums that it contains.
pub(crate) fn read_sealed<T: DeserializeOwned>(path: &Path) -> Result<(T, FileDigestRecord)> {
    let bytes = read_known(path)?;
    Ok((parse(path, &bytes)?, parse(path, &bytes)?))
}

/// Fields that every JSON file of a run has. A reader needs no memory for the other fields.
#[derive(Deserialize)]
struct Head {
    format: Option<u64>,
    cassay: Option<String>,
}

/// Reads the bytes of a file, after checking that this version supports the file's format.
fn read_known(path: &Path) -> Result<Vec<u8>> {
    let bytes = foreign::read(FileKind::Record, path)
        .with_context(|| format!("read {}", path.display()))?;
    let head: Head =
        serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))?;
    match head.format {
        Some(format) if format > u64::from(FORMAT) => bail!(
            "{} has the format {format}, but this version of cassay reads only formats up to \
             {FORMAT}: use the newer version that wrote the run ({})",
            path.display(),
            head.cassay.as_deref().unwrap_or("version unknown")
        ),
        Some(_) => {}
        None => bail!("{} is damaged: it has no format number", path.display()),
    }
    Ok(bytes)
}

/// Parses JSON. Parses the text directly and not a tree of values, because only errors of the text
/// contain a line and a column.
fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).with_context(|| {
        format!(
            "{} does not have the fields of format {FORMAT}",
            path.display()
        )
    })
}
