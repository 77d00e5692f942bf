//! Tests faults on the page: the effect, the card, and the marked period in every chart.

use crate::{fixture, golden};
use measure::{ClientCount, KindCount};
use report::{Band, Block, Page, Tone, markdown, page, text};
use store::record::FaultVerdict;
use store::record::*;

/// Returns the record of a node that was killed for half a minute, 60 s after the start line.
pub fn killed() -> FaultRecord {
    FaultRecord {
        kind: "node-kill".into(),
        verdict: FaultVerdict::Confirmed,
        evidence: "checked: runs and answers; seen: the kernel knows its process no more; whole: \
                   the node answers a client"
            .into(),
        trial: Some(0),
        place: Some("node2".into()),
        injected_s: Some(60.2),
        seen_s: Some(61.7),
        healing_s: Some(90.2),
        whole_s: Some(104.5),
        detect_s: Some(0.8),
        dip: Some(0.62),
        recovery: Some(recovery()),
        ..FaultRecord::default()
    }
}

fn recovery() -> RecoveryRecord {
    let back = |left_s, back_s, watched_s| ReturnTime {
        left_s: Some(left_s),
        back_s,
        watched_s,
    };
    RecoveryRecord {
        watched_s: 119.8,
        ops_per_s: Some(BaselineRecord {
            middle: 10_420.0,
            within: 0.112,
            near: 0.05,
            intervals: 50,
        }),
        p99_ms: Some(BaselineRecord {
            middle: 6.1,
            within: 0.4,
            near: 0.05,
            intervals: 50,
        }),
        dip: Some(Dip {
            lowest_ops_per_s: 3_960.0,
            lowest_at_s: 0.8,
            depth: 0.62,
            seconds: 29.0,
            lost_ops: 81_300.0,
        }),
        throughput: Some(Returns {
            injected: back(0.0, Some(51.8), 119.8),
            healed: Some(back(2.8, Some(21.8), 89.8)),
        }),
        p99: Some(Returns {
            injected: back(0.0, None, 119.8),
            healed: Some(back(0.0, None, 89.8)),
        }),
        noticed: NoticedRecord {
            client_s: Some(0.8),
            client_by: Some(analysis::recovery::ClientSymptom::LostConnections),
            gossip_s: Some(9.4),
            gossip_by: "node1".into(),
            gossip_away_s: Some(38.0),
        },
        before: Some(stretch(50.0, 10_400.0, 6.1)),
        during: Some(StretchRecord {
            errors: [("write".to_owned(), errors())].into(),
            counts: [
                (KindCount::Retries, 412),
                (KindCount::Speculations, 97),
                (KindCount::SpeculationsWon, 61),
            ]
            .into(),
            client: [(ClientCount::ConnectionsLost, 4)].into(),
            ..stretch(45.0, 7_930.0, 48.0)
        }),
        after: Some(stretch(75.0, 10_180.0, 8.2)),
        hints: Some(Hints {
            stored: 182_000.0,
            delivered: 182_000.0,
            undelivered: 3_200.0,
            drained_s: Some(41.0),
        }),
        streamed_bytes: Some(0.0),
        repair: Some(store::record::RepairNeed::NotNeeded),
        repair_why: "considered down for 38 s, hints are kept for 180 min, and all are gone".into(),
        ..RecoveryRecord::default()
    }
}

fn errors() -> std::collections::BTreeMap<String, u64> {
    [
        ("connection_lost".to_owned(), 31),
        ("write_timeout".to_owned(), 7),
    ]
    .into()
}

fn stretch(seconds: f64, ops_per_s: f64, p99: f64) -> StretchRecord {
    let ms = measure::Known::Exactly;
    StretchRecord {
        seconds,
        ops: (seconds * ops_per_s) as u64,
        ops_per_s,
        latency_ms: QuantilesRecord {
            count: (seconds * ops_per_s) as u64,
            p50: ms(p99 / 4.0),
            p99: ms(p99),
            max: measure::Known::AtLeast(p99 * 9.0),
            ..QuantilesRecord::default()
        },
        ..StretchRecord::default()
    }
}

/// Returns the throughput as a share of normal, the p99 in ms, and the number of lost connections.
fn second(at: u64) -> (f64, f64, u64) {
    match at {
        60..=67 => (0.38 + 0.05 * (at - 60) as f64, 48.0, 8),
        68..=92 => (0.82, 12.0, 0),
        93..=111 => (0.7, 22.0, 0),
        _ => (1.0, 6.1, 0),
    }
}

fn course() -> Vec<IntervalRecord> {
    let record = |at: u64| {
        let (share, p99, lost) = second(at);
        let share = share * (1.0 + 0.02 * ((at * 7 % 11) as f64 / 5.0 - 1.0));
        let ok = (10_420.0 * share) as u64;
        let errors = (lost > 0).then(|| ("connection_lost".to_owned(), lost));
        IntervalRecord {
            t_s: at as f64,
            seconds: 1.0,
            phase: if at < 10 { "warmup" } else { "measure" }.into(),
            kind: "write".into(),
            ok,
            errors: errors.into_iter().collect(),
            latency_ms: Some(stretch(1.0, ok as f64, p99).latency_ms),
            ..IntervalRecord::default()
        }
    };
    (0..180).map(record).collect()
}

/// Returns a run of one trial with these faults.
pub fn view(faults: Vec<FaultRecord>) -> report::RunView {
    let mut view = fixture::run(1);
    view.plan.trials.truncate(1);
    view.findings.trials.truncate(1);
    view.trials.truncate(1);
    view.trials[0].intervals = course();
    let values = (0..180).map(|at| (at as f64, f64::from(u8::from((70..=107).contains(&at)))));
    view.trials[0].probes = vec![report::ProbeSeries {
        name: "gossip.unreachable".into(),
        place: "node1".into(),
        unit: "count".into(),
        values: values.collect(),
        ..report::ProbeSeries::default()
    }];
    let trial = &mut view.findings.trials[0];
    trial.phases = vec![
        PhaseTimeRecord {
            name: "warmup".into(),
            from_s: 0.0,
            to_s: 10.0,
        },
        PhaseTimeRecord {
            name: "measure".into(),
            from_s: 10.0,
            to_s: 180.0,
        },
    ];
    trial.faults.clone_from(&faults);
    view.findings.faults = faults;
    view
}

fn bands(page: &Page, section: &str) -> Vec<Band> {
    let section = page.sections().find(|one| one.id == section);
    let Some(Block::Choice(_, charts)) = section.expect("the section").blocks.first() else {
        panic!("a chart for each trial")
    };
    let bands = charts[0].1.bands.iter();
    bands.filter(|band| band.tone != Tone::Plain).cloned().collect()
}

#[track_caller]
fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn a_fault_has_a_card_with_its_effect_and_bands_on_all_series() {
    let page = page(&view(vec![killed()]));
    golden::keep("faults", &page);
    let said = text(&page);
    assert_says(
        &said,
        &[
            "node-kill of node2: confirmed",
            "injected at 60.2 s · seen broken 1.50 s later · healed after 30.0 s · seen whole",
            "10,420",
            "3,960",
            "Throughput back to normal: 21.8 s after the healing",
            "within 0.800 s (lost connections)",
            "by node1 after 9.40 s",
            "81,300",
            "not back within 1 min 30 s",
            "the last one",
            "not needed: considered down",
            "knows its process no more",
        ],
    );
    for section in ["time", "panels"] {
        let bands = bands(&page, section);
        let [broken, recovering] = &bands[..] else {
            panic!("{section}: {bands:?}")
        };
        assert_eq!(
            (broken.label.as_str(), broken.tone),
            ("node-kill of node2", Tone::Bad)
        );
        assert_eq!((broken.from, broken.to), (60.2, 104.5));
        // p99 was not back to normal by the end of the observation.
        assert_eq!((recovering.from, recovering.to), (104.5, 180.0));
    }
    let html = report::html(&page);
    assert_says(
        &html,
        &[
            "class=\"card good\"",
            "write_timeout",
            "61 first",
            "@broken",
        ],
    );
    let short = markdown(&page, None, None);
    assert_says(
        &short,
        &[
            "### Faults",
            "node-kill of node2",
            "| 10,420 | 3,960 | 10,180 |",
        ],
    );
    assert!(!short.contains("knows its process"), "{short}");
}

/// Returns the texts in the figure of the first screen.
pub fn said_in_figure(view: &report::RunView) -> String {
    let html = report::html(&page(view));
    let begin = html.find("class=\"glance\"").expect("a figure");
    html[begin..begin + html[begin..].find("</figure>").expect("its end")].to_owned()
}

#[test]
fn the_first_screen_gives_the_cost_and_losses_of_a_fault() {
    let mut broken = view(vec![killed()]);
    let said = said_in_figure(&broken);
    assert_says(
        &said,
        &[
            "node-kill of node2, broken for 44.3 s",
            "At worst, 62 % less throughput, below normal for 29.0 s, 81,300 operations short.",
            "38 of 1,120,388 operations failed.",
            "Throughput was back to normal 21.8 s after the healing; p99 was not back to normal",
            "class=\"band bad\"",
            "class=\"band warn\"",
            "cassay did not read back the acknowledged writes.",
        ],
    );
    for (lost, unread, expected) in [
        (
            0,
            0,
            "No acknowledged write was lost: cassay read back all 5,000 rows.",
        ),
        (
            0,
            7,
            "could read back and judge. It could not judge 7 of 5,000 rows.",
        ),
        (
            3,
            0,
            "3 of 5,000 rows differ from their acknowledged writes.",
        ),
    ] {
        broken.findings.trials[0].read_back = Some(ReadBackRecord {
            rows: 5_000,
            lost,
            unread,
            ..ReadBackRecord::default()
        });
        assert_says(&said_in_figure(&broken), &[expected]);
    }
    // The rows of only one of two trials were read back, so the figure states the number of these
    // trials.
    let mut second = broken.findings.trials[0].clone();
    second.read_back = None;
    second.verify.lost = 2;
    broken.findings.trials.push(second);
    assert_says(
        &said_in_figure(&broken),
        &[
            "2 reads did not find a row whose write the server had acknowledged.",
            "After 1 of 2 trials with faults, cassay read back the acknowledged writes.",
        ],
    );
}

#[test]
fn unknown_parts_of_a_fault_are_not_reported() {
    // Tests a run of an earlier version, a fault without an observed start, and a fault that was
    // never healed.
    let old = FaultRecord {
        kind: "node-stop".into(),
        verdict: FaultVerdict::Mismatch,
        ..FaultRecord::default()
    };
    let early = FaultRecord {
        kind: "node-pause".into(),
        injected_s: Some(12.0),
        trial: Some(0),
        recovery: Some(RecoveryRecord {
            watched_s: 168.0,
            unseen: vec!["2 intervals lie before it".into()],
            beside: vec!["node-kill of node1".into()],
            during: Some(stretch(168.0, 100.0, 3.0)),
            ..RecoveryRecord::default()
        }),
        ..FaultRecord::default()
    };
    let page = page(&view(vec![old, early]));
    let said = text(&page);
    assert_says(
        &said,
        &[
            "node-stop: mismatch",
            "not injected",
            "unknown, no",
            "2 intervals lie before it",
            "not healed",
            "Also on: node-kill of node1",
            "by clients: unknown",
        ],
    );
    assert!(!said.contains("not by clients"), "{said}");
    let bands = bands(&page, "time");
    assert_eq!((bands.len(), bands[0].from, bands[0].to), (1, 12.0, 180.0));
}

#[test]
fn published_claims_stand_beside_ours_and_are_never_confirmed() {
    let claim = |fault: &str, beside: &[&str], claim: &str| PublishedFailureRecord {
        fault: fault.into(),
        beside: beside.iter().map(|kind| (*kind).to_owned()).collect(),
        claim: claim.into(),
        ..PublishedFailureRecord::default()
    };
    let of_variant = |variant: &str| PublishedFailureRecord {
        variants: vec![variant.into()],
        ..claim("node", &["node-kill"], "of another")
    };
    let mut view = view(vec![killed()]);
    view.findings.published = Some(PublishedRecord {
        title: "a source".into(),
        system: "eight hosts".into(),
        failures: vec![
            claim("node", &["node-kill"], "throughput steady"),
            claim("disk", &[], "impact negligible"),
            of_variant("no variant of ours"),
        ],
        ..PublishedRecord::default()
    });
    let page = page(&view);
    golden::keep("faults-published", &page);
    let Some(section) = page.sections().find(|one| one.id == "faults") else {
        panic!("faults")
    };
    let Some(Block::Table(table)) = section.blocks.first() else {
        panic!("a table first")
    };
    let cells = |row: usize| -> Vec<&str> {
        table.rows[row].cells.iter().map(|cell| cell.text.as_str()).collect()
    };
    assert_eq!(cells(0).last(), Some(&"node: throughput steady"));
    assert_eq!(cells(1)[..2], ["disk", "not done here"]);
    assert_eq!(cells(1).last(), Some(&"impact negligible"));
    assert_eq!(cells(2)[..2], ["node", "not done here"]);
    assert_says(
        &table.foot,
        &["a source, on eight hosts", "does not judge it"],
    );
}

/// Returns the comparison of a period of a fault with trials without the fault.
fn against(
    stretch: &str,
    ratios: [f64; 3],
    ci: Option<f64>,
    failed: [u64; 2],
) -> WithoutFaultsRecord {
    let metrics = ["ops_per_s", "latency_ms.p50", "latency_ms.p99"];
    let comparisons = metrics.into_iter().zip(ratios).map(|(metric, ratio)| ComparisonRecord {
        metric: metric.into(),
        ratio,
        ci95: ci.map(|half| [ratio / half, ratio * half]),
        verdict: if ci.is_some() {
            store::record::Finding::Slower
        } else {
            store::record::Finding::Inconclusive
        },
        ..ComparisonRecord::default()
    });
    WithoutFaultsRecord {
        variant: "with-faults".into(),
        without: "without-faults".into(),
        point: Some(Point::Threads(32)),
        kind: "node-kill".into(),
        place: Some("node2".into()),
        stretch: store::record::FaultStretch::from_name(stretch).expect("a word"),
        blocks: 5,
        seconds: 221.5,
        ops_per_s: [10_400.0, 10_400.0 * ratios[0]],
        failed,
        comparisons: comparisons.collect(),
        ..WithoutFaultsRecord::default()
    }
}

#[test]
fn a_fault_stands_beside_the_same_trials_without_it() {
    let mut view = view(vec![killed()]);
    let said = text(&page(&view));
    assert!(!said.contains("without faults"), "nobody asked: {said}");
    view.findings.without_faults = vec![
        against("broken", [0.702, 1.31, 8.4], Some(1.1), [0, 218]),
        against("after", [0.991, 1.0, 1.02], None, [0, 0]),
    ];
    // The second period has no comparison, because the test assumes that no operation ended in this
    // period.
    view.findings.without_faults[1].comparisons.remove(0);
    let page = page(&view);
    golden::keep("faults-without", &page);
    assert_says(
        &text(&page),
        &[
            "Against the same trials without faults",
            "0.702 (0.638 to 0.772)",
            "8.400 (7.636 to 9.240)",
            "1.020 (one block: begin with 5)",
            "10,400",
            "218",
        ],
    );
}
