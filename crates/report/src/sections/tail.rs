//! Section on the events during which the slowest operations of each trial waited.

use crate::merged_points::{place, variant_name};
use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use measure::number::significant;
use store::record::{SlowOperationRecord, TailEventKind, TailEventsRecord, TailRecord};

/// Maximum number of trials whose operations the page lists. They add at most 400 rows to the page.
/// The file `slowest.json` of each trial contains its operations.
const LISTED_MAX: usize = 4;

/// Returns the section on the slowest operations. Returns `None` for runs of earlier versions, and
/// if no trial is usable.
pub fn section(view: &RunView) -> Option<Section> {
    let tails = &view.findings.tails;
    if tails.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = tails.iter().map(|tail| Block::Text(tail.says.clone())).collect();
    blocks.push(Block::Table(trials_table(view, tails)));
    blocks.extend(events_table(tails).map(Block::Table));
    blocks.extend(tails.iter().take(LISTED_MAX).filter_map(|tail| operations(view, tail)));
    Some(Section {
        id: "tail",
        title: "The slowest operations".into(),
        lead: "The client keeps the 100 slowest operations of each window. An operation matches \
             events if it spent at least half of its time in them. `cassay explain tail` describes \
             the test against chance."
            .into(),
        blocks,
    })
}

fn trials_table(view: &RunView, tails: &[TailRecord]) -> Table {
    Table::from_records("Slowest operations of each trial", tails)
        .number("Trial", "", |tail| tail.trial.to_string())
        .text("Variant", |tail| variant_name(&tail.variant, view))
        .text("Point", |tail| place(tail.point))
        .number("From", "ms", |tail| significant(tail.from_ms, 3))
        .number("Explained", "", |tail| {
            let tone = if tail.is_explained() {
                Tone::Strong
            } else {
                Tone::Plain
            };
            Cell::new(format!("{} of {}", tail.explained, tail.operations)).tone(tone)
        })
        .foot("From: the lowest latency of these operations, counted from the intended start.")
        .build()
}

/// Returns the table of events that matched slow operations, including events that do not explain
/// them. Returns `None` if no event matched.
fn events_table(tails: &[TailRecord]) -> Option<Table> {
    let rows = tails
        .iter()
        .flat_map(|tail| tail.events.iter().map(move |one| (tail.trial, one)));
    Table::from_records("Events that matched slow operations", rows)
        .number("Trial", "", |(trial, _)| trial.to_string())
        .text("Event", |(_, one): (usize, &TailEventsRecord)| {
            one.event_name()
        })
        .text("Place", |(_, one)| {
            if one.place.is_empty() {
                Cell::absent()
            } else {
                Cell::from(&one.place)
            }
        })
        .number("Matched", "operations", |(_, one)| one.matched.to_string())
        .wide_number("Sent there", "operations", |(_, one)| {
            has_time(one).then(|| one.sent_there.to_string())
        })
        .number("Events", "", |(_, one)| {
            has_time(one).then(|| format!("{} of {}", one.events, one.events_in_window))
        })
        .wide_number("Covered", "", |(_, one)| number::percent(one.covered))
        .wide_number("By chance", "operations", |(_, one)| {
            significant(one.expected, 2)
        })
        .number("p", "", |(_, one)| significant(one.chance, 2))
        .text(
            "Explains",
            |(_, one)| if one.explains { "yes" } else { "no" },
        )
        .foot(
            "Covered: the share of the window that the events cover, or the share of all \
             operations with such an attempt. By chance: the number of matched operations if the \
             events had occurred at other times.",
        )
        .unless_empty()
}

/// Returns true if the events have a time. Retries and speculative executions belong to an
/// operation, and have no separate time.
fn has_time(events: &TailEventsRecord) -> bool {
    !matches!(
        events.kind,
        TailEventKind::Retry | TailEventKind::Speculation
    )
}

/// Returns the slowest operations of a trial, behind a fold. Returns `None` if the run recorded no
/// slow operations of this trial.
fn operations(view: &RunView, tail: &TailRecord) -> Option<Block> {
    let trial = view.trials.iter().find(|trial| trial.index == tail.trial)?;
    let seconds = |value: f64| format!("{value:.4}");
    let caption = format!("Slowest operations of trial {}", tail.trial);
    let table = Table::from_records(caption.clone(), &trial.slowest)
        .number("Operation", "", |one: &SlowOperationRecord| {
            number::count(one.number)
        })
        .text("Kind", |one| one.kind.as_str())
        .text("Node", |one| one.node.clone())
        .number("Due", "s", |one| seconds(one.due_s))
        .wide_number("Sent", "s", |one| one.sent_s.map(seconds))
        .wide_number("End", "s", |one| seconds(one.end_s))
        .number("Latency", "ms", |one| {
            let bound = if one.at_least { "≥ " } else { "" };
            format!("{bound}{}", significant(one.latency_ms, 4))
        })
        .text("Outcome", |one| one.outcome.as_str())
        .wide_number("Retries", "", |one| one.retries.to_string())
        .text(
            "Speculative",
            |one| if one.speculated { "yes" } else { "no" },
        )
        .foot("Times count from the start line of the trial, like those of all series.")
        .unless_empty()?;
    Some(Block::Details(caption, vec![Block::Table(table)]))
}
