//! Tests the dashboard and the annotations for Grafana.

use crate::{faults, fixture};
use report::{grafana_annotations, grafana_dashboard};
use serde_json::Value;
use std::collections::BTreeSet;

/// Metrics of `cassay serve`, without the suffixes of histograms.
const METRICS: [&str; 6] = [
    "cassay_operations_total",
    "cassay_errors_total",
    "cassay_latency_seconds",
    "cassay_phase",
    "cassay_fault_active",
    "cassay_client_lag_seconds",
];

#[test]
fn the_dashboard_shows_every_metric_once() {
    let dashboard: Value = serde_json::from_str(&grafana_dashboard()).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut places = BTreeSet::new();
    for panel in panels {
        let place = &panel["gridPos"];
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|key| place[key].as_u64().expect("a number"));
        assert!(x + w <= 24 && w > 0 && h > 0, "{place}");
        assert!(places.insert((x, y)), "two panels at {place}");
        assert!(panel["id"].as_u64().is_some_and(|id| id > 0));
        for target in panel["targets"].as_array().expect("targets") {
            let expr = target["expr"].as_str().expect("a query");
            assert!(
                expr.contains("{run=~\"$run\"}") && !expr.contains("RUNS"),
                "{expr}"
            );
            assert_eq!(
                expr.matches('(').count(),
                expr.matches(')').count(),
                "{expr}"
            );
            assert_eq!(target["datasource"]["uid"], "${source}");
        }
    }
    let shown = panels.iter().map(|panel| panel["targets"].to_string()).collect::<Vec<String>>();
    for metric in METRICS {
        let count = shown.iter().filter(|targets| targets.contains(metric)).count();
        assert_eq!(count, 1, "{metric}");
    }
    let names: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
        .iter()
        .filter_map(|variable| variable["name"].as_str())
        .collect();
    assert_eq!(names, ["source", "run"]);
    for query in dashboard["annotations"]["list"].as_array().expect("annotations") {
        // The schema requires these fields.
        assert!(
            query["name"].is_string() && query["iconColor"].is_string(),
            "{query}"
        );
        assert!(query["datasource"]["uid"].is_string() && query["enable"].is_boolean());
    }
}

#[test]
fn annotations_have_the_times_of_phases_and_faults() {
    let mut fault = faults::killed();
    fault.evidence = "<b> & seen".into();
    let mut view = fixture::run(1);
    let trial = &mut view.findings.trials[0];
    trial.started_unix_ns = 1_700_000_000_123_456_789;
    trial.phases = vec![store::record::PhaseTimeRecord {
        name: "measure".into(),
        from_s: 5.0,
        to_s: 35.25,
    }];
    trial.faults = vec![fault];
    let name = trial.index;
    let text = grafana_annotations(&view);
    let all: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let tagged = |tag: &str| {
        let has = |one: &&Value| one["tags"].as_array().expect("tags").iter().any(|t| t == tag);
        all.iter().filter(has).collect::<Vec<&Value>>()
    };
    assert_eq!(tagged("cassay").len(), all.len());
    let [phase] = tagged("phase:measure")[..] else {
        panic!("one phase: {text}");
    };
    assert_eq!(phase["time"], 1_700_000_005_123_i64);
    assert_eq!(phase["timeEnd"], 1_700_000_035_373_i64);
    let [killed] = tagged("fault:node-kill")[..] else {
        panic!("one fault: {text}");
    };
    assert_eq!(killed["time"], 1_700_000_060_323_i64);
    assert_eq!(killed["timeEnd"], 1_700_000_090_323_i64);
    // Grafana shows the text as HTML.
    let words = killed["text"].as_str().expect("a text");
    assert!(words.starts_with(&format!("trial {name} of ")), "{words}");
    assert!(
        words.ends_with("node-kill of node2, &lt;b&gt; &amp; seen"),
        "{words}"
    );
    assert!(
        !tagged("verdict:invalid").is_empty(),
        "the fixture has an invalid trial"
    );
}
