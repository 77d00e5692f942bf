//! Computes the positions of the boxes and tiles of a picture. Rows run from left to right, and
//! follow each other from top to bottom. Each box is as large as its text and its content require.

use crate::page::{BoxGroup, Leaf};

/// Height of a part of a tile, including the gap below it.
pub const PART_PX: f64 = 20.0;
/// Minimum width of a tile, into which three digits fit.
const TILE_PX: f64 = 28.0;
const TILE_LABEL_PX: f64 = 13.0;
/// Gap between boxes, and around the content of a box.
const GAP_PX: f64 = 8.0;
const TILE_GAP_PX: f64 = 4.0;
const LINE_PX: f64 = 14.0;
/// Width of a letter in the name of a box. The browser chooses the font, so the widths of letters
/// and digits are those of a wide font (DejaVu Sans).
const NAME_LETTER_PX: f64 = 7.7;
/// Width of a letter in the text below a name.
const LETTER_PX: f64 = 6.6;
/// Width of a digit in a part of a tile.
const DIGIT_PX: f64 = 6.4;
/// Maximum width of a row of tiles. Sixteen tiles of minimum width fit. A box with many cores
/// therefore has several short rows.
const TILES_PX: f64 = 16.0 * (TILE_PX + TILE_GAP_PX);
/// Maximum number of characters in a line of text.
const LETTERS_MAX: usize = 48;

pub struct Laid<'a> {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub lines: Vec<String>,
    pub nests: Vec<Laid<'a>>,
    pub tiles: Vec<PlacedLeaf<'a>>,
}

pub struct PlacedLeaf<'a> {
    pub tile: &'a Leaf,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    label_px: f64,
}

impl Laid<'_> {
    /// Returns the position, as x and y in pixels, at which a line of the box's text begins.
    pub fn line_at(&self, line: usize) -> [f64; 2] {
        [self.x + GAP_PX, self.y + LINE_PX * (line + 1) as f64]
    }

    /// Increases the height of the box to `height`, and moves the content to the bottom, so that
    /// the contents of a row's boxes are aligned.
    fn stretch(&mut self, height: f64) {
        let more = height - self.height;
        self.height = height;
        self.move_content(0.0, more);
    }

    fn move_by(&mut self, x: f64, y: f64) {
        self.x += x;
        self.y += y;
        self.move_content(x, y);
    }

    fn move_content(&mut self, x: f64, y: f64) {
        self.nests.iter_mut().for_each(|nest| nest.move_by(x, y));
        for tile in &mut self.tiles {
            tile.x += x;
            tile.y += y;
        }
    }
}

impl PlacedLeaf<'_> {
    pub fn part_y(&self, index: usize) -> f64 {
        self.y + self.label_px + PART_PX * index as f64
    }
}

/// Arranges boxes in rows of at most the width `limit`. Returns the boxes, their total width and
/// their total height, in pixels.
pub fn flow(nests: &[BoxGroup], limit: f64) -> (Vec<Laid<'_>>, f64, f64) {
    let mut all: Vec<Laid<'_>> = nests.iter().map(|nest| lay(nest, limit)).collect();
    let sizes: Vec<[f64; 2]> = all.iter().map(|laid| [laid.width, laid.height]).collect();
    let rows = Rows::even(&sizes, limit, GAP_PX);
    for (laid, place) in all.iter_mut().zip(&rows.places) {
        laid.move_by(place.x, place.y);
        laid.stretch(rows.heights[place.row]);
    }
    (all, rows.width, rows.height)
}

fn lay(nest: &BoxGroup, limit: f64) -> Laid<'_> {
    let lines: Vec<String> =
        [&nest.label].into_iter().chain(&nest.details).map(|line| cut(line)).collect();
    let text_px = LINE_PX * lines.len() as f64 + GAP_PX / 2.0;
    let inner = limit - 2.0 * GAP_PX;
    let (mut nests, wide, high) = flow(&nest.nests, inner);
    nests.iter_mut().for_each(|laid| laid.move_by(GAP_PX, text_px));
    let (mut tiles, tiles_wide, tiles_high) = flow_tiles(&nest.tiles, inner.min(TILES_PX));
    for tile in &mut tiles {
        tile.x += GAP_PX;
        tile.y += text_px + high;
    }
    let content = high + tiles_high;
    let below = if content > 0.0 { GAP_PX } else { GAP_PX / 2.0 };
    Laid {
        x: 0.0,
        y: 0.0,
        width: written_px(&lines).max(wide).max(tiles_wide).ceil() + 2.0 * GAP_PX,
        height: text_px + content + below,
        lines,
        nests,
        tiles,
    }
}

/// Returns the estimated width of the widest line, in pixels. The first line is the name of the
/// box, in larger letters.
fn written_px(lines: &[String]) -> f64 {
    let px = |(at, line): (usize, &String)| {
        let letter = if at == 0 { NAME_LETTER_PX } else { LETTER_PX };
        line.chars().count() as f64 * letter
    };
    lines.iter().enumerate().map(px).fold(0.0, f64::max)
}

fn flow_tiles(tiles: &[Leaf], limit: f64) -> (Vec<PlacedLeaf<'_>>, f64, f64) {
    // The parts of all tiles must be aligned. So if one tile has a label, all tiles leave space for
    // a label.
    let label_px = if tiles.iter().all(|tile| tile.label.is_empty()) {
        0.0
    } else {
        TILE_LABEL_PX
    };
    let size = |tile: &Leaf| {
        let height = label_px + PART_PX * tile.parts.len() as f64;
        [tile_px(tile), height]
    };
    let sizes: Vec<[f64; 2]> = tiles.iter().map(size).collect();
    let rows = Rows::even(&sizes, limit, TILE_GAP_PX);
    let all = tiles.iter().zip(&sizes).zip(&rows.places);
    let laid = all.map(|((tile, [width, _]), place)| PlacedLeaf {
        tile,
        x: place.x,
        y: place.y,
        width: *width,
        label_px,
    });
    (laid.collect(), rows.width, rows.height)
}

fn tile_px(tile: &Leaf) -> f64 {
    let px = |text: &str, letter: f64| text.chars().count() as f64 * letter;
    let parts = tile.parts.iter().map(|part| px(&part.label, DIGIT_PX) + 8.0);
    let widest = parts.fold(px(&tile.label, LETTER_PX), f64::max);
    TILE_PX.max(widest.ceil())
}

struct Rows {
    places: Vec<ItemPlace>,
    heights: Vec<f64>,
    width: f64,
    height: f64,
}

struct ItemPlace {
    x: f64,
    y: f64,
    row: usize,
}

impl Rows {
    /// Arranges items in as few rows as the width `limit` permits, with a gap between the items.
    /// Then narrows the rows as far as the number of rows permits, so that their widths are
    /// similar.
    fn even(sizes: &[[f64; 2]], limit: f64, gap: f64) -> Rows {
        /// Number of bisections, which narrow a range of a thousand pixels down to one pixel.
        const HALVINGS: usize = 10;
        let mut best = Rows::fill(sizes, limit, gap);
        let (mut low, mut high) = (0.0, best.width);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            let rows = Rows::fill(sizes, middle, gap);
            if rows.heights.len() == best.heights.len() && rows.width <= high {
                (best, high) = (rows, middle)
            } else {
                low = middle
            }
        }
        best
    }

    fn fill(sizes: &[[f64; 2]], limit: f64, gap: f64) -> Rows {
        let mut rows = Rows {
            places: Vec::with_capacity(sizes.len()),
            heights: Vec::new(),
            width: 0.0,
            height: 0.0,
        };
        let (mut x, mut y) = (0.0, 0.0);
        for [width, height] in sizes {
            match rows.heights.last_mut() {
                Some(row) if x + width <= limit => *row = row.max(*height),
                last => {
                    y += last.map_or(0.0, |row| *row + gap);
                    x = 0.0;
                    rows.heights.push(*height);
                }
            }
            let row = rows.heights.len() - 1;
            rows.places.push(ItemPlace { x, y, row });
            rows.width = rows.width.max(x + width);
            x += width + gap;
        }
        rows.height = y + rows.heights.last().unwrap_or(&0.0);
        rows
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LETTERS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nest(label: &str, nests: Vec<BoxGroup>) -> BoxGroup {
        BoxGroup {
            label: label.into(),
            nests,
            ..BoxGroup::default()
        }
    }

    #[test]
    fn boxes_flow_into_rows_and_stay_within_their_box() {
        let inner = (0..9).map(|_| nest("twenty letters of it", Vec::new()));
        let outer = [nest("outer", inner.collect())];
        let (laid, width, height) = flow(&outer, 500.0);
        assert!(width <= 500.0 && height < 200.0, "{width} {height}");
        let [outer] = &laid[..] else { panic!() };
        for (at, one) in outer.nests.iter().enumerate() {
            assert!(one.x + one.width <= outer.x + outer.width);
            assert!(one.y + one.height <= outer.y + outer.height);
            for other in &outer.nests[..at] {
                let is_beside = one.x >= other.x + other.width || other.x >= one.x + one.width;
                assert!(is_beside || one.y >= other.y + other.height);
            }
        }
    }

    #[test]
    fn rows_are_as_few_as_fit_and_of_one_length() {
        let rows = Rows::even(&[[100.0, 10.0]; 12], 950.0, 5.0);
        assert_eq!([rows.width, rows.height], [625.0, 25.0]);
        let unequal = Rows::even(&[[300.0, 10.0], [100.0, 30.0], [90.0, 20.0]], 400.0, 0.0);
        assert_eq!([unequal.width, unequal.height], [300.0, 40.0]);
        assert!(Rows::even(&[], 100.0, 5.0).places.is_empty());
    }

    #[test]
    fn a_long_name_is_cut() {
        let text = "ü".repeat(1_000);
        assert_eq!(cut(&text).chars().count(), LETTERS_MAX + 1);
    }
}
