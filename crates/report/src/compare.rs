//! Compares runs with the first run, which is the baseline. The comparison matches the points of
//! the runs, computes ratios with confidence intervals, and lists other differences.
//!
//! The runs were not interleaved, so the machine may have changed between two runs. The confidence
//! intervals therefore include the variation from run to run. For the same reason, the strongest
//! verdict on a difference is “looks different”.

mod costs;
mod differences;
mod figure;
mod pairs;
mod results;
mod side;

pub use side::Side;

use crate::merged_points::{Point, place, points, variant_name};
use crate::number;
use crate::page::{Figure, Fold, Headline, Page, Section, Verdict};
use crate::run_view::RunView;
use crate::sections::comparisons::{interval_words, multiplicity, ratio_words, verdict_words};
use crate::sections::results::metric_name;
use analysis::TENFOLD;
use pairs::Pair;
use serde_json::{Value, json};
use store::record::{ComparisonRecord, Finding, MultiplicityRecord};

pub fn compare(baseline: &RunView, contender: &RunView) -> Page {
    let side = |run| Side { run, link: None };
    compare_all(&[side(baseline), side(contender)])
}

/// Builds the page that compares every further run with the first run. `sides` must contain at
/// least two runs.
pub fn compare_all(sides: &[Side<'_>]) -> Page {
    let runs: Vec<&RunView> = sides.iter().map(|side| side.run).collect();
    let all: Vec<Vec<Point<'_>>> = runs.iter().map(|run| points(run)).collect();
    let (mut pairs, many) = pairs::pairs(&runs, &all);
    for pair in &mut pairs {
        pair.costs = costs::compared(&pair.matched);
    }
    let is_said = |section: &Section| !section.blocks.is_empty();
    let compared = [
        results::results(sides, &all[0], &pairs),
        costs::section(runs[0], &pairs),
        differences::unmatched(sides, &all[0], &pairs),
    ];
    let setup = [differences::differences(sides), differences::runs(sides)];
    let folds = [
        Fold::with_sections(
            "compared",
            "Evidence",
            true,
            compared.map(|part| Some(part).filter(is_said)),
        ),
        Fold::with_sections(
            "differs",
            "Set-up",
            true,
            setup.map(|part| Some(part).filter(is_said)),
        ),
    ];
    let names: Vec<&str> = runs[1..].iter().map(|run| run.name.as_str()).collect();
    Page {
        title: format!("{} against {}", names.join(" and "), runs[0].name),
        headline: Headline {
            lead: figure::figure(sides, &all[0], &pairs),
            ..headline(&runs, &pairs, many.as_ref())
        },
        folds: folds.into_iter().flatten().collect(),
        data: data(runs[0], &pairs, many.as_ref()),
    }
}

/// Returns the data for `--json`. For two runs, the top-level object contains the comparison
/// itself. For more runs, the key `contenders` contains a list of comparisons.
fn data(baseline: &RunView, pairs: &[Pair<'_, '_>], many: Option<&MultiplicityRecord>) -> Value {
    let of = |pair: &Pair<'_, '_>| {
        json!({
            "contender": pair.run.name,
            "comparisons": pair.comparisons,
            "cost_comparisons": pair.costs,
            "differences": differences::difference_maps(baseline, pair.run),
        })
    };
    let mut data = json!({"format": store::record::FORMAT, "baseline": baseline.name});
    match (pairs, &mut data) {
        ([one], Value::Object(map)) => {
            if let Value::Object(own) = of(one) {
                map.extend(own);
            }
        }
        (more, data) => data["contenders"] = more.iter().map(of).collect(),
    }
    data["multiplicity"] = json!(many);
    data
}

fn tally(comparisons: &[ComparisonRecord], metric: &str) -> String {
    let of: Vec<&ComparisonRecord> = comparisons.iter().filter(|c| c.metric == metric).collect();
    let mut parts = Vec::new();
    for (verdict, one, many) in [
        (Finding::LooksDifferent, "looks different", "look different"),
        (Finding::Equivalent, "equivalent", "equivalent"),
        (
            Finding::Inconclusive,
            "these runs cannot show a difference",
            "inconclusive",
        ),
    ] {
        match of.iter().filter(|c| c.verdict == verdict).count() {
            0 => {}
            1 if of.len() == 1 => parts.push(one.to_owned()),
            count => parts.push(format!("{count} {many}")),
        }
    }
    parts.join(", ")
}

fn headline(
    runs: &[&RunView],
    pairs: &[Pair<'_, '_>],
    many: Option<&MultiplicityRecord>,
) -> Headline {
    let baseline = runs[0];
    let alarms: Vec<String> = runs.iter().flat_map(|run| alarms(run)).collect();
    let compared = pairs.iter().flat_map(|pair| sentences(baseline, pair, pairs.len() > 1));
    let mut answer: Vec<String> = alarms.iter().cloned().chain(compared).collect();
    answer.extend(multiplicity(many));
    let verdicts = runs.iter().map(|run| Verdict::from_record(run.verdict));
    let mut reasons = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let which = match index {
            0 => "baseline",
            _ if runs.len() == 2 => "contender",
            _ => &run.name,
        };
        reasons.extend(run.findings.reasons.iter().map(|r| format!("{which}: {r}")));
    }
    let mut studies: Vec<&str> = runs.iter().map(|run| run.plan.study.as_str()).collect();
    if runs.len() > 2 {
        studies.dedup();
    }
    let names: Vec<&str> = pairs.iter().map(|pair| pair.run.name.as_str()).collect();
    Headline {
        lead: None,
        short_reasons: Vec::new(),
        next: None,
        study: studies.join(" and "),
        facts: facts(baseline, pairs),
        question: if names.len() == 1 {
            format!("How does {} differ from {}?", names[0], baseline.name)
        } else {
            format!(
                "How do {} differ from {}?",
                names.join(" and "),
                baseline.name
            )
        },
        alarms,
        answer,
        is_missed: false,
        verdict: verdicts.max().unwrap_or(Verdict::Unknown),
        meaning: format!(
            "This is the worse verdict of the {}. The runs were not interleaved, so the ratio also \
             includes every other change between them, such as a change of the machine. One study \
             with {} as variants can decide whether a difference is real.",
            if runs.len() == 2 { "two runs" } else { "runs" },
            if runs.len() == 2 { "both" } else { "all" },
        ),
        reasons,
        figures: match pairs {
            [one] => extremes(baseline, &one.comparisons),
            _ => Vec::new(),
        },
    }
}

fn alarms(run: &RunView) -> impl Iterator<Item = String> {
    run.findings.alarms.iter().map(|sentence| format!("{}: {sentence}", run.name))
}

fn facts(baseline: &RunView, pairs: &[Pair<'_, '_>]) -> Vec<(String, String)> {
    let mut facts = vec![("Baseline".to_owned(), baseline.name.clone())];
    facts.extend(pairs.iter().map(|pair| ("Contender".to_owned(), pair.run.name.clone())));
    let common = |pair: &Pair<'_, '_>| pair.matched.len().to_string();
    facts.push((
        "Points in common".into(),
        pairs.iter().map(common).collect::<Vec<_>>().join(", "),
    ));
    facts
}

/// Returns the sentences that compare one contender with the baseline. If `is_named` is true, joins
/// them into a single paragraph that begins with the name of the contender.
fn sentences(baseline: &RunView, pair: &Pair<'_, '_>, is_named: bool) -> Vec<String> {
    let mut said = Vec::new();
    if pair.matched.is_empty() {
        said.push("The runs have no point in common.".to_string());
    }
    // In the paragraph of a named contender, the primary comparison comes first, because it is
    // judged at the full error level.
    if is_named {
        said.extend(primary_sentence(&pair.comparisons, baseline));
    }
    let metrics = [
        ("ops_per_s", "Throughput"),
        ("latency_ms.p99", "p99 latency"),
    ];
    for (metric, name) in metrics {
        let tally = tally(&pair.comparisons, metric);
        if !tally.is_empty() {
            let of = |c: &&ComparisonRecord| c.metric == metric;
            let count = pair.comparisons.iter().filter(of).count();
            said.push(match count {
                1 => format!("{name}: {tally}."),
                _ => format!("{name} at {count} points: {tally}."),
            });
        }
    }
    if !is_named {
        said.extend(primary_sentence(&pair.comparisons, baseline));
        return said;
    }
    vec![format!("{}: {}", pair.run.name, said.join(" "))]
}

/// Returns a sentence on the primary comparison, with its interval. Returns `None` if no primary
/// comparison exists, or if it has no interval.
fn primary_sentence(comparisons: &[ComparisonRecord], run: &RunView) -> Option<String> {
    let c = comparisons.iter().find(|c| c.primary)?;
    let interval = interval_words(c)?;
    let sees = match c.could_see {
        Some(share) if c.verdict == Finding::Inconclusive && share < TENFOLD => {
            format!(
                "; these runs would have detected a difference of {}",
                number::percent(share)
            )
        }
        Some(_) if c.verdict == Finding::Inconclusive => {
            "; these runs would not have detected even a tenfold difference".to_owned()
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

/// Returns the highest and the lowest ratio of throughput as key numbers. Omits comparisons without
/// an interval.
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
