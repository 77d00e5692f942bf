//! The histograms of a trial's measured window, read back from its logs.
//!
//! Whoever shows a percentile of more than one trial adds these. What must hold: of one trial they
//! cover the operations that its finding's own percentiles cover.

use crate::record::TrialFinding;
use crate::run::{HistogramKind, Trial};
use anyhow::Result;
use measure::Histogram;
use std::collections::BTreeMap;

/// What a log says of the measured window. Windows of several trials add.
#[derive(Clone, Debug, Default)]
pub struct WindowHistograms {
    /// All whole operations together: what is part of another operation is in its own kind only.
    pub all: Histogram,
    /// By kind of operation.
    pub kinds: BTreeMap<String, Histogram>,
}

impl WindowHistograms {
    /// Adds the window of one trial, which found `finding`.
    ///
    /// # Errors
    /// The log is damaged.
    pub fn add(
        &mut self,
        trial: &Trial,
        which: HistogramKind,
        finding: &TrialFinding,
    ) -> Result<()> {
        for entry in trial.log(which)? {
            let entry = entry?;
            let Some(kind) = kind_of(&entry.tag, finding) else {
                continue;
            };
            let histogram = entry.histogram()?;
            if !finding.parts.iter().any(|part| part == kind) {
                self.all.add(&histogram);
            }
            self.kinds
                .entry(kind.to_owned())
                .or_default()
                .add(&histogram);
        }
        Ok(())
    }
}

/// The kind of a tag of the window: in the measured window the tag is the kind, in other phases
/// they stand before it. The drain belongs to the window: a stall at the window's end would hide
/// in it.
fn kind_of<'t>(tag: &'t str, finding: &TrialFinding) -> Option<&'t str> {
    let kind = tag.strip_prefix("drain.").unwrap_or(tag);
    finding.kinds.contains_key(kind).then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunWriter;
    use crate::record::{EstimateRecord, FORMAT, PlanRecord, SeriesRecord, TrialRecord};
    use measure::{Interval, KindInterval};

    fn interval(index: u64, draining: bool, latencies: [u64; 2]) -> Interval {
        let kind = |value: u64| {
            let mut kind = KindInterval::default();
            kind.latency.record_n(value, 10);
            kind
        };
        Interval {
            index,
            start_ns: index * 1_000_000_000,
            end_ns: (index + 1) * 1_000_000_000,
            draining,
            kinds: latencies.into_iter().map(kind).collect(),
            client: Default::default(),
        }
    }

    #[test]
    fn the_window_holds_its_drain_and_its_parts_only_once() {
        let results = tempfile::tempdir().unwrap();
        let record = TrialRecord {
            format: FORMAT,
            index: 0,
            slug: "00".into(),
            variant: "-".into(),
            point: BTreeMap::new(),
            block: 0,
            phases: Vec::new(),
            settings: serde_json::Value::Null,
        };
        let plan = PlanRecord {
            format: FORMAT,
            cassay: "0.0.0".into(),
            study: "s".into(),
            question: "?".into(),
            seed: 1,
            scale: None,
            rerun: String::new(),
            estimate: EstimateRecord::default(),
            trials: vec![record.clone()],
            resolved: serde_json::Value::Null,
        };
        let run = RunWriter::create(results.path(), "study: s\n", &plan).unwrap();
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
        let trial = crate::Run::open(run.path())
            .unwrap()
            .trial(0)
            .unwrap()
            .unwrap();
        let mut window = WindowHistograms::default();
        window
            .add(&trial, HistogramKind::Latency, &finding)
            .unwrap();
        assert_eq!((window.all.count(), window.kinds["read"].count()), (20, 20));
        assert!(window.all.min_ns() >= 3_000 && window.all.max_ns() < 5_010);
        // A second block adds to it: no percentile is ever taken twice.
        window
            .add(&trial, HistogramKind::Latency, &finding)
            .unwrap();
        assert_eq!(window.all.count(), 40);
    }
}
