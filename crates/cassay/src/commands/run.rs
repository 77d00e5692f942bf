//! `cassay run` and `cassay resume`: the main job.

use crate::args::StudyArguments;
use crate::exit::Exit;
use crate::places::Places;
use crate::progress::Progress;
use crate::speech;
use anyhow::{Context, Result};
use report::RunView;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use study::run::{Ended, Setting};

/// Plans a study, runs it, writes the report and names it.
pub fn run(arguments: &StudyArguments, places: &Places, json: bool) -> Result<Exit> {
    let study = super::study(arguments)?;
    let plan = study::plan::plan(&study).map_err(anyhow::Error::msg)?;
    speech::say(&format!("{}: {}", study.name, study.question));
    speech::say(&super::plan::estimate(&plan));
    for note in &study.notes {
        speech::say(&format!("note: {note}"));
    }
    let stop = stop_on_signal()?;
    let mut progress = Progress::new();
    let ended = study::run::run(&study, &plan, &setting(places, &stop), &mut |event| {
        progress.show(&event);
    });
    drop(progress);
    conclude(ended?, json)
}

/// Goes on with an interrupted run.
pub fn resume(name: &str, places: &Places, json: bool) -> Result<Exit> {
    let run = store::find(&places.results, name)?;
    let stop = stop_on_signal()?;
    let mut progress = Progress::new();
    let ended = study::run::resume(&run, &setting(places, &stop), &mut |event| {
        progress.show(&event);
    });
    drop(progress);
    conclude(ended?, json)
}

fn setting<'a>(places: &'a Places, stop: &'a AtomicBool) -> Setting<'a> {
    Setting {
        results: &places.results,
        dirs: &places.dirs,
        stop,
    }
}

/// The first Ctrl-C asks for an orderly end; the second ends at once. Nodes die with us either
/// way, and the next command clears their folders.
fn stop_on_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let number = i32::from(Exit::Interrupted.code());
        signal_hook::flag::register_conditional_shutdown(signal, number, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("watch for Ctrl-C")?;
    }
    Ok(stop)
}

/// Writes the report, shows the findings, and says how it went.
fn conclude(ended: Ended, json: bool) -> Result<Exit> {
    let path = ended.path.as_path();
    if ended.interrupted {
        speech::say(&format!(
            "interrupted; everything is stopped. To go on: cassay resume {}",
            path.display()
        ));
        return Ok(Exit::Interrupted);
    }
    show(path, json)?;
    Ok(if ended.findings.verdict == "invalid" {
        Exit::Invalid
    } else {
        Exit::Valid
    })
}

fn show(path: &Path, json: bool) -> Result<()> {
    let run = store::Run::open(path)?;
    let page = report::page(&RunView::read(&run)?);
    let html = path.join("report.html");
    store::write_whole(&html, report::html(&page).as_bytes())?;
    speech::data(&if json {
        report::json(&page)
    } else {
        report::text(&page)
    });
    speech::say(&format!("report: {}", html.display()));
    Ok(())
}
