//! Two runs beside each other: the same points matched, ratios with their error, and what else
//! differs between them.
//!
//! Runs were not interleaved, so the machine may have changed between them; the page says so.

use crate::number;
use crate::page::{
    Axis, Block, Chart, Color, Column, Figure, Headline, Page, Panel, Scale, Section, Series,
    Shape, Table, Tone, Verdict, Xs,
};
use crate::sections::results::comparison_table;
use crate::sections::setup::{differing_rows, flatten};
use crate::summary::{ALL, Point, place, points, variant_name};
use crate::view::RunView;
use serde_json::json;
use std::collections::BTreeMap;
use store::record::{ComparisonRecord, QuantilesRecord};

/// Largest relative difference that is called equivalent, if the whole interval lies within it:
/// between two runs on one machine less than 5 % is rarely repeatable.
const EQUIVALENT_WITHIN: f64 = 0.05;
/// Standard errors in half a 95 % interval.
const Z_975: f64 = 1.96;

/// Makes the page that compares `contender` with `baseline`.
pub fn compare(baseline: &RunView, contender: &RunView) -> Page {
    let (left, right) = (points(baseline), points(contender));
    let matched = matched(&left, &right);
    let comparisons = comparisons(baseline, contender, &matched);
    let sections = [
        Some(results(baseline, contender, &matched, &comparisons)),
        Some(unmatched(&left, &right, &matched)),
        Some(differences(baseline, contender)),
    ];
    Page {
        title: format!("{} against {}", contender.name, baseline.name),
        headline: headline(baseline, contender, &matched, &comparisons),
        sections: sections
            .into_iter()
            .flatten()
            .filter(|s| !s.blocks.is_empty())
            .collect(),
        data: json!({
            "format": store::record::FORMAT,
            "baseline": baseline.name,
            "contender": contender.name,
            "comparisons": comparisons,
            "differences": difference_maps(baseline, contender),
        }),
    }
}

/// The same variant at the same point in both runs.
type Matched<'p, 'a> = Vec<(&'p Point<'a>, &'p Point<'a>)>;

fn matched<'p, 'a>(left: &'p [Point<'a>], right: &'p [Point<'a>]) -> Matched<'p, 'a> {
    let same = |a: &Point<'_>, b: &Point<'_>| a.variant == b.variant && a.at == b.at;
    let pair = |a: &'p Point<'a>| Some((a, right.iter().find(|b| same(a, b))?));
    left.iter().filter_map(pair).collect()
}

/// A value with its interval, as far as it has one.
type Measured = (f64, Option<[f64; 2]>);

fn comparisons(
    baseline: &RunView,
    contender: &RunView,
    matched: &Matched<'_, '_>,
) -> Vec<ComparisonRecord> {
    let quantile = |q: Option<&QuantilesRecord>, name: &str| -> Option<Measured> {
        let q = q.filter(|q| q.count > 0)?;
        let value = if name == "p50" { q.p50 } else { q.p99 };
        Some((value, q.ci95.get(name).copied()))
    };
    let mut records = Vec::new();
    for (a, b) in matched {
        if a.verdict == Verdict::Invalid || b.verdict == Verdict::Invalid {
            continue;
        }
        let mut push = |metric: &str, more_is_faster: bool, a_b: (Measured, Measured)| {
            records.extend(ratio(a_b.0, a_b.1).map(|(ratio, ci95)| ComparisonRecord {
                metric: metric.into(),
                point: a.at.clone(),
                baseline: a.variant.into(),
                contender: b.variant.into(),
                ratio,
                ci95,
                verdict: verdict(ci95, more_is_faster).into(),
            }));
        };
        let rate = |p: &Point<'_>| (p.ops_per_s(), p.ops_per_s_ci95());
        push("ops_per_s", true, (rate(a), rate(b)));
        for name in ["p50", "p99"] {
            let ours = quantile(a.latency(baseline, ALL), name);
            let theirs = quantile(b.latency(contender, ALL), name);
            if let (Some(ours), Some(theirs)) = (ours, theirs) {
                push(&format!("latency_ms.{name}"), false, (ours, theirs));
            }
        }
    }
    records
}

/// `b ÷ a`, with a 95 % interval if both have one: errors add in quadrature on a logarithmic
/// scale (first-order propagation for independent quantities).
fn ratio(a: Measured, b: Measured) -> Option<(f64, Option<[f64; 2]>)> {
    if !(a.0 > 0.0 && b.0 > 0.0) {
        return None;
    }
    let ratio = b.0 / a.0;
    let error = |(_, ci): Measured| match ci {
        Some([low, high]) if low > 0.0 => Some((high / low).ln() / 2.0 / Z_975),
        _ => None,
    };
    let ci95 = error(a).zip(error(b)).map(|(a, b)| {
        let half = Z_975 * a.hypot(b);
        [ratio * (-half).exp(), ratio * half.exp()]
    });
    Some((ratio, ci95))
}

fn verdict(ci95: Option<[f64; 2]>, more_is_faster: bool) -> &'static str {
    let Some([low, high]) = ci95 else {
        return "inconclusive";
    };
    let within = 1.0 - EQUIVALENT_WITHIN..=1.0 + EQUIVALENT_WITHIN;
    if within.contains(&low) && within.contains(&high) {
        "equivalent"
    } else if low <= 1.0 && high >= 1.0 {
        "inconclusive"
    } else if (low > 1.0) == more_is_faster {
        "faster"
    } else {
        "slower"
    }
}

/// How often each verdict was given for one metric, in words.
fn tally(comparisons: &[ComparisonRecord], metric: &str) -> String {
    let of: Vec<&ComparisonRecord> = comparisons.iter().filter(|c| c.metric == metric).collect();
    let mut parts = Vec::new();
    for verdict in ["faster", "slower", "equivalent", "inconclusive"] {
        let count = of.iter().filter(|c| c.verdict == verdict).count();
        if count > 0 {
            parts.push(format!("{count} {verdict}"));
        }
    }
    parts.join(", ")
}

fn headline(
    baseline: &RunView,
    contender: &RunView,
    matched: &Matched<'_, '_>,
    comparisons: &[ComparisonRecord],
) -> Headline {
    let mut answer = Vec::new();
    if matched.is_empty() {
        answer.push("The runs have no point in common.".to_string());
    } else {
        let metrics = [
            ("ops_per_s", "Throughput"),
            ("latency_ms.p99", "p99 latency"),
        ];
        for (metric, name) in metrics {
            let tally = tally(comparisons, metric);
            if !tally.is_empty() {
                answer.push(format!(
                    "{name}: {tally}, of {} points in common.",
                    matched.len()
                ));
            }
        }
    }
    let verdict = |run: &RunView| Verdict::from_name(&run.findings.verdict);
    let worst = verdict(baseline).max(verdict(contender));
    let reasons = |run: &RunView, which: &str| -> Vec<String> {
        run.findings
            .reasons
            .iter()
            .map(|r| format!("{which}: {r}"))
            .collect()
    };
    Headline {
        study: format!("{} and {}", baseline.plan.study, contender.plan.study),
        facts: vec![
            ("Baseline".into(), baseline.name.clone()),
            ("Contender".into(), contender.name.clone()),
            ("Points in common".into(), matched.len().to_string()),
        ],
        question: format!("How does {} differ from {}?", contender.name, baseline.name),
        answer,
        verdict: worst,
        meaning: "The worse verdict of the two runs. They were not interleaved: what changed \
                  between them, the machine too, is in the ratio."
            .into(),
        reasons: [
            reasons(baseline, "baseline"),
            reasons(contender, "contender"),
        ]
        .concat(),
        figures: extremes(baseline, comparisons),
    }
}

/// The largest and the smallest ratio of throughput.
fn extremes(baseline: &RunView, comparisons: &[ComparisonRecord]) -> Vec<Figure> {
    let mut rates: Vec<&ComparisonRecord> = comparisons
        .iter()
        .filter(|c| c.metric == "ops_per_s")
        .collect();
    rates.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
    if rates.len() > 2 {
        rates.drain(1..rates.len() - 1);
    }
    let figure = |(index, c): (usize, &&ComparisonRecord)| {
        let label = if index == 0 {
            "highest ratio"
        } else {
            "lowest ratio"
        };
        let mut detail = format!(
            "{}, {} · {}",
            variant_name(&c.baseline, baseline),
            place(&c.point),
            c.verdict
        );
        if let Some([low, high]) = c.ci95 {
            let (low, high) = (number::small(low), number::small(high));
            detail = format!("95 % interval {low} to {high} · {detail}");
        }
        Figure {
            label: format!("throughput, {label}"),
            value: number::small(c.ratio),
            unit: "×".into(),
            detail,
            variant: None,
        }
    };
    rates.iter().enumerate().map(figure).collect()
}

fn results(
    baseline: &RunView,
    contender: &RunView,
    matched: &Matched<'_, '_>,
    comparisons: &[ComparisonRecord],
) -> Section {
    let mut blocks = Vec::new();
    if !comparisons.is_empty() {
        let mut table = comparison_table(comparisons, "Contender against baseline", |name| {
            variant_name(name, baseline).to_string()
        });
        // Baseline and contender are the runs here; the variant is the same on both sides.
        table.columns[2] = Column::text("Variant");
        table.columns.remove(3);
        table.rows.iter_mut().for_each(|row| {
            row.cells.remove(3);
        });
        table.foot = format!(
            "Equivalent: the whole interval lies within ± {} of 1. Inconclusive: it holds 1 and \
             is wider, or a side has no interval. Invalid points are not compared.",
            number::percent(EQUIVALENT_WITHIN)
        );
        blocks.push(Block::Table(table));
    }
    if matched.len() > 1 {
        blocks.push(Block::Chart(chart(baseline, contender, matched)));
    }
    Section {
        id: "results",
        title: "Results".into(),
        lead: String::new(),
        blocks,
    }
}

fn chart(baseline: &RunView, contender: &RunView, matched: &Matched<'_, '_>) -> Chart {
    let several = matched
        .iter()
        .any(|(a, _)| a.variant != matched[0].0.variant);
    let name = |p: &Point<'_>| match several {
        true => format!("{}, {}", variant_name(p.variant, baseline), p.label()),
        false => p.label(),
    };
    let names: Vec<String> = matched.iter().map(|(a, _)| name(a)).collect();
    let mut series = Vec::new();
    for (index, run) in [baseline, contender].into_iter().enumerate() {
        let of: Vec<&Point<'_>> = matched
            .iter()
            .map(|(a, b)| if index == 0 { *a } else { *b })
            .collect();
        let bars = Series {
            name: run.name.clone(),
            group: index.to_string(),
            in_legend: true,
            shape: Shape::Bars,
            color: Color::Category(index),
            x: Xs::Names(names.clone()),
            y: of.iter().map(|p| Some(p.ops_per_s())).collect(),
            y_ci: of.iter().map(|p| p.ops_per_s_ci95()).collect(),
            unit: "op/s".into(),
            ..Series::default()
        };
        let line = Series {
            name: format!("{}, p99", run.name),
            shape: Shape::Points,
            on_right: true,
            y: of
                .iter()
                .map(|p| p.latency(run, ALL).map(|q| q.p99))
                .collect(),
            y_ci: Vec::new(),
            unit: "ms".into(),
            ..bars.clone()
        };
        series.extend([bars, line]);
    }
    Chart {
        title: "Throughput, with p99 latency".into(),
        what: "Bars: operations per second (left). Line: p99 latency (right, logarithmic).".into(),
        height_px: 420,
        x: Axis {
            title: String::new(),
            scale: Scale::Names,
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis {
                title: "op/s".into(),
                scale: Scale::Linear,
            },
            right: Some(Axis {
                title: "p99 latency, ms".into(),
                scale: Scale::Log,
            }),
            series,
        }],
        ..Chart::default()
    }
}

/// Points that stand in one run only.
fn unmatched(left: &[Point<'_>], right: &[Point<'_>], matched: &Matched<'_, '_>) -> Section {
    let list = |points: &[Point<'_>], which: &str| {
        let known = |p: &Point<'_>| {
            matched
                .iter()
                .any(|(a, _)| a.variant == p.variant && a.at == p.at)
        };
        let names: Vec<String> = points
            .iter()
            .filter(|p| !known(p))
            .map(|p| format!("{} at {}", p.variant, p.label()))
            .collect();
        (!names.is_empty()).then(|| {
            Block::Note(
                Tone::Warn,
                format!("Only in the {which}: {}.", names.join("; ")),
            )
        })
    };
    let blocks = [list(left, "baseline"), list(right, "contender")];
    Section {
        id: "unmatched",
        title: "Not compared".into(),
        lead: String::new(),
        blocks: blocks.into_iter().flatten().collect(),
    }
}

/// Everything about a run that can be told apart by a name.
fn properties(run: &RunView) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = flatten(&run.plan.resolved)
        .into_iter()
        .map(|(key, value)| (format!("study: {key}"), value))
        .collect();
    all.insert("cassay".into(), run.plan.cassay.clone());
    all.insert("seed".into(), run.plan.seed.to_string());
    all.insert(
        "scale".into(),
        run.plan
            .scale
            .clone()
            .unwrap_or_else(|| "as written".into()),
    );
    for (name, value) in &run.facts {
        all.insert(format!("machine: {name}"), value.clone());
    }
    for node in &run.nodes {
        for (name, value) in &node.facts {
            all.insert(format!("{}: {name}", node.name), value.clone());
        }
        for (name, value) in &node.settings {
            all.insert(format!("{} setting: {name}", node.name), value.clone());
        }
    }
    all
}

fn difference_maps(a: &RunView, b: &RunView) -> BTreeMap<String, [Option<String>; 2]> {
    let (a, b) = (properties(a), properties(b));
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let both = |key: &String| [a.get(key).cloned(), b.get(key).cloned()];
    let differs = |key: &&String| a.get(*key) != b.get(*key);
    keys.into_iter()
        .filter(differs)
        .map(|key| (key.clone(), both(key)))
        .collect()
}

fn differences(baseline: &RunView, contender: &RunView) -> Section {
    let rows = differing_rows(&[properties(baseline), properties(contender)]);
    let block = if rows.is_empty() {
        Block::Text("Study, versions, settings and machine are the same.".into())
    } else {
        Block::Table(Table {
            columns: vec![
                Column::text("What"),
                Column::text("Baseline"),
                Column::text("Contender"),
            ],
            rows,
            ..Table::default()
        })
    };
    Section {
        id: "differences",
        title: "What differs between the runs".into(),
        lead: String::new(),
        blocks: vec![block],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_ratio_add_in_quadrature() {
        let side = (100.0, Some([97.0, 103.0]));
        let (ratio, ci) = ratio(side, side).expect("positive");
        let [low, high] = ci.expect("both have an interval");
        assert_eq!(ratio, 1.0);
        // Two sides of 3 % make 3 % × √2.
        assert!((high - 1.0433).abs() < 1e-3, "{high}");
        assert!((low * high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_verdict_needs_an_interval_and_knows_which_way_is_faster() {
        let cases = [
            (Some([1.1, 1.2]), true, "faster"),
            (Some([1.1, 1.2]), false, "slower"),
            (Some([0.8, 0.9]), false, "faster"),
            (Some([0.97, 1.03]), true, "equivalent"),
            (Some([0.8, 1.2]), true, "inconclusive"),
            (None, true, "inconclusive"),
        ];
        for (ci, more_is_faster, expected) in cases {
            assert_eq!(verdict(ci, more_is_faster), expected, "{ci:?}");
        }
    }
}
