//! Sections on the configuration of the run, the command that repeats it, and the terms of the
//! page.

use crate::flatten_json::flatten;
use crate::merged_points::{variant_name, variants};
use crate::number;
use crate::page::{Block, Cell, Section, Table};
use crate::run_view::RunView;
use crate::sections::{effective, requests};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the section on the configuration. It contains notes, properties of requests, the
/// machine, the nodes, the resolved study, its input files, and the settings of the nodes. Returns
/// `None` if all of these are empty.
pub fn configuration(view: &RunView) -> Option<Section> {
    let mut blocks = Vec::new();
    blocks.extend(notes(view));
    blocks.extend(requests::blocks(view));
    if !view.facts.is_empty() {
        blocks.push(Block::Facts(view.facts.clone()));
    }
    // If cassay recorded the settings of each trial, separate sections show them.
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

fn notes(view: &RunView) -> Option<Block> {
    let notes = view.plan.resolved.notes.clone();
    (!notes.is_empty()).then(|| Block::List("Notes".into(), notes))
}

/// Maximum number of bytes of an input file that the page shows. Four files of this size are a
/// small part of a page of 6 MB.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// Extension of the names of data files. The page does not show their content.
const DATA_FILE: &str = ".csv";

/// Returns the files that the study names, with the content that cassay read. For a data file,
/// returns only the number of lines.
fn input_files(view: &RunView) -> Vec<Block> {
    let file = |(name, text): (&String, &String)| {
        if name.ends_with(DATA_FILE) {
            // A shared page must not contain keys of a user's table, so the page contains only the
            // number of lines.
            let lines = measure::number::counted(text.lines().count() as u64, "line");
            let said = format!("{lines}, which this page does not show; plan.json contains them.");
            return Block::Details(format!("The file {name}"), vec![Block::Text(said)]);
        }
        let shown = text.floor_char_boundary(INPUT_BYTES_MAX);
        let mut blocks = vec![Block::Code(text[..shown].to_owned())];
        if shown < text.len() {
            let whole = number::bytes(text.len() as u64);
            let rest = format!("This is only the beginning; plan.json contains all {whole}.");
            blocks.push(Block::Text(rest));
        }
        Block::Details(format!("The file {name}"), blocks)
    };
    view.plan.resolved.overrides.inputs.iter().map(file).collect()
}

/// Returns the resolved study as pairs of name and value, without the parts that other sections
/// show.
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

/// Returns the settings that differ between variants, with one column for each variant. Returns
/// `None` if the study has only one variant, or if no setting differs.
pub fn variant_difference_table(view: &RunView) -> Option<Table> {
    let names = variants(view);
    if names.len() < 2 {
        return None;
    }
    // Compares the first planned trial of each variant, because these trials have the same point.
    let settings: Vec<BTreeMap<String, String>> = names
        .iter()
        .map(|name| {
            let trial = view.plan.trials.iter().find(|t| t.variant == **name);
            trial.map(|t| flatten(&t.settings)).unwrap_or_default()
        })
        .collect();
    let titles: Vec<&str> = names.iter().map(|name| variant_name(name, view)).collect();
    let table = difference_table("Setting", &titles, &settings)?;
    Some(Table {
        caption: "Differences between the variants".into(),
        foot: "All other settings are the same.".into(),
        ..table
    })
}

/// Returns one row for each key whose value differs between the maps. Each map has a column with a
/// title from `titles`. Returns `None` if the maps are equal.
pub fn difference_table(
    what: &str,
    titles: &[&str],
    maps: &[BTreeMap<String, String>],
) -> Option<Table> {
    let keys: BTreeSet<&String> = maps.iter().flat_map(BTreeMap::keys).collect();
    let differs = |key: &&String| maps.iter().any(|m| m.get(*key) != maps[0].get(*key));
    Table::from_records("", keys.into_iter().filter(differs))
        .text(what, |key| key)
        .each(titles.iter().zip(maps), |table, (title, map)| {
            table.text(title, |key| {
                map.get(key).map_or_else(Cell::absent, Cell::from)
            })
        })
        .unless_empty()
}

fn nodes_table(view: &RunView) -> Option<Table> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in view.nodes.iter().flat_map(|n| &n.facts) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    Table::from_records("Nodes of the target", &view.nodes)
        .text("Node", |node| &node.name)
        .each(names, |table, name| {
            table.text(name, |node| {
                let value = node.facts.iter().find(|(key, _)| key == name);
                value.map(|(_, value)| value)
            })
        })
        .unless_empty()
}

/// Returns all settings of the nodes. If the nodes agree, the table has one column for all nodes.
/// Otherwise, each node has a column. Returns `None` if no node has settings.
fn settings_table(view: &RunView) -> Option<Table> {
    let nodes = view.nodes.iter().filter(|node| !node.settings.is_empty());
    let maps: Vec<(&str, &BTreeMap<String, String>)> =
        nodes.map(|node| (node.name.as_str(), &node.settings)).collect();
    let (_, first) = *maps.first()?;
    let shown = if maps.iter().all(|(_, map)| *map == first) {
        vec![("Value", first)]
    } else {
        maps
    };
    let keys: BTreeSet<&String> = shown.iter().flat_map(|(_, map)| map.keys()).collect();
    let table = Table::from_records("", keys)
        .text("Setting", |key| key)
        .each(shown, |table, (title, map)| {
            table.text(title, |key| map.get(key))
        });
    Some(table.build())
}

/// Returns the section with the command that repeats the run, its seed, its notes and its files.
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
    let files = Table::from_records("", &view.files)
        .text("File", |file| &file.path)
        .text("Contents", |file| file.what.as_str())
        .unless_empty();
    blocks.extend(files.map(|table| Block::Details("Files".into(), vec![Block::Table(table)])));
    Some(Section {
        id: "again",
        title: "Repeat this run".into(),
        lead: "The seed determines every key, every value and every order, so the same command \
               repeats the same operations."
            .into(),
        blocks,
    })
}

/// Returns the section that explains the terms of the page.
pub fn reading() -> Option<Section> {
    let words = [
        (
            "latency",
            "Time from the moment when an operation was due to its answer: the time that a user \
             waits.",
        ),
        (
            "service time",
            "Time from the send to the answer: the time that the target took.",
        ),
        ("threads", "Operations in flight at once, in a closed loop."),
        (
            "p99.9",
            "999 of 1,000 operations were at least this fast. cassay never averages percentiles: \
             it merges the distributions of several seconds or trials.",
        ),
        ("valid", "All rules that cassay could evaluate passed."),
        (
            "suspect",
            "A rule gave a warning: use the number with caution.",
        ),
        (
            "invalid",
            "A rule failed: the report shows the trial, but no comparison uses it.",
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
