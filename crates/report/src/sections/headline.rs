//! The top of a page, with question, answer, verdict and key numbers.

mod invalid_reasons;

pub use invalid_reasons::cause;

use crate::merged_points::{
    ALL, Point, axis_value, best, compared_value, is_kept_up, is_searched, most_different_cost,
    variant_name, variants,
};
use crate::number;
use crate::page::{Figure, Headline, NextStep, Verdict};
use crate::run_view::RunView;
use crate::sections::comparisons::{interval_words, ratio_words, verdict_words};
use crate::sections::lead_figure;
use crate::sections::results::metric_name;
use crate::sections::search;
use store::record::RequirementOutcome;
use store::record::{
    ComparisonRecord, CostComparisonRecord, CostKind, Finding, NextStepRecord, SearchRangeRecord,
    SearchRecord, TrialFinding, outcome_of,
};

pub fn headline(view: &RunView, points: &[Point<'_>]) -> Headline {
    let verdict = Verdict::from_record(view.verdict);
    let answer = if view.findings.answer.is_empty() {
        derived_answer(view, points)
    } else {
        view.findings.answer.clone()
    };
    Headline {
        study: view.plan.study.clone(),
        facts: facts(view),
        question: view.plan.question.clone(),
        lead: lead_figure::figure(view, points),
        alarms: view.findings.alarms.clone(),
        answer,
        verdict,
        is_missed: outcome_of(&view.findings.requirements) == Some(RequirementOutcome::Missed),
        meaning: meaning(view, verdict),
        short_reasons: invalid_reasons::short(view),
        reasons: view.findings.reasons.clone(),
        figures: figures(view, points),
        next: view.findings.next.as_ref().map(next_step),
    }
}

fn next_step(next: &NextStepRecord) -> NextStep {
    let about = next.seconds.map_or(String::new(), |seconds| {
        format!(" (about {})", number::duration(seconds))
    });
    NextStep {
        says: format!("{}{about}", next.says),
        command: next.command.clone(),
    }
}

fn meaning(view: &RunView, verdict: Verdict) -> String {
    match verdict {
        Verdict::Valid => "All validity rules that cassay could evaluate passed.".into(),
        Verdict::Suspect => {
            "The numbers are usable, but read the reasons before relying on them.".into()
        }
        Verdict::Invalid => invalid_sentence(view),
        Verdict::Unknown => "The run has no verdict, so it may not have finished.".into(),
    }
}

fn invalid_sentence(view: &RunView) -> String {
    let trials = &view.findings.trials;
    let is_invalid =
        |trial: &&TrialFinding| Verdict::from_record(Some(trial.verdict)) == Verdict::Invalid;
    let invalid = trials.iter().filter(is_invalid).count();
    let of_all = measure::number::counted(trials.len(), "trial");
    let has_range = view.findings.searches.iter().any(|search| search.range.is_some());
    let what = if has_range {
        "use the range only as a rough estimate"
    } else if invalid == trials.len() {
        "use their numbers only as a rough estimate, because no conclusion uses them"
    } else {
        "the report shows their numbers, but no conclusion uses them"
    };
    match invalid {
        0 => "The run is incomplete: read the reasons.".into(),
        _ => format!("{invalid} of {of_all} broke a rule: {what}."),
    }
}

fn facts(view: &RunView) -> Vec<(String, String)> {
    let mut facts = vec![("Run".to_string(), view.name.clone())];
    let seconds = run_seconds(view);
    if let Some(seconds) = seconds {
        facts.push(("Took".into(), number::duration(seconds)));
    }
    if let Some(used) = &view.findings.time_use {
        facts.push((
            "Measured".into(),
            format!("{} of it", number::percent(used.measured_share)),
        ));
    }
    let done = view.findings.trials.len();
    let planned = view.plan.trials.len();
    let trials = if done == planned {
        number::count(done as u64)
    } else {
        format!("{done} of {planned}")
    };
    facts.push(("Trials".into(), trials));
    if let Some(outcome) = outcome_of(&view.findings.requirements) {
        facts.push(("Requirements".into(), outcome.name().into()));
    }
    facts.extend(view.plan.scale.clone().map(|scale| ("Scale".into(), scale)));
    facts.push(("cassay".into(), view.plan.cassay.clone()));
    facts
}

fn run_seconds(view: &RunView) -> Option<f64> {
    let first = view.journal.first()?.unix_ns;
    let last = view.journal.last()?.unix_ns;
    Some(last.checked_sub(first)? as f64 / 1e9)
}

/// Returns the p99 latency in ms, preceded by `≥` if the value is a lower bound.
fn p99(view: &RunView, point: &Point<'_>) -> Option<String> {
    Some(number::known_ms(point.latency(view, ALL)?.p99))
}

/// Returns the best point of each variant, for a run whose findings contain no sentences.
fn derived_answer(view: &RunView, points: &[Point<'_>]) -> Vec<String> {
    let mut answer = Vec::new();
    for (index, variant) in variants(view).into_iter().enumerate() {
        let name = variant_name(variant, view);
        let Some(point) = best(view, points, index) else {
            answer.push(format!("{name}: no trial is usable."));
            continue;
        };
        let error = number::relative_error(point.ops_per_s(), point.ops_per_s_ci95());
        let p99 = p99(view, point);
        answer.push(format!(
            "{name} achieved at most {} op/s{}{error} at {}, with a p99 latency of {} ms.",
            number::rate(point.ops_per_s()),
            if error.is_empty() { "" } else { " " },
            point.label(),
            p99.unwrap_or_else(|| number::ABSENT.into()),
        ));
    }
    answer.extend(strongest(view).map(|c| comparison_sentence(c, view)));
    answer
}

/// Returns the primary comparison. Without one, returns the comparison of throughput whose ratio is
/// furthest from 1, and prefers decided comparisons.
fn strongest(view: &RunView) -> Option<&ComparisonRecord> {
    let weight = |c: &ComparisonRecord| (c.verdict != Finding::Inconclusive, c.ratio.ln().abs());
    let order = |a: &&ComparisonRecord, b: &&ComparisonRecord| {
        let (a, b) = (weight(a), weight(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    let all = &view.findings.comparisons;
    let names_one = all.iter().any(|c| c.primary);
    all.iter()
        .filter(|c| c.primary || (!names_one && c.metric == "ops_per_s"))
        .filter(|c| c.ratio > 0.0 && interval_words(c).is_some())
        .max_by(order)
}

fn comparison_sentence(c: &ComparisonRecord, view: &RunView) -> String {
    let ci = match interval_words(c) {
        Some(interval) => format!(" (95 % interval {interval})"),
        None => " (no interval: too few blocks)".into(),
    };
    format!(
        "At {}, {} has {} times the {} of {}{ci}: {}.",
        crate::merged_points::place(c.point),
        variant_name(&c.contender, view),
        ratio_words(c),
        metric_name(&c.metric),
        variant_name(&c.baseline, view),
        verdict_words(c.verdict),
    )
}

fn short_metric(metric: &str) -> &str {
    if metric == "ops_per_s" {
        "throughput"
    } else {
        metric.rsplit('.').next().unwrap_or(metric)
    }
}

/// Maximum number of cards on the first screen, which should show only a few numbers.
const CARDS_MAX: usize = 4;

/// Returns the key numbers. If the cards cannot show all variants, an arbitrary choice would
/// mislead, so the cards show the ratios that have published counterparts, or the best variant.
fn figures(view: &RunView, points: &[Point<'_>]) -> Vec<Figure> {
    let names = variants(view);
    let bests = (0..names.len()).filter_map(|index| best(view, points, index));
    let tile = |point: &Point<'_>| {
        if is_kept_up(view, point) {
            latency_tile(view, point)
        } else {
            rate_tile(view, point)
        }
    };
    let ranges: Vec<Figure> = view
        .findings
        .searches
        .iter()
        .filter_map(|search| Some(range_tile(view, search, search.range?)))
        .take(CARDS_MAX)
        .collect();
    let mut figures: Vec<Figure> = if !ranges.is_empty() {
        ranges
    } else if names.len() <= CARDS_MAX {
        bests.map(tile).collect()
    } else {
        let ratios = published_tiles(view);
        if !ratios.is_empty() {
            return ratios;
        }
        best_tile(view, &bests.collect::<Vec<_>>()).into_iter().collect()
    };
    figures.extend(
        strongest(view).filter(|c| says_something(c)).map(|c| Figure {
            label: format!(
                "{} ÷ {}, {}",
                variant_name(&c.contender, view),
                variant_name(&c.baseline, view),
                short_metric(&c.metric)
            ),
            value: ratio_words(c),
            unit: "×".into(),
            detail: match interval_words(c) {
                Some(interval) => format!(
                    "95 % interval {interval} · {} · {}",
                    crate::merged_points::place(c.point),
                    verdict_words(c.verdict)
                ),
                None => crate::merged_points::place(c.point),
            },
            variant: None,
        }),
    );
    figures.extend(cost_tiles(view));
    figures
}

/// Returns true if the interval of a ratio is at most a factor of ten from 1 at both ends.
fn says_something(comparison: &ComparisonRecord) -> bool {
    let tenfold = 1.0 + analysis::TENFOLD;
    comparison
        .ci95
        .is_none_or(|[low, high]| low >= 1.0 / tenfold && high <= tenfold)
}

/// Costs that a comparison of two variants always shows.
const COSTS_SHOWN: [CostKind; 2] = [CostKind::DiskSpace, CostKind::ServerCpu];

/// Returns the ratio of the cost that differs most. For two variants, also returns the ratios of
/// disk space and CPU time.
fn cost_tiles(view: &RunView) -> Vec<Figure> {
    let all = &view.findings.cost_comparisons;
    let weight = |one: &CostComparisonRecord| (one.differs, one.ratio.ln().abs());
    let of_kind = |kind: CostKind| {
        let records = all.iter().filter(move |one| one.cost == kind);
        records.max_by(|a, b| {
            let (a, b) = (weight(a), weight(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        })
    };
    let mut shown: Vec<&CostComparisonRecord> = Vec::new();
    if variants(view).len() == 2 {
        shown.extend(COSTS_SHOWN.into_iter().filter_map(of_kind));
    }
    let most = most_different_cost(view);
    shown.extend(most.filter(|most| shown.iter().all(|one| one.cost != most.cost)));
    shown.into_iter().map(|cost| cost_tile(view, cost)).collect()
}

fn cost_tile(view: &RunView, cost: &CostComparisonRecord) -> Figure {
    let interval = cost.ci95.map(|ends| format!("95 % interval {}", number::range(ends)));
    let equal = (!cost.differs).then(|| "no difference shown".to_owned());
    let detail: Vec<String> = interval.into_iter().chain(equal).collect();
    Figure {
        label: format!(
            "{} ÷ {}, {}",
            variant_name(&cost.contender, view),
            variant_name(&cost.baseline, view),
            cost.cost.words()
        ),
        value: number::short(cost.ratio, 3),
        unit: "×".into(),
        detail: detail.join(" · "),
        variant: None,
    }
}

/// Returns the range that contains the highest load, if a search did not find that load with
/// certainty.
fn range_tile(view: &RunView, search: &SearchRecord, range: SearchRangeRecord) -> Figure {
    let ends = [range.at_least, range.below].map(|end| end.map(|end| axis_value(end.value())));
    let unit = match range.at_least.or(range.below) {
        Some(analysis::procedure::Point::Threads(_)) => "threads",
        _ => "op/s",
    };
    let block = search::block_of(&view.findings.searches, search);
    let block = block.map(|block| format!(", {block}")).unwrap_or_default();
    let name = variant_name(&search.variant, view);
    Figure {
        label: format!("{name}, {}{block}", search.goal),
        value: match ends {
            [Some(low), Some(high)] => format!("{low} to {high}"),
            [Some(low), None] => format!("≥ {low}"),
            [None, Some(high)] => format!("< {high}"),
            [None, None] => number::ABSENT.into(),
        },
        unit: unit.into(),
        detail: format!("{} of {} trials", range.kept, range.trials),
        variant: variants(view).iter().position(|name| **name == search.variant),
    }
}

/// Returns the best of many variants, by throughput. If all variants kept up with their rates,
/// compares the variants by latency instead.
fn best_tile(view: &RunView, bests: &[&Point<'_>]) -> Option<Figure> {
    let count = bests.len();
    let p99 = |point: &Point<'_>| point.latency(view, ALL).map_or(f64::MAX, |l| l.p99.least());
    let (mut tile, which) = if bests.iter().all(|point| is_kept_up(view, point)) {
        let lowest = bests.iter().min_by(|a, b| p99(a).total_cmp(&p99(b)))?;
        (latency_tile(view, lowest), "the lowest")
    } else {
        let most = bests.iter().max_by(|a, b| a.ops_per_s().total_cmp(&b.ops_per_s()))?;
        (rate_tile(view, most), "the most")
    };
    tile.detail = format!("{which} of {count} variants · {}", tile.detail);
    Some(tile)
}

fn published_tiles(view: &RunView) -> Vec<Figure> {
    let ratios = view.findings.published.iter().flat_map(|published| &published.ratios);
    let tile = |ratio: &store::record::PublishedRatioRecord| {
        let ours = ratio.ci95.map(|ci95| format!("95 %: {}", number::range(ci95)));
        let theirs = Some(format!("published: {}", number::range(ratio.published)));
        Some(Figure {
            label: ratio.what.clone(),
            value: number::short(ratio.ours?, 3),
            unit: "×".into(),
            detail: [ours, theirs].into_iter().flatten().collect::<Vec<_>>().join(" · "),
            variant: None,
        })
    };
    ratios.filter_map(tile).take(CARDS_MAX + 1).collect()
}

/// Text on a card that names the kind of mean. A card contains this text if a ratio with an
/// interval is the quotient of two such means.
const BY_BLOCKS: &str = "geometric mean of blocks";

fn latency_tile(view: &RunView, point: &Point<'_>) -> Figure {
    let known = point.latency(view, ALL);
    let ends = known.and_then(|known| known.ci95.get("p99"));
    let compared = compared_value(view, point, "latency_ms.p99");
    let mut detail = vec![format!("kept up with {}", point.label())];
    if compared.is_some() {
        detail.push(BY_BLOCKS.into());
    }
    detail.extend(
        ends.map(|[low, high]| format!("95 %: {} to {}", number::ms(*low), number::ms(*high))),
    );
    Figure {
        label: format!("{}, p99 latency", variant_name(point.variant, view)),
        value: compared
            .map(number::ms)
            .or_else(|| p99(view, point))
            .unwrap_or_else(|| number::ABSENT.into()),
        unit: "ms".into(),
        detail: detail.join(" · "),
        variant: Some(point.variant_index),
    }
}

fn rate_tile(view: &RunView, point: &Point<'_>) -> Figure {
    let compared = compared_value(view, point, "ops_per_s");
    let mut detail = vec![error_of(point, compared), format!("at {}", point.label())];
    if compared.is_some() {
        detail.push(BY_BLOCKS.into());
    }
    if point.saturated {
        detail.push("saturated".into());
    }
    let p99 = compared_value(view, point, "latency_ms.p99")
        .map(number::ms)
        .or_else(|| p99(view, point));
    detail.extend(p99.map(|p99| format!("p99 {p99} ms")));
    detail.retain(|part| !part.is_empty());
    let findings = &view.findings;
    let is_bound = |sweep: &store::record::SweepRecord| {
        sweep.variant == *point.variant && sweep.best_within_bound.is_some()
    };
    let is_of_variant = |other: &&store::record::PointRecord| other.variant == *point.variant;
    let has_several_points = findings.points.iter().filter(is_of_variant).nth(1).is_some();
    let what = if is_searched(view, point) {
        "result of the search"
    } else if findings.sweeps.iter().any(is_bound) {
        "highest within the limit"
    } else if has_several_points {
        "most throughput"
    } else {
        "throughput"
    };
    Figure {
        label: format!("{}, {what}", variant_name(point.variant, view)),
        value: number::rate(compared.unwrap_or_else(|| point.ops_per_s())),
        unit: "op/s".into(),
        detail: detail.join(" · "),
        variant: Some(point.variant_index),
    }
}

/// Returns the relative half-width of the throughput's interval, with a remark if needed. If the
/// interval is wide, returns its two ends instead, scaled to `compared`, the geometric mean of the
/// blocks.
fn error_of(point: &Point<'_>, compared: Option<f64>) -> String {
    let (value, ci95) = (point.ops_per_s(), point.ops_per_s_ci95());
    if let Some(ends) = measure::number::wide_ends(value, ci95, compared) {
        let [low, high] = ends.map(number::rate);
        return format!("between {low} and {high}");
    }
    let error = number::relative_error(value, ci95);
    if error.is_empty() {
        error
    } else if point.is_short_window() {
        error + " (short window)"
    } else if point.interval_labels().contains(&"few incidents") {
        error + " (few incidents)"
    } else {
        error
    }
}
