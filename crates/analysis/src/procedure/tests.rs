//! Tests the results of every procedure of the table. The servers in these tests are formulas.
//!
//! A new procedure must be added to `any_procedure`, and must then satisfy the tests of all
//! procedures.

mod band;
mod endurance;
mod search;

use super::*;
use crate::test_series::Chance;
use endurance::number_of;
use expect_test::{Expect, expect};
use measure::Known;
use proptest::prelude::*;

/// A server that takes `service_ms` for a request, and completes up to `ops_per_s` requests a
/// second. The knee of the server is the point where these limits meet, at `service_ms * ops_per_s
/// / 1000` threads.
#[derive(Clone, Copy, Debug)]
struct Server {
    service_ms: f64,
    ops_per_s: f64,
    timeout_ms: f64,
    /// Standard deviation of the logarithm of each figure of a trial.
    noise: f64,
    /// Share of the trials that fail.
    fails: f64,
    seed: u64,
}

const CALM: Server = Server {
    service_ms: 2.0,
    ops_per_s: 8000.0,
    timeout_ms: 1e9,
    noise: 0.0,
    fails: 0.0,
    seed: 0,
};

impl Server {
    /// Returns the trial at a point. The result does not depend on the order of the calls.
    fn trial(&self, ask: Ask) -> SeenTrial {
        let Ask { point, role } = ask;
        let place = (point.value() as u64).wrapping_mul(0x9E37_79B9) ^ number_of(role);
        let mut chance = Chance::new(self.seed ^ place);
        let has_failed = chance.uniform() < self.fails;
        let mut noisy = |value: f64| value * (self.noise * chance.normal()).exp();
        let (ops_per_s, mean_ms) = match point {
            Point::Threads(threads) => {
                let threads = f64::from(threads);
                let alone = threads / self.service_ms * 1000.0;
                let ops_per_s = alone.min(self.ops_per_s);
                (ops_per_s, threads / ops_per_s * 1000.0)
            }
            Point::Rate(rate) => {
                let load = rate as f64 / self.ops_per_s;
                let waits = 1.0 / (1.0 - load.min(0.999));
                (self.ops_per_s * load.min(1.0), self.service_ms * waits)
            }
        };
        let p99_ms = noisy(3.0 * mean_ms);
        let found = TrialOutcome {
            ops_per_s: noisy(ops_per_s),
            timed_out: u64::from(p99_ms >= self.timeout_ms),
            ..p99(if p99_ms < self.timeout_ms {
                Known::Exactly(p99_ms)
            } else {
                Known::AtLeast(self.timeout_ms)
            })
        };
        SeenTrial {
            point,
            role,
            found: Some(found).filter(|_| !has_failed),
        }
    }
}

fn p99(p99_ms: Known) -> TrialOutcome {
    let mut found = TrialOutcome::default();
    found.latency_ms.p99.value = p99_ms;
    found.latency_ms.p50.value = Known::Exactly(p99_ms.least() / 3.0);
    found
}

/// Continues a run to its end after the trials in `seen`. If the procedure offers several points,
/// `order` and the number of trials determine the next point, as in a plan.
fn go_on(
    procedure: &dyn Decide,
    server: &Server,
    order: u64,
    seen: Vec<SeenTrial>,
) -> (Vec<SeenTrial>, Answer) {
    let next = |seen: &[SeenTrial]| procedure.next(seen);
    walk(&procedure.outlook(), &next, server, order, seen)
}

fn walk(
    outlook: &ProcedureEstimate,
    next: &dyn Fn(&[SeenTrial]) -> Next,
    server: &Server,
    order: u64,
    mut seen: Vec<SeenTrial>,
) -> (Vec<SeenTrial>, Answer) {
    loop {
        let asks = match next(&seen) {
            Next::Answer(answer) => return (seen, answer),
            Next::Measure(asks) => asks,
        };
        let pick = Chance::new(order ^ seen.len() as u64).uniform() * asks.len() as f64;
        let ask = asks[(pick as usize).min(asks.len() - 1)];
        let point = ask.point;
        assert!(outlook.any_order || asks.len() == 1, "{asks:?}");
        match outlook.points.get(seen.len()) {
            Some(_) => assert!(
                outlook.points.contains(&point),
                "{point:?} is not a surprise"
            ),
            None => assert!(outlook.up_to.unwrap().value() >= point.value()),
        }
        assert!(seen.len() < outlook.turns_max, "it ends");
        let is_probed = |trial: &SeenTrial| trial.point == point && trial.role == Role::Probe;
        let mut answered = seen.iter().filter(|trial| trial.found.is_some());
        let is_again = ask.role == Role::Probe && answered.any(is_probed);
        assert!(!is_again, "{point:?} once");
        assert_eq!(
            Role::parse(&ask.role.name()),
            ask.role,
            "as it is read back"
        );
        seen.push(server.trial(ask));
    }
}

fn any_points() -> impl Strategy<Value = Vec<Point>> {
    let threads = proptest::collection::btree_set(1..200u32, 1..12)
        .prop_map(|set| set.into_iter().map(Point::Threads).collect());
    let rates = proptest::collection::btree_set(100..20_000u64, 1..12);
    prop_oneof![
        threads,
        rates.prop_map(|set| set.into_iter().map(Point::Rate).collect::<Vec<_>>())
    ]
}

fn any_procedure() -> impl Strategy<Value = Procedure> {
    let fixed = any_points().prop_map(|points| FixedPoint(points[0]).into());
    let whole = any_points().prop_shuffle().prop_map(|points| {
        let until = None;
        Sweep { points, until }.into()
    });
    let until = prop_oneof![
        proptest::option::of(-0.1..0.1).prop_map(|gain_min| Until::Flat { gain_min }),
        Just(Until::Timeout),
        Just(Until::Plateau),
        Just(Until::Saturation),
        (1.0..100.0).prop_map(Until::P99Ms)
    ];
    let ends = (any_points(), until).prop_map(|(points, until)| {
        let until = Some(until);
        Sweep { points, until }.into()
    });
    let band = (1..400u32, 1..90u32, 0..1000u32, 0.5..100.0, 1.0..3.0)
        .prop_map(|(from, step, more, least_ms, factor)| Band {
            from,
            step,
            to: from + more,
            least_ms,
            most_ms: least_ms * factor,
            expected: (step % 2 == 0).then_some(0.7),
        })
        .prop_map(Procedure::from);
    prop_oneof![
        fixed,
        whole,
        ends,
        band,
        endurance::any(),
        search::any().prop_map(Procedure::from)
    ]
}

fn any_server(fails: f64) -> impl Strategy<Value = Server> {
    let ranges = (0.1..10.0, 500.0..50_000.0, 5.0..200.0, 0.0..0.3, 0..1000u64);
    ranges.prop_map(
        move |(service_ms, ops_per_s, timeout_ms, noise, seed)| Server {
            service_ms,
            ops_per_s,
            timeout_ms,
            noise,
            fails,
            seed,
        },
    )
}

proptest! {
    /// `walk` also checks that no point is probed twice, and that the outlook announced every
    /// point.
    #[test]
    fn a_procedure_ends_and_has_measured_what_was_certain(
        procedure in any_procedure(),
        server in any_server(0.2),
        order in 0..1000u64,
    ) {
        let outlook = procedure.outlook();
        let next = |seen: &[SeenTrial]| procedure.next(seen);
        let (seen, answer) = walk(&outlook, &next, &server, order, Vec::new());
        for point in &outlook.points[..outlook.certain] {
            prop_assert!(seen.iter().any(|trial| trial.point == *point), "{:?}", point);
        }
        let again = procedure.next(&seen);
        prop_assert_eq!(again, Next::Answer(answer), "it stays at its answer");
    }

    /// The procedure is interrupted after each of its trials, and resumed with the finished trials.
    #[test]
    fn a_resumed_procedure_ends_as_an_uninterrupted_one(
        procedure in any_procedure(),
        server in any_server(0.0),
        order in 0..1000u64,
    ) {
        let outlook = procedure.outlook();
        let next = |seen: &[SeenTrial]| procedure.next(seen);
        let whole = walk(&outlook, &next, &server, order, Vec::new());
        for done in 0..=whole.0.len() {
            let resumed = procedure.clone();
            let next = |seen: &[SeenTrial]| resumed.next(seen);
            let seen = whole.0[..done].to_vec();
            let again = walk(&outlook, &next, &server, order, seen);
            prop_assert_eq!(&again, &whole, "after {} trials", done);
        }
    }
}

fn rising(values: &[u32]) -> Vec<Point> {
    values.iter().copied().map(Point::Threads).collect()
}

fn check(until: Option<Until>, server: Server, expect: Expect) {
    let points = rising(&[1, 2, 4, 8, 16, 32, 64, 128]);
    let procedure = Sweep { points, until };
    let (seen, answer) = go_on(&procedure, &server, 0, Vec::new());
    let mut values: Vec<f64> = seen.iter().map(|trial| trial.point.value()).collect();
    values.sort_by(f64::total_cmp);
    expect.assert_eq(&format!("{values:?}\n{}\n", answer.words()));
}

/// The knee of the calm server is at 16 threads, where p99 is 6 ms. At 32 threads, p99 is 12 ms.
#[test]
fn a_ladder_ends_where_the_formula_says() {
    check(
        Some(Until::P99Ms(10.0)),
        CALM,
        expect![[r#"
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
            the ladder ended at 32 threads: p99 is above 10 ms or a request times out
        "#]],
    );
    check(
        Some(Until::Timeout),
        Server {
            timeout_ms: 20.0,
            ..CALM
        },
        expect![[r#"
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
            the ladder ended at 64 threads: a request times out
        "#]],
    );
    check(
        Some(Until::Timeout),
        CALM,
        expect![[r#"
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
            the run measured every point
        "#]],
    );
    let timeout_ms = 20.0;
    check(
        None,
        Server { timeout_ms, ..CALM },
        expect![[r#"
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
            the run measured every point
        "#]],
    );
}

/// Returns the next step on a ladder after trials with the outcomes `found` at 1, 2, 4, … threads.
fn after(until: Until, found: &[Option<TrialOutcome>]) -> Next {
    let points = rising(&[1, 2, 4, 8, 16, 32, 64]);
    let trials = points.iter().zip(found);
    let seen: Vec<SeenTrial> = trials
        .map(|(&point, found)| SeenTrial {
            point,
            role: Role::Probe,
            found: found.clone(),
        })
        .collect();
    let until = Some(until);
    Procedure::from(Sweep { points, until }).next(&seen)
}

fn ends(until: Until, found: &[Option<TrialOutcome>]) -> bool {
    matches!(after(until, found), Next::Answer(Answer::Ended { .. }))
}

#[test]
fn a_ladder_ends_when_p99_is_above_its_bound_for_certain() {
    let ends = |p99_ms: Known| ends(Until::P99Ms(10.0), &[Some(p99(p99_ms))]);
    assert!(ends(Known::Exactly(10.1)) && ends(Known::AtLeast(10.1)));
    assert!(!ends(Known::Exactly(9.9)) && !ends(Known::AtLeast(9.9)));
}

#[test]
fn a_failed_trial_is_ignored_and_the_next_point_comes() {
    let timed_out = TrialOutcome {
        timed_out: 1,
        ..TrialOutcome::default()
    };
    let next = |value| Next::Measure(vec![Ask::probe(Point::Threads(value))]);
    assert_eq!(after(Until::Timeout, &[None]), next(2));
    let calm = Some(TrialOutcome::default());
    assert_eq!(after(Until::Timeout, &[calm, None, None]), next(8));
    // Further trials may follow the trial that timed out, for example if a failed trial is
    // repeated.
    assert!(ends(Until::Timeout, &[None, Some(timed_out), None]));
}

/// At the rates in this test, cassandra-stress makes the same decisions.
#[test]
fn a_ladder_is_flat_if_its_steps_gain_less_than_the_error() {
    let is_flat = |rates: &[f64], gain_min: Option<f64>| {
        let found = |&ops_per_s: &f64| {
            Some(TrialOutcome {
                ops_per_s,
                ..TrialOutcome::default()
            })
        };
        let found: Vec<_> = rates.iter().map(found).collect();
        ends(Until::Flat { gain_min }, &found)
    };
    let falls_in_three = |rates: &[f64]| is_flat(rates, None);
    assert!(!falls_in_three(&[]) && !falls_in_three(&[100.0, 90.0, 80.0]));
    assert!(falls_in_three(&[100.0, 90.0, 80.0, 70.0]));
    // One run that doubles the rate outweighs two runs that lose a tenth each. The average of these
    // changes is an improvement.
    assert!(!falls_in_three(&[100.0, 200.0, 180.0, 162.0]));
    assert!(falls_in_three(&[0.0; 4]), "nothing was done");
    let slow: Vec<f64> = (0..6).map(|run| 1.01f64.powi(run)).collect();
    assert!(
        !is_flat(&slow, None),
        "a count has no uncertainty to aim for"
    );
    assert!(is_flat(&slow, Some(0.02)) && !is_flat(&slow[..5], Some(0.02)));
}

/// A test procedure that searches for the highest number of threads with a p99 within a bound, by
/// bisection. The procedure chooses its points during the run.
struct HalvingProcedure {
    to: u32,
    p99_ms: f64,
}

impl Decide for HalvingProcedure {
    fn outlook(&self) -> ProcedureEstimate {
        ProcedureEstimate {
            points: vec![Point::Threads(self.to)],
            certain: 1,
            turns_max: 1 + self.to.ilog2() as usize + 1,
            up_to: Some(Point::Threads(self.to)),
            any_order: false,
            decided_by: None,
        }
    }

    fn next(&self, seen: &[SeenTrial]) -> Next {
        let (mut low, mut high) = (0, self.to + 1);
        for trial in seen {
            let at = trial.point.value() as u32;
            let found = trial.found.as_ref();
            let p99_ms = found.map(|found| found.latency_ms.p99.value);
            match p99_ms.and_then(|p99_ms| p99_ms.is_above(self.p99_ms)) {
                Some(false) => low = low.max(at),
                _ => high = high.min(at),
            }
        }
        let middle = if seen.is_empty() {
            self.to
        } else {
            (low + high) / 2
        };
        if low < middle && middle < high {
            Next::Measure(vec![Ask::probe(Point::Threads(middle))])
        } else {
            Next::Answer(Answer::Complete)
        }
    }
}

/// The p99 of the calm server is 6 ms up to 16 threads, and grows by 3/8 ms for each thread above
/// that. So the expected points are known.
#[test]
fn a_procedure_may_find_its_points_on_the_way() {
    for (p99_ms, expected) in [(10.0, 26.0), (9.1, 24.0), (1.0, 0.0), (1e3, 1000.0)] {
        let procedure = HalvingProcedure { to: 1000, p99_ms };
        let whole = go_on(&procedure, &CALM, 0, Vec::new());
        let within = whole.0.iter().filter(|trial| {
            let found = trial.found.as_ref();
            found.is_some_and(|found| found.latency_ms.p99.value.is_above(p99_ms) == Some(false))
        });
        let best = within.map(|trial| trial.point.value()).fold(0.0, f64::max);
        assert!((best - expected).abs() < 1e-9, "{p99_ms} ms: {best}");
        for done in 0..=whole.0.len() {
            let seen = whole.0[..done].to_vec();
            assert_eq!(go_on(&procedure, &CALM, 0, seen), whole);
        }
    }
}

const BAND: Band = Band {
    from: 1,
    step: 1,
    to: 400,
    least_ms: 0.0,
    most_ms: 0.0,
    expected: None,
};

#[test]
fn a_point_is_known_by_its_axis_and_value() {
    for point in [Point::Threads(28), Point::Rate(5000)] {
        assert_eq!(Point::on_axis(point.axis(), point.value()), Some(point));
    }
    let unknown = [
        ("threads", 1.5),
        ("threads", -1.0),
        ("rate", f64::NAN),
        ("nodes", 1.0),
    ];
    for (axis, value) in unknown {
        assert_eq!(Point::on_axis(axis, value), None, "{axis} {value}");
    }
}
