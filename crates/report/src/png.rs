//! A figure as PNG: the SVG drawn by resvg, with the font that the program has within it, so that a
//! machine without any font makes the same picture.

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::Arc;

/// Pixels of the picture for each of the drawing.
const SCALE: f32 = 2.0;
/// The font; `assets/font/README.md` says which and whence.
const FONTS: [&[u8]; 2] = [
    include_bytes!("../assets/font/Roboto-Regular.ttf"),
    include_bytes!("../assets/font/Roboto-Bold.ttf"),
];

/// Draws figures.
pub struct Png {
    options: Options<'static>,
}

impl Default for Png {
    fn default() -> Png {
        let mut fonts = fontdb::Database::new();
        FONTS.iter().for_each(|font| fonts.load_font_data(font.to_vec()));
        fonts.set_sans_serif_family("Roboto");
        Png {
            options: Options {
                font_family: "Roboto".to_owned(),
                fontdb: Arc::new(fonts),
                ..Options::default()
            },
        }
    }
}

impl Png {
    /// The picture of a drawing, with two pixels for each of the drawing.
    ///
    /// # Errors
    /// The drawing is none that can be drawn.
    pub fn draw(&self, svg: &str) -> Result<Vec<u8>> {
        let tree = Tree::from_str(svg, &self.options).context("read a figure as SVG")?;
        let size =
            tree.size().to_int_size().scale_by(SCALE).context("find the size of a figure")?;
        let mut picture = Pixmap::new(size.width(), size.height()).context("make a picture")?;
        let scale = Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut picture.as_mut());
        picture.encode_png().context("encode a picture as PNG")
    }
}
