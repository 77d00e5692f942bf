//! `cassay show`: shows the answer of a finished run, or the results of its trials.

use crate::args::{Common, ShowArgs};
use crate::exit::Exit;
use crate::progress::{FigureColumns, TrialFigures};
use crate::terminal::{self, Line};
use anyhow::{Context, Result};
use report::{Page, RunView};
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

/// Prints each trial on a line, with all reasons for the verdict below the line.
fn print_trials(trials: &[TrialFinding], common: &Common) -> Result<()> {
    if common.json {
        terminal::json(&serde_json::to_value(trials).context("encode the trials")?);
        return Ok(());
    }
    let has_blocks = trials.iter().any(|trial| trial.block > 0);
    let names: Vec<String> = trials.iter().map(|trial| name_of(trial, has_blocks)).collect();
    // The lines show names and causes in full, because cassay never shortens data.
    let columns = FigureColumns::for_lines(usize::MAX, names.iter().map(String::as_str));
    let mut lines = Vec::new();
    for (trial, name) in trials.iter().zip(&names) {
        lines.push(columns.finished(name, &TrialFigures::new(trial)));
        lines.extend(trial.reasons.iter().map(|reason| Line::from_text(&format!("    {reason}"))));
        lines.extend(missed_rows(trial));
    }
    terminal::data_lines(&lines);
    Ok(())
}

/// Returns the first wrong rows of a trial, each with the query that reads the row.
fn missed_rows(trial: &TrialFinding) -> impl Iterator<Item = Line> {
    let of_rows = trial.read_back.iter().flat_map(|found| &found.missed_rows);
    let rows = of_rows.chain(&trial.verify.missed_rows);
    rows.map(|one| {
        let read_by = if one.read_by.is_empty() {
            String::new()
        } else {
            format!(": {}", one.read_by)
        };
        Line::from_text(&format!("    row {} ({}){read_by}", one.row, one.missed))
    })
}

/// Formats a trial's name: `writes, 28 threads, block 2`.
fn name_of(trial: &TrialFinding, has_blocks: bool) -> String {
    let variant = trial.variant.name().map(str::to_owned);
    let point = trial.point.map(|point| engine::point_words(Some(point)));
    let block = has_blocks.then(|| format!("block {}", trial.block + 1));
    let parts: Vec<String> = variant.into_iter().chain(point).chain(block).collect();
    if parts.is_empty() {
        "trial".to_owned()
    } else {
        parts.join(", ")
    }
}

/// Prints the parts of a run that could not be read or verified. Returns `Exit::Damaged` if the
/// journal is damaged.
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

pub(super) fn print(page: &Page, common: &Common) {
    if common.json {
        terminal::data(&report::json(page));
    } else {
        terminal::data(&report::text(page));
    }
}
