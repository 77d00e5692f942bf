//! Adjusts the comparisons of one study for their number.
//!
//! Suppose that a study has ten points with three metrics each, and that each comparison is judged
//! alone at 3 %. Even if the variants are equal, six in ten such studies report a difference. So
//! one metric at one point is *primary* and keeps the level of 3 %. All other comparisons are
//! secondary, and their p values are adjusted by Holm's method (1979, "A simple sequentially
//! rejective multiple test procedure"). Then the probability that any secondary comparison is
//! falsely called different is at most 3 %, for any dependence between the comparisons. If the
//! primary point has several contenders, their comparisons are adjusted among themselves in the
//! same way.
//!
//! Findings of equivalence are not adjusted. If the true difference is larger than the margin, the
//! interval is within the margin in at most 2.5 % of cases.

use crate::compare::{Comparison, DIFFERENCE_LEVEL, Finding};

/// Finding of one comparison, judged together with the other comparisons of the study.
#[derive(Clone, Debug, PartialEq)]
pub struct AdjustedFinding {
    pub finding: Finding,
    /// p value of the comparison alone. `None` with one block per variant.
    pub p: Option<f64>,
    /// p value, adjusted for the number of comparisons of the same family (primary or secondary).
    pub p_adjusted: Option<f64>,
    /// Smallest difference that the comparison could have detected, at the adjusted level. See
    /// [`Comparison::could_see`].
    pub could_see: Option<f64>,
    /// Number of blocks that decides the comparison, at the adjusted level. See
    /// [`Comparison::blocks_to_settle`].
    pub blocks_to_settle: Option<usize>,
}

/// Expected number of false findings if no variants differed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FalseFindings {
    /// Number of comparisons that have an interval. Only these comparisons can show a difference.
    pub compared: usize,
    /// Number of primary comparisons that have an interval.
    pub primary: usize,
    /// Expected number of false findings if each comparison were judged alone.
    pub one_by_one: f64,
    /// Upper bound of the expected number of false findings with the adjustment. Each of the two
    /// families contributes one level to the bound.
    pub expected: f64,
}

/// Judges the comparisons of a study. The flag of each comparison is true if the comparison is
/// primary.
pub fn judge_all(comparisons: &[(Comparison, bool)]) -> (Vec<AdjustedFinding>, FalseFindings) {
    let p: Vec<Option<f64>> = comparisons.iter().map(|(seen, _)| seen.p()).collect();
    let mut adjusted = p.clone();
    let mut sizes = [0usize; 2];
    for family in [false, true] {
        let of = |at: &usize| comparisons[*at].1 == family && p[*at].is_some();
        let members: Vec<usize> = (0..comparisons.len()).filter(of).collect();
        sizes[usize::from(family)] = members.len();
        let values: Vec<f64> = members.iter().filter_map(|at| p[*at]).collect();
        for (at, value) in members.iter().zip(holm(&values)) {
            adjusted[*at] = Some(value);
        }
    }
    let with_p = comparisons.iter().zip(p).zip(adjusted);
    let judged = with_p.map(|(((seen, is_primary), p), p_adjusted)| {
        // The first step of Holm's method has the strictest level that may apply to a comparison,
        // so this level is used.
        let level = DIFFERENCE_LEVEL / sizes[usize::from(*is_primary)].max(1) as f64;
        AdjustedFinding {
            finding: seen.finding(p_adjusted),
            p,
            p_adjusted,
            could_see: seen.could_see(level),
            blocks_to_settle: seen.blocks_to_settle(level),
        }
    });
    let families = sizes.iter().filter(|size| **size > 0).count();
    let compared = sizes[0] + sizes[1];
    let chances = FalseFindings {
        compared,
        primary: sizes[1],
        one_by_one: DIFFERENCE_LEVEL * compared as f64,
        expected: DIFFERENCE_LEVEL * families as f64,
    };
    (judged.collect(), chances)
}

/// Returns a flag for each descriptive comparison. The flag is true if the ratio differs from 1
/// significantly and by more than the margin. The significance is adjusted for the number of
/// comparisons.
pub fn differing(comparisons: &[Comparison]) -> Vec<bool> {
    let p: Vec<f64> = comparisons.iter().map(|one| one.p().unwrap_or(1.0)).collect();
    let judged = comparisons.iter().zip(holm(&p));
    judged.map(|(one, p)| p <= DIFFERENCE_LEVEL && one.is_beyond_margin()).collect()
}

/// Returns the p values adjusted by Holm's method, in the order of `p`.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Metric, compare_paired};
    use crate::test_series::Chance;

    #[test]
    fn holm_is_that_of_the_paper() {
        let close = |seen: &[f64], expected: &[f64]| {
            let pairs = seen.iter().zip(expected);
            assert!(
                pairs.clone().all(|(a, b)| (a - b).abs() < 1e-12),
                "{seen:?}"
            );
        };
        close(
            &holm(&[0.003, 0.011, 0.04, 0.2]),
            &[0.012, 0.033, 0.08, 0.2],
        );
        // In order of rising p value, the adjusted values never fall. They are at most 1.
        close(
            &holm(&[0.2, 0.04, 0.003, 0.011]),
            &[0.2, 0.08, 0.012, 0.033],
        );
        close(&holm(&[0.02, 0.021, 0.9]), &[0.06, 0.06, 0.9]);
        close(&holm(&[0.6, 0.7]), &[1.0, 1.0]);
        close(&holm(&[]), &[]);
    }

    #[test]
    fn the_primary_comparison_keeps_its_level_others_are_corrected() {
        let pairs = [
            (100.0, 106.0),
            (100.0, 109.0),
            (100.0, 104.0),
            (100.0, 105.0),
        ];
        let seen = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
        let noise = [(100.0, 99.0), (100.0, 108.0), (100.0, 93.0), (100.0, 101.0)];
        let noise = compare_paired(&noise, Metric::THROUGHPUT).unwrap();
        let one = compare_paired(&[(1.0, 9.0)], Metric::THROUGHPUT).unwrap();
        let all = [
            vec![(seen.clone(), true), (one, false)],
            vec![(seen.clone(), false)],
            vec![(noise, false); 28],
        ];
        let (judged, chances) = judge_all(&all.concat());
        assert_eq!(judged[0].finding, Finding::Faster);
        assert_eq!(judged[0].p, judged[0].p_adjusted);
        assert_eq!(
            (judged[1].finding, judged[1].p),
            (Finding::Inconclusive, None)
        );
        assert_eq!(judged[2].finding, Finding::Inconclusive, "one of 29");
        let times = judged[2].p_adjusted.unwrap() / judged[2].p.unwrap();
        assert!((times - 29.0).abs() < 1e-9, "{times}");
        assert!(judged[2].could_see > judged[0].could_see);
        assert_eq!((chances.compared, chances.primary), (30, 1));
        assert!((chances.one_by_one - 0.9).abs() < 1e-9);
        assert!((chances.expected - 0.06).abs() < 1e-9);
        let (_, alone) = judge_all(&[(seen, true)]);
        assert!((alone.expected - 0.03).abs() < 1e-9);
    }

    #[test]
    fn of_30_comparisons_without_effect_1_in_30_studies_finds_one() {
        let mut chance = Chance::new(77);
        let studies = 400;
        let mut called = 0;
        for _ in 0..studies {
            let all: Vec<(Comparison, bool)> = (0..30)
                .map(|_| {
                    let pair = |_| (1.0, (0.05 * chance.normal()).exp());
                    let pairs: Vec<(f64, f64)> = (0..5).map(pair).collect();
                    (compare_paired(&pairs, Metric::THROUGHPUT).unwrap(), false)
                })
                .collect();
            let (judged, _) = judge_all(&all);
            called += u32::from(judged.iter().any(|one| one.finding.is_difference()));
        }
        // If each comparison were judged alone, the probability would be 1 - 0.97^30 = 60 %. The
        // number of studies with a false finding is binomial (400 studies at 3 %), and above 21 in
        // 1 of 200 simulations.
        assert!(called <= 21, "{called} of {studies}");
    }
}
