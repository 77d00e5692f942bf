//! Metrics of the running runs, or else of the newest run, in the text format of OpenMetrics 1.0.
//!
//! Counters and histograms cover the measured windows of all trials of a variant, as the findings
//! do. The bounds of the histogram are powers of the fourth root of two. So they are also bounds of
//! a native histogram of Prometheus with the schema 2.

use crate::http::Response;
use crate::metrics_source::{RunMetrics, bound_labels};
use crate::responses;
use std::fmt::{Display, Write};
use store::live::{KindMetrics, LiveRun, PHASES};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers a scrape.
pub(crate) fn response(runs: &[RunMetrics]) -> Response {
    responses::response(200, CONTENT_TYPE, &text(runs))
}

/// Text in the format, metric by metric.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// Begins a metric. All its samples must follow before the next metric.
    fn begin(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn text(runs: &[RunMetrics]) -> String {
    let mut out = Exposition::default();
    about_runs(&mut out, runs);
    counters(&mut out, runs);
    latencies(&mut out, runs);
    windows(&mut out, runs);
    clients(&mut out, runs);
    out.0 + "# EOF\n"
}

fn about_runs(out: &mut Exposition, runs: &[RunMetrics]) {
    out.begin(
        "cassay_run",
        "info",
        "",
        "Run, with its state and its verdict so far.",
    );
    for (run, _) in runs {
        let verdict = run.verdict_so_far().map_or("none", |verdict| verdict.name());
        let labels = [
            ("run", run.name.as_str()),
            ("state", run.state.name()),
            ("verdict", verdict),
        ];
        out.sample("cassay_run_info", &labels, 1);
    }
    out.begin("cassay_trials", "gauge", "", "Planned trials.");
    for (run, _) in runs {
        out.sample("cassay_trials", &[("run", &run.name)], run.trials.len());
    }
    out.begin("cassay_trials_finished", "gauge", "", "Finished trials.");
    for (run, _) in runs {
        let finished = run.finished().count();
        out.sample("cassay_trials_finished", &[("run", &run.name)], finished);
    }
    out.begin(
        "cassay_phase",
        "stateset",
        "",
        "Phase of the current trial.",
    );
    for (run, _) in runs {
        for phase in PHASES {
            let is_now = run.state == store::RunState::Running && run.phase.name == phase;
            let labels = [("run", run.name.as_str()), ("cassay_phase", phase)];
            out.sample("cassay_phase", &labels, u8::from(is_now));
        }
    }
    out.begin(
        "cassay_fault_active",
        "gauge",
        "",
        "1 while the fault is in effect.",
    );
    for (run, _) in runs {
        // A study may contain the same fault at the same place several times.
        let mut faults: std::collections::BTreeMap<(&str, &str), bool> = Default::default();
        for fault in &run.faults {
            let is_active = faults.entry((&fault.kind, &fault.place)).or_default();
            *is_active |= run.state == store::RunState::Running && fault.stage.is_open();
        }
        for ((kind, place), is_active) in faults {
            let labels = [
                ("run", run.name.as_str()),
                ("fault", kind),
                ("place", place),
            ];
            out.sample("cassay_fault_active", &labels, u8::from(is_active));
        }
    }
}

fn labels<'m>(run: &'m LiveRun, kind: &'m KindMetrics) -> [(&'static str, &'m str); 3] {
    [
        ("run", &run.name),
        ("variant", &kind.variant),
        ("kind", &kind.kind),
    ]
}

fn kinds(runs: &[RunMetrics]) -> impl Iterator<Item = (&LiveRun, &KindMetrics)> {
    runs.iter().flat_map(|(run, kinds)| kinds.iter().map(move |kind| (run, kind)))
}

fn counters(out: &mut Exposition, runs: &[RunMetrics]) {
    let help = "Operations that succeeded within the measured windows.";
    out.begin("cassay_operations", "counter", "", help);
    for (run, kind) in kinds(runs) {
        out.sample("cassay_operations_total", &labels(run, kind), kind.ops);
    }
    let help = "Failed operations that were due in the measured windows.";
    out.begin("cassay_errors", "counter", "", help);
    for (run, kind) in kinds(runs) {
        out.sample("cassay_errors_total", &labels(run, kind), kind.errors);
    }
}

fn latencies(out: &mut Exposition, runs: &[RunMetrics]) {
    let help = "Latency from the intended start, of operations that were due in the measured \
                windows, with lower bounds for operations that the client gave up.";
    out.begin("cassay_latency_seconds", "histogram", "seconds", help);
    let bounds = bound_labels();
    for (run, kind) in kinds(runs) {
        let [run_label, variant, kind_label] = labels(run, kind);
        for (bound, count) in bounds.iter().zip(&kind.at_most) {
            let labels = [run_label, variant, kind_label, ("le", bound)];
            out.sample("cassay_latency_seconds_bucket", &labels, count);
        }
        let labels = [run_label, variant, kind_label, ("le", "+Inf")];
        out.sample("cassay_latency_seconds_bucket", &labels, kind.count);
        let labels = [run_label, variant, kind_label];
        out.sample("cassay_latency_seconds_count", &labels, kind.count);
        out.sample("cassay_latency_seconds_sum", &labels, kind.sum_ns / 1e9);
    }
}

fn windows(out: &mut Exposition, runs: &[RunMetrics]) {
    let mut gauge =
        |name: &str, unit: &str, help: &str, value: &dyn Fn(&LiveRun) -> Option<f64>| {
            out.begin(name, "gauge", unit, help);
            for (run, _) in runs {
                if let Some(value) = value(run) {
                    out.sample(name, &[("run", &run.name)], value);
                }
            }
        };
    gauge(
        "cassay_window_throughput",
        "",
        "Successful operations per second in the window of the current trial.",
        &|run| (run.window.seconds > 0.0).then(|| run.window.ops as f64 / run.window.seconds),
    );
    gauge(
        "cassay_window_latency_p50_seconds",
        "seconds",
        "Median of latency in the window of the current trial.",
        &|run| Some(run.window.p50_ms? / 1e3),
    );
    gauge(
        "cassay_window_latency_p99_seconds",
        "seconds",
        "99th percentile of latency in the window of the current trial.",
        &|run| Some(run.window.p99_ms? / 1e3),
    );
}

fn clients(out: &mut Exposition, runs: &[RunMetrics]) {
    use store::record::ClientIntervalRecord;
    let mut gauge =
        |name: &str, unit: &str, help: &str, value: &dyn Fn(&ClientIntervalRecord) -> f64| {
            out.begin(name, "gauge", unit, help);
            for (run, _) in runs {
                if let Some(client) = &run.client {
                    out.sample(name, &[("run", &run.name)], value(client));
                }
            }
        };
    gauge(
        "cassay_client_lag_seconds",
        "seconds",
        "99th percentile of the client's release lag in the last interval.",
        &|client| client.lag_us_p99 / 1e6,
    );
    gauge(
        "cassay_client_stalled_seconds",
        "seconds",
        "Time that the client spent in stalls in the last interval.",
        &|client| client.stalled_ms / 1e3,
    );
    gauge(
        "cassay_client_cpu_cores",
        "cores",
        "CPU time of the client's workers in the last interval, as a share of one core.",
        &|client| client.cpu_share,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_escaped_and_an_empty_exposition_is_complete() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
        let text = text(&[]);
        assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
        assert!(text.contains("# UNIT cassay_latency_seconds seconds\n"));
        assert!(!text.contains("\n\n"), "OpenMetrics has no empty lines");
    }
}
