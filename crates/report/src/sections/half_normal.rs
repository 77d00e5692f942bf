//! A half-normal plot, which compares the sizes of effects with the sizes that chance would cause
//! (Daniel 1959).

use crate::page::{Axis, Chart, Color, Dash, Panel, Scale, Series, Shape, XValues};
use analysis::screening::LenthMargin;

const HEIGHT_PX: u32 = 340;
/// Assumed width and height of the panel in a narrow window, in pixels.
const PANEL_PX: [f64; 2] = [700.0, 240.0];
const LETTER_PX: f64 = 6.5;
const LINE_PX: f64 = 16.0;

/// Draws the sizes of effects with their names. Returns `None` for fewer than three sizes.
pub fn half_normal_chart(sizes: &[(String, f64)], axis: &str) -> Option<Chart> {
    if sizes.len() < 3 {
        return None;
    }
    let mut sorted: Vec<&(String, f64)> = sizes.iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let expected = analysis::effects::half_normal(sorted.len());
    let points: Vec<(&str, [f64; 2])> = expected
        .iter()
        .zip(&sorted)
        .map(|(x, (name, size))| (name.as_str(), [*x, *size]))
        .collect();
    let only_sizes: Vec<f64> = sorted.iter().map(|(_, size)| *size).collect();
    let zero_effects = Series {
        name: "zero effects".into(),
        in_legend: true,
        color: Color::Neutral,
        dash: Dash::Dash,
        x: XValues::Numbers(vec![0.0, expected.last().copied().unwrap_or(1.0)]),
        y: [0.0, expected.last().copied().unwrap_or(1.0)]
            .map(|x| Some(x * LenthMargin::from_effects(&only_sizes).pse))
            .to_vec(),
        ..Series::default()
    };
    let is_named = names_that_fit(&points);
    let effects = points.iter().zip(is_named).map(|((name, [x, y]), is_named)| Series {
        // The tooltip shows this name, even if the name does not fit next to the point.
        name: (*name).to_owned(),
        shape: Shape::Marks,
        x: XValues::Numbers(vec![*x]),
        y: vec![Some(*y)],
        labels: is_named.then(|| (*name).to_owned()).into_iter().collect(),
        ..Series::default()
    });
    Some(Chart {
        title: "Sizes of the effects, compared with chance".into(),
        what: "A half-normal plot. Zero effects lie near the dashed line. Its slope is Lenth's \
               estimate of chance, which assumes that most effects are zero. An effect far above \
               the line exceeds chance."
            .into(),
        height_px: HEIGHT_PX,
        x: Axis::new(
            "size expected from the same number of zero effects",
            Scale::Linear,
        ),
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new(axis, Scale::Linear),
            series: std::iter::once(zero_effects).chain(effects).collect(),
            ..Panel::default()
        }],
        ..Chart::default()
    })
}

/// Returns true for each point whose name fits next to the point. Names of larger effects take
/// precedence. The renderer writes names at the right of points in the left half, and at the left
/// of other points.
fn names_that_fit(points: &[(&str, [f64; 2])]) -> Vec<bool> {
    let most = |axis: usize| {
        let values = points.iter().map(|(_, at)| at[axis]);
        values.fold(f64::MIN_POSITIVE, f64::max)
    };
    let [last_x, last_y] = [most(0), most(1)];
    let mut taken: Vec<[f64; 3]> = Vec::new();
    let mut fits: Vec<bool> = points
        .iter()
        .rev()
        .map(|(name, [x, y])| {
            let [left, top] = [x / last_x * PANEL_PX[0], y / last_y * PANEL_PX[1]];
            let length = LETTER_PX * (name.chars().count() + 1) as f64;
            let [from, to] = if *x < last_x / 2.0 {
                [left, left + length]
            } else {
                [left - length, left]
            };
            let is_inside = from >= 0.0 && to <= PANEL_PX[0];
            let is_free = taken.iter().all(|[other_from, other_to, other_top]| {
                from >= *other_to || to <= *other_from || (top - other_top).abs() >= LINE_PX
            });
            if is_inside && is_free {
                taken.push([from, to, top]);
            }
            is_inside && is_free
        })
        .collect();
    fits.reverse();
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In an earlier version, the names of small effects overlapped.
    #[test]
    fn names_cover_no_other_name() {
        let sizes: Vec<(String, f64)> = [
            ("lat", 0.66),
            ("size", 0.05),
            ("contrast 7 (no setting's)", 0.03),
            ("timeout", 0.017),
            ("contrast 5 (no setting's)", 0.01),
            ("contrast 6 (no setting's)", 0.009),
            ("conns", 0.007),
        ]
        .map(|(name, size)| (name.to_owned(), size))
        .to_vec();
        let chart = half_normal_chart(&sizes, "size").expect("enough effects");
        let series = &chart.panels[0].series;
        let named = |name: &str| {
            let one = series.iter().find(|series| series.name == name);
            one.is_some_and(|series| !series.labels.is_empty())
        };
        assert!(named("lat") && named("size"));
        assert!(!named("contrast 6 (no setting's)"));
        assert_eq!(series.len(), 8, "one series for each effect, and a line");
    }

    #[test]
    fn the_line_begins_at_the_corner_and_lies_below_large_effects() {
        let sizes = [("a", 0.01), ("b", 0.02), ("c", 0.03), ("d", 5.0)];
        let sizes = sizes.map(|(name, size)| (name.to_owned(), size));
        let chart = half_normal_chart(&sizes, "size").expect("enough effects");
        let line = &chart.panels[0].series[0];
        assert_eq!(line.y[0], Some(0.0));
        let end = line.y[1].expect("an end");
        assert!(0.0 < end && end < 1.0, "{end}");
    }
}
