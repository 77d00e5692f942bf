//! Writes a run, in order of time.
//!
//! Invariants, even after kill -9: the writer writes the plan before the first action. The journal
//! announces each change of state before the change. A file that does not grow is either complete
//! or does not exist. The writer holds a lock on the journal. So a reader can distinguish a running
//! run from an interrupted one, and a run has only one writer.

use crate::added_blocks;
use crate::event::{JournalEvent, JournalRecord};
use crate::file_digests::{self, FileSum, Sums};
use crate::journal::{Journal, JournalWriter};
use crate::ledger::{self, Ledger};
use crate::name::Name;
use crate::ndjson::LineWriter;
use crate::record::{AddedRecord, FORMAT, FindingsFileRecord, FindingsRecord, PlanRecord};
use crate::record::{SampleRecord, TrialFinding, TrialFindingRecord, TrialRecord};
use crate::run::stamp_of;
use crate::trial::TrialWriter;
use crate::{file, run_name};
use anyhow::{Context, Result, bail};
use measure::clock;
use serde::Serialize;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum number of runs of one study within one second. If this number is reached, the caller has
/// a bug.
const STAMP_ATTEMPTS_MAX: u32 = 1000;

/// Number of further attempts to lock the journal, and the pause before each of them.
const LOCK_ATTEMPTS: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Maximum number of links that cassay follows from a path. Linux has the same limit.
const LINKS_MAX: u32 = 40;

/// Writer of a run. It holds a lock on the run's journal, so a run has only one writer.
#[derive(Debug)]
pub struct RunWriter {
    path: PathBuf,
    stamp: String,
    journal: JournalWriter,
    slugs: Vec<String>,
    /// Checksums of the completed files. The keys are paths in the run's folder.
    sums: Sums,
}

impl RunWriter {
    /// Creates `results/<plan.study>/<stamp>/` with the plan and a copy of the study, and points
    /// `results/latest` at this folder. The stamp is the current second. It has a suffix if another
    /// run has the same stamp.
    pub fn create(results: &Path, study_yaml: &str, plan: &PlanRecord) -> Result<RunWriter> {
        let folder = Name::for_study(&plan.study)?.in_folder(results);
        check_latest(results)?;
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let (path, stamp) = make_stamped(&folder, clock::unix_ns())?;
        write_whole(&path.join(file::STUDY), study_yaml.as_bytes())?;
        let study_sum = FileSum::compute(study_yaml.as_bytes());
        let plan_sum = write_json(&path.join(file::PLAN), plan)?;
        let trials = path.join(file::TRIALS);
        fs::create_dir(&trials).with_context(|| format!("make {}", trials.display()))?;
        let lines = lock(LineWriter::open(&path.join(file::JOURNAL))?, &path)?;
        sync_folder(&path)?;
        sync_folder(&folder)?;
        point_latest(results, &Path::new(&plan.study).join(&stamp))?;
        let mut writer = RunWriter {
            path,
            stamp,
            journal: JournalWriter::new(lines, String::new()),
            slugs: plan.trials.iter().map(|trial| trial.slug.clone()).collect(),
            sums: Sums::from([
                (file::STUDY.to_owned(), study_sum),
                (file::PLAN.to_owned(), plan_sum),
            ]),
        };
        let files = writer.sums.clone();
        writer.journal(None, JournalEvent::RunPlanned { files })?;
        Ok(writer)
    }

    /// Resumes an interrupted or damaged run. Removes an incomplete last line of the journal,
    /// records damaged lines, and renames existing findings, reports and figures. Fails while
    /// another process is writing the run.
    pub fn resume(path: &Path) -> Result<RunWriter> {
        let (mut writer, journal) = RunWriter::take(path)?;
        let lines: Vec<usize> = journal.damaged.iter().map(|(line, _)| *line).collect();
        if !lines.is_empty() {
            writer.journal(None, JournalEvent::JournalDamaged { lines })?;
        }
        for old in [file::FINDINGS, file::REPORT, file::FIGURE] {
            set_aside(&path.join(old))?;
        }
        Ok(writer)
    }

    /// Opens a finished run in order to write its report. Fails while another process is writing
    /// the run.
    pub fn reopen(path: &Path) -> Result<RunWriter> {
        Ok(RunWriter::take(path)?.0)
    }

    fn take(path: &Path) -> Result<(RunWriter, Journal)> {
        let plan_path = path.join(file::PLAN);
        if !plan_path.is_file() {
            bail!(
                "{} is not the folder of a run: it contains no {}",
                path.display(),
                file::PLAN
            );
        }
        let journal_path = path.join(file::JOURNAL);
        let mut lines = lock(LineWriter::open(&journal_path)?, path)?;
        lines.cut_torn_line()?;
        let journal = Journal::read(&journal_path)?;
        let plan = added_blocks::whole_plan(path, &journal)?;
        let ledger = Ledger::read(path, &plan, &journal, &Sums::new())?;
        let writer = RunWriter {
            path: path.to_owned(),
            stamp: stamp_of(path),
            journal: JournalWriter::new(lines, journal.chain.clone()),
            slugs: plan.trials.into_iter().map(|trial| trial.slug).collect(),
            sums: ledger.sums,
        };
        Ok((writer, journal))
    }

    /// Adds blocks to the plan. Writes the file that lists the blocks, and then the journal line
    /// with the checksum of that file.
    pub fn extend(&mut self, added: &AddedRecord) -> Result<()> {
        let journal = Journal::read(&self.path.join(file::JOURNAL))?;
        let name = added_blocks::next_file(&journal);
        let sum = write_json(&self.path.join(&name), added)?;
        let files = Sums::from([(name, sum)]);
        self.sums.extend(files.clone());
        let trials = added.trials.iter();
        self.slugs.extend(trials.map(|trial| trial.slug.clone()));
        let blocks = added.blocks;
        self.journal(None, JournalEvent::RunExtended { blocks, files })
    }

    /// Returns the folder of the run.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the stamp of the run, which is the last component of its path.
    pub fn stamp(&self) -> &str {
        &self.stamp
    }

    /// Writes a journal line, and waits until the line is on disk. The caller must call this
    /// function *before* the change that the line announces.
    pub fn journal(&mut self, trial: Option<usize>, event: JournalEvent) -> Result<()> {
        self.journal.append(&JournalRecord {
            unix_ns: clock::unix_ns(),
            trial,
            event,
        })
    }

    /// Creates the folder of a trial. The start line of the trial is the current time. The folder
    /// of an interrupted attempt at the same trial is renamed to `NN-slug.attempt-1`, `-2`, ….
    pub fn begin_trial(&mut self, trial: &TrialRecord, kinds: &[String]) -> Result<TrialWriter> {
        let path = self.trial_folder(&trial.slug)?;
        set_aside(&path)?;
        ledger::forget(&mut self.sums, &trial.slug);
        for folder in [&path, &path.join(file::PROBES), &path.join(file::LOGS)] {
            fs::create_dir(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        write_json(&path.join(file::TRIAL), trial)?;
        TrialWriter::open(path, &trial.slug, kinds)
    }

    /// Ends the trial with number `index` in folder `slug`. Syncs the trial's files to disk, and
    /// writes their checksums into `finding.json` together with the finding. Then records in the
    /// journal that the trial is finished. A resumed run keeps the findings of its finished trials.
    pub fn finish_trial(&mut self, index: usize, slug: &str, finding: &TrialFinding) -> Result<()> {
        let folder = self.trial_folder(slug)?;
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        let mut record = TrialFindingRecord {
            format: FORMAT,
            finding: finding.clone(),
            files: Sums::new(),
        };
        for inner in file_digests::files_in(&folder)? {
            let sum = FileSum::sync_and_read(&folder.join(&inner))?;
            record.files.insert(inner, sum);
        }
        let sum = write_json(&folder.join(file::FINDING), &record)?;
        let finished = JournalEvent::TrialFinished {
            verdict: Some(finding.verdict),
            ops_per_s: finding.all.ops_per_s,
            finding: Some(sum.clone()),
        };
        self.journal(Some(index), finished)?;
        let files = record.files.into_iter();
        self.sums.extend(files.map(|(inner, sum)| (ledger::prefix(slug) + &inner, sum)));
        self.sums.insert(ledger::finding_path(slug), sum);
        Ok(())
    }

    /// Records files of a finished trial that were added or have grown. These files are the logs of
    /// the nodes, whose last lines are copied when the nodes stop. Does nothing for an unfinished
    /// trial.
    pub fn note_added(&mut self, slug: &str) -> Result<()> {
        if !self.sums.contains_key(&ledger::finding_path(slug)) {
            return Ok(());
        }
        let folder = self.trial_folder(slug)?;
        let mut added = Sums::new();
        for inner in file_digests::files_in(&folder)? {
            let path = ledger::prefix(slug) + &inner;
            let may_grow = Path::new(&inner).starts_with(file::LOGS);
            let known = self.sums.get(&path);
            if known.is_none() || may_grow {
                let sum = FileSum::sync_and_read(&folder.join(&inner))?;
                if known != Some(&sum) {
                    added.insert(path, sum);
                }
            }
        }
        self.add(added)
    }

    /// Adds samples from another tool to the trial in folder `slug`. The trial must have ended.
    /// Replaces an existing probe with the same name.
    pub fn write_imported(
        &mut self,
        slug: &str,
        probe: &str,
        samples: &[SampleRecord],
    ) -> Result<()> {
        let name = Name::new("probe", &format!("{probe}.ndjson"))?;
        let mut lines = Vec::new();
        for sample in samples {
            crate::json::compact(&mut lines, sample).context("write a sample")?;
            lines.push(b'\n');
        }
        let folder = self.trial_folder(slug)?.join(file::PROBES);
        write_whole(&name.in_folder(&folder), &lines)?;
        let path = format!("{}{}/{}", ledger::prefix(slug), file::PROBES, name.as_str());
        self.add(Sums::from([(path, FileSum::compute(&lines))]))
    }

    fn add(&mut self, added: Sums) -> Result<()> {
        if added.is_empty() {
            return Ok(());
        }
        self.sums.extend(added.clone());
        self.journal(None, JournalEvent::FilesAdded { files: added })
    }

    /// Ends the run. Records in the journal that the run is finished, the reason if the run
    /// `stopped` early, and the checksum of `findings.json`. Then writes `findings.json`. `cassay`
    /// is the version that writes the file. Files of unfinished trials are recorded in their
    /// current state.
    pub fn finish(
        &mut self,
        findings: &FindingsRecord,
        cassay: &str,
        stopped: Option<String>,
    ) -> Result<()> {
        for slug in &self.slugs {
            let folder = Name::new("trial", slug)?.in_folder(&self.path.join(file::TRIALS));
            if self.sums.contains_key(&ledger::finding_path(slug)) || !folder.is_dir() {
                continue;
            }
            for inner in file_digests::files_in(&folder)? {
                let sum = FileSum::sync_and_read(&folder.join(&inner))?;
                self.sums.insert(ledger::prefix(slug) + &inner, sum);
            }
        }
        let record = FindingsFileRecord {
            findings: findings.clone(),
            cassay: cassay.to_owned(),
            files: self.sums.clone(),
        };
        let path = self.path.join(file::FINDINGS);
        let bytes = encode(&path, &record)?;
        let finished = JournalEvent::RunFinished {
            verdict: Some(findings.verdict),
            stopped,
            findings: Some(FileSum::compute(&bytes)),
        };
        self.journal(None, finished)?;
        write_whole(&path, &bytes)
    }

    /// Returns the folder of a trial.
    pub fn trial_folder(&self, slug: &str) -> Result<PathBuf> {
        Ok(Name::new("trial", slug)?.in_folder(&self.path.join(file::TRIALS)))
    }

    /// Writes `report.html`, and the figure of the report next to it. Returns the path of the
    /// report.
    pub fn write_report(&self, html: &str, figure: Option<&str>) -> Result<PathBuf> {
        let path = self.path.join(file::REPORT);
        write_whole(&path, html.as_bytes())?;
        if let Some(svg) = figure {
            write_whole(&figure_of(&path), svg.as_bytes())?;
        }
        Ok(path)
    }
}

/// Writes a report to the path that a user named, and its figure next to it under the same name
/// (`report.svg`). Returns the path of the figure. Writes no figure next to a pipe or a device.
pub fn write_report(path: &Path, html: &str, figure: Option<&str>) -> Result<Option<PathBuf>> {
    let is_file = write_output(path, html.as_bytes())?;
    let Some(svg) = figure.filter(|_| is_file) else {
        return Ok(None);
    };
    let figure = figure_of(path);
    write_output(&figure, svg.as_bytes())?;
    Ok(Some(figure))
}

/// Returns the path of a report's figure.
pub fn figure_of(report: &Path) -> PathBuf {
    report.with_extension("svg")
}

/// Writes `bytes` to the path that a user named. If the path leads to a file or to nothing, writes
/// the file atomically, and keeps a link to it. Writes to a pipe or a device without replacing it.
/// Returns true if the path leads to a file.
///
/// # Errors
/// The path leads to a folder, a disk or a socket, or cannot be written.
pub fn write_output(path: &Path, bytes: &[u8]) -> Result<bool> {
    let context = || format!("write {}", path.display());
    let Some(mut output) = foreign::output(path).with_context(context)? else {
        write_whole(&behind_links(path).with_context(context)?, bytes)?;
        return Ok(true);
    };
    output.write_all(bytes).and_then(|()| output.flush()).with_context(context)?;
    Ok(false)
}

/// Returns the path to which the links of `path` lead. The file at this path may not exist.
fn behind_links(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            // The path is not a link, so it is the path of the file.
            Err(_) => return Ok(path),
        }
    }
    Err(rustix::io::Errno::LOOP.into())
}

/// Writes `bytes` atomically to `path`, which cassay itself must have chosen. Replaces any other
/// object at this path. The function writes and syncs a temporary file in the same folder, and then
/// renames the file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let mut temporary = tempfile::Builder::new()
            .prefix(".part-")
            // The file gets the permissions of any new file, which depend on the umask of the
            // process.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(path)?;
        foreign::folder(folder)?.sync_all()
    };
    write().with_context(|| format!("write {}", path.display()))
}

fn encode<T: Serialize>(path: &Path, record: &T) -> Result<Vec<u8>> {
    let mut bytes =
        crate::json::pretty(record).with_context(|| format!("encode {}", path.display()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Writes a record to `path` atomically. Returns the checksum of the file.
pub(crate) fn write_json<T: Serialize>(path: &Path, record: &T) -> Result<FileSum> {
    let bytes = encode(path, record)?;
    write_whole(path, &bytes)?;
    Ok(FileSum::compute(&bytes))
}

fn make_stamped(folder: &Path, unix_ns: u64) -> Result<(PathBuf, String)> {
    let second = run_name::from_unix_ns(unix_ns)?;
    for number in 1..=STAMP_ATTEMPTS_MAX {
        let stamp = match number {
            1 => second.clone(),
            _ => format!("{second}-{number}"),
        };
        let path = folder.join(&stamp);
        // `create_dir` fails if the folder exists, even if another process creates it at the same
        // time. So only one process gets the folder.
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, stamp)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e).with_context(|| format!("make {}", path.display())),
        }
    }
    bail!(
        "{} already has {STAMP_ATTEMPTS_MAX} runs that started in the second {second}: try again",
        folder.display()
    );
}

/// Locks the journal. A reader that looks for a writer holds the lock for a few microseconds, so a
/// failure counts only if it persists.
fn lock(journal: LineWriter, run: &Path) -> Result<LineWriter> {
    let try_lock = || journal.file().try_lock();
    let mut locked = try_lock();
    for _ in 0..LOCK_ATTEMPTS {
        if !matches!(locked, Err(fs::TryLockError::WouldBlock)) {
            break;
        }
        clock::sleep(LOCK_PAUSE);
        locked = try_lock();
    }
    match locked {
        Ok(()) => Ok(journal),
        Err(fs::TryLockError::WouldBlock) => bail!(
            "another process is writing {}; wait until that process ends, or stop it",
            run.display()
        ),
        // Some network file systems do not support locks, so the error is ignored. On such a file
        // system, a running run looks interrupted.
        Err(fs::TryLockError::Error(e)) if e.kind() == std::io::ErrorKind::Unsupported => {
            Ok(journal)
        }
        Err(fs::TryLockError::Error(e)) => {
            Err(e).with_context(|| format!("lock the journal of {}", run.display()))
        }
    }
}

fn set_aside(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let aside = (1..)
        .map(|n| PathBuf::from(format!("{}.attempt-{n}", path.display())))
        .find(|aside| !aside.exists())
        .expect("at least one number is free");
    fs::rename(path, &aside)
        .with_context(|| format!("rename {} to {}", path.display(), aside.display()))
}

fn sync_folder(path: &Path) -> Result<()> {
    foreign::folder(path)
        .and_then(|folder| folder.sync_all())
        .with_context(|| format!("sync {}", path.display()))
}

/// Checks that `results/latest` can be a link. This check takes place before any file of the run is
/// created.
fn check_latest(results: &Path) -> Result<()> {
    let latest = results.join(file::LATEST);
    match fs::symlink_metadata(&latest) {
        Ok(meta) if !meta.is_symlink() => bail!(
            "{} must be the link to the latest run, but is not a link: move it elsewhere",
            latest.display()
        ),
        _ => Ok(()),
    }
}

/// Replaces `results/latest` in one step. The function creates a new link in the same folder and
/// renames the link to `latest`.
fn point_latest(results: &Path, run: &Path) -> Result<()> {
    let latest = results.join(file::LATEST);
    let link = results.join(format!(
        ".latest-{}-{}",
        std::process::id(),
        clock::now_ns()
    ));
    symlink(run, &link).with_context(|| format!("create the link {}", link.display()))?;
    fs::rename(&link, &latest)
        .inspect_err(|_| {
            // A failure to remove the link is ignored, because a link that could not be renamed has
            // no effect.
            let _ = fs::remove_file(&link);
        })
        .with_context(|| format!("point {} at {}", latest.display(), run.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_stamp_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        let make = || make_stamped(folder.path(), 1_766_000_000_999_999_999).unwrap().1;
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
    /// An earlier version replaced a pipe, a device or a link by a file.
    #[test]
    fn an_output_that_is_no_file_is_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), mode).unwrap();
        symlink("pipe", path("to-pipe")).unwrap();
        write_output(&path("to-pipe"), b"lost").unwrap_err();
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut options = fs::OpenOptions::new();
        let _reader = options.read(true).custom_flags(flags).open(path("pipe")).unwrap();
        assert!(!write_output(&path("to-pipe"), b"read").unwrap());
        assert_eq!(
            write_report(&path("pipe"), "<html>", Some("<svg>")).unwrap(),
            None
        );
        let kind = |name: &str| fs::symlink_metadata(path(name)).unwrap().file_type();
        assert!(kind("pipe").is_fifo() && kind("to-pipe").is_symlink());
        symlink("file", path("link")).unwrap();
        for text in ["first", "second"] {
            assert!(write_output(&path("link"), text.as_bytes()).unwrap());
            assert_eq!(fs::read_to_string(path("file")).unwrap(), text);
        }
        assert!(kind("link").is_symlink());
        symlink("loop", path("loop")).unwrap();
        write_output(&path("loop"), b"").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
    }
}
