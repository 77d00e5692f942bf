//! Tests the analysis of scale-up with machines whose efficiencies are known.

mod fitted;

use super::*;
use crate::curves::Peak;
use crate::test_series::Chance;
use proptest::prelude::*;

const TWO_BY_FOUR: MachineSize = MachineSize {
    units_per_socket: 4,
    sockets: 2,
};
/// Coefficients for which the efficiency is 98 % within a socket of four units, and 90 % over two
/// such sockets.
const PAPER: [f64; 3] = [0.006_802_7, 0.0, 0.088_888_9];
const X1: f64 = 10_000.0;
/// Numbers of units and sockets of each point. Units first fill one socket one by one, and are then
/// spread evenly over both sockets.
const LADDER: [(u32, u32); 7] = [(1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (6, 2), (8, 2)];

fn point(units: u32, sockets: u32, ops: &[f64]) -> Point {
    Point {
        units,
        sockets,
        split: Vec::new(),
        ops_per_s: ops.iter().map(|ops| Some(*ops)).collect(),
    }
}

/// Returns points with the throughput of a model, with noise for each trial and for each block.
fn planted(
    (model, truth): (Model, &[f64]),
    places: &[(u32, u32)],
    blocks: usize,
    noise: f64,
    seed: u64,
) -> Vec<Point> {
    let mut chance = Chance::new(seed);
    let levels: Vec<f64> = (0..blocks).map(|_| noise * chance.normal()).collect();
    let mut of = |(units, sockets): &(u32, u32)| {
        let split = vec![f64::from(units / sockets); *sockets as usize];
        let ops = model.ops_per_s(X1, truth, &split).unwrap();
        let trials = levels.iter().map(|level| ops * (level + noise * chance.normal()).exp());
        point(*units, *sockets, &trials.collect::<Vec<_>>())
    };
    places.iter().map(&mut of).collect()
}

fn read_all(points: &[Point]) -> ScaleUp {
    read(points, TWO_BY_FOUR, Metric::THROUGHPUT)
}

fn fit_of(found: &ScaleUp, model: Model) -> Result<&Fit, NoFit> {
    let of = found.fits.iter().find(|(which, _)| *which == model);
    of.unwrap().1.as_ref().map_err(|why| *why)
}

fn near(seen: f64, expected: f64, by: f64) {
    assert!((seen - expected).abs() < by, "{seen}, not {expected}");
}

#[test]
fn published_efficiencies_follow_from_matching_throughputs() {
    let one = |ops: f64| [ops, 1.02 * ops, 0.99 * ops];
    let points = [
        point(1, 1, &one(10_000.0)),
        point(4, 1, &one(39_200.0)),
        point(8, 2, &one(72_000.0)),
    ];
    let found = read_all(&points);
    let [socket, system, cross] = [found.socket, found.system, found.cross].map(Result::unwrap);
    near(socket.value, 0.98, 1e-9);
    near(system.value, 0.90, 1e-9);
    near(cross.value, 0.918, 5e-4);
    near(cross.value, system.value / socket.value, 1e-12);
    // The blocks have different levels but the same ratio, so the interval of the ratio has no
    // width.
    let [low, high] = cross.ci95.unwrap();
    assert!(high - low < 1e-9 && cross.blocks == 3);
    near(found.points[2].speed_up.unwrap().value, 7.2, 1e-9);
    assert_eq!(found.points[0].efficiency.unwrap().ci95, Some([1.0; 2]));
}

#[test]
fn two_levels_give_both_published_efficiencies_and_one_does_not() {
    let points = planted((Model::TwoLevel, &PAPER), &LADDER, 5, 0.0, 1);
    let found = read_all(&points);
    let two = fit_of(&found, Model::TwoLevel).unwrap();
    for (seen, truth) in two.coefficients.iter().zip(PAPER) {
        near(seen.value, truth, 1e-5);
    }
    near(two.ops_per_s(&[4.0]).unwrap() / (4.0 * X1), 0.98, 1e-4);
    near(two.ops_per_s(&[4.0, 4.0]).unwrap() / (8.0 * X1), 0.90, 1e-4);
    assert_eq!(found.best, Ok(Model::TwoLevel));
    // The true κ₁ is zero, so the fit must report κ₁ as not significant.
    assert!(!two.coefficients[1].is_told() && two.coefficients[2].is_told());
    // Without bounds, the σ of the Universal Scalability Law would be below 0.
    let usl = fit_of(&found, Model::Usl).unwrap();
    assert!(usl.coefficients.iter().all(|of| of.value >= 0.0), "{usl:?}");
    assert!(usl.off > 100.0 * two.off);
}

#[test]
fn a_law_fitted_to_published_efficiencies_stays_in_its_bounds() {
    let points: Vec<Point> = [(1, 1, 1.0), (2, 1, 0.994), (4, 1, 0.98), (8, 2, 0.90)]
        .map(|(units, sockets, share)| point(units, sockets, &[X1 * f64::from(units) * share]))
        .into();
    let found = read_all(&points);
    let usl = fit_of(&found, Model::Usl).unwrap();
    let [sigma, kappa] = [0, 1].map(|of| usl.coefficients[of].value);
    assert_eq!(sigma, 0.0);
    // With σ = 0, a κ of about 0.002 follows from the published efficiencies.
    near(kappa, 0.002, 4e-4);
}

fn coverage(runs: u64, holds: impl Fn(u64) -> Option<bool>) -> f64 {
    let told: Vec<bool> = (0..runs).filter_map(holds).collect();
    assert!(told.len() as u64 > runs * 9 / 10, "{} told", told.len());
    told.iter().filter(|held| **held).count() as f64 / told.len() as f64
}

fn holds(ci95: Option<[f64; 2]>, truth: f64) -> Option<bool> {
    ci95.map(|[low, high]| low <= truth + 1e-12 && truth <= high + 1e-12)
}

#[test]
fn efficiencies_are_covered_as_often_as_they_say() {
    for blocks in [2, 3, 5] {
        let of = |seed: u64| {
            let points = planted((Model::TwoLevel, &PAPER), &LADDER, blocks, 0.01, seed);
            let system = system(&points, TWO_BY_FOUR, Metric::THROUGHPUT).unwrap();
            holds(system.ci95, 0.90)
        };
        let held = coverage(1500, of);
        println!("{blocks} blocks: {held:.3}");
        // The limits are 95 % plus or minus three standard errors of 1,500 machines.
        assert!((0.933..=0.967).contains(&held), "{blocks}: {held}");
    }
}

fn chosen(truth: (Model, &[f64]), runs: u64) -> f64 {
    let right = (0..runs).filter(|seed| {
        let points = planted(truth, &LADDER, 4, 0.005, *seed);
        fits::best(&fits::fits(&points, TWO_BY_FOUR)) == Ok(truth.0)
    });
    right.count() as f64 / runs as f64
}

#[test]
fn the_curve_that_made_the_points_is_the_best() {
    for (truth, least) in [
        // In one of ten cases, noise alone leads to the choice of a model with one coefficient too
        // many.
        ((Model::Amdahl, [0.04].as_slice()), 0.8),
        ((Model::Usl, [0.02, 0.006].as_slice()), 0.8),
        ((Model::TwoLevel, [0.02, 0.004, 0.1].as_slice()), 0.9),
    ] {
        let share = chosen(truth, 60);
        println!("{:?}: {share:.2}", truth.0);
        assert!(share >= least, "{truth:?}: {share}");
    }
}

#[test]
fn a_peak_is_told_where_kappa_is_and_nowhere_else() {
    let places = [1, 2, 4, 8, 16].map(|units| (units, 1));
    let machine = MachineSize {
        units_per_socket: 16,
        sockets: 1,
    };
    let usl = |truth: &[f64]| {
        let points = planted((Model::Usl, truth), &places, 4, 0.004, 7);
        let found = read(&points, machine, Metric::THROUGHPUT);
        let said = found.sentences().join(" ");
        (fit_of(&found, Model::Usl).unwrap().peak.unwrap(), said)
    };
    let (peak, said) = usl(&[0.02, 0.01]);
    let Peak::At { threads_ci95, .. } = peak else {
        panic!("{peak:?}");
    };
    let truth = (0.98_f64 / 0.01).sqrt();
    assert!(threads_ci95[0] < truth && truth < threads_ci95[1]);
    assert!(said.contains("op/s at 10 units"), "{said}");
    let (peak, said) = usl(&[0.05, 0.0]);
    assert_eq!(peak, Peak::Inconclusive);
    assert!(
        said.contains("κ of the Universal Scalability Law does not differ significantly from 0")
    );
    assert!(said.contains("one socket"), "{said}");
}

#[test]
fn of_two_points_there_is_an_efficiency_and_no_curve() {
    let machine = MachineSize {
        units_per_socket: 2,
        sockets: 1,
    };
    let points = [
        point(1, 1, &[100.0, 102.0, 99.0]),
        point(2, 1, &[190.0, 193.0, 188.0]),
    ];
    let found = read(&points, machine, Metric::THROUGHPUT);
    near(found.socket.unwrap().value, 0.9486, 1e-3);
    assert!(found.socket.unwrap().ci95.is_some());
    assert_eq!(found.system, Err(MissingRatio::OneSocket));
    assert_eq!(
        fit_of(&found, Model::Amdahl),
        Err(NoFit::FewPoints {
            points: 2,
            needed: 3
        })
    );
    assert_eq!(found.best, Err(NoBest::NoCurve));
    let said = found.sentences().join("\n");
    assert!(
        said.contains("2 points determine an efficiency and no curve"),
        "{said}"
    );
}

#[test]
fn one_block_has_ratios_without_intervals() {
    let points = planted((Model::Amdahl, &[0.05]), &LADDER[..4], 1, 0.0, 1);
    let found = read_all(&points);
    assert_eq!(found.points[3].efficiency.unwrap().ci95, None);
    assert_eq!(found.points[3].ops_per_s_ci95, None);
    assert_eq!(found.cross, Err(MissingRatio::NotMeasured(Of::System)));
    // Four trials are too few to compare curves.
    assert_eq!(found.best, Err(NoBest::FewTrials));
    let said = found.sentences().join("\n");
    for part in [
        "no ratio has an interval",
        "AICc is undefined",
        "did not measure",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn a_ratio_without_common_blocks_is_missing_with_a_reason() {
    let mut points = planted((Model::TwoLevel, &PAPER), &LADDER, 4, 0.002, 3);
    let reading = |points: &[Point]| read_all(points);
    // A block that lacks the single unit is not a pair. A block that lacks another point does not
    // affect the results of the other points.
    points[0].ops_per_s[1] = None;
    points[3].ops_per_s[2] = None;
    let found = reading(&points);
    assert_eq!(found.socket.unwrap().blocks, 2);
    assert_eq!(found.system.unwrap().blocks, 3);
    assert_eq!(found.points[3].blocks, 3);
    near(found.system.unwrap().value, 0.9, 0.02);
    // The two throughputs of the ratio were never measured in the same block.
    points[0].ops_per_s = vec![Some(X1), None, None, None];
    points[3].ops_per_s[0] = None;
    assert_eq!(reading(&points).socket, Err(MissingRatio::NoCommonBlock));
    points[0].ops_per_s = vec![None; 4];
    let found = reading(&points);
    assert_eq!(found.system, Err(MissingRatio::NotUsable(Of::Unit)));
    assert_eq!(
        found.points[0].efficiency,
        Err(MissingRatio::NotUsable(Of::Point))
    );
    assert_eq!(found.points[0].ops_per_s, None);
    // The single unit is not needed for the efficiency across sockets and for the curves.
    assert!(found.cross.is_ok() && found.best.is_ok());
    points.remove(0);
    assert_eq!(
        reading(&points).system,
        Err(MissingRatio::NotMeasured(Of::Unit))
    );
    assert!(reading(&[]).best.is_err());
}

#[test]
fn sockets_that_are_not_evenly_full_need_to_be_known() {
    let mut odd = point(5, 2, &[1.0, 1.0]);
    assert_eq!((odd.per_socket(), odd.split()), (None, None));
    odd.split = vec![4, 1];
    assert_eq!((odd.per_socket(), odd.split()), (None, Some(vec![4, 1])));
    odd.split = vec![4, 2];
    assert_eq!(odd.split(), None);
    assert_eq!(point(6, 2, &[]).per_socket(), Some(3));
    // Sockets are filled one after the other. If the distribution of the units is known, the fit
    // returns the true curve.
    let truth = [0.02, 0.003, 0.1];
    let splits: [&[u32]; 8] = [&[1], &[2], &[3], &[4], &[4, 1], &[4, 2], &[4, 3], &[4, 4]];
    let filled = splits.map(|split| {
        let at: Vec<f64> = split.iter().map(|units| f64::from(*units)).collect();
        let ops = Model::TwoLevel.ops_per_s(X1, &truth, &at).unwrap();
        Point {
            split: split.to_vec(),
            ..point(split.iter().sum(), split.len() as u32, &[ops, ops])
        }
    });
    let found = read_all(&filled);
    let fit = fit_of(&found, Model::TwoLevel).unwrap();
    assert_eq!(fit.points, 8);
    for (seen, truth) in fit.coefficients.iter().zip(truth) {
        near(seen.value, truth, 1e-5);
    }
    // If the distribution of the units is unknown, the table lists the uneven points, but no curve
    // uses them.
    let unknown = filled.map(|of| Point {
        split: Vec::new(),
        ..of
    });
    let found = read_all(&unknown);
    assert_eq!(found.points.len(), 8);
    assert!(found.points[4].efficiency.is_ok() && found.points[4].split.is_none());
    assert_eq!(fit_of(&found, Model::Amdahl).unwrap().points, 6);
    assert!(found.sentences().join(" ").contains("2 of 8 points do not divide evenly"));
}

#[test]
fn a_second_socket_without_gain_gives_no_curve_over_all_units() {
    // According to the published factors, both sockets together have 1.04 times the throughput of
    // one socket on a machine in its usual configuration.
    let points = planted((Model::TwoLevel, &[0.01, 0.0, 0.92]), &LADDER, 3, 0.002, 5);
    let found = read_all(&points);
    assert!(matches!(
        fit_of(&found, Model::Amdahl),
        Err(NoFit::OffCurve(_))
    ));
    assert_eq!(found.best, Err(NoBest::OnlyOne));
    let only = "The two-level model is the only curve that goes through these points";
    assert!(found.sentences().join(" ").contains(only));
    near(found.cross.unwrap().value, 0.52, 0.01);
}

#[test]
fn too_little_bend_holds_coherency_at_nothing() {
    let places = [(1, 1), (4, 1), (2, 2), (8, 2)];
    let points = planted((Model::TwoLevel, &PAPER), &places, 3, 0.0, 1);
    let found = read_all(&points);
    let fit = fit_of(&found, Model::TwoLevel).unwrap();
    assert!(fit.coefficients[1].is_held && fit.coefficients[1].ci95.is_none());
    near(fit.coefficients[0].value, PAPER[0], 1e-5);
    near(fit.coefficients[2].value, PAPER[2], 1e-5);
    assert!(found.sentences().join(" ").contains("κ₁ is fixed at 0"));
    let machine = MachineSize {
        units_per_socket: 1,
        sockets: 4,
    };
    let sockets = [(1, 1), (2, 2), (3, 3), (4, 4)];
    let points = planted((Model::TwoLevel, &[0.0, 0.0, 0.1]), &sockets, 3, 0.0, 1);
    let found = read(&points, machine, Metric::THROUGHPUT);
    assert_eq!(found.socket, Err(MissingRatio::UnitIsSocket));
    near(found.cross.unwrap().value, 1.0 / 1.3, 1e-6);
    assert_eq!(fit_of(&found, Model::TwoLevel), Err(NoFit::OneLevelOfUnits));
    // If a unit is a whole socket, a fixed cost of each further socket has the same form as
    // Amdahl's law.
    near(
        fit_of(&found, Model::Amdahl).unwrap().coefficients[0].value,
        0.1,
        1e-6,
    );
}

#[test]
fn an_arm_is_compared_at_the_same_units() {
    let planned = planted(
        (Model::TwoLevel, &PAPER),
        &[(1, 1), (4, 1), (8, 2)],
        3,
        0.0,
        1,
    );
    // According to the published factors, the contender reaches 1.44 and 2.55 times the throughput
    // of the usual configuration. In that configuration, the four units are on both sockets.
    let usual = [
        point(4, 2, &[39_200.0 / 1.44; 3]),
        point(8, 2, &[72_000.0 / 2.55; 3]),
    ];
    let found = improvements(&usual, &planned, TWO_BY_FOUR, Metric::THROUGHPUT);
    let factors: Vec<(Of, u32, f64)> = found
        .iter()
        .map(|of| (of.fills, of.baseline_sockets, of.ratio.unwrap().value))
        .collect();
    assert_eq!(found.len(), 2, "one unit has nothing beside it");
    assert_eq!((factors[0].0, factors[0].1), (Of::Socket, 2));
    near(factors[0].2, 1.44, 1e-4);
    assert_eq!((factors[1].0, factors[1].1), (Of::System, 2));
    near(factors[1].2, 2.55, 1e-4);
    // If an arm has several points with the same number of units, only points with equal numbers of
    // sockets are compared.
    let both = [point(4, 1, &[1.0]), point(4, 2, &[1.0])];
    let found = improvements(
        &both,
        &[point(4, 2, &[2.0])],
        TWO_BY_FOUR,
        Metric::THROUGHPUT,
    );
    assert_eq!(found[0].baseline_sockets, 2);
    assert!(
        improvements(
            &both,
            &[point(4, 4, &[2.0])],
            TWO_BY_FOUR,
            Metric::THROUGHPUT
        )
        .is_empty()
    );
    let none = Point {
        ops_per_s: vec![None],
        ..both[0].clone()
    };
    let found = improvements(&[none], &both[..1], TWO_BY_FOUR, Metric::THROUGHPUT);
    assert_eq!(found[0].ratio, Err(MissingRatio::NotUsable(Of::Other)));
}

fn any_point() -> impl Strategy<Value = Point> {
    let ops = prop_oneof![
        4 => (1e-3f64..1e6).prop_map(Some),
        1 => Just(None),
        1 => prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY)].prop_map(Some),
    ];
    let ops = prop::collection::vec(ops, 0..4);
    (0u32..6, 0u32..4, prop::collection::vec(0u32..4, 0..3), ops).prop_map(
        |(units, sockets, split, ops_per_s)| Point {
            units,
            sockets,
            split,
            ops_per_s,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_was_measured_nothing_is_no_number(
        points in prop::collection::vec(any_point(), 0..8), n in 0u32..5, sockets in 0u32..4) {
        let machine = MachineSize { units_per_socket: n, sockets };
        let found = read(&points, machine, Metric::THROUGHPUT);
        let said = format!("{found:?} {:?}", found.sentences());
        prop_assert!(!said.contains("NaN"), "{said}");
        let against = improvements(&points, &points, machine, Metric::THROUGHPUT);
        let same = against.iter().all(|of| of.ratio.is_err() || of.ratio.unwrap().value == 1.0);
        prop_assert!(same || points.len() > 1, "{against:?}");
        let said = format!("{against:?}");
        prop_assert!(!said.contains("NaN"), "{said}");
        for (_, fit) in &found.fits {
            let Ok(fit) = fit else { continue };
            prop_assert!(fit.coefficients.iter().all(|of| of.value >= 0.0), "{fit:?}");
        }
    }
}
