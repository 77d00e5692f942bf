//! A figure as PNG: the SVG drawn by resvg, its texts as outlines of the font that the program has
//! within it, so that a machine without any font makes the same picture. Shaping, which resvg's own
//! texts bring, would be a megabyte of the program for letters that stand one after another.

mod letters;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels of the picture for each of the drawing.
const SCALE: f32 = 2.0;

/// The picture of a drawing, with two pixels for each of the drawing.
///
/// # Errors
/// The drawing is none that can be drawn.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let outlined = letters::as_paths(svg)?;
    let tree = Tree::from_str(&outlined, &Options::default()).context("read a figure as SVG")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("find the size of a figure")?;
    let mut picture = Pixmap::new(size.width(), size.height()).context("make a picture")?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut picture.as_mut());
    picture.encode_png().context("encode a picture as PNG")
}
