//! Tests that reports show published figures beside the measured figures. Reports must state
//! whether a published figure is within the measured interval, and whether the published figures
//! are consistent with each other.

use crate::fixture;
use report::{html, page, text};
use store::record::{
    PublishedFailureRecord, PublishedFigureRecord, PublishedRatioRecord, PublishedRecord,
};

/// With ten variants, cards of the first four variants would not answer the question. Cards of the
/// published ratios answer it.
#[test]
fn published_ratios_are_the_figure_and_cards_of_many_variants() {
    let mut view = fixture::run(1);
    for (index, trial) in view.findings.trials.iter_mut().enumerate() {
        trial.variant = format!("variant-{index}").into();
    }
    view.findings.published = Some(PublishedRecord {
        ratios: vec![PublishedRatioRecord {
            what: "A: throughput, NVMe over hard disks".into(),
            metric: "ops_per_s".into(),
            published: [2.0, 31.0],
            ours: Some(3.2),
            ci95: Some([2.5, 4.1]),
            ..PublishedRatioRecord::default()
        }],
        ..PublishedRecord::default()
    });
    let page = page(&view);
    let cards: Vec<String> = page
        .headline
        .figures
        .iter()
        .map(|card| {
            format!(
                "{} {} {}, {}",
                card.label, card.value, card.unit, card.detail
            )
        })
        .collect();
    assert_eq!(
        cards,
        ["A: throughput, NVMe over hard disks 3.2 ×, 95 %: 2.5 to 4.1 · published: 2 to 31"]
    );
    let html = html(&page);
    let begin = html.find("class=\"glance\"").expect("a figure");
    let svg = &html[begin..begin + html[begin..].find("</svg>").expect("its end")];
    for part in [
        "hard disks</text>",
        ">3.2 (published 2 to 31)</text>",
        "class=\"other\"",
    ] {
        assert!(svg.contains(part), "{part} is not in\n{svg}");
    }
}

#[test]
fn a_published_ratio_is_inside_or_outside_our_interval_only() {
    let ratio = |what: &str, value: f64, ci95: Option<[f64; 2]>| PublishedRatioRecord {
        what: what.to_owned(),
        metric: "ops_per_s".to_owned(),
        of: "on".into(),
        to: "off".into(),
        published: [value, value],
        ours: ci95.map(|[low, high]| (low * high).sqrt()),
        ci95,
    };
    let figure = |place: &str, mean_by_little: Option<f64>| PublishedFigureRecord {
        place: place.to_owned(),
        ops_per_s: Some(347_006.0),
        mean_ms: Some(8373.0),
        mean_by_little,
        ..PublishedFigureRecord::default()
    };
    let mut alone = ratio("alone", 1.1, None);
    alone.ours = Some(1.1);
    let mut view = fixture::run(1);
    view.findings.published = Some(PublishedRecord {
        title: "a source".to_owned(),
        ratios: vec![
            ratio("in", 1.198, Some([1.1, 1.3])),
            ratio("over", 1.5, Some([1.1, 1.3])),
            ratio("under", 1.0, Some([1.1, 1.3])),
            ratio("wide", 1.198, Some([0.43, 2.1])),
            ratio("absent", 1.0, None),
            alone,
        ],
        figures: vec![figure("fig. 1", Some(236.0)), figure("fig. 2", None)],
        failures: vec![PublishedFailureRecord {
            fault: "disk".to_owned(),
            claim: "no interruption".to_owned(),
            ..PublishedFailureRecord::default()
        }],
        unknown: vec!["repetitions".to_owned()],
        ..PublishedRecord::default()
    });
    let said = text(&page(&view));
    for part in [
        "inside the interval of this run",
        "(no difference)",
        "this run is lower:",
        "this run is higher:",
        "not measured",
        "this run has no",
        "contradicts",
        "only partly printed",
        "repetitions",
        "disk: no interruption",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(!said.contains("onfirmed"), "{said}");
}
