//! Compares the costs of the operations of two runs.

use super::pairs::{MatchedPoints, Pair};
use crate::merged_points::{Point, variant_name};
use crate::page::{Block, Section, Verdict};
use crate::run_view::RunView;
use crate::sections::cost::comparison_table;
use analysis::multiple_comparisons::differing;
use analysis::{Comparison, Metric, compare_unpaired};
use store::record::{CostComparisonRecord, CostKind};

/// Compares the costs of two runs at their common points. Omits invalid points and costs that are
/// unknown for one of the runs. Also omits a cost that is zero in any trial, because zero has no
/// ratio.
pub fn compared(matched: &MatchedPoints<'_, '_>) -> Vec<CostComparisonRecord> {
    let is_usable = |point: &Point<'_>| point.verdict != Verdict::Invalid;
    let usable = matched.iter().filter(|(a, b)| is_usable(a) && is_usable(b));
    usable.flat_map(|(a, b)| at_point(a, b)).collect()
}

fn at_point(baseline: &Point<'_>, contender: &Point<'_>) -> Vec<CostComparisonRecord> {
    let compared = CostKind::ALL.into_iter().filter_map(|cost| {
        let values = [baseline, contender].map(|point| {
            let known = point.used.iter().filter_map(|trial| trial.costs.get(&cost).copied());
            known.collect::<Vec<f64>>()
        });
        if values.iter().flatten().any(|value| *value <= 0.0) {
            return None;
        }
        Some((
            cost,
            compare_unpaired(&values[0], &values[1], Metric::COST).ok()?,
        ))
    });
    let (costs, comparisons): (Vec<CostKind>, Vec<Comparison>) = compared.unzip();
    let differ = differing(&comparisons);
    let all = costs.into_iter().zip(&comparisons).zip(differ);
    all.map(|((cost, comparison), differs)| CostComparisonRecord {
        cost,
        point: baseline.at,
        baseline: baseline.variant.clone(),
        contender: baseline.variant.clone(),
        ratio: comparison.ratio,
        ci95: comparison.ci95(),
        blocks: comparison.blocks,
        differs,
    })
    .collect()
}

pub fn section(baseline: &RunView, pairs: &[Pair<'_, '_>]) -> Section {
    let table = |pair: &Pair<'_, '_>| {
        let caption = match pairs.len() {
            1 => "Costs of the contender against the baseline".to_owned(),
            _ => format!("Costs of {} against the baseline", pair.run.name),
        };
        Block::Table(comparison_table(&caption, &pair.costs, |table| {
            table.text("Variant", |c| variant_name(&c.baseline, baseline))
        }))
    };
    let known = pairs.iter().filter(|pair| !pair.costs.is_empty());
    Section {
        id: "costs",
        title: "Costs".into(),
        lead: String::new(),
        blocks: known.map(table).collect(),
    }
}
