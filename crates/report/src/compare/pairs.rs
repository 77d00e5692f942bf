//! Matches the points of each contender with those of the baseline, and compares them.

use crate::merged_points::Point;
use crate::page::Verdict;
use crate::run_view::RunView;
use analysis::{Comparison, Metric, procedure};
use measure::Known;
use store::record::{ComparisonRecord, CostComparisonRecord, MultiplicityRecord, TrialFinding};

pub(super) struct Pair<'p, 'a> {
    pub(super) run: &'a RunView,
    /// Index of the run on the page. The baseline has the index 0.
    pub(super) index: usize,
    pub(super) points: &'p [Point<'a>],
    pub(super) matched: MatchedPoints<'p, 'a>,
    pub(super) comparisons: Vec<ComparisonRecord>,
    /// Costs of the contender, compared with the costs of the baseline. The list is empty until
    /// `compare_all` sets it.
    pub(super) costs: Vec<CostComparisonRecord>,
}

/// Compares every contender with the baseline, which is the first run. Also returns the expected
/// number of false findings in all comparisons together. This number is `None` if fewer than two
/// comparisons have an interval.
pub(super) fn pairs<'p, 'a>(
    runs: &[&'a RunView],
    points: &'p [Vec<Point<'a>>],
) -> (Vec<Pair<'p, 'a>>, Option<MultiplicityRecord>) {
    let (Some(baseline), contenders) =
        (points.first(), points.iter().zip(runs).enumerate().skip(1))
    else {
        return (Vec::new(), None);
    };
    let mut pairs = Vec::new();
    for (index, (own, run)) in contenders {
        let matched = matched(baseline, own);
        pairs.push(Pair {
            run,
            index,
            points: own,
            costs: Vec::new(),
            matched,
            comparisons: Vec::new(),
        });
    }
    let many = judge(&mut pairs);
    (pairs, many)
}

/// Pairs of points of the baseline and of a contender. Both points of a pair have the same variant
/// and the same position.
pub(super) type MatchedPoints<'p, 'a> = Vec<(&'p Point<'a>, &'p Point<'a>)>;

fn matched<'p, 'a>(left: &'p [Point<'a>], right: &'p [Point<'a>]) -> MatchedPoints<'p, 'a> {
    let same = |a: &Point<'_>, b: &Point<'_>| a.variant == b.variant && a.at == b.at;
    let pair = |a: &'p Point<'a>| Some((a, right.iter().find(|b| same(a, b))?));
    left.iter().filter_map(pair).collect()
}

/// A metric to compare: its name in records, its margins, and the function that returns its value
/// for a trial.
type ComparedMetric = (&'static str, Metric, fn(&TrialFinding) -> Known);

const METRICS: [ComparedMetric; 4] = [
    ("ops_per_s", Metric::THROUGHPUT, |t| {
        Known::Exactly(t.all.ops_per_s)
    }),
    ("latency_ms.p50", Metric::LATENCY, |t| t.all.latency_ms.p50),
    ("latency_ms.p99", Metric::LATENCY, |t| t.all.latency_ms.p99),
    ("latency_ms.p999", Metric::LATENCY, |t| {
        t.all.latency_ms.p999
    }),
];

/// A comparison at one point, before [`judge`] judges all comparisons together.
struct SeenComparison {
    pair: usize,
    metric: &'static str,
    variant: analysis::VariantName,
    at: Option<procedure::Point>,
    compared: Comparison,
    is_primary: bool,
}

/// Compares the matched points of one contender. One block is one observation, and the blocks of
/// two runs are not paired. Omits invalid points. Omits latencies of saturated points, because they
/// depend on the length of the trial. Also omits pairs of lower bounds, because they have no ratio.
fn compare_points(pair: usize, matched: &MatchedPoints<'_, '_>) -> Vec<SeenComparison> {
    let primary = primary(matched);
    let mut found = Vec::new();
    for (index, (a, b)) in matched.iter().enumerate() {
        if a.verdict == Verdict::Invalid || b.verdict == Verdict::Invalid {
            continue;
        }
        for (metric, how, value) in METRICS {
            let is_saturated = a.saturated || b.saturated;
            // If both runs kept up with the offered rate, their throughput equals this rate. A
            // comparison of throughput would then show nothing.
            let is_as_offered = a.at.is_some_and(procedure::Point::is_rate) && !is_saturated;
            let is_throughput = metric == "ops_per_s";
            if (is_saturated && !is_throughput) || (is_as_offered && is_throughput) {
                continue;
            }
            let of = |p: &Point<'_>| p.used.iter().map(|t| value(t)).collect::<Vec<Known>>();
            let compared = analysis::compare_unpaired(&of(a), &of(b), how);
            found.extend(compared.map(|compared| SeenComparison {
                pair,
                metric,
                variant: a.variant.clone(),
                at: a.at,
                compared,
                is_primary: primary == Some(index) && metric == metric_of(a),
            }));
        }
    }
    found
}

/// Judges the comparisons of all contenders together, and adds them to `pairs`. Returns the
/// expected number of false findings, or `None` if fewer than two comparisons have an interval.
fn judge(pairs: &mut [Pair<'_, '_>]) -> Option<MultiplicityRecord> {
    let each = pairs.iter().enumerate();
    let found: Vec<SeenComparison> =
        each.flat_map(|(pair, one)| compare_points(pair, &one.matched)).collect();
    let flagged: Vec<(Comparison, bool)> =
        found.iter().map(|one| (one.compared.clone(), one.is_primary)).collect();
    let (judged, chances) = analysis::judge_all(&flagged);
    for (one, judged) in found.into_iter().zip(judged) {
        let compared = one.compared;
        pairs[one.pair].comparisons.push(ComparisonRecord {
            metric: one.metric.into(),
            point: one.at,
            baseline: one.variant.clone(),
            contender: one.variant,
            ratio: compared.ratio,
            bound: compared.bound,
            ci95: compared.ci95(),
            ci95_end: compared.ci95_end(),
            verdict: judged.finding,
            primary: one.is_primary,
            blocks: compared.blocks,
            blocks_planned: compared.blocks,
            p: judged.p,
            p_adjusted: judged.p_adjusted,
            could_see: judged.could_see,
            blocks_to_settle: judged.blocks_to_settle,
            between_runs: compared.between_runs,
            ..ComparisonRecord::default()
        });
    }
    (chances.compared > 1).then_some(MultiplicityRecord {
        comparisons: chances.compared,
        primary: chances.primary,
        false_findings_one_by_one: chances.one_by_one,
        false_findings_expected: chances.expected,
    })
}

/// Returns the name of the primary metric at a point.
pub(super) fn metric_of(point: &Point<'_>) -> &'static str {
    if point.at.is_some_and(procedure::Point::is_rate) {
        "latency_ms.p99"
    } else {
        "ops_per_s"
    }
}

/// Returns the index of the primary pair of points. This pair has the highest product of
/// throughputs among the pairs in which no point is invalid or saturated. The product treats both
/// runs alike, so the choice favours neither run.
pub(super) fn primary(matched: &MatchedPoints<'_, '_>) -> Option<usize> {
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
