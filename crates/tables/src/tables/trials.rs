//! The tables `trials`, `kinds` and `errors`: the results of each trial for all operations, for
//! each kind of operation, and for failures.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::Folder;
use crate::quantiles::{self, Clock};
use anyhow::Result;
use store::record::{MeasurementRecord, ReasonRecord, SeriesRecord, TrialFinding};

pub(super) struct TrialRow<'r> {
    head: Head,
    found: &'r TrialFinding,
    /// First reason for the verdict, which is the most serious reason. `None` if the verdict has no
    /// reason.
    reason: Option<ReasonRecord>,
}

impl TrialRow<'_> {
    /// Returns the first number of the first reason, if any.
    fn number(&self) -> Option<&MeasurementRecord> {
        self.reason.as_ref()?.measured.first()
    }
}

pub(super) struct KindRow<'r> {
    head: Head,
    found: &'r TrialFinding,
    kind: &'r str,
    series: &'r SeriesRecord,
}

/// Row of the table `errors`: one outcome of failed operations, with the number of these
/// operations.
pub(super) struct ErrorRow<'r> {
    head: Head,
    outcome: &'r str,
    count: u64,
}

pub(super) fn table<'r>() -> Table<'r, TrialRow<'r>> {
    let table = Table::new("trials", "a finished trial.");
    let table = head::columns(table, |row: &TrialRow<'_>| &row.head);
    let table = add_columns(table)
        .number(
            "ops_per_s",
            "op/s",
            "Successful operations per second.",
            |row| Some(row.found.all.ops_per_s),
        )
        .interval("ops_per_s", "op/s", |row| row.found.all.ops_per_s_ci95);
    let table = quantiles::columns(table, Clock::Latency, |row| Some(&row.found.all.latency_ms));
    let table = quantiles::columns(table, Clock::Service, |row| Some(&row.found.all.service_ms));
    let table = quantiles::intervals(table, |row| Some(&row.found.all.latency_ms));
    let table = quantiles::bounds(table, |row| {
        let all = &row.found.all;
        [Some(&all.latency_ms), Some(&all.service_ms)]
    });
    first_reason(client(counted(table)))
}

fn add_columns<'r>(table: Table<'r, TrialRow<'r>>) -> Table<'r, TrialRow<'r>> {
    table
        .words(
            "role",
            "Role of the trial in a search or in a long run: `probe`, `hold`, `expected`, \
             `beside-…` or `endurance`.",
            |row| row.found.role.name(),
        )
        .text(
            "verdict",
            "Verdict: `valid`, `suspect` or `invalid`.",
            |row| Some(row.found.verdict.name()),
        )
        .words("reasons", "Reasons for the verdict, as sentences.", |row| {
            row.found.reasons.join(" ")
        })
        .time(
            "start_at",
            "Start line of the trial: the start of the first phase with load.",
            |row| row.head.to_unix_us(0.0),
        )
        .time("window_at", "Start of the measured window.", |row| {
            row.head.window_at()
        })
        .number(
            "window_length_s",
            "s",
            "Length of the measured window.",
            |row| Some(row.found.seconds),
        )
        .number(
            "warmup_s",
            "s",
            "Length of the warm-up before the window.",
            |row| Some(row.found.warmup.seconds),
        )
}

fn counted<'r>(table: Table<'r, TrialRow<'r>>) -> Table<'r, TrialRow<'r>> {
    let ops = "operations";
    table
        .whole(
            "ended",
            ops,
            "Operations that ended in the window, with any outcome.",
            |row| Some(row.found.ops_total),
        )
        .whole("ok", ops, "Successful operations in the window.", |row| {
            Some(row.found.all.ops)
        })
        .whole(
            "failed",
            ops,
            "Failed operations that were due in the window.",
            |row| Some(row.found.errors.values().sum()),
        )
        .whole(
            "late",
            ops,
            "Operations that the client sent more than 1 ms late.",
            |row| Some(row.found.late),
        )
        .whole(
            "dropped",
            ops,
            "Operations that the client abandoned before the send.",
            |row| Some(row.found.dropped),
        )
        .whole(
            "due_never_sent",
            ops,
            "Operations that were due in the window, but never sent.",
            |row| Some(row.found.due_never_sent),
        )
        .whole(
            "rows_checked",
            "rows",
            "Rows that the client compared with the expected rows.",
            |row| Some(row.found.verify.checked),
        )
        .whole(
            "rows_missing",
            "rows",
            "Rows that must exist, but were missing.",
            |row| Some(row.found.verify.missing),
        )
        .whole(
            "rows_stale",
            "rows",
            "Rows with an older value than the last acknowledged write.",
            |row| Some(row.found.verify.stale),
        )
        .whole(
            "rows_wrong",
            "rows",
            "Rows with a value that was never correct.",
            |row| Some(row.found.verify.wrong),
        )
        .number(
            "pending_compactions",
            "",
            "Pending compactions of all nodes at the end of the window.",
            |row| row.found.pending_compactions,
        )
}

fn client<'r>(table: Table<'r, TrialRow<'r>>) -> Table<'r, TrialRow<'r>> {
    table
        .number(
            "client_cpu_us_per_op",
            "µs",
            "CPU time of the client per operation.",
            |row| Some(row.found.client.cpu_us_per_op),
        )
        .number(
            "client_cpu",
            "share",
            "CPU use of the client, as a share of its cores.",
            |row| Some(row.found.client.cpu_share),
        )
        .number(
            "client_ceiling_per_s",
            "op/s",
            "Ceiling: throughput of the same program on the null target.",
            |row| Some(row.found.client.ceiling_ops_per_s).filter(|ceiling| *ceiling > 0.0),
        )
        .number(
            "client_stall_longest_ms",
            "ms",
            "Longest stall of the client.",
            |row| row.found.client.stall_ms_longest,
        )
        .number(
            "client_lag_p99_us",
            "µs",
            "99th percentile of the release lag.",
            |row| Some(row.found.client.lag_us.p99),
        )
}

fn first_reason<'r>(table: Table<'r, TrialRow<'r>>) -> Table<'r, TrialRow<'r>> {
    table
        .text(
            "reason_rule",
            "Rule of the first reason, which is the most serious: `V1` to `V21`.",
            |row| row.reason.as_ref()?.rule.as_deref(),
        )
        .text(
            "reason_quantity",
            "First quantity of that reason; `rules` contains all of them.",
            |row| row.number().map(|number| number.quantity.name()),
        )
        .number(
            "reason_value",
            "`reason_unit`",
            "Value of that quantity.",
            |row| row.number().map(|number| number.value),
        )
        .number(
            "reason_limit",
            "`reason_unit`",
            "Limit of that quantity for a warning, or for a failure if the rule gives no warnings.",
            |row| row.number()?.limit,
        )
        .text(
            "reason_unit",
            "Unit of `reason_value` and `reason_limit`.",
            |row| row.number().map(|number| number.unit.as_str()),
        )
        .text(
            "reason_place",
            "Client, node or kind of operation of that quantity; empty for the whole trial.",
            |row| row.number()?.place.as_deref(),
        )
}

pub(super) fn kinds_table<'r>() -> Table<'r, KindRow<'r>> {
    let table = Table::new("kinds", "one kind of operation in a finished trial.");
    let table = head::columns(table, |row: &KindRow<'_>| &row.head)
        .text("kind", "Kind of operation.", |row| Some(row.kind))
        .truth(
            "is_part",
            "True if these operations are parts of other operations, so that sums over kinds \
             exclude them.",
            |row| Some(row.found.parts.iter().any(|part| part == row.kind)),
        )
        .whole(
            "ok",
            "operations",
            "Successful operations in the window.",
            |row| Some(row.series.ops),
        )
        .number(
            "ops_per_s",
            "op/s",
            "Successful operations per second.",
            |row| Some(row.series.ops_per_s),
        )
        .interval("ops_per_s", "op/s", |row| row.series.ops_per_s_ci95);
    let table = quantiles::columns(table, Clock::Latency, |row| Some(&row.series.latency_ms));
    let table = quantiles::columns(table, Clock::Service, |row| Some(&row.series.service_ms));
    let table = quantiles::intervals(table, |row| Some(&row.series.latency_ms));
    quantiles::bounds(table, |row| {
        [Some(&row.series.latency_ms), Some(&row.series.service_ms)]
    })
}

pub(super) fn errors_table<'r>() -> Table<'r, ErrorRow<'r>> {
    let table = Table::new("errors", "one outcome of the failed operations of a trial.");
    head::columns(table, |row: &ErrorRow<'_>| &row.head)
        .text(
            "outcome",
            "Outcome: `client_timeout`, `overloaded`, ….",
            |row| Some(row.outcome),
        )
        .whole(
            "failed",
            "operations",
            "Operations with this outcome that were due in the window.",
            |row| Some(row.count),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut trials = out.begin(table())?;
    let mut kinds = out.begin(kinds_table())?;
    let mut errors = out.begin(errors_table())?;
    for found in source.findings.values() {
        let head = Head::from_finding(found);
        for (kind, series) in &found.kinds {
            kinds.row(&KindRow {
                head: head.clone(),
                found,
                kind,
                series,
            })?;
        }
        for (outcome, count) in &found.errors {
            errors.row(&ErrorRow {
                head: head.clone(),
                outcome,
                count: *count,
            })?;
        }
        trials.row(&TrialRow {
            head,
            found,
            reason: found.reasons_as_data().first().cloned(),
        })?;
    }
    Ok([trials.end()?, kinds.end()?, errors.end()?].concat())
}
