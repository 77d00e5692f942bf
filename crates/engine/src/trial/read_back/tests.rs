//! Tests that the engine reads the durability settings of nodes, and that rule V14 agrees with the
//! answer of the finding.

use super::*;
use analysis::rules::{Evidence, Limits, RuleOutcome, judge};
use store::record::{RuleRecord, TrialFinding};

#[test]
fn a_commit_log_is_read_from_the_settings_of_any_version() {
    let periodic = |period_s, block_s| {
        Some(CommitLog {
            is_used: true,
            is_buffered: false,
            sync: Sync::Periodic { period_s, block_s },
        })
    };
    let batch = CommitLog {
        is_used: true,
        is_buffered: true,
        sync: Sync::BeforeAcknowledging,
    };
    for (settings, expected) in [
        (
            vec![
                ("commitlog_sync", "periodic"),
                ("commitlog_sync_period", "10000ms"),
                ("periodic_commitlog_sync_lag_block", "null"),
            ],
            periodic(10.0, 15.0),
        ),
        (
            vec![
                ("commitlog_sync", "periodic"),
                ("commitlog_sync_period_in_ms", "500"),
                ("periodic_commitlog_sync_lag_block_in_ms", "2000"),
            ],
            periodic(0.5, 2.0),
        ),
        (
            vec![
                ("commitlog_sync", "batch"),
                ("commitlog_compression", "LZ4Compressor"),
            ],
            Some(batch),
        ),
        (
            vec![
                ("commitlog_sync", "batch"),
                ("commitlog_disk_access_mode", "direct"),
            ],
            Some(batch),
        ),
        (vec![("commitlog_sync", "periodic")], None),
        (
            vec![
                ("commitlog_sync", "periodic"),
                ("commitlog_sync_period", "10000ms"),
                ("periodic_commitlog_sync_lag_block", "soon"),
            ],
            None,
        ),
        (vec![], None),
    ] {
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let settings: BTreeMap<_, _> = settings.into_iter().map(own).collect();
        assert_eq!(commit_log_of(&settings, true), expected, "{settings:?}");
    }
}

#[test]
fn every_row_that_was_read_is_in_one_count() {
    let checks = CheckCounts {
        checked: 100,
        missing: 1,
        lost: 1,
        never_written: 2,
        stale: 3,
        overwritten: 40,
        wrong: 4,
        resurrected: 5,
        deleted: 6,
        unconfirmed: 7,
        too_low: 8,
        too_high: 9,
    };
    let record = counted(&checks);
    assert_eq!(record.right, 100 - (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9));
    assert_eq!(record.missed(), 1 + 3 + 5 + 8);
}

/// Returns every combination of good and bad rows, with every promise of durability.
fn cases() -> Vec<(CheckCounts, Option<LostWritesByAckTime>, Promise)> {
    let why = || "so it is".to_owned();
    let mut cases = Vec::new();
    for bits in 0..64_u64 {
        let count = |bit: u64| (bits >> bit) & 1;
        let checks = CheckCounts {
            checked: 100,
            missing: 3 * count(0),
            stale: count(1),
            resurrected: count(2),
            wrong: 2 * count(3),
            too_low: count(4),
            too_high: count(5),
            ..CheckCounts::default()
        };
        let lost = checks.missing + checks.stale + checks.resurrected + checks.too_low;
        for promise in [
            Promise::Kept(why()),
            Promise::None(why()),
            Promise::Unknown(why()),
        ] {
            cases.push((checks, None, promise));
        }
        for unexplained in [0, lost.min(2)] {
            let by = LostWritesByAckTime {
                within_s: 15.0,
                unexplained,
                oldest_s: None,
            };
            cases.push((checks, Some(by), Promise::None(why())));
        }
    }
    cases
}

#[test]
fn a_row_that_v14_reports_is_the_first_sentence() {
    for (checks, lost, promise) in cases() {
        let evidence = Evidence {
            read_back: Some(ReadBack {
                checks,
                unread: 0,
                lost,
            }),
            promise: Some(promise.clone()),
            ..Evidence::default()
        };
        let judgement = judge(&evidence, &Limits::default());
        let rule = judgement.rules.iter().find(|rule| rule.id == "V14").unwrap();
        let trial = TrialFinding {
            read_back: Some(ReadBackRecord {
                promise: promise.promised(),
                unexplained: lost.map_or(0, |by| by.unexplained),
                rows: 100,
                ..counted(&checks)
            }),
            rules: vec![RuleRecord::from(rule)],
            ..TrialFinding::default()
        };
        let said = sentences::data::against(&[trial]);
        let is_against = rule.outcome >= RuleOutcome::Warn;
        assert_eq!(
            !said.is_empty(),
            is_against,
            "{checks:?} {promise:?} {lost:?}: {said:?}"
        );
    }
}
