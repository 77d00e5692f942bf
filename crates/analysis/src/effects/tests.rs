//! Tests effects of matrices with known true effects.

use super::*;
use crate::multiple_comparisons::judge_all;
use crate::test_series::Chance;

/// Throughput in op/s of heap (small, large) × commit log (periodic, batch). Each row is one block.
/// The expected figures below were computed from these values with numpy and scipy.
const TWO_BY_TWO: [[f64; 4]; 5] = [
    [71204.0, 69050.0, 80310.0, 74930.0],
    [69870.0, 68010.0, 78820.0, 74020.0],
    [72480.0, 69800.0, 81990.0, 76010.0],
    [70110.0, 67200.0, 79400.0, 73500.0],
    [70950.0, 69350.0, 80900.0, 75800.0],
];

fn level(axis: usize, level: usize) -> AxisLevel {
    AxisLevel { axis, level }
}

fn blocks(rows: &[[f64; 4]]) -> Vec<Vec<Option<Known>>> {
    let known = |row: &[f64; 4]| row.iter().map(|v| Some(Known::Exactly(*v))).collect();
    rows.iter().map(known).collect()
}

fn two_by_two() -> Design {
    Design::new(vec![2, 2])
}

fn effect(kind: EffectContrast, blocks: &[Vec<Option<Known>>]) -> Effect {
    let (found, _) = effects(&two_by_two(), blocks, Metric::THROUGHPUT);
    let effect = found.into_iter().find(|effect| effect.kind == kind);
    effect.unwrap()
}

#[test]
fn effects_are_those_of_the_worked_example() {
    let (heap, batch) = (level(0, 1), level(1, 1));
    for (kind, expected) in [
        (EffectContrast::Main(heap), [1.1107, 1.1058, 1.1157]),
        (EffectContrast::Main(batch), [0.9502, 0.9419, 0.9585]),
        (
            EffectContrast::Interaction(heap, batch),
            [0.9628, 0.9593, 0.9663],
        ),
        (
            EffectContrast::Simple(heap, level(1, 0)),
            [1.1320, 1.1258, 1.1382],
        ),
        (
            EffectContrast::Simple(heap, batch),
            [1.0898, 1.0855, 1.0943],
        ),
    ] {
        let effect = effect(kind, &blocks(&TWO_BY_TWO));
        let [low, high] = effect.comparison.ci95().unwrap();
        for (seen, expected) in [effect.comparison.ratio, low, high].iter().zip(expected) {
            assert!(
                (seen - expected).abs() < 6e-5,
                "{kind:?}: {seen}, not {expected}"
            );
        }
    }
}

#[test]
fn the_interaction_of_the_worked_example_matters() {
    let (found, inconclusive) = effects(&two_by_two(), &blocks(&TWO_BY_TWO), Metric::THROUGHPUT);
    assert_eq!((found.len(), inconclusive.len()), (3 + 4, 0));
    let family = found.iter().map(|effect| (effect.comparison.clone(), true));
    let (judged, _) = judge_all(&family.collect::<Vec<_>>());
    assert_eq!(found[0].finding(&judged[0]), Finding::Faster);
    assert_eq!(found[1].finding(&judged[1]), Finding::Slower);
    let margin = |margin: f64| Metric {
        margin,
        ..Metric::THROUGHPUT
    };
    let acts = |metric: Metric| found[2].interaction(&judged[2], metric);
    assert_eq!(acts(Metric::THROUGHPUT), Interaction::Matters);
    // The interaction of 3.9 % is significant, but below the margin.
    assert_eq!(acts(margin(0.05)), Interaction::NotResolved);
    // The weights of the interaction are ±1, with the length 2. The weights of a main effect are
    // ±1/2, with the length 1.
    assert!((found[2].scaled - found[2].comparison.ratio.ln().abs() / 2.0).abs() < 1e-12);
    assert!((found[0].scaled - found[0].comparison.ratio.ln().abs()).abs() < 1e-12);
}

#[test]
fn one_block_or_two_have_no_interval_and_say_nothing() {
    let few = effect(EffectContrast::Main(level(0, 1)), &blocks(&TWO_BY_TWO[..2]));
    let (judged, _) = judge_all(&[(few.comparison.clone(), true)]);
    assert!(!few.has_interval());
    assert_eq!(few.finding(&judged[0]), Finding::Inconclusive);
    assert_eq!(
        few.interaction(&judged[0], Metric::THROUGHPUT),
        Interaction::NotResolved
    );
}

#[test]
fn a_block_without_a_cell_is_left_out_where_it_is_needed() {
    let mut some = blocks(&TWO_BY_TWO);
    // In the first block, the combination of a large heap and a batch commit log was not measured.
    some[0][3] = None;
    assert_eq!(
        effect(EffectContrast::Main(level(0, 1)), &some).comparison.blocks,
        4
    );
    let periodic = EffectContrast::Simple(level(0, 1), level(1, 0));
    assert_eq!(effect(periodic, &some).comparison.blocks, 5);
}

#[test]
fn values_are_compared_with_the_first_of_their_axis() {
    // The first axis has three values, and the second axis has two. The third value of the first
    // axis doubles the throughput, and the second axis has no effect.
    let design = Design::new(vec![3, 2]);
    let row = |noise: f64| [1.0, 1.0, 1.0, 1.0, 2.0, 2.0].map(|v| Some(Known::Exactly(v * noise)));
    let blocks: Vec<Vec<Option<Known>>> = [1.0, 1.2, 0.9].map(|noise| row(noise).to_vec()).into();
    let (found, _) = effects(&design, &blocks, Metric::THROUGHPUT);
    let ratio = |kind: EffectContrast| {
        let effect = found.iter().find(|effect| effect.kind == kind).unwrap();
        effect.comparison.ratio
    };
    assert!((ratio(EffectContrast::Main(level(0, 1))) - 1.0).abs() < 1e-12);
    assert!((ratio(EffectContrast::Main(level(0, 2))) - 2.0).abs() < 1e-12);
    assert!((ratio(EffectContrast::Main(level(1, 1))) - 1.0).abs() < 1e-12);
    assert!((ratio(EffectContrast::Interaction(level(0, 2), level(1, 1))) - 1.0).abs() < 1e-12);
    assert_eq!(found.len(), 3 + 2 + 7);
}

#[test]
fn a_lower_bound_on_one_side_bounds_the_effect() {
    let mut some = blocks(&TWO_BY_TWO);
    some[1][2] = Some(Known::AtLeast(78820.0));
    let heap = effect(EffectContrast::Main(level(0, 1)), &some).comparison;
    assert_eq!(heap.bound, Some(crate::Bound::AtLeast));
    // In the divisor of a ratio of ratios, a bound is open in the opposite direction.
    let both = EffectContrast::Interaction(level(0, 1), level(1, 1));
    assert_eq!(
        effect(both, &some).comparison.bound,
        Some(crate::Bound::AtMost)
    );
    some[2][0] = Some(Known::AtLeast(72480.0));
    let (_, inconclusive) = effects(&two_by_two(), &some, Metric::LATENCY);
    assert!(inconclusive.contains(&(
        EffectContrast::Main(level(0, 1)),
        NotCompared::BoundsOnBothSides
    )));
}

#[test]
fn of_matrices_without_effects_one_in_thirty_has_one() {
    let mut chance = Chance::new(11);
    let design = Design::new(vec![2, 2, 2]);
    let runs = 400;
    let mut called = 0;
    for _ in 0..runs {
        let blocks: Vec<Vec<Option<Known>>> = (0..5)
            .map(|_| {
                let level = chance.normal() * 0.1;
                let cell = |_| Some(Known::Exactly((level + 0.03 * chance.normal()).exp()));
                (0..8).map(cell).collect()
            })
            .collect();
        let (found, _) = effects(&design, &blocks, Metric::THROUGHPUT);
        let of_family = found.iter().filter(|e| !matches!(e.kind, EffectContrast::Simple(..)));
        let family: Vec<_> = of_family.map(|e| (e.comparison.clone(), true)).collect();
        let (judged, _) = judge_all(&family);
        called += u32::from(judged.iter().any(|one| one.finding.is_difference()));
    }
    // The number of wrong findings is binomial (400 cases at 3 %), and above 21 in 1 of 200
    // simulations.
    assert!(called <= 21, "{called} of {runs}");
}

#[test]
fn places_on_a_half_normal_plot_are_those_of_the_tables() {
    let expected = [
        0.0570, 0.1717, 0.2888, 0.4100, 0.5375, 0.6745, 0.8255, 0.9982, 1.2074, 1.4895, 2.0004,
    ];
    for (seen, expected) in half_normal(11).into_iter().zip(expected) {
        assert!((seen - expected).abs() < 6e-5, "{seen}, not {expected}");
    }
}
