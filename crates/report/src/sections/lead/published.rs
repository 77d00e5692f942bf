//! Published ratios, and ours.

use crate::number;
use crate::page::{Paint, RowsPlot, ValueRow};
use crate::view::RunView;

/// Ratios that a first screen has room for.
const ROWS_MAX: usize = 8;

/// A row for each ratio that we have too; none of a study without published ones.
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
                paint: Paint::Category(0),
            }
        })
        .collect();
    (!rows.is_empty()).then(|| RowsPlot {
        title: "times: ours (point, 95 %), published (diamond)".into(),
        baseline: Some(1.0),
        is_log: true,
        rows,
    })
}
