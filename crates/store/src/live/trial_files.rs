//! Follows the growing files of one trial.
//!
//! Percentiles of several kinds of operations cannot be combined, so this module adds up their
//! histograms, interval by interval. The writer appends the lines of an interval to the file of
//! intervals, and then to the histogram logs. So an interval without a successor is complete only
//! if a later read finds no further lines of it.

use super::kind_totals::KindTotals;
use super::state::{LiveClient, LiveFaultStage, LiveRun, LiveSecond};
use crate::file;
use crate::histogram_buckets::Buckets;
use crate::hlog::{self, V2Room};
use crate::merged_kinds::kind_in_tag;
use crate::record::{ClientSecondRecord, FaultStep, FaultStepRecord, IntervalRecord};
use crate::run::HistogramKind;
use anyhow::{Context, Result};
use foreign::FileKind;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::growing_file::GrowingFile;

/// Number of seconds that the state keeps. A screen or a page cannot show more.
const SECONDS_MAX: usize = 1200;

/// Histograms of one interval, over all kinds of operations.
#[derive(Debug, Default)]
struct IntervalSums {
    /// Sum of all values, and sum of the lower bounds.
    sums: [Buckets; 2],
    /// True if the last read added a line.
    has_grown: bool,
}

/// Files of a trial, with the positions of the reader and the sums so far.
pub(super) struct TrialFiles {
    pub folder: PathBuf,
    intervals: GrowingFile,
    /// The logs of latencies, of lower bounds and of failures.
    logs: [(HistogramKind, GrowingFile); 3],
    faults: GrowingFile,
    clients: GrowingFile,
    /// Start of the trial, ns since 1970.
    started_unix_ns: u64,
    room: V2Room,
    /// Sums of the intervals that may still grow, by their start in ms.
    open: BTreeMap<i64, IntervalSums>,
    /// Sums over the window: all latencies, and the lower bounds.
    window: [Buckets; 2],
    /// Sums over the window by kind of operation.
    pub kinds: BTreeMap<String, KindTotals>,
    /// Sum of the lines of the interval whose last line is still to come.
    second: LiveSecond,
    ok: u64,
    /// True if a read found lines.
    pub has_lines: bool,
}

/// Result of one read of all files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Change {
    pub has_changed: bool,
    pub is_behind: bool,
}

impl TrialFiles {
    pub(super) fn new(folder: &Path, started_unix_ns: u64) -> TrialFiles {
        let lines = |name| GrowingFile::new(FileKind::Records, &folder.join(name));
        let log = |kind: HistogramKind| {
            let path = folder.join(kind.file_name());
            (kind, GrowingFile::new(FileKind::Histograms, &path))
        };
        TrialFiles {
            intervals: lines(file::INTERVALS),
            logs: [
                log(HistogramKind::Latency),
                log(HistogramKind::LatencyCensored),
                log(HistogramKind::Errors),
            ],
            faults: lines(file::FAULTS),
            clients: lines(file::CLIENTS),
            folder: folder.to_owned(),
            started_unix_ns,
            room: V2Room::default(),
            open: BTreeMap::new(),
            window: Default::default(),
            kinds: BTreeMap::new(),
            second: LiveSecond::default(),
            ok: 0,
            has_lines: false,
        }
    }

    /// Reads the new lines of all files into the state.
    ///
    /// # Errors
    /// A file cannot be read, or a line is damaged.
    pub(super) fn read(&mut self, state: &mut LiveRun) -> Result<Change> {
        let mut change = Change::default();
        let growth = self.intervals.read()?;
        // A file that begins again belongs to another attempt, whose sums begin at zero.
        if growth.is_replaced {
            *self = TrialFiles::new(&self.folder, self.started_unix_ns);
            state.seconds.clear();
            return Ok(Change {
                has_changed: true,
                is_behind: true,
            });
        }
        change.is_behind |= growth.is_behind;
        change.has_changed |= !growth.lines.is_empty();
        for line in &growth.lines {
            self.interval(&parse(line, &self.folder, file::INTERVALS)?, state);
        }
        for which in 0..self.logs.len() {
            let growth = self.logs[which].1.read()?;
            change.is_behind |= growth.is_behind;
            change.has_changed |= !growth.lines.is_empty();
            for line in &growth.lines {
                self.histogram(self.logs[which].0, line, state)?;
            }
        }
        change.has_changed |= self.close_intervals(state);
        for line in &self.faults.read()?.lines {
            change.has_changed = true;
            self.fault(&parse(line, &self.folder, file::FAULTS)?, state);
        }
        for line in &self.clients.read()?.lines {
            change.has_changed = true;
            note_client(&parse(line, &self.folder, file::CLIENTS)?, state);
        }
        self.has_lines |= change.has_changed;
        Ok(change)
    }

    fn interval(&mut self, line: &IntervalRecord, state: &mut LiveRun) {
        if let Some(client) = &line.client {
            self.end_interval(line, state);
            state.client = Some(client.clone());
            return;
        }
        let failed: u64 = line.errors.values().sum();
        self.ok += line.ok;
        self.second.errors += failed;
        for (name, count) in &line.errors {
            *state.errors.entry(name.clone()).or_default() += count;
        }
        if line.phase == "measure" {
            self.kinds.entry(line.kind.clone()).or_default().ops += line.ok;
        }
        if line.phase == state.phase.name {
            state.phase.operations += line.ok + failed;
            state.phase.errors += failed;
        }
    }

    /// Adds the interval to the seconds of the state. The line of the client is the last line of an
    /// interval.
    fn end_interval(&mut self, line: &IntervalRecord, state: &mut LiveRun) {
        let ok = std::mem::take(&mut self.ok);
        let second = LiveSecond {
            t_s: line.t_s,
            ops_per_s: if line.seconds > 0.0 {
                ok as f64 / line.seconds
            } else {
                0.0
            },
            is_load: matches!(line.phase.as_str(), "warmup" | "measure" | "drain"),
            ..std::mem::take(&mut self.second)
        };
        if line.phase == "measure" {
            state.window.from_s.get_or_insert(line.t_s);
            state.window.seconds += line.seconds;
            state.window.ops += ok;
        }
        // While a load drains, its throughput falls because cassay ends the load.
        if line.phase == "drain" {
            return;
        }
        if state.seconds.len() == SECONDS_MAX {
            state.seconds.pop_front();
        }
        state.seconds.push_back(second);
    }

    fn histogram(&mut self, which: HistogramKind, line: &[u8], state: &mut LiveRun) -> Result<()> {
        let place = || format!("{} in {}", which.file_name(), self.folder.display());
        let text = std::str::from_utf8(line).with_context(place)?;
        let Some(entry) = hlog::entry_of(text, place())? else {
            return Ok(());
        };
        let is_of_window = kind_in_tag(&entry.tag) == entry.tag;
        if which == HistogramKind::Errors {
            if is_of_window {
                let mut failures = Buckets::default();
                entry.add_to(&mut failures, &mut self.room)?;
                state.window.errors += failures.count();
                self.kinds.entry(entry.tag).or_default().errors += failures.count();
            }
            return Ok(());
        }
        let is_bound = usize::from(which == HistogramKind::LatencyCensored);
        let key = (entry.start_s * 1e3).round() as i64;
        let sums = self.open.entry(key).or_default();
        sums.has_grown = true;
        entry.add_to(&mut sums.sums[is_bound], &mut self.room)?;
        if is_of_window {
            entry.add_to(&mut self.window[is_bound], &mut self.room)?;
            if which == HistogramKind::Latency {
                let kind = self.kinds.entry(entry.tag.clone()).or_default();
                entry.add_to(&mut kind.latency, &mut self.room)?;
            }
        }
        Ok(())
    }

    /// Writes the percentiles of the complete intervals to their seconds. Returns true if it wrote
    /// any.
    fn close_intervals(&mut self, state: &mut LiveRun) -> bool {
        let last = self.open.keys().next_back().copied();
        let is_complete =
            |(key, sums): (&i64, &IntervalSums)| Some(*key) != last || !sums.has_grown;
        let complete: Vec<i64> =
            self.open.iter().filter(|one| is_complete(*one)).map(|(key, _)| *key).collect();
        for key in &complete {
            let Some(sums) = self.open.remove(key) else {
                continue;
            };
            let [all, bounds] = &sums.sums;
            let figures = all.quantiles_ms(bounds);
            let of_it =
                |second: &&mut LiveSecond| ((second.t_s * 1e3).round() as i64 - key).abs() <= 1;
            if let Some(second) = state.seconds.iter_mut().rev().find(of_it) {
                second.p50_p99_ms = Some((figures.p50.least(), figures.p99.least()));
            }
        }
        self.open.values_mut().for_each(|sums| sums.has_grown = false);
        let [all, bounds] = &self.window;
        if all.count() > 0 && !complete.is_empty() {
            let figures = all.quantiles_ms(bounds);
            state.window.p50_ms = Some(figures.p50.least());
            state.window.p99_ms = Some(figures.p99.least());
        }
        !complete.is_empty()
    }

    fn fault(&self, step: &FaultStepRecord, state: &mut LiveRun) {
        let Some(fault) = state.faults.get_mut(step.fault) else {
            return;
        };
        let stage = match step.step {
            FaultStep::Waiting | FaultStep::Checked => LiveFaultStage::Planned,
            FaultStep::Injecting => LiveFaultStage::Injecting,
            FaultStep::Acted | FaultStep::NotActed | FaultStep::Back => fault.stage,
            FaultStep::Seen | FaultStep::Unseen => LiveFaultStage::Active,
            FaultStep::Healing | FaultStep::Restarted => LiveFaultStage::Healing,
            FaultStep::Whole | FaultStep::NotWhole => LiveFaultStage::Over,
            FaultStep::Done | FaultStep::Failed | FaultStep::Unfinished => LiveFaultStage::Over,
        };
        if stage == fault.stage {
            return;
        }
        fault.stage = stage;
        fault.since_unix_ns = self.started_unix_ns + (step.t_s.max(0.0) * 1e9) as u64;
        match stage {
            LiveFaultStage::Injecting => fault.from_s = Some(step.t_s),
            LiveFaultStage::Over => fault.to_s = Some(step.t_s),
            _ => {}
        }
    }
}

fn note_client(line: &ClientSecondRecord, state: &mut LiveRun) {
    let seconds = line.seconds.max(1e-9);
    let now = LiveClient {
        name: line.client.clone(),
        ops_per_s: line.ok as f64 / seconds,
        errors: line.errors,
        p99_ms: line.p99_ms,
        cpu_share: line.cpu_ms / 1e3 / seconds,
    };
    match state.clients.iter_mut().find(|client| client.name == now.name) {
        Some(client) => *client = now,
        None => state.clients.push(now),
    }
}

fn parse<T: DeserializeOwned>(line: &[u8], folder: &Path, name: &str) -> Result<T> {
    serde_json::from_slice(line)
        .with_context(|| format!("a line of {name} in {} is damaged", folder.display()))
}
