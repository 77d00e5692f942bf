//! Compares published ratios with measured ratios. A published ratio has no interval, so cassay
//! only states whether the ratio is within the measured interval.

use analysis::{Metric, VariantName, autocorrelation, compare_paired};
use measure::Known;
use std::collections::BTreeMap;
use store::record::{
    PointRecord, PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord,
    PublishedRecord, QuantilesRecord, SearchRecord, TrialFinding,
};
use study::settings::Study;
use study::settings::{Failure, Figure, PublishedFile, Ratio};

/// Measured values of a variant, from which ratios are computed.
struct VariantMeasurement<'a> {
    ops_per_s: f64,
    /// Throughput of each block, in op/s.
    ops_per_s_blocks: Vec<f64>,
    /// Latencies, merged over all blocks. A variant with searches has one entry for each search,
    /// because searches end at different points.
    latency_ms: Vec<&'a QuantilesRecord>,
    latency_ms_blocks: Vec<&'a QuantilesRecord>,
}

const LATENCY: &str = "latency_ms.";

impl VariantMeasurement<'_> {
    /// Returns the value of the metric in each block. Returns `None` if the value is unknown or
    /// only a bound in at least one block.
    fn blocks(&self, metric: &str) -> Option<Vec<f64>> {
        match metric.strip_prefix(LATENCY) {
            None => (metric == "ops_per_s").then(|| self.ops_per_s_blocks.clone()),
            Some(name) => {
                let blocks = self.latency_ms_blocks.iter();
                blocks.map(|latency| exactly(latency, name)).collect()
            }
        }
    }
}

/// Returns a figure of the latency in ms. Returns `None` if it is only a lower bound, from which no
/// ratio can be computed.
fn exactly(latency: &QuantilesRecord, name: &str) -> Option<f64> {
    match latency.figure(name)? {
        Known::Exactly(ms) if ms > 0.0 => Some(ms),
        _ => None,
    }
}

/// Returns the ratio `of` ÷ `to` of the values of two variants or points, given by block. The ratio
/// has an interval if the blocks are pairs.
fn by_blocks(metric: &str, of: &[f64], to: &[f64]) -> Option<(f64, Option<[f64; 2]>)> {
    let margins = if metric.starts_with(LATENCY) {
        Metric::LATENCY
    } else {
        Metric::THROUGHPUT
    };
    let pairs: Vec<(f64, f64)> = to.iter().copied().zip(of.iter().copied()).collect();
    let compared = compare_paired(&pairs, margins)
        .ok()
        .filter(|_| of.len() == to.len() && !of.is_empty());
    compared.map(|compared| (compared.ratio, compared.ci95()))
}

/// Returns the published figures next to the measured figures. Returns `None` if the study does not
/// name a file of published figures.
pub fn published(
    study: &Study,
    trials: &[TrialFinding],
    points: &[PointRecord],
    searches: &[SearchRecord],
) -> Option<PublishedRecord> {
    let (_, published) = study.published.as_ref()?;
    Some(beside(published, trials, points, searches))
}

fn beside(
    published: &PublishedFile,
    trials: &[TrialFinding],
    points: &[PointRecord],
    searches: &[SearchRecord],
) -> PublishedRecord {
    let place = |variant: &VariantName, at: &BTreeMap<String, f64>| {
        if at.is_empty() {
            found(variant, trials, searches).or_else(|| highest(variant, points, trials))
        } else {
            measured_at(variant, at, points, trials)
        }
    };
    let ratio = |ratio: &Ratio| {
        let (least, most) = ratio.range()?;
        let ours = if ratio.is_over_points() {
            over_points(ratio, points, trials)
        } else {
            let of = place(&ratio.of.as_str().into(), &ratio.of_at);
            let to = place(&ratio.to.as_str().into(), &ratio.to_at);
            of.zip(to).and_then(|(of, to)| ours(&ratio.metric, &of, &to))
        };
        Some(PublishedRatioRecord {
            what: ratio.what.clone(),
            metric: ratio.metric.clone(),
            of: ratio.of.as_str().into(),
            to: ratio.to.as_str().into(),
            published: [least, most],
            ours: ours.map(|ours| ours.0),
            ci95: ours.and_then(|ours| ours.1),
        })
    };
    PublishedRecord {
        title: published.title.clone(),
        link: published.link.clone(),
        system: published.system.clone(),
        ratios: published.ratios.iter().filter_map(ratio).collect(),
        figures: published.figures.iter().map(figure).collect(),
        failures: published.failures.iter().map(failure).collect(),
        claims: published.claims.clone(),
        unknown: published.unknown.clone(),
    }
}

fn failure(failure: &Failure) -> PublishedFailureRecord {
    PublishedFailureRecord {
        fault: failure.fault.clone(),
        beside: failure.beside.clone(),
        variants: failure.variants.iter().map(|name| name.as_str().into()).collect(),
        claim: failure.claim.clone(),
    }
}

/// Returns the measurement of a variant's searches. It consists of the last trial of each search at
/// the load that the search found. Returns `None` if no search has an exact result.
fn found<'a>(
    variant: &VariantName,
    trials: &'a [TrialFinding],
    searches: &[SearchRecord],
) -> Option<VariantMeasurement<'a>> {
    let end = |search: &SearchRecord| {
        let Some(Known::Exactly(_)) = search.found() else {
            return None;
        };
        trials.iter().find(|trial| Some(trial.index) == search.ended)
    };
    let of = searches.iter().filter(|search| search.variant == *variant);
    let ends: Vec<&TrialFinding> = of.filter_map(end).collect();
    let ops: Vec<f64> = ends.iter().map(|trial| trial.all.ops_per_s).collect();
    (!ops.is_empty()).then(|| VariantMeasurement {
        ops_per_s: autocorrelation::mean(&ops),
        ops_per_s_blocks: ops,
        latency_ms: ends.iter().map(|trial| &trial.all.latency_ms).collect(),
        latency_ms_blocks: ends.iter().map(|trial| &trial.all.latency_ms).collect(),
    })
}

/// Returns the values of a variant at its point with the highest throughput.
fn highest<'a>(
    variant: &VariantName,
    points: &'a [PointRecord],
    trials: &'a [TrialFinding],
) -> Option<VariantMeasurement<'a>> {
    let of = points.iter().filter(|point| point.variant == *variant);
    of.max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s))
        .map(|point| place(point, trials))
}

fn measured_at<'a>(
    variant: &VariantName,
    at: &BTreeMap<String, f64>,
    points: &'a [PointRecord],
    trials: &'a [TrialFinding],
) -> Option<VariantMeasurement<'a>> {
    let mut of = points.iter().filter(|point| point.variant == *variant);
    of.find(|point| store::point::map_of(point.point) == *at)
        .map(|point| place(point, trials))
}

fn place<'a>(point: &'a PointRecord, trials: &'a [TrialFinding]) -> VariantMeasurement<'a> {
    let of = |index: &usize| trials.iter().find(|trial| trial.index == *index);
    let used = point.trials.iter().filter_map(of);
    VariantMeasurement {
        ops_per_s: point.ops_per_s,
        ops_per_s_blocks: point.ops_per_s_blocks.clone(),
        latency_ms: vec![&point.latency_ms],
        latency_ms_blocks: used.map(|trial| &trial.all.latency_ms).collect(),
    }
}

/// Returns the measured ratio. The ratio has an interval if the blocks are pairs.
fn ours(
    metric: &str,
    of: &VariantMeasurement<'_>,
    to: &VariantMeasurement<'_>,
) -> Option<(f64, Option<[f64; 2]>)> {
    if let Some((of, to)) = of.blocks(metric).zip(to.blocks(metric))
        && let Some(compared) = by_blocks(metric, &of, &to)
    {
        return Some(compared);
    }
    let Some(name) = metric.strip_prefix(LATENCY) else {
        return (metric == "ops_per_s").then_some((of.ops_per_s / to.ops_per_s, None));
    };
    let mean = |place: &VariantMeasurement<'_>| -> Option<f64> {
        let latencies = place.latency_ms.iter();
        let logs: Option<Vec<f64>> = latencies.map(|one| Some(exactly(one, name)?.ln())).collect();
        logs.map(|logs| autocorrelation::mean(&logs))
    };
    Some(((mean(of)? - mean(to)?).exp(), None))
}

/// Returns the geometric mean of the measured ratios at all points that both variants have. The
/// mean has an interval if the blocks are pairs at all points, because each block then has such a
/// mean.
fn over_points(
    ratio: &Ratio,
    points: &[PointRecord],
    trials: &[TrialFinding],
) -> Option<(f64, Option<[f64; 2]>)> {
    let metric = ratio.metric.as_str();
    let of_variant = |name: &str| {
        let name = VariantName::from(name);
        points.iter().filter(move |point| point.variant == name)
    };
    let both: Vec<(VariantMeasurement<'_>, VariantMeasurement<'_>)> = of_variant(&ratio.of)
        .filter_map(|of| {
            let to = of_variant(&ratio.to).find(|to| to.point == of.point)?;
            Some((place(of, trials), place(to, trials)))
        })
        .collect();
    let each = both.iter().filter_map(|(of, to)| ours(metric, of, to));
    let logs: Vec<f64> = each.map(|(ratio, _)| ratio.ln()).collect();
    if logs.is_empty() {
        return None;
    }
    let mean = (autocorrelation::mean(&logs).exp(), None);
    let blocks = both.iter().map(|(of, to)| of.blocks(metric).zip(to.blocks(metric)));
    let Some(blocks) = blocks.collect::<Option<Vec<(Vec<f64>, Vec<f64>)>>>() else {
        return Some(mean);
    };
    let count = blocks.first().map_or(0, |(of, _)| of.len());
    if blocks.iter().any(|(of, to)| [of.len(), to.len()] != [count; 2]) {
        return Some(mean);
    }
    let in_block = |block: usize| {
        let logs = blocks.iter().map(|(of, to)| (of[block] / to[block]).ln());
        autocorrelation::mean(&logs.collect::<Vec<f64>>()).exp()
    };
    let of: Vec<f64> = (0..count).map(in_block).collect();
    by_blocks(metric, &of, &vec![1.0; count]).or(Some(mean))
}

fn figure(figure: &Figure) -> PublishedFigureRecord {
    PublishedFigureRecord {
        place: figure.place.clone(),
        what: figure.what.clone(),
        in_flight: figure.in_flight,
        ops_per_s: figure.ops_per_s,
        mean_ms: figure.mean_ms,
        p50_ms: figure.p50_ms,
        p95_ms: figure.p95_ms,
        p99_ms: figure.p99_ms,
        mean_by_little: figure.contradicts(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::procedure::Point;
    use store::record::SearchOutcome;
    use store::record::Verdict;

    fn point(variant: &str, threads: f64, blocks: &[f64]) -> PointRecord {
        PointRecord {
            variant: variant.into(),
            point: Some(Point::Threads(threads as u32)),
            ops_per_s: blocks.iter().sum::<f64>() / blocks.len() as f64,
            ops_per_s_blocks: blocks.to_vec(),
            latency_ms: QuantilesRecord {
                p99: Known::Exactly(threads),
                ..QuantilesRecord::default()
            },
            ..PointRecord::default()
        }
    }

    #[test]
    fn ratios_are_of_the_peaks_or_of_the_points_that_are_named() {
        let points = [
            point("off", 8.0, &[100.0, 110.0, 105.0]),
            point("off", 16.0, &[90.0, 90.0, 90.0]),
            point("on", 8.0, &[100.0, 100.0, 100.0]),
            point("on", 16.0, &[120.0, 132.0, 126.0]),
        ];
        let of = |metric: &str, at: Option<f64>| Ratio {
            metric: metric.to_owned(),
            of: "on".to_owned(),
            to: "off".to_owned(),
            of_at: at.map(|at| ("threads".to_owned(), at)).into_iter().collect(),
            value: Some(1.198),
            ..Ratio::default()
        };
        let ratios = vec![
            of("ops_per_s", None),
            of("latency_ms.p99", Some(16.0)),
            of("ops_per_s", Some(5.0)),
        ];
        let file = PublishedFile {
            ratios,
            ..PublishedFile::default()
        };
        let record = beside(&file, &[], &points, &[]);
        let [peak, p99, absent] = record.ratios.as_slice() else {
            panic!("{:?}", record.ratios);
        };
        let [low, high] = peak.ci95.unwrap();
        assert!((peak.ours.unwrap() - 1.2).abs() < 1e-9 && low <= 1.2 && high >= 1.2);
        assert_eq!(peak.published, [1.198, 1.198]);
        assert_eq!((p99.ours, p99.ci95), (Some(2.0), None));
        assert_eq!(absent.ours, None);
    }

    /// In an earlier version, latencies had no interval, regardless of the number of blocks.
    #[test]
    fn ratios_of_latencies_have_intervals_over_blocks() {
        let trial = |index: usize, p99: f64| {
            let mut trial = TrialFinding {
                index,
                ..TrialFinding::default()
            };
            trial.all.latency_ms.p99 = p99.into();
            trial
        };
        let p99s = [10.0, 11.0, 12.0, 20.0, 23.0, 24.0];
        let trials: Vec<TrialFinding> = (0..6).map(|at| trial(at, p99s[at])).collect();
        let with = |variant: &str, of: [usize; 3]| PointRecord {
            trials: of.to_vec(),
            ..point(variant, 8.0, &[100.0; 3])
        };
        let points = [with("off", [0, 1, 2]), with("on", [3, 4, 5])];
        for over in ["", "points"] {
            let ratio = Ratio {
                metric: "latency_ms.p99".to_owned(),
                of: "on".to_owned(),
                to: "off".to_owned(),
                over: over.to_owned(),
                value: Some(2.0),
                ..Ratio::default()
            };
            let file = PublishedFile {
                ratios: vec![ratio],
                ..PublishedFile::default()
            };
            let record = beside(&file, &trials, &points, &[]);
            let [low, high] = record.ratios[0].ci95.expect("an interval");
            let ours = record.ratios[0].ours.unwrap();
            assert!(
                (2.0..2.1).contains(&ours) && low < ours && ours < high,
                "{over}: {ours}"
            );
        }
    }

    #[test]
    fn a_ratio_over_points_is_the_mean_of_those_that_both_have() {
        let points = [
            point("off", 8.0, &[100.0, 110.0, 90.0]),
            point("off", 16.0, &[100.0, 100.0, 100.0]),
            point("on", 8.0, &[110.0, 121.0, 99.0]),
            point("on", 16.0, &[121.0, 121.0, 121.0]),
            point("on", 32.0, &[900.0, 900.0, 900.0]),
        ];
        let over = |metric: &str| Ratio {
            metric: metric.to_owned(),
            of: "on".to_owned(),
            to: "off".to_owned(),
            over: "points".to_owned(),
            value: Some(1.115),
            ..Ratio::default()
        };
        let file = PublishedFile {
            ratios: vec![
                over("ops_per_s"),
                over("latency_ms.p99"),
                over("latency_ms.p50"),
            ],
            ..PublishedFile::default()
        };
        let record = beside(&file, &[], &points, &[]);
        let [ops, p99, p50] = record.ratios.as_slice() else {
            panic!("{:?}", record.ratios);
        };
        let expected = (1.1_f64 * 1.21).sqrt();
        assert!((ops.ours.unwrap() - expected).abs() < 1e-9, "{ops:?}");
        assert!(ops.ci95.is_some_and(|[low, high]| low <= expected && expected <= high));
        assert_eq!((p99.ours, p99.ci95), (Some(1.0), None));
        assert_eq!(p50.ours, None, "the run has no such value");
    }

    /// A search also tries loads above its result. At these loads, throughput is higher, and
    /// latency exceeds the bound.
    #[test]
    fn a_published_ratio_uses_search_results_not_search_steps() {
        let trial = |index: usize, variant: &str, threads: f64, ops: f64| {
            let mut trial = TrialFinding {
                index,
                variant: variant.into(),
                verdict: Verdict::Valid,
                point: Some(Point::Threads(threads as u32)),
                ..TrialFinding::default()
            };
            trial.all.ops_per_s = ops;
            trial.all.latency_ms.p99 = Known::Exactly(threads);
            trial
        };
        let trials = [
            trial(0, "off", 8.0, 100.0),
            trial(1, "off", 16.0, 200.0),
            trial(2, "on", 32.0, 150.0),
            trial(3, "on", 64.0, 900.0),
        ];
        let search = |variant: &str, at: f64, ended: usize| SearchRecord {
            variant: variant.into(),
            outcome: SearchOutcome::Held,
            at: Some(Point::Threads(at as u32)),
            ended: Some(ended),
            ..SearchRecord::default()
        };
        let ratio = |metric: &str| Ratio {
            metric: metric.to_owned(),
            of: "on".to_owned(),
            to: "off".to_owned(),
            value: Some(2.0),
            ..Ratio::default()
        };
        let file = PublishedFile {
            ratios: vec![ratio("ops_per_s"), ratio("latency_ms.p99")],
            ..PublishedFile::default()
        };
        let searches = [search("off", 8.0, 0), search("on", 32.0, 2)];
        let points = [point("on", 64.0, &[900.0]), point("off", 16.0, &[200.0])];
        let record = beside(&file, &trials, &points, &searches);
        let ours: Vec<f64> = record.ratios.iter().map(|r| r.ours.unwrap()).collect();
        assert!((ours[0] - 1.5).abs() < 1e-9 && (ours[1] - 4.0).abs() < 1e-9);
    }
}
