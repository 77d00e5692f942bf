//! Model of a picture that shows nested boxes and the owners of their parts.

/// A picture of nested boxes. The sizes of the boxes have no meaning.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// HTML anchor, which is unique in the page and consists of lower-case letters, digits and
    /// hyphens.
    pub id: String,
    /// Title of the picture.
    pub title: String,
    /// Description for readers who cannot see the picture.
    pub what: String,
    /// Outermost boxes of the picture.
    pub nests: Vec<BoxGroup>,
    /// Styles and their meanings, in the order of the legend.
    pub legend: Vec<(Style, String)>,
}

/// A box that contains boxes or tiles.
#[derive(Clone, Debug, Default)]
pub struct BoxGroup {
    /// Name of the box.
    pub label: String,
    /// Further facts about the box, one per line.
    pub details: Vec<String>,
    /// Boxes inside this box.
    pub nests: Vec<BoxGroup>,
    /// Tiles inside this box.
    pub tiles: Vec<Leaf>,
}

/// A tile in a box, which consists of parts.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// Text above the parts of the tile. It may be empty.
    pub label: String,
    /// Parts of the tile, from top to bottom.
    pub parts: Vec<Part>,
}

/// A part of a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Text inside the part.
    pub label: String,
    /// Text of the part's tooltip.
    pub hint: String,
    /// Styles for the owners and the mark of the part. A shared part has several owners. The list
    /// is empty if the part has neither an owner nor a mark.
    pub looks: Vec<Style>,
}

/// Style of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// The part belongs to the owner with this index, which determines the colour.
    Owner(usize),
    /// The part has more owners than can be drawn side by side.
    Many,
    /// The part has no owner.
    Free,
    /// The part is not available.
    Closed,
    /// The part has a mark on top of its other styles.
    Marked,
}
