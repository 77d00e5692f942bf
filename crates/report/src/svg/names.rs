//! Places the names of lines, limits and ranges so that the names do not overlap.

use super::axis::Axis;
use super::size::{Area, TEXT_PX, width_of};
use super::{LINE_PX, NARROW_PX, class_of, cut, text};
use crate::page::{ColorRole, CurvePlot, LeadMark, Plot};
use std::fmt::Write;

/// Maximum number of lines that have their names at their ends. With more lines, the legend
/// contains the names.
const LINES_MAX: usize = 7;
/// Maximum width of a name at the end of a line, as a share of the narrow drawing.
const NAME_SHARE: f64 = 0.26;
/// Width in pixels of the space between the plot and the names at its right. A leader connects the
/// end of a line with its name.
const LEADER_PX: f64 = 22.0;

/// Returns the names of all lines for a legend. Returns an empty list if the names fit at the ends
/// of the lines.
pub(super) fn legend(plots: &[Plot]) -> Vec<(ColorRole, String)> {
    let curves = || plots.iter().filter_map(curve);
    if curves().all(fit_at_ends) {
        return Vec::new();
    }
    let mut names: Vec<(ColorRole, String)> = Vec::new();
    for (paint, label) in curves().flat_map(lines) {
        if !names.iter().any(|(known, name)| *known == paint && name == label) {
            names.push((paint, label.to_owned()));
        }
    }
    names
}

fn curve(plot: &Plot) -> Option<&CurvePlot> {
    match plot {
        Plot::Curve(plot) => Some(plot),
        Plot::Rows(_) => None,
    }
}

fn lines(plot: &CurvePlot) -> impl Iterator<Item = (ColorRole, &str)> {
    plot.marks.iter().filter_map(|mark| match mark {
        LeadMark::Line { paint, label, .. } if !label.is_empty() => Some((*paint, label.as_str())),
        _ => None,
    })
}

fn fit_at_ends(plot: &CurvePlot) -> bool {
    let widest = lines(plot).map(|(_, label)| width_of(label)).fold(0.0, f64::max);
    lines(plot).count() <= LINES_MAX && widest <= NARROW_PX * NAME_SHARE
}

/// Returns the width in pixels that the names at the ends of lines need at the right of the plot.
pub(super) fn room(plot: &CurvePlot) -> f64 {
    let widest = lines(plot).map(|(_, label)| width_of(label)).reduce(f64::max);
    widest.map_or(0.0, |widest| widest + LEADER_PX)
}

/// Writes the name of each line at the right of the plot, as near to the end of the line as the
/// other names allow. The leader has the colour of the line. The name itself has the colour of
/// text, because the colour of the line could be too pale.
pub(super) fn at_ends(out: &mut String, plot: &CurvePlot, [x, y]: [&Axis; 2], inner: Area) {
    let ends: Vec<(ColorRole, &str, [f64; 2])> = plot.marks.iter().filter_map(end_of).collect();
    let wanted: Vec<f64> = ends.iter().map(|(.., [_, value])| y.position_of(*value)).collect();
    let within = [inner.y + TEXT_PX / 2.0, inner.y + inner.height];
    let right = inner.x + inner.width;
    for ((paint, label, [at, value]), place) in ends.iter().zip(apart(&wanted, LINE_PX, within)) {
        let [end_x, end_y] = [x.position_of(*at), y.position_of(*value)];
        let _ = write!(
            out,
            "<path class=\"{}\" d=\"M{:.1} {end_y:.1}L{right:.1} {place:.1}h{:.1}\"/>",
            class_of(*paint, "leader"),
            (end_x + 6.0).min(right),
            LEADER_PX - 10.0
        );
        let beside = [right + LEADER_PX - 6.0, place + 4.0];
        text(out, &class_of(*paint, "name start"), beside, label);
    }
}

/// Returns the colour, the name and the last point of a line. Returns `None` for other marks, and
/// for lines without a name or a point.
fn end_of(mark: &LeadMark) -> Option<(ColorRole, &str, [f64; 2])> {
    let LeadMark::Line {
        points,
        paint,
        label,
        ..
    } = mark
    else {
        return None;
    };
    let last = points.iter().rev().find_map(|(at, value)| Some([*at, (*value)?]))?;
    (!label.is_empty()).then_some((*paint, label.as_str(), last))
}

/// Name of a limit or a range, with its position above the plot.
pub(super) struct PlotLabel<'a> {
    paint: ColorRole,
    label: &'a str,
    /// Horizontal position of the start of the text, or of its end if the text is right-aligned.
    from: f64,
    leans_left: bool,
    /// Maximum width of the text, in pixels.
    room: f64,
    /// Row of the name, counted from the top.
    pub row: usize,
}

/// Places the names of limits and ranges between the ends of the plot, `left` and `right`. A name
/// is at the right of its position. If it does not fit there and the left has more space, the name
/// is at the left. If another name already covers this position, the name moves to another row.
pub(super) fn above<'a>(
    plot: &'a CurvePlot,
    x: &Axis,
    [left, right]: [f64; 2],
) -> Vec<PlotLabel<'a>> {
    let mut named: Vec<(ColorRole, &str, f64)> =
        plot.marks.iter().filter_map(|m| label(m, x)).collect();
    named.sort_by(|a, b| a.2.total_cmp(&b.2));
    let leans_left =
        |label: &str, at: f64| right - at < width_of(label) + 6.0 && right - at < at - left;
    let span = |(_, label, at): &(ColorRole, &str, f64)| {
        if leans_left(label, *at) {
            [at - 5.0 - width_of(label), at - 5.0]
        } else {
            [at + 5.0, at + 5.0 + width_of(label)]
        }
    };
    let spans: Vec<[f64; 2]> = named.iter().map(span).collect();
    let placed = named.into_iter().zip(rows(&spans));
    let of = |((paint, label, at), row): ((ColorRole, &'a str, f64), usize)| {
        let leans_left = leans_left(label, at);
        let (from, room) = if leans_left {
            (at - 5.0, at - left)
        } else {
            (at + 5.0, right - at)
        };
        PlotLabel {
            paint,
            label,
            from,
            leans_left,
            room,
            row,
        }
    };
    placed.map(of).collect()
}

/// Returns the colour, name and position of a vertical limit or of a range. Returns `None` for
/// other marks, and for marks without a name.
fn label<'a>(mark: &'a LeadMark, x: &Axis) -> Option<(ColorRole, &'a str, f64)> {
    let (paint, label, at) = match mark {
        LeadMark::Upright {
            x: value,
            label,
            paint,
        } => (*paint, label.as_str(), x.position_of(*value)),
        LeadMark::Band {
            from,
            to,
            label,
            paint,
        } => (
            *paint,
            label.as_str(),
            x.position_of(f64::midpoint(*from, *to)),
        ),
        _ => return None,
    };
    (!label.is_empty()).then_some((paint, label, at))
}

pub(super) fn write_above(out: &mut String, above: &[PlotLabel<'_>], inner: Area) {
    let rows = above.iter().map(|name| name.row + 1).max().unwrap_or(0);
    for name in above {
        let y = inner.y - 5.0 - LINE_PX * (rows - 1 - name.row) as f64;
        let side = if name.leans_left { "end" } else { "start" };
        let class = format!("{} {side}", class_of(name.paint, "name"));
        text(
            out,
            &class,
            [name.from, y],
            &cut(name.label, name.room - 5.0),
        );
    }
}

/// Returns positions as near to the wanted positions as possible, between two ends, and with
/// distances of at least `gap`. Where wanted positions are closer, the results are centred on their
/// mean (isotonic regression, by pooling neighbours). If not all positions fit, the last positions
/// are beyond the second end.
fn apart(wanted: &[f64], gap: f64, [first, last]: [f64; 2]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (rank, index) in order.iter().enumerate() {
        let (mut sum, mut count) = (wanted[*index] - gap * rank as f64, 1);
        while let Some((before, many)) =
            pools.pop_if(|(before, many)| *before / *many as f64 >= sum / count as f64)
        {
            sum += before;
            count += many;
        }
        pools.push((sum, count));
    }
    let most = (last - gap * wanted.len().saturating_sub(1) as f64).max(first);
    let means = pools
        .iter()
        .flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    let mut places = vec![0.0; wanted.len()];
    for ((rank, index), mean) in order.iter().enumerate().zip(means) {
        places[*index] = mean.clamp(first, most) + gap * rank as f64;
    }
    places
}

/// Returns the row of each range, which is the first row in which the range does not overlap other
/// ranges.
fn rows(spans: &[[f64; 2]]) -> Vec<usize> {
    let mut taken: Vec<Vec<[f64; 2]>> = Vec::new();
    let mut rows = Vec::new();
    for span in spans {
        let is_free =
            |row: &Vec<[f64; 2]>| row.iter().all(|other| span[1] < other[0] || other[1] < span[0]);
        let row = taken.iter().position(is_free).unwrap_or(taken.len());
        taken.resize_with(taken.len().max(row + 1), Vec::new);
        taken[row].push(*span);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_where_they_are_wanted_unless_they_would_touch() {
        for (wanted, expected) in [
            (vec![], vec![]),
            (vec![20.0, 60.0], vec![20.0, 60.0]),
            (vec![60.0, 20.0], vec![60.0, 20.0]),
            (vec![50.0, 50.0], vec![45.0, 55.0]),
            (vec![50.0, 52.0, 80.0], vec![46.0, 56.0, 80.0]),
            // After the first two names move apart, they overlap the third name. So all three names
            // must move.
            (vec![50.0, 50.0, 58.0], vec![42.666, 52.666, 62.666]),
            (vec![0.0, 1.0], vec![0.0, 10.0]),
            (vec![99.0, 100.0], vec![90.0, 100.0]),
        ] {
            let places = apart(&wanted, 10.0, [0.0, 100.0]);
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.01;
            assert!(
                places.len() == expected.len() && places.iter().zip(&expected).all(is_near),
                "{wanted:?}: {places:?}"
            );
        }
    }

    #[test]
    fn names_at_the_top_that_would_overlap_stand_below_each_other() {
        let spans = [[0.0, 50.0], [40.0, 90.0], [45.0, 60.0], [60.0, 99.0]];
        assert_eq!(rows(&spans), [0, 1, 2, 0]);
    }

    #[test]
    fn long_or_many_names_are_in_the_legend_once() {
        let line = |label: &str, index| LeadMark::Line {
            points: vec![(1.0, Some(1.0))],
            paint: ColorRole::Category(index),
            is_dashed: false,
            label: label.to_owned(),
        };
        let plot = |labels: &[&str]| {
            let marks = labels.iter().enumerate().map(|(index, label)| line(label, index));
            Plot::Curve(CurvePlot {
                marks: marks.collect(),
                ..CurvePlot::default()
            })
        };
        assert!(legend(&[plot(&["off", "on"])]).is_empty());
        let long = ["off", "one virtual socket per virtual CPU"];
        let names = legend(&[plot(&long), plot(&long)]);
        assert_eq!(names.len(), 2, "{names:?}");
        assert_eq!(legend(&[plot(&["a"; LINES_MAX + 1])]).len(), LINES_MAX + 1);
    }
}
