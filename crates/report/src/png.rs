//! Renders a figure as PNG. resvg draws the SVG, in which texts have been replaced by outlines of
//! the program's own font. So a machine without fonts produces the same picture. The crate resvg
//! could shape texts itself. But this would add a megabyte to the program, and letters in a row
//! need no shaping.

mod letters;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Number of pixels in the picture for each pixel of the drawing.
const SCALE: f32 = 2.0;

/// Returns the picture of a drawing, with two pixels for each pixel of the drawing.
///
/// # Errors
/// The drawing cannot be rendered.
pub fn png(svg: &str) -> Result<Vec<u8>> {
    let outlined = letters::as_paths(svg)?;
    let tree = Tree::from_str(&outlined, &Options::default()).context("read a figure as SVG")?;
    let size = tree.size().to_int_size().scale_by(SCALE).context("find the size of a figure")?;
    let mut picture = Pixmap::new(size.width(), size.height()).context("make a picture")?;
    let scale = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut picture.as_mut());
    picture.encode_png().context("encode a picture as PNG")
}
