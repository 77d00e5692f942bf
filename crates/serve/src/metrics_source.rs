//! Collects the metrics of the running runs, or else of the newest run.

use crate::run_index::RunIndex;
use crate::watcher::{Watchers, lock};
use anyhow::Result;
use std::path::Path;
use std::sync::Mutex;
use store::live::{KindMetrics, LiveRun, RunFingerprint, RunFollower, fingerprint};

/// Exponents of the bounds of latencies, in quarters: from 2^-17 s (8 µs) to 2^6 s (64 s).
const QUARTERS: std::ops::RangeInclusive<i32> = -68..=24;

/// Metrics of one run.
pub(crate) type RunMetrics = (LiveRun, Vec<KindMetrics>);

/// Metrics of the newest run that is not running, with the fingerprint of its files.
#[derive(Default)]
pub(crate) struct MetricsSource(Mutex<Option<(RunFingerprint, RunMetrics)>>);

impl MetricsSource {
    /// Returns the metrics.
    ///
    /// # Errors
    /// The results folder or a file of a run cannot be read.
    pub(crate) fn collect(
        &self,
        results: &Path,
        index: &RunIndex,
        watchers: &Watchers,
    ) -> Result<Vec<RunMetrics>> {
        let bounds_ns = bounds_ns();
        let runs = index.runs(results)?;
        let mut all = Vec::new();
        for run in runs.iter().filter(|run| run.is_running) {
            let path = store::live::folder_of(&results.join(&run.study).join(&run.stamp))?;
            if let Some(watcher) = watchers.watch(&path)? {
                all.push(watcher.metrics(&bounds_ns)?);
            }
        }
        // Unreadable runs are left out.
        let readable = runs.iter().rev().find(|run| run.trials_planned > 0);
        let Some(run) = readable.filter(|_| all.is_empty()) else {
            return Ok(all);
        };
        let path = store::live::folder_of(&results.join(&run.study).join(&run.stamp))?;
        let now = fingerprint(&path);
        let mut latest = lock(&self.0);
        if let Some((_, metrics)) = latest.as_ref().filter(|(before, _)| *before == now) {
            return Ok(vec![metrics.clone()]);
        }
        let mut follower = RunFollower::open(&path)?;
        while follower.read()?.0 {}
        let metrics = follower.metrics(&bounds_ns)?;
        let found = (follower.state().clone(), metrics);
        *latest = Some((now, found.clone()));
        Ok(vec![found])
    }
}

/// Returns the bounds of latencies in ns.
pub(crate) fn bounds_ns() -> Vec<u64> {
    QUARTERS.map(|quarters| (bound_s(quarters) * 1e9).round() as u64).collect()
}

/// Returns the bounds of latencies in seconds, as labels.
pub(crate) fn bound_labels() -> Vec<String> {
    QUARTERS.map(|quarters| format!("{:?}", bound_s(quarters))).collect()
}

fn bound_s(quarters: i32) -> f64 {
    2f64.powf(f64::from(quarters) / 4.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bound of a native histogram with the schema 2 is 2 to the power of a multiple of ¼.
    #[test]
    fn four_bounds_of_the_histogram_are_one_doubling() {
        let bounds = bounds_ns();
        assert!(bounds.is_sorted() && bounds.len() == 93);
        for (low, high) in bounds.iter().zip(&bounds[4..]) {
            assert!((*high as f64 / *low as f64 - 2.0).abs() < 1e-3);
        }
        assert_eq!(bounds[92], 64_000_000_000);
    }
}
