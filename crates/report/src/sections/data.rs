//! Shows the checks of the trials' data, the outcomes of operations, and the counts of servers and
//! clients.

use crate::merged_points::trial_table;
use crate::number;
use crate::page::{Block, Cell, Column, Section, Table, Tone};
use crate::run_view::RunView;
use crate::sections::rules::rule_tone;
use crate::sections::{acknowledged_writes, initial_data, sides};
use measure::KindCount;
use store::record::{ServerCountsRecord, SettleEnd, TrialFinding};

/// Returns the section on the data, or `None` if the run recorded none.
pub fn section(view: &RunView) -> Option<Section> {
    let trials = &view.findings.trials;
    let mut blocks = Vec::new();
    blocks.extend(acknowledged_writes::blocks(view));
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
    blocks.extend(sides::blocks(view));
    blocks.extend(initial_data::data(view));
    (!blocks.is_empty()).then(|| Section {
        id: "data",
        title: "The data".into(),
        lead: "The seed and the row number determine every row, so cassay can compare any read \
               with the expected row."
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
    let resurrected = sum(|t| t.verify.resurrected);
    let differed = missing + stale + wrong + resurrected;
    // A check may have found a defect of the data that the configuration does not allow. A sentence
    // about correct answers must then not suggest that all rows are correct.
    let is_against = trials.iter().any(|trial| !trial.data_against().is_nothing());
    match (differed, is_against) {
        (0, true) => format!(
            "cassay compared {checked} answers during the load, and none of them showed the defect \
             of the data. These answers cover only a part of the rows."
        ),
        (0, false) => format!("cassay compared {checked} answers: all were correct."),
        _ => format!(
            "Of {checked} answers that cassay compared, {} were missing, {} stale and {} wrong{}.",
            number::count(missing),
            number::count(stale),
            number::count(wrong),
            match resurrected {
                0 => String::new(),
                some => format!(", {} deleted and present again", number::count(some)),
            }
        ),
    }
}

fn verify_table(view: &RunView) -> Table {
    let trials = view.findings.trials.iter().map(|trial| (trial, &trial.verify));
    trial_table(view, "Reads compared with the rows of the seed", trials)
        .number("Checked", "", |(_, verify)| number::count(verify.checked))
        .number("Missing", "", |(_, verify)| {
            Cell::zero_expected(verify.missing, Tone::Bad)
        })
        .number("of these lost", "", |(_, verify)| {
            Cell::zero_expected(verify.lost, Tone::Bad)
        })
        .number("Stale", "", |(_, verify)| {
            Cell::zero_expected(verify.stale, Tone::Bad)
        })
        .number("Wrong", "", |(_, verify)| {
            Cell::zero_expected(verify.wrong, Tone::Bad)
        })
        .number("Never written", "", |(_, verify)| {
            number::count(verify.never_written)
        })
        .foot(
            "Lost: the server acknowledged the write to this client. Never written: the server did \
             not acknowledge it, so a missing row is not an error.",
        )
        .build()
}

/// Columns of the table of outcomes that renderers omit if space is limited.
const WIDE_ONLY: [&str; 4] = ["Rows", "Without a row", "Pages", "Prepared again"];

/// Explanations of columns of the table of outcomes, each with the heading of its column.
const COUNTED: [(&str, &str); 4] = [
    (
        "Added by batches",
        "A batch counts as one operation per statement: this column contains all statements of \
         batches except the first of each batch.",
    ),
    (
        "Not applied",
        "The condition (IF …) was false. The server answers this normally, so it does not count as \
         an error.",
    ),
    (
        "Retries",
        "A retried operation is one operation. Its latency includes all attempts.",
    ),
    (
        "Prepared again",
        "The client prepared the statement again, because the node no longer had it.",
    ),
];

/// Returns the table of the counts by kind of operation.
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
    let kinds = trials
        .iter()
        .flat_map(|trial| trial.counts.iter().map(move |kind| (trial, kind)));
    let words = COUNTED
        .iter()
        .filter(|(column, _)| shown.iter().any(|(name, ..)| name == column));
    trial_table(view, "Outcomes of operations", kinds)
        .text("Kind", |(_, (kind, _))| kind)
        .each(&shown, |table, (name, of, count)| {
            let column = Column {
                wide_only: WIDE_ONLY.contains(name),
                ..Column::number(name, of)
            };
            table.column(column, |(_, (_, counts))| match counts[*count] {
                0 => Cell::new("0").tone(Tone::Muted),
                number => Cell::new(number::count(number)),
            })
        })
        .foot(words.map(|(_, words)| *words).collect::<Vec<_>>().join(" "))
        .build()
}

fn server_table(view: &RunView) -> Table {
    // The loop compares reads and writes separately. In a sum, surplus reads would hide missing
    // writes.
    let difference = |server: &ServerCountsRecord| {
        let of = |theirs: u64, ours: u64| match ours {
            0 => 0.0,
            ours => (theirs as f64 / ours as f64 - 1.0) * 100.0,
        };
        let writes = of(server.writes, server.client_writes);
        let reads = of(server.reads, server.client_reads);
        if writes.abs() > reads.abs() {
            writes
        } else {
            reads
        }
    };
    let trials = view.findings.trials.iter();
    let counted = trials.filter_map(|trial| Some((trial, trial.server.as_ref()?)));
    let caption = "Counts of operations by server and client";
    trial_table(view, caption, counted)
        .number("Writes", "server", |(_, server)| {
            number::count(server.writes)
        })
        .number("Writes", "client", |(_, server)| {
            number::count(server.client_writes)
        })
        .number("Reads", "server", |(_, server)| number::count(server.reads))
        .number("Reads", "client", |(_, server)| {
            number::count(server.client_reads)
        })
        .number("Difference", "%", |(trial, server)| {
            Cell::new(number::significant(difference(server), 2)).tone(rule_tone(trial, "V7"))
        })
        .wide_text("Counted by", |(_, server)| server.source.as_str())
        .foot(
            "Over the whole trial: load, warm-up, measurement and drain. The difference is the \
             larger of the differences of reads and writes.",
        )
        .build()
}

fn load_table(view: &RunView) -> Table {
    let trials = view.findings.trials.iter();
    let loaded = trials.filter_map(|trial| Some((trial, trial.load.as_ref()?)));
    trial_table(view, "Loading and settling", loaded)
        .number("Rows", "written", |(_, load)| {
            number::count(load.operations)
        })
        .number("Took", "", |(_, load)| number::duration(load.seconds))
        .number("Throughput", "op/s", |(_, load)| {
            number::rate(load.operations as f64 / load.seconds)
        })
        .number("Errors", "", |(_, load)| {
            Cell::zero_expected(load.errors.values().sum(), Tone::Bad)
        })
        .text("Settled", |(_, load)| {
            let took = number::duration(load.settle_seconds);
            Cell::new(load.settle.name()).detail(took).tone(match load.settle {
                SettleEnd::Settled => Tone::Good,
                SettleEnd::Stalled | SettleEnd::Timeout => Tone::Warn,
                SettleEnd::Skipped | SettleEnd::Unknown => Tone::Muted,
            })
        })
        .build()
}
