//! `cassay compare`: compares finished runs with the first run of the list.

use super::show::{print, say_notes};
use crate::args::{Common, CompareArgs};
use crate::command::page_file;
use crate::exit::Exit;
use crate::terminal;
use anyhow::Result;
use report::RunView;
use store::Run;

/// Compares runs with the first run of the list.
pub fn compare(args: &CompareArgs, common: &Common) -> Result<Exit> {
    let names = std::iter::once(&args.baseline).chain(&args.contenders);
    let runs: Vec<Run> = names.map(|name| store::find(&common.out, name)).collect::<Result<_>>()?;
    let exits: Vec<Exit> = runs.iter().map(say_notes).collect();
    let views: Vec<RunView> = runs.iter().map(RunView::read).collect::<Result<_>>()?;
    let side = |(run, view): (&Run, _)| report::Side {
        run: view,
        link: page_file::way(args.to.as_deref(), &run.path),
    };
    let sides: Vec<report::Side<'_>> = runs.iter().zip(&views).map(side).collect();
    let page = report::compare_all(&sides);
    match &args.to {
        Some(to) => page_file::write(to, &page, common)?,
        None => print(&page, common),
    }
    if exits.contains(&Exit::Damaged) {
        return Ok(Exit::Damaged);
    }
    if args.require_not_slower && has_slower(&page.data) {
        terminal::say(
            "a requirement was missed: a contender is slower, or looks slower, than the baseline \
             at a point (--require-not-slower)",
        );
        return Ok(Exit::Missed);
    }
    Ok(Exit::Done)
}

/// Returns true if a comparison in the data of a page is `slower`, or `looks_different` in the
/// worse direction. A comparison of runs that were not interleaved cannot give a stronger result
/// than `looks_different`.
fn has_slower(data: &serde_json::Value) -> bool {
    match data {
        serde_json::Value::Array(items) => items.iter().any(has_slower),
        serde_json::Value::Object(map) => {
            let says = map.get("verdict").and_then(|v| v.as_str());
            says == Some("slower")
                || (says == Some("looks_different") && is_worse(map))
                || map.values().any(has_slower)
        }
        _ => false,
    }
}

fn is_worse(comparison: &serde_json::Map<String, serde_json::Value>) -> bool {
    let metric = comparison.get("metric").and_then(|v| v.as_str());
    let ratio = comparison.get("ratio").and_then(serde_json::Value::as_f64);
    match metric {
        Some("ops_per_s") => ratio.is_some_and(|ratio| ratio < 1.0),
        _ => ratio.is_some_and(|ratio| ratio > 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_slower_point_is_found_wherever_it_stands() {
        let slower = json!({"comparisons": [{"verdict": "faster"}, {"verdict": "slower"}]});
        assert!(has_slower(&slower));
        for (metric, ratio, worse) in [
            ("ops_per_s", 0.7, true),
            ("ops_per_s", 1.3, false),
            ("latency_ms.p99", 1.9, true),
            ("latency_ms.p99", 0.5, false),
        ] {
            let looks = json!({"verdict": "looks_different", "metric": metric, "ratio": ratio});
            assert_eq!(
                has_slower(&json!({"comparisons": [looks]})),
                worse,
                "{metric} {ratio}"
            );
        }
        assert!(!has_slower(
            &json!({"comparisons": [{"verdict": "inconclusive"}]})
        ));
    }
}
