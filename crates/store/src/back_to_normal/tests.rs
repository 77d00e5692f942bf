//! Tests faults that end before, at or after the end of the window, and their descriptions.

use super::*;
use crate::record::{ReturnTime, StretchRecord};

/// Returns a fault of node2 that is injected 20 s into a window of 75 s and healed 20 s later. All
/// nodes are up at `whole_s`. Throughput falls, and is normal again at `back_s`.
fn fault(whole_s: Option<f64>, back_s: Option<f64>) -> FaultRecord {
    let back = |since_s: f64| ReturnTime {
        left_s: Some(1.0),
        back_s,
        watched_s: 75.0 - since_s,
    };
    FaultRecord {
        kind: "node-kill".to_owned(),
        place: Some("node2".to_owned()),
        injected_s: Some(20.0),
        healing_s: Some(40.0),
        whole_s,
        recovery: Some(RecoveryRecord {
            watched_s: 55.0,
            throughput: Some(Returns {
                injected: back(20.0),
                healed: Some(back(40.0)),
            }),
            ..RecoveryRecord::default()
        }),
        ..FaultRecord::default()
    }
}

fn words(fault: &FaultRecord) -> Option<String> {
    Aftermath::from_fault(fault)?.words(fault)
}

#[test]
fn a_recovery_that_nobody_could_see_is_neither_normal_nor_not() {
    for (whole_s, said) in [
        (
            Some(79.7),
            "node2 was back only 4.7 s after the window ended, so cassay did not measure the \
             recovery",
        ),
        (
            None,
            "cassay did not observe that node2 was back, so the recovery is unknown",
        ),
        (
            Some(63.0),
            "node2 was back 12 s before the window ended, but 30 s are required: cassay did not \
             measure the recovery",
        ),
        (
            Some(44.0),
            "throughput was not back to normal within 35 s of the healing",
        ),
    ] {
        let one = fault(whole_s, None);
        assert_eq!(words(&one).as_deref(), Some(said), "{whole_s:?}");
        assert_eq!(
            Aftermath::from_fault(&one).unwrap().normal_s(),
            None,
            "{whole_s:?}"
        );
    }
    let mut next = fault(Some(79.7), None);
    next.recovery.as_mut().unwrap().cut_by_fault = true;
    assert!(words(&next).unwrap().contains("after the next fault began"));
}

/// An earlier report contradicted itself: one sentence said that everything was normal, another
/// that p99 was not. In this test, throughput is normal and p99 is not.
#[test]
fn all_is_normal_only_if_throughput_and_p99_are() {
    let mut one = fault(Some(44.0), Some(3.0));
    assert_eq!(Aftermath::from_fault(&one).unwrap().normal_s(), Some(3.0));
    let not_back = ReturnTime {
        left_s: Some(2.0),
        back_s: None,
        watched_s: 35.0,
    };
    one.recovery.as_mut().unwrap().p99 = Some(Returns {
        injected: not_back,
        healed: Some(not_back),
    });
    let aftermath = Aftermath::from_fault(&one).unwrap();
    assert_eq!(aftermath.normal_s(), None);
    assert_eq!(
        aftermath.words(&one).unwrap(),
        "throughput was back to normal 3 s after the healing; p99 was not back to normal within \
         35 s of the healing"
    );
}

#[test]
fn a_series_that_never_left_normal_needs_no_recovery() {
    let mut one = fault(Some(79.7), Some(0.0));
    let found = one.recovery.as_mut().unwrap();
    let returns = found.throughput.as_mut().unwrap();
    returns.injected.left_s = None;
    returns.healed.as_mut().unwrap().left_s = None;
    let aftermath = Aftermath::from_fault(&one).unwrap();
    assert_eq!(aftermath.throughput, Some(SeriesEnd::Usual));
    assert_eq!(aftermath.normal_s(), Some(0.0));
    assert_eq!(aftermath.words(&one), None);
    assert_eq!(Aftermath::from_fault(&FaultRecord::default()), None);
}

#[test]
fn the_latency_cost_has_both_numbers_large_ratios_are_factors() {
    let mut one = fault(Some(44.0), Some(3.0));
    assert_eq!((p99_words(&one), p99_ratio(&one)), (None, None));
    let stretch = |p99_ms: f64, count: u64| {
        let mut stretch = StretchRecord {
            seconds: 20.0,
            ..StretchRecord::default()
        };
        stretch.latency_ms.count = count;
        stretch.latency_ms.p99 = p99_ms.into();
        Some(stretch)
    };
    let with = |one: &mut FaultRecord, before, during| {
        let found = one.recovery.as_mut().unwrap();
        (found.before, found.during) = (before, during);
    };
    with(&mut one, stretch(2.0, 100), stretch(1280.4, 100));
    assert_eq!(
        p99_words(&one).as_deref(),
        Some("p99 2 → 1,280 ms during the fault (× 640)")
    );
    with(&mut one, stretch(10.0, 100), stretch(15.0, 100));
    assert_eq!(
        p99_words(&one).as_deref(),
        Some("p99 10 → 15 ms during the fault (+50.0 %)")
    );
    with(&mut one, stretch(10.0, 100), stretch(0.0, 0));
    assert_eq!(
        p99_words(&one).as_deref(),
        Some("no response during the fault")
    );
    assert_eq!(p99_ratio(&one), Some(f64::INFINITY));
}
