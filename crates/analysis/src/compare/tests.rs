//! Tests the findings of comparisons with known true ratios, and the frequency of wrong findings.

use super::*;
use crate::test_series::Chance;
use proptest::prelude::*;

#[test]
fn findings_follow_from_interval_margin_and_direction() {
    use Finding::{Equivalent, Faster, Inconclusive, Slower};
    for (ci, throughput, latency) in [
        ([1.10, 1.30], Faster, Slower),
        ([0.70, 0.85], Slower, Faster),
        ([0.98, 1.02], Equivalent, Equivalent),
        // The ratio differs from 1, but too little to be important.
        ([1.005, 1.02], Equivalent, Equivalent),
        // The margin is symmetric in ratios, so 0.90 is below 1/1.1.
        ([0.90, 1.08], Inconclusive, Inconclusive),
        ([0.95, 1.05], Inconclusive, Equivalent),
        ([1.01, 1.20], Faster, Slower),
    ] {
        assert_eq!(find(ci, Metric::THROUGHPUT), throughput, "{ci:?}");
        assert_eq!(find(ci, Metric::LATENCY), latency, "{ci:?}");
    }
}

fn alone(seen: &Comparison) -> Finding {
    seen.finding(seen.p())
}

#[test]
fn pairs_give_the_textbook_interval_of_log_ratios() {
    let pairs = [(100.0, 110.0), (200.0, 240.0), (50.0, 57.0)];
    let seen = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
    let logs = [1.1_f64.ln(), 1.2_f64.ln(), 1.14_f64.ln()];
    let half = 4.302_653 * (autocorrelation::variance(&logs) / 3.0).sqrt();
    let mean = logs.iter().sum::<f64>() / 3.0;
    let [low, high] = seen.ci95().unwrap();
    assert!((seen.ratio - mean.exp()).abs() < 1e-12);
    assert!((low - (mean - half).exp()).abs() < 1e-6, "{low}");
    assert!((high - (mean + half).exp()).abs() < 1e-6, "{high}");
    assert_eq!(seen.blocks, 3);
    // With p = 3.3 %, the interval excludes 1, but the finding needs p < 3 %.
    assert_eq!(alone(&seen), Finding::Inconclusive);
}

#[test]
fn p_is_that_of_the_t_test() {
    // t = 3.182 with 3 degrees of freedom is the two-sided 5 % point.
    let mut seen = compare_paired(&[(1.0, 1.1), (1.0, 1.2)], Metric::THROUGHPUT).unwrap();
    seen.error = Some(LogError {
        standard_error: seen.ratio.ln() / 3.182_446,
        freedom: 3.0,
    });
    assert!((seen.p().unwrap() - 0.05).abs() < 1e-6);
    let [low, _] = seen.ci95().unwrap();
    assert!((low - 1.0).abs() < 1e-6, "the interval ends where p is 5 %");
    assert_eq!(alone(&seen), Finding::Inconclusive);
    // The t value for a p of 3 %, the threshold of the finding, is 3.896.
    for (t, expected) in [(3.89, Finding::Inconclusive), (3.90, Finding::Faster)] {
        seen.error = Some(LogError {
            standard_error: seen.ratio.ln() / t,
            freedom: 3.0,
        });
        assert_eq!(alone(&seen), expected, "{t}");
        assert!(seen.ci95().unwrap()[0] > 1.0);
    }
}

#[test]
fn pairing_takes_out_what_changes_from_block_to_block() {
    let baseline = [100.0, 150.0, 220.0];
    let contender = [110.5, 164.0, 243.0];
    let pairs: Vec<(f64, f64)> = baseline.into_iter().zip(contender).collect();
    let paired = compare_paired(&pairs, Metric::THROUGHPUT).unwrap();
    let unpaired = compare_unpaired(&baseline, &contender, Metric::THROUGHPUT).unwrap();
    assert_eq!(alone(&paired), Finding::Faster);
    assert_eq!(alone(&unpaired), Finding::Inconclusive);
    assert!((paired.ratio - unpaired.ratio).abs() < 1e-9);
}

#[test]
fn runs_that_did_not_take_turns_look_different_at_most() {
    let seen = compare_unpaired(&[100.0, 101.0], &[300.0, 301.0], Metric::THROUGHPUT).unwrap();
    assert_eq!(alone(&seen), Finding::LooksDifferent);
    assert_eq!(seen.between_runs, Some(0.03));
    assert_eq!(
        seen.blocks_to_settle(LEVEL),
        None,
        "more of the same would not help"
    );
    // A single run may differ by more than the 5 % between these two runs with quiet blocks.
    let quiet = compare_unpaired(&[100.0; 5], &[105.0; 5], Metric::THROUGHPUT).unwrap();
    assert_eq!(alone(&quiet), Finding::Inconclusive);
    let [low, high] = quiet.ci95().unwrap();
    // The interval uses Student's t with eight degrees of freedom.
    let half = 2.306_004 * (2.0_f64 * 0.03 * 0.03).sqrt();
    assert!((high / low - (2.0 * half).exp()).abs() < 1e-4);
}

/// Returns the share of equal runs that the comparison calls different. The runs have several
/// blocks, and the levels of the runs vary by four fifths of the noise of the blocks. With this
/// variation, Welch's test calls 13 to 23 % of equal runs different, as observed.
fn equal_runs(chance: &mut Chance, rounds: u32, blocks: usize, noise: f64) -> f64 {
    let mut run = || -> Vec<f64> {
        let level = 0.8 * noise * chance.normal();
        (0..blocks).map(|_| 1000.0 * (level + noise * chance.normal()).exp()).collect()
    };
    let called = (0..rounds).filter(|_| {
        let seen = compare_unpaired(&run(), &run(), Metric::THROUGHPUT).unwrap();
        alone(&seen).is_difference()
    });
    called.count() as f64 / f64::from(rounds)
}

#[test]
fn of_equal_runs_at_most_one_in_thirty_looks_different() {
    let mut chance = Chance::new(61);
    for blocks in [2, 3, 5] {
        for noise in [0.01, 0.02, 0.05, 0.10] {
            let called = equal_runs(&mut chance, 4000, blocks, noise);
            println!("{blocks} blocks, noise {noise}: {called:.3}");
            assert!(called <= 0.035, "{blocks} blocks, noise {noise}: {called}");
        }
    }
}

#[test]
fn one_block_a_side_has_a_ratio_and_no_interval() {
    let seen = compare_paired(&[(100.0, 300.0)], Metric::THROUGHPUT).unwrap();
    assert_eq!((seen.ci95(), alone(&seen)), (None, Finding::Inconclusive));
    assert_eq!(
        (seen.could_see(LEVEL), seen.blocks_to_settle(LEVEL)),
        (None, None)
    );
    assert!((seen.ratio - 3.0).abs() < 1e-12);
    let seen = compare_unpaired(&[100.0, 101.0], &[300.0], Metric::THROUGHPUT).unwrap();
    assert_eq!((seen.ci95(), seen.blocks), (None, 1));
}

#[test]
fn values_that_have_no_logarithm_are_left_out() {
    assert_eq!(
        compare_paired(&[(0.0, 5.0), (5.0, f64::NAN)], Metric::LATENCY),
        Err(NotCompared::NoValues)
    );
    assert_eq!(
        compare_unpaired(&[], &[1.0], Metric::LATENCY),
        Err(NotCompared::NoValues)
    );
    let pairs = [(0.0, 5.0), (2.0, 4.0)];
    assert_eq!(compare_paired(&pairs, Metric::LATENCY).unwrap().blocks, 1);
}

#[test]
fn the_smallest_visible_effect_is_seen_in_four_of_five() {
    let mut chance = Chance::new(8);
    let noise = 0.02;
    let pairs = |chance: &mut Chance, effect: f64| -> Vec<(f64, f64)> {
        let ratio = |chance: &mut Chance| (effect + noise * chance.normal()).exp();
        (0..10).map(|_| (1000.0, 1000.0 * ratio(chance))).collect()
    };
    // The scatter of each simulated study is only an estimate, so the test replaces it with the
    // true scatter.
    let error = LogError {
        standard_error: noise / 10.0_f64.sqrt(),
        freedom: 9.0,
    };
    let mut known = compare_paired(&[(1.0, 1.0)], Metric::THROUGHPUT).unwrap();
    known.error = Some(error);
    let size = known.could_see(DIFFERENCE_LEVEL).unwrap();
    let rounds = 2000;
    let found = (0..rounds)
        .filter(|_| {
            let made = pairs(&mut chance, (1.0 + size).ln());
            let seen = compare_paired(&made, Metric::THROUGHPUT).unwrap();
            seen.p().unwrap() <= DIFFERENCE_LEVEL
        })
        .count();
    let share = found as f64 / f64::from(rounds);
    assert!((0.76..0.86).contains(&share), "{share}");
}

#[test]
fn so_many_blocks_settle_it_whatever_the_difference() {
    let seen = compare_paired(
        &[(100.0, 97.0), (100.0, 103.5), (100.0, 101.0)],
        Metric::THROUGHPUT,
    )
    .unwrap();
    assert_eq!(alone(&seen), Finding::Inconclusive);
    let blocks = seen.blocks_to_settle(DIFFERENCE_LEVEL).unwrap();
    let deviation = seen.error.unwrap().standard_error * 3.0_f64.sqrt();
    for percent in -60..=60 {
        let settled = Comparison {
            ratio: (f64::from(percent) / 1000.0).exp(),
            blocks,
            error: Some(LogError {
                standard_error: deviation / (blocks as f64).sqrt(),
                freedom: blocks as f64 - 1.0,
            }),
            ..seen.clone()
        };
        assert_ne!(alone(&settled), Finding::Inconclusive, "{percent}");
    }
    let wild = compare_paired(&[(1.0, 9.0), (9.0, 1.0)], Metric::THROUGHPUT).unwrap();
    assert_eq!(wild.blocks_to_settle(LEVEL), None);
}

#[test]
fn a_lower_bound_decides_only_toward_larger_values() {
    use Known::{AtLeast, Exactly};
    let spread = [0.99, 1.0, 1.01];
    let side = |value: f64, of: fn(f64) -> Known| spread.map(|wobble| of(value * wobble));
    let base = [Exactly(10.0); 3];
    let pairs = |contender: [Known; 3], turned: bool| -> Vec<(Known, Known)> {
        let both = base.into_iter().zip(contender);
        both.map(|(b, c)| if turned { (c, b) } else { (b, c) }).collect()
    };
    for (value, there, back) in [
        // The contender's latency is at least twice the baseline's, so the contender is slower.
        // After an exchange of the two variants, the contender is faster.
        (20.0, Finding::Slower, Finding::Faster),
        // The contender's latency is at least this value, but may be arbitrarily high.
        (5.0, Finding::Inconclusive, Finding::Inconclusive),
        // The values are equal, but the true latency of the contender may be ten times as high.
        (10.0, Finding::Inconclusive, Finding::Inconclusive),
    ] {
        let contender = side(value, AtLeast);
        for (turned, bound, expected) in
            [(false, Bound::AtLeast, there), (true, Bound::AtMost, back)]
        {
            let pairs = pairs(contender, turned);
            let seen = compare_paired(&pairs, Metric::LATENCY).unwrap();
            assert_eq!(alone(&seen), expected, "{value} {bound:?}");
            assert_eq!((seen.bound, seen.ci95()), (Some(bound), None));
            assert!(seen.ci95_end().is_some());
            let (left, right): (Vec<Known>, Vec<Known>) = pairs.into_iter().unzip();
            let seen = compare_unpaired(&left, &right, Metric::LATENCY).unwrap();
            let apart = match expected {
                Finding::Inconclusive => expected,
                _ => Finding::LooksDifferent,
            };
            assert_eq!((alone(&seen), seen.bound), (apart, Some(bound)));
        }
    }
    // A lower bound in one of three blocks is enough to make the ratio a bound. If both variants
    // have lower bounds, the ratio is unknown.
    let one = [AtLeast(10.0), Exactly(10.0), Exactly(10.0)];
    let seen = compare_paired(&pairs(one, false), Metric::LATENCY).unwrap();
    assert_eq!(
        (seen.bound, alone(&seen), seen.p()),
        (Some(Bound::AtLeast), Finding::Inconclusive, Some(1.0))
    );
    assert_eq!(
        (seen.could_see(LEVEL), seen.blocks_to_settle(LEVEL)),
        (None, None)
    );
    let both = [(AtLeast(1.0), Exactly(9.0)), (Exactly(1.0), AtLeast(9.0))];
    assert_eq!(
        compare_paired(&both, Metric::LATENCY),
        Err(NotCompared::BoundsOnBothSides)
    );
    assert_eq!(
        compare_unpaired(&[AtLeast(1.0)], &[AtLeast(9.0)], Metric::LATENCY),
        Err(NotCompared::BoundsOnBothSides)
    );
}

/// A timeout censors the values of one variant, and the true values of both variants are equal.
#[test]
fn equal_variants_with_one_censored_differ_in_at_most_1_in_30() {
    let mut chance = Chance::new(29);
    for blocks in [2, 3, 5, 10] {
        for limit in [-1.0, 0.0, 0.5, 1.5] {
            let rounds = 4000;
            let called = (0..rounds)
                .filter(|_| {
                    let pair = |_| {
                        let (left, right) = (chance.normal(), chance.normal());
                        let right = if right > limit {
                            Known::AtLeast((0.05 * limit).exp())
                        } else {
                            Known::Exactly((0.05 * right).exp())
                        };
                        (Known::Exactly((0.05 * left).exp()), right)
                    };
                    let pairs: Vec<(Known, Known)> = (0..blocks).map(pair).collect();
                    alone(&compare_paired(&pairs, Metric::LATENCY).unwrap()).is_difference()
                })
                .count() as f64
                / f64::from(rounds);
            println!("{blocks} blocks, cut off at {limit}: {called:.3}");
            assert!(
                called <= 0.035,
                "{blocks} blocks, cut off at {limit}: {called}"
            );
        }
    }
}

proptest! {
    #[test]
    fn changing_sides_turns_ratio_and_finding_round(
        pairs in prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 2..8)) {
        let turned: Vec<(f64, f64)> = pairs.iter().map(|&(b, c)| (c, b)).collect();
        let there = compare_paired(&pairs, Metric::LATENCY).unwrap();
        let back = compare_paired(&turned, Metric::LATENCY).unwrap();
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        let expected = match alone(&there) {
            Finding::Faster => Finding::Slower,
            Finding::Slower => Finding::Faster,
            same => same,
        };
        prop_assert_eq!(alone(&back), expected);
    }
}
