//! Compares the data on disk between variants. For a fair comparison, all variants must have the
//! same data.

use crate::merged_points::variant_name;
use crate::number;
use crate::page::{Block, Cell, Table, Tone};
use crate::run_view::RunView;
use analysis::VariantName;
use std::collections::BTreeSet;
use store::record::{CostKind, TrialFinding};

struct Side<'a> {
    variant: &'a VariantName,
    trials: Vec<&'a TrialFinding>,
    /// Versions of Cassandra on the nodes at the beginning of the windows.
    releases: BTreeSet<&'a str>,
}

/// Returns a sentence on the formats of the SSTables, and a table. Returns an empty list if the
/// study has only one variant, or if the formats are unknown.
pub(super) fn blocks(view: &RunView) -> Vec<Block> {
    let sides = sides(view);
    let is_seen = sides.iter().any(|side| !side.formats().is_empty());
    if sides.len() < 2 || !is_seen {
        return Vec::new();
    }
    vec![
        Block::Text(formats_said(view, &sides)),
        Block::Table(table(view, &sides)),
    ]
}

fn sides(view: &RunView) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for trial in &view.findings.trials {
        let known = sides.iter().position(|side| *side.variant == trial.variant);
        let at = known.unwrap_or_else(|| {
            sides.push(Side {
                variant: &trial.variant,
                trials: Vec::new(),
                releases: BTreeSet::new(),
            });
            sides.len() - 1
        });
        sides[at].trials.push(trial);
        let seen = view.trials.iter().find(|seen| seen.index == trial.index);
        let nodes = seen.and_then(|seen| seen.nodes.as_ref()).map(|nodes| &nodes.nodes);
        sides[at]
            .releases
            .extend(nodes.into_iter().flatten().map(|node| node.version.as_str()));
    }
    sides
}

impl Side<'_> {
    fn formats(&self) -> BTreeSet<&str> {
        let all = self.trials.iter().flat_map(|trial| trial.sstable_formats.keys());
        all.map(String::as_str).collect()
    }

    fn sum(&self, part: fn(&TrialFinding) -> u64) -> u64 {
        self.trials.iter().map(|trial| part(trial)).sum()
    }

    fn rows_loaded(&self) -> Option<u64> {
        let loads = self.trials.iter().filter_map(|trial| trial.load.as_ref());
        loads.map(|load| load.operations).max()
    }

    fn cost(&self, cost: CostKind) -> Cell {
        let known: Vec<f64> =
            self.trials.iter().filter_map(|trial| trial.costs.get(&cost).copied()).collect();
        if known.is_empty() {
            return Cell::absent();
        }
        Cell::new(cost.written(known.iter().sum::<f64>() / known.len() as f64))
    }
}

fn joined(words: &BTreeSet<&str>) -> String {
    words.iter().copied().collect::<Vec<_>>().join(", ")
}

fn formats_said(view: &RunView, sides: &[Side<'_>]) -> String {
    let first = sides[0].formats();
    if sides.iter().all(|side| side.formats() == first) {
        return format!(
            "All variants had SSTables of the same format: {}.",
            joined(&first)
        );
    }
    let each = sides.iter().map(|side| {
        let formats = side.formats();
        let formats = if formats.is_empty() {
            "none on disk".to_owned()
        } else {
            joined(&formats)
        };
        format!("{} {formats}", variant_name(side.variant, view))
    });
    format!(
        "The variants had SSTables of different formats: {}.",
        each.collect::<Vec<_>>().join("; ")
    )
}

fn table(view: &RunView, sides: &[Side<'_>]) -> Table {
    let caption = "Data of each variant on disk, and its reads";
    Table::from_records(caption, sides)
        .text("Variant", |side| variant_name(side.variant, view))
        .text("Cassandra", |side| match side.releases.len() {
            0 => Cell::absent(),
            _ => Cell::new(joined(&side.releases)),
        })
        .text("Format", |side| joined(&side.formats()))
        .number("Rows", "loaded", |side| {
            side.rows_loaded().map_or_else(Cell::absent, |rows| number::count(rows).into())
        })
        .number("Disk", "per row", |side| side.cost(CostKind::DiskSpace))
        .wide_number("Compression", "", |side| side.cost(CostKind::Compression))
        .number("Answers", "compared", |side| {
            number::count(side.sum(|trial| trial.verify.checked))
        })
        .number("Not as", "generated", |side| {
            let wrong = |trial: &TrialFinding| {
                trial.verify.missing + trial.verify.stale + trial.verify.wrong
            };
            Cell::zero_expected(side.sum(wrong), Tone::Bad)
        })
        .foot(
            "Format: the first letters of the names of SSTables. The same generator creates the \
             rows of every variant, and cassay compares answers with these rows. If no answer \
             differs, the variants have the same data.",
        )
        .build()
}
