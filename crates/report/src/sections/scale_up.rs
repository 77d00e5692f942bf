//! What the machine makes of more of its units: a figure, efficiencies, curves, and what cannot be
//! shown.

mod figure;
mod models;

use crate::number;
use crate::page::{Block, Cell, Column, Row, Section, Table, Tone, Verdict};
use crate::view::RunView;
use store::record::{
    EfficiencyOf, EfficiencyRecord, Fills, ImprovementRecord, ScalePointRecord, ScaleRatioRecord,
    ScaleUpRecord,
};

/// None of a run that adds no units.
pub fn section(view: &RunView) -> Option<Section> {
    let all = &view.findings.scale_ups;
    if all.is_empty() {
        return None;
    }
    Some(Section {
        id: "scale-up",
        title: "What the machine makes of more of its units".into(),
        lead: "Efficiency is the throughput of N units divided by N times that of one unit with \
               the same share of the machine. The unit ran with nothing but the client on the \
               rest of the machine: where it then has a higher clock, every efficiency is too low \
               by as much. What is divided was done in the same blocks, where they took turns."
            .into(),
        blocks: together(all).into_iter().flat_map(|arms| of_load(&arms)).collect(),
    })
}

/// The arms of each load, in the order of their first.
fn together(all: &[ScaleUpRecord]) -> Vec<Vec<&ScaleUpRecord>> {
    let mut loads: Vec<Vec<&ScaleUpRecord>> = Vec::new();
    for record in all {
        let same = |arms: &&mut Vec<&ScaleUpRecord>| {
            arms[0].load == record.load && arms[0].unit == record.unit
        };
        match loads.iter_mut().find(same) {
            Some(arms) => arms.push(record),
            None => loads.push(vec![record]),
        }
    }
    loads
}

fn of_load(arms: &[&ScaleUpRecord]) -> Vec<Block> {
    let mut blocks: Vec<Block> = figure::chart(arms).map(Block::Chart).into_iter().collect();
    blocks.push(Block::Table(points(arms)));
    let told: Vec<String> = arms.iter().flat_map(|arm| efficiencies(arm)).collect();
    if !told.is_empty() {
        blocks.push(Block::List(format!("Efficiency{}", under(arms)), told));
    }
    if arms.iter().any(|arm| !arm.improvements.is_empty()) {
        blocks.push(Block::Table(improvements(arms)));
    }
    blocks.push(Block::Table(models::table(arms)));
    blocks.extend(shown(arms));
    blocks
}

/// What can and cannot be shown: once, if it is the same of all arms.
fn shown(arms: &[&ScaleUpRecord]) -> Vec<Block> {
    let list = |heading: String, of: &ScaleUpRecord| Block::List(heading, of.sentences.clone());
    let heading = "What this can and cannot show";
    match arms {
        [first, others @ ..] if others.iter().all(|one| one.sentences == first.sentences) => {
            let some = Some(first).filter(|arm| !arm.sentences.is_empty());
            let block = some.map(|arm| list(format!("{heading}{}", under(arms)), arm));
            block.into_iter().collect()
        }
        _ => {
            let arms = arms.iter().filter(|arm| !arm.sentences.is_empty());
            arms.map(|arm| list(format!("{heading}{}", of_arm(arm)), arm)).collect()
        }
    }
}

/// ` under reads`; nothing where there is one load.
fn under(arms: &[&ScaleUpRecord]) -> String {
    match arms.first().map_or("", |arm| arm.load.as_str()) {
        "" => String::new(),
        load => format!(" under {load}"),
    }
}

/// `: reads, planned`; nothing where there is one of each.
fn of_arm(record: &ScaleUpRecord) -> String {
    let load = Some(record.load.as_str()).filter(|load| !load.is_empty());
    let parts: Vec<&str> = load.into_iter().chain(record.arm.as_deref()).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    }
}

/// What a unit is called.
fn unit_name(unit: &str) -> &str {
    match unit {
        "cores" => "core",
        "l3" => "L3 group",
        "numa" => "NUMA node",
        "sockets" => "socket",
        other => other,
    }
}

/// The same of several.
fn units_name(unit: &str) -> &str {
    match unit {
        "l3" => "L3 groups",
        "numa" => "NUMA nodes",
        other => other,
    }
}

/// `98.0 % (95 %: 97.1 to 98.9 %)`.
fn share_words(ratio: &ScaleRatioRecord) -> String {
    let interval = match ratio.ci95 {
        Some([low, high]) => format!(
            "95 %: {} to {}",
            number::significant(low * 100.0, 3),
            number::percent(high)
        ),
        None if ratio.blocks == 1 => "no interval: one block".to_owned(),
        None => "no interval".to_owned(),
    };
    format!("{} ({interval})", number::percent(ratio.value))
}

/// What was told of the three, a sentence each. What was not is said below, with the reason.
fn efficiencies(record: &ScaleUpRecord) -> Vec<String> {
    let unit = unit_name(&record.unit);
    let all = u64::from(record.units_per_socket) * u64::from(record.sockets);
    let arm = (record.arm.as_ref()).map_or_else(String::new, |arm| format!("“{arm}”: "));
    let sentence = |of: &EfficiencyRecord| {
        let share = share_words(of.ratio.as_ref()?);
        Some(match of.name {
            EfficiencyOf::Socket => format!(
                "{arm}one full socket does {share} of {} times what one {unit} does.",
                record.units_per_socket
            ),
            EfficiencyOf::System => {
                format!("{arm}the full machine does {share} of {all} times what one {unit} does.")
            }
            EfficiencyOf::Cross => format!(
                "{arm}the full machine does {share} of {} times what one full socket does.",
                record.sockets
            ),
        })
    };
    let told = record.efficiencies.iter().filter_map(sentence);
    told.map(|sentence| capital(&sentence)).collect()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Whether a column has to say which arm it is.
fn has_arms(arms: &[&ScaleUpRecord]) -> bool {
    arms.len() > 1 || arms.iter().any(|arm| arm.arm.is_some())
}

/// A first column for the arm, where there are several.
fn with_arm(arms: &[&ScaleUpRecord], columns: Vec<Column>) -> Vec<Column> {
    if has_arms(arms) {
        [vec![Column::text("Arm")], columns].concat()
    } else {
        columns
    }
}

fn row_of(arms: &[&ScaleUpRecord], index: usize, cells: Vec<Cell>, tone: Tone) -> Row {
    let arm = Cell {
        variant: Some(index),
        ..Cell::new(arms[index].arm.as_deref().unwrap_or_default())
    };
    Row {
        cells: if has_arms(arms) {
            [vec![arm], cells].concat()
        } else {
            cells
        },
        tone,
    }
}

fn points(arms: &[&ScaleUpRecord]) -> Table {
    let unit = arms.first().map_or("", |arm| arm.unit.as_str());
    let columns = vec![
        Column::number(&capital(units_name(unit)), ""),
        Column::number("Sockets", ""),
        Column::number("Throughput", "op/s"),
        Column::number("Speed-up", ""),
        Column::number("Efficiency", "%"),
        Column::number("95 % interval", "%"),
        Column::number("Blocks", "").wide(),
        Column::text("Verdict"),
    ];
    let rows = arms.iter().enumerate().flat_map(|(index, arm)| {
        let of = move |point: &ScalePointRecord| {
            let (cells, tone) = cells(point);
            row_of(arms, index, cells, tone)
        };
        arm.points.iter().map(of)
    });
    Table {
        caption: format!("Throughput by {} in use{}", units_name(unit), under(arms)),
        columns: with_arm(arms, columns),
        rows: rows.collect(),
        foot: String::new(),
    }
}

fn cells(point: &ScalePointRecord) -> (Vec<Cell>, Tone) {
    let absent = || Cell::new(number::ABSENT);
    let verdict = Verdict::of(Some(point.verdict));
    let split = point.split.as_ref().filter(|split| split.len() > 1);
    let split = split.map_or_else(String::new, |split| {
        let parts: Vec<String> = split.iter().map(u32::to_string).collect();
        parts.join(" + ")
    });
    let throughput = point.ops_per_s.map_or_else(absent, |ops| {
        Cell::new(number::rate(ops)).detail(number::relative_error(ops, point.ops_per_s_ci95))
    });
    let percent = |value: f64| number::significant(value * 100.0, 3);
    let efficiency = point.efficiency.as_ref();
    let interval = efficiency.and_then(|of| of.ci95);
    let blocks = point.ops_per_s_blocks.iter().flatten().count();
    let says = match &point.missing {
        None => Cell::new(verdict.name()).tone(verdict.tone()),
        Some(why) => Cell::new(why.as_str()).tone(Tone::Warn),
    };
    let tone = match point.ops_per_s {
        Some(_) => Tone::Plain,
        None => Tone::Muted,
    };
    let speed_up = point.speed_up.as_ref();
    let cells = vec![
        Cell::new(point.units.to_string()),
        Cell::new(point.sockets.to_string()).detail(split),
        throughput,
        speed_up.map_or_else(absent, |of| Cell::new(number::significant(of.value, 3))),
        efficiency.map_or_else(absent, |of| Cell::new(percent(of.value))),
        interval.map_or_else(absent, |[low, high]| {
            Cell::new(format!("{} to {}", percent(low), percent(high)))
        }),
        Cell::new(blocks.to_string()),
        says,
    ];
    (cells, tone)
}

fn improvements(arms: &[&ScaleUpRecord]) -> Table {
    let columns = vec![
        Column::text("Against"),
        Column::number("Units", ""),
        Column::number("Sockets", ""),
        Column::number("Times as much", ""),
        Column::text("95 % interval"),
        Column::text("What it is"),
    ];
    let rows = arms.iter().enumerate().flat_map(|(index, arm)| {
        let row = move |of: &ImprovementRecord| row_of(arms, index, factor(of), Tone::Plain);
        arm.improvements.iter().map(row)
    });
    Table {
        caption: format!("Against the baseline with as many units{}", under(arms)),
        columns: with_arm(arms, columns),
        rows: rows.collect(),
        foot: "Each interval is for its ratio alone.".into(),
    }
}

fn factor(of: &ImprovementRecord) -> Vec<Cell> {
    let ratio = of.ratio.as_ref();
    let absent = || number::ABSENT.to_owned();
    let interval = ratio.and_then(|ratio| ratio.ci95);
    let sockets = if of.sockets == of.baseline_sockets {
        String::new()
    } else {
        format!("baseline: {}", of.baseline_sockets)
    };
    let what = match (&of.missing, of.fills) {
        (Some(why), _) => why.as_str(),
        (None, Some(Fills::Socket)) => "I₁: one full socket",
        (None, Some(Fills::System)) => "I₂: the full machine",
        (None, None) => "",
    };
    vec![
        Cell::new(of.against.as_str()),
        Cell::new(of.units.to_string()),
        Cell::new(of.sockets.to_string()).detail(sockets),
        Cell::new(ratio.map_or_else(absent, |ratio| number::ratio(ratio.value))),
        Cell::new(interval.map_or_else(absent, |[low, high]| {
            format!("{} to {}", number::ratio(low), number::ratio(high))
        })),
        Cell::new(what),
    ]
}
