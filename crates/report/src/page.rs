//! The page model, which describes the content of a page without its rendering.
//!
//! All text in the model is plain, and each renderer escapes the text for its output format.
//! Numbers in tables are already formatted, but numbers in charts are not.

mod box_picture;
mod columns;
mod headline;
mod icicle;
mod lead_figure;

pub use box_picture::{BoxGroup, Leaf, Part, Picture, Style};
pub use columns::TableBuilder;
pub use headline::{Figure, Headline, NextStep};
pub use icicle::{FrameKind, Icicle, IcicleFrame};
pub use lead_figure::{
    AxisScale, ColorRole, CurvePlot, LeadFigure, Mark as LeadMark, Plot, PlotAxis, RowsPlot,
    ValueRow,
};

use store::record::{self, RuleOutcome};

/// The content of a whole page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Title of the document.
    pub title: String,
    /// Content at the top of the page.
    pub headline: Headline,
    /// Remaining content, in reading order.
    pub folds: Vec<Fold>,
    /// Data that `--json` prints.
    pub data: serde_json::Value,
}

impl Page {
    /// Returns all sections, in reading order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.folds.iter().flat_map(|fold| &fold.sections)
    }
}

/// Sections that answer one question of the reader. The page opens and closes them together.
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
    /// Builds a fold of those sections that exist. `None` if no section exists.
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
        /// Every rule passed.
        Valid = "valid",
        /// Some rule warned.
        Suspect = "suspect",
        /// A rule failed. The result is kept, but is never used in a comparison.
        Invalid = "invalid",
        /// The result has not been judged.
        Unknown = "not judged",
    }
}

impl Verdict {
    /// Returns the verdict of a record. Returns `Unknown` if the record is missing.
    pub fn from_record(judged: Option<record::Verdict>) -> Verdict {
        match judged {
            Some(record::Verdict::Valid) => Verdict::Valid,
            Some(record::Verdict::Suspect) => Verdict::Suspect,
            Some(record::Verdict::Invalid) => Verdict::Invalid,
            None => Verdict::Unknown,
        }
    }

    /// Returns the tone of the verdict.
    pub fn tone(self) -> Tone {
        match self {
            Verdict::Valid => Tone::Good,
            Verdict::Suspect => Tone::Warn,
            Verdict::Invalid => Tone::Bad,
            Verdict::Unknown => Tone::Muted,
        }
    }
}

/// Tone of an element. Renderers must not mark a tone by colour alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// The element has no particular tone.
    #[default]
    Plain,
    /// The element is present, but not reliable.
    Muted,
    /// The reader should see the element first.
    Strong,
    /// A good result.
    Good,
    /// The reader should look at the element.
    Warn,
    /// The element shows that something is wrong.
    Bad,
}

/// One section of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Anchor of the section, which consists of lower-case letters and hyphens.
    pub id: &'static str,
    /// Heading of the section.
    pub title: String,
    /// Introduction of the section, in one or two sentences. It may be empty.
    pub lead: String,
    /// Content of the section.
    pub blocks: Vec<Block>,
}

/// One element of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph of text.
    Text(String),
    /// A highlighted paragraph.
    Note(Tone, String),
    /// A table with a heading for each column.
    Table(Table),
    /// A chart with one or more panels.
    Chart(Chart),
    /// A picture of nested boxes.
    Picture(Picture),
    /// A call tree with costs.
    Icicle(Icicle),
    /// A figure without a script. The text is its anchor, which is unique in the page.
    Figure(&'static str, LeadFigure),
    /// Several charts, from which the reader chooses one chart by its label.
    Choice(String, Vec<(String, Chart)>),
    /// Sentences under a heading. Each sentence is an item of the list.
    List(String, Vec<String>),
    /// Facts, as pairs of name and value.
    Facts(Vec<(String, String)>),
    /// Short marks in a row.
    Marks(Vec<Mark>),
    /// Verbatim text, such as a command or a file.
    Code(String),
    /// Details that are behind a summary.
    Details(String, Vec<Block>),
    /// One item of several, with its facts.
    Card(Card),
}

/// One item of several of the same kind.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// Name of the item.
    pub title: String,
    /// Place of the item, such as the name of a node. It may be empty.
    pub detail: String,
    /// Verdict on the item.
    pub verdict: String,
    /// Tone of the verdict.
    pub tone: Tone,
    /// Facts about the item.
    pub blocks: Vec<Block>,
}

/// A short mark, such as `V3 pass`.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Name of the marked item.
    pub label: String,
    /// Result that the mark states.
    pub result: RuleOutcome,
    /// Tone of the result.
    pub tone: Tone,
    /// Meaning of the mark, with the numbers.
    pub detail: String,
}

/// A table. Every row has one cell for each column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Caption of the table.
    pub caption: String,
    /// Columns of the table, with their headings.
    pub columns: Vec<Column>,
    /// Rows of the body of the table.
    pub rows: Vec<Row>,
    /// Text below the table. It may be empty.
    pub foot: String,
}

/// One column of a table.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Heading of the column.
    pub title: String,
    /// Unit of the numbers in the column. Empty for text.
    pub unit: String,
    /// Alignment of the cells in the column.
    pub align: Align,
    /// True if the terminal omits the column.
    pub wide_only: bool,
}

/// Alignment of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Text is aligned to the left.
    #[default]
    Left,
    /// Numbers are aligned to the right.
    Right,
}

/// One row of a table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Cells of the row.
    pub cells: Vec<Cell>,
    /// Tone of the whole row.
    pub tone: Tone,
}

/// One cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Text of the cell.
    pub text: String,
    /// Smaller text after the main text, such as an error or a count.
    pub detail: String,
    /// Tone of the cell.
    pub tone: Tone,
    /// Text of the cell's tooltip.
    pub hint: String,
    /// Index of the variant that determines the colour of the cell.
    pub variant: Option<usize>,
    /// File to which the cell links, relative to the page. Empty if the cell has no link.
    pub link: String,
}

impl Cell {
    /// Returns a cell with plain text.
    pub fn new(text: impl Into<String>) -> Cell {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// Sets the tone.
    pub fn tone(mut self, tone: Tone) -> Cell {
        self.tone = tone;
        self
    }

    /// Adds smaller text after the main text.
    pub fn detail(mut self, detail: impl Into<String>) -> Cell {
        self.detail = detail.into();
        self
    }

    /// Adds a tooltip.
    pub fn hint(mut self, hint: impl Into<String>) -> Cell {
        self.hint = hint.into();
        self
    }
}

impl Column {
    /// Returns a column that contains text.
    pub fn text(title: &str) -> Column {
        Column {
            title: title.into(),
            ..Column::default()
        }
    }

    /// Returns a column that contains numbers.
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

/// A chart, which has one or more panels in a column with a common horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Explanation of the chart.
    pub what: String,
    /// Height of the chart in CSS pixels.
    pub height_px: u32,
    /// Horizontal axis.
    pub x: Axis,
    /// Panels of the chart, from top to bottom.
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

/// One axis of a chart.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Title of the axis with its unit.
    pub title: String,
    /// Scale of the axis.
    pub scale: Scale,
    /// Names on an axis of names, in order. A series may lack some of these names. On a vertical
    /// axis, the names are at 1, 2, … from the top.
    pub names: Vec<String>,
}

impl Axis {
    /// Returns an axis without names.
    pub fn new(title: impl Into<String>, scale: Scale) -> Axis {
        Axis {
            title: title.into(),
            scale,
            names: Vec::new(),
        }
    }
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear scale that begins at zero.
    #[default]
    Linear,
    /// Logarithmic scale, with ticks at powers of ten.
    Log,
    /// Scale of names, in the order of [`Axis::names`].
    Names,
    /// Scale of 1 ÷ (1 − quantile), with ticks at powers of ten that are labelled with percentiles.
    Percentile,
}

/// One panel of a chart.
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
    /// Vertical axis at the left.
    pub left: Axis,
    /// Vertical axis at the right.
    pub right: Option<Axis>,
    /// Series of the panel.
    pub series: Vec<Series>,
}

/// One series of a chart.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Name of the series in the legend.
    pub name: String,
    /// Group of the series, if any. The lines of a group appear together, and the bars of a group
    /// share a position.
    pub group: String,
    /// True if the legend contains the series.
    pub in_legend: bool,
    /// Shape in which the series is drawn.
    pub shape: Shape,
    /// Colour of the series.
    pub color: Color,
    /// Dash pattern of the series, if it is a line.
    pub dash: Dash,
    /// True if the series belongs to the right axis.
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

/// Positions of the values of a series.
#[derive(Clone, Debug)]
pub enum XValues {
    /// Positions on a numeric axis.
    Numbers(Vec<f64>),
    /// Categories on a categorical axis.
    Names(Vec<String>),
}

impl Default for XValues {
    fn default() -> XValues {
        XValues::Numbers(Vec::new())
    }
}

/// Shape in which a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line without marks.
    #[default]
    Line,
    /// A line through points that are marked.
    Points,
    /// An area on top of the areas before it in the same panel.
    Area,
    /// Marks that are not connected by a line.
    Marks,
    /// Hollow marks that are not connected by a line.
    HollowMarks,
    /// Vertical bars from the axis.
    Bars,
    /// Vertical bars that are hatched, for a trial that is not valid.
    HatchedBars,
}

/// Colour of a series. Renderers have a palette for each kind of colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Colour of one of several unordered items, such as a variant or a kind of operation.
    Category(usize),
    /// Colour of a step of an ordered series. The fields are the index of the step and the number
    /// of steps.
    Ramp(usize, usize),
    /// The colour of errors.
    Error,
    /// The colour of text, for series without a special colour.
    Neutral,
    /// The colour that the figures without a script use for the same meaning.
    Role(ColorRole),
}

impl Default for Color {
    fn default() -> Color {
        Color::Category(0)
    }
}

/// Dash pattern of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    /// The line has no dashes.
    #[default]
    Solid,
    /// A dashed line.
    Dash,
    /// A dotted line.
    Dot,
    /// Alternating dashes and dots.
    DashDot,
}

/// A marked range of the horizontal axis.
#[derive(Clone, Debug)]
pub struct Band {
    /// Start of the band.
    pub from: f64,
    /// End of the band.
    pub to: f64,
    /// Name of the band.
    pub label: String,
    /// Tone of the band.
    pub tone: Tone,
}
