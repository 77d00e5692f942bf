//! Shows figures about the client, which reveal whether the client could have been the limit.

use crate::merged_points::{Point, best, trial_table, variants};
use crate::number;
use crate::page::{Block, Cell, Section, Table, TableBuilder, Tone};
use crate::run_view::RunView;
use crate::sections::rules::rule_tone;
use measure::Known;
use store::record::{ClientEndRecord, ClockMovedRecord, QuantilesRecord, TrialFinding};

pub fn section(view: &RunView, points: &[Point<'_>]) -> Option<Section> {
    if view.findings.trials.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Table(table(view))];
    if view.findings.trials.iter().any(|trial| !trial.clients.is_empty()) {
        blocks.push(Block::Table(clients(view)));
    }
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
                "At its highest throughput, the client reached {} of its ceiling: its throughput \
                 against a target that answers immediately.",
                number::percent(share)
            )),
        );
    }
    let mut trials = view.findings.trials.iter();
    if trials.any(|trial| trial.client.realtime) {
        let words = "The workers of the client had real-time priority over other programs, so that \
                     nodes on the same machine did not delay the reading of answers.";
        blocks.push(Block::Text(words.into()));
    }
    blocks.extend(time_use(view).map(Block::Text));
    Some(Section {
        id: "instrument",
        title: "The instrument".into(),
        lead:
            "A load generator near its own limit does not measure the target. The ceiling is the \
             throughput of the same program on the null target on this machine. If other programs \
             delay the client, it measures those programs."
                .into(),
        blocks,
    })
}

/// Describes the share of the run's time in which trials were measured, and the steps that took the
/// rest.
fn time_use(view: &RunView) -> Option<String> {
    let used = view.findings.time_use.as_ref()?;
    let steps: Vec<String> = used
        .steps
        .iter()
        .filter(|step| step.seconds >= 0.05)
        .map(|step| format!("{} {}", step.step, number::duration(step.seconds)))
        .collect();
    Some(format!(
        "The run took {}, of which {} ({}) are measured windows. The rest: {}.",
        number::duration(used.seconds),
        number::duration(used.measured_s),
        number::percent(used.measured_share),
        steps.join(", "),
    ))
}

/// Returns the throughput as a share of the ceiling. Returns `None` if the ceiling was not
/// measured.
fn ceiling_share(trial: &TrialFinding) -> Option<f64> {
    let ceiling = trial.client.ceiling_ops_per_s;
    (ceiling > 0.0).then(|| trial.all.ops_per_s / ceiling)
}

fn table(view: &RunView) -> Table {
    let clients = view.findings.trials.iter().map(|trial| (trial, &trial.client));
    let above_0 = |value: f64| Some(value).filter(|value| *value > 0.0);
    // In a closed loop, the lag is zero, because operations cannot be late.
    let lag = |us: f64| cell(above_0(us).map(number::small), Tone::Plain, "");
    let whole = |count: u64, words: fn(u64) -> String| match count {
        0 => Cell::absent(),
        count => Cell::new(words(count)),
    };
    trial_table(view, "The client, trial by trial", clients)
        .number("Ceiling", "op/s", |(trial, _)| ceiling(trial))
        // Rule V3 judges whether the client was the limit, so the page does not judge this again.
        .number("Share used", "", |(trial, _)| {
            cell(
                ceiling_share(trial).map(number::percent),
                rule_tone(trial, "V3"),
                "",
            )
        })
        .number("CPU", "µs/op", |(_, client)| {
            number::small(client.cpu_us_per_op)
        })
        .number("CPU", "% of its cores", |(trial, client)| {
            Cell::new(number::percent(client.cpu_share)).tone(rule_tone(trial, "V3"))
        })
        .wide_number("Lag p50", "µs", |(_, client)| lag(client.lag_us.p50))
        .number("Lag p99", "µs", |(_, client)| lag(client.lag_us.p99))
        .wide_number("Late", "> 1 ms", |(trial, _)| number::count(trial.late))
        .wide_number("Dropped", "", |(trial, _)| number::count(trial.dropped))
        .number("Stall", "ms", |(trial, client)| {
            let ms = client.stall_ms_longest.map(number::small);
            cell(ms, rule_tone(trial, "V4"), "not measured")
        })
        .wide_number("Waited for a CPU", "of the time", |(_, client)| {
            let share = client.wait_share.map(number::percent);
            cell(share, Tone::Plain, "the kernel does not count this")
        })
        .number("Others", "CPU", |(trial, _)| {
            let share = trial.machine.as_ref().and_then(|machine| machine.cpu_others);
            cell(
                share.map(number::percent),
                rule_tone(trial, "V18"),
                "the machine does not report this",
            )
        })
        .wide_number("Silence", "ms", |(trial, client)| {
            let ms = above_0(client.quiet_ms_longest).map(number::small);
            cell(ms, rule_tone(trial, "V19"), "")
        })
        .wide_number("Memory", "peak", |(_, client)| {
            whole(client.memory_bytes, number::bytes)
        })
        .wide_number("Workers", "", |(_, client)| {
            whole(client.workers as u64, number::count)
        })
        .wide_number("Connections", "", |(_, client)| {
            whole(client.connections as u64, number::count)
        })
        .foot(
            "The ceiling: the lowest and the highest measured value. Lag is the time from the \
             intended start to the send of an operation that waited only for the clock. A closed \
             loop has no lag. The stall is the delay of the latest timer on the client's cores, in \
             any loop. Others: share of all CPUs that programs other than the client and the nodes \
             used. Silence: the longest time without an answer while the client waited for \
             answers.",
        )
        .build()
}

/// Lists each client of a run with several clients, so that the reader notices differences.
fn clients(view: &RunView) -> Table {
    let trials = view.findings.trials.iter();
    let each = trials.flat_map(|trial| trial.clients.iter().map(move |client| (trial, client)));
    let above_0 = |value: f64| Some(value).filter(|value| *value > 0.0);
    let table = trial_table(view, "Each client, trial by trial", each)
        .text("Client", |(trial, client)| {
            let cell = Cell::new(client.name.clone()).detail(client.place.clone());
            match &client.lost {
                Some(lost) => cell.tone(rule_tone(trial, "V4")).hint(lost),
                None => cell,
            }
        })
        .number("Throughput", "op/s", |(_, client)| {
            number::rate(client.ops_per_s)
        })
        .number("Share", "", |(trial, client)| {
            Cell::new(number::percent(client.share)).tone(rule_tone(trial, "V3"))
        })
        .number("p50", "ms", |(_, client)| {
            latency(client, |times| times.p50)
        })
        .number("p99", "ms", |(_, client)| {
            latency(client, |times| times.p99)
        })
        .number("CPU", "% of its cores", |(_, client)| {
            number::percent(client.cpu_share)
        })
        .number("Ceiling", "op/s", |(_, client)| {
            let lowest = client.ceilings_ops_per_s.iter().copied().min_by(f64::total_cmp);
            cell(
                lowest.map(number::rate),
                Tone::Plain,
                "cassay did not measure the ceiling",
            )
        })
        .wide_number("Lag p99", "µs", |(_, client)| {
            cell(
                above_0(client.lag_us.p99).map(number::small),
                Tone::Plain,
                "",
            )
        });
    health(table)
        .foot(
            "Percentiles of a client cover its own operations. Percentiles of the trial cover the \
             operations of all clients. A client's ceiling is its throughput when it runs alone \
             against a null target on its own machine.",
        )
        .build()
}

/// Returns a latency of one client, in ms, or a dash if the client reported no latency.
fn latency(client: &ClientEndRecord, of: fn(&QuantilesRecord) -> Known) -> Cell {
    // In runs of earlier versions, the figures of a client without operations are zero, so this
    // code ignores them.
    let told = client.latency_ms.as_ref().filter(|times| times.count > 0);
    let why = match &client.lost {
        Some(lost) => lost.as_str(),
        None => "no operation succeeded",
    };
    cell(
        told.map(|times| number::small(of(times).least())),
        Tone::Plain,
        why,
    )
}

/// Adds the columns that describe the state of each client to `table`. The rules about clients use
/// these values.
fn health<'a>(
    table: TableBuilder<(&'a TrialFinding, &'a ClientEndRecord)>,
) -> TableBuilder<(&'a TrialFinding, &'a ClientEndRecord)> {
    let moved = |all: &[ClockMovedRecord]| {
        let words = all.iter().map(|one| format!("{:+.3} s at {:.0} s", one.by_s, one.at_s));
        words.collect::<Vec<_>>().join(", ")
    };
    table
        .number("Stall", "ms", |(trial, client)| {
            let ms = client.stall_ms_longest.map(number::small);
            cell(ms, rule_tone(trial, "V4"), "not measured")
        })
        .number("Clock error", "ms", |(trial, client)| {
            let cell = Cell::new(number::small(client.clock_bound_ms));
            let moved = moved(&client.clock_breaks);
            if moved.is_empty() {
                cell.tone(rule_tone(trial, "V5"))
            } else {
                cell.tone(rule_tone(trial, "V5")).detail(moved)
            }
        })
        .wide_number("Start message late", "ms", |(trial, client)| {
            Cell::new(number::small(client.late_ms)).tone(rule_tone(trial, "V5"))
        })
        .wide_number("Waited for a CPU", "of the time", |(_, client)| {
            let share = client.wait_share.map(number::percent);
            cell(share, Tone::Plain, "the kernel does not count this")
        })
        .wide_number("Throttled", "of the time", |(_, client)| {
            let share = client.throttled_share.map(number::percent);
            cell(
                share,
                Tone::Plain,
                "the system of the client does not count this",
            )
        })
        .wide_number("Wall clock set", "", |(_, client)| {
            cell(
                Some(moved(&client.clock_set)).filter(|words| !words.is_empty()),
                Tone::Plain,
                "",
            )
        })
        .wide_number("Workers", "", |(_, client)| {
            number::count(client.workers as u64)
        })
}

fn cell(figure: Option<String>, tone: Tone, why_not: &str) -> Cell {
    match figure {
        Some(figure) => Cell::new(figure).tone(tone),
        None => Cell::absent().hint(why_not),
    }
}

fn ceiling(trial: &TrialFinding) -> Cell {
    if ceiling_share(trial).is_none() {
        return Cell::absent().hint("cassay did not measure the ceiling");
    }
    let all = &trial.client.ceilings_ops_per_s;
    let cell = Cell::new(number::rate(trial.client.ceiling_ops_per_s));
    match all.iter().copied().max_by(f64::total_cmp) {
        Some(highest) if all.len() > 1 => cell.detail(format!("to {}", number::rate(highest))),
        _ => cell,
    }
}
