//! What was broken on purpose: what was seen of it, and when.

use crate::number;
use crate::page::{Band, Block, Cell, Column, Row, Section, Table, Tone};
use crate::sections::time::label;
use crate::view::RunView;
use store::record::FaultRecord;

/// Every fault of the run; none if there was none.
pub fn section(view: &RunView) -> Option<Section> {
    let faults = &view.findings.faults;
    (!faults.is_empty()).then(|| Section {
        id: "faults",
        title: "Faults".into(),
        lead: "A fault counts only when something other than its injector saw it, and saw what it \
               broke whole again."
            .into(),
        blocks: vec![Block::Table(Table {
            columns: vec![
                Column::text("Trial"),
                Column::text("Fault"),
                Column::text("Verdict"),
                Column::number("Injected at", "s"),
                Column::number("Seen after", "s"),
                Column::number("Healed after", "s"),
                Column::number("Whole after healing", "s"),
                Column::text("Evidence"),
            ],
            rows: faults.iter().map(|fault| row(view, fault)).collect(),
            ..Table::default()
        })],
    })
}

fn row(view: &RunView, fault: &FaultRecord) -> Row {
    let between = |from: Option<f64>, to: Option<f64>| match (from, to) {
        (Some(from), Some(to)) => Cell::new(number::small(to - from)),
        _ => Cell::new("\u{2013}"),
    };
    let tone = match fault.verdict.as_str() {
        "confirmed" => Tone::Good,
        "mismatch" => Tone::Bad,
        _ => Tone::Warn,
    };
    Row {
        cells: vec![
            Cell::new(
                fault
                    .trial
                    .map_or_else(String::new, |trial| label(view, trial)),
            ),
            Cell::new(name(fault)),
            Cell::new(fault.verdict.as_str()).tone(tone),
            between(Some(0.0), fault.injected_s),
            between(fault.injected_s, fault.seen_s),
            between(fault.injected_s, fault.healing_s),
            between(fault.healing_s, fault.whole_s),
            Cell::new(fault.evidence.as_str()),
        ],
        tone: Tone::Plain,
    }
}

fn name(fault: &FaultRecord) -> String {
    match fault.place.as_str() {
        "" => fault.kind.clone(),
        place => format!("{} of {place}", fault.kind),
    }
}

/// The stretches of a trial in which something was broken, until it was seen whole again.
pub fn bands(view: &RunView, trial: usize) -> impl Iterator<Item = Band> {
    let finding = view.findings.trials.iter().find(move |t| t.index == trial);
    let faults = finding.into_iter().flat_map(|finding| &finding.faults);
    faults.filter_map(|fault| {
        Some(Band {
            from: fault.injected_s?,
            to: fault.whole_s.or(fault.healing_s)?,
            label: name(fault),
        })
    })
}
