//! The effects of a matrix's axes, as a table, a forest plot, interaction plots and a half-normal
//! plot.

use crate::merged_points::place;
use crate::number;
use crate::page::{
    Axis, Band, Block, Chart, Color, Panel, Scale, Section, Series, Shape, Table, Tone, XValues,
};
use crate::run_view::RunView;
use crate::sections::comparisons::verdict_words;
use crate::sections::half_normal::half_normal_chart;
use crate::sections::results::{metric_name, metric_with_unit};
use analysis::effects::Interaction;
use store::record::{
    AxisRecord, Bound, CellRecord, EffectKind, EffectRecord, EffectVerdict, EffectsRecord, Finding,
    WithoutInterval,
};

/// Height of a chart whose size does not depend on its content.
const HEIGHT_PX: u32 = 340;
/// Height of one effect in a forest plot, in pixels.
const EFFECT_PX: u32 = 26;
const MARGINS_PX: u32 = 120;

/// Returns the effects at the primary point and, behind a fold, the effects at other points.
/// Returns `None` without a matrix of two axes.
pub fn section(view: &RunView) -> Option<Section> {
    let all = &view.findings.effects;
    if all.is_empty() {
        return None;
    }
    let (primary, others): (Vec<_>, Vec<_>) = all.iter().partition(|effects| effects.primary);
    let mut blocks: Vec<Block> = primary.into_iter().flat_map(at_point).collect();
    if !others.is_empty() {
        let rest = others.into_iter().flat_map(at_point).collect();
        blocks.push(Block::Details("At the other points".into(), rest));
    }
    Some(Section {
        id: "effects",
        title: "Effects of each axis".into(),
        lead: "Every value of an axis compared with its first value: contrasts within a block, \
             averaged over blocks. A main effect is an average over the other axes. If axes \
             interact, this average applies to no configuration and is grey. The simple effects \
             then show each axis at each value of the other axis."
            .into(),
        blocks,
    })
}

fn at_point(effects: &EffectsRecord) -> Vec<Block> {
    let mut blocks = Vec::new();
    match effects.without_interval {
        None => {}
        Some(WithoutInterval::Sequential) => blocks.push(Block::Note(
            Tone::Warn,
            "The combinations were not interleaved, so no effect has an interval.".into(),
        )),
        Some(WithoutInterval::Blocks) => blocks.push(Block::Note(
            Tone::Warn,
            "Fewer than three blocks contain every combination, so no effect has an interval or a \
             verdict."
                .into(),
        )),
    }
    blocks.push(Block::Table(table(effects)));
    blocks.extend(forest(effects).map(Block::Chart));
    let plots = interactions(effects);
    if !plots.is_empty() {
        let label = "Interaction plot along the axis".to_owned();
        blocks.push(Block::Choice(label, plots));
    }
    blocks.extend(half_normal(effects).map(Block::Chart));
    blocks.push(Block::Details(
        "Every combination".into(),
        vec![Block::Table(cells(effects))],
    ));
    blocks
}

/// Describes a point by its metric, its position and, if any, its step, such as `throughput at 32
/// threads, main`.
fn title(effects: &EffectsRecord) -> String {
    let step = effects.step.as_ref();
    let step = step.map_or_else(String::new, |step| format!(", {step}"));
    format!(
        "{} at {}{step}",
        metric_name(&effects.metric),
        place(effects.point)
    )
}

/// Returns true if an important interaction involves the axis of the effect.
fn is_acted_on(effects: &EffectsRecord, effect: &EffectRecord) -> bool {
    let axis = &effect.of.axis;
    let acts = |e: &EffectRecord| {
        e.of.axis == *axis || e.with.as_ref().is_some_and(|with| with.axis == *axis)
    };
    let mut interactions = effects.effects.iter().filter(|e| e.kind == EffectKind::Interaction);
    interactions.any(|e| e.verdict == EffectVerdict::Interaction(Interaction::Matters) && acts(e))
}

/// Formats an effect, such as `heap: large ÷ small, where sync is batch`.
fn name(effect: &EffectRecord) -> String {
    let of = &effect.of;
    let own = format!("{}: {} ÷ {}", of.axis, of.value, of.against);
    match (&effect.with, effect.kind) {
        (Some(with), EffectKind::Interaction) => {
            format!("{own}, by {}: {} ÷ {}", with.axis, with.value, with.against)
        }
        (Some(with), _) => format!("{own}, where {} is {}", with.axis, with.value),
        (None, _) => own,
    }
}

/// Returns the effects in reading order. If axes interact, the simple effects come before the
/// averages.
fn in_order(effects: &EffectsRecord) -> Vec<&EffectRecord> {
    let of_kind = |kind: EffectKind| effects.effects.iter().filter(move |e| e.kind == kind);
    let (matters, others): (Vec<_>, Vec<_>) = of_kind(EffectKind::Interaction)
        .partition(|e| e.verdict == EffectVerdict::Interaction(Interaction::Matters));
    let acts = |simple: &&EffectRecord| {
        let axes = [Some(&simple.of.axis), simple.with.as_ref().map(|w| &w.axis)];
        matters.iter().any(|e| {
            let pair = [Some(&e.of.axis), e.with.as_ref().map(|w| &w.axis)];
            pair == axes || pair == [axes[1], axes[0]]
        })
    };
    let (first, last): (Vec<_>, Vec<_>) = of_kind(EffectKind::Simple).partition(acts);
    let order = [
        matters.clone(),
        first,
        of_kind(EffectKind::Main).collect(),
        others,
        last,
    ];
    order.concat()
}

fn change(ratio: f64) -> String {
    measure::number::change(ratio)
}

/// Returns the change that an effect causes, preceded by `≥ ` or `≤ ` for a bound.
fn change_words(effect: &EffectRecord) -> String {
    format!("{}{}", bound_sign(effect), change(effect.ratio))
}

/// Returns the interval of an effect. For a bound, returns the known end.
fn interval_words(effect: &EffectRecord) -> Option<String> {
    match (effect.ci95, effect.ci95_end) {
        (Some([low, high]), _) => Some(format!("{} to {}", change(low), change(high))),
        (None, end) => Some(format!("{}{}", bound_sign(effect), change(end?))),
    }
}

fn bound_sign(effect: &EffectRecord) -> &'static str {
    match effect.bound {
        Some(Bound::AtLeast) => "≥ ",
        Some(Bound::AtMost) => "≤ ",
        None => "",
    }
}

fn says(verdict: EffectVerdict) -> String {
    match verdict {
        EffectVerdict::Interaction(Interaction::Matters) => "they interact".into(),
        EffectVerdict::Interaction(Interaction::Negligible) => "no relevant interaction".into(),
        EffectVerdict::Interaction(other) => other.name().replace('_', " "),
        EffectVerdict::Ratio(finding) => verdict_words(finding),
    }
}

fn table(effects: &EffectsRecord) -> Table {
    Table::from_records(format!("Effects on {}", title(effects)), in_order(effects))
        .text("Effect", name)
        .wide_text("Kind", |effect| match effect.kind {
            EffectKind::Main => "average over the other axes",
            EffectKind::Simple => "by the value of the other axis",
            EffectKind::Interaction => EffectKind::Interaction.name(),
        })
        .number("Change", "", change_words)
        .number("95 % interval", "", interval_words)
        .wide_number("p, adjusted", "", |effect| match effect.p_adjusted? {
            p if p < 0.001 => Some("< 0.001".to_owned()),
            p => Some(format!("{p:.3}")),
        })
        .wide_number("Blocks", "", |effect| effect.blocks.to_string())
        .text("Says", |effect| says(effect.verdict))
        .tone(|effect| match effect.verdict {
            EffectVerdict::Interaction(Interaction::Matters) => Tone::Strong,
            _ if effect.kind == EffectKind::Main && is_acted_on(effects, effect) => Tone::Muted,
            EffectVerdict::Ratio(Finding::Inconclusive)
            | EffectVerdict::Interaction(Interaction::NotResolved) => Tone::Muted,
            _ => Tone::Plain,
        })
        .foot(format!(
            "An interaction is a ratio of two ratios: the effect of a value at one value of the \
             other axis, divided by its effect at another. Within ±{} % it is not relevant. Holm's \
             method adjusts for their number: main effects and interactions of the primary point \
             as one family, all others as another.{}",
            effects.margin * 100.0,
            match effects.looks {
                None => "",
                Some(_) =>
                    " Intervals are valid at all looks together, while the number of blocks grows.",
            }
        ))
        .build()
}

fn forest(effects: &EffectsRecord) -> Option<Chart> {
    let shown: Vec<&EffectRecord> =
        in_order(effects).into_iter().filter(|e| e.ci95.is_some()).collect();
    if shown.is_empty() {
        return None;
    }
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    let of = |is_grey: bool, title: &str, color: Color| {
        let here: Vec<(usize, &&EffectRecord)> = shown
            .iter()
            .enumerate()
            .filter(move |(_, e)| {
                (e.kind == EffectKind::Main && is_acted_on(effects, e)) == is_grey
            })
            .collect();
        Series {
            name: title.into(),
            in_legend: true,
            shape: Shape::Marks,
            color,
            x: XValues::Numbers(here.iter().map(|(_, e)| percent(e.ratio)).collect()),
            x_ci: here.iter().map(|(_, e)| e.ci95.map(|ci| ci.map(percent))).collect(),
            y: here.iter().map(|(at, _)| Some(*at as f64 + 1.0)).collect(),
            ..Series::default()
        }
    };
    let series = [
        of(false, "effect", Color::Category(0)),
        of(
            true,
            "average that applies to no configuration",
            Color::Neutral,
        ),
    ];
    let series = series.into_iter().filter(|series| !series.y.is_empty());
    Some(Chart {
        title: format!("Effects on {}, with their 95 % intervals", title(effects)),
        what: "Right of 0: an increase. Left of 0: a decrease. An effect whose interval is within \
               the band is not relevant."
            .into(),
        height_px: EFFECT_PX * shown.len() as u32 + MARGINS_PX,
        x: Axis::new("change, %", Scale::Linear),
        panels: vec![Panel {
            share: 1.0,
            left: Axis {
                names: shown.iter().map(|effect| name(effect)).collect(),
                ..Axis::new("", Scale::Names)
            },
            series: series.collect(),
            ..Panel::default()
        }],
        bands: vec![Band {
            from: percent(1.0 / (1.0 + effects.margin)),
            to: effects.margin * 100.0,
            label: "no relevant interaction".into(),
            tone: Tone::Plain,
        }],
        ..Chart::default()
    })
}

/// Returns two charts for each pair of axes. In each chart, every line shows one value of one axis,
/// and the other axis is horizontal.
fn interactions(effects: &EffectsRecord) -> Vec<(String, Chart)> {
    let mut charts = Vec::new();
    for along in 0..effects.axes.len() {
        for by in 0..effects.axes.len() {
            if along != by {
                let (x, line) = (&effects.axes[along].name, &effects.axes[by].name);
                let label = format!("{x}, a line for each {line}");
                charts.push((label, interaction(effects, along, by)));
            }
        }
    }
    charts
}

fn interaction(effects: &EffectsRecord, along: usize, by: usize) -> Chart {
    let (x, lines): (&AxisRecord, &AxisRecord) = (&effects.axes[along], &effects.axes[by]);
    let line = |(index, value): (usize, &String)| {
        let mean = |at: &String| {
            let is_there = |c: &&CellRecord| c.values[along] == *at && c.values[by] == *value;
            let cells = effects.cells.iter().filter(is_there);
            let logs: Option<Vec<f64>> = cells.map(|c| Some(c.mean?.ln())).collect();
            logs.map(|logs| analysis::autocorrelation::mean(&logs).exp())
        };
        Series {
            name: format!("{}: {value}", lines.name),
            in_legend: true,
            shape: Shape::Points,
            color: Color::Category(index),
            x: XValues::Names(x.values.clone()),
            y: x.values.iter().map(mean).collect(),
            ..Series::default()
        }
    };
    Chart {
        title: format!("Interaction of {} and {}", x.name, lines.name),
        what:
            "Geometric means of the combinations, on a scale of ratios: parallel lines mean that \
               one axis has the same effect at every value of the other."
                .into(),
        height_px: HEIGHT_PX,
        x: Axis {
            title: x.name.clone(),
            scale: Scale::Names,
            names: x.values.clone(),
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new(metric_with_unit(&effects.metric), Scale::Log),
            series: lines.values.iter().enumerate().map(line).collect(),
            ..Panel::default()
        }],
        ..Chart::default()
    }
}

fn half_normal(effects: &EffectsRecord) -> Option<Chart> {
    let shown: Vec<(String, f64)> = effects
        .effects
        .iter()
        .filter(|e| e.kind != EffectKind::Simple)
        .map(|e| (name(e), e.scaled))
        .collect();
    half_normal_chart(&shown, "size of the effect, |ln ratio| scaled")
}

fn cells(effects: &EffectsRecord) -> Table {
    let is_rate = effects.metric == "ops_per_s";
    let format = if is_rate { number::rate } else { number::ms };
    let caption = format!("{}, by combination", title(effects));
    Table::from_records(caption, &effects.cells)
        .each(effects.axes.iter().enumerate(), |table, (at, axis)| {
            table.text(&axis.name, |cell| cell.values.get(at))
        })
        .text("Variant", |cell| cell.variant.as_str())
        .number("Geometric mean", "", |cell| {
            let mean = cell.mean.map_or(number::ABSENT.to_owned(), format);
            format!("{}{mean}", if cell.at_least { "≥ " } else { "" })
        })
        .number("Blocks", "", |cell| cell.blocks.to_string())
        .build()
}
