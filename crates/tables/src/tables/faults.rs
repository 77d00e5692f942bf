//! The table `faults`: the injected faults, with their times and effects.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::Folder;
use anyhow::Result;
use store::record::FaultRecord;

pub(super) struct FaultRow<'r> {
    head: Head,
    fault: &'r FaultRecord,
}

pub(super) fn table<'r>() -> Table<'r, FaultRow<'r>> {
    let table = Table::new("faults", "a fault of a trial.");
    let table = head::columns(table, |row: &FaultRow<'_>| &row.head)
        .whole(
            "number",
            "",
            "Number of the fault in the study's list, from 0.",
            |row| row.fault.number.map(|number| number as u64),
        )
        .text(
            "kind",
            "Kind of the fault, as in the study: `node-stop`, ….",
            |row| Some(&row.fault.kind),
        )
        .text(
            "place",
            "Target of the fault: a node, a host, or two groups of hosts that the fault separates.",
            |row| row.fault.place.as_deref(),
        )
        .text(
            "verdict",
            "Verdict: `confirmed`, `mismatch` or `inconclusive`.",
            |row| Some(row.fault.verdict.name()),
        )
        .text(
            "evidence",
            "Observation that supports the verdict.",
            |row| Some(&row.fault.evidence),
        );
    moments(table)
        .number(
            "detect_s",
            "s",
            "Time from the injection until the client noticed the fault.",
            |row| row.fault.detect_s,
        )
        .number(
            "dip",
            "share",
            "Largest loss of throughput, as a share.",
            |row| row.fault.dip,
        )
        .number(
            "recover_s",
            "s",
            "Time from the healing until throughput had recovered.",
            |row| row.fault.recover_s,
        )
}

fn moments<'r>(table: Table<'r, FaultRow<'r>>) -> Table<'r, FaultRow<'r>> {
    let at = |row: &FaultRow<'_>, t_s: Option<f64>| t_s.and_then(|t_s| row.head.to_unix_us(t_s));
    let since = |row: &FaultRow<'_>, t_s: Option<f64>| t_s.and_then(|t_s| row.head.in_window(t_s));
    table
        .time("injected_at", "Time of the injection.", move |row| {
            at(row, row.fault.injected_s)
        })
        .time(
            "seen_at",
            "Time at which cassay saw the effect.",
            move |row| at(row, row.fault.seen_s),
        )
        .time("healing_at", "Time at which healing began.", move |row| {
            at(row, row.fault.healing_s)
        })
        .time(
            "whole_at",
            "Time at which cassay saw the target intact again.",
            move |row| at(row, row.fault.whole_s),
        )
        .number(
            "injected_window_s",
            "s",
            "Time from the beginning of the window to `injected_at`.",
            move |row| since(row, row.fault.injected_s),
        )
        .number(
            "seen_window_s",
            "s",
            "Time from the beginning of the window to `seen_at`.",
            move |row| since(row, row.fault.seen_s),
        )
        .number(
            "healing_window_s",
            "s",
            "Time from the beginning of the window to `healing_at`.",
            move |row| since(row, row.fault.healing_s),
        )
        .number(
            "whole_window_s",
            "s",
            "Time from the beginning of the window to `whole_at`.",
            move |row| since(row, row.fault.whole_s),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut files = out.begin(table())?;
    for found in source.findings.values() {
        for fault in &found.faults {
            files.row(&FaultRow {
                head: Head::from_finding(found),
                fault,
            })?;
        }
    }
    files.end()
}
