//! Tests the analysis of recovery with dips whose depth, length and end are known.

use super::*;
use crate::test_series::Chance;

/// Returns the intervals of a window of `seconds` seconds. `second` returns the throughput and p99
/// of a second, as shares of the normal level.
fn slices(seconds: usize, mut second: impl FnMut(usize) -> (f64, f64)) -> Vec<Slice> {
    let slice = |at: usize| {
        let (ops, p99) = second(at);
        Slice {
            from_s: at as f64,
            to_s: (at + 1) as f64,
            ok: (10_000.0 * ops) as u64,
            p99_ms: (ops > 0.0).then_some(5.0 * p99),
            ..Slice::default()
        }
    };
    (0..seconds).map(slice).collect()
}

const FAULT: FaultTimes = FaultTimes {
    injected_s: 60.0,
    healing_s: Some(90.0),
    whole_s: Some(92.0),
};

fn alone(slices: &[Slice]) -> Recovery {
    recovery(slices, &[FAULT], LoadSchedule::Closed).remove(0)
}

fn back(left_s: Option<f64>, back_s: Option<f64>, watched_s: f64) -> ReturnTime {
    ReturnTime {
        left_s,
        back_s,
        watched_s,
    }
}

/// Returns one second of a known dip. In the dip, throughput is 0.4 of the normal level for 35 s,
/// starting 2 s after the injection.
fn planted(at: usize) -> (f64, f64) {
    match at {
        62..=96 => (0.4, 8.0),
        _ => (1.0, 1.0),
    }
}

#[test]
fn a_planted_dip_has_its_depth_its_length_and_its_end() {
    let seen = alone(&slices(180, planted));
    let before = seen.before.as_ref().unwrap();
    assert_eq!(
        (before.slices.len(), before.ops_per_s.middle),
        (60, 10_000.0)
    );
    let dip = seen.dip.unwrap();
    assert_eq!(
        (dip.lowest_ops_per_s, dip.lowest_at_s, dip.seconds),
        (4000.0, 2.0, 35.0)
    );
    assert!(
        (dip.depth - 0.6).abs() < 1e-9 && dip.lost_ops == 35.0 * 6000.0,
        "{dip:?}"
    );
    let throughput = seen.throughput.unwrap();
    assert_eq!(throughput.injected, back(Some(2.0), Some(37.0), 120.0));
    assert_eq!(throughput.healed, Some(back(Some(0.0), Some(7.0), 90.0)));
    assert_eq!(seen.p99.unwrap(), throughput);
    assert_eq!(
        seen.noticed.unwrap(),
        FirstSymptom {
            within_s: 3.0,
            by: ClientSymptom::Throughput
        }
    );
}

/// The p99 of single seconds at a low rate has long tails. On a real cluster at 300 op/s, a quarter
/// of the seconds before a slow-disk fault were outside of their level. The fault had no effect,
/// but the report said that p99 was not normal for the rest of the window.
#[test]
fn a_series_with_as_many_spikes_as_before_is_normal() {
    let spikes = |at: usize| {
        let p99 = if at % 4 == 3 {
            5.0
        } else {
            1.0 + 0.1 * (at % 3) as f64
        };
        (1.0, p99)
    };
    let p99 = alone(&slices(180, spikes)).p99.unwrap();
    assert_eq!(p99.injected, back(None, Some(0.0), 120.0));
    assert_eq!(p99.healed, Some(back(None, Some(0.0), 90.0)));
    // Higher latencies for 15 s are detected among the spikes.
    let slow = |at: usize| match at {
        90..=104 => (1.0, 4.0),
        _ => spikes(at),
    };
    let p99 = alone(&slices(180, slow)).p99.unwrap();
    let healed = p99.healed.unwrap();
    assert_eq!((healed.left_s, healed.back_s), (Some(0.0), Some(15.0)));
}

#[test]
fn a_cluster_may_recover_under_a_fault_and_dip_after_healing() {
    let seen = alone(&slices(240, |at| match at {
        60..=64 | 91..=100 => (0.2, 1.0),
        _ => (1.0, 1.0),
    }));
    // After five seconds outside of the level, fewer than 30 normal seconds follow before the next
    // such second.
    assert_eq!(seen.throughput.unwrap().injected.back_s, Some(41.0));
    assert_eq!(
        seen.throughput.unwrap().healed,
        Some(back(Some(1.0), Some(11.0), 150.0))
    );
    let long = FaultTimes {
        healing_s: Some(120.0),
        whole_s: Some(121.0),
        ..FAULT
    };
    let first = |at: usize| {
        if (60..65).contains(&at) {
            (0.2, 1.0)
        } else {
            (1.0, 1.0)
        }
    };
    let seen = recovery(&slices(240, first), &[long], LoadSchedule::Closed).remove(0);
    let throughput = seen.throughput.unwrap();
    assert_eq!(throughput.injected, back(Some(0.0), Some(5.0), 180.0));
    assert_eq!(throughput.healed, Some(back(None, Some(0.0), 120.0)));
    assert_eq!(seen.dip.unwrap().seconds, 5.0);
}

/// In a soak test, the effects of two of three connection resets were missing from the results.
#[test]
fn a_fault_shorter_than_an_interval_has_the_intervals_dip() {
    let moment = FaultTimes {
        injected_s: 60.2,
        healing_s: Some(60.21),
        whole_s: Some(60.22),
    };
    for ops in [1.0, 0.5] {
        let second = |at| (if at == 60 { ops } else { 1.0 }, 1.0);
        let seen = recovery(&slices(200, second), &[moment], LoadSchedule::Closed).remove(0);
        let dip = seen.dip.unwrap();
        assert_eq!((dip.depth, dip.seconds > 0.0), (1.0 - ops, ops < 1.0));
    }
}

#[test]
fn without_a_dip_nothing_is_lost_and_nothing_is_noticed() {
    let mut chance = Chance::new(3);
    for noise in [0.0, 0.01, 0.05] {
        let seen = alone(&slices(200, |_| (1.0 + noise * chance.normal(), 1.0)));
        let dip = seen.dip.unwrap();
        assert_eq!(
            (dip.depth, dip.seconds, dip.lost_ops),
            (0.0, 0.0, 0.0),
            "{noise}"
        );
        assert_eq!(seen.throughput.unwrap().injected.left_s, None);
        assert_eq!(seen.throughput.unwrap().injected.back_s, Some(0.0));
        assert_eq!(seen.noticed, None);
    }
}

#[test]
fn an_unobserved_recovery_has_no_time() {
    let never = alone(&slices(180, |at| (if at < 60 { 1.0 } else { 0.7 }, 1.0)));
    assert_eq!(
        never.throughput.unwrap().injected,
        back(Some(0.0), None, 120.0)
    );
    assert_eq!(
        never.throughput.unwrap().healed,
        Some(back(Some(0.0), None, 90.0))
    );
    assert_eq!(never.dip.unwrap().seconds, 120.0);
    // Throughput is normal for only 29 s before the window ends.
    let short = alone(&slices(126, planted));
    assert_eq!(
        short.throughput.unwrap().healed,
        Some(back(Some(0.0), None, 36.0))
    );
    let enough = alone(&slices(127, planted));
    assert_eq!(
        enough.throughput.unwrap().healed,
        Some(back(Some(0.0), Some(7.0), 37.0))
    );
}

/// In a shallow dip, no single second exceeds the noise. A period that begins in the dip must not
/// count as normal.
#[test]
fn noise_makes_no_false_time_of_recovery() {
    let mut chance = Chance::new(11);
    let (mut early, mut late) = (0, 0);
    for _ in 0..300 {
        let seen = alone(&slices(220, |at| {
            let level = if (60..110).contains(&at) { 0.8 } else { 1.0 };
            (level * (1.0 + 0.05 * chance.normal()), 1.0)
        }));
        let healed = seen.throughput.unwrap().healed.unwrap().back_s.unwrap();
        early += usize::from(healed < 16.0);
        late += usize::from(healed > 24.0);
    }
    // The true time of recovery is 20 s, and an estimate may be early or late.
    assert!(early <= 6 && late <= 30, "{early} {late}");
}

/// The p99 of 300 operations per second scatters by half. On a real cluster, a slow-disk fault had
/// no effect. Nevertheless, the report said that p99 was not normal. The reason was that the
/// fifteen seconds before the fault had a lower median than the thirty seconds after the fault.
#[test]
fn a_fault_without_effect_is_over_after_a_short_baseline() {
    const FAULT: FaultTimes = FaultTimes {
        injected_s: 15.0,
        healing_s: Some(35.0),
        whole_s: Some(36.0),
    };
    let mut chance = Chance::new(12);
    let (mut left, mut away, mut unknown) = (0, 0, 0);
    for _ in 0..1000 {
        let noisy = slices(80, |_| (1.0, (0.5 * chance.normal()).exp()));
        let Some(p99) = recovery(&noisy, &[FAULT], LoadSchedule::Rate).remove(0).p99 else {
            unknown += 1;
            continue;
        };
        let healed = p99.healed.unwrap();
        left += usize::from(healed.left_s.is_some());
        away += usize::from(healed.back_s.is_none());
    }
    assert!(left <= 50 && away <= 50, "{left} {away}");
    assert!(unknown <= 20, "{unknown}");
}

/// At a fixed rate, every second before the fault has the same throughput. If the throughput of one
/// late second is 5.3 % lower, the series is still normal. If no operation ends for one second, the
/// series has left its level.
#[test]
fn one_second_a_little_below_is_no_departure() {
    const FAULT: FaultTimes = FaultTimes {
        injected_s: 35.0,
        healing_s: Some(55.0),
        whole_s: Some(55.0),
    };
    let healed = |lowest: f64, at: std::ops::Range<usize>| {
        let level = |second| if at.contains(&second) { lowest } else { 1.0 };
        let seen = recovery(
            &slices(100, |second| (level(second), 1.0)),
            &[FAULT],
            LoadSchedule::Rate,
        );
        seen[0].throughput.unwrap().healed.unwrap()
    };
    assert_eq!(healed(0.947, 82..83), back(None, Some(0.0), 45.0));
    assert_eq!(healed(0.0, 60..62), back(Some(5.0), Some(7.0), 45.0));
    assert_eq!(healed(0.0, 82..83), back(Some(27.0), None, 45.0));
}

#[test]
fn a_fault_without_enough_baseline_has_no_recovery() {
    let early = FaultTimes {
        injected_s: 9.5,
        ..FAULT
    };
    let seen = recovery(&slices(120, planted), &[early], LoadSchedule::Closed).remove(0);
    let why = seen.before.unwrap_err();
    assert!(why.contains("the window has 9 intervals"), "{why}");
    assert_eq!((seen.dip, seen.throughput, seen.p99), (None, None, None));
    let wild = alone(&slices(120, |at| {
        (if at.is_multiple_of(2) { 1.0 } else { 0.3 }, 1.0)
    }));
    assert!(wild.before.unwrap_err().contains("varied"));
    let idle = alone(&slices(120, |_| (0.0, 1.0)));
    assert!(idle.before.unwrap_err().contains("was 0"));
    assert!(recovery(&[], &[FAULT], LoadSchedule::Closed)[0].before.is_err());
}

/// In an open loop, late operations are completed later. The total throughput is the same, and p99
/// shows the delay.
#[test]
fn at_a_rate_caught_up_work_is_not_lost_and_p99_gives_recovery() {
    let stall = |at: usize| match at {
        70..=71 => (0.0, 1.0),
        72..=75 => (1.5, 300.0),
        76..=99 => (1.0, 40.0),
        _ => (1.0, 1.0),
    };
    let of = |offered| recovery(&slices(200, stall), &[FAULT], offered).remove(0);
    let (rate, closed) = (of(LoadSchedule::Rate), of(LoadSchedule::Closed));
    assert_eq!(
        (rate.dip.unwrap().lost_ops, closed.dip.unwrap().lost_ops),
        (0.0, 20_000.0)
    );
    assert_eq!(
        (rate.dip.unwrap().depth, rate.dip.unwrap().seconds),
        (1.0, 2.0)
    );
    assert_eq!(
        rate.throughput.unwrap().injected,
        back(Some(10.0), Some(12.0), 140.0)
    );
    assert_eq!(
        rate.p99.unwrap().injected,
        back(Some(10.0), Some(40.0), 140.0)
    );
    assert_eq!(
        rate.p99.unwrap().healed,
        Some(back(Some(0.0), Some(10.0), 110.0))
    );
}

#[test]
fn the_first_sign_is_what_was_more_than_in_any_second_before() {
    let with = |change: fn(&mut Slice)| {
        let mut slices = slices(180, planted);
        slices[20].failed = 2;
        slices[60].failed = 2;
        change(&mut slices[61]);
        alone(&slices).noticed.unwrap()
    };
    let noticed = |within_s, by| FirstSymptom { within_s, by };
    assert_eq!(with(|_| ()), noticed(3.0, ClientSymptom::Throughput));
    assert_eq!(
        with(|slice| slice.failed = 3),
        noticed(2.0, ClientSymptom::Errors)
    );
    assert_eq!(
        with(|slice| slice.retries = 1),
        noticed(2.0, ClientSymptom::Retries)
    );
    let lost = with(|slice| (slice.failed, slice.connections_lost) = (3, 1));
    assert_eq!(lost, noticed(2.0, ClientSymptom::LostConnections));
    assert_eq!(
        with(|slice| slice.p99_ms = Some(50.0)),
        noticed(2.0, ClientSymptom::Latency)
    );
}

#[test]
fn seconds_of_another_fault_are_excluded_and_end_the_recovery() {
    let at = |injected_s: f64| FaultTimes {
        injected_s,
        healing_s: Some(injected_s + 10.0),
        whole_s: Some(injected_s + 11.0),
    };
    let bad = |at: usize| (60..80).contains(&at) || (200..215).contains(&at);
    let slices = slices(300, |second| (if bad(second) { 0.5 } else { 1.0 }, 1.0));
    // The faults are passed out of order, and the third fault overlaps the second.
    let faults = [at(200.0), at(60.0), at(205.0)];
    let seen = recovery(&slices, &faults, LoadSchedule::Closed);
    let before = |at: usize| seen[at].before.as_ref().unwrap();
    assert_eq!(
        (seen[0].beside.as_slice(), seen[1].beside.len()),
        (&[2][..], 0)
    );
    assert_eq!((seen[0].until_s, seen[1].until_s), (300.0, 200.0));
    assert_eq!(before(0).slices.len(), 60 + 120, "without 60 to 80 s");
    assert_eq!(before(2).slices, before(0).slices, "without 200 to 205 s");
    assert_eq!(
        seen[1].throughput.unwrap().healed.unwrap().back_s,
        Some(10.0)
    );
    // If the end of a fault was not observed, all seconds after the fault count as affected.
    let open = FaultTimes {
        healing_s: None,
        whole_s: None,
        ..at(60.0)
    };
    let seen = recovery(&slices, &[open, at(200.0)], LoadSchedule::Closed);
    assert_eq!(seen[1].before.as_ref().unwrap().slices.len(), 60);
    assert_eq!(seen[0].throughput.unwrap().healed, None);
}

fn every_second(seconds: usize, value: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..seconds).map(|at| (at as f64, value(at as f64))).collect()
}

fn looks(unreachable: impl Fn(f64) -> f64, stored: f64, delivered: [f64; 2]) -> Looks {
    let during = |from: f64, to: f64, rate: f64| {
        move |at: f64| {
            if at > from && at <= to { rate } else { 0.0 }
        }
    };
    Looks {
        at_s: (0..200).map(f64::from).collect(),
        unreachable: every_second(200, unreachable),
        pending: every_second(200, during(75.0, delivered[0], 1.0)),
        stored_per_s: every_second(200, during(70.0, 90.0, stored)),
        delivered_per_s: every_second(200, during(delivered[0], delivered[1], stored)),
        ..Looks::default()
    }
}

#[test]
fn peers_mark_a_node_down_keep_hints_for_it_and_deliver_them() {
    let gone = |from: f64, to: f64| move |at: f64| f64::from(u8::from(at >= from && at < to));
    let watched = NodeReadings::from([
        // The readings of the broken node do not count, because it cannot reach the other nodes
        // either.
        ("node1".to_owned(), looks(gone(61.0, 99.0), 0.0, [0.0, 0.0])),
        (
            "node2".to_owned(),
            looks(gone(70.0, 94.0), 100.0, [100.0, 120.0]),
        ),
        (
            "node3".to_owned(),
            looks(gone(72.0, 95.0), 50.0, [100.0, 110.0]),
        ),
    ]);
    let seen = away(&watched, |node| node == "node1", &FAULT, 180.0).unwrap();
    let expected = Away {
        noticed_s: 10.0,
        by: "node2".into(),
        seconds: 24.0,
        is_back: true,
    };
    assert_eq!(seen, expected);
    assert!(!away(&watched, |node| node == "node1", &FAULT, 80.0).unwrap().is_back);
    let found = hints(&watched, &FAULT, 180.0).unwrap();
    assert_eq!((found.stored, found.delivered), (3000.0, 2500.0));
    assert_eq!(
        found.drained_s,
        Some(30.0),
        "120 s, and healing began at 90 s"
    );
    assert_eq!(
        hints(&watched, &FAULT, 125.0).unwrap().drained_s,
        None,
        "5 s without any"
    );
    let of = |window_s| repair(Some(&seen), Some(&found), window_s);
    assert!(of(Some(20.0)).need == RepairNeed::Needed);
    assert!(of(Some(10_800.0)).need == RepairNeed::NotNeeded);
    assert!(of(None).need == RepairNeed::Inconclusive);
    let left = Hints {
        drained_s: None,
        ..found
    };
    let need = |hints| repair(None, Some(hints), Some(1e4)).need;
    assert!(need(&left) == RepairNeed::Inconclusive);
    assert!(need(&Hints::default()) == RepairNeed::NotNeeded);
    assert_eq!(hints(&NodeReadings::new(), &FAULT, 180.0), None);
    assert_eq!(streamed(&watched, &FAULT, 180.0), Some(0.0));
    assert_eq!(streamed(&NodeReadings::new(), &FAULT, 180.0), None);
}

/// The first reading of a node that was down follows a long gap. The rate in that reading covers
/// only one second.
#[test]
fn a_rate_counts_for_the_time_since_the_look_before_it() {
    let looks = Looks {
        at_s: vec![0.0, 1.0, 61.0, 62.0, 63.0],
        streamed_per_s: vec![(1.0, 5.0), (62.0, 1000.0), (63.0, 500.0)],
        ..Looks::default()
    };
    let watched = NodeReadings::from([("node1".to_owned(), looks)]);
    assert_eq!(streamed(&watched, &FAULT, 180.0), Some(1500.0));
}

/// In a user's run, all operations of a pause of 4 s were answered one second after the healing.
/// The report stated 658 missing operations, because throughput was already normal then.
#[test]
fn work_done_right_after_the_return_is_not_lost() {
    // The fault ends at 75 s. In the three intervals after the pause, the excess equals all
    // operations that were missing in the pause.
    let stall = |at: usize| match at {
        60..=74 => (0.0, 1.0),
        75..=77 => (6.0, 300.0),
        _ => (1.0, 1.0),
    };
    let fault = FaultTimes {
        injected_s: 60.0,
        healing_s: Some(75.0),
        whole_s: Some(75.0),
    };
    let found = recovery(&slices(200, stall), &[fault], LoadSchedule::Rate).remove(0);
    let dip = found.dip.unwrap();
    assert_eq!((dip.depth, dip.seconds, dip.lost_ops), (1.0, 15.0, 0.0));
}

/// In a user's run, the normal range of p99 reached 187 times its median, so every p99 counted as
/// normal.
#[test]
fn a_p99_that_varies_by_large_factors_has_no_level() {
    let wild = |at: usize| {
        let p99 = if at.is_multiple_of(2) { 1.0 } else { 300.0 };
        (if (70..75).contains(&at) { 0.0 } else { 1.0 }, p99)
    };
    let seen = alone(&slices(150, wild));
    let before = seen.before.unwrap();
    assert_eq!(before.p99_ms, None);
    assert!(before.p99_unknown.unwrap().starts_with("p99 before the fault varied too much"),);
    assert!(seen.dip.is_some() && seen.throughput.is_some());
    assert_eq!(seen.p99, None);
}
