//! The commands, one file each: what they do between arguments and exit code.

pub mod bisect;
pub mod clean;
pub mod demo;
pub mod doctor;
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
mod own_table;
mod page_file;
pub mod plan;
mod reach;
pub mod run;
pub mod schema;
pub mod shell;
pub mod show;
pub mod snapshot;
pub mod studies;
pub mod supply;
pub mod tag;
pub mod target;
pub mod topology;
pub mod workload;

use crate::args::{SshArgs, StudyArgs, WayInArgs};
use crate::exit::Exit;
use crate::{diagnostics, terminal};
use ::cluster::Dirs;
use ::target::{Capability, HostSpec, HostsSpec, LocalSpec, Target};
use anyhow::{Context, Result, anyhow};
use engine::needs;
use serde_json::json;
use std::path::PathBuf;
use study::resolve::{self, StudyError};
use study::settings::{Overrides, Registry, Study};

/// Of which size the volumes are that this machine is asked about: nothing depends on it.
const VOLUME_BYTES: u64 = 1 << 30;

/// Whether a cluster is there that was started to stay.
fn is_one_kept() -> Result<bool> {
    let all = ::cluster::kept::status(&dirs()?);
    Ok(all.iter().any(|one| one.keep))
}

/// The agents of machines that ssh finds: all of them, or none and why.
fn over_ssh(args: &SshArgs, names: &[String]) -> Result<Vec<host::Agent>> {
    let wanted = names.iter().map(|name| args.destination(name)).collect::<Result<Vec<_>>>()?;
    Ok(host::Agent::to_all(&wanted)?)
}

/// The setting that puts hosts on the machines of a file.
fn machines(args: &StudyArgs) -> Option<String> {
    let file = args.machines.as_ref()?.display().to_string();
    Some(format!("target.local.machines={}", json!(file)))
}

/// A cluster that the command line attaches to, with its nodes' machines as far as that says them.
fn attached(target: &str, way_in: &WayInArgs) -> Result<::cluster::Cluster> {
    let target = reach::named(target, &way_in.set, &way_in.secret).map_err(StudyError::Mistakes)?;
    ::cluster::start(&target, &dirs()?, &mut |text| terminal::say(text))
}

/// Reads and resolves the study of the arguments, and notes what this machine lacks for it.
/// `Err(Ok(exit))`: its mistakes were shown.
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
            let missing = needs::missing(&study);
            study.notes.extend(needs::notes(&missing));
            say_notes(&study);
            Ok(study)
        }
        Err(StudyError::Mistakes(mistakes)) => Err(Ok(diagnostics::refuse(&mistakes, json))),
        Err(error @ StudyError::Unreadable { .. }) => Err(Err(match studies::hint(&args.study) {
            Some(hint) if !args.study.exists() => anyhow!("{error}\n{hint}"),
            _ => error.into(),
        })),
    }
}

/// Says what was adapted and what the run will go without; the plan and the report hold it too.
fn say_notes(study: &Study) {
    for note in &study.notes {
        terminal::say(&format!("note: {note}"));
    }
}

/// Where the target keeps its jars and its running clusters: `CASSAY_CACHE` and `CASSAY_DATA`, or
/// else the user's cache and state folders, the same for every command, wherever it is called.
fn dirs() -> Result<Dirs> {
    let set = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let folder = |own: &str, base: &str, default: &str| -> Result<PathBuf> {
        if let Some(own) = set(own) {
            // A JVM of another folder must find it too.
            return std::path::absolute(&own)
                .with_context(|| format!("make {} a whole path", own.display()));
        }
        let base = match set(base) {
            Some(base) => base,
            None => std::env::home_dir()
                .with_context(|| format!("none of {own}, {base} and HOME is set"))?
                .join(default),
        };
        Ok(base.join("cassay"))
    };
    Ok(Dirs {
        cache: folder("CASSAY_CACHE", "XDG_CACHE_HOME", ".cache")?,
        data: folder("CASSAY_DATA", "XDG_STATE_HOME", ".local/state")?,
    })
}

/// What a cluster of our own could have on this machine, with hosts that have volumes: so that what
/// such hosts would have is among it.
fn abilities_here() -> Vec<Capability> {
    let host = HostSpec {
        volume_bytes: Some(VOLUME_BYTES),
        ..HostSpec::default()
    };
    let hosts = HostsSpec {
        count: 1,
        host,
        ..HostsSpec::default()
    };
    ::cluster::abilities_of(&Target::Local(LocalSpec {
        hosts: Some(hosts),
        ..LocalSpec::default()
    }))
}

/// Ends what a killed run has left. Said only when there was something.
pub fn clear_leftovers() {
    // Without a place for clusters there are none; a command that needs the place says so itself.
    let Ok(dirs) = dirs() else { return };
    let cleared = ::cluster::leftovers::clear(&dirs, &mut |text| terminal::say(text));
    for problem in &cleared.problems {
        terminal::say(&format!("note: not cleared: {problem}"));
    }
}
