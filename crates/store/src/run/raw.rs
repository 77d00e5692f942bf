//! The raw lines of a run: how many there are, and who compares them with what they were.

use crate::file;
use crate::ledger;
use crate::name::Name;
use crate::record::PlanRecord;
use crate::sums::{self, Depth, Sums};
use anyhow::Result;
use std::fs;
use std::path::Path;

/// A run with more raw lines than this, in bytes, is long. So many are compared and read in two
/// seconds on two cores; they are half an hour of a node with all its probes.
const RAW_BYTES_MAX: u64 = 100 << 20;

/// The raw lines of a run.
pub(super) struct Raw<'a> {
    /// Length of all of them.
    bytes: u64,
    sums: &'a Sums,
}

impl<'a> Raw<'a> {
    /// Those of all trials, of which `sums` has those that have ended.
    pub(super) fn of(run: &Path, plan: &PlanRecord, sums: &'a Sums) -> Result<Raw<'a>> {
        let known = sums.iter().filter(|(path, _)| {
            let inner = inner_of(path);
            inner.is_some_and(|(_, inner)| is_raw(inner))
        });
        let mut bytes: u64 = known.map(|(_, sum)| sum.bytes).sum();
        for trial in &plan.trials {
            let folder = Name::new("trial", &trial.slug)?.in_folder(&run.join(file::TRIALS));
            if sums.contains_key(&ledger::finding_path(&trial.slug)) || !folder.is_dir() {
                continue;
            }
            let files = sums::files_in(&folder)?;
            let raw = files.iter().filter(|inner| is_raw(inner));
            let lengths = raw.filter_map(|inner| fs::metadata(folder.join(inner)).ok());
            bytes += lengths.map(|meta| meta.len()).sum::<u64>();
        }
        Ok(Raw { bytes, sums })
    }

    /// Whether there are so many that a page is made of the overviews.
    pub(super) fn is_long(&self) -> bool {
        self.bytes > RAW_BYTES_MAX
    }

    /// How closely a file is looked at when the run is: a page of a long run is not made of the
    /// raw lines of a trial that has an overview, and the series of that are compared when they are
    /// read.
    pub(super) fn depth(&self, of_run: Depth, path: &str) -> Depth {
        let is_unshown = inner_of(path).is_some_and(|(slug, inner)| {
            let overview = ledger::prefix(slug) + file::OVERVIEW;
            let has_overview = self.sums.contains_key(&overview);
            has_overview && (is_raw(inner) || inner == file::SERIES)
        });
        match of_run {
            Depth::Shown if self.is_long() && is_unshown => Depth::Lengths,
            depth => depth,
        }
    }

    /// What is to be said of it beside the numbers.
    pub(super) fn note(&self, depth: Depth) -> Option<String> {
        (depth == Depth::Shown && self.is_long()).then(|| {
            format!(
                "The run has {:.1} GB of raw lines. This page is made of the overviews of its \
                 trials; those were compared byte by byte with what they were when they were \
                 written, and of the raw lines only the lengths (`cassay resume` compares all).",
                self.bytes as f64 / 1e9
            )
        })
    }
}

/// Whether a file in the folder of a trial holds raw lines.
fn is_raw(inner: &str) -> bool {
    let is_log = inner.ends_with(".hlog") && inner != file::WINDOW;
    let is_probe = inner.strip_prefix(file::PROBES);
    is_log || is_probe.is_some_and(|rest| rest.starts_with('/')) || inner == file::INTERVALS
}

/// Folder of the trial and path in it, of a file of a trial.
fn inner_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(file::TRIALS)?.strip_prefix('/')?;
    rest.split_once('/')
}
