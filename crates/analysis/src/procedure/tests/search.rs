//! Tests searches for the highest load within a bound: the order of their trials, their answers,
//! and their precision.

use super::*;

/// A server whose p99 is 1 ÷ (1 − r/100) ms at a rate of r thousand op/s. So the p99 reaches 10
/// times its minimum at nine tenths of the maximum throughput.
const SERVER: Server = Server {
    service_ms: 1.0 / 3.0,
    ops_per_s: 100_000.0,
    ..CALM
};
const PLANTED: f64 = 90_000.0;

fn within(of: Percentile, ms: f64) -> Bound {
    Bound {
        of,
        ms,
        errors: 0.001,
        pending: None,
    }
}

fn peak(from: u64, to: u64) -> Search {
    Search::peak(Point::Rate(from), to, within(Percentile::P99, 10.0))
}

pub(super) fn any() -> impl Strategy<Value = Search> {
    let ranges = (1..50_000u64, 1.0..300.0, 0.5..200.0, 0..4u8);
    ranges.prop_map(|(from, factor, ms, kind)| {
        let to = (from as f64 * factor) as u64;
        let bound = within(Percentile::P99, ms);
        let mut search = match kind {
            0 => Search::latency_target(Point::Threads(from as u32), to, bound),
            1 => Search::peak(Point::Threads(from as u32), to, bound),
            _ => Search::peak(Point::Rate(from), to, bound),
        };
        search.expected = (kind == 3).then_some(0.7);
        search
    })
}

/// Formats the trials and the answer. A trial is, for example, `1000 pass`, `2000 fail` or `hold
/// 1400 pass`.
fn path(procedure: &Search, server: &Server) -> String {
    let procedure = Procedure::from(procedure.clone());
    let next = |seen: &[SeenTrial]| procedure.next(seen);
    let (seen, answer) = walk(&procedure.outlook(), &next, server, 0, Vec::new());
    let word = |trial: &SeenTrial| {
        let step = procedure.step(trial).unwrap();
        match trial.role {
            Role::Hold => format!("hold {} {}", trial.point.value(), step.result),
            _ => format!("{} {}", trial.point.value(), step.result),
        }
    };
    let words: Vec<String> = seen.iter().map(word).collect();
    let lines: Vec<String> = words.chunks(6).map(|line| line.join(", ")).collect();
    let answer = answer.words().replace("; ", ";\n").replace(", the", ",\nthe");
    format!("{}\n{answer}\n", lines.join(",\n"))
}

#[test]
fn a_search_climbs_bisects_and_holds() {
    let expected = expect![[r#"
        20000 pass, 40000 pass, 80000 pass, 160000 fail, 113137 fail, 95137 fail,
        87241 pass, 91103 fail, 89151 pass, 90122 fail, hold 89151 pass, hold 89151 pass
        89,151 op/s is the highest load with a p99 within 10 ms, held twice;
        at 90,122 op/s p99 was 10.1 ms
    "#]];
    expected.assert_eq(&path(&peak(20_000, 1_000_000), &SERVER));
}

#[test]
fn a_search_goes_down_from_a_start_too_high_and_says_its_end() {
    let expected = expect![[r#"
        160000 fail, 80000 pass, 113137 fail, 95137 fail, 87241 pass, 91103 fail,
        89151 pass, 90122 fail, hold 89151 pass, hold 89151 pass
        89,151 op/s is the highest load with a p99 within 10 ms, held twice;
        at 90,122 op/s p99 was 10.1 ms
    "#]];
    expected.assert_eq(&path(&peak(160_000, 1_000_000), &SERVER));
    let expected = expect![[r#"
        6400000 fail, 3200000 fail, 1600000 fail, 800000 fail, 400000 fail, 200000 fail
        no load at or above 200,000 op/s has a p99 within 10 ms;
        at 200,000 op/s p99 was 1,000 ms
    "#]];
    expected.assert_eq(&path(&peak(6_400_000, 10_000_000), &SERVER));
    let expected = expect![[r#"
        10000 pass, 20000 pass, 40000 pass, 70000 pass
        the limit was not reached: 70,000 op/s,
        the highest load to try, still has a p99 within 10 ms
    "#]];
    expected.assert_eq(&path(&peak(10_000, 70_000), &SERVER));
}

/// Trials at the same rates both pass and fail, as on a machine that other programs interrupt. So
/// the answer is computed from all trials together.
#[test]
fn a_search_without_a_held_load_gives_the_range_of_the_maximum() {
    let seen = |rate: u64, role: Role, p99_ms: f64| SeenTrial {
        point: Point::Rate(rate),
        role,
        found: Some(p99(Known::Exactly(p99_ms))),
    };
    let probe = |rate: u64, p99_ms| seen(rate, Role::Probe, p99_ms);
    let mut trials = vec![
        probe(4000, 5.0),
        probe(8000, 6.0),
        probe(16_000, 11.0),
        probe(11_314, 7.0),
        probe(13_454, 12.0),
        probe(12_338, 9.0),
        probe(12_884, 15.0),
    ];
    let search = peak(4000, 100_000);
    loop {
        match search.next(&trials) {
            Next::Measure(asks) => {
                let ask = asks.first().expect("a trial");
                trials.push(seen(ask.point.value() as u64, Role::Hold, 11.6));
            }
            Next::Answer(answer) => {
                let words = answer.words();
                let range = "the highest load with a p99 within 10 ms is between 8,000 and 12,608 \
                     op/s: 4 of 14 trials met it; at";
                assert!(words.starts_with(range), "{words}");
                assert!(words.contains("p99 was 11.6 ms"), "{words}");
                break;
            }
        }
    }
}

/// The p99 of the calm server is 6 ms up to 16 threads, and grows by 3/8 ms for each thread above
/// that. The median is a third of the p99.
#[test]
fn a_latency_target_is_found_to_the_thread() {
    let bound = within(Percentile::P50, 10.0);
    let target = |from| Search::latency_target(Point::Threads(from), 1000, bound);
    let expected = expect![[r#"
        10 pass, 20 pass, 40 pass, 80 pass, 160 fail, 113 fail,
        95 fail, 87 fail, 83 fail, 81 fail
        80 threads is the highest load with a median within 10 ms;
        at 81 threads the median was 10.1 ms
    "#]];
    expected.assert_eq(&path(&target(10), &CALM));
    let slow = Server {
        service_ms: 40.0,
        ..CALM
    };
    let expected = expect![[r#"
        5 fail, 2 fail, 1 fail
        no load at or above 1 thread has a median within 10 ms;
        at 1 thread the median was 40.0 ms
    "#]];
    expected.assert_eq(&path(&target(5), &slow));
}

#[test]
fn a_share_of_what_was_found_is_measured_once() {
    let bound = within(Percentile::P50, 10.0);
    let search = Search {
        expected: Some(0.7),
        ..Search::latency_target(Point::Threads(80), 81, bound)
    };
    let expected = expect![[r#"
        80 pass, 81 fail, 56 expected
        80 threads is the highest load with a median within 10 ms;
        at 81 threads the median was 10.1 ms
    "#]];
    expected.assert_eq(&path(&search, &CALM));
    // If the search does not find a load, no trial at a share of that load follows.
    let slow = Server {
        service_ms: 40.0,
        ..CALM
    };
    assert!(!path(&search, &slow).contains("expected"));
}

/// Returns the next step after probes with the outcomes `found`.
fn after(found: &[TrialOutcome]) -> Next {
    let search = peak(1000, 100_000);
    let mut seen: Vec<SeenTrial> = Vec::new();
    for found in found {
        match search.next(&seen) {
            Next::Measure(asks) => seen.push(SeenTrial {
                point: asks[0].point,
                role: asks[0].role,
                found: Some(found.clone()),
            }),
            answer => return answer,
        }
    }
    search.next(&seen)
}

fn fine() -> TrialOutcome {
    p99(Known::Exactly(1.0))
}

#[test]
fn each_thing_that_a_load_must_keep_to_fails_a_probe() {
    let next = |value| Next::Measure(vec![Ask::probe(Point::Rate(value))]);
    assert_eq!(after(&[fine()]), next(2000));
    let mut many: Vec<TrialOutcome> = vec![fine(); 6];
    many[0].latency_ms.p99.value = Known::Exactly(10.1);
    // A lower bound that is within the limit does not prove that the true value is within the
    // limit.
    many[1].latency_ms.p99.value = Known::AtLeast(2.0);
    many[2].shortfall = 0.011;
    many[3].error_share = 0.0011;
    many[4].pending_grew = true;
    many[5].judged = TrialJudgement::Invalid("V8".to_owned());
    for found in many {
        assert_eq!(after(std::slice::from_ref(&found)), next(500), "{found:?}");
    }
    let near = TrialOutcome {
        shortfall: 0.009,
        error_share: 0.0009,
        ..p99(Known::Exactly(10.0))
    };
    assert_eq!(after(&[near]), next(2000));
}

#[test]
fn pending_compactions_have_a_limit_where_one_is_said() {
    let bound = Bound {
        pending: Some(5),
        ..within(Percentile::P50, 10.0)
    };
    let pending = |count: Option<f64>| TrialOutcome {
        pending_at_end: count,
        pending_grew: true,
        ..fine()
    };
    assert_eq!(bound.judge(Some(&pending(Some(5.0)))), BoundCheck::Yes);
    assert_eq!(bound.judge(Some(&pending(None))), BoundCheck::Yes);
    let over = BoundCheck::No("6 compactions were pending at the end, more than 5".to_owned());
    assert_eq!(bound.judge(Some(&pending(Some(6.0)))), over);
}

#[test]
fn a_bound_within_the_interval_of_a_percentile_is_near() {
    let bound = within(Percentile::P99, 10.0);
    for (ci95, near) in [
        (None, false),
        (Some([8.0, 9.9]), false),
        (Some([9.0, 11.0]), true),
        (Some([10.1, 11.0]), false),
    ] {
        let mut found = fine();
        found.latency_ms.p99.ci95 = ci95;
        assert_eq!(bound.is_near(&found), near, "{ci95:?}");
    }
}

fn outcome(next: Next) -> SearchOutcome {
    match next {
        Next::Answer(Answer::Searched(ending)) => ending.outcome(),
        next => panic!("{next:?}"),
    }
}

#[test]
fn a_client_limit_or_a_repeated_disturbance_ends_a_search() {
    let judged = |judged| TrialOutcome { judged, ..fine() };
    let client = judged(TrialJudgement::Client("V3".to_owned()));
    assert_eq!(
        outcome(after(&[fine(), client])),
        SearchOutcome::ClientLimit
    );
    let disturbed = || judged(TrialJudgement::Disturbed("V4".to_owned()));
    let again = Next::Measure(vec![Ask::probe(Point::Rate(2000))]);
    assert_eq!(after(&[fine(), disturbed()]), again);
    assert_eq!(after(&[fine(), disturbed(), disturbed()]), again);
    let thrice = [fine(), disturbed(), disturbed(), disturbed()];
    // The trial was within the bound although other programs disturbed it. So the target may be
    // able to do more, and the search continues.
    let on = Next::Measure(vec![Ask::probe(Point::Rate(4000))]);
    assert_eq!(after(&thrice), on);
}

/// Simulates a machine that is declared as shared. For most of the time, other programs use up to
/// nine tenths of its CPU. Latency increases at every load, but throughput decreases only if CPU is
/// scarce.
#[test]
fn on_a_busy_machine_the_range_contains_the_planted_peak() {
    let searches = 400;
    let (mut held, mut told) = (0, 0);
    for seed in 0..searches {
        let mut chance = Chance::new(seed);
        let search = peak(1000, 1_000_000);
        let mut seen: Vec<SeenTrial> = Vec::new();
        let ending = loop {
            let ask = match search.next(&seen) {
                Next::Answer(Answer::Searched(ending)) => break ending,
                Next::Answer(answer) => panic!("{answer:?}"),
                Next::Measure(asks) => asks[0],
            };
            assert!(seen.len() < search.outlook().turns_max, "it ends");
            seen.push(disturbed_trial(ask, &mut chance));
        };
        let (low, high) = match (ending.found_point(), ending.range()) {
            // A search that finds a load must be as precise as on a calm server.
            (Some(at), _) => (at.value() * 0.98, at.value() * 1.02),
            (None, Some(range)) => (
                range.always.map_or(0.0, Point::value),
                range.never.map_or(f64::INFINITY, Point::value),
            ),
            (None, None) => (0.0, f64::INFINITY),
        };
        if let Some(range) = ending.range() {
            let is_within = |trial: &&SeenTrial| {
                let step = search.step(trial).expect("each trial is a step");
                matches!(
                    step.result,
                    SearchResult::Pass | SearchResult::PassDisturbed
                )
            };
            let within = seen.iter().filter(is_within).count();
            assert_eq!(
                range.kept, within,
                "the figure has a dot for each trial that counts"
            );
        }
        held += u32::from((low..=high).contains(&PLANTED));
        told += u32::from(low > PLANTED / 8.0 && high < PLANTED * 2.0);
    }
    println!("of {searches} ranges {held} hold the peak, {told} are narrow");
    assert!(f64::from(held) >= 0.9 * searches as f64, "{held}");
    assert!(f64::from(told) >= 0.5 * searches as f64, "{told}");
}

/// Returns a trial of [`SERVER`] while other programs start and stop within the window.
fn disturbed_trial(ask: Ask, chance: &mut Chance) -> SeenTrial {
    let mut trial = SERVER.trial(ask);
    let others = (chance.uniform() * 1.2).min(0.9);
    let found = trial.found.as_mut().expect("it fails nowhere");
    let rate = ask.point.value();
    // Other programs reduce the throughput, except in the seconds in which they are idle.
    let left = SERVER.ops_per_s * (1.0 - (others - 0.2).max(0.0));
    found.ops_per_s = rate.min(left);
    found.best_ops_per_s = rate.min(SERVER.ops_per_s * (1.0 - 0.1 * chance.uniform()));
    found.shortfall = 1.0 - found.ops_per_s / rate;
    let p99_ms = found.latency_ms.p99.value.least();
    let waits_ms = 40.0 * (others - 0.2).max(0.0) * chance.uniform();
    found.latency_ms.p99.value = Known::Exactly(p99_ms + waits_ms);
    found.disturbed = (others >= 0.2).then(|| "others used the machine".to_owned());
    trial
}

/// When the machine is full, a client that runs on the same machine as the target is late, so the
/// search continues at lower loads. The client is the limit only if every load above the result
/// fails because of the client.
#[test]
fn a_load_that_the_client_cannot_offer_is_not_a_target_limit() {
    let search = peak(1000, 100_000);
    let ends = |late_from: f64, full_from: f64| {
        let mut seen: Vec<SeenTrial> = Vec::new();
        loop {
            let Ask { point, role } = match search.next(&seen) {
                Next::Answer(answer) => return answer,
                Next::Measure(asks) => asks[0],
            };
            let mut found = fine();
            if point.value() >= full_from {
                found.latency_ms.p99.value = Known::Exactly(20.0);
            }
            if point.value() >= late_from {
                found.judged = TrialJudgement::Late("V1".to_owned());
            }
            let found = Some(found);
            seen.push(SeenTrial { point, role, found });
        }
    };
    assert_eq!(
        outcome(Next::Answer(ends(15_000.0, 10_000.0))),
        SearchOutcome::Held
    );
    let by_client = ends(10_000.0, 15_000.0);
    assert!(matches!(&by_client, Answer::Searched(ending) if ending.found_point().is_some()));
    assert_eq!(outcome(Next::Answer(by_client)), SearchOutcome::ClientLimit);
}

/// A probe was within the bound by chance. The search lowers the load until the target holds it
/// twice. The search gives up after it has lowered the load by a sixth.
#[test]
fn a_load_that_does_not_hold_is_lowered_and_not_bisected_again() {
    let search = peak(1000, 1_000_000);
    let holds_up_to = |limit: f64| {
        let mut seen: Vec<SeenTrial> = Vec::new();
        loop {
            let ask = match search.next(&seen) {
                Next::Answer(answer) => return (seen, answer),
                Next::Measure(asks) => asks[0],
            };
            let limit = match ask.role {
                Role::Hold => limit,
                _ => 10_000.0,
            };
            let p99_ms = if ask.point.value() <= limit {
                9.0
            } else {
                11.0
            };
            let found = Some(p99(Known::Exactly(p99_ms)));
            let Ask { point, role } = ask;
            seen.push(SeenTrial { point, role, found });
        }
    };
    let (seen, answer) = holds_up_to(9500.0);
    let holds: Vec<f64> = seen
        .iter()
        .filter(|trial| trial.role == Role::Hold)
        .map(|trial| trial.point.value())
        .collect();
    let at = holds[holds.len() - 1];
    assert!((9500.0 * 0.97..=9500.0).contains(&at), "{holds:?}");
    assert_eq!(holds[holds.len() - 2], at, "twice");
    assert_eq!(outcome(Next::Answer(answer)), SearchOutcome::Held);
    assert_eq!(
        outcome(Next::Answer(holds_up_to(7000.0).1)),
        SearchOutcome::Nowhere
    );
}

/// With a noise of 5 % of p99, bisection with two holds ends within 3 % of the planted peak in
/// nineteen of twenty searches. A further hold confirms the result in 95 % of cases.
#[test]
fn a_planted_peak_is_found_in_noise_and_confirmed_by_a_hold() {
    const SEARCHES: u64 = 1500;
    let (mut near, mut confirmed, mut units) = (0, 0, 0);
    for seed in 0..SEARCHES {
        let mut chance = Chance::new(seed);
        let mut measure = |ask: Ask| {
            let load = ask.point.value() / 100_000.0;
            let p99_ms = if load < 1.0 { 1.0 / (1.0 - load) } else { 1e6 };
            let noise = 0.05 / (ask.role.windows() as f64).sqrt();
            let noisy = p99_ms * (noise * chance.normal()).exp();
            SeenTrial {
                point: ask.point,
                role: ask.role,
                found: Some(p99(Known::Exactly(noisy))),
            }
        };
        let search = peak(10_000, 1_000_000);
        let mut seen: Vec<SeenTrial> = Vec::new();
        let answer = loop {
            match search.next(&seen) {
                Next::Answer(answer) => break answer,
                Next::Measure(asks) => seen.push(measure(asks[0])),
            }
        };
        units += seen.iter().map(|trial| trial.role.windows()).sum::<u64>();
        let Answer::Searched(ending) = answer else {
            continue;
        };
        let Some(at) = ending.found_point() else {
            continue;
        };
        near += u64::from((at.value() / PLANTED - 1.0).abs() <= 0.03);
        let further = measure(Ask {
            point: at,
            role: Role::Hold,
        });
        confirmed += u64::from(search.bound.judge(further.found.as_ref()) == BoundCheck::Yes);
    }
    let share = |count: u64| count as f64 / SEARCHES as f64;
    assert!(share(near) >= 0.95, "{}", share(near));
    assert!(share(confirmed) >= 0.95, "{}", share(confirmed));
    // Each hold counts as three trials.
    assert!(units / SEARCHES <= 22, "{}", units / SEARCHES);
}
