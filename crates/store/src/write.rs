//! Writing a run, in the order of time.
//!
//! What must hold at every moment, also after kill -9: the plan is there before anything started;
//! the journal names each change of state before it was made; a file that does not grow is there
//! whole or not at all. The writer holds a lock on the journal, so that a reader can tell a
//! running run from an interrupted one, and a run has one writer.

use crate::convert::{interval_records, seconds_since};
use crate::hlog::HlogWriter;
use crate::lines::{LineWriter, Lines};
use crate::record::{FORMAT, FindingsRecord, JournalRecord, NodesRecord, PlanRecord};
use crate::record::{SampleRecord, TrialFinding, TrialFindingRecord, TrialRecord};
use crate::run::HistogramKind;
use crate::{file, stamp};
use anyhow::{Context, Result, bail};
use measure::{Interval, clock};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Runs of one study within one second; more is a mistake in the caller, not a busy user.
const STAMP_ATTEMPTS_MAX: u32 = 1000;

/// Owns the folder of a run while it is made.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    stamp: String,
    journal: LineWriter,
}

impl RunWriter {
    /// Makes `results/<plan.study>/<stamp>/` with the copy of the study and the plan in it, and
    /// points `results/latest` at it. The stamp is the plan's second, made unique.
    pub fn create(results: &Path, study_yaml: &str, plan: &PlanRecord) -> Result<RunWriter> {
        stamp::check_folder_name("study name", &plan.study)?;
        let folder = results.join(&plan.study);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let (path, stamp) = make_stamped(&folder, clock::unix_ns())?;
        write_whole(&path.join(file::STUDY), study_yaml.as_bytes())?;
        write_json(&path.join(file::PLAN), plan)?;
        let trials = path.join(file::TRIALS);
        fs::create_dir(&trials).with_context(|| format!("make {}", trials.display()))?;
        let journal = lock(LineWriter::open(&path.join(file::JOURNAL))?, &path)?;
        sync_folder(&path)?;
        sync_folder(&folder)?;
        point_latest(results, &Path::new(&plan.study).join(&stamp))?;
        Ok(RunWriter {
            path,
            stamp,
            journal,
        })
    }

    /// Takes up an interrupted run again. A torn last journal line is cut off first. Refused
    /// while another process still writes it.
    pub fn resume(path: &Path) -> Result<RunWriter> {
        let journal_path = path.join(file::JOURNAL);
        if !path.join(file::PLAN).is_file() {
            bail!("{} is not a run: it has no {}", path.display(), file::PLAN);
        }
        let journal = lock(LineWriter::open(&journal_path)?, path)?;
        cut_torn_line(&journal_path)?;
        for record in Lines::<JournalRecord>::open(&journal_path)? {
            record?;
        }
        let stamp = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(RunWriter {
            path: path.to_owned(),
            stamp,
            journal,
        })
    }

    /// The folder of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its stamp: the last part of the path.
    pub fn stamp(&self) -> &str {
        &self.stamp
    }

    /// Writes a journal line and waits until it is on the disk. Called *before* the change.
    pub fn journal(
        &mut self,
        event: &str,
        trial: Option<usize>,
        detail: serde_json::Value,
    ) -> Result<()> {
        self.journal.append(&JournalRecord {
            unix_ns: clock::unix_ns(),
            event: event.to_owned(),
            trial,
            detail,
        })?;
        self.journal.sync()
    }

    /// Makes the folder of a trial. Its start line is now. A folder left by an interrupted attempt
    /// at the same trial is kept aside as `NN-slug.attempt-1`, `-2`, ….
    pub fn begin_trial(&self, trial: &TrialRecord, kinds: &[String]) -> Result<TrialWriter> {
        stamp::check_folder_name("trial", &trial.slug)?;
        let path = self.path.join(file::TRIALS).join(&trial.slug);
        set_aside(&path)?;
        for folder in [&path, &path.join(file::PROBES), &path.join(file::LOGS)] {
            fs::create_dir(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        write_json(&path.join(file::TRIAL), trial)?;
        TrialWriter::open(path, &trial.slug, kinds)
    }

    /// Writes `finding.json` of the trial in folder `slug`, whole, before the journal says that the
    /// trial is finished: a resumed or interrupted run then has what its finished trials found.
    pub fn write_finding(&self, slug: &str, finding: &TrialFinding) -> Result<()> {
        stamp::check_folder_name("trial", slug)?;
        let record = TrialFindingRecord {
            format: FORMAT,
            finding: finding.clone(),
        };
        let folder = self.path.join(file::TRIALS).join(slug);
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        write_json(&folder.join(file::FINDING), &record)
    }

    /// Adds a probe's samples to the trial in folder `slug`, which has ended: what was recorded
    /// elsewhere meanwhile. One that is there already is replaced.
    pub fn write_imported(&self, slug: &str, probe: &str, samples: &[SampleRecord]) -> Result<()> {
        stamp::check_folder_name("trial", slug)?;
        stamp::check_folder_name("probe", probe)?;
        let mut lines = Vec::new();
        for sample in samples {
            serde_json::to_writer(&mut lines, sample).context("write a sample")?;
            lines.push(b'\n');
        }
        let folder = self.path.join(file::TRIALS).join(slug).join(file::PROBES);
        write_whole(&folder.join(format!("{probe}.ndjson")), &lines)
    }

    /// Writes `findings.json`, whole.
    pub fn write_findings(&self, findings: &FindingsRecord) -> Result<()> {
        write_json(&self.path.join(file::FINDINGS), findings)
    }

    /// Writes `report.html`, whole; returns its path.
    pub fn write_report(&self, html: &str) -> Result<PathBuf> {
        let path = self.path.join(file::REPORT);
        write_whole(&path, html.as_bytes())?;
        Ok(path)
    }
}

/// Writes one trial while it runs.
pub struct TrialWriter {
    path: PathBuf,
    start_ns: u64,
    start_unix_ns: u64,
    kinds: Vec<String>,
    intervals: LineWriter,
    logs: [HlogWriter; 5],
    probes: BTreeMap<String, LineWriter>,
}

impl TrialWriter {
    fn open(path: PathBuf, slug: &str, kinds: &[String]) -> Result<TrialWriter> {
        let unix_ns = clock::unix_ns();
        let open = |kind: HistogramKind| {
            let what = format!("cassay, trial {slug}, {}", kind.what());
            HlogWriter::create(&path.join(kind.file_name()), &what, unix_ns)
        };
        let logs = [
            open(HistogramKind::Latency)?,
            open(HistogramKind::Service)?,
            open(HistogramKind::Errors)?,
            open(HistogramKind::LatencyCensored)?,
            open(HistogramKind::ServiceCensored)?,
        ];
        Ok(TrialWriter {
            start_ns: clock::now_ns(),
            start_unix_ns: unix_ns,
            kinds: kinds.to_vec(),
            intervals: LineWriter::open(&path.join(file::INTERVALS))?,
            logs,
            probes: BTreeMap::new(),
            path,
        })
    }

    /// The folder of the trial.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The start line, monotonic clock: what `t_s` in all records counts from.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// The start line, in nanoseconds since 1970.
    pub fn start_unix_ns(&self) -> u64 {
        self.start_unix_ns
    }

    /// Writes one interval of `phase`: its lines in `intervals.ndjson` and its histograms. In the
    /// logs the measured population has the kind as its tag, whenever it ended; everything else has
    /// `<phase>.<kind>`, with `warmup` for what was due before the window. So a tool that merges by
    /// tag has what the findings have.
    pub fn write_interval(&mut self, phase: &str, interval: &Interval) -> Result<()> {
        for line in interval_records(phase, self.start_ns, &self.kinds, interval) {
            self.intervals.append(&line)?;
        }
        let start_s = seconds_since(self.start_ns, interval.start_ns);
        for (kind, name) in interval.kinds.iter().zip(&self.kinds) {
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
            // Only the run that holds the window has early operations, and a drain of its own.
            let is_measured = interval.window_from_ns > 0 || phase == "drain";
            let tag = tag_of(if is_measured { "measure" } else { phase }, name);
            for (log, values) in self.logs.iter_mut().zip(population) {
                log.append(&tag, start_s, interval.seconds(), values)?;
            }
            let tag = tag_of("warmup", name);
            for (log, values) in self.logs.iter_mut().zip(warmup) {
                log.append(&tag, start_s, interval.seconds(), values)?;
            }
        }
        Ok(())
    }

    /// Writes `nodes.json`, whole: the hosts and nodes as they are now.
    pub fn write_nodes(&self, nodes: &NodesRecord) -> Result<()> {
        write_json(&self.path.join(file::NODES), nodes)
    }

    /// Writes samples to `probes/<probe>.ndjson`.
    pub fn write_samples(&mut self, probe: &str, samples: &[SampleRecord]) -> Result<()> {
        if !self.probes.contains_key(probe) {
            stamp::check_folder_name("probe", probe)?;
            let path = self.path.join(file::PROBES).join(format!("{probe}.ndjson"));
            self.probes
                .insert(probe.to_owned(), LineWriter::open(&path)?);
        }
        let lines = self.probes.get_mut(probe).expect("inserted above");
        samples.iter().try_for_each(|sample| lines.append(sample))
    }

    /// The folder for the log files of `node`, made if it is not there.
    pub fn logs_dir(&self, node: &str) -> Result<PathBuf> {
        stamp::check_folder_name("node name", node)?;
        let path = self.path.join(file::LOGS).join(node);
        fs::create_dir_all(&path).with_context(|| format!("make {}", path.display()))?;
        Ok(path)
    }
}

/// The tag of a kind in the histogram logs.
pub(crate) fn tag_of(phase: &str, kind: &str) -> String {
    if phase == "measure" {
        kind.to_owned()
    } else {
        format!("{phase}.{kind}")
    }
}

/// Puts `bytes` at `path` whole: a temporary file beside it, synced, then renamed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut temporary = tempfile::Builder::new()
            .prefix(".part-")
            // As any other new file: the process's umask takes away what it takes away.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(path)?;
        File::open(folder)?.sync_all()
    };
    write().with_context(|| format!("write {}", path.display()))
}

fn write_json<T: Serialize>(path: &Path, record: &T) -> Result<()> {
    let mut bytes =
        serde_json::to_vec_pretty(record).with_context(|| format!("encode {}", path.display()))?;
    bytes.push(b'\n');
    write_whole(path, &bytes)
}

fn make_stamped(folder: &Path, unix_ns: u64) -> Result<(PathBuf, String)> {
    let second = stamp::of_unix_ns(unix_ns)?;
    for number in 1..=STAMP_ATTEMPTS_MAX {
        let stamp = match number {
            1 => second.clone(),
            _ => format!("{second}-{number}"),
        };
        let path = folder.join(&stamp);
        // create_dir fails when it exists, also when another process is as fast.
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, stamp)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("make {}", path.display())),
        }
    }
    bail!(
        "{} has {STAMP_ATTEMPTS_MAX} runs of the second {second}",
        folder.display()
    );
}

fn lock(journal: LineWriter, run: &Path) -> Result<LineWriter> {
    match journal.file().try_lock() {
        Ok(()) => Ok(journal),
        Err(fs::TryLockError::WouldBlock) => bail!(
            "{} is being written by another process; wait until it ends, or stop it",
            run.display()
        ),
        // Some network file systems have no locks: a run there looks interrupted while it runs.
        Err(fs::TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => {
            Ok(journal)
        }
        Err(fs::TryLockError::Error(e)) => {
            Err(e).with_context(|| format!("lock the journal of {}", run.display()))
        }
    }
}

fn cut_torn_line(path: &Path) -> Result<()> {
    let bytes = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let whole = bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |last| last + 1);
    if whole < bytes.len() {
        let file = fs::OpenOptions::new().write(true).open(path);
        file.and_then(|file| file.set_len(whole as u64))
            .with_context(|| format!("cut the torn last line off {}", path.display()))?;
    }
    Ok(())
}

fn set_aside(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let aside = (1..)
        .map(|n| PathBuf::from(format!("{}.attempt-{n}", path.display())))
        .find(|aside| !aside.exists())
        .expect("the numbers do not end");
    fs::rename(path, &aside)
        .with_context(|| format!("set {} aside as {}", path.display(), aside.display()))
}

fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("sync {}", path.display()))
}

/// Swaps `results/latest` in one step: a new link beside it, renamed over it.
fn point_latest(results: &Path, run: &Path) -> Result<()> {
    let latest = results.join(file::LATEST);
    let link = results.join(format!(
        ".latest-{}-{}",
        std::process::id(),
        clock::now_ns()
    ));
    symlink(run, &link).with_context(|| format!("make the link {}", link.display()))?;
    fs::rename(&link, &latest)
        .inspect_err(|_| {
            // Not the error to report: the link that could not be renamed is only litter.
            let _ = fs::remove_file(&link);
        })
        .with_context(|| {
            format!(
                "point {} at {}; if it is not a link, move it away",
                latest.display(),
                run.display()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_stamp_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let make = || {
            make_stamped(folder.path(), 1_766_000_000_999_999_999)
                .unwrap()
                .1
        };
        assert_eq!(
            [make(), make(), make()],
            [
                "20251217T193320Z",
                "20251217T193320Z-2",
                "20251217T193320Z-3"
            ]
        );
    }

    #[test]
    fn a_file_is_replaced_whole_and_readable_by_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("findings.json");
        write_whole(&path, b"old").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
        let plain = folder.path().join("plain");
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(
            mode(&path),
            mode(&plain),
            "the process's umask decides, as for any file"
        );
    }
}
