//! Compares the costs of a contender's operations with those of its baseline.
//!
//! Costs describe the variants, but do not affect a verdict. So the number of costs does not enter
//! the adjustment of the comparisons of throughput and latency. The costs of two variants at one
//! point are adjusted among themselves.

use super::comparisons::{COMPARED, baselines_and_contenders, is_search, used};
use super::points::places_of;
use crate::data_generation;
use analysis::multiple_comparisons::differing;
use analysis::procedure::Point;
use analysis::{Comparison, Metric, compare_paired, compare_unpaired};
use store::record::{CostComparisonRecord, CostKind, TrialFinding};
use study::settings::{Study, Variant};

/// Compares every contender with the first variant of its step, at every point that both variants
/// have. Results of searches are not compared.
pub fn comparisons(study: &Study, trials: &[TrialFinding]) -> Vec<CostComparisonRecord> {
    let mut records = Vec::new();
    for [baseline, contender] in baselines_and_contenders(study) {
        if is_search(baseline) || is_search(contender) {
            continue;
        }
        for place in places_of(trials, &baseline.name) {
            records.extend(at_place(study, trials, [baseline, contender], place));
        }
    }
    records
}

fn at_place(
    study: &Study,
    trials: &[TrialFinding],
    variants: [&Variant; 2],
    place: Option<Point>,
) -> Vec<CostComparisonRecord> {
    let [throughput, ..] = &COMPARED;
    let sides = variants.map(|variant| used(study, trials, &variant.name, place, throughput));
    let compared = CostKind::ALL
        .into_iter()
        .filter_map(|cost| Some((cost, compared(&sides, cost, study.repeat.interleaved)?)));
    let (costs, comparisons): (Vec<CostKind>, Vec<Comparison>) = compared.unzip();
    let differ = differing(&comparisons);
    let [baseline, contender] = variants;
    let all = costs.into_iter().zip(&comparisons).zip(differ);
    all.map(|((cost, comparison), differs)| CostComparisonRecord {
        cost,
        point: place,
        baseline: baseline.name.clone(),
        contender: contender.name.clone(),
        ratio: comparison.ratio,
        ci95: comparison.ci95(),
        blocks: comparison.blocks,
        differs,
    })
    .collect()
}

/// Compares a cost of two variants. Returns `None` if the cost is unknown for one of them, or zero
/// in some block. A block with a cost of zero has no ratio, and a ratio of only the other blocks
/// would be biased.
fn compared(
    sides: &[Vec<Option<&TrialFinding>>; 2],
    cost: CostKind,
    is_interleaved: bool,
) -> Option<Comparison> {
    let value = |trial: &TrialFinding| trial.costs.get(&cost).copied();
    let known = sides.iter().flatten().flatten().filter_map(|trial| value(trial));
    if known.clone().any(|value| value <= 0.0) {
        return None;
    }
    if !is_interleaved {
        let of = |side: &Vec<Option<&TrialFinding>>| -> Vec<f64> {
            side.iter().flatten().filter_map(|trial| value(trial)).collect()
        };
        return compare_unpaired(&of(&sides[0]), &of(&sides[1]), Metric::COST).ok();
    }
    let both = sides[0].iter().zip(&sides[1]).filter_map(|(a, b)| (*a).zip(*b));
    let pairs: Vec<(f64, f64)> = both
        .filter(|(a, b)| data_generation::is_same(a, b))
        .filter_map(|(a, b)| value(a).zip(value(b)))
        .collect();
    compare_paired(&pairs, Metric::COST).ok()
}

#[cfg(test)]
mod tests {
    use super::super::points::costs_of;
    use super::super::test_runs;
    use super::*;
    use study::resolve::resolve;
    use study::settings::Overrides;

    /// Returns four blocks of two compressors. The second compressor needs half of the disk space
    /// of the first. The CPU times differ by less than the scatter. In one block, nothing was read
    /// from a disk.
    fn compressors() -> (Study, Vec<TrialFinding>) {
        let text = "study: s\nquestion: q?\ntarget: {null: {}}\nprocedure: {fixed: {threads: 4}}\n\
                    workload: {use: kv}\ndata: {load: {operations: 10}}\nrepeat: {blocks: 4}\n\
                    variants: {lz4: {}, zstd: {workload: {mix: {read: 1}}}}\n";
        let study = resolve("s", text, &Overrides::default()).expect("a study");
        let mut trials = test_runs::trials(&study, |_| (1000.0, 5.0.into()));
        for trial in &mut trials {
            let is_first = trial.variant == study.variants[0].name;
            let scatter = 1.0 + 0.01 * trial.block as f64;
            let cpu = [0.30, 0.33, 0.29, 0.34][(trial.block + usize::from(is_first)) % 4];
            trial.costs = [
                (CostKind::ServerCpu, cpu),
                (
                    CostKind::DiskSpace,
                    if is_first { 80.0 } else { 40.0 * scatter },
                ),
                (CostKind::DiskReads, trial.block as f64),
            ]
            .into();
        }
        (study, trials)
    }

    #[test]
    fn costs_of_blocks_have_a_mean_and_an_interval() {
        let (study, trials) = compressors();
        let of = |variant: usize| {
            let name = &study.variants[variant].name;
            costs_of(&trials.iter().filter(|t| t.variant == *name).collect::<Vec<_>>())
        };
        let [cpu, disk, reads] = &of(0)[..] else {
            panic!("three costs are known");
        };
        assert_eq!(
            (disk.mean, disk.ci95, disk.blocks),
            (80.0, Some([80.0, 80.0]), 4)
        );
        assert!((cpu.mean - 0.315).abs() < 1e-9 && cpu.ci95.is_some());
        assert_eq!(reads.mean, 1.5);
        assert_eq!(costs_of(&[&TrialFinding::default()]), []);
    }

    #[test]
    fn a_cost_differs_if_the_difference_exceeds_chance() {
        let (study, trials) = compressors();
        let found = comparisons(&study, &trials);
        let costs: Vec<CostKind> = found.iter().map(|one| one.cost).collect();
        // A block without disk reads has no ratio of disk reads.
        assert_eq!(costs, [CostKind::ServerCpu, CostKind::DiskSpace]);
        assert!(!found[0].differs && found[1].differs);
        let ([low, high], ratio) = (found[1].ci95.expect("four blocks"), found[1].ratio);
        assert!(
            low < ratio && ratio < high && (0.5..0.52).contains(&ratio),
            "{ratio}"
        );
        let once: Vec<TrialFinding> = trials.into_iter().filter(|t| t.block == 0).collect();
        let found = comparisons(&study, &once);
        assert!(found.iter().all(|one| one.ci95.is_none() && !one.differs));
    }
}
