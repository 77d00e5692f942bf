//! Tests change points with published vectors, planted steps, and series without changes.

use super::*;
use crate::test_series::Chance;

/// These ten values come from the documentation of Otava, whose code finds one change in them.
const DOCUMENTED: [f64; 10] = [
    10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03,
];

/// This series comes from Otava's own test of the divisive search.
const THREE_LEVELS: [f64; 14] = [
    0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0,
];

fn is_near(seen: f64, expected: f64) -> bool {
    (seen / expected - 1.0).abs() < 1e-3
}

#[test]
fn changes_are_where_otava_finds_them() {
    let found = shifts(&DOCUMENTED, Limits::OTAVA);
    let [shift] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!((shift.at, shift.before_count, shift.after_count), (6, 6, 4));
    assert!(is_near(shift.before, 10.481_667) && is_near(shift.after, 9.125));
    // Otava reports p = 4.99e-6, because Otava divides by n instead of n - 1, where n is the number
    // of values.
    assert!(is_near(shift.p, 1.0072e-5), "{}", shift.p);
    assert_eq!(divisive(&THREE_LEVELS, 0.01), [5, 8]);
}

#[test]
fn the_energy_distance_is_that_of_its_definition() {
    let values = THREE_LEVELS;
    let distances = Distances::from_values(&values);
    let pairs = |part: &[f64]| {
        let each = part.iter().enumerate();
        let of = |(i, a): (usize, &f64)| {
            let after = part[i + 1..].iter();
            after.map(|b| (a - b).abs()).sum::<f64>()
        };
        each.map(of).sum::<f64>()
    };
    for (at, end) in [(1, 2), (5, 14), (8, 9), (3, 8)] {
        let (left, right) = (&values[..at], &values[at..end]);
        let (n, m) = (left.len() as f64, right.len() as f64);
        let between = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs()));
        let mut expected = 2.0 / (n + m) * between.sum::<f64>();
        if n > 1.0 {
            expected -= 2.0 * m / (n + m) / (n - 1.0) * pairs(left);
        }
        if m > 1.0 {
            expected -= 2.0 * n / (n + m) / (m - 1.0) * pairs(right);
        }
        let seen = distances.gain([0, at], [at, end]);
        assert!(
            (seen - expected).abs() < 1e-9,
            "{at} {end}: {seen} {expected}"
        );
    }
}

/// With the deviations that Otava uses, p would be 0.00090 for the first two samples.
#[test]
fn the_t_test_divides_by_the_right_number() {
    let (left, right) = ([1.0, 1.1, 0.9, 1.05], [1.3, 1.35, 1.4]);
    let p = p_of_difference(&left, &right);
    assert!(is_near(p, 0.001_808_93), "{p}");
    assert_eq!(p_of_difference(&[1.0, 1.0], &[1.0, 1.0]), 1.0);
    assert_eq!(p_of_difference(&[1.0, 1.0], &[2.0, 2.0]), 0.0);
    assert_eq!(p_of_difference(&[1.0], &[2.0]), 1.0);
    assert_eq!(p_of_difference(&[], &[2.0]), 1.0);
}

/// Returns runs that differ by 2 % from each other. From run 15 on, their level is multiplied by
/// `step`.
fn runs(chance: &mut Chance, step: f64) -> Vec<f64> {
    let run = |index: usize| {
        let level = if index < 15 { 1.0 } else { step };
        1000.0 * level * (1.0 + 0.02 * chance.normal())
    };
    (0..30).map(run).collect()
}

#[test]
fn equal_runs_show_a_change_in_fewer_than_2_of_100_series() {
    let mut chance = Chance::new(11);
    let (mut any, mut confirmed) = (0, 0);
    for _ in 0..1000 {
        let values = runs(&mut chance, 1.0);
        any += usize::from(!shifts(&values, Limits::OTAVA).is_empty());
        let large = shifts(&values, Limits::with_magnitude(0.03));
        confirmed += usize::from(large.iter().any(Shift::is_confirmed));
    }
    // Of 2000 series from another generator, 17 in 1000 had a change, and 4 in 1000 had a confirmed
    // change.
    assert!(any <= 30, "{any} of 1000 series");
    assert!(
        confirmed <= 10,
        "{confirmed} of 1000 series of 3 % and confirmed"
    );
}

#[test]
fn a_step_of_five_percent_is_found_at_its_run() {
    let mut chance = Chance::new(12);
    for step in [1.05, 0.95] {
        let (mut exact, mut near) = (0, 0);
        for _ in 0..200 {
            let found = shifts(&runs(&mut chance, step), Limits::with_magnitude(0.03));
            if let [shift] = found.as_slice() {
                exact += usize::from(shift.at == 15);
                near += usize::from((14..=16).contains(&shift.at) && shift.is_confirmed());
            }
        }
        // Of a hundred series, about 74 have the change exactly at run 15, and 91 have it within
        // one run of run 15.
        assert!(exact >= 130, "{exact} of 200 at their run");
        assert!(near >= 170, "{near} of 200 within one run");
    }
}

#[test]
fn a_spike_is_not_confirmed() {
    let mut values = vec![100.0; 20];
    values.iter_mut().enumerate().for_each(|(i, v)| *v += (i % 3) as f64 * 0.1);
    values[12] = 60.0;
    let found = shifts(&values, Limits::with_magnitude(0.03));
    assert!(!found.iter().any(Shift::is_confirmed), "{found:?}");
    // A change in the last runs may be a change point, but is not confirmed.
    values[12] = 100.0;
    values[19] = 60.0;
    let found = shifts(&values, Limits::with_magnitude(0.03));
    assert!(!found.iter().any(Shift::is_confirmed), "{found:?}");
}

#[test]
fn short_and_flat_series_have_no_change() {
    for values in [vec![], vec![1.0], vec![1.0, 2.0], vec![5.0; 40]] {
        assert!(shifts(&values, Limits::OTAVA).is_empty(), "{values:?}");
    }
}

/// Windows overlap, so a change at the border of one window is in the middle of another window.
#[test]
fn a_change_is_found_anywhere_in_a_long_series() {
    let mut chance = Chance::new(13);
    for at in [20, 25, 49, 50, 51, 75, 150] {
        let value = |i: usize| if i < at { 100.0 } else { 120.0 };
        let values: Vec<f64> = (0..200).map(|i| value(i) + chance.normal()).collect();
        let found = shifts(&values, Limits::with_magnitude(0.05));
        assert_eq!(found.iter().map(|s| s.at).collect::<Vec<_>>(), [at]);
    }
}
