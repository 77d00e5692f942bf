//! Lays out the elements that belong to a whole figure: the bands with their names, the buttons and
//! the legend.

use super::{DIGITS, panels_px};
use crate::escape::escape;
use crate::number;
use crate::page::{Band, Chart, Tone, XValues};
use serde_json::{Value, json};

const BAND_LABEL_PX: f64 = 14.0;
const BUTTONS_PX: f64 = 34.0;

/// Bands of a figure and their names, in the form that plotly.js needs.
pub struct Bands {
    pub shapes: Vec<Value>,
    pub labels: Vec<Value>,
    /// Number of rows of names.
    pub levels: usize,
}

/// Returns the shapes of the bands, and their names above the panels. Names that would overlap are
/// in different rows.
pub fn band_labels(chart: &Chart) -> Bands {
    /// Assumed width of the figure, which is that of a narrow window.
    const WIDTH_PX: f64 = 700.0;
    const LETTER_PX: f64 = 6.5;
    let end = |xs: &XValues| match xs {
        XValues::Numbers(x) => x.iter().copied().fold(0.0, f64::max),
        XValues::Names(_) => 0.0,
    };
    let series = chart.panels.iter().flat_map(|p| &p.series);
    let last = series
        .map(|s| end(&s.x))
        .chain(chart.bands.iter().map(|b| b.to))
        .fold(1.0, f64::max);
    let mut free: Vec<f64> = Vec::new();
    let mut labels = Vec::new();
    for band in &chart.bands {
        let from = band.from / last * WIDTH_PX;
        let level = free.iter().position(|end| *end <= from).unwrap_or(free.len());
        let to = from + LETTER_PX * (band.label.chars().count() + 1) as f64;
        match free.get_mut(level) {
            Some(end) => *end = to,
            None => free.push(to),
        }
        let lift = BAND_LABEL_PX * level as f64 + title_px(chart);
        labels.push(band_label(band, lift));
    }
    Bands {
        shapes: chart.bands.iter().map(band_shape).collect(),
        labels,
        levels: free.len(),
    }
}

/// Returns the height of the space for the title of the first panel, in pixels.
fn title_px(chart: &Chart) -> f64 {
    match chart.panels.first() {
        Some(panel) if !panel.title.is_empty() => 18.0,
        _ => 0.0,
    }
}

fn labels_px(chart: &Chart, levels: usize) -> f64 {
    title_px(chart) + BAND_LABEL_PX * levels as f64 + 6.0
}

/// Returns the vertical position of the legend, which is above the buttons. The unit is the height
/// of all panels, and 1 is their top. `levels` is the number of rows of names of bands.
pub fn legend_y(chart: &Chart, levels: usize) -> f64 {
    let buttons = if chart.views.is_empty() {
        8.0
    } else {
        BUTTONS_PX
    };
    let above = labels_px(chart, levels) + buttons;
    number::round(1.0 + above / panels_px(chart), DIGITS)
}

/// Returns the row of buttons, each of which shows one range of the horizontal axis. `levels` is
/// the number of rows of names of bands.
pub fn buttons(chart: &Chart, levels: usize) -> Value {
    let button = |(name, range): &(String, [f64; 2])| {
        json!({
            "label": escape(name),
            "method": "relayout",
            "args": [{ "xaxis.range": range }],
        })
    };
    json!({
        "type": "buttons",
        "direction": "right",
        "buttons": chart.views.iter().map(button).collect::<Vec<Value>>(),
        "showactive": false,
        "x": 0.0,
        "xanchor": "left",
        "y": 1.0 + labels_px(chart, levels) / panels_px(chart),
        "yanchor": "bottom",
        "bgcolor": "@card",
        "bordercolor": "@rule",
        "font": { "size": 12, "color": "@text" },
    })
}

fn band_shape(band: &Band) -> Value {
    json!({
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": band.from,
        "x1": band.to,
        "y0": 0.0,
        "y1": 1.0,
        "layer": "below",
        "fillcolor": match band.tone {
            Tone::Bad => "@broken",
            Tone::Warn => "@recovering",
            _ => "@band",
        },
        "line": { "width": 0.0 },
    })
}

fn band_label(band: &Band, lift_px: f64) -> Value {
    json!({
        "text": escape(&band.label),
        "x": band.from,
        "y": 1.0,
        "xref": "x",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": lift_px,
        "showarrow": false,
        "font": { "size": 11, "color": "@muted" },
    })
}
