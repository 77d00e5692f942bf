//! A picture of boxes in boxes: what is in what, and whose it is.

/// Boxes in boxes. Nothing in it is to scale.
#[derive(Clone, Debug, Default)]
pub struct Picture {
    /// Anchor, unique in the page: lower case letters, digits and hyphens.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// All that it says, for who does not see it.
    pub what: String,
    /// The outermost boxes.
    pub nests: Vec<Nest>,
    /// What its looks mean, in the order in which they are shown.
    pub legend: Vec<(Style, String)>,
}

/// A box with boxes or tiles in it.
#[derive(Clone, Debug, Default)]
pub struct Nest {
    /// What it is.
    pub label: String,
    /// What else is to be known of it, a line each.
    pub details: Vec<String>,
    /// The boxes in it.
    pub nests: Vec<Nest>,
    /// What is in it, where it is an innermost box.
    pub tiles: Vec<Tile>,
}

/// One thing in an innermost box.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    /// What stands above its parts; may be empty.
    pub label: String,
    /// What it is made of, from top to bottom.
    pub parts: Vec<Part>,
}

/// A part of a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// What stands in it.
    pub label: String,
    /// Explanation for who points at it.
    pub hint: String,
    /// Whose it is and how it is marked; several where several have it, none where nobody does.
    pub looks: Vec<Style>,
}

/// How a part is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Style {
    /// In the colour of an owner, by its number.
    Owner(usize),
    /// For more owners than have room beside each other.
    Many,
    /// For nobody.
    Free,
    /// Not to be had.
    Closed,
    /// With a mark on top of whatever else it is.
    Marked,
}
