//! Reads the records, samples and histograms of one trial.

use super::{PROBE_ENDING, names_in, read_json};
use crate::file;
use crate::file_digests::{self, DamagedRun, Depth, FileSum};
use crate::hlog::{self, HlogReader};
use crate::merged_kinds::MergedKinds;
use crate::name::Name;
use crate::ndjson::Lines;
use crate::overview::{OverviewBuilder, OverviewRecord, SeriesPlacesRecord};
use crate::record::{IntervalRecord, NodesRecord, SampleRecord, TrialRecord};
use crate::trial::tag_of;
use anyhow::Result;
use measure::{Histogram, Times};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Kind of values in a histogram log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramKind {
    /// Latency of successful operations from the intended start, including
    /// [`HistogramKind::LatencyCensored`].
    Latency,
    /// Service time of successful operations from the send, including
    /// [`HistogramKind::ServiceCensored`].
    Service,
    /// Latency of failed operations from the intended start.
    Errors,
    /// Lower bounds of the latency from the intended start, for operations that the client gave up.
    LatencyCensored,
    /// Lower bounds of the service time from the send, for operations that the client gave up.
    ServiceCensored,
}

impl HistogramKind {
    /// All kinds of histograms, in the order in which cassay writes them.
    pub(crate) const ALL: [HistogramKind; 5] = [
        HistogramKind::Latency,
        HistogramKind::Service,
        HistogramKind::Errors,
        HistogramKind::LatencyCensored,
        HistogramKind::ServiceCensored,
    ];

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
    /// Folder of the trial.
    pub path: PathBuf,
    /// Resolved configuration of the trial.
    pub record: TrialRecord,
    /// Names of the probes that belong to the run. `None` if all probes in the folder belong to the
    /// run.
    pub(super) probes: Option<BTreeSet<String>>,
    /// Checksum of `series.ndjson`. `None` if the trial has no overview.
    pub(super) series: Option<FileSum>,
}

impl Trial {
    /// Returns the trial in a folder without verifying its files. Only the writer of the trial and
    /// tests should use this function. [`super::Run::trials`] returns verified trials.
    pub fn unverified(path: PathBuf, record: TrialRecord) -> Trial {
        Trial {
            path,
            record,
            probes: None,
            series: None,
        }
    }

    /// Returns the hosts and nodes of the trial. `None` if the run did not record them.
    pub fn nodes(&self) -> Result<Option<NodesRecord>> {
        let path = self.path.join(file::NODES);
        path.exists().then(|| read_json(&path)).transpose()
    }

    /// Returns an iterator over the lines of intervals, in order of time.
    pub fn intervals(&self) -> Result<Lines<IntervalRecord>> {
        Lines::open(&self.path.join(file::INTERVALS))
    }

    /// Returns the names of the probes whose samples were recorded.
    pub fn probes(&self) -> Result<Vec<String>> {
        let folder = self.path.join(file::PROBES);
        let names = names_in(&folder)?.into_iter();
        let is_ours = |name: &String| {
            let probes = self.probes.as_ref();
            probes.is_none_or(|probes| probes.contains(name))
        };
        Ok(names
            .filter_map(|n| n.strip_suffix(PROBE_ENDING).map(str::to_owned))
            .filter(is_ours)
            .collect())
    }

    /// Returns an iterator over the samples of one probe.
    pub fn samples(&self, probe: &str) -> Result<Lines<SampleRecord>> {
        let name = Name::new("probe", &format!("{probe}{PROBE_ENDING}"))?;
        Lines::open(&name.in_folder(&self.path.join(file::PROBES)))
    }

    /// Returns the overview of the trial. `None` for trials that have not ended, and for trials of
    /// earlier versions.
    pub fn overview(&self) -> Result<Option<OverviewRecord>> {
        let path = self.path.join(file::OVERVIEW);
        self.series.as_ref().map(|_| read_json(&path)).transpose()
    }

    /// Returns an iterator over the series of the overview.
    ///
    /// # Errors
    /// The bins are damaged, or cannot be read.
    pub fn series(&self) -> Result<Lines<SeriesPlacesRecord>> {
        let expected = self.series.as_ref();
        let damage =
            expected.map(|e| file_digests::damage(&self.path, file::SERIES, e, Depth::Bytes));
        if let Some(damage) = damage.transpose()?.flatten() {
            let (run, files) = (self.path.clone(), vec![damage]);
            let resumable = false;
            return Err(DamagedRun {
                run,
                files,
                resumable,
            }
            .into());
        }
        Lines::open(&self.path.join(file::SERIES))
    }

    /// Computes the overview and its series from the raw lines, in constant memory. Skips the
    /// probes in `known`. Reads the lines of intervals only if `known` is `None`. `window` is the
    /// measured window in seconds.
    ///
    /// # Errors
    /// A file cannot be read, or a line is damaged.
    pub fn gather(
        &self,
        known: Option<&OverviewRecord>,
        window: Option<[f64; 2]>,
    ) -> Result<(OverviewRecord, Vec<SeriesPlacesRecord>)> {
        let mut gathered = OverviewBuilder::default();
        if known.is_none() {
            for line in self.intervals()? {
                gathered.interval(&line?);
            }
        }
        let is_known = |probe: &str| {
            let mut series = known.iter().flat_map(|known| &known.series);
            series.any(|one| one.probe == probe)
        };
        for probe in self.probes()?.into_iter().filter(|probe| !is_known(probe)) {
            for sample in self.samples(&probe)? {
                gathered.sample(&probe, &sample?);
            }
        }
        Ok(gathered.records(window))
    }

    /// Opens the log of the measured window. `None` if the trial has no overview.
    pub(crate) fn window_log(&self) -> Result<Option<HlogReader>> {
        let log = || HlogReader::open(&self.path.join(file::WINDOW));
        self.series.as_ref().map(|_| log()).transpose()
    }

    /// Returns the histogram of one kind of operation over the whole of `phase` (`measure`,
    /// `warmup`, …), with values in ns.
    pub fn histogram(&self, which: HistogramKind, phase: &str, kind: &str) -> Result<Histogram> {
        hlog::merged(&self.log_path(which), &tag_of(phase, kind), None)
    }

    /// Returns the latencies of one kind of operation over the whole of `phase`. They count from
    /// the send if `service` is true, or from the intended start otherwise. Runs of earlier
    /// versions have no lower bounds.
    pub fn times(&self, service: bool, phase: &str, kind: &str) -> Result<Times> {
        let (all, censored) = logs_of(service);
        Ok(Times::from_logs(
            self.histogram(all, phase, kind)?,
            self.histogram(censored, phase, kind)?,
        ))
    }

    /// Returns the path of a histogram log. Callers use it for [`hlog::merged`] with a time range,
    /// and for other tools.
    pub fn log_path(&self, which: HistogramKind) -> PathBuf {
        self.path.join(which.file_name())
    }

    /// Returns an iterator over the lines of a log. Each line contains an interval and a tag (see
    /// [`hlog::Entry`]).
    pub fn log(&self, which: HistogramKind) -> Result<HlogReader> {
        HlogReader::open(&self.log_path(which))
    }

    /// Merges all kinds of operations, one interval at a time. Latencies count from the send if
    /// `service` is true, or from the intended start otherwise. `parts` contains the kinds whose
    /// operations are parts of other operations.
    pub fn together(&self, service: bool, parts: &[String]) -> Result<MergedKinds> {
        let (all, censored) = logs_of(service);
        Ok(MergedKinds::new(self.log(all)?, self.log(censored)?, parts))
    }

    /// Returns the start line of the trial from its histogram logs, in ns since 1970, rounded to
    /// the millisecond. `None` if the trial has no records yet.
    pub fn start_unix_ns(&self) -> Result<Option<u64>> {
        let mut log = self.log(HistogramKind::Latency)?;
        log.next().transpose()?;
        Ok(log.base_unix_s().map(|seconds| (seconds * 1e3).round() as u64 * 1_000_000))
    }

    /// Returns the folder that contains the nodes' log files.
    pub fn logs_dir(&self) -> PathBuf {
        self.path.join(file::LOGS)
    }
}

/// Returns the kind of the log of all values, and the kind of the log of the lower bounds.
fn logs_of(service: bool) -> (HistogramKind, HistogramKind) {
    if service {
        (HistogramKind::Service, HistogramKind::ServiceCensored)
    } else {
        (HistogramKind::Latency, HistogramKind::LatencyCensored)
    }
}
