//! The state of the data that trials began with, and what watching them cost.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Table, Tone};
use crate::sections::data::{trial_cells, trial_columns};
use crate::view::RunView;
use std::collections::{BTreeMap, BTreeSet};
use store::record::{DataRecord, ProbeRecord, TrialFinding};

/// From this share of a core on, watching is a load of its own: the limit of rule V17.
const CPU_SHARE_WARN: f64 = 0.05;
/// Fingerprints are long: this much of them tells two apart for the eye.
const FINGERPRINT_CHARS: usize = 16;

/// The restored snapshots; none where no trial restored one.
pub fn data(view: &RunView) -> Vec<Block> {
    let restored = |t: &'_ TrialFinding| t.data.is_some();
    if !view.findings.trials.iter().any(restored) {
        return Vec::new();
    }
    let by_snapshot = fingerprints(view);
    let mut blocks = vec![
        Block::Text(equality(&by_snapshot)),
        Block::Table(table(view)),
    ];
    let mut rows = Vec::new();
    for (snapshot, nodes) in &by_snapshot {
        for (node, found) in nodes {
            let texts: Vec<&str> = found.keys().copied().collect();
            let cells = vec![
                Cell::new(*snapshot),
                Cell::new(*node),
                Cell::new(texts.join(" | ")),
            ];
            rows.push(Row {
                cells,
                tone: Tone::Plain,
            });
        }
    }
    if !rows.is_empty() {
        blocks.push(Block::Details(
            "Fingerprints of the SSTables".into(),
            vec![Block::Table(Table {
                columns: vec![
                    Column::text("Snapshot"),
                    Column::text("Node"),
                    Column::text("Fingerprint"),
                ],
                rows,
                ..Table::default()
            })],
        ));
    }
    blocks
}

/// By snapshot and node: every fingerprint, with the trials that had it.
type Fingerprints<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<&'a str, Vec<usize>>>>;

fn fingerprints(view: &RunView) -> Fingerprints<'_> {
    let mut all: Fingerprints<'_> = BTreeMap::new();
    for trial in &view.findings.trials {
        let Some(data) = &trial.data else { continue };
        let nodes = all.entry(&data.snapshot).or_default();
        for (node, fingerprint) in &data.fingerprints {
            let trials = nodes.entry(node).or_default().entry(fingerprint).or_default();
            trials.push(trial.index);
        }
    }
    all
}

fn equality(all: &Fingerprints<'_>) -> String {
    let differs = |(snapshot, nodes): (&&str, &BTreeMap<&str, BTreeMap<&str, Vec<usize>>>)| {
        let mine = nodes.iter().filter(|(_, found)| found.len() > 1);
        let names: Vec<&str> = mine.map(|(node, _)| *node).collect();
        (!names.is_empty()).then(|| format!("{snapshot} on {}", names.join(", ")))
    };
    let different: Vec<String> = all.iter().filter_map(differs).collect();
    if all.values().all(BTreeMap::is_empty) {
        "Trials began with a restored snapshot; its fingerprints were not recorded.".into()
    } else if different.is_empty() {
        "Trials with one snapshot began with the same SSTables: their fingerprints are equal on \
         every node."
            .into()
    } else {
        format!(
            "The SSTables were not the same in all trials with one snapshot: {}.",
            different.join("; ")
        )
    }
}

fn table(view: &RunView) -> Table {
    let mut columns = trial_columns();
    columns.extend([
        Column::text("Snapshot"),
        Column::text("Restored"),
        Column::number("Took", ""),
        Column::number("SSTables", ""),
        Column::number("Size", ""),
        Column::text("Fingerprint").wide(),
        Column::text("Page cache"),
    ]);
    let rows = view.findings.trials.iter().filter_map(|trial| {
        let data = trial.data.as_ref()?;
        let mut cells = trial_cells(view, trial);
        cells.extend([
            Cell::new(data.snapshot.as_str()),
            Cell::new(data.how.as_str()),
            Cell::new(number::duration(data.seconds)),
            Cell::new(number::count(data.sstables)),
            Cell::new(number::bytes(data.bytes)),
            fingerprint(data),
            Cell::new(data.page_cache.as_str()),
        ]);
        Some(Row {
            cells,
            tone: Tone::Plain,
        })
    });
    Table {
        caption: "The state of the data that trials began with".into(),
        columns,
        rows: rows.collect(),
        foot: "Took: the restore, all nodes. Online: truncate and import while the nodes run; \
               offline: files swapped while they are stopped."
            .into(),
    }
}

/// The fingerprint of the first node, and how many more there are.
fn fingerprint(data: &DataRecord) -> Cell {
    let Some((node, text)) = data.fingerprints.first_key_value() else {
        return Cell::new(number::ABSENT).tone(Tone::Muted);
    };
    let shown: String = text.chars().take(FINGERPRINT_CHARS).collect();
    let more = data.fingerprints.len() - 1;
    let detail = if more > 0 {
        format!("{node}, {more} more")
    } else {
        node.clone()
    };
    Cell::new(shown).detail(detail)
}

/// What each probe cost, all trials together; none where no probe ran.
pub fn probes(view: &RunView) -> Vec<Block> {
    let trials = view.findings.trials.iter();
    let all: Vec<(usize, &ProbeRecord)> =
        trials.flat_map(|t| t.probes.iter().map(|p| (t.index, p))).collect();
    let names: BTreeSet<&str> = all.iter().map(|(_, p)| p.probe.as_str()).collect();
    // The one that every trial has is told of by rule V17.
    if names.iter().all(|name| *name == "others") {
        return Vec::new();
    }
    let row = |name: &&str| {
        let mine: Vec<&(usize, &ProbeRecord)> =
            all.iter().filter(|(_, p)| p.probe == **name).collect();
        cost_row(name, &mine)
    };
    let mut blocks = vec![Block::Table(Table {
        caption: "What watching cost".into(),
        columns: vec![
            Column::text("Probe"),
            Column::number("Places", ""),
            Column::number("Every", ""),
            Column::number("Looks", ""),
            Column::number("Missed", ""),
            Column::number("Values", ""),
            Column::number("CPU", "of a core, at most"),
            Column::number("Longest look", ""),
            Column::number("Problems", ""),
        ],
        rows: names.iter().map(row).collect(),
        foot: format!(
            "CPU: our own, while the probe ran, of the trial in which it was most; above {} it is \
             a load of its own.",
            number::percent(CPU_SHARE_WARN)
        ),
    })];
    let problems = problems(&all);
    if !problems.is_empty() {
        blocks.push(Block::List("What probes could not read".into(), problems));
    }
    blocks
}

fn cost_row(name: &str, mine: &[&(usize, &ProbeRecord)]) -> Row {
    let sum = |part: fn(&ProbeRecord) -> u64| -> u64 { mine.iter().map(|(_, p)| part(p)).sum() };
    let mut shares: BTreeMap<usize, f64> = BTreeMap::new();
    for (trial, probe) in mine {
        let ran_s = (probe.looks + probe.missed) as f64 * probe.period_s;
        if ran_s > 0.0 {
            *shares.entry(*trial).or_default() += probe.cpu_s / ran_s;
        }
    }
    let share = shares.into_values().max_by(f64::total_cmp);
    let share_tone = match share {
        Some(share) if share > CPU_SHARE_WARN => Tone::Warn,
        _ => Tone::Plain,
    };
    let places: BTreeSet<&str> = mine.iter().map(|(_, p)| p.place.as_str()).collect();
    let longest = mine.iter().map(|(_, p)| p.longest_s).fold(0.0, f64::max);
    let period = mine.iter().map(|(_, p)| p.period_s).fold(0.0, f64::max);
    let problems: BTreeSet<&String> = mine.iter().flat_map(|(_, p)| &p.problems).collect();
    let warn_if_any = |count: u64| {
        let tone = if count > 0 { Tone::Warn } else { Tone::Plain };
        Cell::new(number::count(count)).tone(tone)
    };
    Row {
        cells: vec![
            Cell::new(name),
            Cell::new(number::count(places.len() as u64)),
            // Files of others have no period of ours.
            Cell::new(if period > 0.0 {
                number::duration(period)
            } else {
                number::ABSENT.into()
            }),
            Cell::new(number::count(sum(|p| p.looks))),
            warn_if_any(sum(|p| p.missed)),
            Cell::new(number::count(sum(|p| p.values))),
            Cell::new(share.map_or(number::ABSENT.into(), number::percent)).tone(share_tone),
            Cell::new(format!("{} ms", number::ms(longest * 1e3))),
            warn_if_any(problems.len() as u64),
        ],
        tone: Tone::Plain,
    }
}

/// The places and trials that have a problem.
type Where<'a> = (BTreeSet<&'a str>, BTreeSet<usize>);

/// Every problem once, with the trials and places that had it.
fn problems(all: &[(usize, &ProbeRecord)]) -> Vec<String> {
    let mut known: BTreeMap<[&str; 2], Where<'_>> = BTreeMap::new();
    for (trial, probe) in all {
        for problem in &probe.problems {
            let (places, trials) = known.entry([&probe.probe, problem]).or_default();
            places.insert(&probe.place);
            trials.insert(*trial);
        }
    }
    let sentence = |([probe, problem], (places, trials)): ([&str; 2], Where<'_>)| {
        let places: Vec<&str> = places.into_iter().filter(|p| !p.is_empty()).collect();
        let at = if places.is_empty() {
            String::new()
        } else {
            format!(" of {}", places.join(", "))
        };
        format!("{probe}{at}, in {} trials: {problem}", trials.len())
    };
    known.into_iter().map(sentence).collect()
}
