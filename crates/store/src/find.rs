//! Finds runs in a results folder. This module lists all runs, and finds a single run by a short
//! name.

use crate::name::{self, Name};
use crate::record::{RequirementOutcome, Verdict, left_out_words, outcome_of};
use crate::run::{Run, RunState, SalvagedRun, names_in};
use crate::{file, run_name, tags};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A line of the list of runs.
#[derive(Clone, Debug)]
pub struct RunLine {
    /// Folder of the run.
    pub path: PathBuf,
    /// Name of the study.
    pub study: String,
    /// Stamp of the run, which is the time at which the run began, as in its name.
    pub stamp: String,
    /// State of the run. `None` if the run cannot be read.
    pub state: Option<RunState>,
    /// Verdict of the run. `None` if the run has no findings yet.
    pub verdict: Option<Verdict>,
    /// Number of trials that the journal reports as finished.
    pub trials_finished: usize,
    /// Number of trials in the plan.
    pub trials_planned: usize,
    /// Outcome of the study's requirements: `met`, `missed` or `inconclusive`. `None` if the study
    /// has no requirements.
    pub requirements: Option<RequirementOutcome>,
    /// Number of omitted trials, with the reasons. `None` if no trial was omitted.
    pub left_out: Option<String>,
    /// Reason why the run cannot be read. `None` if the run can be read.
    pub error: Option<String>,
}

/// Returns all runs under `results`, oldest first. For an unreadable run, the line contains the
/// error.
pub fn list(results: &Path) -> Result<Vec<RunLine>> {
    Ok(run_paths(results)?.into_iter().map(listed).collect())
}

fn listed(path: PathBuf) -> RunLine {
    let (study, stamp) = names(&path);
    let mut line = RunLine {
        path,
        study,
        stamp,
        state: None,
        verdict: None,
        trials_finished: 0,
        trials_planned: 0,
        requirements: None,
        left_out: None,
        error: None,
    };
    match Run::look(&line.path) {
        Ok(run) => {
            line.state = Some(run.state);
            line.trials_finished = run.finished_trials().len();
            line.trials_planned = run.plan.trials.len();
            line.left_out = left_out_words(&run.journal);
            if let Some(findings) = run.findings {
                line.requirements = outcome_of(&findings.requirements);
                line.verdict = Some(findings.verdict);
            }
        }
        Err(e) => line.error = Some(format!("{e:#}")),
    }
    line
}

/// Opens the run that `name` refers to. `name` may be a path; `latest`; a tag; a study, which means
/// its newest run; `study/stamp`; a stamp; or the beginning of `study/stamp` or of a stamp.
///
/// # Errors
/// No run matches, or several runs match. Also returns the errors of [`Run::open`].
pub fn find(results: &Path, name: &str) -> Result<Run> {
    Run::open(&place(results, name)?)
}

/// Returns the newest run of a study that has findings. Skips unreadable runs. As in a list, this
/// function reads only the files that a list shows, and compares only the lengths of all other
/// files.
pub fn last_finished(results: &Path, study: &str) -> Option<Run> {
    last(results, study, |run| run.findings.is_some())
}

/// Outcome of the requirements of a run that may serve as a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DidWell {
    /// The run met all of its requirements, or the study had none.
    Met,
    /// The run missed no requirement, but some requirements are inconclusive.
    MissedNone,
}

/// Returns the newest usable run of a study that met its requirements. If no run met them, returns
/// the newest run that missed no requirement. A run that missed a requirement cannot be a baseline.
/// Otherwise cassay would report a regression only once, and later runs would pass. This function
/// considers only runs before the stamp `before`, so that a run is not its own baseline.
pub fn last_good(results: &Path, study: &str, before: Option<&str>) -> Option<(Run, DidWell)> {
    let key = before.map(run_name::order_key);
    let is_before =
        |run: &Run| key.as_ref().is_none_or(|key| run_name::order_key(&run.stamp) < *key);
    let good = || {
        newest_first(results, study).filter(is_before).filter_map(|run| {
            let found = run.findings.as_ref()?;
            let well = match outcome_of(&found.requirements) {
                _ if found.verdict == Verdict::Invalid => return None,
                Some(RequirementOutcome::Missed) => return None,
                Some(RequirementOutcome::Inconclusive) => DidWell::MissedNone,
                Some(RequirementOutcome::Met) | None => DidWell::Met,
            };
            Some((run, well))
        })
    };
    good().find(|(_, well)| *well == DidWell::Met).or_else(|| good().next())
}

/// Returns the runs of a study that have findings, newest first. Files are verified only to the
/// extent that a list requires. The iterator reads a run only when the caller requests that run.
pub fn finished(results: &Path, study: &str) -> impl Iterator<Item = Run> {
    newest_first(results, study).filter(|run| run.findings.is_some())
}

fn last(results: &Path, study: &str, is_it: impl Fn(&Run) -> bool) -> Option<Run> {
    newest_first(results, study).find(is_it)
}

fn newest_first(results: &Path, study: &str) -> impl Iterator<Item = Run> {
    let folder = Name::for_study(study).map(|name| name.in_folder(results)).unwrap_or_default();
    let mut stamps = names_in(&folder).unwrap_or_default();
    stamps.sort_by_cached_key(|stamp| run_name::order_key(stamp));
    stamps
        .into_iter()
        .rev()
        .filter_map(move |stamp| Run::look(&folder.join(stamp)).ok())
}

/// Opens the run that `name` refers to for a resume.
///
/// # Errors
/// No run matches, or several runs match. Also returns the errors of [`Run::salvage`].
pub fn salvage(results: &Path, name: &str) -> Result<SalvagedRun> {
    Run::salvage(&place(results, name)?)
}

/// A run of a study, in the list of the study's runs.
#[derive(Debug)]
pub struct Past {
    /// Time in the name of the run.
    pub stamp: String,
    /// The run, or the reason why it cannot be read. The plan, the findings and the journal, from
    /// which the numbers of a point come, were compared byte by byte. For all other files, only the
    /// length was compared.
    pub run: Result<Run>,
}

/// Returns all runs of a study, oldest first.
pub fn past(results: &Path, study: &str) -> Result<Vec<Past>> {
    let of_study = |path: &PathBuf| names(path).0 == study;
    let paths = run_paths(results)?.into_iter().filter(of_study);
    let past = paths.map(|path| Past {
        stamp: names(&path).1,
        run: Run::look(&path),
    });
    Ok(past.collect())
}

/// Returns the runs of the study of `run` that are in the same results folder, oldest first. Omits
/// runs that are later than `run`.
pub fn past_of(run: &Run) -> Result<Vec<Past>> {
    let folder = run.path.parent();
    let place = folder.and_then(|folder| Some((folder.parent()?, folder.file_name()?.to_str()?)));
    let Some((results, study)) = place.filter(|(_, study)| *study == run.plan.study) else {
        return Ok(Vec::new());
    };
    let until = run_name::order_key(&run.stamp);
    let mut past = past(results, study)?;
    past.retain(|one| run_name::order_key(&one.stamp) <= until);
    Ok(past)
}

pub(crate) fn place(results: &Path, name: &str) -> Result<PathBuf> {
    let as_path = Path::new(name);
    if as_path.join(file::PLAN).is_file() || as_path.is_file() {
        return Ok(as_path.to_owned());
    }
    let all = run_paths(results)?;
    if all.is_empty() {
        bail!(
            "{name:?}: {} contains no run\nhint: `cassay run STUDY` creates a run; `--out` names \
             the folder of runs",
            results.display()
        );
    }
    if name == file::LATEST {
        return Ok(latest(results, &all));
    }
    let tags = tags::tags(results)?;
    let wanted = tags.get(name).map_or(name.trim_matches('/'), String::as_str);
    let ids: Vec<String> = all.iter().map(|path| id(path)).collect();
    let pick = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..all.len()).filter(|&i| fits(&ids[i])).collect()
    };
    let study_of = |id: &str| id.split('/').next().unwrap_or_default().to_owned();
    let of_study = pick(&|id| study_of(id) == wanted);
    if let Some(&newest) = of_study.last() {
        return Ok(all[newest].clone());
    }
    let exact = pick(&|id| id == wanted || id.split('/').nth(1) == Some(wanted));
    let begin = pick(&|id| {
        id.starts_with(wanted) || id.split('/').nth(1).is_some_and(|s| s.starts_with(wanted))
    });
    let hits = if exact.is_empty() { begin } else { exact };
    match hits.as_slice() {
        [] => bail!(
            "no run under {} has the name {name:?}; the newest run is {}; see `cassay list`",
            results.display(),
            ids[all.len() - 1]
        ),
        [one] => Ok(all[*one].clone()),
        many => {
            let names: Vec<&str> = many.iter().map(|&i| ids[i].as_str()).collect();
            bail!(
                "several runs have names that begin with {name:?}: {}; write more characters of \
                 the name",
                names.join(", ")
            )
        }
    }
}

/// Returns the run that the link `latest` points to. If the link is missing or broken, or does not
/// point to a run, returns the newest run.
fn latest(results: &Path, all: &[PathBuf]) -> PathBuf {
    let link = std::fs::read_link(results.join(file::LATEST)).ok();
    let linked = link
        .and_then(|to| {
            let (study, stamp) = to.to_str()?.split_once('/')?;
            let study = Name::for_study(study).ok()?.in_folder(results);
            Some(Name::new("stamp", stamp).ok()?.in_folder(&study))
        })
        .filter(|path| path.join(file::PLAN).is_file());
    linked.unwrap_or_else(|| all[all.len() - 1].clone())
}

/// Returns the folders `results/<study>/<stamp>` that contain a plan, oldest first.
pub(crate) fn run_paths(results: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for study in names_in(results)? {
        let folder = results.join(&study);
        if name::RESERVED.contains(&study.as_str()) || study.starts_with('.') || !folder.is_dir() {
            continue;
        }
        let runs = names_in(&folder)?.into_iter().map(|stamp| folder.join(stamp));
        paths.extend(runs.filter(|path| path.join(file::PLAN).is_file()));
    }
    paths.sort_by_cached_key(|path| {
        let (study, stamp) = names(path);
        (run_name::order_key(&stamp), study)
    });
    Ok(paths)
}

/// Returns the names of all runs under `results`, as `STUDY/STAMP`, without reading their files.
///
/// # Errors
/// A folder cannot be read.
pub fn run_names(results: &Path) -> Result<BTreeSet<String>> {
    let paths = run_paths(results)?.into_iter();
    Ok(paths
        .map(|path| {
            let (study, stamp) = names(&path);
            format!("{study}/{stamp}")
        })
        .collect())
}

pub(crate) fn names(path: &Path) -> (String, String) {
    let text =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    (
        text(path.parent().and_then(Path::file_name)),
        text(path.file_name()),
    )
}

fn id(path: &Path) -> String {
    let (study, stamp) = names(path);
    format!("{study}/{stamp}")
}
