//! Tests fits to curves whose coefficients are known: the fitted coefficients, their intervals, and
//! the choice of the best curve.

use super::*;

/// Returns points whose numbers of units on each socket are known. `off` returns the deviation of a
/// point in a block, as a logarithm.
fn made(
    (model, truth): (Model, &[f64]),
    splits: &[&[u32]],
    mut off: impl FnMut(usize, usize) -> f64,
    blocks: usize,
) -> Vec<Point> {
    let mut of = |(place, split): (usize, &&[u32])| {
        let at: Vec<f64> = split.iter().map(|units| f64::from(*units)).collect();
        let ops = model.ops_per_s(X1, truth, &at).unwrap();
        let trials = (0..blocks).map(|block| Some(ops * off(place, block).exp()));
        Point {
            split: split.to_vec(),
            ops_per_s: trials.collect(),
            ..point(split.iter().sum(), split.len() as u32, &[])
        }
    };
    splits.iter().enumerate().map(&mut of).collect()
}

const LEVELS: [f64; 3] = [0.0953, 0.0, -0.1054];

/// In an earlier version, which fitted the means of points, κ₂ was 0.086, and the upper end of its
/// interval was 0.098.
#[test]
fn a_trial_that_is_missing_does_not_bend_the_curve() {
    let truth = [0.03, 0.004, 0.1];
    let splits: [&[u32]; 7] = [&[1], &[2], &[3], &[4], &[2, 2], &[3, 3], &[4, 4]];
    let planted = (Model::TwoLevel, truth.as_slice());
    let mut points = made(planted, &splits, |_, block| LEVELS[block], 3);
    points[6].ops_per_s[2] = None;
    let found = read_all(&points);
    let fit = fit_of(&found, Model::TwoLevel).unwrap();
    for (seen, truth) in fit.coefficients.iter().zip(truth) {
        near(seen.value, truth, 1e-5);
        let [low, high] = seen.ci95.unwrap();
        assert!(low <= truth + 1e-5 && truth <= high + 1e-5, "{seen:?}");
    }
    near(fit.off, 0.0, 1e-6);
    near(fit.left_out_off.unwrap(), 0.0, 1e-5);
    near(fit.x1 / X1, 1.0, 5e-3);
    assert_eq!(found.best, Ok(Model::TwoLevel));
}

#[test]
fn points_that_no_block_binds_to_the_others_are_in_no_curve() {
    let splits: [&[u32]; 5] = [&[1], &[2], &[3], &[4], &[4, 4]];
    let planted = (Model::Amdahl, [0.05].as_slice());
    let mut points = made(planted, &splits, |_, block| LEVELS[block], 3);
    points[4].ops_per_s[..2].fill(None);
    points[..4].iter_mut().for_each(|of| of.ops_per_s[2] = None);
    let found = read_all(&points);
    let fit = fit_of(&found, Model::Amdahl).unwrap();
    assert_eq!(fit.points, 4);
    near(fit.coefficients[0].value, 0.05, 1e-6);
    // Each point was measured in a separate block, so no two points can be compared.
    for (at, point) in points.iter_mut().enumerate() {
        point.ops_per_s = vec![None; 5];
        point.ops_per_s[at] = Some(X1);
    }
    let found = read_all(&points);
    let few = NoFit::FewPoints {
        points: 1,
        needed: 3,
    };
    assert_eq!(fit_of(&found, Model::Amdahl), Err(few));
}

/// If trials were the only observations, about half of the intervals would contain the true value.
/// With four blocks, the fit does not resample blocks. Resampling takes time and does not detect
/// the deviations of points.
#[test]
fn deviations_of_places_widen_the_intervals_of_a_curve() {
    let splits: [&[u32]; 4] = [&[1], &[2], &[4], &[4, 4]];
    let held = |seed: u64| {
        let mut chance = Chance::new(seed);
        let places: Vec<f64> = splits.iter().map(|_| 0.01 * chance.normal()).collect();
        let off = |place: usize, _| places[place] + 0.003 * chance.normal();
        let points = made((Model::Amdahl, &[0.03]), &splits, off, 4);
        let fits = fits::fits(&points, TWO_BY_FOUR);
        holds(fits[0].1.as_ref().unwrap().coefficients[0].ci95, 0.03)
    };
    let share = coverage(100, held);
    println!("{share:.2}");
    assert!(share >= 0.88, "{share}");
}

#[test]
fn points_off_every_curve_beyond_noise_have_no_best_curve() {
    let splits: [&[u32]; 7] = [&[1], &[2], &[3], &[4], &[2, 2], &[3, 3], &[4, 4]];
    let places = [0.02, -0.02, 0.02, -0.02, 0.02, -0.02, 0.02];
    let mut chance = Chance::new(4);
    let off = |place: usize, _| places[place] + 0.001 * chance.normal();
    let points = made((Model::TwoLevel, &[0.03, 0.004, 0.1]), &splits, off, 4);
    let found = read_all(&points);
    assert!(found.fits.iter().flat_map(|of| &of.1).all(|fit| fit.beyond_noise));
    assert_eq!(found.best, Err(NoBest::BeyondNoise));
    let said = found.sentences().join(" ");
    assert!(said.contains("by more than their noise"), "{said}");
}

/// In an earlier version, a curve with many coefficients and few trials had no AICc, so the
/// comparison omitted it.
#[test]
fn a_curve_that_cannot_be_judged_leaves_none_the_best() {
    let splits: [&[u32]; 6] = [&[1], &[2], &[3], &[4], &[3, 3], &[4, 4]];
    let off = |place: usize, _| [0.001, -0.001][place % 2];
    let points = made((Model::TwoLevel, &[0.02, 0.0, 0.3]), &splits, off, 1);
    let found = read_all(&points);
    assert!(fit_of(&found, Model::Amdahl).unwrap().aicc.is_some());
    assert_eq!(fit_of(&found, Model::TwoLevel).unwrap().aicc, None);
    assert_eq!(found.best, Err(NoBest::FewTrials));
}

#[test]
fn a_curve_by_itself_is_compared_with_nothing() {
    let splits: [&[u32]; 3] = [&[1], &[2], &[4]];
    let points = made(
        (Model::Amdahl, &[0.05]),
        &splits,
        |_, block| LEVELS[block],
        3,
    );
    let found = read_all(&points);
    assert_eq!(found.best, Err(NoBest::OnlyOne));
    let said = found.sentences().join(" ");
    let only = "Only Amdahl's law fits the number of points: the Universal Scalability Law needs \
         more points";
    assert!(said.contains(only), "{said}");
}

/// In an earlier version, the search for the upper end of the interval of κ stopped at 1, so the
/// upper end was below the estimate.
#[test]
fn an_interval_holds_what_was_found_however_large() {
    let splits: [&[u32]; 4] = [&[1], &[2], &[3], &[4]];
    let off = |place: usize, block: usize| [0.01, -0.01, 0.005][(place + block) % 3];
    let points = made((Model::Usl, &[0.2, 1.5]), &splits, off, 3);
    let found = read_all(&points);
    let usl = fit_of(&found, Model::Usl).unwrap();
    let kappa = usl.coefficients[1];
    let [low, high] = kappa.ci95.unwrap();
    assert!(
        low < kappa.value && kappa.value < high && kappa.value > 1.0,
        "{kappa:?}"
    );
}

#[test]
fn an_interval_that_nothing_ends_has_no_upper_end() {
    // If the points do not include a single unit, the curve approaches the shape 1 ÷ (N − 1) as κ
    // grows without limit.
    let splits: [&[u32]; 4] = [&[2], &[3], &[4], &[5]];
    let off = |place: usize, block: usize| [0.01, -0.01, 0.005][(place + block) % 3];
    let points = made((Model::Usl, &[0.0, 30.0]), &splits, off, 3);
    let found = read_all(&points);
    let usl = fit_of(&found, Model::Usl).unwrap();
    let [low, high] = usl.coefficients[1].ci95.unwrap();
    assert!(low.is_finite() && high.is_infinite(), "{low} to {high}");
    let said = format!("{:?} {:?}", usl.peak, found.sentences());
    assert!(!said.contains("NaN"), "{said}");
}

/// In an earlier version, the N* of such points was 0. The throughput at N* was then 0 ÷ 0 op/s,
/// which made the record unreadable.
#[test]
fn throughput_that_falls_from_the_first_unit_has_a_finite_peak() {
    let machine = MachineSize {
        units_per_socket: 4,
        sockets: 1,
    };
    let noise = [1.003, 1.0, 0.997];
    let points = [(1, 1000.0), (2, 952.0), (3, 909.0), (4, 869.8)]
        .map(|(units, ops)| point(units, 1, &noise.map(|noise| ops * noise)));
    let found = read(&points, machine, Metric::THROUGHPUT);
    let usl = fit_of(&found, Model::Usl).unwrap();
    assert_eq!(usl.coefficients[0].value, 1.0);
    assert_eq!(usl.peak, Some(Peak::First { threads: 1.0 }));
    let said = found.sentences().join(" ");
    assert!(
        said.contains("falls from the first number of units, 1"),
        "{said}"
    );
}

/// Returns, for each coefficient, the share of machines for which the interval contains the true
/// value.
fn covered((model, truth): (Model, &[f64]), blocks: usize, runs: u64) -> Vec<f64> {
    let mut held = vec![0; truth.len()];
    for seed in 0..runs {
        let points = planted((model, truth), &LADDER, blocks, 0.01, seed);
        let fits = fits::fits(&points, TWO_BY_FOUR);
        let fit = fits.into_iter().find(|(which, _)| *which == model).unwrap().1.unwrap();
        for ((of, truth), held) in fit.coefficients.iter().zip(truth).zip(&mut held) {
            *held += u32::from(holds(of.ci95, *truth).unwrap());
        }
    }
    let share = |held: u32| f64::from(held) / runs as f64;
    held.into_iter().map(share).collect()
}

fn coefficients_covered(cases: [(usize, u64); 3]) {
    let models: [(Model, &[f64]); 3] = [
        (Model::Amdahl, &[0.03]),
        (Model::Usl, &[0.03, 0.004]),
        (Model::TwoLevel, &[0.03, 0.004, 0.1]),
    ];
    for (blocks, runs) in cases {
        for (model, truth) in models {
            let held = covered((model, truth), blocks, runs);
            println!("{model:?}, {blocks} blocks: {held:?}");
            // The limit is 95 % minus three standard errors. The intervals may contain the true
            // value more often than stated.
            let least = 0.95 - 3.0 * (0.95 * 0.05 / runs as f64).sqrt();
            assert!(
                held.iter().all(|held| *held >= least),
                "{model:?}: {held:?}"
            );
        }
    }
}

#[test]
fn coefficients_are_covered_as_often_as_they_say() {
    coefficients_covered([(1, 40), (3, 40), (5, 15)]);
}

#[test]
#[ignore = "long: cargo xtask audit"]
fn audit_of_the_coefficients_of_machines() {
    let (_, runs) = crate::test_series::audit();
    let runs = u64::from(runs);
    coefficients_covered([(1, runs / 4), (3, runs / 4), (5, runs / 20)]);
}
