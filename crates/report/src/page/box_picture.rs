//! A picture of nested boxes and their owners.

/// Nested boxes, not to scale.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Anchor, unique in the page: lower case letters, digits and hyphens.
    pub id: String,
    /// Title of the picture.
    pub title: String,
    /// Text for readers who cannot see it.
    pub what: String,
    /// The outermost boxes.
    pub nests: Vec<BoxGroup>,
    /// Meaning of the styles, in the order in which they are shown.
    pub legend: Vec<(Style, String)>,
}

/// A box with boxes or tiles in it.
#[derive(Clone, Debug, Default)]
pub struct BoxGroup {
    /// Name of the box.
    pub label: String,
    /// Further facts, one per line.
    pub details: Vec<String>,
    /// Inner boxes.
    pub nests: Vec<BoxGroup>,
    /// Content of an innermost box.
    pub tiles: Vec<Leaf>,
}

/// One item in an innermost box.
#[derive(Clone, Debug, Default)]
pub struct Leaf {
    /// Text above its parts; may be empty.
    pub label: String,
    /// Parts from top to bottom.
    pub parts: Vec<Part>,
}

/// A part of a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Text in the part.
    pub label: String,
    /// Text of the tooltip.
    pub hint: String,
    /// Owners and marks. There are several if the part is shared, and none if it has no owner.
    pub looks: Vec<Style>,
}

/// Style of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// Colour of the owner with this number.
    Owner(usize),
    /// More owners than fit side by side.
    Many,
    /// Without an owner.
    Free,
    /// Not available.
    Closed,
    /// A mark on top of any other style.
    Marked,
}
