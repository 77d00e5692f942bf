//! The scaling of a machine over its units, with a figure, efficiencies, curves, and the
//! conclusions that the measurements do not allow.

mod figure;
mod models;

use crate::number;
use crate::page::{Block, Cell, Section, Table, TableBuilder, Tone, Verdict};
use crate::run_view::RunView;
use crate::sections::capital;
use store::record::{
    CostKind, EfficiencyOf, EfficiencyRecord, SaturatedResource, ScalePointRecord,
    ScaleRatioRecord, ScaleUpRecord,
};

/// Returns the section on scale-up. `None` for a run that does not vary the number of units.
pub fn section(view: &RunView) -> Option<Section> {
    let all = &view.findings.scale_ups;
    if all.is_empty() {
        return None;
    }
    Some(Section {
        id: "scale-up",
        title: "Throughput and efficiency with more units".into(),
        lead: "Efficiency is the throughput of N units divided by N times the throughput of one \
               unit with the same share of the machine. When one unit ran, only the client used \
               the rest of the machine. If the unit then had a higher clock rate, every efficiency \
               is too low by that factor. If variants took turns, both throughputs come from the \
               same blocks."
            .into(),
        blocks: together(all).into_iter().flat_map(|arms| load_blocks(view, &arms)).collect(),
    })
}

/// Returns the arms of each load, in the order in which the loads first appear.
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

fn load_blocks(view: &RunView, arms: &[&ScaleUpRecord]) -> Vec<Block> {
    let mut blocks: Vec<Block> = figure::chart(arms).map(Block::Chart).into_iter().collect();
    blocks.push(Block::Table(points(view, arms)));
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

/// Describes the conclusions that the measurements allow or do not allow. If all arms have the same
/// conclusions, the page states them only once.
fn shown(arms: &[&ScaleUpRecord]) -> Vec<Block> {
    let list = |heading: String, of: &ScaleUpRecord| Block::List(heading, of.sentences.clone());
    let heading = "Limits of this measurement";
    match arms {
        [first, others @ ..] if others.iter().all(|one| one.sentences == first.sentences) => {
            let some = Some(first).filter(|arm| !arm.sentences.is_empty());
            let block = some.map(|arm| list(format!("{heading}{}", under(arms)), arm));
            block.into_iter().collect()
        }
        _ => {
            let arms = arms.iter().filter(|arm| !arm.sentences.is_empty());
            arms.map(|arm| list(format!("{heading}{}", arm_words(arm)), arm)).collect()
        }
    }
}

/// Returns the load, such as ` under reads`. Empty if the load has no name.
fn under(arms: &[&ScaleUpRecord]) -> String {
    match arms.first().map_or("", |arm| arm.load.as_str()) {
        "" => String::new(),
        load => format!(" under {load}"),
    }
}

/// Returns the load and the arm, such as `: reads, planned`. Empty if neither has a name.
fn arm_words(record: &ScaleUpRecord) -> String {
    let load = Some(record.load.as_str()).filter(|load| !load.is_empty());
    let parts: Vec<&str> = load.into_iter().chain(record.arm.as_deref()).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!(": {}", parts.join(", "))
    }
}

fn unit_name(unit: &str) -> &str {
    match unit {
        "cores" => "core",
        "l3" => "L3 cache",
        "numa" => "NUMA node",
        "sockets" => "socket",
        other => other,
    }
}

fn units_name(unit: &str) -> &str {
    match unit {
        "l3" => "L3 caches",
        "numa" => "NUMA nodes",
        other => other,
    }
}

/// Formats an efficiency, such as `98.0 % (95 %: 97.1 to 98.9 %)`.
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

fn efficiencies(record: &ScaleUpRecord) -> Vec<String> {
    let unit = unit_name(&record.unit);
    let all = u64::from(record.units_per_socket) * u64::from(record.sockets);
    let arm = (record.arm.as_ref()).map_or_else(String::new, |arm| format!("“{arm}”: "));
    let sentence = |of: &EfficiencyRecord| {
        let share = share_words(of.ratio.as_ref()?);
        Some(match of.name {
            EfficiencyOf::Socket => format!(
                "{arm}one full socket has {share} of {} times the throughput of one {unit}.",
                record.units_per_socket
            ),
            EfficiencyOf::System => {
                format!(
                    "{arm}the full machine has {share} of {all} times the throughput of one \
                         {unit}."
                )
            }
            EfficiencyOf::Cross => format!(
                "{arm}the full machine has {share} of {} times the throughput of one full socket.",
                record.sockets
            ),
        })
    };
    let told = record.efficiencies.iter().filter_map(sentence);
    told.map(|sentence| capital(&sentence)).collect()
}

fn has_arms(arms: &[&ScaleUpRecord]) -> bool {
    arms.len() > 1 || arms.iter().any(|arm| arm.arm.is_some())
}

/// Begins a table with a row for each record of each arm. With several arms, the first column names
/// the arm.
fn arm_table<'a, T>(
    arms: &[&'a ScaleUpRecord],
    caption: &str,
    of: impl Fn(&'a ScaleUpRecord) -> &'a [T],
) -> TableBuilder<(usize, &'a T)> {
    let arm_cell = |index: usize| Cell {
        variant: Some(index),
        ..Cell::new(arms[index].arm.as_deref().unwrap_or_default())
    };
    let rows = arms
        .iter()
        .enumerate()
        .flat_map(|(index, arm)| of(arm).iter().map(move |one| (index, one)));
    Table::from_records(format!("{caption}{}", under(arms)), rows).when(has_arms(arms), |table| {
        table.text("Arm", |(index, _)| arm_cell(index))
    })
}

/// Returns the loads from remote memory per operation, for the best point of the variant of `at`.
/// `None` if the CPUs did not count these loads.
fn remote_loads(view: &RunView, at: &ScalePointRecord) -> Option<String> {
    let points = view.findings.usable_points().filter(|point| point.variant == at.variant);
    let best = points.max_by(|a, b| a.ops_per_s.total_cmp(&b.ops_per_s))?;
    let cost = best.costs.iter().find(|cost| cost.cost == CostKind::RemoteLoads)?;
    Some(cost.cost.written(cost.mean))
}

fn points(view: &RunView, arms: &[&ScaleUpRecord]) -> Table {
    let all = || arms.iter().flat_map(|arm| &arm.points);
    let has_remote_loads = all().any(|point| remote_loads(view, point).is_some());
    let units = units_name(arms.first().map_or("", |arm| arm.unit.as_str()));
    let percent = |value: f64| number::significant(value * 100.0, 3);
    let caption = format!("Throughput by {units} in use");
    arm_table(arms, &caption, |arm| &arm.points)
        .number(&capital(units), "", |(_, point)| point.units.to_string())
        .number("Sockets", "", |(_, point)| {
            let split = point.split.iter().filter(|split| split.len() > 1).flatten();
            let parts: Vec<String> = split.map(u32::to_string).collect();
            Cell::new(point.sockets.to_string()).detail(parts.join(" + "))
        })
        .number("Throughput", "op/s", |(_, point)| {
            let ops = point.ops_per_s?;
            let error = number::relative_error(ops, point.ops_per_s_ci95);
            Some(Cell::new(number::rate(ops)).detail(error))
        })
        .number("Speed-up", "", |(_, point)| {
            point.speed_up.as_ref().map(|of| number::significant(of.value, 3))
        })
        .number("Efficiency", "%", |(_, point)| {
            point.efficiency.as_ref().map(|of| percent(of.value))
        })
        .number("95 % interval", "%", |(_, point)| {
            let [low, high] = point.efficiency.as_ref()?.ci95?;
            Some(format!("{} to {}", percent(low), percent(high)))
        })
        .when(has_remote_loads, |table| {
            table.number("Remote loads", "per operation", |(_, point)| {
                remote_loads(view, point)
            })
        })
        .wide_number("Blocks", "", |(_, point)| {
            point.ops_per_s_blocks.iter().flatten().count().to_string()
        })
        .text("Verdict", |(_, point)| match &point.missing {
            None => {
                let verdict = Verdict::from_record(Some(point.verdict));
                Cell::new(verdict.name()).tone(verdict.tone())
            }
            Some(why) => Cell::new(why).tone(Tone::Warn),
        })
        .tone(|(_, point)| match point.ops_per_s {
            Some(_) => Tone::Plain,
            None => Tone::Muted,
        })
        .build()
}

fn improvements(arms: &[&ScaleUpRecord]) -> Table {
    let caption = "Compared with the baseline with the same number of units";
    arm_table(arms, caption, |arm| &arm.improvements)
        .text("Against", |(_, of)| &of.against)
        .number("Units", "", |(_, of)| of.units.to_string())
        .number("Sockets", "", |(_, of)| {
            let differs = of.sockets != of.baseline_sockets;
            let baseline = differs.then(|| format!("baseline: {}", of.baseline_sockets));
            Cell::new(of.sockets.to_string()).detail(baseline.unwrap_or_default())
        })
        .number("Ratio", "", |(_, of)| {
            of.ratio.as_ref().map(|ratio| number::ratio(ratio.value))
        })
        .text("95 % interval", |(_, of)| {
            let [low, high] = of.ratio.as_ref()?.ci95?;
            Some(format!("{} to {}", number::ratio(low), number::ratio(high)))
        })
        .text("Meaning", |(_, of)| match (&of.missing, of.fills) {
            (Some(why), _) => why.as_str(),
            (None, Some(SaturatedResource::Socket)) => "I₁: one full socket",
            (None, Some(SaturatedResource::System)) => "I₂: the full machine",
            (None, None) => "",
        })
        .foot("Each interval is for its ratio alone.")
        .build()
}
