//! `cassay list`, `show`, `compare` and `report`: what the results folder holds.

use crate::exit::Exit;
use crate::places::Places;
use crate::speech;
use anyhow::{Context, Result};
use report::RunView;
use serde_json::json;
use std::path::Path;

/// Lists the runs, oldest first.
pub fn list(places: &Places, json: bool) -> Result<Exit> {
    let runs = store::list(&places.results)?;
    if json {
        let rows: Vec<_> = runs
            .iter()
            .map(|run| {
                json!({
                    "run": format!("{}/{}", run.study, run.stamp),
                    "folder": run.path,
                    "state": run.state.map(store::RunState::name),
                    "verdict": run.verdict,
                    "trials_finished": run.trials_finished,
                    "trials_planned": run.trials_planned,
                    "error": run.error,
                })
            })
            .collect();
        speech::json(&json!(rows));
        return Ok(Exit::Valid);
    }
    if runs.is_empty() {
        speech::say(&format!("no runs under {}", places.results.display()));
        return Ok(Exit::Valid);
    }
    let width = runs
        .iter()
        .map(|run| run.study.len() + run.stamp.len() + 1)
        .max()
        .unwrap_or(0);
    let mut out = format!(
        "{:<width$}  {:<11}  {:<8}  trials\n",
        "run", "state", "verdict"
    );
    for run in &runs {
        let name = format!("{}/{}", run.study, run.stamp);
        let state = run.state.map_or("unreadable", store::RunState::name);
        let trials = format!("{}/{}", run.trials_finished, run.trials_planned);
        out.push_str(&format!(
            "{name:<width$}  {state:<11}  {:<8}  {trials}\n",
            run.verdict
        ));
        if let Some(error) = &run.error {
            out.push_str(&format!("  {error}\n"));
        }
    }
    speech::data(&out);
    Ok(Exit::Valid)
}

/// Shows what a run found.
pub fn show(name: &str, places: &Places, json: bool) -> Result<Exit> {
    let page = report::page(&view(name, places)?);
    speech::data(&if json {
        report::json(&page)
    } else {
        report::text(&page)
    });
    Ok(Exit::Valid)
}

/// Compares two runs.
pub fn compare(
    baseline: &str,
    contender: &str,
    html: Option<&Path>,
    places: &Places,
    json: bool,
) -> Result<Exit> {
    let page = report::compare(&view(baseline, places)?, &view(contender, places)?);
    if let Some(path) = html {
        store::write_whole(path, report::html(&page).as_bytes())?;
        speech::say(&format!("report: {}", path.display()));
    }
    speech::data(&if json {
        report::json(&page)
    } else {
        report::text(&page)
    });
    Ok(Exit::Valid)
}

/// Writes a run's report again, as this version of cassay makes it.
pub fn report(name: &str, places: &Places, json: bool) -> Result<Exit> {
    let run = store::find(&places.results, name)?;
    let path = write_report(&run)?;
    if json {
        speech::json(&json!({ "report": path }));
    } else {
        speech::data(&path.display().to_string());
    }
    Ok(Exit::Valid)
}

/// Writes `report.html` into the folder of a run.
pub fn write_report(run: &store::Run) -> Result<std::path::PathBuf> {
    let page = report::page(&RunView::read(run)?);
    let path = run.path.join("report.html");
    store::write_whole(&path, report::html(&page).as_bytes())?;
    Ok(path)
}

fn view(name: &str, places: &Places) -> Result<RunView> {
    let run = store::find(&places.results, name)?;
    RunView::read(&run).with_context(|| format!("read the run {}", run.path.display()))
}
