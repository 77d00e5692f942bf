//! Renders a figure as PNG with the crate resvg. Before that, this module replaces each text by the
//! outlines of an embedded font, so a machine without fonts produces the same picture.
//!
//! resvg can shape text itself, but that would add a megabyte to the program. The text of figures
//! needs no shaping.

mod letters;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Number of pixels of the picture per pixel of the drawing, in each direction.
const SCALE: f32 = 2.0;

/// Renders an SVG drawing as a PNG file, at twice the width and height of the drawing.
///
/// # Errors
/// The drawing is not valid SVG, or resvg cannot render it.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let outlined = letters::as_paths(svg)?;
    let tree = Tree::from_str(&outlined, &Options::default()).context("read a figure as SVG")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("find the size of a figure")?;
    let mut picture = Pixmap::new(size.width(), size.height()).context("make a picture")?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut picture.as_mut());
    picture.encode_png().context("encode a picture as PNG")
}
