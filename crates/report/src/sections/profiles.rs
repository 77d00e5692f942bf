//! The CPU profiles of the variants: the frames in which variants differ, and the call tree of each
//! variant.

use crate::number::significant;
use crate::page::{
    Block, Cell, ColorRole, FrameKind, Icicle, IcicleFrame, LeadFigure, Plot, RowsPlot, Section,
    Table, Tone, ValueRow,
};
use crate::run_view::RunView;
use analysis::profile::{FrameOrigin, REST};
use std::collections::BTreeSet;
use store::record::{
    CallTreeRecord, FrameDifferenceRecord, ProfileDifferenceRecord, ProfilerCostRecord,
    ProfilesRecord, VariantProfileRecord, frame_label,
};

/// Maximum number of frames in the figure of differences. The table has all compared frames.
const ROWS_MAX: usize = 16;
/// Share of a frame's cost in its only callee above which the frame is not drawn.
const ONLY_CALLS: f64 = 0.99;

/// Returns the section on CPU profiles. `None` for a run without profiles.
pub fn section(view: &RunView) -> Option<Section> {
    let record = view.findings.profiles.as_ref()?;
    let mut blocks: Vec<Block> = record.says.iter().cloned().map(Block::Text).collect();
    if !record.reason.is_empty() {
        blocks = vec![Block::Note(Tone::Warn, blocks_text(record))];
    }
    for (number, difference) in record.differences.iter().enumerate() {
        blocks.extend(figure(record, difference, number));
        blocks.extend(frames(record, difference));
    }
    let named: BTreeSet<&str> = record
        .differences
        .iter()
        .flat_map(|one| &one.frames)
        .filter(|frame| frame.named)
        .map(|frame| frame.frame.as_str())
        .collect();
    for (number, variant) in record.variants.iter().enumerate() {
        blocks.push(Block::Icicle(icicle(record, variant, number, &named)));
    }
    blocks.extend(samples(record));
    blocks.extend(profiler_costs(record));
    Some(Section {
        id: "profiles",
        title: "Where the CPU time goes".into(),
        lead: lead(record),
        blocks,
    })
}

fn blocks_text(record: &ProfilesRecord) -> String {
    let first = record.says.first();
    first
        .cloned()
        .unwrap_or_else(|| format!("There are no profiles: {}.", record.reason))
}

fn lead(record: &ProfilesRecord) -> String {
    let what = match record.event.as_str() {
        "alloc" => "Allocated bytes",
        "lock" => "Time in which threads waited for a lock",
        "wall" => "Time of all threads, including waits",
        _ => "CPU time of all threads",
    };
    format!(
        "{what}, summed over the nodes and divided by the operations of the window. A frame that \
         costs more shows where the difference occurs, but not why."
    )
}

fn unit(record: &ProfilesRecord) -> &'static str {
    record.unit.words()
}

fn figure(
    record: &ProfilesRecord,
    difference: &ProfileDifferenceRecord,
    number: usize,
) -> Option<Block> {
    const IDS: [&str; 4] = ["frames-1", "frames-2", "frames-3", "frames-4"];
    let id = IDS.get(number)?;
    let rows: Vec<ValueRow> = difference
        .frames
        .iter()
        .take(ROWS_MAX)
        .map(|frame| value_row(record, frame))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let (baseline, contender) = (&difference.baseline, &difference.contender);
    let title = format!("Difference per operation, {contender} − {baseline}");
    Some(Block::Figure(
        id,
        LeadFigure {
            title: title.clone(),
            what: format!(
                "Rows of frames with the difference of their cost between {contender} and \
                 {baseline}, and its 95 % interval over {} blocks. The table has the numbers.",
                difference.blocks
            ),
            plots: vec![Plot::Rows(RowsPlot {
                title: format!("{}, with 95 % intervals", unit(record)),
                baseline: Some(0.0),
                is_log: false,
                rows,
            })],
            legend: legend(difference),
            says: String::new(),
        },
    ))
}

fn legend(difference: &ProfileDifferenceRecord) -> Vec<(ColorRole, String)> {
    let mut legend = Vec::new();
    let shown = || difference.frames.iter().take(ROWS_MAX);
    for (paint, words) in [
        (ColorRole::Bad, "costs significantly more"),
        (ColorRole::Good, "costs significantly less"),
        (
            ColorRole::Muted,
            "not significant, or explained by a callee",
        ),
    ] {
        if shown().any(|frame| paint_of(frame) == paint) {
            legend.push((paint, words.to_owned()));
        }
    }
    legend
}

fn paint_of(frame: &FrameDifferenceRecord) -> ColorRole {
    match (
        frame.named && frame.explained_by.is_none(),
        frame.difference > 0.0,
    ) {
        (true, true) => ColorRole::Bad,
        (true, false) => ColorRole::Good,
        (false, _) => ColorRole::Muted,
    }
}

fn value_row(record: &ProfilesRecord, frame: &FrameDifferenceRecord) -> ValueRow {
    ValueRow {
        label: place(frame),
        value: Some(frame.difference),
        ci95: frame.ci95,
        text: format!("{} {}", signed(frame.difference), unit(record)),
        paint: paint_of(frame),
        ..ValueRow::default()
    }
}

fn place(frame: &FrameDifferenceRecord) -> String {
    if frame.is_pool {
        format!("threads of {}", frame.frame)
    } else {
        frame_label(&frame.frame)
    }
}

fn signed(value: f64) -> String {
    let size = significant(value.abs(), 3);
    match value {
        value if value > 0.0 => format!("+{size}"),
        value if value < 0.0 => format!("−{size}"),
        _ => size,
    }
}

/// Returns the tables of all compared frames. The table of the named frames is always visible, also
/// on a terminal. The table of the other frames is behind a fold.
fn frames(record: &ProfilesRecord, difference: &ProfileDifferenceRecord) -> Vec<Block> {
    let (named, others): (Vec<_>, Vec<_>) = difference.frames.iter().partition(|frame| frame.named);
    let table = |caption: String, frames: Vec<&FrameDifferenceRecord>| {
        let unit = unit(record);
        let cost = |cost: f64| significant(cost, 3);
        Table::from_records(caption, frames)
            .text("Frame", |one: &FrameDifferenceRecord| {
                Cell::new(place(one)).hint(one.frame.clone())
            })
            .number(difference.baseline.as_str(), unit, move |one| {
                cost(one.baseline)
            })
            .number(difference.contender.as_str(), unit, move |one| {
                cost(one.contender)
            })
            .number("Difference", unit, |one| {
                Cell::new(signed(one.difference)).tone(Tone::Strong)
            })
            .number("95 % interval", unit, |one| {
                one.ci95.map_or_else(Cell::absent, |[low, high]| {
                    format!("{} to {}", signed(low), signed(high)).into()
                })
            })
            .wide_number("Without callees", unit, |one| signed(one.own))
            .wide_number("p, adjusted", "", |one| {
                one.p_adjusted.map_or_else(Cell::absent, |p| significant(p, 2).into())
            })
            .text("Explained by", |one| {
                one.explained_by.as_deref().map(frame_label).unwrap_or_default()
            })
            .foot(
                "The cost of a frame includes its callees. A callee explains a caller if the \
                 caller has no difference outside of the callee. Intervals are not adjusted for \
                 the number of frames; p is.",
            )
            .unless_empty()
    };
    let pair = format!("{} and {}", difference.baseline, difference.contender);
    let mut blocks = Vec::new();
    let named = table(format!("Frames that differ between {pair}"), named);
    blocks.extend(named.map(Block::Table));
    let count = others.len();
    let others = table(format!("Other compared frames of {pair}"), others);
    blocks.extend(others.map(|table| {
        let summary = format!("{count} other compared frames of {pair}");
        Block::Details(summary, vec![Block::Table(table)])
    }));
    blocks
}

/// Returns the table of the profiles, with the size and the most expensive pools of each profile.
fn samples(record: &ProfilesRecord) -> Option<Block> {
    let unit = unit(record);
    let report = record.run_folder().map(|run| format!("{run}/report.html"));
    let table = Table::from_records("Profiles", &record.variants)
        .text("Variant", |one: &VariantProfileRecord| {
            Cell::new(one.variant.as_str()).link(report.clone().unwrap_or_default())
        })
        .number("Cost per operation", unit, |one| {
            Cell::new(significant(one.cost, 3)).tone(Tone::Strong)
        })
        .text("Most expensive thread pools", |one| pools(one, unit))
        .wide_number("Operations", "", |one| crate::number::count(one.operations))
        .wide_number("Samples", "", |one| crate::number::count(one.samples))
        .wide_number("Trials", "", |one| one.trials.to_string())
        .unless_empty()?;
    Some(Block::Table(table))
}

fn pools(variant: &VariantProfileRecord, unit: &str) -> String {
    let tree = &variant.tree;
    let mut pools: Vec<(&str, f64)> = rows(tree)
        .filter(|(depth, name, _)| *depth == 0 && *name != REST)
        .map(|(_, name, cost)| (name, cost))
        .collect();
    pools.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let words: Vec<String> = pools
        .iter()
        .take(3)
        .map(|(name, cost)| format!("{name} {} {unit}", significant(*cost, 3)))
        .collect();
    words.join(", ")
}

fn profiler_costs(record: &ProfilesRecord) -> Option<Block> {
    let change = |ratio: f64| measure::number::change(ratio);
    let table = Table::from_records("Cost of the profiler", &record.profiler_costs)
        .text("Variant", |one: &ProfilerCostRecord| {
            one.variant.as_str().to_owned()
        })
        .text("Metric", |one| {
            crate::sections::results::metric_name(&one.metric).to_string()
        })
        .number("With the profiler", "", move |one| change(one.ratio))
        .number("95 % interval", "", |one| {
            one.ci95.map_or_else(Cell::absent, |ends| measure::number::changes(ends).into())
        })
        .wide_number("Blocks", "", |one| one.blocks.to_string())
        .foot("Trials with the profiler compared with trials without it, block by block.")
        .unless_empty()?;
    Some(Block::Table(table))
}

/// Returns depth, name and cost of each frame. A damaged record ends at its first bad frame.
fn rows(tree: &CallTreeRecord) -> impl Iterator<Item = (usize, &str, f64)> {
    let columns = tree.depth.iter().zip(&tree.name).zip(&tree.cost);
    columns.map_while(|((depth, name), cost)| {
        let name = tree.names.get(*name as usize)?;
        cost.is_finite().then_some((usize::from(*depth), name.as_str(), *cost))
    })
}

fn icicle(
    record: &ProfilesRecord,
    variant: &VariantProfileRecord,
    number: usize,
    named: &BTreeSet<&str>,
) -> Icicle {
    let name = match variant.variant.name() {
        Some(name) => format!(" of {name}"),
        None => String::new(),
    };
    let unit = unit(record);
    let frames = drawn_frames(&variant.tree, named);
    let total: f64 = frames.iter().filter(|frame| frame.row == 0).map(|frame| frame.cost).sum();
    Icicle {
        id: format!("calls-{}", number + 1),
        title: format!(
            "Calls{name}: {} {unit} per operation",
            significant(variant.cost, 3)
        ),
        what: format!(
            "A call tree. Each thread pool is above the methods that its threads call, and the \
             width of a box shows its cost. Most expensive: {}.",
            pools(variant, unit)
        ),
        unit: unit.to_owned(),
        total: total.max(variant.cost),
        frames,
    }
}

/// Returns the frames to draw. Omits a frame that only calls one other frame, and adds its name to
/// the callers of that frame. Thread pools and named frames are always drawn.
fn drawn_frames(tree: &CallTreeRecord, named: &BTreeSet<&str>) -> Vec<IcicleFrame> {
    let all: Vec<(usize, &str, f64)> = rows(tree).collect();
    let mut frames = Vec::with_capacity(all.len());
    // For each depth down to the current frame: the row of a callee, and its undrawn callers.
    let mut open: Vec<(usize, Vec<String>)> = vec![(0, Vec::new())];
    for (at, (depth, name, cost)) in all.iter().enumerate() {
        // A frame without its caller belongs to a damaged record.
        if *depth >= open.len() {
            break;
        }
        open.truncate(depth + 1);
        let (row, callers) = open[*depth].clone();
        let callee = all.get(at + 1).filter(|next| next.0 == depth + 1);
        let is_only =
            callee.is_some_and(|callee| callee.2 >= ONLY_CALLS * cost && callee.1 != REST);
        if is_only && *depth > 0 && !named.contains(name) {
            let mut callers = callers;
            callers.push((*name).to_owned());
            open.push((row, callers));
            continue;
        }
        open.push((row + 1, Vec::new()));
        frames.push(IcicleFrame {
            row,
            name: (*name).to_owned(),
            callers,
            cost: *cost,
            kind: kind_of(*depth, name),
            is_named: named.contains(name),
        });
    }
    frames
}

fn kind_of(depth: usize, name: &str) -> FrameKind {
    if name == REST {
        return FrameKind::Rest;
    }
    if depth == 0 {
        return FrameKind::Pool;
    }
    match FrameOrigin::from_frame(name) {
        FrameOrigin::Cassandra => FrameKind::Cassandra,
        FrameOrigin::Library => FrameKind::Library,
        FrameOrigin::Jdk => FrameKind::Jdk,
        FrameOrigin::Native => FrameKind::Native,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(frames: &[(u16, &str, f64)]) -> CallTreeRecord {
        let mut record = CallTreeRecord::default();
        for (depth, name, cost) in frames {
            record.name.push(record.names.len() as u32);
            record.names.push((*name).to_owned());
            record.depth.push(*depth);
            record.cost.push(*cost);
        }
        record
    }

    fn drawn(frames: &[(u16, &str, f64)], named: &[&str]) -> Vec<(usize, String, usize)> {
        let named = named.iter().copied().collect();
        let drawn = drawn_frames(&tree(frames), &named).into_iter();
        drawn.map(|frame| (frame.row, frame.name, frame.callers.len())).collect()
    }

    const FRAMES: [(u16, &str, f64); 7] = [
        (0, "Pool", 100.0),
        (1, "a.A", 100.0),
        (2, "b.B", 99.5),
        (3, "c.C", 60.0),
        (3, "d.D", 30.0),
        (2, "e.E", 0.5),
        (0, "Other", 1.0),
    ];

    #[test]
    fn a_frame_that_only_calls_another_is_its_caller() {
        let row = |row, name: &str, callers| (row, name.to_owned(), callers);
        // The second callee of the undrawn frame is next to the first callee.
        let plain = [
            row(0, "Pool", 0),
            row(1, "b.B", 1),
            row(2, "c.C", 0),
            row(2, "d.D", 0),
            row(1, "e.E", 1),
            row(0, "Other", 0),
        ];
        assert_eq!(drawn(&FRAMES, &[]), plain);
        let named = drawn(&FRAMES, &["a.A"]);
        assert_eq!(named[1], row(1, "a.A", 0));
        assert_eq!(named[2], row(2, "b.B", 0));
    }

    #[test]
    fn a_damaged_tree_is_drawn_up_to_its_damage() {
        let gap = [(0, "Pool", 2.0), (2, "a.A", 1.0)];
        assert_eq!(drawn(&gap, &[]).len(), 1);
        let endless = [(0, "Pool", 2.0), (1, "a.A", f64::NAN), (1, "b.B", 1.0)];
        assert_eq!(drawn(&endless, &[]).len(), 1);
        let mut short = tree(&FRAMES);
        short.names.truncate(2);
        assert_eq!(drawn_frames(&short, &BTreeSet::new()).len(), 2);
        assert_eq!(drawn(&[(3, "a.A", 1.0)], &[]).len(), 0);
    }
}
