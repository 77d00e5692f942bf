//! Model of the figure at the top of a page, which answers the question at a glance. The page
//! contains two drawings of the figure, for wide and for narrow pages. The drawings need no script.

/// Plots that answer a question, with a title and a legend.
#[derive(Clone, Debug, Default)]
pub struct LeadFigure {
    /// Title of the figure.
    pub title: String,
    /// Description for readers who cannot see the figure.
    pub what: String,
    /// Plots of the figure. They are side by side if the page is wide enough, and in one column
    /// otherwise.
    pub plots: Vec<Plot>,
    /// Meanings of the colours, if the names of the marks do not show them.
    pub legend: Vec<(ColorRole, String)>,
    /// Remark on all plots. The text is below the plots, and may be empty.
    pub says: String,
}

/// One plot of the figure.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Marks in a plot with two numeric axes.
    Curve(CurvePlot),
    /// A row for each name, with a value and its interval. The rows are one below the other.
    Rows(RowsPlot),
}

/// Plot with two numeric axes.
#[derive(Clone, Debug, Default)]
pub struct CurvePlot {
    /// Horizontal axis of the plot.
    pub x: PlotAxis,
    /// Vertical axis of the plot. Its title is above the plot.
    pub y: PlotAxis,
    /// Summary in sentences, below the title of the vertical axis. It may be empty.
    pub says: String,
    /// Marks of the plot. Later marks are drawn over earlier marks.
    pub marks: Vec<Mark>,
}

impl CurvePlot {
    /// Returns a plot of latency over the percentile. A horizontal value of `n` means that one of
    /// `n` operations takes longer, so 100 is p99.
    pub fn for_percentiles(marks: Vec<Mark>) -> CurvePlot {
        CurvePlot {
            x: PlotAxis {
                title: "percentile".into(),
                scale: AxisScale::Percentile,
                ticks: vec![2.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7],
            },
            y: PlotAxis {
                title: "latency, ms".into(),
                scale: AxisScale::Logarithmic,
                ..PlotAxis::default()
            },
            marks,
            ..CurvePlot::default()
        }
    }
}

/// An axis of numbers.
#[derive(Clone, Debug, Default)]
pub struct PlotAxis {
    /// Title of the axis with its unit.
    pub title: String,
    /// Scale of the axis.
    pub scale: AxisScale,
    /// Values that each have a tick, for an axis with few values. If the list is empty, ticks are
    /// at round numbers.
    pub ticks: Vec<f64>,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Linear scale around the values.
    #[default]
    Linear,
    /// Linear scale that always begins at zero.
    FromZero,
    /// Logarithmic scale around the values.
    Logarithmic,
    /// Logarithmic scale of percentiles. At the value n, one operation in n is slower than the
    /// percentile. For example, 100 has the label p99.
    Percentile,
}

impl AxisScale {
    /// Returns a logarithmic scale if `is_log` is true, and otherwise a scale that begins at zero.
    pub fn log_or_zero(is_log: bool) -> AxisScale {
        if is_log {
            AxisScale::Logarithmic
        } else {
            AxisScale::FromZero
        }
    }

    /// Returns true if the scale is logarithmic.
    pub fn is_log(self) -> bool {
        matches!(self, AxisScale::Logarithmic | AxisScale::Percentile)
    }
}

/// One mark in a plot with two axes.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points. A value of `None` leaves a gap.
    Line {
        /// Points of the line, as horizontal and vertical values.
        points: Vec<(f64, Option<f64>)>,
        /// Colour of the mark.
        paint: ColorRole,
        /// True if the line is dashed.
        is_dashed: bool,
        /// Text at the end of the line. It may be empty.
        label: String,
    },
    /// A single point with its interval.
    Dot {
        /// Horizontal value of the mark.
        x: f64,
        /// Vertical value of the mark.
        y: f64,
        /// 95 % interval of the vertical value.
        ci95: Option<[f64; 2]>,
        /// Colour of the mark.
        paint: ColorRole,
        /// Text of the tooltip.
        hint: String,
    },
    /// A horizontal line across the plot, for a limit or a baseline.
    Across {
        /// Vertical value of the mark.
        y: f64,
        /// Name of the line.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
    /// A vertical line across the plot, for a knee or a change.
    Upright {
        /// Horizontal value of the mark.
        x: f64,
        /// Name of the line.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
    /// A range of the horizontal axis, for a result or an outage.
    Band {
        /// Start of the range.
        from: f64,
        /// End of the range.
        to: f64,
        /// Name of the range. It may be empty.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
}

/// A forest plot, with a value and its interval for each name.
#[derive(Clone, Debug, Default)]
pub struct RowsPlot {
    /// Title of the plot, including the unit of the values.
    pub title: String,
    /// Value that means no difference, such as 1 for a ratio.
    pub baseline: Option<f64>,
    /// True if the axis is logarithmic.
    pub is_log: bool,
    /// Rows of the plot, from top to bottom.
    pub rows: Vec<ValueRow>,
}

impl RowsPlot {
    /// Describes the intervals of the rows. The description is exact even if only some rows have an
    /// interval.
    pub fn intervals_note(rows: &[ValueRow]) -> &'static str {
        let known = rows.iter().filter(|row| row.ci95.is_some()).count();
        match known {
            0 => "without intervals",
            _ if known == rows.len() => "95 % intervals",
            _ => "95 % intervals, where known",
        }
    }
}

/// One row of a forest plot.
#[derive(Clone, Debug, Default)]
pub struct ValueRow {
    /// Name of the row.
    pub label: String,
    /// Value of the row. `None` if the value is unknown.
    pub value: Option<f64>,
    /// 95 % interval of the value.
    pub ci95: Option<[f64; 2]>,
    /// Published value, which is drawn next to the measured value. Low and high end are equal if
    /// the source published a single value.
    pub other: Option<[f64; 2]>,
    /// The value as text.
    pub text: String,
    /// Colour of the row.
    pub paint: ColorRole,
}

/// Meaning that a colour expresses. Renderers have a colour for each meaning, for light and for
/// dark screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorRole {
    /// One of several unordered items, such as a variant.
    Category(usize),
    /// One of several unordered items in an invalid trial. It is drawn hollow.
    Hollow(usize),
    /// A good result.
    Good,
    /// A good result of a disturbed trial. It is drawn hollow.
    GoodHollow,
    /// A result that the reader should look at.
    Warn,
    /// An error, or a limit.
    Bad,
    /// A result that is present, but not reliable.
    Muted,
    /// The colour of the text.
    #[default]
    Text,
}

impl ColorRole {
    /// Returns true if renderers draw the mark hollow.
    pub fn is_hollow(self) -> bool {
        matches!(self, ColorRole::Hollow(_) | ColorRole::GoodHollow)
    }
}
