//! A [`Chart`] as a plotly figure.
//!
//! Colours are written as names (`@c0`, `@r3`, `@error`); the page's script replaces them by the
//! theme's own, so that one figure serves light, dark and paper. All text is escaped, since
//! plotly reads a subset of HTML in names and titles.

use crate::html::escape;
use crate::number;
use crate::page::{Axis, Band, Chart, Color, Dash, Panel, Scale, Series, Shape, Xs};
use plotly::common::{
    Anchor, AxisSide, DashType, ErrorData, ErrorType, Font, Line, Marker, Mode, Pattern,
    PatternShape, Position, Title,
};
use plotly::layout::{
    Annotation, AxisRange, AxisType, BarMode, CategoryOrder, HoverMode, RangeMode, Shape as Box2,
    ShapeLayer, ShapeType,
};
use plotly::{Bar, Layout, Plot, Scatter, Trace};

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

/// The figure as JSON: `data` and `layout`.
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
    let mut top = 1.0;
    let mut axis_number = 0;
    let mut lowest = axis_name(1);
    let gaps = GAP * chart.panels.len().saturating_sub(1) as f64;
    let shares: f64 = chart.panels.iter().map(|p| p.share).sum();
    for panel in &chart.panels {
        let bottom = (top - panel.share / shares * (1.0 - gaps)).max(0.0);
        axis_number += 1;
        let left = axis_name(axis_number);
        let axis = y_axis(&panel.left, panel, false).domain(&[bottom, top]);
        layout = with_y_axis(layout, axis_number, axis);
        let mut right = left.clone();
        if let Some(axis) = &panel.right {
            axis_number += 1;
            right = axis_name(axis_number);
            let axis = y_axis(axis, panel, true)
                .overlaying(&left)
                .side(AxisSide::Right);
            layout = with_y_axis(layout, axis_number, axis.show_grid(false));
        }
        for series in &panel.series {
            let axis = if series.on_right { &right } else { &left };
            plot.add_trace(trace(series, axis, chart.x.scale));
        }
        top = bottom - GAP;
        lowest = left;
    }
    layout = layout.x_axis(x_axis(chart).anchor(&lowest));
    for band in &chart.bands {
        layout.add_shape(band_shape(band));
        layout.add_annotation(band_label(band));
    }
    plot.set_layout(layout);
    plot.to_json()
}

fn axis_name(number: usize) -> String {
    match number {
        1 => "y".into(),
        n => format!("y{n}"),
    }
}

fn with_y_axis(layout: Layout, number: usize, axis: plotly::layout::Axis) -> Layout {
    match number {
        1 => layout.y_axis(axis),
        2 => layout.y_axis2(axis),
        3 => layout.y_axis3(axis),
        4 => layout.y_axis4(axis),
        5 => layout.y_axis5(axis),
        _ => layout.y_axis6(axis),
    }
}

fn title(text: &str) -> Title {
    Title::with_text(escape(text))
}

fn x_axis(chart: &Chart) -> plotly::layout::Axis {
    let axis = plotly::layout::Axis::new().title(title(&chart.x.title));
    match chart.x.scale {
        Scale::Linear => axis.range_mode(RangeMode::ToZero),
        Scale::Names => axis
            .type_(AxisType::Category)
            .category_order(CategoryOrder::Array)
            .category_array(escaped(&chart.x.names)),
        Scale::Log => axis.type_(AxisType::Log),
        Scale::Percentile => {
            // 90 %, 99 %, … up to one in ten billion, far beyond any run.
            let (mut values, mut texts) = (vec![1.0, 2.0, 10.0], vec!["0 %", "50 %", "90 %"]);
            let names = [
                "99 %",
                "99.9 %",
                "99.99 %",
                "99.999 %",
                "99.9999 %",
                "99.99999 %",
            ];
            for (index, name) in names.into_iter().enumerate() {
                values.push(10f64.powi(index as i32 + 2));
                texts.push(name);
            }
            axis.type_(AxisType::Log)
                .tick_values(values)
                .tick_text(texts)
                .tick_angle(0.0)
        }
    }
}

fn y_axis(axis: &Axis, panel: &Panel, right: bool) -> plotly::layout::Axis {
    let made = plotly::layout::Axis::new()
        .title(title(&axis.title))
        .auto_margin(true);
    let of_axis = || panel.series.iter().filter(move |s| s.on_right == right);
    let values = of_axis().flat_map(|s| s.y.iter().flatten().copied());
    if axis.scale != Scale::Log {
        let made = made.range_mode(RangeMode::ToZero);
        // `48k`; but small numbers would become `500m`.
        return match values.fold(0.0, f64::max) >= 1000.0 {
            true => made.tick_format("~s"),
            false => made,
        };
    }
    let (low, high) = values
        .filter(|v| *v > 0.0)
        .fold((f64::INFINITY, 0.0f64), |(low, high), v| {
            (low.min(v), high.max(v))
        });
    let made = made.type_(AxisType::Log);
    if high == 0.0 {
        return made;
    }
    let ticks = log_ticks(low, high);
    let texts: Vec<String> = ticks.iter().map(|v| plain(*v)).collect();
    // A little room, so that marks at the ends are whole; more for words beside them.
    let labelled = of_axis().any(|s| !s.labels.is_empty());
    let room = ((high / low).log10() * if labelled { 0.12 } else { 0.06 }).max(0.03);
    made.tick_values(ticks)
        .tick_text(texts)
        .range(AxisRange::new(low.log10() - room, high.log10() + room))
}

/// 1, 2 and 5 of every power of ten that touches the range; powers only when there are many.
fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (from, to) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let steps: &[f64] = if to - from > 3 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let power = |exponent: i32| steps.iter().map(move |s| s * 10f64.powi(exponent));
    (from..=to)
        .flat_map(power)
        .map(|v| number::round(v, 2))
        .collect()
}

/// A round number without trailing zeros.
fn plain(value: f64) -> String {
    if value >= 1.0 {
        number::count(value.round() as u64)
    } else {
        value.to_string()
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
    }
}

fn dash(dash: Dash) -> DashType {
    match dash {
        Dash::Solid => DashType::Solid,
        Dash::Dash => DashType::Dash,
        Dash::Dot => DashType::Dot,
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
    series
        .y
        .iter()
        .map(|y| y.map(|v| number::round(v, DIGITS)))
        .collect()
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
    let marked = series.shape == Shape::Points;
    let mode = match (series.shape, series.labels.is_empty()) {
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
                .width(1.8)
                .dash(dash(series.dash)),
        )
        .hover_template(template)
        .y_axis(axis);
    if !series.group.is_empty() {
        made = made.legend_group(escape(&series.group));
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

fn band_shape(band: &Band) -> Box2 {
    Box2::new()
        .shape_type(ShapeType::Rect)
        .x_ref("x")
        .y_ref("paper")
        .x0(band.from)
        .x1(band.to)
        .y0(0.0)
        .y1(1.0)
        .layer(ShapeLayer::Below)
        .fill_color("@band")
        .line(plotly::layout::ShapeLine::new().width(0.0))
}

fn band_label(band: &Band) -> Annotation {
    Annotation::new()
        .text(escape(&band.label))
        .x(band.from)
        .y(1.0)
        .x_ref("x")
        .y_ref("paper")
        .x_anchor(Anchor::Left)
        .y_anchor(Anchor::Bottom)
        .show_arrow(false)
        .font(Font::new().size(11).color("@muted"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_a_logarithmic_axis_cover_its_range() {
        assert_eq!(
            log_ticks(0.3, 4.0),
            [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0]
        );
        assert_eq!(
            log_ticks(0.01, 900.0),
            [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
        );
    }
}
