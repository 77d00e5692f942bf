//! Places the names of horizontal lines that cross a plot, such as limits. A name must be next to
//! its line, and must not cover measured points.

use super::axis::Axis;
use super::size::{Area, TEXT_PX, width_of};
use crate::page::LeadMark;

/// Number of positions along a line at which this module tries to place a name, both above and
/// below the line.
const PLACES: usize = 24;
/// Half the height and half the width of a point in pixels, including the space around the point.
const POINT_PX: f64 = 6.5;
/// Distance in pixels between the rectangles that represent a line through points.
const STEP_PX: f64 = 4.0;

/// A rectangle, as its left, top, right and bottom edges in pixels.
type Rect = [f64; 4];

/// Returns the position of the name of each horizontal line, in the order of the marks. A position
/// is the start of the text and its baseline, in pixels.
pub(super) fn places(marks: &[LeadMark], axes: [&Axis; 2], inner: Area) -> Vec<[f64; 2]> {
    let mut taken = measured(marks, axes);
    let mut places = Vec::new();
    for mark in marks {
        let LeadMark::Across { y, label, .. } = mark else {
            continue;
        };
        let place = place(label, axes[1].position_of(*y), inner, &taken);
        taken.push(rect(label, place));
        places.push(place);
    }
    places
}

/// Returns the rectangle that a text covers. `x` is the start of the text, and `y` is its baseline.
pub(super) fn rect(label: &str, [x, y]: [f64; 2]) -> Rect {
    [x, y - TEXT_PX, x + width_of(label), y + 3.0]
}

/// Returns the first position next to a line at which the name covers no rectangle of `taken`. If
/// no such position exists, returns the position that covers the fewest rectangles.
fn place(label: &str, at: f64, inner: Area, taken: &[Rect]) -> [f64; 2] {
    let free_px = (inner.width - width_of(label) - 10.0).max(0.0);
    let above = at - 5.0;
    let below = at + TEXT_PX + 3.0;
    let fits = |y: &f64| *y - TEXT_PX >= inner.y && *y <= inner.y + inner.height;
    let sides: Vec<f64> = [above, below].into_iter().filter(fits).collect();
    let along = (0..PLACES).map(|step| inner.x + 5.0 + free_px * step as f64 / (PLACES - 1) as f64);
    let all = along.flat_map(|x| sides.iter().map(move |y| [x, *y]));
    let covered = |place: &[f64; 2]| {
        let own = rect(label, *place);
        taken.iter().filter(|other| overlap(&own, other)).count()
    };
    all.min_by_key(covered).unwrap_or([inner.x + 5.0, above])
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// Returns the rectangles that names must not cover: points with their intervals, and lines.
fn measured(marks: &[LeadMark], [x, y]: [&Axis; 2]) -> Vec<Rect> {
    let around = |at: f64, value: f64| {
        [
            at - POINT_PX,
            value - POINT_PX,
            at + POINT_PX,
            value + POINT_PX,
        ]
    };
    let mut taken = Vec::new();
    for mark in marks {
        match mark {
            LeadMark::Dot {
                x: at,
                y: value,
                ci95,
                ..
            } => {
                let (at, value) = (x.position_of(*at), y.position_of(*value));
                taken.push(around(at, value));
                taken.extend(ci95.map(|ends| {
                    let [low, high] = ends.map(|end| y.position_of(end));
                    [at - POINT_PX, high.min(low), at + POINT_PX, low.max(high)]
                }));
            }
            LeadMark::Line { points, .. } => {
                let drawn: Vec<[f64; 2]> = points
                    .iter()
                    .filter_map(|(at, value)| Some([x.position_of(*at), y.position_of((*value)?)]))
                    .collect();
                for pair in drawn.windows(2) {
                    let [[x0, y0], [x1, y1]] = [pair[0], pair[1]];
                    let steps = ((x1 - x0).hypot(y1 - y0) / STEP_PX).ceil().max(1.0) as usize;
                    taken.extend((0..=steps).map(|step| {
                        let share = step as f64 / steps as f64;
                        let [at, value] = [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share];
                        [at - 1.0, value - 1.0, at + 1.0, value + 1.0]
                    }));
                }
            }
            LeadMark::Across { .. } | LeadMark::Upright { .. } | LeadMark::Band { .. } => {}
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{AxisScale, ColorRole, PlotAxis};

    fn dot(x: f64, y: f64) -> LeadMark {
        LeadMark::Dot {
            x,
            y,
            ci95: None,
            paint: ColorRole::Bad,
            hint: String::new(),
        }
    }

    /// In an earlier version, the name of a limit covered the only red point of a peak. The name
    /// must not cover any point.
    #[test]
    fn the_name_of_a_limit_covers_no_point() {
        let inner = Area {
            x: 46.0,
            y: 26.0,
            width: 330.0,
            height: 150.0,
        };
        for seed in 0..200_u64 {
            let draw = |n: u64| ((seed * 7919 + n * 104_729) % 1009) as f64 / 1009.0;
            let mut marks: Vec<LeadMark> = (0..8)
                .map(|n| {
                    dot(
                        1000.0 * 2f64.powf(draw(n) * 5.0),
                        10.0 * (0.2 + draw(n + 9)),
                    )
                })
                .collect();
            marks.push(LeadMark::Across {
                y: 10.0,
                label: "10 ms".to_owned(),
                paint: ColorRole::Bad,
            });
            let xs: Vec<f64> = (0..8).map(|n| 1000.0 * 2f64.powf(draw(n) * 5.0)).collect();
            let ys: Vec<f64> = (0..8).map(|n| 10.0 * (0.2 + draw(n + 9))).collect();
            let log = PlotAxis {
                scale: AxisScale::Logarithmic,
                ..PlotAxis::default()
            };
            let x = Axis::new(&log, &xs, [inner.x, inner.x + inner.width]);
            let y = Axis::new(&log, &ys, [inner.y + inner.height, inner.y]);
            let place = places(&marks, [&x, &y], inner)[0];
            let name = rect("10 ms", place);
            let covered =
                measured(&marks, [&x, &y]).iter().filter(|one| overlap(&name, one)).count();
            assert_eq!(covered, 0, "seed {seed}: {place:?}");
        }
    }
}
