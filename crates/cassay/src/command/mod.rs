//! The commands of the program. Each command has a separate module. A command does the work between
//! parsing the arguments and returning the exit code.

pub mod bisect;
pub mod clean;
pub mod compare;
pub mod completions;
pub mod delete;
pub mod demo;
pub mod doctor;
mod end_command;
pub mod explain;
pub mod export;
pub mod fault;
pub mod history;
pub mod hosts;
pub mod import;
pub mod kubernetes;
pub mod list;
mod machines;
pub mod new;
pub mod null;
pub mod other_tools;
mod own_table;
mod page_file;
pub mod plan;
pub mod publish;
pub mod report;
pub mod run;
pub mod schema;
pub mod serve;
mod server_token;
pub mod show;
pub mod snapshot;
pub mod studies;
pub mod supply;
pub mod tag;
pub mod target;
mod target_from_args;
pub mod topology;
pub mod watch;
pub mod workload;

use crate::args::{SshArgs, StudyArgs, WayInArgs};
use crate::exit::Exit;
use crate::{study_errors, terminal};
use ::cluster::Dirs;
use ::target_spec::{CapabilityStatus, HostSpec, HostsSpec, LocalSpec, Target};
use anyhow::{Context, Result};
use engine::missing_capabilities;
use serde_json::json;
use std::path::{Path, PathBuf};
use study::resolve::{self, StudyError};
use study::settings::{Overrides, Registry, Study};

/// Volume size in a query of this machine's capabilities. No capability depends on the size, so any
/// value works.
const VOLUME_BYTES: u64 = 1 << 30;

fn is_one_kept() -> Result<bool> {
    let all = ::cluster::kept_cluster::status(&dirs()?);
    Ok(all.iter().any(|one| one.keep))
}

fn over_ssh(args: &SshArgs, names: &[String]) -> Result<Vec<host::Agent>> {
    let wanted = names.iter().map(|name| args.destination(name)).collect::<Result<Vec<_>>>()?;
    Ok(host::Agent::to_all(&wanted)?)
}

/// Returns the setting of `--machines`, which puts the hosts of a study on the machines that a file
/// lists.
fn machines(args: &StudyArgs) -> Option<String> {
    let file = args.machines.as_ref()?.display().to_string();
    Some(format!("target.local.machines={}", json!(file)))
}

/// Attaches to the cluster of the command line. If the arguments name the machines of its nodes,
/// also connects to these machines.
fn attached(target: &str, way_in: &WayInArgs) -> Result<::cluster::Cluster> {
    let target = target_from_args::parse_target(target, &way_in.set, &way_in.secret)
        .map_err(StudyError::Mistakes)?;
    ::cluster::start(&target, &dirs()?, &mut |text| terminal::say(text))
}

/// Reads and resolves the study of the arguments, and notes the missing capabilities of this
/// machine. `Err(Ok(exit))` means that this function has already printed the mistakes of the study.
fn read_study(args: &StudyArgs, json: bool) -> Result<Study, Result<Exit>> {
    let overrides = Overrides {
        target: args.target.clone(),
        scale: args.scale.clone(),
        set: args.set.iter().cloned().chain(machines(args)).collect(),
        seed: args.seed,
        granted: args.trust.granted(),
        registry: Registry(Some(::supply::is_published)),
        ..Overrides::default()
    };
    match resolve::read(&args.study, &overrides) {
        Ok(mut study) => {
            let missing = missing_capabilities::missing(&study);
            study.notes.extend(missing_capabilities::notes(&missing));
            say_notes(&study);
            Ok(study)
        }
        Err(StudyError::Mistakes(mistakes)) => Err(Ok(study_errors::refuse(&mistakes, json))),
        // An unreadable study is a mistake in the command line, so the command exits with the code
        // for such mistakes.
        Err(error @ StudyError::Unreadable { .. }) => {
            let hint = hint(&args.study).map(|hint| format!("\nhint: {hint}"));
            terminal::say(&format!("error: {error}{}", hint.unwrap_or_default()));
            Err(Ok(Exit::Usage))
        }
    }
}

/// Returns a hint for a path that does not name a study file, such as a folder. Returns `None` for
/// an existing file.
fn hint(path: &Path) -> Option<String> {
    if path.is_dir() {
        return Some(hint_for_folder(path));
    }
    if path.exists() {
        return None;
    }
    let with_end = path.with_added_extension("yaml");
    if with_end.is_file() {
        return Some(format!("did you mean `{}`?", with_end.display()));
    }
    let there = studies::hint(path).or_else(|| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
        let names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.ends_with(".yaml"))
            .collect();
        let written = path.file_name()?.to_str()?;
        yaml::near_name(written, names.iter().map(String::as_str))
    });
    Some(there.unwrap_or_else(|| {
        "`cassay new` writes a study; `cassay studies list` lists the included studies".to_owned()
    }))
}

/// Returns a hint for a folder in place of a study file: a file in it that may be a study.
fn hint_for_folder(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml");
    match paths.filter(is_yaml).min() {
        Some(path) => format!(
            "{} is a folder: name a file in it, such as {}",
            folder.display(),
            path.display()
        ),
        None => format!("name a study: {} contains no .yaml file", folder.display()),
    }
}

/// Prints how the study was adapted, and which measurements the run will lack. The plan and the
/// report contain the same information.
fn say_notes(study: &Study) {
    for note in &study.notes {
        terminal::say(&format!("note: {note}"));
    }
}

/// Returns the folders of jars and running clusters: `CASSAY_CACHE` and `CASSAY_DATA`, or the
/// user's cache and state folders. These folders do not depend on the command or the current
/// folder.
fn dirs() -> Result<Dirs> {
    let set = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let folder = |own: &str, base: &str, default: &str| -> Result<PathBuf> {
        if let Some(own) = set(own) {
            // The path is absolute, because a JVM with another working folder must find it too.
            return std::path::absolute(&own)
                .with_context(|| format!("make the path {} absolute", own.display()));
        }
        let base = match set(base) {
            Some(base) => base,
            None => std::env::home_dir()
                .with_context(|| {
                    format!(
                        "the environment sets none of the variables {own}, {base} and HOME: set \
                         one of these"
                    )
                })?
                .join(default),
        };
        Ok(base.join("cassay"))
    };
    Ok(Dirs {
        cache: folder("CASSAY_CACHE", "XDG_CACHE_HOME", ".cache")?,
        data: folder("CASSAY_DATA", "XDG_STATE_HOME", ".local/state")?,
    })
}

/// Returns the capabilities of a local cluster on this machine. Assumes that the cluster has hosts
/// with volumes, so that the result includes the capabilities of hosts.
fn capabilities_here() -> Vec<CapabilityStatus> {
    let host = HostSpec {
        volume_bytes: Some(VOLUME_BYTES),
        ..HostSpec::default()
    };
    let hosts = HostsSpec {
        count: 1,
        host,
        ..HostsSpec::default()
    };
    ::cluster::capabilities_of(&Target::Local(LocalSpec {
        hosts: Some(hosts),
        ..LocalSpec::default()
    }))
}

/// Ends all processes and removes all resources that a killed run has left. Prints a message only
/// if it found leftovers.
pub fn clear_leftovers() {
    // Without a folder for clusters, no leftovers exist. A command that needs the folder reports
    // the missing folder.
    let Ok(dirs) = dirs() else { return };
    let cleared = ::cluster::leftovers::clear(&dirs, &mut |text| terminal::say(text));
    for problem in &cleared.problems {
        terminal::say(&format!(
            "note: cassay could not remove the leftovers of a killed run: {problem}"
        ));
    }
}
