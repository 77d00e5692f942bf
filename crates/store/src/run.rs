//! Reading a run, finished, running or interrupted; this version's or an older one's.
//!
//! What must hold: a run opens with what it has, and every file of it that has come to its end is
//! what it was then; one that is not ends the reading, with its name. A damaged line of the journal
//! is left out and said, since what was found stands elsewhere. Runs of versions that kept no
//! checksums are read as they are, and say so.

mod raw;
mod trial;

pub use trial::{HistogramKind, Trial};

use crate::added;
use crate::event::{JournalEvent, JournalRecord};
use crate::file;
use crate::journal::Journal;
use crate::ledger::{self, Ledger};
use crate::name::Name;
use crate::record::{FORMAT, FindingsRecord, PlanRecord, SealRecord, TrialFinding};
use crate::sums::{self, Damage, Damaged, Depth, FileSum, Sums};
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use raw::Raw;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};

measure::word_enum! {
    /// How far a run got.
    pub enum RunState {
        /// It has findings.
        Finished = "finished",
        /// Some process writes it now.
        Running = "running",
        /// It was stopped before it had findings; it can be resumed.
        Interrupted = "interrupted",
    }
}

/// A run on disk, whose files are what they were.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub path: PathBuf,
    /// Its stamp: the folder's name.
    pub stamp: String,
    /// How far it got when it was opened.
    pub state: RunState,
    /// The plan, with the trials that were added to it.
    pub plan: PlanRecord,
    /// How many blocks were added to it each time.
    pub added: Vec<usize>,
    /// The journal, in order of time.
    pub journal: Vec<JournalRecord>,
    /// The findings; none unless it is finished.
    pub findings: Option<FindingsRecord>,
    /// Version of cassay that wrote the findings; empty if none or if they do not say.
    pub findings_by: String,
    /// What was left out in reading, and what could not be verified. One sentence each.
    pub notes: Vec<String>,
    /// Whether lines of the journal are damaged that no resume has taken note of.
    pub is_journal_damaged: bool,
    /// Whether there are so many raw lines that a page is made of the overviews: reading them would
    /// take longer than anybody waits.
    pub is_long: bool,
    ledger: Ledger,
}

/// A run that may be damaged, to go on with: what is whole is known, the rest is done again.
#[derive(Clone, Debug)]
pub struct Salvaged {
    /// The run. Its findings are none if they, or files that they stand on, are damaged.
    pub run: Run,
    /// What the trials found that are finished and whole, by number.
    pub whole: BTreeMap<usize, TrialFinding>,
    /// What is damaged.
    pub damages: Vec<Damage>,
}

impl Run {
    /// Opens the run in the folder `path` (or the folder of the file `path`), and compares every
    /// byte that has come to its end with what it was: of a long run ([`Run::is_long`]) those
    /// of all files that a page is made of, and of its raw lines the length.
    ///
    /// # Errors
    /// It is not a run, or [`Damaged`].
    pub fn open(path: &Path) -> Result<Run> {
        Run::read(path, Depth::Shown)?.whole()
    }

    /// Opens it for a list: the files that a list shows are compared byte by byte, of the others
    /// the length.
    pub fn look(path: &Path) -> Result<Run> {
        Run::read(path, Depth::Lengths)?.whole()
    }

    /// Opens it to go on with, whatever is damaged but the study and its plan.
    ///
    /// # Errors
    /// It is not a run, or its study or plan is [`Damaged`].
    pub fn salvage(path: &Path) -> Result<Salvaged> {
        Run::read(path, Depth::Bytes)
    }

    /// 1. Find it. 2. The plan and the study, which the journal vouches for. 3. The findings,
    ///    likewise. 4. Who vouches for the rest, and whether it is what it was.
    fn read(path: &Path, depth: Depth) -> Result<Salvaged> {
        let path = locate(path)?;
        let journal = Journal::read(&path.join(file::JOURNAL))?;
        let plan = added::whole_plan(&path, &journal)?;
        let added = added::added(&journal).map(|(blocks, _)| blocks).collect();
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
        let raw = Raw::of(&path, &plan, &ledger.sums)?;
        for (file, expected) in &ledger.sums {
            // Findings and the plan were compared where they were read.
            if !file.ends_with(file::FINDING) {
                damages.extend(sums::damage(&path, file, expected, raw.depth(depth, file))?);
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
        // While the run goes on, its journal is about to say so.
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
        Ok(Salvaged {
            run,
            whole,
            damages,
        })
    }

    /// The copy of the study, as it was written.
    pub fn study_yaml(&self) -> Result<String> {
        let path = self.path.join(file::STUDY);
        foreign::text(FileKind::Study, &path).with_context(|| format!("read {}", path.display()))
    }

    /// Path of the HTML report; none when it has not been written.
    pub fn report(&self) -> Option<PathBuf> {
        Some(self.path.join(file::REPORT)).filter(|path| path.exists())
    }

    /// The trials that were begun, in the plan's order.
    pub fn trials(&self) -> Result<Vec<Trial>> {
        let folder = self.path.join(file::TRIALS);
        let mut trials = Vec::new();
        for planned in &self.plan.trials {
            let path = Name::new("trial", &planned.slug)?.in_folder(&folder);
            let record_path = path.join(file::TRIAL);
            // A link could lead anywhere; a run has none.
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

    /// Names of the probes of a trial that has ended with checksums: others beside them are not
    /// the run's. None for other trials.
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

    /// What the series of a trial's overview were; none if it has no overview.
    fn series_of(&self, slug: &str) -> Option<FileSum> {
        let path = ledger::prefix(slug) + file::SERIES;
        self.ledger.sums.get(&path).cloned()
    }

    /// The trial of that number, if it was begun.
    pub fn trial(&self, index: usize) -> Result<Option<Trial>> {
        Ok(self.trials()?.into_iter().find(|trial| trial.record.index == index))
    }

    /// What the trials found: from `findings.json`, or, while there is none, from the trials that
    /// have ended.
    pub fn trial_findings(&self) -> Vec<TrialFinding> {
        match &self.findings {
            Some(findings) => findings.trials.clone(),
            None => self.ledger.findings.values().cloned().collect(),
        }
    }

    /// Numbers of the trials that were finished.
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

impl Salvaged {
    /// The run, if nothing of it is damaged.
    fn whole(self) -> Result<Run> {
        if self.damages.is_empty() {
            return Ok(self.run);
        }
        Err(Damaged {
            run: self.run.path,
            files: self.damages,
            resumable: true,
        }
        .into())
    }
}

/// The ending of the files of probes.
const PROBE_ENDING: &str = ".ndjson";

/// The folder of a run that `path` means.
fn locate(path: &Path) -> Result<PathBuf> {
    let path = if path.is_file() {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let path = fs::canonicalize(path).with_context(|| format!("open {}", path.display()))?;
    if !path.join(file::PLAN).is_file() {
        bail!(
            "{} is not a run: it has no {}; see `cassay list`",
            path.display(),
            file::PLAN
        );
    }
    Ok(path)
}

/// The findings, if they are there and are what the journal's last line says.
fn read_findings(
    run: &Path,
    journal: &Journal,
    damages: &mut Vec<Damage>,
) -> Result<Option<(FindingsRecord, SealRecord)>> {
    let path = run.join(file::FINDINGS);
    let vouched = ledger::vouched_findings(&journal.records);
    let damage = match &vouched {
        // Its line is written before it.
        Some(_) if !path.exists() && is_locked(run) => None,
        Some(expected) => sums::damage(run, file::FINDINGS, expected, Depth::Bytes)?,
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
        expected: format!("a last line of {} that vouches for it", file::JOURNAL),
        seen: "none".to_owned(),
    }
}

/// What is to be said of a run beside its numbers, and whether its journal is damaged in a way
/// that no resume has taken note of.
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
            "{} was written by cassay {}, which kept no checksums: whether its files are whole \
             cannot be verified",
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

/// Names in a folder, sorted; none when the folder is not there.
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

/// The writer holds a lock on the journal as long as it lives; the system drops it with the
/// process, also after kill -9.
fn is_locked(path: &Path) -> bool {
    let journal = foreign::open(FileKind::Journal, path.join(file::JOURNAL));
    journal.is_ok_and(|j| matches!(j.file().try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Reads a whole JSON file, after looking at its format number.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parse(path, &read_known(path)?)
}

/// The same of a file that says what it is made of.
pub(crate) fn read_sealed<T: DeserializeOwned>(path: &Path) -> Result<(T, SealRecord)> {
    let bytes = read_known(path)?;
    Ok((parse(path, &bytes)?, parse(path, &bytes)?))
}

/// A file of a format that this version reads.
fn read_known(path: &Path) -> Result<Vec<u8>> {
    let bytes = foreign::read(FileKind::Record, path)
        .with_context(|| format!("read {}", path.display()))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).with_context(|| format!("{} is damaged", path.display()))?;
    let format = value.get("format").and_then(serde_json::Value::as_u64);
    match format {
        Some(format) if format > u64::from(FORMAT) => bail!(
            "{} has format {format}, and this cassay reads formats up to {FORMAT}: read it with \
             the newer cassay that wrote it ({})",
            path.display(),
            value
                .get("cassay")
                .and_then(serde_json::Value::as_str)
                .unwrap_or("version unknown")
        ),
        Some(_) => {}
        None => bail!("{} is damaged: it has no format number", path.display()),
    }
    Ok(bytes)
}

/// From the text and not from a value, since errors of the text have a line and a column.
fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).with_context(|| {
        format!(
            "{} does not have the fields of format {FORMAT}",
            path.display()
        )
    })
}
