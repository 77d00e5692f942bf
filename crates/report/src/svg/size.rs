//! Sizes of rectangles and letters of the figure.

/// Width of an average letter, as a multiple of the font size. The width is an estimate, because no
/// browser measures the text.
pub(super) const LETTER: f64 = 0.56;
/// Font size in pixels of the text in the figure. The names of ticks are slightly smaller.
pub(super) const TEXT_PX: f64 = 12.0;

/// A rectangle of the drawing, in pixels. `x` and `y` are its left and top edges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Returns the approximate width of a text, in pixels.
pub(super) fn width_of(said: &str) -> f64 {
    said.chars().count() as f64 * LETTER * TEXT_PX
}
