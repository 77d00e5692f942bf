//! Deletes runs.
//!
//! Invariants: cassay deletes only folders that contain a run of this results folder, and no run
//! that a process is writing. A deletion first renames the folder to a hidden name, so that a
//! half-deleted run is not listed.

use crate::name::Name;
use crate::run::is_locked;
use crate::{file, find, run_name, tags};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// A run that can be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletable {
    /// Name of the run, in the form `STUDY/STAMP`.
    pub name: String,
    /// Folder of the run.
    pub path: PathBuf,
    /// Total size of the run's files, bytes.
    pub bytes: u64,
    /// Tags of the run.
    pub tags: Vec<String>,
}

/// Returns the runs with these names. A name may have any form that `find` accepts. A run that
/// cassay cannot read must be named in the form `STUDY/STAMP`.
///
/// # Errors
/// A run does not exist, or a process is writing it.
pub fn deletable(results: &Path, names: &[String]) -> Result<Vec<Deletable>> {
    let paths = names.iter().map(|name| find::place(results, name));
    let mut all = Vec::new();
    for path in paths {
        let one = look(results, &path?)?;
        if !all.contains(&one) {
            all.push(one);
        }
    }
    Ok(all)
}

/// Returns the runs that began before `unix_ns` (nanoseconds since 1970), oldest first. Omits runs
/// that a process is writing.
///
/// # Errors
/// A folder cannot be read.
pub fn older_than(results: &Path, unix_ns: u64) -> Result<Vec<Deletable>> {
    let limit = run_name::order_key(&run_name::from_unix_ns(unix_ns)?);
    let paths = find::run_paths(results)?.into_iter();
    let old = paths.filter(|path| run_name::order_key(&find::names(path).1) < limit);
    Ok(old.filter_map(|path| look(results, &path).ok()).collect())
}

fn look(results: &Path, path: &Path) -> Result<Deletable> {
    let path = if path.is_file() {
        path.parent().unwrap_or(path)
    } else {
        path
    };
    let (study, stamp) = find::names(path);
    let of_study = Name::for_study(&study)?.in_folder(results);
    let own = Name::new("stamp", &stamp)?.in_folder(&of_study);
    let same = |a: &Path, b: &Path| {
        fs::canonicalize(a)
            .ok()
            .zip(fs::canonicalize(b).ok())
            .is_some_and(|(a, b)| a == b)
    };
    if !same(&own, path) || own.is_symlink() || !own.join(file::PLAN).is_file() {
        bail!(
            "{} is not a run in the results folder {}\nhint: `--out` names another results folder",
            path.display(),
            results.display()
        );
    }
    if is_locked(&own) {
        bail!(
            "{} is running; stop the run before you delete it",
            own.display()
        );
    }
    let name = format!("{study}/{stamp}");
    let of_run = tags::tags(results)?.into_iter().filter(|(_, run)| *run == name);
    Ok(Deletable {
        tags: of_run.map(|(tag, _)| tag).collect(),
        bytes: bytes_below(&own),
        path: own,
        name,
    })
}

/// Returns the total size of the files below a folder, in bytes. This function does not follow
/// links. An unreadable file counts as 0 bytes.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}

/// Deletes a run and its tags. If this was the study's last run, also deletes the folder of the
/// study.
///
/// # Errors
/// Files cannot be removed.
pub fn delete(results: &Path, run: &Deletable) -> Result<()> {
    for tag in &run.tags {
        tags::untag(results, tag)?;
    }
    clear(results)?;
    let hidden = results.join(format!("{HIDDEN}{}", run.name.replace('/', "-")));
    fs::rename(&run.path, &hidden).with_context(|| format!("delete {}", run.path.display()))?;
    clear(results)?;
    // If the folder contains other runs, the removal fails and the folder remains. So the error is
    // ignored.
    let _ = fs::remove_dir(run.path.parent().unwrap_or(results));
    Ok(())
}

/// Prefix of the hidden name of a run that is being deleted.
const HIDDEN: &str = ".deleted-";

/// Removes all runs with a hidden name: the run that is being deleted, and runs that an interrupted
/// deletion left behind.
fn clear(results: &Path) -> Result<()> {
    let entries = fs::read_dir(results).with_context(|| format!("read {}", results.display()))?;
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(HIDDEN) {
            let path = entry.path();
            fs::remove_dir_all(&path).with_context(|| format!("delete {}", path.display()))?;
        }
    }
    Ok(())
}
