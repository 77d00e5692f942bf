//! Model of a picture that shows nested boxes and the owners of their parts.

/// A picture of nested boxes. The sizes of the boxes have no meaning.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// HTML anchor, which is unique in the page and consists of lower-case letters, digits and
    /// hyphens.
    pub id: String,
    pub title: String,
    /// Description for readers who cannot see the picture.
    pub what: String,
    pub nests: Vec<BoxGroup>,
    /// Styles and their meanings, in the order of the legend.
    pub legend: Vec<(Style, String)>,
}

#[derive(Clone, Debug, Default)]
pub struct BoxGroup {
    pub label: String,
    pub details: Vec<String>,
    pub nests: Vec<BoxGroup>,
    pub tiles: Vec<Leaf>,
}

#[derive(Clone, Debug, Default)]
pub struct Leaf {
    pub label: String,
    /// Parts of the tile, from top to bottom.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    pub label: String,
    pub hint: String,
    /// Styles for the owners and the mark of the part. A shared part has several owners.
    pub looks: Vec<Style>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// Owner with this index, which determines the colour.
    Owner(usize),
    /// More owners than can be drawn side by side.
    Many,
    Free,
    /// Not available.
    Closed,
    /// Mark on top of the other styles.
    Marked,
}
