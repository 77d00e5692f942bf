//! The table `rules`: the results of the validity rules for each trial, with their numbers.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::Folder;
use anyhow::Result;
use store::record::{MeasurementRecord, RuleRecord};

/// Row of the table `rules`: one number of a rule, or a rule that has no numbers.
pub(super) struct RuleRow<'r> {
    head: Head,
    rule: &'r RuleRecord,
    number: Option<&'r MeasurementRecord>,
}

pub(super) fn table<'r>() -> Table<'r, RuleRow<'r>> {
    let table = Table::new(
        "rules",
        "one measured value of a validity rule in a finished trial; a rule without values has one \
         row.",
    );
    head::columns(table, |row: &RuleRow<'_>| &row.head)
        .text("rule", "Name of the rule: `V1` to `V21`.", |row| {
            Some(&row.rule.rule)
        })
        .text(
            "result",
            "Result of the rule: `pass`, `warn`, `fail` or `unknown`.",
            |row| Some(row.rule.result.name()),
        )
        .text(
            "quantity",
            "Measured quantity: `sent_in_window`, `client_cpu`, ….",
            |row| row.number.map(|number| number.quantity.name()),
        )
        .text(
            "place",
            "Client, node or kind of operation; empty for the whole trial.",
            |row| row.number?.place.as_deref(),
        )
        .number("value", "`unit`", "Measured value.", |row| {
            row.number.map(|number| number.value)
        })
        .number(
            "limit",
            "`unit`",
            "Limit for a warning, or for a failure if the rule gives no warnings; empty without a \
             limit.",
            |row| row.number?.limit,
        )
        .number(
            "fail_limit",
            "`unit`",
            "Limit for a failure; empty if this value alone cannot fail the rule.",
            |row| row.number?.fail_limit,
        )
        .truth(
            "is_minimum",
            "True if the limits are minima, false if they are maxima.",
            |row| row.number.map(|number| number.minimum),
        )
        .text("unit", "Unit of the value and the limits.", |row| {
            row.number.map(|number| number.unit.as_str())
        })
        .text("detail", "Observation of the rule, in words.", |row| {
            Some(&row.rule.detail)
        })
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut rows = out.begin(table())?;
    for found in source.findings.values() {
        let head = Head::from_finding(found);
        for rule in &found.rules {
            let numbers = rule.measured.iter().map(Some);
            let none = rule.measured.is_empty().then_some(None);
            for number in numbers.chain(none) {
                rows.row(&RuleRow {
                    head: head.clone(),
                    rule,
                    number,
                })?;
            }
        }
    }
    rows.end()
}
