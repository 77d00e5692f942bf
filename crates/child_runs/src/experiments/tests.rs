//! Tests of the outcome and the load of experiments.

use super::*;
use measure::Known;
use store::record::{LimitEvent, QuantilesRecord, SeriesRecord, TrialFinding};

fn compared(verdict: Finding) -> ComparisonRecord {
    ComparisonRecord {
        verdict,
        ..ComparisonRecord::default()
    }
}

#[test]
fn an_experiment_is_confirmed_if_its_result_moves_as_predicted() {
    use ExperimentOutcome::{Confirmed, Inconclusive, Refuted};
    let of = |verdict, enlarges| outcome(&compared(verdict), enlarges);
    assert_eq!(of(Finding::Faster, true), Confirmed);
    assert_eq!(of(Finding::Slower, false), Confirmed);
    assert_eq!(of(Finding::Slower, true), Refuted);
    assert_eq!(of(Finding::Equivalent, true), Refuted);
    assert_eq!(of(Finding::Equivalent, false), Refuted);
    assert_eq!(of(Finding::Inconclusive, true), Inconclusive);
    assert_eq!(of(Finding::LooksDifferent, false), Inconclusive);
}

fn trial(point: Point, ops_per_s: f64, p50_ms: f64) -> TrialFinding {
    TrialFinding {
        point: Some(point),
        all: SeriesRecord {
            ops_per_s,
            latency_ms: QuantilesRecord {
                p50: Known::Exactly(p50_ms),
                ..QuantilesRecord::default()
            },
            ..SeriesRecord::default()
        },
        ..TrialFinding::default()
    }
}

/// For a ladder of rates, the experiment has twice the number of operations in flight at the
/// highest throughput. For a difference between variants, it keeps the load at which they differ.
#[test]
fn experiments_use_a_load_at_which_the_target_was_full() {
    let limit = LimitRecord {
        event: LimitEvent::Knee,
        ..LimitRecord::default()
    };
    let of = |trials: Vec<TrialFinding>, limit: &LimitRecord| {
        let findings = FindingsRecord {
            trials,
            ..FindingsRecord::default()
        };
        experiment_point(limit, &findings)
    };
    let threads = vec![
        trial(Point::Threads(8), 9_000.0, 1.0),
        trial(Point::Threads(32), 12_000.0, 2.6),
        trial(Point::Threads(64), 11_900.0, 5.3),
    ];
    assert_eq!(of(threads, &limit), Some(Point::Threads(32)));
    let rates = vec![
        trial(Point::Rate(5_000), 5_000.0, 1.0),
        trial(Point::Rate(20_000), 12_000.0, 10.0),
    ];
    assert_eq!(of(rates.clone(), &limit), Some(Point::Threads(240)));
    let difference = LimitRecord {
        other: Some("other".into()),
        point: Some(Point::Rate(5_000)),
        ..limit
    };
    assert_eq!(of(rates, &difference), Some(Point::Rate(5_000)));
    assert_eq!(of(Vec::new(), &LimitRecord::default()), None);
}
