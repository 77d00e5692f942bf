//! The data: was it there, was it right, did the server count the same.

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::sections::rules::rule_tone;
use crate::sections::{accounts, state};
use crate::summary::{place, variant_name};
use crate::view::RunView;
use measure::KindCount;
use store::record::{Settled, TrialFinding};

/// Verified reads, server counts and the load phase; none when there is nothing of the sort.
pub fn section(view: &RunView) -> Option<Section> {
    let trials = &view.findings.trials;
    let mut blocks = Vec::new();
    blocks.extend(accounts::blocks(view));
    if trials.iter().any(|t| t.verify.checked > 0) {
        blocks.push(Block::Text(verified(trials)));
        blocks.push(Block::Table(verify_table(view)));
    }
    if trials.iter().any(|t| !t.counts.is_empty()) {
        blocks.push(Block::Table(counts_table(view)));
    }
    if trials.iter().any(|t| t.server.is_some()) {
        blocks.push(Block::Table(server_table(view)));
    }
    if trials.iter().any(|t| t.load.is_some()) {
        blocks.push(Block::Table(load_table(view)));
    }
    blocks.extend(state::data(view));
    (!blocks.is_empty()).then(|| Section {
        id: "data",
        title: "The data".into(),
        lead: "Every row follows from the seed and its number, so any read can be compared with \
               what must be there."
            .into(),
        blocks,
    })
}

fn verified(trials: &[TrialFinding]) -> String {
    let sum = |part: fn(&TrialFinding) -> u64| trials.iter().map(part).sum::<u64>();
    let checked = number::count(sum(|t| t.verify.checked));
    let (missing, stale, wrong) = (
        sum(|t| t.verify.missing),
        sum(|t| t.verify.stale),
        sum(|t| t.verify.wrong),
    );
    if missing + stale + wrong == 0 {
        return format!("{checked} answers were compared: all were right.");
    }
    format!(
        "Of {checked} answers that were compared, {} were missing, {} stale and {} wrong.",
        number::count(missing),
        number::count(stale),
        number::count(wrong)
    )
}

/// The first three cells of a row about a trial.
pub fn trial_cells(view: &RunView, trial: &TrialFinding) -> Vec<Cell> {
    vec![
        Cell::new(trial.index.to_string()),
        Cell::new(variant_name(&trial.variant, view)),
        Cell::new(place(trial.point)),
    ]
}

/// Their columns.
pub fn trial_columns() -> Vec<Column> {
    vec![
        Column::number("Trial", ""),
        Column::text("Variant"),
        Column::text("Point"),
    ]
}

/// A count that should be 0.
pub(super) fn bad_if_any(count: u64) -> Cell {
    let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
    Cell::new(number::count(count)).tone(tone)
}

fn verify_table(view: &RunView) -> Table {
    let mut columns = trial_columns();
    let names = [
        "Checked",
        "Missing",
        "of these lost",
        "Stale",
        "Wrong",
        "Never written",
    ];
    columns.extend(names.map(|name| Column::number(name, "")));
    let rows = view.findings.trials.iter().map(|trial| {
        let mut cells = trial_cells(view, trial);
        cells.push(Cell::new(number::count(trial.verify.checked)));
        let verify = &trial.verify;
        for count in [verify.missing, verify.lost, verify.stale, verify.wrong] {
            cells.push(bad_if_any(count));
        }
        cells.push(Cell::new(number::count(verify.never_written)));
        Row {
            cells,
            tone: Tone::Plain,
        }
    });
    Table {
        caption: "Reads compared with what the seed says".into(),
        columns,
        rows: rows.collect(),
        foot: "Lost: the write was acknowledged to this client. Never written: it was not, so its \
               absence is no error."
            .into(),
    }
}

/// Columns of counts that a terminal may leave out.
const WIDE_ONLY: [&str; 4] = ["Rows", "Without a row", "Pages", "Prepared again"];

/// What columns of counts need to be said of them.
const COUNTED: [(&str, &str); 4] = [
    (
        "Added by batches",
        "Batches add to the operations all their statements but the first.",
    ),
    (
        "Not applied",
        "A condition (IF …) that did not hold is an answer, not an error.",
    ),
    (
        "Retries",
        "A retried operation is one operation; its latency runs over all its tries.",
    ),
    (
        "Prepared again",
        "Prepared again: the node had dropped the prepared statement.",
    ),
];

/// Rows, pages, batches, conditions, retries and speculations, by kind; columns in which every
/// cell would be 0 are left out.
fn counts_table(view: &RunView) -> Table {
    let all = [
        ("Rows", "read", KindCount::Rows),
        ("Without a row", "reads", KindCount::RowsMissing),
        ("Pages", "read", KindCount::Pages),
        ("Added by batches", "statements", KindCount::Batched),
        ("Applied", "LWT", KindCount::Applied),
        ("Not applied", "LWT", KindCount::NotApplied),
        ("Retries", "", KindCount::Retries),
        ("Speculative", "executions", KindCount::Speculations),
        ("Answered first", "of these", KindCount::SpeculationsWon),
        ("Prepared again", "", KindCount::Reprepared),
    ];
    let trials = &view.findings.trials;
    let any = |count: KindCount| {
        trials.iter().flat_map(|t| t.counts.values()).any(|counts| counts[count] > 0)
    };
    let shown: Vec<_> = all.iter().filter(|(.., count)| any(*count)).collect();
    let mut columns = trial_columns();
    columns.push(Column::text("Kind"));
    columns.extend(shown.iter().map(|(name, of, _)| Column {
        wide_only: WIDE_ONLY.contains(name),
        ..Column::number(name, of)
    }));
    let rows = trials.iter().flat_map(|trial| {
        trial.counts.iter().map(|(kind, counts)| {
            let mut cells = trial_cells(view, trial);
            cells.push(Cell::new(kind.clone()));
            let numbers = shown.iter().map(|(.., count)| counts[*count]);
            cells.extend(numbers.map(|number| match number {
                0 => Cell::new("0").tone(Tone::Muted),
                number => Cell::new(number::count(number)),
            }));
            Row {
                cells,
                tone: Tone::Plain,
            }
        })
    });
    Table {
        caption: "What operations came to besides time".into(),
        columns,
        rows: rows.collect(),
        foot: COUNTED
            .iter()
            .filter(|(column, _)| shown.iter().any(|(name, ..)| name == column))
            .map(|(_, words)| *words)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

fn server_table(view: &RunView) -> Table {
    let mut columns = trial_columns();
    columns.extend([
        Column::number("Writes", "server"),
        Column::number("Writes", "client"),
        Column::number("Reads", "server"),
        Column::number("Reads", "client"),
        Column::number("Difference", "%"),
        Column::text("Counted by").wide(),
    ]);
    let rows = view.findings.trials.iter().filter_map(|trial| {
        let server = trial.server.as_ref()?;
        // Reads too many would hide as many writes too few in a sum.
        let difference = |theirs: u64, ours: u64| match ours {
            0 => 0.0,
            ours => (theirs as f64 / ours as f64 - 1.0) * 100.0,
        };
        let writes = difference(server.writes, server.client_writes);
        let reads = difference(server.reads, server.client_reads);
        let difference = if writes.abs() > reads.abs() {
            writes
        } else {
            reads
        };
        let mut cells = trial_cells(view, trial);
        for count in [
            server.writes,
            server.client_writes,
            server.reads,
            server.client_reads,
        ] {
            cells.push(Cell::new(number::count(count)));
        }
        cells.push(Cell::new(number::significant(difference, 2)).tone(rule_tone(trial, "V7")));
        cells.push(Cell::new(server.source.as_str()));
        Some(Row {
            cells,
            tone: Tone::Plain,
        })
    });
    Table {
        caption: "What the server counted, beside what the client counted".into(),
        columns,
        rows: rows.collect(),
        foot: "Over the whole trial: load, warm-up, measurement and drain. The difference is that \
               of reads or of writes, whichever is larger."
            .into(),
    }
}

fn load_table(view: &RunView) -> Table {
    let mut columns = trial_columns();
    columns.extend([
        Column::number("Rows", "written"),
        Column::number("Took", ""),
        Column::number("Throughput", "op/s"),
        Column::number("Errors", ""),
        Column::text("Settled"),
    ]);
    let rows = view.findings.trials.iter().filter_map(|trial| {
        let load = trial.load.as_ref()?;
        let mut cells = trial_cells(view, trial);
        cells.push(Cell::new(number::count(load.operations)));
        cells.push(Cell::new(number::duration(load.seconds)));
        cells.push(Cell::new(number::rate(
            load.operations as f64 / load.seconds,
        )));
        cells.push(bad_if_any(load.errors.values().sum()));
        let tone = match load.settle {
            Settled::Settled => Tone::Good,
            Settled::Stalled | Settled::Timeout => Tone::Warn,
            Settled::Skipped | Settled::Unknown => Tone::Muted,
        };
        let took = number::duration(load.settle_seconds);
        cells.push(Cell::new(load.settle.name()).tone(tone).detail(took));
        Some(Row {
            cells,
            tone: Tone::Plain,
        })
    });
    Table {
        caption: "Loading and settling".into(),
        columns,
        rows: rows.collect(),
        foot: String::new(),
    }
}
