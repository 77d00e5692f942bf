//! The page model: what is said, without how it is drawn.
//!
//! All text in it is plain: a renderer escapes it for its own medium. Numbers in tables are
//! already formatted; numbers in charts are not.

mod columns;
mod headline;
mod lead;
mod picture;

pub use columns::TableBuilder;
pub use headline::{Figure, Headline, NextStep};
pub use lead::{
    CurvePlot, LeadFigure, Mark as LeadMark, Paint, Plot, PlotAxis, RowsPlot, ValueRow,
};
pub use picture::{Nest, Part, Picture, Style, Tile};

use store::record::{self, Outcome};

/// A whole page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Title of the document.
    pub title: String,
    /// What stands above everything else.
    pub headline: Headline,
    /// The rest, in reading order.
    pub folds: Vec<Fold>,
    /// What `--json` prints.
    pub data: serde_json::Value,
}

impl Page {
    /// All sections, in reading order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.folds.iter().flat_map(|fold| &fold.sections)
    }
}

/// Sections that answer one question of the reader, opened and closed together.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Anchor: lower case letters and hyphens.
    pub id: &'static str,
    /// What its sections are about, in a word or two.
    pub title: String,
    /// Whether it is open at first.
    pub is_open: bool,
    /// What is in it, in reading order; not empty.
    pub sections: Vec<Section>,
}

impl Fold {
    /// One of those sections that there are; none of none.
    pub fn of(
        id: &'static str,
        title: &str,
        is_open: bool,
        sections: impl IntoIterator<Item = Option<Section>>,
    ) -> Option<Fold> {
        let sections: Vec<Section> = sections.into_iter().flatten().collect();
        (!sections.is_empty()).then(|| Fold {
            id,
            title: title.to_owned(),
            is_open,
            sections,
        })
    }
}

measure::word_enum! {
    /// Whether a result may be believed.
    #[derive(PartialOrd, Ord)]
    pub enum Verdict {
        /// Every rule passed.
        Valid = "valid",
        /// Some rule warned.
        Suspect = "suspect",
        /// Some rule failed; kept, and never used in a comparison.
        Invalid = "invalid",
        /// Not judged (yet).
        Unknown = "not judged",
    }
}

impl Verdict {
    /// That of a record; of none, that nobody has judged.
    pub fn of(judged: Option<record::Verdict>) -> Verdict {
        match judged {
            Some(record::Verdict::Valid) => Verdict::Valid,
            Some(record::Verdict::Suspect) => Verdict::Suspect,
            Some(record::Verdict::Invalid) => Verdict::Invalid,
            None => Verdict::Unknown,
        }
    }

    /// How it is to be marked.
    pub fn tone(self) -> Tone {
        match self {
            Verdict::Valid => Tone::Good,
            Verdict::Suspect => Tone::Warn,
            Verdict::Invalid => Tone::Bad,
            Verdict::Unknown => Tone::Muted,
        }
    }
}

/// How something is to be taken. A renderer marks it with more than colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// There, and not to be relied on.
    Muted,
    /// Worth seeing first.
    Strong,
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Something is wrong.
    Bad,
}

/// One part of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Anchor: lower case letters and hyphens.
    pub id: &'static str,
    /// The heading.
    pub title: String,
    /// What it shows, in a sentence or two; may be empty.
    pub lead: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph to be seen.
    Note(Tone, String),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
    /// A picture of boxes in boxes.
    Picture(Picture),
    /// One of several charts, to be chosen by its label.
    Choice(String, Vec<(String, Chart)>),
    /// Sentences, one item each, under a heading.
    List(String, Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Short marks in a row: label, tone, and what it means.
    Marks(Vec<Mark>),
    /// Text to be kept as it is: a command, a file.
    Code(String),
    /// Something for who wants to know more, behind its summary.
    Details(String, Vec<Block>),
    /// One thing among others of its kind, with all that is known of it.
    Card(Card),
}

/// One thing among others of its kind.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// What it is.
    pub title: String,
    /// Where it belongs to; may be empty.
    pub detail: String,
    /// How it was judged.
    pub verdict: String,
    /// How that is to be taken.
    pub tone: Tone,
    /// What is known of it.
    pub blocks: Vec<Block>,
}

/// A short mark: `V3 pass`.
#[derive(Clone, Debug)]
pub struct Mark {
    /// What is marked.
    pub label: String,
    /// How it came out.
    pub result: Outcome,
    /// How it is to be taken.
    pub tone: Tone,
    /// What it means, with the numbers.
    pub detail: String,
}

/// A table. Every row has as many cells as there are columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The columns, with their headings.
    pub columns: Vec<Column>,
    /// The rows of the body.
    pub rows: Vec<Row>,
    /// What is to be said below it; may be empty.
    pub foot: String,
}

/// One column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The heading.
    pub title: String,
    /// Unit of its numbers; empty for text.
    pub unit: String,
    /// Which way its cells lean.
    pub align: Align,
    /// Whether the terminal leaves it out.
    pub wide_only: bool,
}

/// Which way cells lean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Text is aligned to the left.
    #[default]
    Left,
    /// Numbers are aligned to the right.
    Right,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Its cells.
    pub cells: Vec<Cell>,
    /// How the whole row is to be taken.
    pub tone: Tone,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// Smaller, behind it: its error, its count.
    pub detail: String,
    /// How it is to be taken.
    pub tone: Tone,
    /// Explanation for who points at it.
    pub hint: String,
    /// Index of the variant, for its colour.
    pub variant: Option<usize>,
    /// A file that it leads to, relative to the page; empty for none.
    pub link: String,
}

impl Cell {
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// The same with a tone.
    pub fn tone(mut self, tone: Tone) -> Cell {
        self.tone = tone;
        self
    }

    /// The same with something smaller behind it.
    pub fn detail(mut self, detail: impl Into<String>) -> Cell {
        self.detail = detail.into();
        self
    }

    /// The same with an explanation.
    pub fn hint(mut self, hint: impl Into<String>) -> Cell {
        self.hint = hint.into();
        self
    }
}

impl Column {
    /// A column of text.
    pub fn text(title: &str) -> Column {
        Column {
            title: title.into(),
            ..Column::default()
        }
    }

    /// A column of numbers.
    pub fn number(title: &str, unit: &str) -> Column {
        Column {
            title: title.into(),
            unit: unit.into(),
            align: Align::Right,
            wide_only: false,
        }
    }

    /// The same, left out where there is little room.
    pub fn wide(mut self) -> Column {
        self.wide_only = true;
        self
    }
}

/// A chart: panels above each other over one horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub what: String,
    /// Height in CSS pixels.
    pub height_px: u32,
    /// Horizontal axis.
    pub x: Axis,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Gap between panels in CSS pixels; 0 for a share of the height.
    pub gap_px: u32,
    /// Stretches of the horizontal axis that a reader can jump to: name, begin and end.
    pub views: Vec<(String, [f64; 2])>,
    /// Stretches of the horizontal axis that are marked.
    pub bands: Vec<Band>,
    /// Whether pointing shows all series at that place at once.
    pub unified_hover: bool,
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// What it is, with its unit.
    pub title: String,
    /// How it is divided.
    pub scale: Scale,
    /// The names on an axis of names, in their order: series may lack some. On a vertical axis they
    /// stand at 1, 2, … from above.
    pub names: Vec<String>,
}

impl Axis {
    /// One without names.
    pub fn new(title: impl Into<String>, scale: Scale) -> Axis {
        Axis {
            title: title.into(),
            scale,
            names: Vec::new(),
        }
    }
}

/// How an axis is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// From zero, evenly.
    #[default]
    Linear,
    /// By powers of ten.
    Log,
    /// Names, in the order of [`Axis::names`].
    Names,
    /// 1 ÷ (1 − quantile), by powers of ten, labelled with percentiles.
    Percentile,
}

/// One panel of a chart.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// What it shows, above it; may be empty.
    pub title: String,
    /// Instead of axes and series: why there are none; may be empty.
    pub note: String,
    /// Share of the height.
    pub share: f64,
    /// Vertical axis at the left.
    pub left: Axis,
    /// Vertical axis at the right.
    pub right: Option<Axis>,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// One series of a chart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Lines of one group are switched together, bars of one group stand in one place; may be
    /// empty.
    pub group: String,
    /// Whether the legend names it.
    pub in_legend: bool,
    /// How it is drawn.
    pub shape: Shape,
    /// Its colour.
    pub color: Color,
    /// How its line is broken.
    pub dash: Dash,
    /// Whether it belongs to the right axis.
    pub on_right: bool,
    /// Where; empty for a name in the legend that stands for the other series of its group.
    pub x: Xs,
    /// How much; none leaves a gap.
    pub y: Vec<Option<f64>>,
    /// 95 % confidence intervals of `y`, low and high; empty for none.
    pub y_ci: Vec<Option<[f64; 2]>>,
    /// The same of places that are numbers.
    pub x_ci: Vec<Option<[f64; 2]>>,
    /// Text beside the points; empty for none.
    pub labels: Vec<String>,
    /// Unit for who points at it.
    pub unit: String,
}

/// Where the values of a series stand.
#[derive(Clone, Debug)]
pub enum Xs {
    /// On a numeric axis.
    Numbers(Vec<f64>),
    /// On an axis of names.
    Names(Vec<String>),
}

impl Default for Xs {
    fn default() -> Xs {
        Xs::Numbers(Vec::new())
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line.
    #[default]
    Line,
    /// A line through marked points.
    Points,
    /// An area on top of the areas before it in the same panel.
    Area,
    /// Marks without a line.
    Marks,
    /// Upright bars.
    Bars,
    /// Upright bars, hatched: the trial is not valid.
    HatchedBars,
}

/// The colour of a series. A renderer has a palette for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One of several unordered things: a variant, a kind.
    Category(usize),
    /// Step of an ordered series: index and how many there are.
    Ramp(usize, usize),
    /// The colour of errors.
    Error,
    /// None: as text.
    Neutral,
}

impl Default for Color {
    fn default() -> Color {
        Color::Category(0)
    }
}

/// How a line is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// Not at all.
    #[default]
    Solid,
    /// A dashed line.
    Dash,
    /// A dotted line.
    Dot,
    /// Dashes and dots in turn.
    DashDot,
}

/// A marked stretch of the horizontal axis.
#[derive(Clone, Debug)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What it is.
    pub label: String,
    /// How it is to be taken.
    pub tone: Tone,
}
