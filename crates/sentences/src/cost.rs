//! Describes the largest differences in cost between two variants, in one sentence.

use crate::result_place::point_words;
use analysis::VariantName;
use measure::number::significant;
use store::record::{CostComparisonRecord, CostKind, PointRecord};

/// Maximum number of differences that a sentence names. The table lists all differences.
const NAMED_MAX: usize = 3;
/// Maximum number of contenders for which the report contains a sentence. The table lists all
/// contenders.
const CONTENDERS_MAX: usize = 3;

/// Returns a sentence for each contender and point at which costs differ from the baseline's, but
/// at most [`CONTENDERS_MAX`] sentences. In `comparisons`, comparisons of the same contender and
/// point must be adjacent.
pub fn sentences(comparisons: &[&CostComparisonRecord], points: &[PointRecord]) -> Vec<String> {
    let is_of_same = |one: &&CostComparisonRecord, next: &&CostComparisonRecord| {
        (&one.contender, one.point) == (&next.contender, next.point)
    };
    let contenders = comparisons.chunk_by(is_of_same);
    contenders
        .filter_map(|of_one| sentence(of_one, points))
        .take(CONTENDERS_MAX)
        .collect()
}

fn sentence(comparisons: &[&CostComparisonRecord], points: &[PointRecord]) -> Option<String> {
    let mut differing: Vec<&CostComparisonRecord> =
        comparisons.iter().copied().filter(|one| one.differs).collect();
    let distance = |one: &CostComparisonRecord| one.ratio.ln().abs();
    differing.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    // The sentence states the compression ratio together with the disk space, so the compression
    // ratio is omitted here.
    let of = |cost: CostKind| differing.iter().copied().find(|one| one.cost == cost);
    let ratio = of(CostKind::Compression).filter(|_| of(CostKind::DiskSpace).is_some());
    let told = differing.iter().filter(|one| ratio.is_none_or(|ratio| ratio.cost != one.cost));
    let parts: Vec<String> =
        told.take(NAMED_MAX).map(|one| difference(one, ratio, points)).collect();
    let first = comparisons.first().filter(|_| !parts.is_empty())?;
    Some(format!(
        "Costs of “{}” against “{}” at {}: {}.",
        first.contender,
        first.baseline,
        point_words(first.point),
        parts.join(", ")
    ))
}

/// Describes a difference, such as `38 % less disk space per row (41 B instead of 66 B, compression
/// ratio 3.1 instead of 1.9)`.
fn difference(
    one: &CostComparisonRecord,
    ratio: Option<&CostComparisonRecord>,
    points: &[PointRecord],
) -> String {
    let [less, more] = match one.cost {
        CostKind::Compression | CostKind::Amplification => ["lower", "higher"],
        cost if cost.is_count() => ["fewer", "more"],
        _ => ["less", "more"],
    };
    let word = if one.ratio < 1.0 { less } else { more };
    let ratio = ratio.filter(|_| one.cost == CostKind::DiskSpace).and_then(|ratio| {
        let values = values(ratio, points)?;
        Some(format!("{} {values}", ratio.cost.words()))
    });
    let beside: Vec<String> = values(one, points).into_iter().chain(ratio).collect();
    format!(
        "{} % {word} {} ({})",
        significant((one.ratio - 1.0).abs() * 100.0, 2),
        one.cost.words(),
        beside.join(", ")
    )
}

/// Returns the value of the contender and the value of the baseline, such as `41 B instead of 66
/// B`.
fn values(one: &CostComparisonRecord, points: &[PointRecord]) -> Option<String> {
    let of = |variant: &VariantName| {
        let at = points.iter().find(|p| p.variant == *variant && p.point == one.point)?;
        let cost = at.costs.iter().find(|cost| cost.cost == one.cost)?;
        Some(one.cost.written(cost.mean))
    };
    Some(format!(
        "{} instead of {}",
        of(&one.contender)?,
        of(&one.baseline)?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::procedure::Point;
    use store::record::CostRecord;

    fn comparison(cost: CostKind, ratio: f64, differs: bool) -> CostComparisonRecord {
        CostComparisonRecord {
            cost,
            point: Some(Point::Threads(8)),
            baseline: VariantName::from("lz4"),
            contender: VariantName::from("zstd"),
            ratio,
            ci95: None,
            blocks: 3,
            differs,
        }
    }

    fn point(variant: &str, costs: &[(CostKind, f64)]) -> PointRecord {
        let cost = |(cost, mean): &(CostKind, f64)| CostRecord {
            cost: *cost,
            mean: *mean,
            ci95: None,
            blocks: 3,
        };
        PointRecord {
            variant: VariantName::from(variant),
            point: Some(Point::Threads(8)),
            costs: costs.iter().map(cost).collect(),
            ..PointRecord::default()
        }
    }

    #[test]
    fn the_largest_differences_come_first_compression_with_space() {
        let (cpu, disk) = (CostKind::ServerCpu, CostKind::DiskSpace);
        let (ratio, memory) = (CostKind::Compression, CostKind::Memory);
        let points = [
            point(
                "lz4",
                &[(cpu, 0.25), (disk, 66.0), (ratio, 1.9), (memory, 2e9)],
            ),
            point(
                "zstd",
                &[(cpu, 0.28), (disk, 41.0), (ratio, 3.1), (memory, 2e9)],
            ),
        ];
        let all = [
            comparison(cpu, 1.12, true),
            comparison(disk, 0.62, true),
            comparison(ratio, 1.63, true),
            comparison(memory, 1.3, false),
        ];
        let said = |of: &[&CostComparisonRecord]| sentences(of, &points);
        assert_eq!(
            said(&all.iter().collect::<Vec<_>>()),
            [
                "Costs of “zstd” against “lz4” at 8 threads: 38 % less disk space per row (41.0 B \
                 instead of 66.0 B, compression ratio 3.10 instead of 1.90), 12 % more server CPU \
                 per operation (0.280 ms instead of 0.250 ms)."
            ]
        );
        assert_eq!(said(&[&all[3]]), [""; 0]);
    }
}
