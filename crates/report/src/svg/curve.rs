//! Draws marks in a plot with two numeric axes.

use super::axis::Axis;
use super::size::{Area, TEXT_PX};
use super::{LINE_PX, class_of, cut, limits, lines, names, text};
use crate::escape::escape;
use crate::page::{ColorRole, CurvePlot, LeadMark, PlotAxis};
use std::fmt::Write;

/// Height of the space above the plot, for the title of the vertical axis.
const TOP_PX: f64 = 26.0;
/// Height of the space below the plot, for the ticks and the title of the horizontal axis.
const BOTTOM_PX: f64 = 38.0;
/// Width of the space at the left, for the ticks of the vertical axis.
const LEFT_PX: f64 = 46.0;
/// Width of the space at the right, for half the name of a tick.
const RIGHT_PX: f64 = 14.0;
/// Half the width of the strokes at the ends of an interval.
const WHISKER_PX: f64 = 4.0;

/// Length of the stroke for a point between two gaps of a line.
const LONE_PX: f64 = 4.0;

/// Draws a plot. If `has_names` is true, the names of lines are at the ends of the lines.
pub(super) fn draw(out: &mut String, plot: &CurvePlot, area: Area, has_names: bool) {
    let right = if has_names { names::room(plot) } else { 0.0 };
    let said = lines(&plot.says, area.width);
    let [left, width] = [area.x + LEFT_PX, area.width - LEFT_PX - right.max(RIGHT_PX)];
    let (xs, ys) = values(&plot.marks);
    let x = Axis::new(&plot.x, &xs, [left, left + width]);
    // The names of ranges and limits are above the plot, so that the names cover no points.
    let above = names::above(plot, &x, [left, left + width]);
    let rows = above.iter().map(|name| name.row + 1).max().unwrap_or(0);
    let top = TOP_PX + LINE_PX * (said.len() + rows) as f64;
    let inner = Area {
        x: left,
        y: area.y + top,
        width,
        height: area.height - top - BOTTOM_PX,
    };
    let y = Axis::new(&plot.y, &ys, [inner.y + inner.height, inner.y]);
    text(
        out,
        "what",
        [area.x, area.y + TEXT_PX + 2.0],
        &cut(&titled(&plot.y, &y), area.width),
    );
    for (number, line) in said.iter().enumerate() {
        let y = area.y + TEXT_PX + 2.0 + LINE_PX * (number + 1) as f64;
        text(out, "start", [area.x, y], line);
    }
    grid(out, plot, [&x, &y], inner);
    let mut places = limits::places(&plot.marks, [&x, &y], inner).into_iter();
    for mark in &plot.marks {
        draw_mark(out, mark, [&x, &y], inner);
        if let LeadMark::Across { label, paint, .. } = mark
            && let Some(place) = places.next()
        {
            text(out, &class_of(*paint, "name start"), place, label);
        }
    }
    names::write_above(out, &above, inner);
    if has_names {
        names::at_ends(out, plot, [&x, &y], inner);
    }
}

/// Returns the title of an axis. If the axis does not begin at zero, the title contains its start,
/// so that readers do not assume a start at zero.
fn titled(spec: &PlotAxis, axis: &Axis) -> String {
    match axis.note() {
        Some(note) if spec.ticks.is_empty() => format!("{} ({note})", spec.title),
        _ => spec.title.clone(),
    }
}

/// Returns all values that must fit on the axes.
fn values(marks: &[LeadMark]) -> (Vec<f64>, Vec<f64>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for mark in marks {
        match mark {
            LeadMark::Line { points, .. } => {
                xs.extend(points.iter().map(|(x, _)| *x));
                ys.extend(points.iter().filter_map(|(_, y)| *y));
            }
            LeadMark::Dot { x, y, ci95, .. } => {
                xs.push(*x);
                ys.push(*y);
                // The plot omits an interval that is many times larger than its value, because such
                // an interval would hide the differences between all other values.
                let near = |end: &f64| *end > 0.0 && *end < y.abs() * 20.0;
                ys.extend(ci95.iter().flatten().copied().filter(near));
            }
            LeadMark::Across { y, .. } => ys.push(*y),
            LeadMark::Upright { x, .. } => xs.push(*x),
            LeadMark::Band { from, to, .. } => xs.extend([*from, *to]),
        }
    }
    (xs, ys)
}

fn grid(out: &mut String, plot: &CurvePlot, [x, y]: [&Axis; 2], inner: Area) {
    let bottom = inner.y + inner.height;
    for (tick, name) in y.ticks(TEXT_PX * 1.6) {
        let at = y.position_of(tick);
        let _ = write!(
            out,
            "<path class=\"grid\" d=\"M{:.1} {at:.1}h{:.1}\"/>",
            inner.x, inner.width
        );
        text(out, "tick end", [inner.x - 7.0, at + 4.0], &name);
    }
    let _ = write!(
        out,
        "<path class=\"axis\" d=\"M{:.1} {bottom:.1}h{:.1}\"/>",
        inner.x, inner.width
    );
    // Draws a break in an axis that does not begin at zero.
    if y.note().is_some() {
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{:.1} {:.1}l-4 -3l8 -3l-4 -3\"/>",
            inner.x, bottom
        );
    }
    for (tick, name) in x.ticks(TEXT_PX * 3.2) {
        text(
            out,
            "tick middle",
            [x.position_of(tick), bottom + 16.0],
            &name,
        );
    }
    let middle = inner.x + inner.width / 2.0;
    text(
        out,
        "tick middle",
        [middle, bottom + 33.0],
        &cut(&titled(&plot.x, x), inner.width),
    );
}

fn draw_mark(out: &mut String, mark: &LeadMark, axes: [&Axis; 2], inner: Area) {
    let [x, y] = axes;
    match mark {
        LeadMark::Line {
            points,
            paint,
            is_dashed,
            ..
        } => {
            let what = if *is_dashed { "line dashed" } else { "line" };
            drawn(out, &class_of(*paint, what), &path(points, axes));
        }
        LeadMark::Dot {
            x: at,
            y: value,
            ci95,
            paint,
            hint,
        } => {
            let ends = ci95.map(|ends| ends.map(|end| y.position_of(end)));
            dot(
                out,
                [x.position_of(*at), y.position_of(*value)],
                ends,
                *paint,
                hint,
            );
        }
        LeadMark::Across {
            y: value, paint, ..
        } => {
            let at = y.position_of(*value);
            let line = format!("M{:.1} {at:.1}h{:.1}", inner.x, inner.width);
            drawn(out, &class_of(*paint, "limit"), &line);
        }
        LeadMark::Upright {
            x: value, paint, ..
        } => {
            let at = x.position_of(*value);
            let line = format!("M{at:.1} {:.1}v{:.1}", inner.y, inner.height);
            drawn(out, &class_of(*paint, "limit"), &line);
        }
        LeadMark::Band {
            from, to, paint, ..
        } => band(
            out,
            [x.position_of(*from), x.position_of(*to)],
            *paint,
            inner,
        ),
    }
}

/// Draws a range of the horizontal axis. A range that is too narrow to be visible becomes a line.
fn band(out: &mut String, [left, right]: [f64; 2], paint: ColorRole, inner: Area) {
    let _ = write!(
        out,
        "<rect class=\"{}\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
        class_of(paint, "band"),
        inner.y,
        (right - left).max(2.0),
        inner.height
    );
}

fn drawn(out: &mut String, class: &str, path: &str) {
    let _ = write!(out, "<path class=\"{class}\" d=\"{path}\"/>");
}

/// Draws a point, with its interval behind it.
fn dot(out: &mut String, [x, y]: [f64; 2], ends: Option<[f64; 2]>, paint: ColorRole, hint: &str) {
    out.push_str("<g>");
    if !hint.is_empty() {
        let _ = write!(out, "<title>{}</title>", escape(hint));
    }
    if let Some([low, high]) = ends {
        let (left, width) = (x - WHISKER_PX, 2.0 * WHISKER_PX);
        let line = format!(
            "M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h{width}M{left:.1} {high:.1}h{width}"
        );
        drawn(out, &class_of(paint, "whisker"), &line);
    }
    let class = class_of(paint, "dot");
    let _ = write!(
        out,
        "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/></g>"
    );
}

/// Returns the path of a line with its gaps. A point between two gaps becomes a short stroke,
/// because a path without a length is invisible.
fn path(points: &[(f64, Option<f64>)], [x, y]: [&Axis; 2]) -> String {
    let mut path = String::new();
    for part in points.split(|(_, value)| value.is_none()) {
        let known = part.iter().filter_map(|(at, value)| Some((*at, (*value)?)));
        for (number, (at, value)) in known.enumerate() {
            let step = if number > 0 { 'L' } else { 'M' };
            let (left, top) = (x.position_of(at), y.position_of(value));
            let _ = match part.len() {
                1 => write!(path, "M{:.1} {top:.1}h{LONE_PX}", left - LONE_PX / 2.0),
                _ => write!(path, "{step}{left:.1} {top:.1}"),
            };
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_between_two_gaps_is_visible() {
        let axis = |values: &[f64]| Axis::new(&PlotAxis::default(), values, [0.0, 100.0]);
        let (x, y) = (axis(&[0.0, 10.0]), axis(&[0.0, 10.0]));
        let drawn = |points: &[(f64, Option<f64>)]| path(points, [&x, &y]);
        let lone = [(1.0, None), (2.0, Some(5.0)), (3.0, None)];
        assert_eq!(drawn(&lone).matches('h').count(), 1);
        let line = drawn(&[(0.0, Some(1.0)), (1.0, Some(2.0)), (2.0, None)]);
        assert_eq!(line.matches('M').count(), 1);
        assert_eq!(line.matches('L').count(), 1);
        assert!(!line.contains('h'), "{line}");
    }
}
