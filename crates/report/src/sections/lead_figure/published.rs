//! Plots published ratios next to measured ratios.

use crate::number;
use crate::page::{ColorRole, RowsPlot, ValueRow};
use crate::run_view::RunView;

const ROWS_MAX: usize = 8;

/// Returns a row for each published ratio that cassay also measured.
pub(super) fn rows(view: &RunView) -> Option<RowsPlot> {
    let published = view.findings.published.as_ref()?;
    let ours = published.ratios.iter().filter(|ratio| ratio.ours.is_some()).take(ROWS_MAX);
    let rows: Vec<ValueRow> = ours
        .map(|ratio| {
            let theirs = number::range(ratio.published);
            let value = ratio.ours.unwrap_or(1.0);
            ValueRow {
                label: ratio.what.clone(),
                value: Some(value),
                ci95: ratio.ci95,
                other: Some(ratio.published),
                text: format!("{} (published {theirs})", number::short(value, 3)),
                paint: ColorRole::Category(0),
            }
        })
        .collect();
    (!rows.is_empty()).then(|| RowsPlot {
        title: "ratio: this run (point, 95 %), published (diamond)".into(),
        baseline: Some(1.0),
        is_log: true,
        rows,
    })
}
