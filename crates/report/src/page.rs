//! The page model: the content, without its rendering.
//!
//! All text in it is plain: a renderer escapes it for its own medium. Numbers in tables are already
//! formatted; numbers in charts are not.

mod box_picture;
mod columns;
mod headline;
mod lead_figure;

pub use box_picture::{BoxGroup, Leaf, Part, Picture, Style};
pub use columns::TableBuilder;
pub use headline::{Figure, Headline, NextStep};
pub use lead_figure::{
    AxisScale, ColorRole, CurvePlot, LeadFigure, Mark as LeadMark, Plot, PlotAxis, RowsPlot,
    ValueRow,
};

use store::record::{self, RuleOutcome};

/// A whole page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Title of the document.
    pub title: String,
    /// Content above all other content.
    pub headline: Headline,
    /// The rest, in reading order.
    pub folds: Vec<Fold>,
    /// Data for `--json`.
    pub data: serde_json::Value,
}

impl Page {
    /// Returns all sections, in reading order.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.folds.iter().flat_map(|fold| &fold.sections)
    }
}

/// Sections that answer one question of the reader, opened and closed together.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Anchor: lower case letters and hyphens.
    pub id: &'static str,
    /// Subject of its sections, in a word or two.
    pub title: String,
    /// True if it is open at first.
    pub is_open: bool,
    /// Its sections, in reading order; not empty.
    pub sections: Vec<Section>,
}

impl Fold {
    /// Makes a fold of the existing sections. `None` if there are none.
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
        /// A rule failed. The result is kept, but never used in a comparison.
        Invalid = "invalid",
        /// Not judged (yet).
        Unknown = "not judged",
    }
}

impl Verdict {
    /// Returns the verdict of a record; `Unknown` without one.
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

/// Tone of an element. A renderer marks it not only by colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// No judgement.
    #[default]
    Plain,
    /// Present, but not reliable.
    Muted,
    /// Worth seeing first.
    Strong,
    /// A good result.
    Good,
    /// The reader should look at it.
    Warn,
    /// Something is wrong.
    Bad,
}

/// One part of the page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Anchor: lower case letters and hyphens.
    pub id: &'static str,
    /// Heading of the section.
    pub title: String,
    /// Introduction of one or two sentences; may be empty.
    pub lead: String,
    /// Content of the section.
    pub blocks: Vec<Block>,
}

/// One element of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A highlighted paragraph.
    Note(Tone, String),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
    /// A picture of boxes in boxes.
    Picture(Picture),
    /// Several charts to choose from by label.
    Choice(String, Vec<(String, Chart)>),
    /// Sentences, one item each, under a heading.
    List(String, Vec<String>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Short marks in a row: label, tone, and meaning.
    Marks(Vec<Mark>),
    /// Verbatim text: a command, a file.
    Code(String),
    /// Details, behind a summary.
    Details(String, Vec<Block>),
    /// One item among others of its kind, with its facts.
    Card(Card),
}

/// One item among others of its kind.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// Name of the item.
    pub title: String,
    /// Place of the item; may be empty.
    pub detail: String,
    /// Verdict on the item.
    pub verdict: String,
    /// Tone of the verdict.
    pub tone: Tone,
    /// Facts about the item.
    pub blocks: Vec<Block>,
}

/// A short mark: `V3 pass`.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Marked item.
    pub label: String,
    /// Result of the item.
    pub result: RuleOutcome,
    /// Tone of the result.
    pub tone: Tone,
    /// Meaning, with the numbers.
    pub detail: String,
}

/// A table. Every row has the same number of cells as there are columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Caption of the table.
    pub caption: String,
    /// The columns, with their headings.
    pub columns: Vec<Column>,
    /// Rows of the body.
    pub rows: Vec<Row>,
    /// Text below the table; may be empty.
    pub foot: String,
}

/// One column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Heading of the column.
    pub title: String,
    /// Unit of its numbers; empty for text.
    pub unit: String,
    /// Alignment of its cells.
    pub align: Align,
    /// True if the terminal leaves it out.
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

/// One row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Cells of the row.
    pub cells: Vec<Cell>,
    /// Tone of the whole row.
    pub tone: Tone,
}

/// One cell.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Text of the cell.
    pub text: String,
    /// Smaller text behind it: its error, its count.
    pub detail: String,
    /// Tone of the cell.
    pub tone: Tone,
    /// Text of the tooltip.
    pub hint: String,
    /// Index of the variant, for its colour.
    pub variant: Option<usize>,
    /// Linked file, relative to the page; empty for none.
    pub link: String,
}

impl Cell {
    /// Returns a plain cell.
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

    /// Adds smaller text behind it.
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
    /// Returns a column of text.
    pub fn text(title: &str) -> Column {
        Column {
            title: title.into(),
            ..Column::default()
        }
    }

    /// Returns a column of numbers.
    pub fn number(title: &str, unit: &str) -> Column {
        Column {
            title: title.into(),
            unit: unit.into(),
            align: Align::Right,
            wide_only: false,
        }
    }

    /// Leaves the column out if space is limited.
    pub fn wide(mut self) -> Column {
        self.wide_only = true;
        self
    }
}

/// A chart: panels in a column, with one horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Explanation of the table.
    pub what: String,
    /// Height in CSS pixels.
    pub height_px: u32,
    /// Horizontal axis.
    pub x: Axis,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Gap between panels in CSS pixels; 0 for a share of the height.
    pub gap_px: u32,
    /// Stretches of the horizontal axis to which a reader can jump: name, start and end.
    pub views: Vec<(String, [f64; 2])>,
    /// Stretches of the horizontal axis that are marked.
    pub bands: Vec<Band>,
    /// True if the tooltip shows all series at the pointer's position together.
    pub unified_hover: bool,
}

/// One axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Title with its unit.
    pub title: String,
    /// Scale of the axis.
    pub scale: Scale,
    /// Names on an axis of names, in order. Series may lack some of them. On a vertical axis, they
    /// are at 1, 2, … from the top.
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
    /// Linear, from zero.
    #[default]
    Linear,
    /// Logarithmic, by powers of ten.
    Log,
    /// Names, in the order of [`Axis::names`].
    Names,
    /// 1 ÷ (1 − quantile), by powers of ten, labelled with percentiles.
    Percentile,
}

/// One panel of a chart.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Title above it; may be empty.
    pub title: String,
    /// Reason why there are no axes and series, shown instead of them; may be empty.
    pub note: String,
    /// Share of the height.
    pub share: f64,
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
    /// Name in the legend.
    pub name: String,
    /// Group: its lines are shown and hidden together, and its bars share a position. May be empty.
    pub group: String,
    /// True if the legend names it.
    pub in_legend: bool,
    /// Shape of the series.
    pub shape: Shape,
    /// Colour of the series.
    pub color: Color,
    /// Dash pattern of its line.
    pub dash: Dash,
    /// True if it belongs to the right axis.
    pub on_right: bool,
    /// Positions. Empty for a name in the legend that represents the other series of its group.
    pub x: XValues,
    /// Values; `None` leaves a gap.
    pub y: Vec<Option<f64>>,
    /// 95 % confidence intervals of `y`, low and high; may be empty.
    pub y_ci: Vec<Option<[f64; 2]>>,
    /// 95 % confidence intervals of numeric positions; may be empty.
    pub x_ci: Vec<Option<[f64; 2]>>,
    /// Text next to the points. May be empty.
    pub labels: Vec<String>,
    /// Unit for the tooltip.
    pub unit: String,
}

/// Positions of the values of a series.
#[derive(Clone, Debug)]
pub enum XValues {
    /// On a numeric axis.
    Numbers(Vec<f64>),
    /// On an axis of names.
    Names(Vec<String>),
}

impl Default for XValues {
    fn default() -> XValues {
        XValues::Numbers(Vec::new())
    }
}

/// Shape of a series.
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
    /// Vertical bars, hatched: the trial is not valid.
    HatchedBars,
}

/// Colour of a series. A renderer has a palette for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// One of several unordered items: a variant, a kind.
    Category(usize),
    /// Step of an ordered series: index and number of steps.
    Ramp(usize, usize),
    /// The colour of errors.
    Error,
    /// No special colour, but that of text.
    Neutral,
}

impl Default for Color {
    fn default() -> Color {
        Color::Category(0)
    }
}

/// Dash pattern of a line.
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
    /// Start of the band.
    pub from: f64,
    /// End of the band.
    pub to: f64,
    /// Name of the band.
    pub label: String,
    /// Tone of the band.
    pub tone: Tone,
}
