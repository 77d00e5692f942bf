//! The tests of a tuning, and the comparison of the kept settings with the defaults.

use crate::merged_points::place;
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use crate::sections::results::metric_name;
use measure::number::{change, changes};
use store::record::{TuningOutcome, TuningRecord, TuningTestRecord, tuned_names};

/// Returns the section on the tuning. `None` for a study without a tuning.
pub fn section(view: &RunView) -> Option<Section> {
    let tuning = view.findings.tuning.as_ref()?;
    let bound = tuning.p99_ms_max.map_or_else(String::new, |max| {
        format!(" cassay does not keep a value whose p99 exceeds {max} ms.")
    });
    Some(Section {
        id: "tuning",
        title: "Tuning".into(),
        lead: format!(
            "Each test compares changed settings with the best settings so far, in the same \
             blocks, until it has an answer. Its interval stays valid although cassay looks after \
             each block.{bound} The final comparison has its own trials, so a lucky test cannot \
             pass it."
        ),
        blocks: blocks(tuning),
    })
}

fn blocks(tuning: &TuningRecord) -> Vec<Block> {
    let mut blocks = vec![Block::Table(tests(tuning))];
    if !tuning.results.is_empty() {
        blocks.push(Block::Table(results(tuning)));
    }
    if !tuning.overlay.is_empty() {
        blocks.push(Block::Text(
            "The kept settings, as a variant of a study:".into(),
        ));
        blocks.push(Block::Code(format!(
            "variants: {{tuned: {}}}\n",
            tuning.overlay
        )));
    }
    blocks
}

fn tests(tuning: &TuningRecord) -> Table {
    let caption = format!(
        "Tests of {} at {}",
        metric_name(&tuning.metric),
        place(tuning.point)
    );
    Table::from_records(caption, &tuning.tests)
        .text("Changed", |test: &TuningTestRecord| {
            tuned_names(&test.settings)
        })
        .number("Change", "", |test| test.ratio.map(change))
        .number("95 % interval", "", |test| interval(test.ci95))
        .number("p99", "ms", |test| {
            test.p99_ms.map(|ms| number::significant(ms, 3))
        })
        .number("Blocks", "", |test| test.blocks.to_string())
        .text("Outcome", outcome)
        .build()
}

fn outcome(test: &TuningTestRecord) -> Cell {
    let (word, tone) = match test.outcome {
        TuningOutcome::Kept => ("kept", Tone::Strong),
        TuningOutcome::Refused => ("not better", Tone::Plain),
        TuningOutcome::BeyondBound => ("better, but p99 is too high", Tone::Warn),
        TuningOutcome::Inconclusive => ("inconclusive", Tone::Muted),
        TuningOutcome::NotRun => ("not run", Tone::Muted),
    };
    let report = test.run_folder().map(|run| format!("{run}/report.html"));
    Cell::new(word)
        .tone(tone)
        .hint(test.reason.as_str())
        .link(report.unwrap_or_default())
}

fn results(tuning: &TuningRecord) -> Table {
    let report = tuning.run_folder().map(|run| format!("{run}/report.html"));
    Table::from_records("Tuned settings against the defaults", &tuning.results)
        .text("Against", |result| match result.against.as_str() {
            "latest" => "cassandra_latest.yaml",
            _ => "study as written",
        })
        .number("Change", "", |result| change(result.ratio))
        .number("95 % interval", "", |result| interval(result.ci95))
        .number("Blocks", "", |_| tuning.blocks.to_string())
        .text("Better", |result| {
            let (word, tone) = if result.better {
                ("yes", Tone::Strong)
            } else {
                ("not shown", Tone::Muted)
            };
            Cell::new(word).tone(tone).link(report.clone().unwrap_or_default())
        })
        .build()
}

fn interval(ci95: Option<[f64; 2]>) -> Cell {
    ci95.map_or_else(Cell::absent, |ends| changes(ends).into())
}
