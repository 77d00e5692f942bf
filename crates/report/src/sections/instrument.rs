//! The instrument's own figures: could it have been the limit?

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone};
use crate::sections::rules::rule_tone;
use crate::summary::{Point, best, place, variant_name, variants};
use crate::view::RunView;
use store::record::TrialFinding;

/// What the client cost and how far it was from its ceiling.
pub fn section(view: &RunView, points: &[Point<'_>]) -> Option<Section> {
    if view.findings.trials.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table(view))];
    let busiest = variants(view)
        .iter()
        .enumerate()
        .filter_map(|(index, _)| best(view, points, index))
        .flat_map(|p| &p.used)
        .filter_map(|t| ceiling_share(t))
        .max_by(f64::total_cmp);
    if let Some(share) = busiest {
        blocks.insert(
            0,
            Block::Text(format!(
                "At the highest throughput the client used {} of what it reaches against a target \
             that answers at once.",
                number::percent(share)
            )),
        );
    }
    let mut trials = view.findings.trials.iter();
    if trials.any(|trial| trial.client.realtime) {
        let words = "Its workers went before other programs that wanted their CPUs (real-time \
                     priority), so that nodes on the same machine did not keep answers waiting.";
        blocks.push(Block::Text(words.into()));
    }
    Some(Section {
        id: "instrument",
        title: "The instrument".into(),
        lead: "A load generator near its own limit measures itself. Its ceiling is what the \
               same program reaches on the null target on this machine. One that is stopped, or \
               shares its machine, measures its neighbours."
            .into(),
        blocks,
    })
}

/// Share of the ceiling that was used; none if the ceiling was not measured.
fn ceiling_share(trial: &TrialFinding) -> Option<f64> {
    let ceiling = trial.client.ceiling_ops_per_s;
    (ceiling > 0.0).then(|| trial.all.ops_per_s / ceiling)
}

fn table(view: &RunView) -> Table {
    Table {
        caption: "The client, trial by trial".into(),
        columns: vec![
            Column::number("Trial", ""),
            Column::text("Variant"),
            Column::text("Point"),
            Column::number("Ceiling", "op/s"),
            Column::number("Used of it", ""),
            Column::number("CPU", "µs/op"),
            Column::number("CPU", "% of its cores"),
            Column::number("Lag p50", "µs").wide(),
            Column::number("Lag p99", "µs"),
            Column::number("Late", "> 1 ms").wide(),
            Column::number("Dropped", "").wide(),
            Column::number("Stall", "ms"),
            Column::number("Waited for a CPU", "of the time").wide(),
            Column::number("Others", "CPU"),
            Column::number("Silence", "ms").wide(),
            Column::number("Memory", "peak").wide(),
            Column::number("Workers", "").wide(),
            Column::number("Connections", "").wide(),
        ],
        rows: view.findings.trials.iter().map(|t| row(view, t)).collect(),
        foot: "The ceiling: the lowest and the highest that were measured. Lag is how late an \
               operation was sent although nothing but the clock was waited for; a closed loop \
               has none. The stall is the latest timer on the client's cores, whatever the loop. \
               Others: of all CPUs, neither the client nor nodes that it started. Silence: the \
               longest time without an answer while some were awaited."
            .into(),
    }
}

/// The lowest that was measured, with how far they are apart.
fn ceiling(all: &[f64], lowest: f64) -> Cell {
    let cell = Cell::new(number::rate(lowest));
    match all.iter().copied().max_by(f64::total_cmp) {
        Some(highest) if all.len() > 1 => cell.detail(format!("to {}", number::rate(highest))),
        _ => cell,
    }
}

fn row(view: &RunView, trial: &TrialFinding) -> Row {
    let client = &trial.client;
    // V3 asks whether the client was the limit; the page does not judge once more.
    let tone = rule_tone(trial, "V3");
    let absent = || Cell::new(number::ABSENT).tone(Tone::Muted);
    // Zero lag is what a closed loop reports: there is nothing to be late for.
    let lag = |us: f64| {
        if us > 0.0 {
            Cell::new(number::small(us))
        } else {
            absent()
        }
    };
    let whole = |n: u64| {
        if n > 0 {
            Cell::new(number::count(n))
        } else {
            absent()
        }
    };
    let share = ceiling_share(trial);
    Row {
        cells: vec![
            Cell::new(trial.index.to_string()),
            Cell::new(variant_name(&trial.variant, view)),
            Cell::new(place(trial.point)),
            match share {
                Some(_) => ceiling(&client.ceilings_ops_per_s, client.ceiling_ops_per_s),
                None => absent().hint("the ceiling was not measured"),
            },
            match share {
                Some(share) => Cell::new(number::percent(share)).tone(tone),
                None => absent(),
            },
            Cell::new(number::small(client.cpu_us_per_op)),
            Cell::new(number::percent(client.cpu_share)).tone(tone),
            lag(client.lag_us.p50),
            lag(client.lag_us.p99),
            Cell::new(number::count(trial.late)),
            Cell::new(number::count(trial.dropped)),
            match client.stall_ms_longest {
                Some(ms) => Cell::new(number::small(ms)).tone(rule_tone(trial, "V4")),
                None => absent().hint("nobody looked"),
            },
            match client.wait_share {
                Some(share) => Cell::new(number::percent(share)),
                None => absent().hint("the kernel does not count it"),
            },
            match trial.machine.as_ref().and_then(|machine| machine.cpu_others) {
                Some(share) => Cell::new(number::percent(share)).tone(rule_tone(trial, "V18")),
                None => absent().hint("the machine did not tell"),
            },
            match client.quiet_ms_longest {
                ms if ms > 0.0 => Cell::new(number::small(ms)).tone(rule_tone(trial, "V19")),
                _ => absent(),
            },
            match client.memory_bytes {
                0 => absent(),
                bytes => Cell::new(number::bytes(bytes)),
            },
            whole(client.workers as u64),
            whole(client.connections as u64),
        ],
        tone: Tone::Plain,
    }
}
