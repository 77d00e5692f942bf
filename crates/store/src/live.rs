//! Follows a run while another process writes it.
//!
//! A [`RunFollower`] reads only the bytes that were appended since its last read. It never waits
//! for the writer, and never changes a file. It shows lines whose checksums are not final yet, so
//! its figures are provisional. A reader opens the finished run as a [`Run`](crate::Run), whose
//! files are verified.

mod growing_file;
mod kind_totals;
mod state;
mod trial_files;

pub use kind_totals::KindMetrics;
pub use state::{
    LiveClient, LiveEnd, LiveFault, LiveFaultStage, LiveFigures, LivePhase, LiveRun, LiveSecond,
    LiveTrial, LiveWindow, PHASES,
};

use crate::event::{JournalEvent, JournalRecord};
use crate::file_digests::{self, Depth, FileSum, Sums};
use crate::hlog::{HlogReader, V2Room};
use crate::journal::Journal;
use crate::name::Name;
use crate::record::{FileDigestRecord, FindingsRecord, PlanRecord, TrialFinding, TrialRecord};
use crate::run::{HistogramKind, RunState, is_locked, locate, read_json, read_sealed};
use crate::{added_blocks, file, find, ledger, measured_window};
use analysis::procedure::{Point, Role};
use anyhow::{Result, bail};
use foreign::FileKind;
use growing_file::GrowingFile;
use kind_totals::KindTotals;
use measure::Known;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trial_files::{Change, TrialFiles};

const MESSAGES_MAX: usize = 50;
/// Maximum number of reads of a finished trial's files. Each read takes up to 4 MB of each file, so
/// this is enough for a trial of a week.
const LAST_READS_MAX: usize = 4096;

/// Reader of a run that another process may be writing.
pub struct RunFollower {
    path: PathBuf,
    plan: PlanRecord,
    journal: GrowingFile,
    state: LiveRun,
    /// Number and files of the current trial.
    trial: Option<(usize, TrialFiles)>,
    /// Sums over the windows of finished trials, by variant and kind of operation.
    totals: BTreeMap<(String, String), KindTotals>,
    /// Finished trials whose sums are not part of `totals` yet.
    uncounted: Vec<usize>,
    /// Checksum of the finding of each finished trial, by its number.
    sums: BTreeMap<usize, FileSum>,
    finished: Option<FileSum>,
}

impl RunFollower {
    /// Opens the run in the folder `path`.
    ///
    /// # Errors
    /// The path is not a run, or its plan or its journal is damaged.
    pub fn open(path: &Path) -> Result<RunFollower> {
        let path = locate(path)?;
        let journal_path = path.join(file::JOURNAL);
        let plan = added_blocks::whole_plan(&path, &Journal::read(&journal_path)?)?;
        let (study, stamp) = find::names(&path);
        let mut follower = RunFollower {
            state: new_state(&plan, format!("{study}/{stamp}")),
            journal: GrowingFile::new(FileKind::Journal, &journal_path),
            path,
            plan,
            trial: None,
            totals: BTreeMap::new(),
            uncounted: Vec::new(),
            sums: BTreeMap::new(),
            finished: None,
        };
        follower.read()?;
        Ok(follower)
    }

    /// Returns the folder of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the state after the last read.
    pub fn state(&self) -> &LiveRun {
        &self.state
    }

    /// Reads what was appended since the last read: 1. Lines of the journal. 2. Lines of the
    /// current trial. 3. The findings, once the run has ended. Returns true if the state has
    /// changed, and true if the files contain more lines.
    ///
    /// # Errors
    /// The folder of the run is missing, or a file is damaged.
    pub fn read(&mut self) -> Result<(bool, bool)> {
        if !self.path.join(file::PLAN).is_file() {
            bail!(
                "the run was deleted or moved while cassay followed it: {} is missing",
                self.path.join(file::PLAN).display()
            );
        }
        let growth = self.journal.read()?;
        let mut change = Change {
            has_changed: !growth.lines.is_empty(),
            is_behind: growth.is_behind,
        };
        for line in &growth.lines {
            // A damaged line is skipped, as when cassay opens a run. The page of the finished run
            // names the line.
            if let Ok(record) = serde_json::from_slice::<JournalRecord>(line) {
                self.note(record)?;
            }
        }
        if let Some((index, files)) = &mut self.trial {
            let more = files.read(&mut self.state)?;
            change.has_changed |= more.has_changed;
            change.is_behind |= more.is_behind;
            let index = *index;
            let folder = files.folder.clone();
            self.name_trial(index, &folder);
        }
        let before = self.state.state;
        self.settle()?;
        change.has_changed |= before != self.state.state;
        Ok((change.has_changed, change.is_behind))
    }

    /// Returns the sums over the measured windows so far, by variant and kind of operation.
    /// `bounds_ns` contains the bounds of latencies, in ascending order.
    ///
    /// # Errors
    /// A file of a finished trial is damaged.
    pub fn metrics(&mut self, bounds_ns: &[u64]) -> Result<Vec<KindMetrics>> {
        for index in std::mem::take(&mut self.uncounted) {
            let kinds = self.kinds_of_finished(index)?;
            self.add_kinds(index, &kinds);
        }
        let mut sums: BTreeMap<(String, String), KindTotals> = BTreeMap::new();
        for (key, totals) in &self.totals {
            sums.entry(key.clone()).or_default().add(totals);
        }
        if let Some((index, files)) = &self.trial {
            let variant = self.variant_of(*index);
            for (kind, totals) in &files.kinds {
                sums.entry((variant.clone(), kind.clone())).or_default().add(totals);
            }
        }
        let metrics = sums
            .iter()
            .map(|((variant, kind), totals)| totals.metrics(variant, kind, bounds_ns));
        Ok(metrics.collect())
    }

    /// Returns the findings of the run. `None` until the run has findings.
    fn findings(&self) -> Result<Option<FindingsRecord>> {
        let Some(sum) = &self.finished else {
            return Ok(None);
        };
        let path = self.path.join(file::FINDINGS);
        // The writer appends the line to the journal before it writes the file.
        if !path.exists() {
            return Ok(None);
        }
        if let Some(damage) = file_digests::damage(&self.path, file::FINDINGS, sum, Depth::Bytes)? {
            bail!("the findings are damaged: {damage}");
        }
        read_json(&path).map(Some)
    }

    /// Updates the state of the run: running, interrupted or finished.
    fn settle(&mut self) -> Result<()> {
        if self.state.state == RunState::Finished {
            return Ok(());
        }
        if let Some(findings) = self.findings()? {
            self.state.state = RunState::Finished;
            self.state.verdict = Some(findings.verdict);
            self.state.answer = findings.answer;
            self.state.reasons = findings.reasons;
        } else if is_locked(&self.path) {
            self.state.state = RunState::Running;
        } else {
            self.state.state = RunState::Interrupted;
        }
        Ok(())
    }

    fn note(&mut self, line: JournalRecord) -> Result<()> {
        let at = line.unix_ns;
        self.state.changed_unix_ns = at;
        match line.event {
            JournalEvent::RunStarted { .. } => {
                if self.state.started_unix_ns == 0 {
                    self.state.started_unix_ns = at;
                }
                self.finished = None;
                self.state.state = RunState::Running;
                self.state.verdict = None;
            }
            JournalEvent::RunExtended { .. } => self.extend()?,
            JournalEvent::TargetStarting { what, .. } => self.begin_phase("target", what, at),
            JournalEvent::TargetReady { nodes, .. } => {
                self.state.nodes = nodes.into_iter().map(|node| node.name).collect();
            }
            JournalEvent::TargetStopped => self.state.nodes.clear(),
            JournalEvent::NodesRestarting { what } => self.begin_phase("restart", what, at),
            JournalEvent::Imported(text) => self.say(at, text),
            JournalEvent::TrialStarted { .. } => {
                if let Some(index) = line.trial {
                    self.begin_trial(index, at)?;
                }
            }
            JournalEvent::PhaseStarted { phase } => self.begin_phase(&phase, String::new(), at),
            JournalEvent::TrialFinished { finding, .. } => {
                if let Some(index) = line.trial {
                    self.finish_trial(index, finding)?;
                }
            }
            JournalEvent::TrialFailed { reason } => {
                self.say(at, format!("{} failed: {reason}", self.name_of(line.trial)));
                self.end_trial(line.trial, LiveEnd::Failed(reason));
            }
            JournalEvent::TrialSkipped(reason) => {
                self.end_trial(line.trial, LiveEnd::LeftOut(reason));
            }
            JournalEvent::RunInterrupted => self.say(at, "the run was interrupted".to_owned()),
            JournalEvent::RunFinished {
                stopped, findings, ..
            } => {
                self.finished = findings;
                if let Some(reason) = stopped {
                    self.say(at, format!("the run ended early: {reason}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the trials of added blocks to the state.
    fn extend(&mut self) -> Result<()> {
        let journal = Journal::read(&self.path.join(file::JOURNAL))?;
        self.plan = added_blocks::whole_plan(&self.path, &journal)?;
        let new = self.plan.trials.iter().skip(self.state.trials.len());
        let has_blocks = has_blocks(&self.plan);
        self.state.trials.extend(new.map(|trial| live_trial(trial, has_blocks)));
        Ok(())
    }

    fn begin_phase(&mut self, name: &str, what: String, at: u64) {
        let planned = self.trial.as_ref().and_then(|(index, _)| self.plan.trials.get(*index));
        let phases = planned.map(|trial| trial.phases.as_slice()).unwrap_or_default();
        let position = phases.iter().position(|phase| phase.name == name);
        let phase = position.map(|position| &phases[position]);
        let later = phases.iter().skip(position.map_or(0, |position| position + 1));
        self.state.phase = LivePhase {
            name: name.to_owned(),
            what: match phase {
                Some(phase) if what.is_empty() => phase.what.clone(),
                _ => what,
            },
            begin_unix_ns: at,
            planned_s: phase.map_or(0.0, |phase| phase.seconds),
            after_s: later.map(|phase| phase.seconds).sum(),
            operations: 0,
            errors: 0,
        };
    }

    fn begin_trial(&mut self, index: usize, at: u64) -> Result<()> {
        let Some(planned) = self.plan.trials.get(index) else {
            return Ok(());
        };
        self.uncounted.retain(|one| *one != index);
        let folder = Name::new("trial", &planned.slug)?.in_folder(&self.path.join(file::TRIALS));
        self.trial = Some((index, TrialFiles::new(&folder, at)));
        let faults = self.plan.resolved.faults.get(&planned.variant);
        self.state.faults = faults.into_iter().flatten().map(live_fault).collect();
        self.state.current = Some(index);
        self.state.trials[index].end = None;
        self.state.seconds.clear();
        self.state.window = LiveWindow::default();
        self.state.errors.clear();
        self.state.client = None;
        self.state.clients.clear();
        self.begin_phase("", String::new(), at);
        Ok(())
    }

    /// Ends a trial that has a finding. If this follower has read the trial's lines, it reads the
    /// last of them.
    fn finish_trial(&mut self, index: usize, sum: Option<FileSum>) -> Result<()> {
        if let Some(sum) = sum {
            self.sums.insert(index, sum);
        }
        match self.trial.take() {
            Some((current, mut files)) if current == index && files.has_lines => {
                // The second read closes the last interval.
                let mut reads = 0;
                let mut quiet = 0;
                while quiet < 2 && reads < LAST_READS_MAX {
                    let change = files.read(&mut self.state)?;
                    quiet = if change.has_changed { 0 } else { quiet + 1 };
                    reads += 1;
                }
                self.add_kinds(index, &files.kinds);
            }
            _ => self.uncounted.push(index),
        }
        let Some((finding, _)) = self.finding(index)? else {
            return Ok(());
        };
        let has_blocks = has_blocks(&self.plan);
        if let (Some(trial), Some(planned)) = (
            self.state.trials.get_mut(index),
            self.plan.trials.get(index),
        ) {
            trial.name = name_of(planned, finding.point, has_blocks);
            trial.end = Some(LiveEnd::Finished(figures(&finding)));
        }
        Ok(())
    }

    /// Returns the finding of a finished trial, if it matches its checksum in the journal.
    fn finding(&self, index: usize) -> Result<Option<(TrialFinding, FileDigestRecord)>> {
        let Some(planned) = self.plan.trials.get(index) else {
            return Ok(None);
        };
        let inner = ledger::finding_path(&planned.slug);
        let Some(sum) = self.sums.get(&index) else {
            return Ok(None);
        };
        if let Some(damage) = file_digests::damage(&self.path, &inner, sum, Depth::Bytes)? {
            bail!("the finding of a trial is damaged: {damage}");
        }
        read_sealed(&self.path.join(inner)).map(Some)
    }

    fn end_trial(&mut self, index: Option<usize>, end: LiveEnd) {
        if let Some(trial) = index.and_then(|index| self.state.trials.get_mut(index)) {
            trial.end = Some(end);
        }
        if self.trial.as_ref().map(|(current, _)| *current) == index {
            self.trial = None;
        }
    }

    /// Writes the point of a search to the name of its trial, once the trial has its record.
    fn name_trial(&mut self, index: usize, folder: &Path) {
        let Some(planned) = self.plan.trials.get_mut(index) else {
            return;
        };
        if planned.point.is_some() {
            return;
        }
        // The record may not exist yet. The next read tries again.
        if let Ok(record) = read_json::<TrialRecord>(&folder.join(file::TRIAL)) {
            planned.point = record.point;
            planned.role = record.role;
            let planned = &self.plan.trials[index];
            let name = name_of(planned, planned.point, has_blocks(&self.plan));
            self.state.trials[index].name = name;
        }
    }

    fn name_of(&self, index: Option<usize>) -> String {
        let trial = index.and_then(|index| self.state.trials.get(index));
        trial.map_or_else(|| "a trial".to_owned(), |trial| trial.name.clone())
    }

    fn variant_of(&self, index: usize) -> String {
        let planned = self.plan.trials.get(index);
        planned.map(|trial| trial.variant.as_str().to_owned()).unwrap_or_default()
    }

    fn add_kinds(&mut self, index: usize, kinds: &BTreeMap<String, KindTotals>) {
        let variant = self.variant_of(index);
        for (kind, totals) in kinds {
            self.totals.entry((variant.clone(), kind.clone())).or_default().add(totals);
        }
    }

    /// Returns the sums of a finished trial from its finding and from the log of its window.
    fn kinds_of_finished(&self, index: usize) -> Result<BTreeMap<String, KindTotals>> {
        let mut kinds: BTreeMap<String, KindTotals> = BTreeMap::new();
        let Some((finding, seal)) = self.finding(index)? else {
            return Ok(kinds);
        };
        for (kind, series) in &finding.kinds {
            let totals = kinds.entry(kind.clone()).or_default();
            totals.ops = series.ops;
            totals.errors = series.error_ms.count;
        }
        let slug = &self.plan.trials[index].slug;
        let folder = Name::new("trial", slug)?.in_folder(&self.path.join(file::TRIALS));
        let log = window_log(&folder, &seal.files)?;
        let mut room = V2Room::default();
        for entry in HlogReader::open(&folder.join(log))? {
            let entry = entry?;
            for (kind, totals) in &mut kinds {
                let tag = if log == file::WINDOW {
                    measured_window::tag_of(HistogramKind::Latency, kind)
                } else {
                    kind.clone()
                };
                if entry.tag == tag {
                    entry.add_to(&mut totals.latency, &mut room)?;
                }
            }
        }
        Ok(kinds)
    }

    fn say(&mut self, at: u64, text: String) {
        if self.state.messages.len() == MESSAGES_MAX {
            self.state.messages.pop_front();
        }
        self.state.messages.push_back((at, text));
    }
}

/// Returns the name of the log that contains the latencies of a finished trial's window. Trials of
/// earlier versions have only the log of all intervals.
fn window_log(folder: &Path, sums: &Sums) -> Result<&'static str> {
    let name = if sums.contains_key(file::WINDOW) {
        file::WINDOW
    } else {
        HistogramKind::Latency.file_name()
    };
    if let Some(sum) = sums.get(name)
        && let Some(damage) = file_digests::damage(folder, name, sum, Depth::Bytes)?
    {
        bail!("the log of a trial is damaged: {damage}");
    }
    Ok(name)
}

fn new_state(plan: &PlanRecord, name: String) -> LiveRun {
    let has_blocks = has_blocks(plan);
    LiveRun {
        name,
        study: plan.study.clone(),
        question: plan.question.clone(),
        state: RunState::Running,
        started_unix_ns: 0,
        changed_unix_ns: 0,
        verdict: None,
        answer: Vec::new(),
        reasons: Vec::new(),
        trials: plan.trials.iter().map(|trial| live_trial(trial, has_blocks)).collect(),
        current: None,
        phase: LivePhase::default(),
        seconds: Default::default(),
        window: LiveWindow::default(),
        errors: BTreeMap::new(),
        nodes: Vec::new(),
        faults: Vec::new(),
        client: None,
        clients: Vec::new(),
        messages: Default::default(),
    }
}

fn has_blocks(plan: &PlanRecord) -> bool {
    plan.trials.iter().any(|trial| trial.block > 0)
}

fn live_trial(planned: &TrialRecord, has_blocks: bool) -> LiveTrial {
    LiveTrial {
        name: name_of(planned, planned.point, has_blocks),
        variant: planned.variant.as_str().to_owned(),
        planned_s: planned.phases.iter().map(|phase| phase.seconds).sum(),
        end: None,
    }
}

fn live_fault(planned: &crate::resolved_study::PlannedFaultRecord) -> LiveFault {
    LiveFault {
        kind: planned.kind.clone(),
        place: planned.place.clone(),
        at_s: planned.at_s,
        for_s: planned.for_s.unwrap_or_default(),
        ..LiveFault::default()
    }
}

/// Formats the name of a trial, such as `writes, 28 threads, block 2`.
fn name_of(planned: &TrialRecord, point: Option<Point>, has_blocks: bool) -> String {
    let mut parts: Vec<String> = planned.variant.name().map(str::to_owned).into_iter().collect();
    let role = match planned.role {
        Role::Probe => String::new(),
        role => format!(" ({})", role.name()),
    };
    parts.push(match point {
        Some(point) => point.words() + &role,
        None => "a point that the search finds".to_owned(),
    });
    if has_blocks {
        parts.push(format!("block {}", planned.block + 1));
    }
    parts.join(", ")
}

fn figures(finding: &TrialFinding) -> LiveFigures {
    let figure = |value: Known| (value.least(), value.is_at_least());
    LiveFigures {
        ops_per_s: finding.all.ops_per_s,
        p50_ms: figure(finding.all.latency_ms.p50),
        p99_ms: figure(finding.all.latency_ms.p99),
        errors: finding.errors.values().sum(),
        verdict: finding.verdict,
        reasons: finding.reasons.clone(),
    }
}

/// Returns the folder of the run that `name` refers to, as [`crate::find`] does, without reading
/// the run.
///
/// # Errors
/// No run matches, or several runs match.
pub fn run_folder(results: &Path, name: &str) -> Result<PathBuf> {
    locate(&find::place(results, name)?)
}

/// Returns the absolute path of the run in this folder.
///
/// # Errors
/// The path is not the folder of a run.
pub fn folder_of(path: &Path) -> Result<PathBuf> {
    locate(path)
}

/// Returns true if a process is writing the run in this folder.
pub fn is_running(run: &Path) -> bool {
    is_locked(run)
}

/// Lengths and times of the files of a run that change whenever the content of its page changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFingerprint {
    /// Length and time of the last change of the journal and of the findings, in ns since 1970.
    /// `None` for a missing file.
    files: [Option<(u64, i128)>; 2],
}

/// Returns the present fingerprint of the run in this folder.
pub fn fingerprint(run: &Path) -> RunFingerprint {
    let of_file = |name: &str| {
        let meta = std::fs::metadata(run.join(name)).ok()?;
        let changed_ns = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
        Some((meta.len(), changed_ns))
    };
    RunFingerprint {
        files: [of_file(file::JOURNAL), of_file(file::FINDINGS)],
    }
}
