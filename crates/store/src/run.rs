//! Reading a run, finished, running or interrupted; this version's or an older one's.
//!
//! What must hold: a run opens with what it has. Only a missing or damaged plan, a damaged line in
//! the middle of a file, or a format number newer than ours is an error.

use crate::file;
use crate::hlog::{self, HlogReader};
use crate::lines::Lines;
use crate::record::{
    FORMAT, FindingsRecord, IntervalRecord, JournalRecord, NodesRecord, PlanRecord, SampleRecord,
    TrialFinding, TrialFindingRecord, TrialRecord,
};
use crate::write::tag_of;
use anyhow::{Context, Result, bail};
use measure::{Histogram, Times};
use serde::de::DeserializeOwned;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It has findings.
    Finished,
    /// Some process writes it now.
    Running,
    /// It was stopped before it had findings; it can be resumed.
    Interrupted,
}

impl RunState {
    /// The word for lists: `finished`, `running`, `interrupted`.
    pub fn name(self) -> &'static str {
        match self {
            RunState::Finished => "finished",
            RunState::Running => "running",
            RunState::Interrupted => "interrupted",
        }
    }
}

/// A run on disk.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder.
    pub path: PathBuf,
    /// Its stamp: the folder's name.
    pub stamp: String,
    /// How far it got when it was opened.
    pub state: RunState,
    /// The plan.
    pub plan: PlanRecord,
    /// The journal, in order of time.
    pub journal: Vec<JournalRecord>,
    /// The findings; none unless it is finished.
    pub findings: Option<FindingsRecord>,
    /// What was left out in reading: torn lines. One sentence each.
    pub notes: Vec<String>,
}

impl Run {
    /// Opens the run in the folder `path` (or the folder of the file `path`).
    pub fn open(path: &Path) -> Result<Run> {
        let path = if path.is_file() {
            path.parent().unwrap_or(path)
        } else {
            path
        };
        let path = fs::canonicalize(path).with_context(|| format!("open {}", path.display()))?;
        let plan_path = path.join(file::PLAN);
        if !plan_path.is_file() {
            bail!(
                "{} is not a run: it has no {}; see `cassay list`",
                path.display(),
                file::PLAN
            );
        }
        let plan = read_json(&plan_path)?;
        let findings_path = path.join(file::FINDINGS);
        let findings = match findings_path.exists() {
            true => Some(read_json(&findings_path)?),
            false => None,
        };
        let mut lines = Lines::open(&path.join(file::JOURNAL))?;
        let journal = lines.by_ref().collect::<Result<Vec<JournalRecord>>>()?;
        Ok(Run {
            stamp: path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            state: state(&path, findings.is_some()),
            plan,
            journal,
            findings,
            notes: lines.torn().map(str::to_owned).into_iter().collect(),
            path,
        })
    }

    /// The copy of the study, as it was written.
    pub fn study_yaml(&self) -> Result<String> {
        let path = self.path.join(file::STUDY);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
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
            let path = folder.join(&planned.slug);
            let record_path = path.join(file::TRIAL);
            if record_path.exists() {
                let record = read_json(&record_path)?;
                trials.push(Trial { path, record });
            }
        }
        Ok(trials)
    }

    /// The trial of that number, if it was begun.
    pub fn trial(&self, index: usize) -> Result<Option<Trial>> {
        Ok(self
            .trials()?
            .into_iter()
            .find(|trial| trial.record.index == index))
    }

    /// What the trials found: from `findings.json`, or, while there is none, from the trials that
    /// have ended.
    pub fn trial_findings(&self) -> Result<Vec<TrialFinding>> {
        if let Some(findings) = &self.findings {
            return Ok(findings.trials.clone());
        }
        let mut found = Vec::new();
        for trial in self.trials()? {
            found.extend(trial.finding()?);
        }
        Ok(found)
    }

    /// Numbers of the trials that the journal says were finished: what a resume leaves out.
    pub fn finished_trials(&self) -> Vec<usize> {
        let finished = self
            .journal
            .iter()
            .filter(|line| line.event == "trial_finished");
        let mut numbers: Vec<usize> = finished.filter_map(|line| line.trial).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

/// The histograms of an operation kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramKind {
    /// Successes from the intended start, and [`HistogramKind::LatencyCensored`].
    Latency,
    /// Successes from the send, and [`HistogramKind::ServiceCensored`].
    Service,
    /// Failures, from the intended start.
    Errors,
    /// What nobody followed to its end, from the intended start: lower bounds.
    LatencyCensored,
    /// The same, from the send.
    ServiceCensored,
}

impl HistogramKind {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            HistogramKind::Latency => "latency.hlog",
            HistogramKind::Service => "service.hlog",
            HistogramKind::Errors => "errors.hlog",
            HistogramKind::LatencyCensored => "latency-censored.hlog",
            HistogramKind::ServiceCensored => "service-censored.hlog",
        }
    }

    pub(crate) fn what(self) -> &'static str {
        match self {
            HistogramKind::Latency => "from the intended start, with lower bounds",
            HistogramKind::Service => "from the send, with lower bounds",
            HistogramKind::Errors => "failures from the intended start",
            HistogramKind::LatencyCensored => "lower bounds from the intended start",
            HistogramKind::ServiceCensored => "lower bounds from the send",
        }
    }
}

/// A trial on disk.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its folder.
    pub path: PathBuf,
    /// Its resolved configuration.
    pub record: TrialRecord,
}

impl Trial {
    /// What it found; none when it has not ended.
    pub fn finding(&self) -> Result<Option<TrialFinding>> {
        let path = self.path.join(file::FINDING);
        if !path.exists() {
            return Ok(None);
        }
        let record: TrialFindingRecord = read_json(&path)?;
        Ok(Some(record.finding))
    }

    /// The hosts and nodes as they were; none in runs that did not record them.
    pub fn nodes(&self) -> Result<Option<NodesRecord>> {
        let path = self.path.join(file::NODES);
        path.exists().then(|| read_json(&path)).transpose()
    }

    /// The interval lines, in order of time, one at a time.
    pub fn intervals(&self) -> Result<Lines<IntervalRecord>> {
        Lines::open(&self.path.join(file::INTERVALS))
    }

    /// The names of the probes that were recorded.
    pub fn probes(&self) -> Result<Vec<String>> {
        let folder = self.path.join(file::PROBES);
        let names = names_in(&folder)?.into_iter();
        Ok(names
            .filter_map(|n| n.strip_suffix(".ndjson").map(str::to_owned))
            .collect())
    }

    /// The samples of one probe, one at a time.
    pub fn samples(&self, probe: &str) -> Result<Lines<SampleRecord>> {
        Lines::open(&self.path.join(file::PROBES).join(format!("{probe}.ndjson")))
    }

    /// The histogram of `kind` over the whole of `phase` (`measure`, `warmup`, …), values in ns.
    pub fn histogram(&self, which: HistogramKind, phase: &str, kind: &str) -> Result<Histogram> {
        hlog::merged(&self.log_path(which), &tag_of(phase, kind), None)
    }

    /// Latencies of `kind` over the whole of `phase`, from the intended start or, with `service`,
    /// from the send. Runs of earlier versions have no lower bounds.
    pub fn times(&self, service: bool, phase: &str, kind: &str) -> Result<Times> {
        let (all, censored) = match service {
            false => (HistogramKind::Latency, HistogramKind::LatencyCensored),
            true => (HistogramKind::Service, HistogramKind::ServiceCensored),
        };
        Ok(Times::from_logs(
            self.histogram(all, phase, kind)?,
            self.histogram(censored, phase, kind)?,
        ))
    }

    /// Path of a histogram log, for [`hlog::merged`] over a range of time and for other tools.
    pub fn log_path(&self, which: HistogramKind) -> PathBuf {
        self.path.join(which.file_name())
    }

    /// The log's lines, one at a time: an interval and a tag each (see [`hlog::Entry`]).
    pub fn log(&self, which: HistogramKind) -> Result<HlogReader> {
        HlogReader::open(&self.log_path(which))
    }

    /// Folder of the nodes' log files.
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join(file::LOGS)
    }
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

/// The writer holds a lock on the journal as long as it lives; the system drops it with the
/// process, also after kill -9.
fn state(path: &Path, has_findings: bool) -> RunState {
    let locked = || {
        let journal = File::open(path.join(file::JOURNAL));
        journal.is_ok_and(|j| matches!(j.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    match has_findings {
        true => RunState::Finished,
        false if locked() => RunState::Running,
        false => RunState::Interrupted,
    }
}

/// Reads a whole JSON file, after looking at its format number.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
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
    // Parsed from the text once more, since errors of the text have a line and a column.
    serde_json::from_slice(&bytes).with_context(|| {
        format!(
            "{} does not have the fields of format {FORMAT}",
            path.display()
        )
    })
}
