//! Tests that a knee is found in sweeps that have a knee, and only in such sweeps.

use super::*;
use crate::test_series::Chance;

fn points(rows: &[(f64, f64, f64)]) -> Vec<SweepStep> {
    let point = |&(load, ops_per_s, p99_ms): &(f64, f64, f64)| SweepStep {
        load,
        ops_per_s: vec![ops_per_s],
        p99_ms: Known::Exactly(p99_ms),
        state: State::Kept,
    };
    rows.iter().map(point).collect()
}

#[test]
fn a_sweep_past_saturation_has_a_peak_a_bound_and_a_knee() {
    let sweep = points(&[
        (4.0, 10_000.0, 1.0),
        (8.0, 19_000.0, 1.1),
        (16.0, 30_000.0, 1.8),
        (32.0, 30_600.0, 3.9),
        (64.0, 29_900.0, 8.5),
    ]);
    let seen = read_sweep(&sweep, Some(1.5));
    assert_eq!(
        seen,
        Reading {
            best: Some(3),
            best_within_bound: Some(1),
            inconclusive_within_bound: None,
            first_over_bound: Some(2),
            saturated_from: None,
            knee: Knee::At(2),
            best_is_last: false,
        }
    );
}

#[test]
fn a_p99_that_is_a_lower_bound_is_over_a_bound_or_nobody_knows() {
    let mut sweep = points(&[
        (4.0, 10_000.0, 1.0),
        (8.0, 19_000.0, 1.1),
        (16.0, 30_000.0, 1.2),
        (32.0, 31_000.0, 1.8),
    ]);
    for point in &mut sweep[2..] {
        point.p99_ms = Known::AtLeast(point.p99_ms.least());
    }
    // In a real run, the report stated that 16 threads "was the most within 1.5 ms". However, the
    // p99 at 16 threads was only known to be at least 1.2 ms.
    let seen = read_sweep(&sweep, Some(1.5));
    assert_eq!(
        (
            seen.best_within_bound,
            seen.inconclusive_within_bound,
            seen.first_over_bound
        ),
        (Some(1), Some(2), Some(3))
    );
    // The p99 of a point does not matter if the throughput of the point is lower than that of the
    // best point within the bound.
    sweep[2].ops_per_s = vec![18_000.0];
    assert_eq!(
        read_sweep(&sweep, Some(1.5)).inconclusive_within_bound,
        None
    );
    // None of the points is certainly within the bound, but one point may be.
    for point in &mut sweep {
        point.p99_ms = Known::AtLeast(2.0);
    }
    sweep[3].p99_ms = Known::AtLeast(1.0);
    let seen = read_sweep(&sweep, Some(1.5));
    assert_eq!(
        (
            seen.best_within_bound,
            seen.inconclusive_within_bound,
            seen.first_over_bound
        ),
        (None, Some(3), Some(0))
    );
    assert_eq!(read_sweep(&sweep, None).inconclusive_within_bound, None);
}

#[test]
fn a_knee_needs_a_p99_that_has_grown_for_certain() {
    let flat = [
        (4.0, 30_000.0, 1.0),
        (8.0, 30_300.0, 2.0),
        (16.0, 30_100.0, 4.0),
        (32.0, 30_200.0, 8.5),
    ];
    let knee = |bound: Option<usize>| {
        let mut sweep = points(&flat);
        if let Some(at) = bound {
            sweep[at].p99_ms = Known::AtLeast(sweep[at].p99_ms.least());
        }
        read_sweep(&sweep, None).knee
    };
    assert_eq!((knee(None), knee(Some(3))), (Knee::At(0), Knee::At(0)));
    // If the p99 at 4 threads is a lower bound, p99 may not have grown from 4 threads on. From 8
    // threads on, it has certainly grown.
    assert_eq!(knee(Some(0)), Knee::At(1));
}

#[test]
fn a_rising_sweep_has_no_knee_and_its_best_point_is_the_last() {
    let sweep = points(&[
        (4.0, 10_000.0, 1.0),
        (8.0, 19_000.0, 1.1),
        (16.0, 33_000.0, 1.3),
    ]);
    let seen = read_sweep(&sweep, None);
    assert_eq!(
        (seen.best, seen.knee, seen.best_is_last),
        (Some(2), Knee::Growing, true)
    );
    assert_eq!(
        (seen.best_within_bound, seen.first_over_bound),
        (None, None)
    );
}

#[test]
fn flat_throughput_without_rising_latency_is_not_a_knee() {
    // Throughput stays the same without a rise in p99, for example, if the client is at its own
    // limit, which V3 reports.
    let sweep = points(&[(4.0, 10_000.0, 1.0), (8.0, 10_050.0, 1.0)]);
    assert_eq!(read_sweep(&sweep, None).knee, Knee::Inconclusive);
}

#[test]
fn steps_that_are_shorter_than_the_noise_show_no_knee() {
    // In a real run, the report stated that 64 threads "was the knee" of these points. The
    // throughput at 65 threads was less than 3 % higher.
    let sweep = points(&[
        (64.0, 50_000.0, 2.00),
        (65.0, 50_300.0, 2.05),
        (66.0, 51_400.0, 2.04),
        (67.0, 52_000.0, 2.10),
        (68.0, 52_500.0, 2.11),
        (70.0, 53_900.0, 2.13),
    ]);
    assert_eq!(read_sweep(&sweep, None).knee, Knee::Inconclusive);
}

#[test]
fn a_flat_pair_before_more_growth_is_not_a_knee() {
    let sweep = points(&[
        (8.0, 20_000.0, 1.0),
        (16.0, 20_100.0, 2.2),
        (32.0, 39_000.0, 2.3),
        (64.0, 70_000.0, 2.6),
    ]);
    assert_ne!(read_sweep(&sweep, None).knee, Knee::At(0));
}

#[test]
fn saturated_rates_are_read_and_not_passed_over() {
    let mut sweep = points(&[
        (5_000.0, 5_000.0, 1.0),
        (10_000.0, 10_000.0, 1.2),
        (15_000.0, 12_300.0, 900.0),
        (20_000.0, 12_500.0, 2500.0),
    ]);
    sweep[2].state = State::Saturated;
    sweep[3].state = State::Saturated;
    let seen = read_sweep(&sweep, Some(10.0));
    assert_eq!((seen.knee, seen.saturated_from), (Knee::At(1), Some(2)));
    assert_eq!((seen.best, seen.best_within_bound), (Some(1), Some(1)));
    assert_eq!((seen.first_over_bound, seen.best_is_last), (Some(2), false));
    // The target kept up again at a higher load, so the saturation was an incident and not the
    // limit.
    sweep[3].state = State::Kept;
    assert_eq!(read_sweep(&sweep, None).saturated_from, None);
    // All points are saturated, so the best point is the point with the highest throughput.
    sweep.iter_mut().for_each(|p| p.state = State::Saturated);
    assert_eq!(read_sweep(&sweep, None).best, Some(3));
}

#[test]
fn unusable_points_are_skipped_and_the_lowest_equal_load_wins() {
    let mut sweep = points(&[(4.0, 10.0, 1.0), (8.0, 10.0, 2.0), (16.0, 90.0, 9.0)]);
    sweep[2].state = State::Unusable;
    let seen = read_sweep(&sweep, None);
    assert_eq!((seen.best, seen.best_is_last), (Some(0), false));
    assert_eq!(read_sweep(&[], Some(1.0)).best, None);
    assert_eq!(read_sweep(&[], None).knee, Knee::Inconclusive);
}

/// Returns a sweep whose throughput grows with the elasticity `elasticity` up to the load `knee`,
/// and stays the same beyond the knee.
fn ladder(
    chance: &mut Chance,
    loads: &[f64],
    (elasticity, knee): (f64, f64),
    (noise, blocks): (f64, usize),
) -> Vec<SweepStep> {
    let point = |&load: &f64| {
        let truth = load.min(knee).powf(elasticity);
        let ops: Vec<f64> =
            (0..blocks).map(|_| 1000.0 * truth * (noise * chance.normal()).exp()).collect();
        SweepStep {
            load,
            p99_ms: Known::Exactly(load / truth * (0.1 * chance.normal()).exp()),
            ops_per_s: ops,
            state: State::Kept,
        }
    };
    loads.iter().map(point).collect()
}

/// Returns the share of sweeps that have a knee. If `at` is set, only knees at this point or at a
/// neighbouring point count.
fn share(made: impl Iterator<Item = Vec<SweepStep>>, at: Option<usize>) -> f64 {
    let (mut found, mut all) = (0, 0);
    for points in made {
        all += 1;
        found += match (read_sweep(&points, None).knee, at) {
            (Knee::At(seen), Some(at)) => u32::from(seen.abs_diff(at) <= 1),
            (Knee::At(_), None) => 1,
            _ => 0,
        };
    }
    f64::from(found) / f64::from(all)
}

const DOUBLING: [f64; 6] = [4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
const SHORT: [f64; 6] = [64.0, 65.0, 66.0, 67.0, 68.0, 70.0];
const HALVES: [f64; 6] = [8.0, 12.0, 16.0, 24.0, 32.0, 48.0];

#[test]
fn of_rising_ladders_at_most_1_in_20_has_a_knee() {
    let mut chance = Chance::new(41);
    for loads in [DOUBLING, SHORT, HALVES] {
        for elasticity in [0.5, 0.8, 1.0] {
            for noise in [(0.02, 1), (0.02, 3), (0.05, 1), (0.10, 1), (0.10, 3)] {
                let made = (0..400).map(|_| ladder(&mut chance, &loads, (elasticity, 1e9), noise));
                let seen = share(made, None);
                println!("{loads:?} {elasticity} {noise:?}: {seen:.3}");
                assert!(seen <= 0.05, "{loads:?} {elasticity} {noise:?}: {seen}");
            }
        }
    }
}

#[test]
fn the_knee_of_a_ladder_that_has_one_is_found() {
    let mut chance = Chance::new(43);
    for noise in [(0.02, 1), (0.02, 3), (0.05, 3)] {
        let made = (0..400).map(|_| ladder(&mut chance, &DOUBLING, (0.9, 16.0), noise));
        let seen = share(made, Some(2));
        println!("{noise:?}: {seen:.3}");
        assert!(seen >= 0.9, "{noise:?}: {seen}");
    }
}
