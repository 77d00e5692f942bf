//! Draws a [`LeadFigure`] as SVG, without scripts and without references to other files. CSS
//! classes determine the colours, so the same figure works in light mode, in dark mode and on
//! paper.
//!
//! The page contains two drawings of the figure, for wide and for narrow screens. The style sheet
//! shows one of them.

mod axis;
mod curve;
mod limits;
mod names;
mod plain;
mod rows;
mod size;

use crate::escape::escape;
use crate::page::{ColorRole, LeadFigure, Plot};
use size::{Area, LETTER, TEXT_PX};
use std::fmt::Write;

/// Number of colours for variants in the style sheet: `--c0` to `--c7`.
const CATEGORIES: usize = 8;
/// Width of the wide drawing in pixels, which is the width of the page.
const WIDE_PX: f64 = 1120.0;
/// Width of the narrow drawing in pixels, which fits on the screen of a phone.
const NARROW_PX: f64 = 390.0;
/// Height in pixels of a plot with two axes, in the wide and in the narrow drawing.
const CURVE_PX: [f64; 2] = [300.0, 230.0];
const GAP_PX: f64 = 28.0;
/// Distance between the baselines of two lines of text, in pixels.
const LINE_PX: f64 = TEXT_PX + 3.0;

/// Writes the figure at the top of a page as HTML, with its heading and its legend.
pub fn figure(out: &mut String, lead: &LeadFigure) {
    let _ = write!(
        out,
        "<figure class=\"glance\"><h2>{}</h2>",
        escape(&lead.title)
    );
    both_drawings(out, lead, "");
}

/// Writes a figure of a section as HTML. `id` is its anchor.
pub fn section_figure(out: &mut String, id: &str, lead: &LeadFigure) {
    let _ = write!(
        out,
        "<figure class=\"glance\" id=\"{id}\"><h4>{}</h4>",
        escape(&lead.title)
    );
    both_drawings(out, lead, &format!("{id}-"));
}

/// Writes the wide and the narrow drawing, and the legend. Every anchor of the drawings begins with
/// `prefix`.
fn both_drawings(out: &mut String, lead: &LeadFigure, prefix: &str) {
    let names = names::legend(&lead.plots);
    for (class, width) in [("wide", WIDE_PX), ("narrow", NARROW_PX)] {
        drawing(out, lead, (prefix, class), width, names.is_empty());
    }
    out.push_str("<figcaption>");
    if !lead.legend.is_empty() || !names.is_empty() {
        out.push_str("<ul class=\"keys\">");
        for (paint, label) in names.iter().chain(&lead.legend) {
            let _ = write!(
                out,
                "<li><svg aria-hidden=\"true\" width=\"14\" height=\"14\"><circle class=\"{}\" \
                 cx=\"7\" cy=\"7\" r=\"5\"/></svg>{}</li>",
                class_of(*paint, "dot"),
                escape(label)
            );
        }
        out.push_str("</ul>");
    }
    if !lead.says.is_empty() {
        let _ = write!(out, "<p class=\"says\">{}</p>", escape(&lead.says));
    }
    out.push_str("</figcaption></figure>\n");
}

/// Height in pixels of the heading above the plots in a file.
const TITLE_PX: f64 = 30.0;
/// Width in pixels of the margin around the drawing in a file.
const MARGIN_PX: f64 = 16.0;

/// Returns the wide drawing as a self-contained SVG file with its heading and its legend. Users can
/// put it into a slide, a mail or a pull request.
pub fn file(lead: &LeadFigure) -> String {
    let names = names::legend(&lead.plots);
    let mut plots = String::new();
    drawing(&mut plots, lead, ("", "wide"), WIDE_PX, names.is_empty());
    let height = height_of_all(&areas(&lead.plots, WIDE_PX, true)) + TITLE_PX;
    let keys: Vec<&(ColorRole, String)> = names.iter().chain(&lead.legend).collect();
    let rows = key_rows(&keys);
    let full = height + LINE_PX * 1.5 * rows.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"glance\" viewBox=\"{} {} {} {:.0}\" \
         font-family=\"system-ui, sans-serif\"><style>{}</style>\
         <rect x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3:.0}\" fill=\"var(--bg)\"/>\
         <text class=\"what\" x=\"0\" y=\"14\">{}</text>\
         <svg y=\"{TITLE_PX}\" width=\"{WIDE_PX}\" height=\"{:.0}\" overflow=\"visible\">\
         {plots}</svg>",
        -MARGIN_PX,
        -MARGIN_PX,
        WIDE_PX + 2.0 * MARGIN_PX,
        full + 2.0 * MARGIN_PX,
        include_str!("../assets/figure.css"),
        escape(&lead.title),
        height - TITLE_PX,
    );
    for (row, keys) in rows.iter().enumerate() {
        let y = height + LINE_PX * (1.5 * row as f64 + 1.0);
        let mut x = 0.0;
        for (paint, label) in keys {
            let class = class_of(*paint, "dot");
            let _ = write!(
                out,
                "<circle class=\"{class}\" cx=\"{:.0}\" cy=\"{:.0}\" r=\"5\"/><text x=\"{:.0}\" \
                 y=\"{y:.0}\">{}</text>",
                x + 7.0,
                y - 4.0,
                x + 18.0,
                escape(label)
            );
            x += key_px(label);
        }
    }
    out + "</svg>\n"
}

/// Returns the wide drawing as an SVG file for programs other than browsers. The file has the
/// colours of the light page, and no CSS variables.
pub fn plain_file(lead: &LeadFigure) -> String {
    plain::plain(&file(lead))
}

/// Returns the width of an entry of the legend in pixels, including the gap before the next entry.
fn key_px(label: &str) -> f64 {
    label.chars().count() as f64 * LETTER * TEXT_PX + 42.0
}

/// Arranges the entries of a legend in rows that fit into the wide drawing.
fn key_rows<'a>(keys: &[&'a (ColorRole, String)]) -> Vec<Vec<&'a (ColorRole, String)>> {
    let mut rows: Vec<Vec<&(ColorRole, String)>> = Vec::new();
    let mut used = f64::INFINITY;
    for key in keys {
        let width = key_px(&key.1);
        if used + width > WIDE_PX {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(key);
        }
    }
    rows
}

fn height_of_all(areas: &[Area]) -> f64 {
    areas.iter().map(|area| area.y + area.height).fold(0.0, f64::max)
}

/// Writes one drawing of all plots. If `has_names` is true, the names of lines are at the ends of
/// the lines. Every anchor of the drawing begins with `prefix`.
fn drawing(
    out: &mut String,
    lead: &LeadFigure,
    (prefix, class): (&str, &str),
    width: f64,
    has_names: bool,
) {
    let is_wide = class == "wide";
    let areas = areas(&lead.plots, width, is_wide);
    let height = height_of_all(&areas);
    let _ = write!(
        out,
        "<svg class=\"{class}\" role=\"img\" aria-labelledby=\"{prefix}{class}-title \
         {prefix}{class}-what\" viewBox=\"0 0 {width} {height:.0}\">\
         <title id=\"{prefix}{class}-title\">{}</title>\
         <desc id=\"{prefix}{class}-what\">{}</desc>",
        escape(&lead.title),
        escape(&lead.what)
    );
    for (plot, area) in lead.plots.iter().zip(areas) {
        match plot {
            Plot::Curve(plot) => curve::draw(out, plot, area, has_names),
            Plot::Rows(plot) => rows::draw(out, plot, area),
        }
    }
    out.push_str("</svg>");
}

/// Returns the area of each plot. A wide drawing has two plots in a row, and a narrow drawing has
/// all plots in one column.
fn areas(plots: &[Plot], width: f64, is_wide: bool) -> Vec<Area> {
    let columns = if is_wide { plots.len().clamp(1, 2) } else { 1 };
    let column_px = (width - GAP_PX * (columns - 1) as f64) / columns as f64;
    let heights: Vec<f64> = plots.iter().map(|p| height_of(p, is_wide, column_px)).collect();
    let mut y = 0.0;
    let mut areas = Vec::new();
    for row in heights.chunks(columns) {
        let height = row.iter().copied().fold(0.0, f64::max);
        for column in 0..row.len() {
            let x = (column_px + GAP_PX) * column as f64;
            areas.push(Area {
                x,
                y,
                width: column_px,
                height,
            });
        }
        y += height + GAP_PX / 2.0;
    }
    areas
}

fn height_of(plot: &Plot, is_wide: bool, width: f64) -> f64 {
    match plot {
        Plot::Curve(plot) => {
            let said = lines(&plot.says, width).len();
            CURVE_PX[usize::from(!is_wide)] + LINE_PX * said as f64
        }
        Plot::Rows(plot) => rows::height(plot, width),
    }
}

/// Returns the CSS classes of an element that has this colour. The first class is `what`.
fn class_of(paint: ColorRole, what: &str) -> String {
    match paint {
        ColorRole::Category(index) => format!("{what} p{}", index % CATEGORIES),
        ColorRole::Hollow(index) => format!("{what} hollow p{}", index % CATEGORIES),
        ColorRole::Good => format!("{what} good"),
        ColorRole::GoodHollow => format!("{what} hollow good"),
        ColorRole::Warn => format!("{what} warn"),
        ColorRole::Bad => format!("{what} bad"),
        ColorRole::Muted => format!("{what} muted"),
        ColorRole::Text => what.to_owned(),
    }
}

/// Writes a text at a position in pixels. The CSS class of the text determines its alignment.
fn text(out: &mut String, class: &str, [x, y]: [f64; 2], said: &str) {
    let _ = write!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escape(said)
    );
}

/// Wraps a text into lines that fit into a width in pixels.
fn lines(said: &str, width: f64) -> Vec<String> {
    if said.is_empty() {
        return Vec::new();
    }
    crate::terminal_page::wrap(said, letters(width))
}

/// Returns the number of letters of average width that fit into a width in pixels. The result is at
/// least 1.
fn letters(width: f64) -> usize {
    (width / LETTER / TEXT_PX).floor().max(1.0) as usize
}

/// Truncates a text to a width in pixels. An ellipsis marks the truncation.
fn cut(said: &str, width: f64) -> String {
    let most = letters(width);
    if said.chars().count() <= most {
        return said.to_owned();
    }
    let kept: String = said.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
