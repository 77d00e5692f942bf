//! What belongs to a whole figure: the bands with their names, and above them buttons and legend.

use super::{DIGITS, panels_px};
use crate::html::escape;
use crate::number;
use crate::page::{Band, Chart, Xs};
use plotly::common::{Anchor, Font};
use plotly::layout::update_menu::{
    Button, ButtonMethod, UpdateMenu, UpdateMenuDirection, UpdateMenuType,
};
use plotly::layout::{Annotation, Layout, Shape as Box2, ShapeLayer, ShapeType};

/// Height of a level of bands' names.
const BAND_LABEL_PX: f64 = 14.0;
/// Height of the row of buttons above the panels.
const BUTTONS_PX: f64 = 34.0;

/// Shades the bands and names them above the panels; names that would touch stand on another
/// level. How many levels there are.
pub fn band_labels(chart: &Chart, layout: &mut Layout) -> usize {
    /// Width that names are laid out for, and of a letter: a narrow window.
    const WIDTH_PX: f64 = 700.0;
    const LETTER_PX: f64 = 6.5;
    let end = |xs: &Xs| match xs {
        Xs::Numbers(x) => x.iter().copied().fold(0.0, f64::max),
        Xs::Names(_) => 0.0,
    };
    let series = chart.panels.iter().flat_map(|p| &p.series);
    let last = series.map(|s| end(&s.x));
    let last = last
        .chain(chart.bands.iter().map(|b| b.to))
        .fold(1.0, f64::max);
    let mut free: Vec<f64> = Vec::new();
    for band in &chart.bands {
        layout.add_shape(band_shape(band));
        let from = band.from / last * WIDTH_PX;
        let level = free
            .iter()
            .position(|end| *end <= from)
            .unwrap_or(free.len());
        let to = from + LETTER_PX * (band.label.chars().count() + 1) as f64;
        match free.get_mut(level) {
            Some(end) => *end = to,
            None => free.push(to),
        }
        let lift = BAND_LABEL_PX * level as f64 + title_px(chart);
        layout.add_annotation(band_label(band).y_shift(lift));
    }
    free.len()
}

/// Room for the title of the first panel below the names of the bands.
fn title_px(chart: &Chart) -> f64 {
    match chart.panels.first() {
        Some(panel) if !panel.title.is_empty() => 18.0,
        _ => 0.0,
    }
}

/// Height of what stands between the panels and the buttons.
fn labels_px(chart: &Chart, levels: usize) -> f64 {
    title_px(chart) + BAND_LABEL_PX * levels as f64 + 6.0
}

/// Where the legend stands: above the buttons.
pub fn legend_y(chart: &Chart, levels: usize) -> f64 {
    let buttons = if chart.views.is_empty() {
        8.0
    } else {
        BUTTONS_PX
    };
    let above = labels_px(chart, levels) + buttons;
    number::round(1.0 + above / panels_px(chart), DIGITS)
}

/// Buttons that show a stretch of the horizontal axis.
pub fn buttons(chart: &Chart, levels: usize) -> UpdateMenu {
    let button = |(name, range): &(String, [f64; 2])| {
        Button::new()
            .label(escape(name))
            .method(ButtonMethod::Relayout)
            .args(serde_json::json!([{ "xaxis.range": range }]))
    };
    UpdateMenu::new()
        .ty(UpdateMenuType::Buttons)
        .direction(UpdateMenuDirection::Right)
        .buttons(chart.views.iter().map(button).collect())
        .show_active(false)
        .x(0.0)
        .x_anchor(Anchor::Left)
        .y(1.0 + labels_px(chart, levels) / panels_px(chart))
        .y_anchor(Anchor::Bottom)
        .background_color("@card")
        .border_color("@rule")
        .font(Font::new().size(12).color("@text"))
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
