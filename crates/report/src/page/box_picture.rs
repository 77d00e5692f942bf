//! A picture of nested boxes and their owners.

/// A picture of nested boxes, which is not to scale.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Anchor, which is unique in the page and consists of lower-case letters, digits and hyphens.
    pub id: String,
    /// Title of the picture.
    pub title: String,
    /// Description for readers who cannot see the picture.
    pub what: String,
    /// The outermost boxes of the picture.
    pub nests: Vec<BoxGroup>,
    /// Meanings of the styles, in the order of the legend.
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
    /// Content of an innermost box.
    pub tiles: Vec<Leaf>,
}

/// One item in an innermost box.
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
    /// Owners and marks of the part. A shared part has several owners. The list is empty if the
    /// part has no owner.
    pub looks: Vec<Style>,
}

/// Style of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// Colour of the owner with this number.
    Owner(usize),
    /// The part has more owners than can be drawn side by side.
    Many,
    /// The part has no owner.
    Free,
    /// The part is not available.
    Closed,
    /// A mark on top of any other style.
    Marked,
}
