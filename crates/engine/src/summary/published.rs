//! Published ratios beside ours. A published ratio has no interval: whether it lies in ours is all
//! that can be said.

use analysis::{Metric, compare_paired};
use measure::Known;
use std::collections::BTreeMap;
use store::record::{
    PointRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord, QuantilesRecord,
};
use study::published::{Figure, Published, Ratio};

/// What was published, beside what was found.
pub fn published(published: &Published, points: &[PointRecord]) -> PublishedRecord {
    PublishedRecord {
        title: published.title.clone(),
        link: published.link.clone(),
        system: published.system.clone(),
        ratios: published
            .ratios
            .iter()
            .filter_map(|one| ratio(one, points))
            .collect(),
        figures: published.figures.iter().map(figure).collect(),
        claims: published.claims.clone(),
        unknown: published.unknown.clone(),
    }
}

fn ratio(ratio: &Ratio, points: &[PointRecord]) -> Option<PublishedRatioRecord> {
    let (least, most) = ratio.range()?;
    let of = place(points, &ratio.of, &ratio.of_at);
    let to = place(points, &ratio.to, &ratio.to_at);
    let ours = of.zip(to).and_then(|(of, to)| ours(&ratio.metric, of, to));
    Some(PublishedRatioRecord {
        what: ratio.what.clone(),
        metric: ratio.metric.clone(),
        of: ratio.of.clone(),
        to: ratio.to.clone(),
        published: [least, most],
        ours: ours.map(|ours| ours.0),
        ci95: ours.and_then(|ours| ours.1),
    })
}

/// Where a variant was measured: there, or at its peak.
fn place<'p>(
    points: &'p [PointRecord],
    variant: &str,
    at: &BTreeMap<String, f64>,
) -> Option<&'p PointRecord> {
    let of_variant = points.iter().filter(|point| point.variant == variant);
    match at.is_empty() {
        true => of_variant.max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s)),
        false => of_variant.into_iter().find(|point| point.point == *at),
    }
}

/// Our ratio, with its interval where its blocks are pairs.
fn ours(metric: &str, of: &PointRecord, to: &PointRecord) -> Option<(f64, Option<[f64; 2]>)> {
    if metric == "ops_per_s" {
        let are_pairs = of.ops_per_s_blocks.len() == to.ops_per_s_blocks.len();
        let blocks = to.ops_per_s_blocks.iter().zip(&of.ops_per_s_blocks);
        let pairs: Vec<(f64, f64)> = blocks.map(|(to, of)| (*to, *of)).collect();
        let compared = compare_paired(&pairs, Metric::THROUGHPUT).ok();
        return match compared.filter(|_| are_pairs) {
            Some(compared) => Some((compared.ratio, compared.ci95())),
            None => Some((of.ops_per_s / to.ops_per_s, None)),
        };
    }
    let value = |point: &PointRecord| quantile(&point.latency_ms, metric);
    let (of, to) = (value(of)?, value(to)?);
    // Of a lower bound no ratio is known.
    let is_known = !of.is_at_least() && !to.is_at_least() && to.least() > 0.0;
    is_known.then(|| (of.least() / to.least(), None))
}

fn quantile(latency: &QuantilesRecord, metric: &str) -> Option<Known> {
    Some(match metric.strip_prefix("latency_ms.")? {
        "mean" => latency.mean,
        "p50" => latency.p50,
        "p95" => latency.p95,
        "p99" => latency.p99,
        "p999" => latency.p999,
        _ => return None,
    })
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

    fn point(variant: &str, threads: f64, blocks: &[f64]) -> PointRecord {
        PointRecord {
            variant: variant.to_owned(),
            point: BTreeMap::from([("threads".to_owned(), threads)]),
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
            of_at: at
                .map(|at| ("threads".to_owned(), at))
                .into_iter()
                .collect(),
            value: Some(1.198),
            ..Ratio::default()
        };
        let peak = ratio(&of("ops_per_s", None), &points).unwrap();
        let [low, high] = peak.ci95.unwrap();
        assert!((peak.ours.unwrap() - 1.2).abs() < 1e-9 && low <= 1.2 && high >= 1.2);
        assert_eq!(peak.published, [1.198, 1.198]);
        let p99 = ratio(&of("latency_ms.p99", Some(16.0)), &points).unwrap();
        assert_eq!((p99.ours, p99.ci95), (Some(2.0), None));
        let absent = ratio(&of("ops_per_s", Some(5.0)), &points).unwrap();
        assert_eq!(absent.ours, None);
    }
}
