//! Section on the resources that were full at each knee, peak, difference, fault and drift.

use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use store::record::{
    ExperimentOutcome, ExperimentRecord, LimitCandidateRecord, LimitReadingRecord, LimitRecord,
    LimitSpan, TrialFinding, limit_name, limit_value,
};

/// Returns the section on full resources. Returns `None` if the findings contain no limits, for
/// example with the null target or in runs of earlier versions.
pub fn section(view: &RunView) -> Option<Section> {
    let limits = &view.findings.limits;
    if limits.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = limits.iter().flat_map(event).collect();
    blocks.extend(readings(&view.findings.trials));
    Some(Section {
        id: "limits",
        title: "Full resources".into(),
        lead:
            "A full resource coincides with a limit of the load. Only an experiment that changes \
             the resource can prove that the resource causes the limit. `cassay explain` describes \
             each resource."
                .into(),
        blocks,
    })
}

fn event(record: &LimitRecord) -> Vec<Block> {
    let mut blocks = vec![Block::Text(record.says.clone())];
    let more = record.candidates.iter();
    let is_tested = record.candidates.iter().any(|one| one.experiment.is_some());
    let table = Table::from_records("Full resources, the most likely limit first", more)
        .text("Resource", |one: &LimitCandidateRecord| {
            limit_name(one.kind)
        })
        .text("Place", |one| place(&one.place))
        .number("Value", "", |one| {
            Cell::new(limit_value(one.kind, one.value)).tone(Tone::Strong)
        })
        .number("Full from", "", |one| limit_value(one.kind, one.limit))
        .number("Before", "", |one| {
            one.before
                .map_or_else(Cell::absent, |value| limit_value(one.kind, value).into())
        })
        .text("Confidence", |one| one.confidence.name())
        .when(is_tested, |table| {
            table.text("Experiment", |one| {
                one.experiment.as_ref().map_or_else(|| Cell::new(""), experiment)
            })
        })
        .foot(
            "Before: the value at the next lower load, of the faster variant, or before the fault.",
        )
        .unless_empty();
    blocks.extend(table.map(Block::Table));
    if !record.unobserved.is_empty() {
        let names = record.unobserved.iter().map(|kind| limit_name(*kind));
        let text = format!("Not observed: {}.", names.collect::<Vec<_>>().join("; "));
        blocks.push(Block::Details(
            "Resources that no probe observed".into(),
            vec![Block::Text(text)],
        ));
    }
    blocks
}

fn experiment(record: &ExperimentRecord) -> Cell {
    let (word, tone) = match record.outcome {
        ExperimentOutcome::Confirmed => ("confirmed", Tone::Strong),
        ExperimentOutcome::Refuted => ("refuted", Tone::Plain),
        ExperimentOutcome::Inconclusive => ("inconclusive", Tone::Warn),
        ExperimentOutcome::NotRun => ("not run", Tone::Muted),
    };
    let report = record.run_folder().map(|run| format!("{run}/report.html"));
    Cell::new(word).tone(tone).link(report.unwrap_or_default())
}

/// Returns a table, behind a fold, of the resource readings in the measured window of each trial.
fn readings(trials: &[TrialFinding]) -> Option<Block> {
    let rows = trials.iter().flat_map(|trial| {
        let windows = trial.limits.iter().filter(|part| part.span == LimitSpan::Window);
        windows.flat_map(move |part| part.readings.iter().map(move |one| (trial.index, one)))
    });
    let tone = |(_, one): (usize, &LimitReadingRecord)| {
        if one.full { Tone::Warn } else { Tone::Plain }
    };
    let table = Table::from_records("Resources of each trial", rows)
        .number("Trial", "", |(trial, _)| trial.to_string())
        .text("Resource", |(_, one)| limit_name(one.kind))
        .text("Place", |(_, one)| place(&one.place))
        .number("Value", "", |(_, one)| limit_value(one.kind, one.value))
        .number("Full from", "", |(_, one)| limit_value(one.kind, one.limit))
        .tone(tone)
        .unless_empty()?;
    Some(Block::Details(
        "Resources of each trial".into(),
        vec![Block::Table(table)],
    ))
}

fn place(place: &str) -> String {
    if place.is_empty() {
        "client".to_owned()
    } else {
        place.to_owned()
    }
}
