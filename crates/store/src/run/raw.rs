//! Raw lines of a run: their total size, and the extent to which cassay verifies them.

use crate::file;
use crate::file_digests::{self, Depth, Sums};
use crate::ledger;
use crate::name::Name;
use crate::record::PlanRecord;
use anyhow::Result;
use std::fs;
use std::path::Path;

/// Size of the raw lines in bytes above which a run is long. Two cores verify and read this many
/// bytes in two seconds. A node with all probes writes this many bytes in half an hour.
const RAW_BYTES_MAX: u64 = 100 << 20;

pub(super) struct Raw<'a> {
    /// Total size of the raw lines, bytes.
    bytes: u64,
    sums: &'a Sums,
}

impl<'a> Raw<'a> {
    /// Adds up the sizes of the raw lines of all trials. `sums` contains the checksums of the
    /// trials that have ended.
    pub(super) fn read(run: &Path, plan: &PlanRecord, sums: &'a Sums) -> Result<Raw<'a>> {
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
            let files = file_digests::files_in(&folder)?;
            let raw = files.iter().filter(|inner| is_raw(inner));
            let lengths = raw.filter_map(|inner| fs::metadata(folder.join(inner)).ok());
            bytes += lengths.map(|meta| meta.len()).sum::<u64>();
        }
        Ok(Raw { bytes, sums })
    }

    pub(super) fn is_long(&self) -> bool {
        self.bytes > RAW_BYTES_MAX
    }

    /// Returns the extent to which a file is verified when the run is opened. In a long run, a page
    /// does not read the raw lines of a trial with an overview, so only their lengths are verified.
    /// The series of the overview are verified when they are read.
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

    /// Returns a remark if only the lengths of raw lines were verified, because the run is long.
    pub(super) fn note(&self, depth: Depth) -> Option<String> {
        (depth == Depth::Shown && self.is_long()).then(|| {
            format!(
                "The run has {:.1} GB of raw lines. This page shows the overviews of its trials, \
                 whose digests still match. Of the raw lines, cassay compared only the lengths \
                 (`cassay resume` compares all bytes).",
                self.bytes as f64 / 1e9
            )
        })
    }
}

/// Returns true if the file with this path in the folder of a trial contains raw lines.
fn is_raw(inner: &str) -> bool {
    let is_log = inner.ends_with(".hlog") && inner != file::WINDOW;
    let is_probe = inner.strip_prefix(file::PROBES);
    is_log || is_probe.is_some_and(|rest| rest.starts_with('/')) || inner == file::INTERVALS
}

/// Splits the path of a trial's file. Returns the trial's folder, and the path within that folder.
/// `None` for other files.
fn inner_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix(file::TRIALS)?.strip_prefix('/')?;
    rest.split_once('/')
}
