//! Tests percentiles whose true values are known, and how often the intervals contain the true
//! values.

use super::*;
use crate::test_series::{Chance, Pauses};

/// Returns the blocks of sixty seconds, with 500 exponential latencies a second. The scale of the
/// latencies drifts from second to second.
fn window(chance: &mut Chance, phi: f64, swing: f64) -> Blocks {
    let mut blocks = Blocks::new();
    for level in chance.autocorrelated(60, phi) {
        let mut second = Histogram::new();
        for _ in 0..500 {
            let value_ms = -chance.uniform().ln() * (swing * level).exp();
            second.record((value_ms * 1e6) as u64);
        }
        blocks.push(&second);
    }
    blocks
}

/// Returns the true quantile of the latencies that `window` draws. The function draws far more
/// values than a window contains.
fn truth(q: f64, swing: f64) -> f64 {
    let mut chance = Chance::new(99);
    let mut all = Histogram::new();
    for _ in 0..8_000 {
        let scale = (swing * chance.normal()).exp();
        (0..100).for_each(|_| all.record((-chance.uniform().ln() * scale * 1e6) as u64));
    }
    all.quantile_ns(q) as f64
}

#[test]
fn coverage_of_percentiles_is_near_95_percent() {
    let mut chance = Chance::new(11);
    for (phi, swing, least) in [(0.0, 0.0, 0.92), (0.0, 0.2, 0.90), (0.5, 0.2, 0.87)] {
        let windows = 100;
        let made: Vec<Blocks> = (0..windows).map(|_| window(&mut chance, phi, swing)).collect();
        for q in [0.5, 0.99] {
            let truth = truth(q, swing);
            let intervals: Vec<[u64; 2]> =
                made.iter().filter_map(|blocks| blocks.quantile_ci95_ns(q)).collect();
            // In rare cases, the values of a window are so correlated, or a block differs so much,
            // that the function does not return an interval.
            assert!(
                intervals.len() * 10 >= made.len() * 9,
                "{}",
                intervals.len()
            );
            let hits = intervals.iter().filter(|[low, high]| {
                *low as f64 <= truth * 1.001 && truth <= *high as f64 * 1.001
            });
            let coverage = hits.count() as f64 / intervals.len() as f64;
            println!("phi {phi} swing {swing} q {q}: coverage {coverage:.3}");
            assert!(
                coverage >= least,
                "phi {phi} swing {swing} q {q}: {coverage}"
            );
        }
    }
}

#[test]
fn swings_between_seconds_make_the_interval_longer() {
    let width = |swing: f64| {
        let [low, high] = window(&mut Chance::new(5), 0.5, swing).quantile_ci95_ns(0.5).unwrap();
        high - low
    };
    assert!(width(0.2) > 2 * width(0.0), "{} {}", width(0.2), width(0.0));
}

#[test]
fn a_percentile_with_under_100_values_above_it_has_no_interval() {
    let mut blocks = Blocks::new();
    let mut chance = Chance::new(1);
    for _ in 0..10 {
        let mut second = Histogram::new();
        (0..2000).for_each(|_| second.record((chance.uniform() * 1e6) as u64));
        blocks.push(&second);
    }
    // Of the 20,000 values, 200 are above p99 and 20 are above p99.9.
    let intervals = blocks.ci95_ms();
    assert_eq!(intervals.keys().collect::<Vec<_>>(), ["p50", "p95", "p99"]);
}

#[test]
fn a_tail_that_lies_in_one_second_cannot_be_bounded() {
    let mut blocks = Blocks::new();
    for second in 0..20u64 {
        let mut values = Histogram::new();
        (0..1000).for_each(|n| values.record(1_000_000 + n));
        (0..u64::from(second == 7) * 300).for_each(|n| values.record((900 + n) * 1_000_000));
        blocks.push(&values);
    }
    assert!(blocks.quantile_ci95_ns(0.5).is_some());
    assert_eq!(blocks.quantile_ci95_ns(0.99), None);
}

#[test]
fn a_long_run_keeps_few_blocks_and_every_value() {
    let mut blocks = Blocks::new();
    for second in 0..1000u64 {
        let mut values = Histogram::new();
        (0..10).for_each(|n| values.record(1000 + second * 7 + n * 100));
        blocks.push(&values);
        assert!(blocks.blocks.len() <= BLOCKS_MAX);
    }
    let kept: u64 = blocks.blocks.iter().flatten().map(|(_, count)| count).sum();
    assert_eq!((kept, blocks.histogram().count()), (10_000, 10_000));
    // All blocks except the last contain the same number of intervals.
    let sizes: Vec<u64> =
        blocks.blocks.iter().map(|block| block.iter().map(|(_, n)| n).sum()).collect();
    assert!(
        sizes[..sizes.len() - 1].iter().all(|size| *size == sizes[0]),
        "{sizes:?}"
    );
}

/// Returns two shares of windows of 30 s. The first is the share of windows whose interval of p99
/// misses the true value. The second is the share of windows that miss the true value although
/// their interval does not depend on few incidents. The server pauses, while operations are due at
/// a fixed rate.
fn wrong(pauses: Pauses, windows: u32, seed: u64) -> [f64; 2] {
    let mut chance = Chance::new(seed);
    let truth = pauses.truth(&mut chance).quantile_ns(0.99) as f64;
    let mut counts = [0u32; 3];
    for _ in 0..windows {
        let blocks = pauses.window(&mut chance, 30, 500);
        let Some([low, high]) = blocks.quantile_ci95_ns(0.99) else {
            counts[2] += 1;
            continue;
        };
        if truth < low as f64 * 0.999 || high as f64 * 1.001 < truth {
            counts[0] += 1;
            counts[1] += u32::from(!blocks.has_few_incidents(0.99));
        }
    }
    let [wrong, plain, none] = counts.map(|count| f64::from(count) / f64::from(windows));
    println!("{pauses:?}: none {none:.2}, wrong {wrong:.3}, of them not labelled {plain:.3}");
    [wrong, plain]
}

fn percentiles_with_pauses(windows: u32, seed: u64) {
    for (every_s, long_s, most, most_plain) in PAUSES {
        let [wrong, plain] = wrong(Pauses { every_s, long_s }, windows, seed);
        assert!(wrong <= most, "{every_s} {long_s}: {wrong}");
        assert!(
            plain <= most_plain,
            "{every_s} {long_s}: not labelled {plain}"
        );
    }
}

#[test]
fn the_p99_of_a_pausing_server_is_bounded_labelled_or_absent() {
    percentiles_with_pauses(30, 19);
}

#[test]
#[ignore = "long: cargo xtask audit"]
fn audit_of_the_p99_of_a_server_that_pauses() {
    let (seed, runs) = crate::test_series::audit();
    percentiles_with_pauses(runs / 4, seed);
}

/// Each row contains the time between two pauses, the length of a pause, and the maximum of each of
/// the two shares that `wrong` returns. Times are in seconds.
const PAUSES: [(f64, f64, f64, f64); 5] = [
    (1e9, 1.0, 0.10, 0.10),
    (4.0, 0.1, 0.15, 0.10),
    (8.0, 0.3, 0.20, 0.12),
    (10.0, 0.2, 0.25, 0.15),
    // In this row, 22 % of windows contain no pause.
    (20.0, 1.0, 0.40, 0.38),
];

#[test]
fn each_block_that_is_whole_says_its_own() {
    let mut blocks = Blocks::new();
    for interval in 0..65 {
        let mut histogram = Histogram::new();
        (0..100).for_each(|_| histogram.record(1_000_000 * (1 + interval / 2)));
        histogram.record(90_000_000);
        blocks.push(&histogram);
    }
    // Intervals are joined in pairs. The last pair contains only one interval, so it is omitted.
    let medians = blocks.each(|block| quantile_ms(block, 0.5));
    assert_eq!((blocks.intervals_per_block(), medians.len()), (2, 32));
    let near = |(at, ms): (usize, &f64)| (ms / (at as f64 + 1.0) - 1.0).abs() < 0.002;
    assert!(medians.iter().enumerate().all(near), "{medians:?}");
    let tails = blocks.each(|block| quantile_ms(block, 0.999));
    assert!(
        tails.iter().all(|ms| (ms / 90.0 - 1.0).abs() < 0.002),
        "{tails:?}"
    );
    let mean = blocks.each(mean_ms)[0];
    assert!((mean - (100.0 + 90.0) / 101.0).abs() < 0.01, "{mean}");
    assert_eq!(quantile_ms(&[], 0.5), 0.0);
}
