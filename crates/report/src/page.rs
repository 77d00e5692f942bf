//! The page model, which describes the content of a page without its rendering.
//!
//! All text in the model is plain, and each renderer escapes the text for its output format.
//! Numbers in tables are already formatted, but numbers in charts are not.

mod box_picture;
mod columns;
mod headline;
mod icicle;
mod lead_figure;
mod texts;

pub use box_picture::{BoxGroup, Leaf, Part, Picture, Style};
pub use columns::TableBuilder;
pub use headline::{Figure, Headline, NextStep};
pub use icicle::{FrameKind, Icicle, IcicleFrame};
pub use lead_figure::{
    AxisScale, ColorRole, CurvePlot, LeadFigure, Mark as LeadMark, Plot, PlotAxis, RowsPlot,
    ValueRow,
};
pub use texts::Change;

use store::record::{self, RuleOutcome};

#[derive(Clone, Debug)]
pub struct Page {
    pub title: String,
    pub headline: Headline,
    pub folds: Vec<Fold>,
    /// Data that `--json` prints.
    pub data: serde_json::Value,
}

impl Page {
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.folds.iter().flat_map(|fold| &fold.sections)
    }
}

/// A group of sections that answer one question. The page opens and closes them together.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Anchor of the fold, which consists of lower-case letters and hyphens.
    pub id: &'static str,
    /// Subject of the sections, in a word or two.
    pub title: String,
    /// True if the fold is initially open.
    pub is_open: bool,
    /// Sections of the fold, in reading order. The list is never empty.
    pub sections: Vec<Section>,
}

impl Fold {
    /// Builds a fold of the sections that exist. Returns `None` if no section exists.
    pub fn with_sections(
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
    /// Usability of a result.
    #[derive(PartialOrd, Ord)]
    pub enum Verdict {
        Valid = "valid",
        Suspect = "suspect",
        /// A rule failed. cassay keeps the result, but never uses it in a comparison.
        Invalid = "invalid",
        Unknown = "not judged",
    }
}

impl Verdict {
    pub fn from_record(judged: Option<record::Verdict>) -> Verdict {
        match judged {
            Some(record::Verdict::Valid) => Verdict::Valid,
            Some(record::Verdict::Suspect) => Verdict::Suspect,
            Some(record::Verdict::Invalid) => Verdict::Invalid,
            None => Verdict::Unknown,
        }
    }

    pub fn tone(self) -> Tone {
        match self {
            Verdict::Valid => Tone::Good,
            Verdict::Suspect => Tone::Warn,
            Verdict::Invalid => Tone::Bad,
            Verdict::Unknown => Tone::Muted,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// An element without a particular tone.
    #[default]
    Plain,
    /// An element that is not reliable.
    Muted,
    /// An element that the reader should see first.
    Strong,
    Good,
    /// An element that the reader should look at.
    Warn,
    Bad,
}

#[derive(Clone, Debug)]
pub struct Section {
    pub id: &'static str,
    pub title: String,
    /// Introduction of the section, in one or two sentences. It may be empty.
    pub lead: String,
    /// Content of the section.
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub enum Block {
    Text(String),
    Note(Tone, String),
    Table(Table),
    Chart(Chart),
    Picture(Picture),
    Icicle(Icicle),
    /// A figure without a script. The text is its anchor, which is unique in the page.
    Figure(&'static str, LeadFigure),
    /// Several charts, from which the reader chooses one chart by its label.
    Choice(String, Vec<(String, Chart)>),
    /// Sentences under a heading. Each sentence is an item of the list.
    List(String, Vec<String>),
    Facts(Vec<(String, String)>),
    Marks(Vec<Mark>),
    Code(String),
    /// A summary, with blocks that are hidden until the reader opens them.
    Details(String, Vec<Block>),
    Card(Card),
}

#[derive(Clone, Debug, Default)]
pub struct Card {
    pub title: String,
    /// Location of the item, such as the name of a node. It may be empty.
    pub detail: String,
    pub verdict: String,
    pub tone: Tone,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
pub struct Mark {
    pub label: String,
    /// Result that the mark states.
    pub result: RuleOutcome,
    pub tone: Tone,
    /// Explanation of the result, with its numbers.
    pub detail: String,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    /// Text below the table. It may be empty.
    pub foot: String,
}

#[derive(Clone, Debug, Default)]
pub struct Column {
    pub title: String,
    /// Unit of the numbers in the column. Empty for text.
    pub unit: String,
    pub align: Align,
    /// True if the terminal omits the column.
    pub wide_only: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    #[default]
    Left,
    Right,
}

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub cells: Vec<Cell>,
    /// Tone of the whole row.
    pub tone: Tone,
}

#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub text: String,
    /// Smaller text after the main text, such as an error or a count.
    pub detail: String,
    pub tone: Tone,
    pub hint: String,
    /// Index of the variant that determines the colour of the cell.
    pub variant: Option<usize>,
    /// File to which the cell links, relative to the page. Empty if the cell has no link.
    pub link: String,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    pub fn tone(mut self, tone: Tone) -> Cell {
        self.tone = tone;
        self
    }

    pub fn detail(mut self, detail: impl Into<String>) -> Cell {
        self.detail = detail.into();
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Cell {
        self.hint = hint.into();
        self
    }
}

impl Column {
    pub fn text(title: &str) -> Column {
        Column {
            title: title.into(),
            ..Column::default()
        }
    }

    pub fn number(title: &str, unit: &str) -> Column {
        Column {
            title: title.into(),
            unit: unit.into(),
            align: Align::Right,
            wide_only: false,
        }
    }

    /// Marks the column as optional. Renderers omit an optional column if space is limited.
    pub fn wide(mut self) -> Column {
        self.wide_only = true;
        self
    }
}

#[derive(Clone, Debug, Default)]
pub struct Chart {
    pub title: String,
    pub what: String,
    /// Height of the chart in CSS pixels.
    pub height_px: u32,
    pub x: Axis,
    pub panels: Vec<Panel>,
    /// Gap between panels in CSS pixels. If it is 0, the gap is a share of the height.
    pub gap_px: u32,
    /// Ranges of the horizontal axis to which a reader can jump, with name, start and end.
    pub views: Vec<(String, [f64; 2])>,
    /// Ranges of the horizontal axis that are marked.
    pub bands: Vec<Band>,
    /// True if the tooltip shows the values of all series at the position of the pointer.
    pub unified_hover: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Axis {
    pub title: String,
    pub scale: Scale,
    /// Names on an axis of names, in order. A series may lack some of these names. On a vertical
    /// axis, the names are at 1, 2, … from the top.
    pub names: Vec<String>,
}

impl Axis {
    pub fn new(title: impl Into<String>, scale: Scale) -> Axis {
        Axis {
            title: title.into(),
            scale,
            names: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Linear,
    /// Logarithmic scale, with ticks at powers of ten.
    Log,
    /// Scale of names, in the order of [`Axis::names`].
    Names,
    /// Scale of 1 ÷ (1 − quantile), with ticks at powers of ten that are labelled with percentiles.
    Percentile,
}

#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Title above the panel. It may be empty.
    pub title: String,
    /// Text that states why the panel is empty, and replaces its content. Empty if the panel has
    /// content.
    pub note: String,
    /// Share of the chart's height.
    pub share: f64,
    /// Range of the horizontal axis whose values determine the vertical axis at the left. `None` if
    /// all values determine this axis.
    pub fit: Option<[f64; 2]>,
    pub left: Axis,
    pub right: Option<Axis>,
    pub series: Vec<Series>,
}

#[derive(Clone, Debug, Default)]
pub struct Series {
    pub name: String,
    /// Group of the series, if any. The lines of a group appear together, and the bars of a group
    /// share a position.
    pub group: String,
    /// True if the legend contains the series.
    pub in_legend: bool,
    pub shape: Shape,
    pub color: Color,
    pub dash: Dash,
    pub on_right: bool,
    /// Positions of the values. Empty for an entry in the legend that represents the other series
    /// of its group.
    pub x: XValues,
    /// Values of the series. `None` leaves a gap.
    pub y: Vec<Option<f64>>,
    /// 95 % confidence intervals of `y`, as low and high ends. The list may be empty.
    pub y_ci: Vec<Option<[f64; 2]>>,
    /// 95 % confidence intervals of numeric positions. The list may be empty.
    pub x_ci: Vec<Option<[f64; 2]>>,
    /// Text next to the points. The list may be empty.
    pub labels: Vec<String>,
    /// Unit that the tooltip shows.
    pub unit: String,
}

#[derive(Clone, Debug)]
pub enum XValues {
    Numbers(Vec<f64>),
    /// Names on an axis of names.
    Names(Vec<String>),
}

impl Default for XValues {
    fn default() -> XValues {
        XValues::Numbers(Vec::new())
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line without marks.
    #[default]
    Line,
    /// A line through points that are marked.
    Points,
    /// An area that is stacked on the areas before it in the same panel.
    Area,
    /// Marks that are not connected by a line.
    Marks,
    /// Hollow marks that are not connected by a line.
    HollowMarks,
    Bars,
    /// Vertical bars that are hatched, for a trial that is not valid.
    HatchedBars,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Colour of one of several unordered items, such as a variant or a kind of operation.
    Category(usize),
    /// Colour of a step of an ordered series. The fields are the index of the step and the number
    /// of steps.
    Ramp(usize, usize),
    Error,
    /// The colour of text, for a series without a meaning that has a colour.
    Neutral,
    /// The colour that the figures without a script use for the same meaning.
    Role(ColorRole),
}

impl Default for Color {
    fn default() -> Color {
        Color::Category(0)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    #[default]
    Solid,
    Dash,
    Dot,
    DashDot,
}

/// A marked range of the horizontal axis.
#[derive(Clone, Debug)]
pub struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
    pub tone: Tone,
}
