//! Tests the sentences about faults with known effects.

use super::*;
use store::record::{Dip, ReturnTime, Returns};

/// Returns a fault of node2 that lowered throughput by the share `depth`. After the healing, 40 s
/// of the window remain. Throughput was normal again after `back_s` seconds, or stayed low if
/// `back_s` is `None`.
fn fault(depth: f64, back_s: Option<f64>, failed: u64) -> FaultRecord {
    let errors = [("overloaded".to_owned(), failed)];
    let back = ReturnTime {
        left_s: (depth > 0.0).then_some(1.0),
        back_s,
        watched_s: 40.0,
    };
    FaultRecord {
        kind: "node-kill".to_owned(),
        place: Some("node2".to_owned()),
        injected_s: Some(20.0),
        healing_s: Some(50.0),
        whole_s: Some(50.0),
        recovery: Some(RecoveryRecord {
            watched_s: 70.0,
            dip: Some(Dip {
                depth,
                seconds: 29.0,
                ..Dip::default()
            }),
            throughput: Some(Returns {
                injected: back,
                healed: Some(back),
            }),
            during: Some(StretchRecord {
                ops: 1000,
                errors: [("write".to_owned(), errors.into())].into(),
                ..StretchRecord::default()
            }),
            ..RecoveryRecord::default()
        }),
        ..FaultRecord::default()
    }
}

/// Adds the p99 before the fault and the p99 during the fault, in ms.
fn slowed(one: FaultRecord, [before, during]: [f64; 2]) -> FaultRecord {
    let mut one = one;
    let found = one.recovery.as_mut().unwrap();
    let mut stretch = StretchRecord::default();
    stretch.latency_ms.p99 = before.into();
    found.before = Some(stretch);
    let latency = &mut found.during.as_mut().unwrap().latency_ms;
    (latency.p99, latency.count) = (during.into(), 1000);
    one
}

fn sentences_on(faults: Vec<FaultRecord>, point: Option<Point>) -> Vec<String> {
    sentences(&[TrialFinding {
        faults,
        point,
        ..TrialFinding::default()
    }])
}

#[test]
fn a_few_faults_have_a_sentence_each_with_what_they_cost_first() {
    let few = vec![
        fault(0.62, Some(21.8), 38),
        fault(0.0, Some(0.0), 0),
        slowed(fault(0.2, None, 1), [51.0, 1041.0]),
    ];
    assert_eq!(
        sentences_on(few.clone(), Some(Point::Threads(4))),
        [
            "“node-kill” of node2: at worst 62 % less throughput, below normal for 29 s; 38 of \
             1,038 operations failed; throughput was back to normal 21.8 s after the healing.",
            "“node-kill” of node2: throughput stayed as before; no operation failed.",
            "“node-kill” of node2: at worst 20 % less throughput, below normal for 29 s; p99 51 → \
             1,040 ms during the fault (× 20.4); one operation failed; throughput was not back to \
             normal within 40 s of the healing.",
        ]
    );
    let at_rate = sentences_on(few, Some(Point::Rate(300))).remove(2);
    assert!(
        at_rate.starts_with(
            "“node-kill” of node2: p99 51 → 1,040 ms during the fault (× 20.4); at worst 20 %"
        ),
        "{at_rate}"
    );
    assert_eq!(
        sentences_on(vec![FaultRecord::default()], None),
        Vec::<String>::new()
    );
}

/// The trial has four faults at a fixed rate. In an earlier version, the sentence considered only
/// throughput and reported a normal state, although p99 was not normal.
#[test]
fn many_faults_at_a_rate_begin_with_latency_and_end_in_a_count() {
    let mut faults = vec![
        slowed(fault(0.3, Some(4.0), 2), [27.0, 172.0]),
        slowed(fault(0.0, Some(0.0), 0), [162.0, 10_008.0]),
        slowed(fault(0.3, Some(2.0), 2), [50.0, 52.0]),
        slowed(fault(0.9, None, 1000), [51.0, 1041.0]),
    ];
    // After the second fault, p99 did not return to its previous level. After the third fault, p99
    // could not be measured.
    let not_back = ReturnTime {
        left_s: Some(1.0),
        back_s: None,
        watched_s: 40.0,
    };
    let p99 = Some(Returns {
        injected: not_back,
        healed: Some(not_back),
    });
    faults[1].recovery.as_mut().unwrap().p99 = p99;
    faults[2].recovery.as_mut().unwrap().p99 = p99;
    faults[2].whole_s = Some(94.7);
    let all = sentences_on(faults, Some(Point::Rate(300)));
    assert_eq!(
        all[0],
        "Of 4 faults 3 raised latency (worst first): “node-kill” of node2: p99 162 → 10,000 ms \
         during the fault (× 61.8); “node-kill” of node2: p99 51 → 1,040 ms during the fault (× \
         20.4); “node-kill” of node2: p99 27 → 172 ms during the fault (+537.0 %)."
    );
    assert_eq!(
        all[1],
        "Of 4 faults 3 lowered throughput, for 29 s, by 90 % at worst; 1,004 operations failed \
         (1,000 by “node-kill” of node2); after 1, throughput and p99 were back to normal within 4 \
         s of the healing; after 2, throughput or p99 was not back to normal; cassay did not \
         measure the recovery from 1 fault."
    );
    assert_eq!(all.len(), 2);
}

#[test]
fn full_recovery_is_stated_only_if_every_fault_recovered() {
    let all = sentences_on(vec![fault(0.3, Some(4.0), 0); 5], None).remove(0);
    assert!(
        all.ends_with("throughput and p99 were back to normal within 4 s of the healing."),
        "{all}"
    );
    let mut faults = vec![fault(0.3, Some(4.0), 0); 4];
    faults.push(fault(0.3, None, 0));
    let but_one = sentences_on(faults, None).remove(0);
    assert!(but_one.contains("after 4, throughput and p99"), "{but_one}");
    assert!(
        but_one.contains("after 1, throughput or p99 was not back"),
        "{but_one}"
    );
}

/// cassay read back the rows of several trials, one of them without a fault. In an earlier version,
/// the rows of that trial were missing from the sum.
#[test]
fn all_rows_that_were_read_back_are_counted() {
    let read = || store::record::ReadBackRecord {
        rows: 20_000,
        ..store::record::ReadBackRecord::default()
    };
    let trial = |faults: Vec<FaultRecord>| TrialFinding {
        faults,
        read_back: Some(read()),
        ..TrialFinding::default()
    };
    let trials = [trial(vec![FaultRecord::default()]), trial(Vec::new())];
    assert_eq!(
        sentences(&trials),
        ["No acknowledged write was lost: cassay read back all 40,000 rows."]
    );
}

/// Returns a fault without a known level before it, with a p99 and a maximum in ms.
fn unjudged_fault(p99: f64, max: f64) -> FaultRecord {
    let mut one = fault(0.5, None, 0);
    let found = one.recovery.as_mut().unwrap();
    (found.dip, found.throughput) = (None, None);
    found.unseen = vec!["the window has 8 intervals".to_owned()];
    let during = found.during.as_mut().unwrap();
    (during.ops_per_s, during.latency_ms.count) = (200.0, 1000);
    (during.latency_ms.p99, during.latency_ms.max) = (p99.into(), max.into());
    one
}

/// In an earlier version, the answer did not mention a fault whose level was unknown, although
/// clients waited 4 s.
#[test]
fn a_fault_without_a_level_has_its_figures_and_the_reason() {
    assert_eq!(
        sentences_on(vec![unjudged_fault(3953.0, 3997.0)], Some(Point::Rate(200))),
        [
            "“node-kill” of node2: p99 3,950 ms during the fault; 200 op/s on average; no \
             operation failed; cassay cannot judge the effect: the window has 8 intervals."
        ]
    );
    // In a closed loop, few operations wait for the fault, so p99 does not show it.
    let hidden = sentences_on(vec![unjudged_fault(8.9, 4012.0)], None).remove(0);
    assert!(
        hidden.contains("p99 8.9 ms during the fault, maximum 4,010 ms;"),
        "{hidden}"
    );
    let mut five = vec![unjudged_fault(10.0, 12.0); 4];
    five.push(fault(0.3, Some(4.0), 0));
    let all = sentences_on(five, None);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(
        all[1],
        "4 faults: worst: “node-kill” of node2: p99 10 ms during the fault; cassay cannot judge \
         the effect: the window has 8 intervals."
    );
}
