//! Builds the output of `--json`, which contains the findings in the form of `findings.json`, and a
//! summary.

use crate::merged_points::{ALL, Point, best, variants};
use crate::page::Page;
use crate::probe_series;
use crate::run_view::{RunView, TrialView};
use crate::sections::{effective, host_settings, machines, node_balance};
use serde_json::{Value, json};
use store::record::{ProofOutcome, left_out};

pub fn json(page: &Page) -> String {
    let mut text = serde_json::to_string_pretty(&page.data).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the content of `findings.json` unchanged, with an additional `summary` and, if known,
/// the observations of hosts and nodes.
pub fn run(view: &RunView, points: &[Point<'_>]) -> Value {
    let mut data = serde_json::to_value(&view.findings).unwrap_or(Value::Null);
    let best = variants(view).into_iter().enumerate().map(|(index, variant)| {
        let Some(point) = best(view, points, index) else {
            return json!({ "variant": variant, "point": null });
        };
        json!({
            "variant": variant,
            "point": store::point::map_of(point.at),
            "ops_per_s": point.ops_per_s(),
            "ops_per_s_ci95": point.ops_per_s_ci95(),
            "short_window": point.is_short_window(),
            "few_incidents": point.interval_labels().contains(&"few incidents"),
            "saturated": point.saturated,
            "latency_ms": point.latency(view, ALL),
            "verdict": point.verdict.name(),
        })
    });
    let summary = json!({
        "run": view.name,
        "folder": view.folder,
        "question": view.plan.question,
        "scale": view.plan.scale,
        "cassay": view.plan.cassay,
        "notes": view.notes,
        "seed": view.plan.seed,
        "trials_planned": view.plan.trials.len(),
        "trials_finished": view.findings.trials.len(),
        "trials_left_out": left_out(&view.journal).len(),
        "best": best.collect::<Vec<_>>(),
        "rerun": view.plan.rerun,
    });
    if let Value::Object(map) = &mut data {
        map.insert("summary".into(), summary);
        let lab: Vec<Value> = view.trials.iter().filter_map(|t| lab(view, t)).collect();
        if !lab.is_empty() {
            map.insert("lab".into(), lab.into());
            map.insert("configuration".into(), json!(effective::summary(view)));
        }
        if let Some(settings) = host_settings::json(view) {
            map.insert("host_settings".into(), settings);
        }
        if let Some(machines) = machines::json(view) {
            map.insert("machines".into(), machines);
        }
    }
    data
}

/// Returns the observations of the hosts and nodes of a trial. Omits the settings of nodes, because
/// the key `configuration` contains them for the whole run. Returns `None` if the trial has neither
/// a record of its nodes nor series of probes.
fn lab(view: &RunView, trial: &TrialView) -> Option<Value> {
    let record = trial.nodes.as_ref();
    if record.is_none() && trial.probes.is_empty() {
        return None;
    }
    let mut nodes = record.map(|r| r.nodes.clone()).unwrap_or_default();
    for node in &mut nodes {
        node.settings.clear();
        node.flags.clear();
        node.jvm.clear();
    }
    let proofs = record.map_or(&[][..], |r| &r.proofs);
    let of = |outcome| -> Vec<_> { proofs.iter().filter(|p| p.outcome() == outcome).collect() };
    let (failed, not_shown) = (of(ProofOutcome::NotInEffect), of(ProofOutcome::NotShown));
    let held = of(ProofOutcome::InEffect).len();
    Some(json!({
        "trial": trial.index,
        "isolation": record.map(|r| &r.isolation),
        "hosts": record.map(|r| &r.hosts),
        "nodes": nodes,
        "unseen": record.map(|r| &r.unseen),
        "proofs": { "held": held, "failed": failed, "not_shown": not_shown },
        "window_s": probe_series::window(&probe_series::phases(view, trial)),
        "series": trial.probes.len(),
        "spread": node_balance::json(view, trial),
    }))
}
