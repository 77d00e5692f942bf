//! Lists the points that only one of two runs has, and the differences between the conditions of
//! the runs.

use super::pairs::Pair;
use super::side::Side;
use crate::flatten_json::{describe_file, flatten};
use crate::merged_points::Point;
use crate::page::{Block, Cell, Section, Table, Tone, Verdict};
use crate::run_view::RunView;
use crate::sections::effective;
use crate::sections::setup::difference_table;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the section that lists the points that a contender has and the baseline does not have,
/// and vice versa.
pub(super) fn unmatched(sides: &[Side<'_>], left: &[Point<'_>], pairs: &[Pair<'_, '_>]) -> Section {
    let mut blocks = Vec::new();
    for pair in pairs {
        let list = |points: &[Point<'_>], which: &str| {
            let known = |p: &Point<'_>| {
                pair.matched.iter().any(|(a, _)| a.variant == p.variant && a.at == p.at)
            };
            let names: Vec<String> = points
                .iter()
                .filter(|p| !known(p))
                .map(|p| match p.variant.name() {
                    Some(variant) => format!("{variant} at {}", p.label()),
                    None => p.label(),
                })
                .collect();
            (!names.is_empty()).then(|| {
                Block::Note(
                    Tone::Warn,
                    format!("Only in {which}: {}.", names.join("; ")),
                )
            })
        };
        let (base, own) = match sides.len() {
            2 => ("the baseline".to_owned(), "the contender".to_owned()),
            _ => (
                format!("the baseline, but not in {}", pair.run.name),
                pair.run.name.clone(),
            ),
        };
        blocks.extend(list(left, &base).into_iter().chain(list(pair.points, &own)));
    }
    Section {
        id: "unmatched",
        title: "Not compared".into(),
        lead: String::new(),
        blocks,
    }
}

/// Returns the resolved study as dotted paths with values. Replaces the content of each input file
/// by its number of lines and a hash. A file may contain keys of a user's table, which must not
/// appear on a shared page.
fn study(run: &RunView) -> BTreeMap<String, String> {
    let mut resolved = run.plan.resolved.clone();
    for text in resolved.overrides.inputs.values_mut() {
        *text = describe_file(text);
    }
    flatten(&json!(resolved))
}

fn properties(run: &RunView) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = study(run)
        .into_iter()
        .map(|(key, value)| (format!("study: {key}"), value))
        .collect();
    all.insert("cassay".into(), run.plan.cassay.clone());
    all.insert("seed".into(), run.plan.seed.to_string());
    all.insert(
        "scale".into(),
        run.plan.scale.clone().unwrap_or_else(|| "as written".into()),
    );
    for (name, value) in &run.facts {
        all.insert(format!("machine: {name}"), value.clone());
    }
    let told = effective::is_known(run);
    for node in &run.nodes {
        for (name, value) in &node.facts {
            all.insert(format!("{}: {name}", node.name), value.clone());
        }
        // If the trials recorded the configuration in effect, `effective::summary` describes the
        // configuration more exactly than `node.settings`.
        let settings = if told { None } else { Some(&node.settings) };
        for (name, value) in settings.into_iter().flatten() {
            all.insert(format!("{} setting: {name}", node.name), value.clone());
        }
    }
    all.extend(effective::summary(run));
    all
}

/// Returns the properties in which two runs differ, by name, with the values of both runs. A value
/// is `None` if a run does not have the property.
pub(super) fn difference_maps(a: &RunView, b: &RunView) -> BTreeMap<String, [Option<String>; 2]> {
    let (a, b) = (properties(a), properties(b));
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let both = |key: &String| [a.get(key).cloned(), b.get(key).cloned()];
    let differs = |key: &&String| a.get(*key) != b.get(*key);
    keys.into_iter().filter(differs).map(|key| (key.clone(), both(key))).collect()
}

pub(super) fn runs(sides: &[Side<'_>]) -> Section {
    let version = |side: &Side<'_>| side.run.plan.cassay.clone();
    let why = |side: &Side<'_>| {
        let reasons = &side.run.findings.reasons;
        match reasons.len() {
            0 => String::new(),
            1 => reasons[0].clone(),
            more => format!("{} (and {} more)", reasons[0], more - 1),
        }
    };
    let table = Table::from_records("", sides)
        .text("Run", |side| {
            Cell::new(&side.run.name).link(side.link.clone().unwrap_or_default())
        })
        .text("Verdict", |side| {
            let verdict = Verdict::from_record(side.run.verdict);
            Cell::new(verdict.name()).tone(verdict.tone())
        })
        .number("Trials", "", |side| {
            side.run.findings.trials.len().to_string()
        })
        .text("cassay", version)
        .text("Why", why)
        .build();
    Section {
        id: "runs",
        title: "The runs".into(),
        lead: "The first run is the baseline.".into(),
        blocks: vec![Block::Table(table)],
    }
}

pub(super) fn differences(sides: &[Side<'_>]) -> Section {
    let all: Vec<BTreeMap<String, String>> =
        sides.iter().map(|side| properties(side.run)).collect();
    let titles: Vec<&str> = match sides {
        [_, _] => vec!["Baseline", "Contender"],
        more => more.iter().map(|side| side.run.name.as_str()).collect(),
    };
    let table = difference_table("What", &titles, &all);
    let same = "Study, versions, settings and machine are the same.";
    let block = table.map_or_else(|| Block::Text(same.into()), Block::Table);
    Section {
        id: "differences",
        title: "Differences between the runs".into(),
        lead: String::new(),
        blocks: vec![block],
    }
}
