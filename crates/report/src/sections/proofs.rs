//! Whether what a study asked for was in effect: what does not hold in sight, the rest behind a
//! fold.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Table, Tone};
use crate::probed::natural;
use crate::sections::effective::cut;
use crate::view::RunView;
use std::collections::{BTreeMap, BTreeSet};

/// What proofs have in common that share a row: key, asked for, in effect, where it was read.
type Same<'a> = [&'a str; 4];
/// The nodes and trials that have it.
type Where<'a> = (BTreeSet<&'a str>, BTreeSet<usize>);

/// Proofs of all trials: one row for what is the same everywhere, what does not hold in sight.
pub fn blocks(view: &RunView) -> Vec<Block> {
    let (mut failed, mut held) = (BTreeMap::new(), BTreeMap::new());
    let mut readings = 0;
    for trial in &view.trials {
        for proof in trial.nodes.iter().flat_map(|n| &n.proofs) {
            let same = [&proof.key, &proof.wanted, &proof.effective, &proof.source];
            let rows: &mut BTreeMap<Same<'_>, Where<'_>> =
                if proof.holds { &mut held } else { &mut failed };
            let (nodes, trials) = rows.entry(same.map(String::as_str)).or_default();
            nodes.insert(&proof.node);
            trials.insert(trial.index);
            readings += 1;
        }
    }
    if readings == 0 {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    if failed.is_empty() {
        let text = format!(
            "Everything that the study asked for was in effect: {} settings, {} readings.",
            number::count(held.len() as u64),
            number::count(readings)
        );
        blocks.push(Block::Note(Tone::Good, text));
    } else {
        let cell = Cell::new("does not hold").tone(Tone::Bad);
        blocks.push(Block::Table(Table {
            caption: "Asked for, and not in effect".into(),
            ..proof_table(&failed, &cell)
        }));
    }
    if !held.is_empty() {
        let title = format!("What was asked for and is in effect ({})", held.len());
        let cell = Cell::new("holds").tone(Tone::Good);
        blocks.push(Block::Details(
            title,
            vec![Block::Table(proof_table(&held, &cell))],
        ));
    }
    blocks
}

fn proof_table(rows: &BTreeMap<Same<'_>, Where<'_>>, result: &Cell) -> Table {
    let row = |([key, wanted, effective, source], (nodes, trials)): (&Same<'_>, &Where<'_>)| {
        let mut nodes: Vec<&str> = nodes.iter().copied().collect();
        nodes.sort_by(|a, b| natural(a, b));
        Row {
            cells: vec![
                Cell::new(*key),
                Cell::new(cut(wanted)),
                Cell::new(cut(effective)),
                result.clone(),
                Cell::new(*source),
                Cell::new(nodes.join(", ")),
                Cell::new(number::count(trials.len() as u64)),
            ],
            tone: Tone::Plain,
        }
    };
    Table {
        columns: vec![
            Column::text("Key"),
            Column::text("Asked for"),
            Column::text("In effect"),
            Column::text("Proof"),
            Column::text("Read from").wide(),
            Column::text("Nodes"),
            Column::number("Trials", ""),
        ],
        rows: rows.iter().map(row).collect(),
        ..Table::default()
    }
}
