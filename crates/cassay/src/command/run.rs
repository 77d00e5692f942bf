//! `cassay run` and `cassay resume`: from a study, or the rest of a run, to a report.

use super::{dirs, read_study};
use crate::args::{Common, ResumeArgs, StudyArgs, VERSION};
use crate::compat::Compat;
use crate::exit::Exit;
use crate::progress::Show;
use crate::{interrupt, terminal};
use anyhow::{Context, Error, Result, anyhow};
use engine::{Interrupted, Options, Outcome};
use report::RunView;
use serde_json::json;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use store::{Run, RunWriter};
use study::plan;
use study::settings::Study;

/// Runs a study.
///
/// 1. Read and plan it: mistakes end here, before anything starts. 2. Clear what a killed run has
///    left. 3. Run. 4. Write the report. 5. Say the answer.
pub fn run(args: &StudyArgs, common: &Common) -> Result<Exit> {
    let study = match read_study(args, common.json) {
        Ok(study) => study,
        Err(end) => return end,
    };
    run_study(&study, common, None)
}

/// Runs a study that was resolved; `compat` speaks for another tool, instead of us.
pub fn run_study(study: &Study, common: &Common, mut compat: Option<Compat>) -> Result<Exit> {
    let plan = plan::plan(study).map_err(|why| anyhow!(why))?;
    let exit = with_options(common, compat.is_some(), |options, show| {
        engine::run(study, &plan, options, &mut |event| match &mut compat {
            Some(compat) => compat.event(&event),
            None => show.event(event),
        })
    })?;
    if let Some(mut compat) = compat {
        compat.end(exit);
    }
    Ok(exit)
}

/// Does the rest of a run.
pub fn resume(args: &ResumeArgs, common: &Common) -> Result<Exit> {
    let found = store::salvage(&common.out, &args.name.run)?;
    let mut interrupted = Interrupted::read(&found, VERSION, args.trust.granted())?;
    if let Some(blocks) = args.more {
        interrupted.add_blocks(usize::from(blocks), VERSION)?;
    }
    let path = &found.run.path;
    if interrupted.is_done() {
        // The disk may have been full when it was to be written.
        if found.run.report().is_none() {
            let report = write_report(path)?;
            terminal::say(&format!("report: {}", report.display()));
        }
        terminal::say(&format!(
            "every trial of {} is finished; nothing is left to do",
            path.display()
        ));
        return Ok(Exit::Done);
    }
    for damage in interrupted.damages() {
        terminal::say(&format!("note: damaged, and done again: {damage}"));
    }
    with_options(common, false, |options, show| {
        interrupted.resume(options, &mut |event| show.event(event))
    })
}

fn with_options(
    common: &Common,
    is_compat: bool,
    work: impl FnOnce(&Options<'_>, &mut Show) -> Result<Outcome>,
) -> Result<Exit> {
    let dirs = dirs()?;
    let interrupt = interrupt::flag()?;
    host::process::heed(Arc::clone(&interrupt));
    let options = Options {
        results: common.out.clone(),
        dirs,
        interrupt: &interrupt,
        version: VERSION,
        shared_machine: shared_machine(),
    };
    let mut show = Show::new();
    let outcome = work(&options, &mut show);
    let path = show.done();
    let ended = outcome.and_then(|outcome| finish(&outcome, common, is_compat));
    ended.map_err(|error| match path {
        // What is damaged says itself what to do, and ends with a code of its own.
        Some(path) if !error.is::<store::Damaged>() => to_go_on(&error, &path),
        _ => error,
    })
}

/// An error that ended a run, with what to do next: nothing that was found is lost.
fn to_go_on(error: &Error, path: &Path) -> Error {
    let is_full = error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        matches!(
            kind,
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
        )
    });
    let first = if is_full {
        "make room for it, then "
    } else {
        ""
    };
    anyhow!(
        "{error:#}\nhint: {first}go on with: cassay resume {}",
        path.display()
    )
}

/// Whether the user says that the machine is shared: `CASSAY_SHARED_MACHINE=1`, for runners that
/// others use too and whose numbers nobody believes.
fn shared_machine() -> bool {
    std::env::var_os("CASSAY_SHARED_MACHINE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Writes the report, then says the answer.
fn finish(outcome: &Outcome, common: &Common, is_compat: bool) -> Result<Exit> {
    let path = &outcome.path;
    let Some(findings) = &outcome.findings else {
        terminal::say(&format!(
            "interrupted; everything that was started is stopped. To go on: cassay resume {}",
            path.display()
        ));
        return Ok(Exit::Interrupted);
    };
    let report = write_report(path)?;
    if common.json {
        let mut value = serde_json::to_value(findings).context("encode the findings")?;
        value["cassay"] = json!(VERSION);
        value["run"] = json!(path);
        value["report"] = json!(report);
        terminal::json(&value);
    } else if is_compat {
        terminal::say(&answer(findings));
    } else {
        terminal::data(&answer(findings));
    }
    terminal::say(&format!("report: {}", report.display()));
    Ok(match engine::may_be_believed(findings) {
        true => Exit::Done,
        false => Exit::Invalid,
    })
}

/// Writes `report.html` from what stands on disk.
pub fn write_report(path: &std::path::Path) -> Result<std::path::PathBuf> {
    let view = RunView::read(&Run::open(path)?)?;
    let html = report::html(&report::page(&view));
    RunWriter::reopen(path)?.write_report(&html)
}

fn answer(findings: &store::record::FindingsRecord) -> String {
    let mut text = format!("{}: {}\n", findings.study, findings.verdict);
    for sentence in &findings.answer {
        text += &format!("  {sentence}\n");
    }
    for reason in &findings.reasons {
        text += &format!("  ! {reason}\n");
    }
    text
}
