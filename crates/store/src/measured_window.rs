//! Reads the histograms of a trial's measured window from its logs.
//!
//! Latency and service time each have two logs: one for all values, and one for the values that are
//! lower bounds. A percentile of several trials comes from the sum of their histograms. Invariant:
//! for one trial, the histograms cover the same operations as the percentiles in its finding.

use crate::hlog::{Entry, HlogReader};
use crate::record::TrialFinding;
use crate::run::{HistogramKind, Trial};
use anyhow::Result;
use measure::{Histogram, Times};
use std::collections::BTreeMap;

/// Histograms of the measured window. The histograms of several trials can be added up.
#[derive(Clone, Debug, Default)]
pub struct WindowHistograms {
    /// Histogram of all kinds of operations together. A kind whose operations are parts of other
    /// operations is left out.
    pub all: Times,
    /// Histograms by kind of operation.
    pub kinds: BTreeMap<String, Times>,
}

impl WindowHistograms {
    /// Adds the histograms of one trial's window. `finding` is the finding of the trial.
    ///
    /// # Errors
    /// The log is damaged.
    pub fn add(
        &mut self,
        trial: &Trial,
        which: HistogramKind,
        finding: &TrialFinding,
    ) -> Result<()> {
        let censored = match which {
            HistogramKind::Latency => HistogramKind::LatencyCensored,
            HistogramKind::Service => HistogramKind::ServiceCensored,
            // Only the times of successful operations have a log of lower bounds, so other kinds
            // have only one log.
            other => return self.add_log(trial, other, false, finding),
        };
        if let Some(log) = trial.window_log()? {
            return self.add_window(log, [which, censored], finding);
        }
        self.add_log(trial, which, false, finding)?;
        self.add_log(trial, censored, true, finding)
    }

    /// Adds the sums of the window, which were computed when the trial was written.
    fn add_window(
        &mut self,
        log: HlogReader,
        which: [HistogramKind; 2],
        finding: &TrialFinding,
    ) -> Result<()> {
        for entry in log {
            let entry = entry?;
            for (kind, is_censored) in finding.kinds.keys().flat_map(|k| [(k, false), (k, true)]) {
                if entry.tag == tag_of(which[usize::from(is_censored)], kind) {
                    self.add_entry(kind, &entry, is_censored, finding)?;
                }
            }
        }
        Ok(())
    }

    fn add_log(
        &mut self,
        trial: &Trial,
        which: HistogramKind,
        is_censored: bool,
        finding: &TrialFinding,
    ) -> Result<()> {
        for entry in trial.log(which)? {
            let entry = entry?;
            let Some(kind) = kind_of(&entry.tag, finding) else {
                continue;
            };
            self.add_entry(kind, &entry, is_censored, finding)?;
        }
        Ok(())
    }

    fn add_entry(
        &mut self,
        kind: &str,
        entry: &Entry,
        is_censored: bool,
        finding: &TrialFinding,
    ) -> Result<()> {
        let values = entry.histogram()?;
        let times = if is_censored {
            Times::from_logs(Histogram::new(), values)
        } else {
            Times::from_logs(values, Histogram::new())
        };
        if !finding.parts.iter().any(|part| part == kind) {
            self.all.merge(&times);
        }
        self.kinds.entry(kind.to_owned()).or_default().merge(&times);
        Ok(())
    }
}

/// Returns the start and the end of a trial's measured window, in seconds since the trial's start
/// line. `None` if the trial ended before the window.
pub(crate) fn measured(finding: &TrialFinding) -> Option<[f64; 2]> {
    let mut phases = finding.phases.iter();
    let measured = phases.find(|phase| phase.name == "measure")?;
    (measured.to_s > measured.from_s).then_some([measured.from_s, measured.to_s])
}

/// Returns the tag of a kind of operation in the log of the window, such as `latency.read` or
/// `latency-censored.read`.
pub(crate) fn tag_of(which: HistogramKind, kind: &str) -> String {
    let name = which.file_name();
    format!("{}.{kind}", name.strip_suffix(".hlog").unwrap_or(name))
}

/// Returns the kind of operation that a tag of the measured population represents. Returns `None`
/// for tags of other phases, which begin with the name of the phase. Version 0.0 wrote `drain.`
/// before the kind of operations that ended in the drain.
fn kind_of<'t>(tag: &'t str, finding: &TrialFinding) -> Option<&'t str> {
    let kind = tag.strip_prefix("drain.").unwrap_or(tag);
    finding.kinds.contains_key(kind).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunWriter;
    use crate::record::{PlanRecord, SeriesRecord, TrialRecord};
    use measure::{Interval, KindInterval};

    fn interval(index: u64, draining: bool, latencies: [u64; 2]) -> Interval {
        let kind = |value: u64| {
            let mut kind = KindInterval::default();
            kind.latency.record_n(value, 10);
            kind
        };
        Interval {
            draining,
            ..Interval::second(index, latencies.into_iter().map(kind).collect())
        }
    }

    #[test]
    fn the_window_holds_its_drain_and_its_parts_only_once() {
        let results = tempfile::tempdir().unwrap();
        let record = TrialRecord {
            slug: "00".into(),
            ..crate::tests::trial(0)
        };
        let plan = PlanRecord {
            trials: vec![record.clone()],
            ..crate::tests::plan("s")
        };
        let mut run = RunWriter::create(results.path(), "study: s\n", &plan).unwrap();
        let names = ["change".to_owned(), "read".to_owned()];
        let mut writer = run.begin_trial(&record, &names).unwrap();
        for (phase, interval) in [
            ("warmup", interval(0, false, [9_000, 8_000])),
            ("measure", interval(1, false, [3_000, 1_000])),
            ("drain", interval(2, true, [5_000, 2_000])),
            ("verify", interval(3, false, [7_000, 6_000])),
        ] {
            writer.write_interval(phase, &interval).unwrap();
        }
        let finding = TrialFinding {
            kinds: BTreeMap::from(names.map(|name| (name, SeriesRecord::default()))),
            parts: vec!["read".into()],
            ..TrialFinding::default()
        };
        let trial = crate::Run::open(run.path()).unwrap().trial(0).unwrap().unwrap();
        let mut window = WindowHistograms::default();
        window.add(&trial, HistogramKind::Latency, &finding).unwrap();
        assert_eq!(
            (window.all.all().count(), window.kinds["read"].all().count()),
            (20, 20)
        );
        assert!(window.all.all().min_ns() >= 3_000 && window.all.all().max_ns() < 5_010);
        // A second block is added by adding its histograms. Percentiles themselves are never
        // combined.
        window.add(&trial, HistogramKind::Latency, &finding).unwrap();
        assert_eq!(window.all.all().count(), 40);
    }
}
