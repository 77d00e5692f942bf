//! Two runs beside each other: the same points matched, ratios with their error, and what else
//! differs between them.
//!
//! Runs were not interleaved, so the machine may have changed between them: intervals allow for
//! that, nothing more is said than that two look different, and the page says so.

mod costs;

use crate::flat::flatten;
use crate::number;
use crate::page::{
    Axis, Block, Chart, Color, Figure, Fold, Headline, Page, Panel, Scale, Section, Series, Shape,
    Tone, Verdict, Xs,
};
use crate::sections::comparisons::{
    comparison_table, interval_words, multiplicity, ratio_words, verdict_words,
};
use crate::sections::effective;
use crate::sections::results::metric_name;
use crate::sections::setup::difference_table;
use crate::summary::{ALL, Point, bound_labels, place, points, variant_name};
use crate::view::RunView;
use analysis::procedure;
use analysis::{Comparison, Metric, TENFOLD};
use measure::Known;
use serde_json::json;
use std::collections::BTreeMap;
use store::record::{ComparisonRecord, Finding, MultiplicityRecord, TrialFinding};

/// Makes the page that compares `contender` with `baseline`.
pub fn compare(baseline: &RunView, contender: &RunView) -> Page {
    let (left, right) = (points(baseline), points(contender));
    let matched = matched(&left, &right);
    let (comparisons, many) = comparisons(&matched);
    let is_said = |section: &Section| !section.blocks.is_empty();
    let cost_comparisons = costs::compared(&matched);
    let compared = [
        results(baseline, contender, &matched, &comparisons),
        costs::section(baseline, &cost_comparisons),
        unmatched(&left, &right, &matched),
    ];
    let differs = differences(baseline, contender);
    let folds = [
        Fold::of(
            "compared",
            "Evidence",
            true,
            compared.map(|part| Some(part).filter(is_said)),
        ),
        Fold::of("differs", "Set-up", true, [Some(differs).filter(is_said)]),
    ];
    Page {
        title: format!("{} against {}", contender.name, baseline.name),
        headline: headline(baseline, contender, &matched, &comparisons, many.as_ref()),
        folds: folds.into_iter().flatten().collect(),
        data: json!({
            "format": store::record::FORMAT,
            "baseline": baseline.name,
            "contender": contender.name,
            "comparisons": comparisons,
            "cost_comparisons": cost_comparisons,
            "multiplicity": many,
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

/// One metric: its name in records, how it is judged, and where it stands.
type Compared = (&'static str, Metric, fn(&TrialFinding) -> Known);

/// What is compared at each point.
const METRICS: [Compared; 4] = [
    ("ops_per_s", Metric::THROUGHPUT, |t| {
        Known::Exactly(t.all.ops_per_s)
    }),
    ("latency_ms.p50", Metric::LATENCY, |t| t.all.latency_ms.p50),
    ("latency_ms.p99", Metric::LATENCY, |t| t.all.latency_ms.p99),
    ("latency_ms.p999", Metric::LATENCY, |t| {
        t.all.latency_ms.p999
    }),
];

/// One block is one observation; the blocks of two runs do not belong together in pairs. Latency of
/// a saturated point is that of its length; what is a lower bound in both runs has no ratio. The
/// second: how many false findings to expect.
fn comparisons(matched: &Matched<'_, '_>) -> (Vec<ComparisonRecord>, Option<MultiplicityRecord>) {
    let primary = primary(matched);
    let mut found = Vec::new();
    for (index, (a, b)) in matched.iter().enumerate() {
        if a.verdict == Verdict::Invalid || b.verdict == Verdict::Invalid {
            continue;
        }
        for (name, metric, value) in METRICS {
            let is_saturated = a.saturated || b.saturated;
            // What both kept up with is what was offered: it says nothing of either.
            let is_as_offered = a.at.is_some_and(procedure::Point::is_rate) && !is_saturated;
            let is_throughput = name == "ops_per_s";
            if (is_saturated && !is_throughput) || (is_as_offered && is_throughput) {
                continue;
            }
            let of = |p: &Point<'_>| p.used.iter().map(|t| value(t)).collect::<Vec<Known>>();
            let is_primary = primary == Some(index) && name == metric_of(a);
            let compared = analysis::compare_unpaired(&of(a), &of(b), metric);
            found.extend(compared.map(|seen| (*a, name, (seen, is_primary))));
        }
    }
    let flagged: Vec<(Comparison, bool)> = found.iter().map(|f| f.2.clone()).collect();
    let (judged, chances) = analysis::judge_all(&flagged);
    let records = found.iter().zip(judged).map(|((point, name, (compared, primary)), judged)| {
        ComparisonRecord {
            metric: (*name).into(),
            point: point.at,
            baseline: point.variant.clone(),
            contender: point.variant.clone(),
            ratio: compared.ratio,
            bound: compared.bound,
            ci95: compared.ci95(),
            ci95_end: compared.ci95_end(),
            verdict: judged.finding,
            primary: *primary,
            blocks: compared.blocks,
            blocks_planned: compared.blocks,
            p: judged.p,
            p_adjusted: judged.p_adjusted,
            could_see: judged.could_see,
            blocks_to_settle: judged.blocks_to_settle,
            between_runs: compared.between_runs,
            ..ComparisonRecord::default()
        }
    });
    let many = (chances.compared > 1).then_some(MultiplicityRecord {
        comparisons: chances.compared,
        primary: chances.primary,
        false_findings_one_by_one: chances.one_by_one,
        false_findings_expected: chances.expected,
    });
    (records.collect(), many)
}

/// What the question is about at a point: at a rate how long it took, else what was done.
fn metric_of(point: &Point<'_>) -> &'static str {
    if point.at.is_some_and(procedure::Point::is_rate) {
        "latency_ms.p99"
    } else {
        "ops_per_s"
    }
}

/// Where both runs together did most, of what both kept up with: their sum says nothing about their
/// difference, so that choosing by it favours no side.
fn primary(matched: &Matched<'_, '_>) -> Option<usize> {
    let fits = |(a, b): &(&Point<'_>, &Point<'_>)| {
        let usable = |p: &Point<'_>| p.verdict != Verdict::Invalid && !p.saturated;
        usable(a) && usable(b)
    };
    let together = |index: usize| {
        let (a, b) = matched[index];
        a.ops_per_s().ln() + b.ops_per_s().ln()
    };
    let candidates = (0..matched.len()).filter(|index| fits(&matched[*index]));
    candidates.max_by(|a, b| together(*a).total_cmp(&together(*b)))
}

/// How often each verdict was given for one metric, in words.
fn tally(comparisons: &[ComparisonRecord], metric: &str) -> String {
    let of: Vec<&ComparisonRecord> = comparisons.iter().filter(|c| c.metric == metric).collect();
    let mut parts = Vec::new();
    for (verdict, word) in [
        (Finding::LooksDifferent, "look different"),
        (Finding::Equivalent, "equivalent"),
        (Finding::Inconclusive, "inconclusive"),
    ] {
        let count = of.iter().filter(|c| c.verdict == verdict).count();
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

fn headline(
    baseline: &RunView,
    contender: &RunView,
    matched: &Matched<'_, '_>,
    comparisons: &[ComparisonRecord],
    many: Option<&MultiplicityRecord>,
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
                let of = |c: &&ComparisonRecord| c.metric == metric;
                let count = comparisons.iter().filter(of).count();
                answer.push(format!("{name}: {tally}, of {count} points compared."));
            }
        }
    }
    answer.extend(primary_sentence(comparisons, baseline));
    answer.extend(multiplicity(many));
    let verdict = |run: &RunView| Verdict::of(run.verdict);
    let worst = verdict(baseline).max(verdict(contender));
    let reasons = |run: &RunView, which: &str| -> Vec<String> {
        run.findings.reasons.iter().map(|r| format!("{which}: {r}")).collect()
    };
    Headline {
        lead: None,
        short_reasons: Vec::new(),
        next: None,
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
                  between them, the machine too, is in the ratio. One study with both as variants \
                  can decide what looks different here."
            .into(),
        reasons: [
            reasons(baseline, "baseline"),
            reasons(contender, "contender"),
        ]
        .concat(),
        figures: extremes(baseline, comparisons),
    }
}

/// The comparison that keeps its whole level, with what its interval allows for.
fn primary_sentence(comparisons: &[ComparisonRecord], run: &RunView) -> Option<String> {
    let c = comparisons.iter().find(|c| c.primary)?;
    let interval = interval_words(c)?;
    let sees = match c.could_see {
        Some(share) if c.verdict == Finding::Inconclusive && share < TENFOLD => {
            format!(
                "; a difference of {} would have been seen",
                number::percent(share)
            )
        }
        Some(_) if c.verdict == Finding::Inconclusive => {
            "; not even a tenfold difference would have been seen".to_owned()
        }
        _ => String::new(),
    };
    Some(format!(
        "Primary, {} of {} at {}: {} times the baseline's (95 % interval {interval}, which allows \
         for {} from run to run): {}{sees}.",
        metric_name(&c.metric),
        variant_name(&c.baseline, run),
        place(c.point),
        ratio_words(c),
        number::percent(c.between_runs.unwrap_or_default()),
        verdict_words(c.verdict),
    ))
}

/// The largest and the smallest ratio of throughput, of those that have an interval.
fn extremes(baseline: &RunView, comparisons: &[ComparisonRecord]) -> Vec<Figure> {
    let mut rates: Vec<&ComparisonRecord> = comparisons
        .iter()
        .filter(|c| c.metric == "ops_per_s" && c.ci95.is_some())
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
            place(c.point),
            verdict_words(c.verdict)
        );
        if let Some([low, high]) = c.ci95 {
            let (low, high) = (number::ratio(low), number::ratio(high));
            detail = format!("95 % interval {low} to {high} · {detail}");
        }
        Figure {
            label: format!("throughput, {label}"),
            value: number::ratio(c.ratio),
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
        // Baseline and contender are the runs here; the variant is the same on both sides.
        let mut table = comparison_table(comparisons, "Contender against baseline", |table| {
            table.text("Variant", |c| variant_name(&c.baseline, baseline))
        });
        table.foot = format!(
            "Runs one after the other differ by more than their blocks do: the interval allows for \
             a standard deviation of {} from run to run for throughput and {} for latency, or that \
             between the blocks if it is larger. “Looks different”: the interval lies beside 1; it \
             may be the machine. Inconclusive: it holds 1, or a side has one block only. “Sees” is \
             the smallest difference that four of five such comparisons would find. Invalid points \
             are not compared.",
            number::percent(Metric::THROUGHPUT.between_runs),
            number::percent(Metric::LATENCY.between_runs)
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
    let several = matched.iter().any(|(a, _)| a.variant != matched[0].0.variant);
    let name = |p: &Point<'_>| {
        let variant = several.then(|| format!("{}, ", variant_name(p.variant, baseline)));
        variant.unwrap_or_default() + &p.label()
    };
    let names: Vec<String> = matched.iter().map(|(a, _)| name(a)).collect();
    let mut series = Vec::new();
    for (index, run) in [baseline, contender].into_iter().enumerate() {
        let of: Vec<&Point<'_>> =
            matched.iter().map(|(a, b)| if index == 0 { *a } else { *b }).collect();
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
            group: String::new(),
            shape: Shape::Points,
            on_right: true,
            y: of.iter().map(|p| p.latency(run, ALL).map(|q| q.p99.least())).collect(),
            labels: bound_labels(&of, run, |q| q.p99),
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
            names,
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new("op/s", Scale::Linear),
            right: Some(Axis::new("p99 latency, ms", Scale::Log)),
            series,
            ..Panel::default()
        }],
        ..Chart::default()
    }
}

/// Points that stand in one run only.
fn unmatched(left: &[Point<'_>], right: &[Point<'_>], matched: &Matched<'_, '_>) -> Section {
    let list = |points: &[Point<'_>], which: &str| {
        let known =
            |p: &Point<'_>| matched.iter().any(|(a, _)| a.variant == p.variant && a.at == p.at);
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
    let mut all: BTreeMap<String, String> = flatten(&json!(run.plan.resolved))
        .into_iter()
        .map(|(key, value)| (format!("study: {key}"), value))
        .collect();
    all.insert("cassay".into(), run.plan.cassay.clone());
    all.insert("seed".into(), run.plan.seed.to_string());
    all.insert(
        "scale".into(),
        run.plan.scale.clone().unwrap_or_else(|| "as written".into()),
    );
    for (name, value) in &run.facts {
        all.insert(format!("machine: {name}"), value.clone());
    }
    let told = effective::is_known(run);
    for node in &run.nodes {
        for (name, value) in &node.facts {
            all.insert(format!("{}: {name}", node.name), value.clone());
        }
        // Of what was asked trial by trial there is a better record.
        let settings = if told { None } else { Some(&node.settings) };
        for (name, value) in settings.into_iter().flatten() {
            all.insert(format!("{} setting: {name}", node.name), value.clone());
        }
    }
    all.extend(effective::summary(run));
    all
}

fn difference_maps(a: &RunView, b: &RunView) -> BTreeMap<String, [Option<String>; 2]> {
    let (a, b) = (properties(a), properties(b));
    let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let both = |key: &String| [a.get(key).cloned(), b.get(key).cloned()];
    let differs = |key: &&String| a.get(*key) != b.get(*key);
    keys.into_iter().filter(differs).map(|key| (key.clone(), both(key))).collect()
}

fn differences(baseline: &RunView, contender: &RunView) -> Section {
    let both = [properties(baseline), properties(contender)];
    let table = difference_table("What", &["Baseline", "Contender"], &both);
    let same = "Study, versions, settings and machine are the same.";
    let block = table.map_or_else(|| Block::Text(same.into()), Block::Table);
    Section {
        id: "differences",
        title: "What differs between the runs".into(),
        lead: String::new(),
        blocks: vec![block],
    }
}
