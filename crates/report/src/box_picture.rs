//! Draws a [`Picture`] as SVG in a `figure` element.
//!
//! The picture contains no scripts, no styles and no links. The style sheet of the page sets the
//! colours by class, so one picture works on light and dark screens and on paper. The legend and
//! the tooltips state the meaning of each colour in words.

mod layout;

use crate::escape::escape;
use crate::page::{Part, Picture, Style};
use layout::{Laid, PART_PX, PlacedLeaf, flow};
use std::fmt::Write;

/// Number of colours for owners in the style sheet: `--c0` to `--c7`.
const OWNERS: usize = 8;
/// Maximum number of owners that one part shows side by side.
const BANDS_MAX: usize = 3;
const WIDTH_PX: f64 = 1120.0;
/// Length of the legs of the right-angled triangle that marks a part.
const MARK_PX: f64 = 7.0;

pub fn figure(out: &mut String, picture: &Picture) {
    let (all, width, height) = flow(&picture.nests, WIDTH_PX);
    // The two additional pixels leave space for the borders of the outermost boxes.
    let (width, height) = (width + 2.0, height + 2.0);
    let id = &picture.id;
    let _ = write!(
        out,
        "<figure class=\"picture\"><h3>{title}</h3><div class=\"scroll\" tabindex=\"0\">\
         <svg role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"-1 -1 {width} {height}\"><title id=\"{id}-title\">{title}\
         </title><desc id=\"{id}-desc\">{what}</desc>",
        id = escape(id),
        title = escape(&picture.title),
        what = escape(&picture.what),
    );
    all.iter().for_each(|laid| nest(out, laid, 0));
    out.push_str("</svg></div>");
    legend(out, &picture.legend);
    out.push_str("</figure>\n");
}

fn nest(out: &mut String, laid: &Laid<'_>, depth: usize) {
    let _ = write!(
        out,
        "<rect class=\"box d{depth}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>",
        laid.x, laid.y, laid.width, laid.height
    );
    for (line, text) in laid.lines.iter().enumerate() {
        let class = if line == 0 { "name" } else { "more" };
        let [x, y] = laid.line_at(line);
        let _ = write!(
            out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escape(text)
        );
    }
    for inner in &laid.nests {
        nest(out, inner, depth + 1);
    }
    laid.tiles.iter().for_each(|one| tile(out, one));
}

fn tile(out: &mut String, laid: &PlacedLeaf<'_>) {
    if !laid.tile.label.is_empty() {
        let _ = write!(
            out,
            "<text class=\"more\" x=\"{}\" y=\"{}\">{}</text>",
            laid.x,
            laid.y + 10.0,
            escape(&laid.tile.label)
        );
    }
    for (index, one) in laid.tile.parts.iter().enumerate() {
        part(out, one, [laid.x, laid.part_y(index)], laid.width);
    }
}

fn part(out: &mut String, part: &Part, [x, y]: [f64; 2], width: f64) {
    out.push_str("<g>");
    if !part.hint.is_empty() {
        let _ = write!(out, "<title>{}</title>", escape(&part.hint));
    }
    draw(out, &part.looks, [x, y], [width, PART_PX - 2.0]);
    if !part.label.is_empty() {
        let _ = write!(
            out,
            "<text class=\"part\" x=\"{}\" y=\"{}\">{}</text>",
            x + width / 2.0,
            y + 13.0,
            escape(&part.label)
        );
    }
    out.push_str("</g>");
}

/// Draws the rectangle of a part with the colours of its owners side by side and the mark on top.
fn draw(out: &mut String, looks: &[Style], [x, y]: [f64; 2], [width, height]: [f64; 2]) {
    let is_fill = |look: &&Style| **look != Style::Marked;
    let mut fills: Vec<Style> = looks.iter().filter(is_fill).copied().collect();
    if fills.is_empty() {
        fills.push(Style::Free);
    }
    if fills.len() > BANDS_MAX {
        fills = vec![Style::Many];
    }
    let band = width / fills.len() as f64;
    let rect = |out: &mut String, class: &str, x: f64, width: f64| {
        let _ = write!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{height}\"/>",
            tenth(x),
            tenth(width)
        );
    };
    for (index, look) in fills.iter().enumerate() {
        let beside = if fills.len() > 1 { " band" } else { "" };
        let class = format!("{}{beside}", class(*look));
        rect(out, &class, x + band * index as f64, band);
    }
    if looks.contains(&Style::Marked) {
        rect(out, "marked", x, width);
        let _ = write!(
            out,
            "<path class=\"mark\" d=\"M{} {y}h-{MARK_PX}l{MARK_PX} {MARK_PX}z\"/>",
            tenth(x + width)
        );
    }
}

fn tenth(px: f64) -> f64 {
    (px * 10.0).round() / 10.0
}

fn class(look: Style) -> String {
    match look {
        Style::Owner(index) => format!("o{}", index % OWNERS),
        Style::Many => "many".into(),
        Style::Free => "free".into(),
        Style::Closed => "closed".into(),
        Style::Marked => "marked".into(),
    }
}

fn legend(out: &mut String, legend: &[(Style, String)]) {
    if legend.is_empty() {
        return;
    }
    out.push_str("<figcaption><ul class=\"keys\">");
    for (look, label) in legend {
        out.push_str("<li><svg aria-hidden=\"true\" width=\"18\" height=\"14\">");
        draw(out, &[*look], [1.0, 1.0], [16.0, 12.0]);
        let _ = write!(out, "</svg>{}</li>", escape(label));
    }
    out.push_str("</ul></figcaption>");
}
