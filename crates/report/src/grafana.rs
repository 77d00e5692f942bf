//! Exports for Grafana: a dashboard for the metrics of `cassay serve`, and the annotations of a
//! run.
//!
//! The dashboard has Grafana's classic JSON model, which all versions since 9 import. An annotation
//! is the body of a request `POST /api/annotations`: times in ms since 1970, tags and a text.

use crate::merged_points::variant_name;
use crate::page::Verdict;
use crate::run_view::RunView;
use serde_json::{Value, json};
use store::record::{JournalEvent, TrialFinding};

/// Version of the dashboard's schema. Grafana migrates older schemas when it imports them.
const SCHEMA: u32 = 39;

/// Width of a panel; a dashboard has 24 columns.
const WIDTH: usize = 12;
const HEIGHT: usize = 8;

/// The data source and the selected runs, which the reader chooses at the top of the dashboard.
const RUNS: &str = r#"{run=~"$run"}"#;

/// A panel: title, unit, type, and the queries with their legends.
type PanelRow = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// Panels in order. `RUNS` stands for the selected runs.
const PANELS: [PanelRow; 6] = [
    (
        "Throughput",
        "ops",
        "timeseries",
        &[(
            "sum by (variant, kind) (rate(cassay_operations_totalRUNS[$__rate_interval]))",
            "{{variant}} {{kind}}",
        )],
    ),
    (
        "Latency from the intended start",
        "s",
        "timeseries",
        &[
            (
                "histogram_quantile(0.5, sum by (le, variant, kind) \
                 (rate(cassay_latency_seconds_bucketRUNS[$__rate_interval])))",
                "p50 {{variant}} {{kind}}",
            ),
            (
                "histogram_quantile(0.99, sum by (le, variant, kind) \
                 (rate(cassay_latency_seconds_bucketRUNS[$__rate_interval])))",
                "p99 {{variant}} {{kind}}",
            ),
            (
                "histogram_quantile(0.999, sum by (le, variant, kind) \
                 (rate(cassay_latency_seconds_bucketRUNS[$__rate_interval])))",
                "p99.9 {{variant}} {{kind}}",
            ),
        ],
    ),
    (
        "Errors",
        "ops",
        "timeseries",
        &[(
            "sum by (variant, kind) (rate(cassay_errors_totalRUNS[$__rate_interval]))",
            "{{variant}} {{kind}}",
        )],
    ),
    (
        "Lag of the client",
        "s",
        "timeseries",
        &[("max by (run) (cassay_client_lag_secondsRUNS)", "{{run}}")],
    ),
    (
        "Phase",
        "none",
        "state-timeline",
        &[(
            "max by (run, phase) (cassay_phaseRUNS)",
            "{{run}} {{phase}}",
        )],
    ),
    (
        "Faults",
        "none",
        "state-timeline",
        &[(
            "max by (run, fault) (cassay_fault_activeRUNS)",
            "{{run}} {{fault}}",
        )],
    ),
];

/// Returns the dashboard as JSON.
pub fn grafana_dashboard() -> String {
    let panels: Vec<Value> =
        PANELS.iter().enumerate().map(|(index, row)| panel(index, row)).collect();
    let dashboard = json!({
        "uid": "cassay-runs",
        "title": "cassay: runs",
        "tags": ["cassay", "cassandra"],
        "schemaVersion": SCHEMA,
        "editable": true,
        // One crosshair over all panels.
        "graphTooltip": 1,
        "time": { "from": "now-30m", "to": "now" },
        "refresh": "5s",
        "templating": { "list": [
            {
                "type": "datasource", "name": "source", "label": "Data source",
                "query": "prometheus",
            },
            {
                "type": "query", "name": "run", "label": "Run", "datasource": source(),
                "query": {
                    "query": "label_values(cassay_operations_total, run)", "refId": "run",
                },
                // On time range change, so that a new run appears.
                "refresh": 2, "sort": 2, "multi": true, "includeAll": true,
                "current": { "text": ["All"], "value": ["$__all"] },
            },
        ]},
        "annotations": { "list": [
            metric_annotation("Faults", "red", "max by (run, fault) (cassay_fault_activeRUNS) > 0",
                "{{fault}}"),
            {
                "name": "Finished runs", "enable": true, "iconColor": "blue",
                "datasource": { "type": "grafana", "uid": "-- Grafana --" },
                "target": {
                    "type": "tags", "tags": ["cassay"], "matchAny": false, "limit": 500,
                },
            },
        ]},
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}

fn metric_annotation(name: &str, color: &str, expr: &str, title: &str) -> Value {
    json!({
        "name": name, "enable": true, "iconColor": color, "datasource": source(),
        "expr": expr.replace("RUNS", RUNS), "step": "1s", "titleFormat": title,
        "useValueForTime": false,
    })
}

fn panel(index: usize, (title, unit, kind, queries): &PanelRow) -> Value {
    let target = |(number, (expr, legend)): (usize, &(&str, &str))| {
        json!({
            "refId": format!("Q{number}"), "datasource": source(), "range": true,
            "expr": expr.replace("RUNS", RUNS), "legendFormat": legend,
        })
    };
    let targets: Vec<Value> = queries.iter().enumerate().map(target).collect();
    // Latencies differ by orders of magnitude.
    let scale = if *unit == "s" {
        json!({ "type": "log", "log": 10 })
    } else {
        json!({ "type": "linear" })
    };
    let custom = if *kind == "timeseries" {
        json!({ "scaleDistribution": scale, "showPoints": "never", "fillOpacity": 0 })
    } else {
        json!({ "fillOpacity": 70, "lineWidth": 0 })
    };
    json!({
        "id": index + 1,
        "title": title,
        "type": kind,
        "datasource": source(),
        "gridPos": {
            "w": WIDTH, "h": HEIGHT, "x": index % 2 * WIDTH, "y": index / 2 * HEIGHT,
        },
        "fieldConfig": { "defaults": { "unit": unit, "min": null, "custom": custom },
            "overrides": [] },
        "targets": targets,
    })
}

/// Returns the annotations of a run, one JSON object per line: the run with its verdict, each trial
/// with its verdict, phases and faults.
pub fn grafana_annotations(view: &RunView) -> String {
    let mut all = Vec::new();
    let span = view.journal.first().zip(view.journal.last());
    if let Some((first, last)) = span {
        let verdict = Verdict::from_record(view.verdict);
        let text = format!("{}: {verdict}. {}", view.name, view.plan.question);
        let tags = [("run", view.name.as_str()), ("verdict", verdict.name())];
        all.push(annotation(
            ms(first.unix_ns),
            Some(ms(last.unix_ns)),
            &text,
            &tags,
        ));
    }
    for trial in &view.findings.trials {
        all.extend(of_trial(view, trial));
    }
    let lines = all.iter().map(|one| format!("{one}\n"));
    lines.collect()
}

fn of_trial(view: &RunView, trial: &TrialFinding) -> Vec<Value> {
    let Some(start_ms) = start_ms(view, trial) else {
        return Vec::new();
    };
    let at = |seconds: f64| start_ms + (seconds * 1e3).round() as i64;
    let run = ("run", view.name.as_str());
    let name = format!(
        "trial {} of {}",
        trial.index,
        variant_name(&trial.variant, view)
    );
    let verdict = Verdict::from_record(Some(trial.verdict)).name();
    let last_s = trial.phases.iter().map(|phase| phase.to_s).fold(trial.seconds, f64::max);
    let text = match trial.reasons.first() {
        Some(reason) => format!("{name}: {verdict}, {reason}"),
        None => format!("{name}: {verdict}"),
    };
    let mut all = vec![annotation(
        at(0.0),
        Some(at(last_s)),
        &text,
        &[run, ("verdict", verdict)],
    )];
    for phase in &trial.phases {
        let text = format!("{name}: phase {}", phase.name);
        let tags = [run, ("phase", phase.name.as_str())];
        all.push(annotation(
            at(phase.from_s),
            Some(at(phase.to_s)),
            &text,
            &tags,
        ));
    }
    for fault in &trial.faults {
        if let Some(injected_s) = fault.injected_s {
            let end = fault.healing_s.or(fault.whole_s).map(at);
            let text = format!("{name}: {}, {}", fault.name(), fault.evidence);
            let tags = [run, ("fault", fault.kind.as_str())];
            all.push(annotation(at(injected_s), end, &text, &tags));
        }
    }
    all
}

/// Returns the start line of a trial in ms. Old runs have only the time of the journal.
fn start_ms(view: &RunView, trial: &TrialFinding) -> Option<i64> {
    if trial.started_unix_ns > 0 {
        return Some(ms(trial.started_unix_ns));
    }
    let is_start = |event: &JournalEvent| matches!(event, JournalEvent::TrialStarted { .. });
    let mut lines = view.journal.iter();
    let line = lines.find(|line| line.trial == Some(trial.index) && is_start(&line.event));
    line.map(|line| ms(line.unix_ns))
}

fn ms(unix_ns: u64) -> i64 {
    i64::try_from(unix_ns / 1_000_000).unwrap_or(i64::MAX)
}

fn annotation(time: i64, end: Option<i64>, text: &str, tags: &[(&str, &str)]) -> Value {
    let tags = tags.iter().map(|(name, value)| format!("{name}:{value}"));
    let tags: Vec<String> = std::iter::once("cassay".to_owned()).chain(tags).collect();
    let mut annotation = json!({ "time": time, "tags": tags, "text": crate::escape::escape(text) });
    // Grafana draws an annotation with two times as a region.
    if let Some(end) = end.filter(|end| *end > time) {
        annotation["timeEnd"] = end.into();
    }
    annotation
}
