//! Draws an [`Icicle`] as SVG in a `figure` element, with its data for the script.
//!
//! The SVG contains only the widest frames, so that the picture is readable without a script. The
//! script draws all frames, and adds search and zoom.

use crate::escape::escape;
use crate::html::escape_json;
use crate::page::{FrameKind, Icicle, IcicleFrame};
use measure::number::significant;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use store::record::frame_label;

pub const SCRIPT: &str = include_str!("../assets/icicle.js");

/// Maximum number of frames in the SVG, which a reader without scripts sees.
const DRAWN_MAX: usize = 200;
/// Width of the picture, which is the width of the page.
const WIDTH_PX: f64 = 1120.0;
/// Height of a row of frames. The script uses the same height.
const ROW_PX: f64 = 18.0;
/// Assumed width of a letter in the label of a frame.
const LETTER_PX: f64 = 6.4;
const BOLD_LETTER_PX: f64 = 7.2;
/// Minimum width of a frame that has a label.
const LABEL_PX: f64 = 30.0;

pub fn figure(out: &mut String, icicle: &Icicle) {
    let id = escape(&icicle.id);
    let drawn = widest(&icicle.frames);
    let rows = drawn.iter().map(|at| icicle.frames[*at].row + 1).max().unwrap_or(1);
    let height = rows as f64 * ROW_PX;
    let _ = write!(
        out,
        "<figure class=\"icicle\" id=\"{id}\"><h4>{title}</h4><div class=\"scroll\" \
         tabindex=\"0\"><svg role=\"img\" aria-labelledby=\"{id}-title {id}-desc\" \
         viewBox=\"0 0 {WIDTH_PX} {height}\"><title id=\"{id}-title\">{title}</title>\
         <desc id=\"{id}-desc\">{what}</desc>",
        title = escape(&icicle.title),
        what = escape(&icicle.what),
    );
    let places = places(icicle);
    for at in drawn {
        frame(out, icicle, &icicle.frames[at], places[at]);
    }
    out.push_str("</svg></div>");
    legend(out, icicle);
    let data = escape_json(&data(icicle).to_string());
    let _ = writeln!(
        out,
        "<script type=\"application/json\">{data}</script></figure>"
    );
}

/// Returns the indexes of the widest frames, in the order of the frames. A callee is never wider
/// than its caller, so the result includes the callers of each frame.
fn widest(frames: &[IcicleFrame]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..frames.len()).collect();
    order.sort_by(|one, other| frames[*other].cost.total_cmp(&frames[*one].cost));
    order.truncate(DRAWN_MAX);
    order.sort_unstable();
    order
}

/// Returns the position of the left edge and the width of each frame, in pixels.
fn places(icicle: &Icicle) -> Vec<[f64; 2]> {
    let scale = WIDTH_PX / icicle.total.max(f64::MIN_POSITIVE);
    // Left edge of the next frame in each row, down to the row below the current frame.
    let mut next: Vec<f64> = vec![0.0];
    let mut places = Vec::with_capacity(icicle.frames.len());
    for frame in &icicle.frames {
        next.resize(frame.row + 1, 0.0);
        let left = next[frame.row];
        let width = frame.cost * scale;
        next[frame.row] = left + width;
        next.push(left);
        places.push([left, width]);
    }
    places
}

fn frame(out: &mut String, icicle: &Icicle, frame: &IcicleFrame, [left, width]: [f64; 2]) {
    let y = frame.row as f64 * ROW_PX;
    let named = if frame.is_named { " named" } else { "" };
    let _ = write!(
        out,
        "<g class=\"{}{named}\"><title>{}</title><rect x=\"{left:.1}\" y=\"{y}\" \
         width=\"{width:.1}\" height=\"{}\"/>",
        frame.kind,
        escape(&hint(icicle, frame)),
        ROW_PX - 1.0
    );
    if width >= LABEL_PX {
        let letter = if frame.is_named {
            BOLD_LETTER_PX
        } else {
            LETTER_PX
        };
        let most = ((width - 6.0) / letter) as usize;
        let label = cut(&frame_label(&frame.name), most);
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{}\">{}</text>",
            left + 3.0,
            y + 12.5,
            escape(&label)
        );
    }
    out.push_str("</g>");
}

fn hint(icicle: &Icicle, frame: &IcicleFrame) -> String {
    let share = frame.cost / icicle.total.max(f64::MIN_POSITIVE) * 100.0;
    format!(
        "{}: {} {} per operation, {} % ({})",
        frame.name,
        significant(frame.cost, 3),
        icicle.unit,
        significant(share, 2),
        kind_words(frame.kind)
    )
}

fn kind_words(kind: FrameKind) -> &'static str {
    let mut all = FrameKind::LEGEND.iter();
    all.find(|(one, _)| *one == kind).map_or("", |(_, words)| words)
}

fn cut(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    let kept: String = label.chars().take(most.saturating_sub(1)).collect();
    kept + "…"
}

fn legend(out: &mut String, icicle: &Icicle) {
    let has = |kind: FrameKind| icicle.frames.iter().any(|frame| frame.kind == kind);
    out.push_str("<figcaption><ul class=\"keys\">");
    let key = |out: &mut String, class: &str, words: &str| {
        let _ = write!(
            out,
            "<li><svg aria-hidden=\"true\" width=\"18\" height=\"14\"><g class=\"{class}\">\
             <rect x=\"1\" y=\"1\" width=\"16\" height=\"12\"/></g></svg>{words}</li>"
        );
    };
    for (kind, words) in FrameKind::LEGEND.iter().filter(|(kind, _)| has(*kind)) {
        key(out, kind.name(), words);
    }
    if icicle.frames.iter().any(|frame| frame.is_named) {
        key(out, "named", "differs between the variants");
    }
    out.push_str("</ul></figcaption>");
}

/// Returns the data for the script. Each frame has the form `[row, cost, kind, name, [caller, …],
/// named]`. The kind is an index into `kinds`, and the name and the callers are indexes into
/// `names`. The list `labels` contains the short form of each name.
fn data(icicle: &Icicle) -> Value {
    let mut names = Names::default();
    let mut frames: Vec<Value> = Vec::with_capacity(icicle.frames.len());
    for frame in &icicle.frames {
        let kind = FrameKind::LEGEND.iter().position(|(kind, _)| *kind == frame.kind);
        let callers: Vec<usize> = frame.callers.iter().map(|caller| names.number(caller)).collect();
        let name = names.number(&frame.name);
        let named = u8::from(frame.is_named);
        frames.push(json!([frame.row, frame.cost, kind, name, callers, named]));
    }
    let labels: Vec<String> = names.names.iter().map(|name| frame_label(name)).collect();
    let kinds = FrameKind::LEGEND.map(|(kind, words)| json!([kind.name(), words]));
    json!({
        "unit": icicle.unit, "total": icicle.total, "kinds": kinds,
        "names": names.names, "labels": labels, "frames": frames,
    })
}

#[derive(Default)]
struct Names<'a> {
    names: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn number(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}
