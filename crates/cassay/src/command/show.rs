//! `cassay show`, `compare`, `report` and `import`: commands on the files of finished runs.

use crate::args::{Common, CompareArgs, ImportFileArgs, ReportArgs, ShowArgs, SummaryArgs};
use crate::command::page_file;
use crate::command::run::{write_report, write_summaries};
use crate::exit::Exit;
use crate::progress::{FigureColumns, TrialFigures};
use crate::terminal::{self, Line};
use anyhow::{Context, Result};
use report::{Page, RunView};
use serde_json::json;
use store::Run;
use store::record::TrialFinding;

/// Shows one run, or the results of each of its trials.
pub fn show(args: &ShowArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.name.run)?;
    let exit = say_notes(&run);
    let view = RunView::read(&run)?;
    if args.trials {
        print_trials(&view.findings.trials, common)?;
    } else {
        print(&report::page(&view), common);
    }
    Ok(exit)
}

/// Prints each trial on a line, with all reasons of its verdict below it.
fn print_trials(trials: &[TrialFinding], common: &Common) -> Result<()> {
    if common.json {
        terminal::json(&serde_json::to_value(trials).context("encode the trials")?);
        return Ok(());
    }
    let has_blocks = trials.iter().any(|trial| trial.block > 0);
    let names: Vec<String> = trials.iter().map(|trial| name_of(trial, has_blocks)).collect();
    // Names and causes are complete: data is never shortened.
    let columns = FigureColumns::of_lines(usize::MAX, names.iter().map(String::as_str));
    let mut lines = Vec::new();
    for (trial, name) in trials.iter().zip(&names) {
        lines.push(columns.finished(name, &TrialFigures::of(trial)));
        lines.extend(trial.reasons.iter().map(|reason| Line::of(&format!("    {reason}"))));
        lines.extend(missed_rows(trial));
    }
    terminal::data_lines(&lines);
    Ok(())
}

/// Returns the first wrong rows of a trial, each with the query that reads it.
fn missed_rows(trial: &TrialFinding) -> impl Iterator<Item = Line> {
    let of_rows = trial.read_back.iter().flat_map(|found| &found.missed_rows);
    let rows = of_rows.chain(&trial.verify.missed_rows);
    rows.map(|one| {
        let read_by = if one.read_by.is_empty() {
            String::new()
        } else {
            format!(": {}", one.read_by)
        };
        Line::of(&format!("    row {} ({}){read_by}", one.row, one.missed))
    })
}

/// Formats a trial's name: `writes, 28 threads, block 2`.
fn name_of(trial: &TrialFinding, has_blocks: bool) -> String {
    let variant = trial.variant.named().map(str::to_owned);
    let point = trial.point.map(|point| engine::point_words(Some(point)));
    let block = has_blocks.then(|| format!("block {}", trial.block + 1));
    let parts: Vec<String> = variant.into_iter().chain(point).chain(block).collect();
    if parts.is_empty() {
        "trial".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Compares runs with the first of them.
pub fn compare(args: &CompareArgs, common: &Common) -> Result<Exit> {
    let names = std::iter::once(&args.baseline).chain(&args.contenders);
    let runs: Vec<Run> = names.map(|name| store::find(&common.out, name)).collect::<Result<_>>()?;
    let exits: Vec<Exit> = runs.iter().map(say_notes).collect();
    let views: Vec<RunView> = runs.iter().map(RunView::read).collect::<Result<_>>()?;
    let side = |(run, view): (&Run, _)| report::Side {
        run: view,
        link: page_file::way(args.to.as_deref(), &run.path),
    };
    let sides: Vec<report::Side<'_>> = runs.iter().zip(&views).map(side).collect();
    let page = report::compare_all(&sides);
    match &args.to {
        Some(to) => page_file::write(to, &page, common)?,
        None => print(&page, common),
    }
    if exits.contains(&Exit::Damaged) {
        return Ok(Exit::Damaged);
    }
    if args.require_not_slower && has_slower(&page.data) {
        terminal::say("a requirement was missed: the contender is slower at some point");
        return Ok(Exit::Missed);
    }
    Ok(Exit::Done)
}

/// Writes the report of a run.
pub fn report(args: &ReportArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.name.run)?;
    let exit = say_notes(&run);
    let path = match &args.to {
        None => write_report(&run.path, &args.summaries)?.path,
        Some(to) => {
            let view = RunView::read(&run)?;
            let page = report::page(&view);
            let figure = report::figure_file(&page);
            store::write_report(to, &report::html(&page), figure.as_deref())?;
            write_summaries(&view, &page, to, &args.summaries)?;
            to.clone()
        }
    };
    if common.json {
        terminal::json(&json!({"report": path}));
    } else {
        terminal::data(&path.display().to_string());
    }
    Ok(exit)
}

/// Adds another tool's file to a run, and writes the report again.
pub fn import(args: &ImportFileArgs, common: &Common) -> Result<Exit> {
    let run = store::find(&common.out, &args.run)?;
    let exit = say_notes(&run);
    let said = engine::import_file(&run, &args.file, &args.column)?;
    let path = write_report(&run.path, &SummaryArgs::default())?.path;
    if common.json {
        terminal::json(&json!({"imported": said, "report": path}));
    } else {
        terminal::data(&format!("{said}\n{}", path.display()));
    }
    Ok(exit)
}

/// Prints what was left out in reading a run, and what could not be verified; returns an exit code
/// for damage.
pub(super) fn say_notes(run: &Run) -> Exit {
    for note in &run.notes {
        terminal::say(&format!("note: {note}"));
    }
    if run.is_journal_damaged {
        Exit::Damaged
    } else {
        Exit::Done
    }
}

fn print(page: &Page, common: &Common) {
    if common.json {
        terminal::data(&report::json(page));
    } else {
        terminal::data(&report::text(page));
    }
}

/// Returns true if any comparison in a page's data is `slower`, or `looks_different` for the worse.
/// A comparison of runs that were not interleaved can say no more.
fn has_slower(data: &serde_json::Value) -> bool {
    match data {
        serde_json::Value::Array(items) => items.iter().any(has_slower),
        serde_json::Value::Object(map) => {
            let says = map.get("verdict").and_then(|v| v.as_str());
            says == Some("slower")
                || (says == Some("looks_different") && is_worse(map))
                || map.values().any(has_slower)
        }
        _ => false,
    }
}

/// Returns true if the contender of a comparison was worse.
fn is_worse(comparison: &serde_json::Map<String, serde_json::Value>) -> bool {
    let metric = comparison.get("metric").and_then(|v| v.as_str());
    let ratio = comparison.get("ratio").and_then(serde_json::Value::as_f64);
    match metric {
        Some("ops_per_s") => ratio.is_some_and(|ratio| ratio < 1.0),
        _ => ratio.is_some_and(|ratio| ratio > 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_point_is_found_wherever_it_stands() {
        let slower = json!({"comparisons": [{"verdict": "faster"}, {"verdict": "slower"}]});
        assert!(has_slower(&slower));
        for (metric, ratio, worse) in [
            ("ops_per_s", 0.7, true),
            ("ops_per_s", 1.3, false),
            ("latency_ms.p99", 1.9, true),
            ("latency_ms.p99", 0.5, false),
        ] {
            let looks = json!({"verdict": "looks_different", "metric": metric, "ratio": ratio});
            assert_eq!(
                has_slower(&json!({"comparisons": [looks]})),
                worse,
                "{metric} {ratio}"
            );
        }
        assert!(!has_slower(
            &json!({"comparisons": [{"verdict": "inconclusive"}]})
        ));
    }
}
