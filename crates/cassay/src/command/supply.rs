//! `cassay supply list|fetch|export|import`: manages the jars and the Java for nodes.

use super::dirs;
use crate::args::{Common, FetchArgs, SupplyCommand, SupplyExportArgs, SupplyImportArgs};
use crate::exit::Exit;
use crate::terminal::{Line, end_moving, show_moving};
use crate::{interrupt, terminal};
use ::supply::{CachedJars, FetchedJars, Message, State, java};
use anyhow::Result;
use measure::number;
use serde_json::{Value, json};
use study::settings::Study;
use target_spec::{JavaWanted, LocalSpec, Origin};

/// Runs the subcommand. Ctrl-C ends a download or a copy with `Exit::Interrupted`.
pub fn run(command: &SupplyCommand, common: &Common) -> Result<Exit> {
    host::process::heed(interrupt::flag()?);
    let done = match command {
        SupplyCommand::List => list(common),
        SupplyCommand::Fetch(args) => fetch(args, common),
        SupplyCommand::Export(args) => export(args, common),
        SupplyCommand::Import(args) => import(args, common),
    };
    end_moving();
    match done {
        Err(error) if host::process::is_interrupted() => {
            terminal::error(&error);
            Ok(Exit::Interrupted)
        }
        done => done.map(|()| Exit::Done),
    }
}

fn list(common: &Common) -> Result<()> {
    let cache = dirs()?.cache;
    let jars = ::supply::list(&cache)?;
    let java = java::find(&JavaWanted::from_spec(&LocalSpec::default()));
    if common.json {
        terminal::json(&json!({
            "cache": cache,
            "jars": jars.iter().map(to_json).collect::<Vec<_>>(),
            "java": java.as_ref().ok().map(|java| {
                json!({"program": java.program, "version": java.version})
            }),
            "java_missing": java.as_ref().err().map(|why| format!("{why:#}")),
        }));
        return Ok(());
    }
    let row = |one: &CachedJars| {
        let state = one.state.name().to_owned();
        let folder = one.folder.display().to_string();
        let size = number::bytes(one.bytes);
        vec![format!("Cassandra {}", one.version), state, size, folder]
    };
    let rows: Vec<_> = jars.iter().map(row).collect();
    terminal::data(&terminal::table(&rows, &[false, false, true, false]));
    for one in &jars {
        if let State::Changed(why) = &one.state {
            terminal::say(&format!("note: {why}"));
        }
    }
    match java {
        Ok(java) => {
            let program = java.program.display();
            terminal::data(&format!("  Java {}  {program}", java.version));
            if let Some(why) = java.passed_over {
                terminal::say(&format!("note: {why}"));
            }
        }
        Err(why) => terminal::say(&format!("note: {why:#}")),
    }
    if jars.first().is_some_and(|pinned| pinned.state != State::Whole) {
        terminal::say("next: cassay supply fetch");
    }
    Ok(())
}

fn to_json(one: &CachedJars) -> Value {
    let why = match &one.state {
        State::Changed(why) => Some(why),
        _ => None,
    };
    json!({
        "cassandra": one.version,
        "state": one.state.name(),
        "why": why,
        "bytes": one.bytes,
        "folder": one.folder,
    })
}

fn fetch(args: &FetchArgs, common: &Common) -> Result<()> {
    let (release, repository) = (&args.version.cassandra, args.repository.as_deref());
    let cache = dirs()?.cache;
    let fetched = heard(|voice| ::supply::fetch(&cache, release, repository, voice))?;
    tell(release.version(), &fetched, common);
    Ok(())
}

fn tell(version: &str, fetched: &FetchedJars, common: &Common) {
    let FetchedJars {
        folder,
        files,
        was_there,
    } = fetched;
    if common.json {
        terminal::json(&json!({
            "cassandra": version,
            "folder": folder,
            "files": files,
            "was_there": was_there,
        }));
        return;
    }
    let there = if *was_there { " already" } else { "" };
    terminal::say(&format!(
        "Cassandra {version} is in the cache{there}: {files} files, all with correct checksums"
    ));
    terminal::data(&folder.display().to_string());
}

fn export(args: &SupplyExportArgs, common: &Common) -> Result<()> {
    let (release, file) = (&args.version.cassandra, &args.file);
    let cache = dirs()?.cache;
    let bundle = heard(|voice| ::supply::export(&cache, release, file, voice))?;
    if common.json {
        terminal::json(&json!({
            "cassandra": release.version(),
            "file": file,
            "files": bundle.files,
            "bytes": bundle.bytes,
            "sha256": bundle.sha256,
        }));
        return Ok(());
    }
    terminal::data(&format!("{}  {}", bundle.sha256, file.display()));
    terminal::say(&format!(
        "{} files of Cassandra {release}, {}. On the other machine: cassay supply import {}",
        bundle.files,
        number::bytes(bundle.bytes),
        yaml::shell_word(&file.display().to_string())
    ));
    Ok(())
}

fn import(args: &SupplyImportArgs, common: &Common) -> Result<()> {
    let cache = dirs()?.cache;
    let (version, fetched) = ::supply::import(&cache, &args.file, args.sha256.as_deref())?;
    tell(&version, &fetched, common);
    Ok(())
}

/// Runs a long task. Shows its progress as a status line. Without a terminal, prints a line for
/// each quarter of the work.
fn heard<T>(work: impl FnOnce(&mut ::supply::Voice<'_>) -> Result<T>) -> Result<T> {
    if !terminal::has_reader() || terminal::is_dumb() {
        return work(&mut ::supply::plainly(&mut |text| terminal::say(text)));
    }
    let done = work(&mut |said| match said {
        Message::Line(line) => terminal::say(line),
        Message::Progress(progress) => show_moving(&Line::from_text(&progress.words())),
    });
    end_moving();
    done
}

/// Prints which jars a study's nodes lack, and how to get them.
pub fn say_absent(study: &Study) -> Result<()> {
    let cache = dirs()?.cache;
    let mut said: Vec<String> = Vec::new();
    for variant in &study.variants {
        let local = variant.settings.target.local();
        let local = local.filter(|local| local.origin == Origin::Maven);
        let absent = local.and_then(|local| ::supply::absent(&cache, &local.release));
        if let Some(absent) = absent.filter(|absent| !said.contains(absent)) {
            terminal::say(&format!("note: {absent}"));
            said.push(absent);
        }
    }
    Ok(())
}
