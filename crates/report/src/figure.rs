//! A [`Chart`] as a plotly figure.
//!
//! Colours are written as names (`@c0`, `@r3`, `@error`); the page's script replaces them by the
//! theme's own, so that one figure serves light, dark and paper. All text is escaped, since
//! plotly reads a subset of HTML in names and titles.

mod above;
mod axes;

use crate::html::escape;
use crate::number;
use crate::page::{Chart, Color, Dash, Panel, Scale, Series, Shape, Xs};
use above::{band_labels, buttons, legend_y};
use axes::{x_axis, y_axis};
use plotly::common::{
    Anchor, AxisSide, DashType, ErrorData, ErrorType, Font, Line, Marker, Mode, Pattern,
    PatternShape, Position,
};
use plotly::layout::{Annotation, BarMode, HoverMode};
use plotly::{Bar, Layout, Plot, Scatter, Trace};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Steps of the ramp of ordered series in the style sheet: `--r0` to `--r7`.
const RAMP_STEPS: usize = 8;
/// Colours of unordered series in the style sheet: `--c0` to `--c7`.
const CATEGORIES: usize = 8;
/// Digits of the values in a figure: more than a screen can show, few enough for a small page.
const DIGITS: i32 = 4;
/// Digits of the places on the horizontal axis: seconds of a day, to the second.
const PLACE_DIGITS: i32 = 6;
/// Gap between panels, as a share of the height.
const GAP: f64 = 0.06;

/// What axes and margins take of the height: the rest is the panels'.
const MARGINS_PX: f64 = 64.0;
/// Places from which on a shared horizontal array is worth its reference.
const SHARED_PLACES_MIN: usize = 8;

/// Width of lines.
const LINE_PX: f64 = 1.8;

/// The figure as JSON: `data` and `layout`. A trace whose places are those of an earlier one has
/// `{"same": number of that trace}` for them, and the page's script puts them in.
pub fn figure(chart: &Chart) -> String {
    let mut plot = Plot::new();
    let mut layout = Layout::new()
        .height(chart.height_px as usize)
        .bar_mode(BarMode::Group)
        .hover_mode(if chart.unified_hover {
            HoverMode::XUnified
        } else {
            HoverMode::Closest
        });
    let mut rows = Rows::of(chart);
    let mut axes: Vec<(String, plotly::layout::Axis)> = Vec::new();
    for panel in &chart.panels {
        let [bottom, top] = rows.next(panel);
        if !panel.title.is_empty() || !panel.note.is_empty() {
            layout.add_annotation(panel_title(panel, top));
        }
        if !panel.note.is_empty() {
            continue;
        }
        let left = axis_name(axes.len() + 1);
        let axis = y_axis(&panel.left, panel, false).domain(&[bottom, top]);
        axes.push((left.clone(), axis));
        let mut right = left.clone();
        if let Some(axis) = &panel.right {
            right = axis_name(axes.len() + 1);
            let axis = y_axis(axis, panel, true)
                .overlaying(&left)
                .side(AxisSide::Right);
            axes.push((right.clone(), axis.show_grid(false)));
        }
        for series in &panel.series {
            let axis = if series.on_right { &right } else { &left };
            plot.add_trace(trace(series, axis, chart.x.scale));
        }
        rows.lowest = left;
    }
    let x_axis = x_axis(chart);
    layout = layout.x_axis(match chart.panels.last() {
        // Below the notes too, if these are the last.
        Some(last) if !last.note.is_empty() => x_axis.anchor("free").position(0.0),
        _ => x_axis.anchor(&rows.lowest),
    });
    let levels = band_labels(chart, &mut layout);
    if !chart.views.is_empty() {
        layout = layout.update_menus(vec![buttons(chart, levels)]);
    }
    plot.set_layout(layout);
    let mut json = serde_json::to_value(&plot).unwrap_or_default();
    for (name, axis) in axes {
        // The library's layout has eight vertical axes; a figure of a whole trial has more.
        let name = name.replacen('y', "yaxis", 1);
        json["layout"][name] = serde_json::to_value(axis).unwrap_or_default();
    }
    if levels > 0 {
        json["layout"]["legend"]["y"] = legend_y(chart, levels).into();
    }
    share_places(&mut json);
    json.to_string()
}

/// Where the panels stand, from the top: as shares of the height.
struct Rows {
    top: f64,
    gap: f64,
    /// Height of a panel whose share is 1.
    unit: f64,
    /// Name of the lowest vertical axis.
    lowest: String,
}

impl Rows {
    fn of(chart: &Chart) -> Rows {
        let gap = match chart.gap_px {
            0 => GAP,
            px => f64::from(px) / panels_px(chart),
        };
        let gaps = gap * chart.panels.len().saturating_sub(1) as f64;
        let shares: f64 = chart.panels.iter().map(|p| p.share).sum();
        Rows {
            top: 1.0,
            gap,
            unit: (1.0 - gaps) / shares,
            lowest: axis_name(1),
        }
    }

    /// Bottom and top of the next panel.
    fn next(&mut self, panel: &Panel) -> [f64; 2] {
        let top = self.top;
        let bottom = (top - panel.share * self.unit).max(0.0);
        self.top = bottom - self.gap;
        [bottom, top]
    }
}

/// Height of all panels and their gaps.
fn panels_px(chart: &Chart) -> f64 {
    (f64::from(chart.height_px) - MARGINS_PX).max(1.0)
}

fn axis_name(number: usize) -> String {
    match number {
        1 => "y".into(),
        n => format!("y{n}"),
    }
}

/// What stands above a panel, or instead of it.
fn panel_title(panel: &Panel, top: f64) -> Annotation {
    let text = match (panel.title.is_empty(), panel.note.is_empty()) {
        (false, false) => format!("{}: {}", panel.title, panel.note),
        (true, false) => panel.note.clone(),
        _ => panel.title.clone(),
    };
    Annotation::new()
        .text(escape(&text))
        .x(0.0)
        .y(top)
        .x_ref("paper")
        .y_ref("paper")
        .x_anchor(Anchor::Left)
        .y_anchor(if panel.note.is_empty() {
            Anchor::Bottom
        } else {
            Anchor::Top
        })
        .show_arrow(false)
        .font(Font::new().size(12).color(if panel.note.is_empty() {
            "@text"
        } else {
            "@muted"
        }))
}

/// Writes equal places once: they are half of a figure of many series.
fn share_places(json: &mut Value) {
    let Some(Value::Array(traces)) = json.get_mut("data") else {
        return;
    };
    let mut known: HashMap<String, usize> = HashMap::new();
    for (index, trace) in traces.iter_mut().enumerate() {
        let Some(Value::Array(x)) = trace.get("x") else {
            continue;
        };
        if x.len() < SHARED_PLACES_MIN || !x[0].is_number() {
            continue;
        }
        match known.entry(trace["x"].to_string()) {
            Entry::Occupied(first) => trace["x"] = serde_json::json!({ "same": first.get() }),
            Entry::Vacant(place) => {
                place.insert(index);
            }
        }
    }
}

fn color(color: Color) -> String {
    match color {
        Color::Category(index) => format!("@c{}", index % CATEGORIES),
        Color::Ramp(index, of) => {
            let last = of.saturating_sub(1).max(1);
            format!("@r{}", index * (RAMP_STEPS - 1) / last)
        }
        Color::Error => "@error".into(),
        Color::Neutral => "@text".into(),
    }
}

fn dash(dash: Dash) -> DashType {
    match dash {
        Dash::Solid => DashType::Solid,
        Dash::Dash => DashType::Dash,
        Dash::Dot => DashType::Dot,
        Dash::DashDot => DashType::DashDot,
    }
}

fn escaped(names: &[String]) -> Vec<String> {
    names.iter().map(|name| escape(name)).collect()
}

fn rounded(values: &[f64]) -> Vec<f64> {
    values
        .iter()
        .map(|v| number::round(*v, PLACE_DIGITS))
        .collect()
}

fn trace(series: &Series, axis: &str, scale: Scale) -> Box<dyn Trace> {
    match (&series.x, series.shape) {
        (Xs::Names(names), Shape::Bars | Shape::HatchedBars) => bar(series, axis, escaped(names)),
        (Xs::Numbers(x), Shape::Bars | Shape::HatchedBars) => bar(series, axis, rounded(x)),
        (Xs::Names(names), _) => line(series, axis, escaped(names), hover(series)),
        // The script writes the percentile for each x: as text here it would double the page.
        (Xs::Numbers(x), _) if scale == Scale::Percentile => line(
            series,
            axis,
            rounded(x),
            format!("%{text}: {}", hover(series), text = "{text}"),
        ),
        // A trace without any place would not be in the legend.
        (Xs::Numbers(x), _) if x.is_empty() => line(series, axis, vec![f64::NAN], hover(series)),
        (Xs::Numbers(x), _) => line(series, axis, rounded(x), hover(series)),
    }
}

/// What stands beside the pointer: the value with its unit; the name in the second box.
fn hover(series: &Series) -> String {
    format!(
        "%{{y:,.4~r}} {}",
        escape(&series.unit).replace('%', "&#37;")
    )
}

fn values(series: &Series) -> Vec<Option<f64>> {
    if series.y.is_empty() {
        return vec![None];
    }
    let rounded = |y: &Option<f64>| y.map(|v| number::round(v, DIGITS));
    series.y.iter().map(rounded).collect()
}

fn errors(series: &Series, color: String) -> Option<ErrorData> {
    if series.y_ci.iter().all(Option::is_none) {
        return None;
    }
    let side = |pick: fn(f64, [f64; 2]) -> f64| -> Vec<f64> {
        let pairs = series.y.iter().zip(&series.y_ci);
        pairs
            .map(|(y, ci)| match (y, ci) {
                (Some(y), Some(ci)) => number::round(pick(*y, *ci).max(0.0), DIGITS),
                _ => 0.0,
            })
            .collect()
    };
    let made = ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(side(|y, ci| ci[1] - y))
        .array_minus(side(|y, ci| y - ci[0]));
    Some(made.thickness(1.2).width(3).color(color))
}

fn bar<X>(series: &Series, axis: &str, x: Vec<X>) -> Box<dyn Trace>
where
    X: serde::Serialize + Clone + 'static,
{
    let shade = color(series.color);
    let marker = if series.shape == Shape::HatchedBars {
        let pattern = Pattern::new()
            .shape(PatternShape::RightDiagonalLine)
            .background_color("rgba(0,0,0,0)")
            .foreground_color(shade.clone());
        Marker::new()
            .color("rgba(0,0,0,0)")
            .pattern(pattern)
            .line(Line::new().color(shade).width(1.0))
    } else {
        Marker::new().color(shade)
    };
    let mut made = Bar::new(x, values(series))
        .name(escape(&series.name))
        .show_legend(series.in_legend)
        .opacity(0.5)
        .marker(marker)
        .hover_template(hover(series))
        .y_axis(axis);
    if !series.group.is_empty() {
        // Bars of one group stand in the same place: where one is, the other is not.
        made = made.offset_group(escape(&series.group));
    }
    match errors(series, "@text".into()) {
        Some(errors) => made.error_y(errors),
        None => made,
    }
}

fn line<X>(series: &Series, axis: &str, x: Vec<X>, template: String) -> Box<dyn Trace>
where
    X: serde::Serialize + Clone + 'static,
{
    let shade = color(series.color);
    let marked = matches!(series.shape, Shape::Points | Shape::Marks);
    let mode = match (series.shape, series.labels.is_empty()) {
        (Shape::Marks, _) => Mode::Markers,
        (Shape::Points, true) => Mode::LinesMarkers,
        (Shape::Points, false) => Mode::LinesMarkersText,
        _ => Mode::Lines,
    };
    let mut made = Scatter::new(x, values(series))
        .name(escape(&series.name))
        .show_legend(series.in_legend)
        .mode(mode)
        .line(
            Line::new()
                .color(shade.clone())
                .width(if series.shape == Shape::Area {
                    0.5
                } else {
                    LINE_PX
                })
                .dash(dash(series.dash)),
        )
        .hover_template(template)
        .y_axis(axis);
    if !series.group.is_empty() {
        made = made.legend_group(escape(&series.group));
    }
    if series.shape == Shape::Area {
        made = made.stack_group("areas");
    }
    if marked {
        made = made.marker(Marker::new().color(shade.clone()).size(7));
    }
    if !series.labels.is_empty() {
        let labels: Vec<String> = series.labels.iter().map(|l| escape(l)).collect();
        made = made.text_array(labels).text_position(Position::TopLeft);
    }
    if let Some(errors) = errors(series, shade) {
        made = made.error_y(errors);
    }
    made
}
