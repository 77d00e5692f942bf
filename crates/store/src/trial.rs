//! Writes the files of a trial line by line while the trial runs: intervals, histograms and
//! samples.

use crate::convert::{interval_records, seconds_since};
use crate::file;
use crate::hlog::HlogWriter;
use crate::measured_window;
use crate::name::Name;
use crate::ndjson::LineWriter;
use crate::overview::OverviewBuilder;
use crate::record::{
    ClientSecondRecord, ClockRecord, FaultStepRecord, HistoryRecord, NodesRecord, SampleRecord,
    TrialFinding,
};
use crate::run::HistogramKind;
use crate::write::{write_json, write_whole};
use anyhow::{Context, Result};
use measure::{Histogram, Interval, KindInterval, clock};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Writer of the files of a running trial.
pub struct TrialWriter {
    path: PathBuf,
    start_ns: u64,
    start_unix_ns: u64,
    kinds: Vec<String>,
    intervals: LineWriter,
    logs: [HlogWriter; 5],
    /// Histograms of the measured population, by kind of operation. They have the same content as
    /// the logs.
    window: Vec<[Histogram; 5]>,
    gathered: OverviewBuilder,
    probes: BTreeMap<String, LineWriter>,
    faults: Option<LineWriter>,
    clients: Option<LineWriter>,
}

impl TrialWriter {
    pub(crate) fn open(path: PathBuf, slug: &str, kinds: &[String]) -> Result<TrialWriter> {
        let unix_ns = clock::unix_ns();
        let open = |kind: HistogramKind| {
            let what = format!("cassay, trial {slug}, {}", kind.what());
            HlogWriter::create(&path.join(kind.file_name()), &what, unix_ns)
        };
        let [latency, service, errors, more @ ..] = HistogramKind::ALL;
        let [latency_censored, service_censored] = more;
        let logs = [
            open(latency)?,
            open(service)?,
            open(errors)?,
            open(latency_censored)?,
            open(service_censored)?,
        ];
        Ok(TrialWriter {
            start_ns: clock::now_ns(),
            start_unix_ns: unix_ns,
            kinds: kinds.to_vec(),
            intervals: LineWriter::open(&path.join(file::INTERVALS))?,
            logs,
            window: kinds.iter().map(|_| Default::default()).collect(),
            gathered: OverviewBuilder::default(),
            probes: BTreeMap::new(),
            faults: None,
            clients: None,
            path,
        })
    }

    /// Returns the folder of the trial.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the trial's start line on the monotonic clock, in ns. All times `t_s` in records
    /// count from the start line.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// Returns the trial's start line, in ns since 1970.
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Writes one interval of `phase`: its lines in `intervals.ndjson`, and its histograms. In the
    /// logs, the tag of the measured population is the kind, regardless of when an operation ended.
    /// The tag of other operations is `<phase>.<kind>`, with the phase `warmup` for operations due
    /// before the window. So a tool that merges lines by tag arrives at the numbers of the
    /// findings.
    pub fn write_interval(&mut self, phase: &str, interval: &Interval) -> Result<()> {
        for line in interval_records(phase, self.start_ns, &self.kinds, interval) {
            self.intervals.append(&line)?;
            self.gathered.interval(&line);
        }
        let start_s = seconds_since(self.start_ns, interval.start_ns);
        let kinds = interval.kinds.iter().zip(&self.kinds);
        for ((kind, name), window) in kinds.zip(&mut self.window) {
            let censored = &kind.censored;
            let (mut latency, mut service) = (kind.latency.clone(), kind.service.clone());
            latency.add(&censored.latency);
            service.add(&censored.service);
            let (errors, early) = (&kind.errors, &kind.early);
            let population = [
                &latency,
                &service,
                errors,
                &censored.latency,
                &censored.service,
            ];
            let warmup = [&early.latency, &early.service, &early.errors];
            // Only two loads contain operations that were due before the window: the load that
            // includes the window, and the drain of that load.
            let is_measured = interval.window_from_ns > 0 || phase == "drain";
            let tag = tag_of(if is_measured { "measure" } else { phase }, name);
            for (log, values) in self.logs.iter_mut().zip(population) {
                log.append(&tag, start_s, interval.seconds(), values)?;
            }
            if tag == *name {
                let sums = window.iter_mut().zip(population);
                sums.for_each(|(sum, values)| sum.add(values));
            }
            let tag = tag_of("warmup", name);
            for (log, values) in self.logs.iter_mut().zip(warmup) {
                log.append(&tag, start_s, interval.seconds(), values)?;
            }
        }
        Ok(())
    }

    /// Writes the current hosts and nodes to `nodes.json`.
    pub fn write_nodes(&self, nodes: &NodesRecord) -> Result<()> {
        write_json(&self.path.join(file::NODES), nodes).map(|_| ())
    }

    /// Writes samples to `probes/<probe>.ndjson`.
    pub fn write_samples(&mut self, probe: &str, samples: &[SampleRecord]) -> Result<()> {
        if !self.probes.contains_key(probe) {
            let name = Name::new("probe", &format!("{probe}.ndjson"))?;
            let path = name.in_folder(&self.path.join(file::PROBES));
            self.probes.insert(probe.to_owned(), LineWriter::open(&path)?);
        }
        let lines = self.probes.get_mut(probe).expect("inserted above");
        for sample in samples {
            lines.append(sample)?;
            self.gathered.sample(probe, sample);
        }
        Ok(())
    }

    /// Writes the overview, which report pages use for a long trial. The caller must call this
    /// function once, after it has written all lines and the `finding` of the trial.
    pub fn write_overview(&self, finding: &TrialFinding) -> Result<()> {
        let (overview, series) = self.gathered.records(measured_window::measured(finding));
        write_json(&self.path.join(file::OVERVIEW), &overview)?;
        let mut lines = Vec::new();
        for one in &series {
            crate::json::compact(&mut lines, one).context("encode a series")?;
            lines.push(b'\n');
        }
        write_whole(&self.path.join(file::SERIES), &lines)?;
        let path = self.path.join(file::WINDOW);
        let what = "cassay, the measured window, a tag for each log and kind";
        let mut log = HlogWriter::create(&path, what, self.start_unix_ns)?;
        for (name, sums) in self.kinds.iter().zip(&self.window) {
            for (which, values) in HistogramKind::ALL.iter().zip(sums) {
                let tag = measured_window::tag_of(*which, name);
                log.append(&tag, 0.0, finding.seconds, values)?;
            }
        }
        Ok(())
    }

    /// Writes a step of a fault to `faults.ndjson`.
    pub fn write_fault_step(&mut self, step: &FaultStepRecord) -> Result<()> {
        let lines = match &mut self.faults {
            Some(lines) => lines,
            none => none.insert(LineWriter::open(&self.path.join(file::FAULTS))?),
        };
        lines.append(step)
    }

    /// Appends the figures of one client in one interval to `clients.ndjson`.
    pub fn write_client_second(&mut self, second: &ClientSecondRecord) -> Result<()> {
        let lines = match &mut self.clients {
            Some(lines) => lines,
            none => none.insert(LineWriter::open(&self.path.join(file::CLIENTS))?),
        };
        lines.append(second)
    }

    /// Writes `clients.hlog`, which contains the times of the measured population by client and
    /// kind of operation, without lower bounds. A tag is `client1.latency.KIND`, or has `service`
    /// or `errors` in place of `latency`.
    pub fn write_client_times(
        &self,
        clients: impl Iterator<Item = (String, Vec<KindInterval>)>,
    ) -> Result<()> {
        let path = self.path.join(file::CLIENT_TIMES);
        let what = "cassay, the measured window, a tag for each client, clock and kind";
        let mut log = HlogWriter::create(&path, what, self.start_unix_ns)?;
        for (client, kinds) in clients {
            for (kind, name) in kinds.iter().zip(&self.kinds) {
                let clocks = [
                    (HistogramKind::Latency, &kind.latency),
                    (HistogramKind::Service, &kind.service),
                    (HistogramKind::Errors, &kind.errors),
                ];
                for (which, times) in clocks {
                    let tag = format!("{client}.{}", measured_window::tag_of(which, name));
                    log.append(&tag, 0.0, 0.0, times)?;
                }
            }
        }
        Ok(())
    }

    /// Appends estimates of the clients' clocks to `clocks.ndjson`.
    pub fn write_clocks(&self, clocks: &[ClockRecord]) -> Result<()> {
        let mut lines = LineWriter::open(&self.path.join(file::CLOCKS))?;
        clocks.iter().try_for_each(|clock| lines.append(clock))
    }

    /// Writes all operations on registers to `history.ndjson`.
    pub fn write_history(&self, history: impl Iterator<Item = HistoryRecord>) -> Result<()> {
        let mut lines = LineWriter::open(&self.path.join(file::HISTORY))?;
        for operation in history {
            lines.append(&operation)?;
        }
        Ok(())
    }

    /// Returns the folder for the log files of `node`. Creates the folder if it is missing.
    pub fn logs_dir(&self, node: &str) -> Result<PathBuf> {
        let path = Name::new("node", node)?.in_folder(&self.path.join(file::LOGS));
        fs::create_dir_all(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(path)
    }
}

pub(crate) fn tag_of(phase: &str, kind: &str) -> String {
    if phase == "measure" {
        kind.to_owned()
    } else {
        format!("{phase}.{kind}")
    }
}
