//! What was run, on what, and how to run it again.

use crate::flat::flatten;
use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::sections::{effective, requests};
use crate::summary::{variant_name, variants};
use crate::view::RunView;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What to know, what differs, how requests are sent, the nodes and the machine, then the whole
/// resolved study.
pub fn configuration(view: &RunView) -> Option<Section> {
    let mut blocks = Vec::new();
    blocks.extend(notes(view));
    blocks.extend(what_varies(view).map(Block::Table));
    blocks.extend(requests::blocks(view));
    if !view.facts.is_empty() {
        blocks.push(Block::Facts(view.facts.clone()));
    }
    // What the nodes said later, trial by trial, is in sections of its own.
    let told = effective::is_known(view);
    if !told {
        blocks.extend(nodes_table(view).map(Block::Table));
    }
    let resolved = resolved(view);
    if !resolved.is_empty() {
        blocks.push(Block::Details(
            "The study with every default filled in".into(),
            vec![Block::Facts(resolved)],
        ));
    }
    blocks.extend(input_files(view));
    let settings = if told { None } else { settings_table(view) };
    blocks.extend(settings.map(|table| {
        let title = format!("Cassandra's own settings ({})", table.rows.len());
        Block::Details(title, vec![Block::Table(table)])
    }));
    (!blocks.is_empty()).then(|| Section {
        id: "configuration",
        title: "Configuration".into(),
        lead: String::new(),
        blocks,
    })
}

/// What was adapted, and what an import does differently here.
fn notes(view: &RunView) -> Option<Block> {
    let notes = view.plan.resolved.notes.clone();
    (!notes.is_empty()).then(|| Block::List("Notes".into(), notes))
}

/// Bytes that are shown of a file: four such files are a small part of a page of 6 MB.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// The files that the study names, as they were read.
fn input_files(view: &RunView) -> Vec<Block> {
    let file = |(name, text): (&String, &String)| {
        let shown = text.floor_char_boundary(INPUT_BYTES_MAX);
        let mut blocks = vec![Block::Code(text[..shown].to_owned())];
        if shown < text.len() {
            let whole = number::bytes(text.len() as u64);
            let rest = format!("This is its beginning; plan.json has all of its {whole}.");
            blocks.push(Block::Text(rest));
        }
        Block::Details(format!("The file {name}"), blocks)
    };
    view.plan.resolved.overrides.inputs.iter().map(file).collect()
}

/// The study with its defaults, without what has a place of its own.
fn resolved(view: &RunView) -> Vec<(String, String)> {
    let mut tree = json!(view.plan.resolved);
    if let Some(map) = tree.as_object_mut() {
        map.retain(|key, _| !["notes", "requests", "combinations"].contains(&key.as_str()));
    }
    if let Some(map) = tree.get_mut("overrides").and_then(Value::as_object_mut) {
        map.retain(|key, _| key != "inputs");
    }
    flatten(&tree).into_iter().collect()
}

/// Settings in which variants differ, one column per variant; none with one variant.
fn what_varies(view: &RunView) -> Option<Table> {
    let names = variants(view);
    if names.len() < 2 {
        return None;
    }
    // The first trial of each variant, all at the same place of the plan's axes.
    let settings: Vec<BTreeMap<String, String>> = names
        .iter()
        .map(|name| {
            let trial = view.plan.trials.iter().find(|t| t.variant == **name);
            trial.map(|t| flatten(&t.settings)).unwrap_or_default()
        })
        .collect();
    let rows = differing_rows(&settings);
    if rows.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("Setting")];
    columns.extend(names.iter().map(|name| Column::text(variant_name(name, view))));
    Some(Table {
        caption: "What differs between the variants".into(),
        columns,
        rows,
        foot: "Everything else is the same.".into(),
    })
}

/// One row per key whose value is not the same in all maps.
pub fn differing_rows(maps: &[BTreeMap<String, String>]) -> Vec<Row> {
    let mut keys: Vec<&String> = maps.iter().flat_map(BTreeMap::keys).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&&String| maps.iter().any(|m| m.get(**key) != maps[0].get(**key));
    let row = |key: &String| {
        let mut cells = vec![Cell::new(key.as_str())];
        cells.extend(maps.iter().map(|map| match map.get(key) {
            Some(value) => Cell::new(value.as_str()),
            None => Cell::new(number::ABSENT).tone(Tone::Muted),
        }));
        Row {
            cells,
            tone: Tone::Plain,
        }
    };
    keys.iter().filter(differs).map(|key| row(key)).collect()
}

fn nodes_table(view: &RunView) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in view.nodes.iter().flat_map(|n| &n.facts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut columns = vec![Column::text("Node")];
    columns.extend(names.iter().map(|name| Column::text(name)));
    let rows = view.nodes.iter().map(|node| {
        let mut cells = vec![Cell::new(node.name.as_str())];
        for name in &names {
            let value = node.facts.iter().find(|(key, _)| key == name);
            cells.push(Cell::new(
                value.map_or(number::ABSENT, |(_, value)| value.as_str()),
            ));
        }
        Row {
            cells,
            tone: Tone::Plain,
        }
    });
    (!view.nodes.is_empty()).then(|| Table {
        caption: "Nodes of the target".into(),
        columns,
        rows: rows.collect(),
        foot: String::new(),
    })
}

/// All settings of the nodes: one column if they agree everywhere, else one per node.
fn settings_table(view: &RunView) -> Option<Table> {
    let maps: Vec<&BTreeMap<String, String>> =
        view.nodes.iter().map(|n| &n.settings).filter(|s| !s.is_empty()).collect();
    let first = *maps.first()?;
    let agree = maps.iter().all(|map| *map == first);
    let mut columns = vec![Column::text("Setting")];
    if agree {
        columns.push(Column::text("Value"));
    } else {
        let with_settings = view.nodes.iter().filter(|n| !n.settings.is_empty());
        columns.extend(with_settings.map(|n| Column::text(&n.name)));
    }
    let shown = if agree { &maps[..1] } else { &maps[..] };
    let mut keys: Vec<&String> = maps.iter().flat_map(|m| m.keys()).collect();
    keys.sort();
    keys.dedup();
    let row = |key: &&String| {
        let mut cells = vec![Cell::new(key.as_str())];
        let value = |map: &&BTreeMap<String, String>| {
            Cell::new(map.get(*key).map_or(number::ABSENT, String::as_str))
        };
        cells.extend(shown.iter().map(value));
        Row {
            cells,
            tone: Tone::Plain,
        }
    };
    Some(Table {
        columns,
        rows: keys.iter().map(row).collect(),
        ..Table::default()
    })
}

/// The command, the seed and the files.
pub fn rerun(view: &RunView) -> Option<Section> {
    let mut blocks = vec![
        Block::Code(view.plan.rerun.clone()),
        Block::Facts(vec![
            ("Seed".into(), view.plan.seed.to_string()),
            ("Folder".into(), view.folder.clone()),
        ]),
    ];
    let notes: Vec<_> = view.notes.iter().map(|n| ("Note".to_owned(), n.clone())).collect();
    if !notes.is_empty() {
        blocks.push(Block::Facts(notes));
    }
    if !view.files.is_empty() {
        let row = |file: &crate::view::FileView| Row {
            cells: vec![Cell::new(file.path.as_str()), Cell::new(file.what.as_str())],
            tone: Tone::Plain,
        };
        blocks.push(Block::Details(
            "Files".into(),
            vec![Block::Table(Table {
                columns: vec![Column::text("File"), Column::text("What stands in it")],
                rows: view.files.iter().map(row).collect(),
                ..Table::default()
            })],
        ));
    }
    Some(Section {
        id: "again",
        title: "Run it again".into(),
        lead: "The seed fixes every key, value and order; the same command makes the same run."
            .into(),
        blocks,
    })
}

/// The words of the page.
pub fn reading() -> Option<Section> {
    let words = [
        (
            "latency",
            "From the moment an operation was due to its answer. What a user waits.",
        ),
        (
            "service time",
            "From the moment it was sent. What the target took.",
        ),
        ("threads", "Operations in flight at once, in a closed loop."),
        (
            "p99.9",
            "999 of 1,000 operations were at least as fast. Never averaged: the \
                   distributions of several seconds or trials are merged first.",
        ),
        ("valid", "Every rule that could be judged passed."),
        (
            "suspect",
            "A rule warned: the number stands, with a reason to be careful.",
        ),
        (
            "invalid",
            "A rule failed: kept for inspection, never used in a comparison.",
        ),
    ];
    let facts = words.map(|(word, what)| (word.to_string(), what.to_string()));
    Some(Section {
        id: "words",
        title: "Words".into(),
        lead: String::new(),
        blocks: vec![Block::Facts(facts.to_vec())],
    })
}
