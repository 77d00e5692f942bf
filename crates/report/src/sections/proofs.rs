//! Proofs that requested settings are in effect. Settings that are not in effect, or that no node
//! reports, are visible. All other proofs are behind a fold.
//!
//! Invariant: the section states that all settings are in effect only if nodes reported all of
//! them.

use crate::number;
use crate::page::{Block, Cell, Table, Tone};
use crate::probe_series::natural;
use crate::run_view::RunView;
use crate::sections::effective::cut;
use std::collections::{BTreeMap, BTreeSet};
use store::record::ProofOutcome;

/// Properties that all proofs in a row share. They are the key, the requested value, the effective
/// value (or the reason why this value is unknown), and the source.
type Same<'a> = [&'a str; 4];
/// Nodes and trials that a row covers.
type Where<'a> = (BTreeSet<&'a str>, BTreeSet<usize>);

type Rows<'a> = BTreeMap<Same<'a>, Where<'a>>;

/// Returns the proofs of all trials. If a proof is the same everywhere, it has one row. Settings
/// that are not in effect, or that no node reports, are visible.
pub fn blocks(view: &RunView) -> Vec<Block> {
    let mut by_outcome: BTreeMap<ProofOutcome, Rows<'_>> = BTreeMap::new();
    let mut readings = 0;
    for trial in &view.trials {
        for proof in trial.nodes.iter().flat_map(|n| &n.proofs) {
            let outcome = proof.outcome();
            let (shown, source) = match outcome {
                ProofOutcome::NotShown => (&proof.why, &proof.source),
                _ => (&proof.effective, &proof.source),
            };
            let same = [&proof.key, &proof.wanted, shown, source].map(String::as_str);
            let rows = by_outcome.entry(outcome).or_default();
            let (nodes, trials) = rows.entry(same).or_default();
            nodes.insert(&proof.node);
            trials.insert(trial.index);
            readings += u64::from(outcome != ProofOutcome::NotShown);
        }
    }
    let mut blocks = Vec::new();
    let of = |outcome| by_outcome.get(&outcome);
    if let Some(rows) = of(ProofOutcome::NotInEffect) {
        let cell = Cell::new("does not hold").tone(Tone::Bad);
        let caption = "Requested, but not in effect";
        blocks.push(Block::Table(proof_table(caption, rows, "In effect", &cell)));
    }
    if let Some(rows) = of(ProofOutcome::NotShown) {
        let cell = Cell::new("not shown").tone(Tone::Warn);
        let caption = "Requested, but not visible: neither confirmed nor refuted";
        blocks.push(Block::Table(proof_table(caption, rows, "Why", &cell)));
    }
    if let Some(rows) = of(ProofOutcome::InEffect) {
        let count = number::count(rows.len() as u64);
        if by_outcome.len() == 1 {
            let text = format!(
                "All requested settings of cassandra.yaml, JVM, tables and host limits were in \
                 effect: {count} settings, {} readings.",
                number::count(readings)
            );
            blocks.push(Block::Note(Tone::Good, text));
        }
        let title = format!("Requested settings in effect ({count})");
        let cell = Cell::new("as requested").tone(Tone::Good);
        let table = proof_table("", rows, "In effect", &cell);
        blocks.push(Block::Details(title, vec![Block::Table(table)]));
    }
    blocks
}

fn proof_table(caption: &str, rows: &Rows<'_>, shown: &str, result: &Cell) -> Table {
    Table::from_records(caption, rows)
        .text("Key", |([key, ..], _)| *key)
        .text("Requested", |([_, wanted, ..], _)| cut(wanted))
        .text(shown, |([_, _, effective, _], _)| cut(effective))
        .text("Proof", |_| result.clone())
        .wide_text("Read from", |([.., source], _)| *source)
        .text("Nodes", |(_, (nodes, _))| {
            let mut nodes: Vec<&str> = nodes.iter().copied().collect();
            nodes.sort_by(|a, b| natural(a, b));
            nodes.join(", ")
        })
        .number("Trials", "", |(_, (_, trials))| {
            number::count(trials.len() as u64)
        })
        .build()
}
