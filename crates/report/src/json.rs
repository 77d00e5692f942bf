//! What `--json` prints: the findings as they are on disk, and a summary beside them.

use crate::page::Page;
use crate::summary::{ALL, Point, best, variants};
use crate::view::RunView;
use serde_json::{Value, json};

/// The data of a page, pretty-printed with a newline at the end.
pub fn json(page: &Page) -> String {
    let mut text = serde_json::to_string_pretty(&page.data).unwrap_or_default();
    text.push('\n');
    text
}

/// Everything of `findings.json` at its own place, and `summary`: a reader of the one can read
/// the other.
pub fn run(view: &RunView, points: &[Point<'_>]) -> Value {
    let mut data = serde_json::to_value(&view.findings).unwrap_or(Value::Null);
    let best = variants(view)
        .into_iter()
        .enumerate()
        .map(|(index, variant)| {
            let Some(point) = best(points, index) else {
                return json!({ "variant": variant, "point": null });
            };
            json!({
                "variant": variant,
                "point": point.at,
                "ops_per_s": point.ops_per_s(),
                "ops_per_s_ci95": point.ops_per_s_ci95(),
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
        "seed": view.plan.seed,
        "trials_planned": view.plan.trials.len(),
        "trials_finished": view.findings.trials.len(),
        "best": best.collect::<Vec<_>>(),
        "rerun": view.plan.rerun,
    });
    if let Value::Object(map) = &mut data {
        map.insert("summary".into(), summary);
    }
    data
}
