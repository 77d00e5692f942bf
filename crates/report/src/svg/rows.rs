//! Draws a forest plot, which has a row with a value and its interval for each name.

use super::axis::Axis;
use super::size::{Area, TEXT_PX, width_of};
use super::{LINE_PX, class_of, cut, text};
use crate::escape::escape;
use crate::page::{AxisScale, PlotAxis, RowsPlot, ValueRow};
use std::fmt::Write;

const TITLE_PX: f64 = 26.0;
const ROW_PX: f64 = 30.0;
const TICKS_PX: f64 = 26.0;
/// Maximum width of a name next to its value, as a share of the plot. If one name is wider, all
/// names are above their values.
const NAMES_SHARE: f64 = 0.3;
/// Maximum distance by which intervals extend the axis beyond the values, as a multiple of the
/// range of the values. Without this limit, one very wide interval would hide the other intervals.
const INTERVAL_SPANS_MAX: f64 = 3.0;

/// Returns the height of a plot of this width, in pixels.
pub(super) fn height(plot: &RowsPlot, width: f64) -> f64 {
    TITLE_PX + row_px(plot, width) * plot.rows.len() as f64 + TICKS_PX
}

fn row_px(plot: &RowsPlot, width: f64) -> f64 {
    if are_above(plot, width) {
        ROW_PX + LINE_PX
    } else {
        ROW_PX
    }
}

fn are_above(plot: &RowsPlot, width: f64) -> bool {
    widest(plot, |row| &row.label) > width * NAMES_SHARE
}

fn widest(plot: &RowsPlot, text: impl Fn(&ValueRow) -> &str) -> f64 {
    plot.rows.iter().map(|row| width_of(text(row))).fold(0.0, f64::max)
}

pub(super) fn draw(out: &mut String, plot: &RowsPlot, area: Area) {
    let are_above = are_above(plot, area.width);
    let row_px = row_px(plot, area.width);
    let names = if are_above {
        0.0
    } else {
        widest(plot, |row| &row.label) + 14.0
    };
    let texts = widest(plot, |row| &row.text);
    let inner = Area {
        x: area.x + names,
        y: area.y + TITLE_PX,
        width: (area.width - names - texts - 16.0).max(60.0),
        height: row_px * plot.rows.len() as f64,
    };
    let spec = PlotAxis {
        scale: match plot.baseline {
            Some(_) if !plot.is_log => AxisScale::Linear,
            _ => AxisScale::log_or_zero(plot.is_log),
        },
        ..PlotAxis::default()
    };
    let axis = Axis::new(&spec, &values(plot), [inner.x, inner.x + inner.width]);
    text(
        out,
        "what",
        [area.x, area.y + TEXT_PX + 2.0],
        &cut(&plot.title, area.width),
    );
    for (tick, name) in axis.ticks(TEXT_PX * 3.4) {
        let at = axis.position_of(tick);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{at:.1} {:.1}v{:.1}\"/>",
            inner.y, inner.height
        );
        text(
            out,
            "tick middle",
            [at, inner.y + inner.height + 16.0],
            &name,
        );
    }
    if let Some(value) = plot.baseline {
        let at = axis.position_of(value);
        let _ = write!(
            out,
            "<path class=\"limit\" d=\"M{at:.1} {:.1}v{:.1}\"/>",
            inner.y, inner.height
        );
    }
    for (number, row) in plot.rows.iter().enumerate() {
        let bottom = inner.y + row_px * (number + 1) as f64;
        let middle = bottom - ROW_PX / 2.0;
        let (name_y, room) = if are_above {
            (bottom - ROW_PX, area.width)
        } else {
            (middle + 4.0, names)
        };
        text(out, "name start", [area.x, name_y], &cut(&row.label, room));
        draw_row(out, row, &axis, middle);
        let right = area.x + area.width;
        text(
            out,
            &class_of(row.paint, "value end"),
            [right, middle + 4.0],
            &row.text,
        );
    }
}

/// Returns the values that must fit on the axis, including the truncated ends of the intervals.
fn values(plot: &RowsPlot) -> Vec<f64> {
    let others = plot.rows.iter().filter_map(|row| row.other).flatten();
    let mut values: Vec<f64> = plot
        .rows
        .iter()
        .filter_map(|row| row.value)
        .chain(plot.baseline)
        .chain(others)
        .collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = ((most - least) * INTERVAL_SPANS_MAX).max(most.abs() * 0.5);
    let ends = plot.rows.iter().filter_map(|row| row.ci95).flatten();
    values.extend(ends.map(|end| end.clamp(least - room, most + room)));
    values
}

fn draw_row(out: &mut String, row: &ValueRow, axis: &Axis, y: f64) {
    out.push_str("<g>");
    let _ = write!(
        out,
        "<title>{}: {}</title>",
        escape(&row.label),
        escape(&row.text)
    );
    if let Some([low, high]) = row.other.map(|ends| ends.map(|end| axis.position_of(end))) {
        // Draws a published value as a diamond. If the value is a range, draws it as a bar.
        let _ = write!(
            out,
            "<path class=\"other\" d=\"M{:.1} {y:.1}L{low:.1} {:.1}L{high:.1} {:.1}L{:.1} {y:.1}L\
             {high:.1} {:.1}L{low:.1} {:.1}z\"/>",
            low - 6.0,
            y - 6.0,
            y - 6.0,
            high + 6.0,
            y + 6.0,
            y + 6.0
        );
    }
    if let Some(ends) = row.ci95 {
        let [low, high] = ends.map(|end| axis.position_of(end));
        let class = class_of(row.paint, "whisker");
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{low:.1} {y:.1}H{high:.1}"
        );
        for (end, inwards) in ends.into_iter().zip([5.0, -5.0]) {
            end_mark(out, axis, end, y, inwards);
        }
        out.push_str("\"/>");
    }
    if let Some(value) = row.value {
        let class = class_of(row.paint, "dot");
        let _ = write!(
            out,
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>",
            axis.position_of(value)
        );
    }
    out.push_str("</g>");
}

/// Draws the end of an interval as a stroke. If the end is beyond the axis, draws the tip of an
/// arrow.
fn end_mark(out: &mut String, axis: &Axis, end: f64, y: f64, inwards: f64) {
    let (x, top) = (axis.position_of(end), y - 4.0);
    let _ = if axis.holds(end) {
        write!(out, "M{x:.1} {top:.1}v8")
    } else {
        write!(
            out,
            "M{:.1} {top:.1}L{x:.1} {y:.1}l{inwards} 4",
            x + inwards
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rows: &[(&str, f64, [f64; 2])], width: f64) -> String {
        let row = |(label, value, ends): &(&str, f64, [f64; 2])| ValueRow {
            label: (*label).to_owned(),
            value: Some(*value),
            ci95: Some(*ends),
            ..ValueRow::default()
        };
        let plot = RowsPlot {
            rows: rows.iter().map(row).collect(),
            ..RowsPlot::default()
        };
        let mut out = String::new();
        let area = Area {
            x: 0.0,
            y: 0.0,
            width,
            height: height(&plot, width),
        };
        draw(&mut out, &plot, area);
        out
    }

    #[test]
    fn an_interval_that_goes_on_beyond_the_axis_ends_in_an_arrow() {
        let whole = drawn(&[("a", 1.0, [0.9, 1.1])], 400.0);
        assert_eq!(whole.matches("v8").count(), 2, "{whole}");
        let cut = drawn(&[("a", 1.0, [0.9, 49_000.0])], 400.0);
        assert_eq!(cut.matches("v8").count(), 1, "{cut}");
        assert_eq!(cut.matches("l-5 4").count(), 1, "{cut}");
    }

    #[test]
    fn a_name_too_long_for_the_side_stands_whole_above_its_row() {
        let long = "mean latency with the smaller heap over the larger";
        let svg = drawn(&[(long, 1.0, [0.9, 1.1])], 400.0);
        assert!(svg.contains(&format!(">{long}</text>")), "{svg}");
    }
}
