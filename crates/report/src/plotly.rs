//! Converts a [`Chart`] to a plotly figure.
//!
//! Colours are written as names (`@c0`, `@r3`, `@error`). The script of the page replaces them by
//! the colours of the theme. So one figure works on light and dark screens, and on paper. This
//! module escapes all text, because plotly interprets a subset of HTML in names and titles.
//!
//! The keys are documented in plotly's figure reference.

mod axes;
mod buttons;

use crate::escape::escape;
use crate::number;
use crate::page::{Chart, Color, ColorRole, Dash, Panel, Scale, Series, Shape, XValues};
use axes::{untitled_log_note, x_axis, y_axis};
use buttons::{band_labels, buttons, legend_y};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Number of steps of the ramp for ordered series in the style sheet: `--r0` to `--r7`.
const RAMP_STEPS: usize = 8;
const CATEGORIES: usize = 8;
/// Number of significant digits of the values in a figure. A screen cannot show more digits, and
/// the page is smaller with fewer digits.
const DIGITS: i32 = 4;
/// Number of significant digits of positions on the horizontal axis.
const PLACE_DIGITS: i32 = 6;
/// Gap between panels, as a share of the height.
const GAP: f64 = 0.06;

/// Height of the axes and margins, in pixels. The panels use the remaining height.
const MARGINS_PX: f64 = 64.0;
/// Minimum number of positions for which a reference to a shared array saves space.
const SHARED_PLACES_MIN: usize = 8;

const LINE_PX: f64 = 1.8;

/// Returns the figure as JSON with `data` and `layout`. If a trace has the same positions as an
/// earlier trace, its `x` is `{"same": index of the earlier trace}`. The page's script resolves
/// this reference.
pub fn figure(chart: &Chart) -> String {
    let mut traces: Vec<Value> = Vec::new();
    let mut notes: Vec<Value> = Vec::new();
    let mut rows = Rows::from_chart(chart);
    let middle = middle(chart);
    let mut axes: Vec<(String, Value)> = Vec::new();
    for panel in &chart.panels {
        let [bottom, top] = rows.next(panel);
        if !panel.title.is_empty() || !panel.note.is_empty() {
            notes.push(panel_title(panel, top));
        }
        if !panel.note.is_empty() {
            continue;
        }
        let left = axis_name(axes.len() + 1);
        let mut axis = y_axis(&panel.left, panel, false);
        axis["domain"] = json!([bottom, top]);
        axes.push((left.clone(), axis));
        let mut right = left.clone();
        if let Some(axis) = &panel.right {
            right = axis_name(axes.len() + 1);
            let mut axis = y_axis(axis, panel, true);
            axis["overlaying"] = left.as_str().into();
            axis["side"] = "right".into();
            axis["showgrid"] = false.into();
            axes.push((right.clone(), axis));
        }
        for series in &panel.series {
            let axis = if series.on_right { &right } else { &left };
            traces.push(trace(series, axis, chart.x.scale, middle));
        }
        rows.lowest = left;
    }
    share_places(&mut traces);
    let layout = layout(chart, &rows.lowest, axes, notes);
    json!({ "data": traces, "layout": layout }).to_string()
}

/// Returns the layout of the figure.
fn layout(chart: &Chart, lowest: &str, axes: Vec<(String, Value)>, notes: Vec<Value>) -> Value {
    let hover = if chart.unified_hover {
        "x unified"
    } else {
        "closest"
    };
    let mut x_axis = x_axis(chart);
    match chart.panels.last() {
        // If panels with notes come last, the horizontal axis is below them.
        Some(last) if !last.note.is_empty() => {
            x_axis["anchor"] = "free".into();
            x_axis["position"] = 0.0.into();
        }
        _ => x_axis["anchor"] = lowest.into(),
    }
    let mut layout = json!({
        "height": chart.height_px,
        "barmode": "group",
        "hovermode": hover,
        "xaxis": x_axis,
    });
    let bands = band_labels(chart);
    layout["shapes"] = bands.shapes.into();
    layout["annotations"] = [notes, bands.labels].concat().into();
    if !chart.views.is_empty() {
        layout["updatemenus"] = json!([buttons(chart, bands.levels)]);
    }
    for (name, axis) in axes {
        layout[name.replacen('y', "yaxis", 1)] = axis;
    }
    if bands.levels > 0 {
        layout["legend"] = json!({ "y": legend_y(chart, bands.levels) });
    }
    layout
}

/// Vertical positions of the panels, from the top, as shares of the height.
struct Rows {
    top: f64,
    gap: f64,
    unit: f64,
    lowest: String,
}

impl Rows {
    fn from_chart(chart: &Chart) -> Rows {
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

    fn next(&mut self, panel: &Panel) -> [f64; 2] {
        let top = self.top;
        let bottom = (top - panel.share * self.unit).max(0.0);
        self.top = bottom - self.gap;
        [bottom, top]
    }
}

fn panels_px(chart: &Chart) -> f64 {
    (f64::from(chart.height_px) - MARGINS_PX).max(1.0)
}

fn axis_name(number: usize) -> String {
    match number {
        1 => "y".into(),
        n => format!("y{n}"),
    }
}

fn panel_title(panel: &Panel, top: f64) -> Value {
    let text = match (panel.title.is_empty(), panel.note.is_empty()) {
        (false, false) => format!("{}: {}", panel.title, panel.note),
        (true, false) => panel.note.clone(),
        _ => match untitled_log_note(panel) {
            Some(note) => format!("{} ({note})", panel.title),
            None => panel.title.clone(),
        },
    };
    let (anchor, color) = if panel.note.is_empty() {
        ("bottom", "@text")
    } else {
        ("top", "@muted")
    };
    json!({
        "text": escape(&text),
        "x": 0.0,
        "y": top,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": anchor,
        "showarrow": false,
        "font": { "size": 12, "color": color },
    })
}

/// Writes equal positions only once, because positions take half of the space of a figure with many
/// series.
fn share_places(traces: &mut [Value]) {
    let mut known: HashMap<String, usize> = HashMap::new();
    for (index, trace) in traces.iter_mut().enumerate() {
        let Some(Value::Array(x)) = trace.get("x") else {
            continue;
        };
        if x.len() < SHARED_PLACES_MIN || !x[0].is_number() {
            continue;
        }
        match known.entry(trace["x"].to_string()) {
            Entry::Occupied(first) => trace["x"] = json!({ "same": first.get() }),
            Entry::Vacant(place) => {
                place.insert(index);
            }
        }
    }
}

fn color(color: Color) -> String {
    match color {
        Color::Category(index)
        | Color::Role(ColorRole::Category(index) | ColorRole::Hollow(index)) => {
            format!("@c{}", index % CATEGORIES)
        }
        Color::Ramp(index, of) => {
            let last = of.saturating_sub(1).max(1);
            format!("@r{}", index * (RAMP_STEPS - 1) / last)
        }
        Color::Error => "@error".into(),
        Color::Neutral | Color::Role(ColorRole::Text) => "@text".into(),
        Color::Role(ColorRole::Good | ColorRole::GoodHollow) => "@good".into(),
        Color::Role(ColorRole::Warn) => "@warn".into(),
        Color::Role(ColorRole::Bad) => "@bad".into(),
        Color::Role(ColorRole::Muted) => "@muted".into(),
    }
}

fn dash(dash: Dash) -> &'static str {
    match dash {
        Dash::Solid => "solid",
        Dash::Dash => "dash",
        Dash::Dot => "dot",
        Dash::DashDot => "dashdot",
    }
}

fn escaped(names: &[String]) -> Vec<String> {
    names.iter().map(|name| escape(name)).collect()
}

fn rounded(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| number::round(*v, PLACE_DIGITS)).collect()
}

/// Returns the middle of a linear horizontal axis that begins at zero, or `None` for another axis.
fn middle(chart: &Chart) -> Option<f64> {
    let all = chart.panels.iter().flat_map(|panel| &panel.series);
    let places = all.filter_map(|series| match &series.x {
        XValues::Numbers(x) => x.iter().copied().reduce(f64::max),
        XValues::Names(_) => None,
    });
    let last = places.reduce(f64::max).filter(|_| chart.x.scale == Scale::Linear);
    last.map(|last| last / 2.0)
}

/// Returns the position of each label relative to its point. In the left half of the axis, a label
/// is at the right of its point, so that the axis does not truncate the label.
fn sides(series: &Series, middle: Option<f64>) -> Value {
    let XValues::Numbers(x) = &series.x else {
        return "top left".into();
    };
    let side = |x: &f64| match middle {
        Some(middle) if *x < middle => "top right",
        _ => "top left",
    };
    let sides: Vec<&str> = x.iter().map(side).collect();
    match sides.first() {
        Some(first) if sides.iter().any(|side| side != first) => json!(sides),
        Some(first) => (*first).into(),
        None => "top left".into(),
    }
}

fn trace(series: &Series, axis: &str, scale: Scale, middle: Option<f64>) -> Value {
    let places = match &series.x {
        XValues::Names(names) => json!(escaped(names)),
        // plotly does not show a trace without positions in the legend, so such a trace gets an
        // empty position.
        XValues::Numbers(x) if x.is_empty() && !is_bar(series) && scale != Scale::Percentile => {
            json!([null])
        }
        XValues::Numbers(x) => json!(rounded(x)),
    };
    let mut made = Map::new();
    made.insert("x".into(), places);
    made.insert("y".into(), json!(values(series)));
    made.insert("name".into(), escape(&series.name).into());
    made.insert("showlegend".into(), series.in_legend.into());
    made.insert("yaxis".into(), axis.into());
    made.insert("hovertemplate".into(), hover(series, scale).into());
    if has_interval(series) {
        made.insert("customdata".into(), intervals(series));
    }
    let error_color = if is_bar(series) {
        bar(&mut made, series);
        "@text".into()
    } else {
        line(&mut made, series);
        if !series.labels.is_empty() {
            made.insert("textposition".into(), sides(series, middle));
        }
        color(series.color)
    };
    if let Some(errors) = errors(&series.y, &series.y_ci, &error_color) {
        made.insert("error_y".into(), errors);
    }
    if let XValues::Numbers(x) = &series.x {
        let x: Vec<Option<f64>> = x.iter().copied().map(Some).collect();
        if let Some(errors) = errors(&x, &series.x_ci, &error_color) {
            made.insert("error_x".into(), errors);
        }
    }
    made.into()
}

fn is_bar(series: &Series) -> bool {
    matches!(series.shape, Shape::Bars | Shape::HatchedBars)
}

/// Returns plotly's template of the tooltip, with the value and its unit. plotly shows the name of
/// the series in a second box.
fn hover(series: &Series, scale: Scale) -> String {
    let unit = escape(&series.unit).replace('%', "&#37;");
    // The page's script adds the percentile for each x. If the figure contained the percentiles as
    // text, the page would be twice as large.
    let is_percentile = scale == Scale::Percentile && matches!(series.x, XValues::Numbers(_));
    let place = if is_percentile && !is_bar(series) {
        "%{text}: "
    } else {
        ""
    };
    let interval = if has_interval(series) {
        "%{customdata}"
    } else {
        ""
    };
    let verdict = if series.shape == Shape::HatchedBars {
        " (not valid)"
    } else {
        ""
    };
    format!("{place}%{{y:,.4~r}} {unit}{interval}{verdict}")
}

fn has_interval(series: &Series) -> bool {
    series.y_ci.iter().any(Option::is_some)
}

/// Returns the 95 % interval of each value, as the tooltip shows it.
fn intervals(series: &Series) -> Value {
    let text = |ci: &Option<[f64; 2]>| match ci {
        Some([low, high]) => format!(
            " (95 %: {} to {})",
            number::round(*low, DIGITS),
            number::round(*high, DIGITS)
        ),
        None => String::new(),
    };
    json!(series.y_ci.iter().map(text).collect::<Vec<String>>())
}

fn values(series: &Series) -> Vec<Option<f64>> {
    if series.y.is_empty() {
        return vec![None];
    }
    let rounded = |y: &Option<f64>| y.map(|v| number::round(v, DIGITS));
    series.y.iter().map(rounded).collect()
}

fn errors(values: &[Option<f64>], ci: &[Option<[f64; 2]>], color: &str) -> Option<Value> {
    if ci.iter().all(Option::is_none) {
        return None;
    }
    let side = |pick: fn(f64, [f64; 2]) -> f64| -> Vec<f64> {
        let pairs = values.iter().zip(ci);
        pairs
            .map(|(y, ci)| match (y, ci) {
                (Some(y), Some(ci)) => number::round(pick(*y, *ci).max(0.0), DIGITS),
                _ => 0.0,
            })
            .collect()
    };
    Some(json!({
        "type": "data",
        "symmetric": false,
        "array": side(|y, ci| ci[1] - y),
        "arrayminus": side(|y, ci| y - ci[0]),
        "thickness": 1.2,
        "width": 3,
        "color": color,
    }))
}

fn bar(made: &mut Map<String, Value>, series: &Series) {
    let shade = color(series.color);
    let marker = if series.shape == Shape::HatchedBars {
        json!({
            "color": "rgba(0,0,0,0)",
            "pattern": { "shape": "/", "bgcolor": "rgba(0,0,0,0)", "fgcolor": shade },
            "line": { "color": shade, "width": 1.0 },
        })
    } else {
        json!({ "color": shade })
    };
    made.insert("type".into(), "bar".into());
    made.insert("opacity".into(), 0.5.into());
    made.insert("marker".into(), marker);
    if !series.group.is_empty() {
        // Bars of one group share a position, so at each position only one bar of a group has a
        // value.
        made.insert("offsetgroup".into(), escape(&series.group).into());
    }
}

fn line(made: &mut Map<String, Value>, series: &Series) {
    let shade = color(series.color);
    let mode = match (series.shape, series.labels.is_empty()) {
        (Shape::Marks | Shape::HollowMarks, true) => "markers",
        (Shape::Marks | Shape::HollowMarks, false) => "markers+text",
        (Shape::Points, true) => "lines+markers",
        (Shape::Points, false) => "lines+markers+text",
        _ => "lines",
    };
    let width = match series.shape {
        Shape::Area => 0.5,
        _ => LINE_PX,
    };
    let stroke = json!({ "color": shade, "width": width, "dash": dash(series.dash) });
    made.insert("type".into(), "scatter".into());
    made.insert("mode".into(), mode.into());
    made.insert("line".into(), stroke);
    if !series.group.is_empty() {
        made.insert("legendgroup".into(), escape(&series.group).into());
    }
    if series.shape == Shape::Area {
        made.insert("stackgroup".into(), "areas".into());
    }
    match series.shape {
        Shape::Points | Shape::Marks => {
            made.insert("marker".into(), json!({ "color": shade, "size": 7 }));
        }
        Shape::HollowMarks => {
            let marker = json!({ "color": shade, "size": 7, "symbol": "circle-open" });
            made.insert("marker".into(), marker);
        }
        Shape::Line | Shape::Area | Shape::Bars | Shape::HatchedBars => {}
    }
    if !series.labels.is_empty() {
        made.insert("text".into(), json!(escaped(&series.labels)));
    }
}
