//! What each fault did, a row each: in the form in which others have published it, with their
//! claims beside ours.

use super::{returned, trial};
use crate::number;
use crate::page::{Cell, Column, Row, Table, Tone};
use crate::view::RunView;
use std::collections::BTreeSet;
use store::record::{FaultRecord, PublishedFailureRecord, RecoveryRecord, StretchRecord};

/// The table; claims that none of our faults stands beside have rows of their own.
pub fn table(view: &RunView) -> Table {
    let published = view.findings.published.as_ref();
    let claims = published.map_or(&[][..], |published| &published.failures);
    let faults = &view.findings.faults;
    let mut columns = vec![
        Column::text("Fault"),
        Column::text("Service"),
        Column::number("Before", "op/s"),
        Column::number("Lowest", "op/s"),
        Column::number("After", "op/s"),
        Column::text("Throughput as before"),
        Column::number("Client errors", ""),
    ];
    if !claims.is_empty() {
        columns.push(Column::text("Published of it"));
    }
    let mut rows: Vec<Row> = faults.iter().map(|fault| row(view, fault, claims)).collect();
    let is_ours = |claim: &&PublishedFailureRecord| {
        let mut ours = faults.iter();
        ours.any(|fault| is_beside(view, claim, fault))
    };
    rows.extend(claims.iter().filter(|claim| !is_ours(claim)).map(theirs));
    let title = published.filter(|_| !claims.is_empty()).map_or(String::new(), |published| {
        format!(
            " Published: {}, on {}. It stands beside ours as it was said, and is not judged.",
            published.title, published.system
        )
    });
    Table {
        caption: "What each fault did".into(),
        columns,
        rows,
        foot: format!(
            "Before: the median of the seconds before it. Lowest: the worst second, from the \
             injection until throughput was as before. After: the mean of all seconds since it was \
             seen whole. Errors: from the injection on.{title}"
        ),
    }
}

fn row(view: &RunView, fault: &FaultRecord, claims: &[PublishedFailureRecord]) -> Row {
    let found = fault.recovery.as_ref();
    let absent = || Cell::new(number::ABSENT);
    let (service, tone) = found.map_or((number::ABSENT.to_owned(), Tone::Plain), service);
    let returns = found.and_then(|found| found.throughput.as_ref());
    let beside = claims
        .iter()
        .filter(|claim| is_beside(view, claim, fault))
        .map(|claim| format!("{}: {}", claim.fault, claim.claim));
    let mut cells = vec![
        Cell::new(fault.name()).detail(trial(view, fault)),
        Cell::new(service).tone(tone),
    ];
    cells.extend(throughput(found));
    cells.extend([
        returns.map_or_else(absent, |returns| {
            let (said, tone) = returned(returns);
            Cell::new(said).tone(tone)
        }),
        found.map_or_else(absent, failed),
    ]);
    if !claims.is_empty() {
        let said: Vec<String> = beside.collect();
        cells.push(Cell::new(said.join("; ")).tone(Tone::Muted));
    }
    Row {
        cells,
        tone: Tone::Plain,
    }
}

/// Whether a claim is about such a fault, in that variant.
fn is_beside(view: &RunView, claim: &PublishedFailureRecord, fault: &FaultRecord) -> bool {
    let trials = &view.findings.trials;
    let variant = fault.trial.and_then(|index| {
        let trial = trials.iter().find(|trial| trial.index == index)?;
        Some(&trial.variant)
    });
    let is_of = claim.variants.is_empty() || variant.is_some_and(|of| claim.variants.contains(of));
    claim.beside.contains(&fault.kind) && is_of
}

/// A claim without a fault of ours.
fn theirs(claim: &PublishedFailureRecord) -> Row {
    let mut cells = vec![Cell::new(claim.fault.as_str()), Cell::new("not done here")];
    cells.extend((0..5).map(|_| Cell::new(number::ABSENT)));
    cells.push(Cell::new(claim.claim.as_str()));
    Row {
        cells,
        tone: Tone::Muted,
    }
}

/// What became of the service.
fn service(found: &RecoveryRecord) -> (String, Tone) {
    let failed = [&found.during, &found.after].into_iter().flatten();
    let failed: u64 = failed.map(StretchRecord::failed).sum();
    let errors = match failed {
        0 => "no error",
        _ => "errors",
    };
    let Some(dip) = found.dip else {
        return (format!("cannot be told, {errors}"), Tone::Muted);
    };
    let for_long = number::duration(dip.seconds);
    match (dip.depth, dip.lowest_ops_per_s, failed) {
        (0.0, _, 0) => ("as before, no error".to_owned(), Tone::Good),
        (0.0, ..) => ("as fast as before, errors".to_owned(), Tone::Warn),
        (_, 0.0, _) => (
            format!("stopped, below the usual for {for_long}, {errors}"),
            Tone::Bad,
        ),
        _ => (format!("slower for {for_long}, {errors}"), Tone::Warn),
    }
}

/// Before, at worst, and after.
fn throughput(found: Option<&RecoveryRecord>) -> [Cell; 3] {
    let before = found.and_then(|found| Some(found.ops_per_s?.middle));
    let lowest = found.and_then(|found| Some(found.dip?.lowest_ops_per_s));
    let after = found.and_then(|found| Some(found.after.as_ref()?.ops_per_s));
    [before, lowest, after]
        .map(|rate| Cell::new(rate.map_or(number::ABSENT.to_owned(), number::rate)))
}

/// How many operations failed, and how.
fn failed(found: &RecoveryRecord) -> Cell {
    let stretches = || [&found.during, &found.after].into_iter().flatten();
    let errors = stretches().flat_map(|stretch| stretch.errors.values().flatten());
    let names: BTreeSet<&str> = errors.map(|(outcome, _)| outcome.as_str()).collect();
    let total: u64 = stretches().map(StretchRecord::failed).sum();
    let names: Vec<&str> = names.into_iter().collect();
    Cell::new(number::count(total)).hint(names.join(", "))
}
