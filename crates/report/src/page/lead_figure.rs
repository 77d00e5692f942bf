//! The figure that answers the question at a glance, at the top of a page. It is drawn without a
//! script, and a second time in other proportions for a narrow page.

/// One or two plots that answer the question.
#[derive(Clone, Debug, Default)]
pub struct LeadFigure {
    /// Title of the figure.
    pub title: String,
    /// Text for readers who cannot see it.
    pub what: String,
    /// Plots, side by side if there is space, otherwise in one column.
    pub plots: Vec<Plot>,
    /// Meaning of the colours, if the names of the marks do not show it.
    pub legend: Vec<(ColorRole, String)>,
    /// Remark on all plots, below them; may be empty.
    pub says: String,
}

/// One plot.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Marks over two axes of numbers.
    Curve(CurvePlot),
    /// A value with its interval for each name, one below the other.
    Rows(RowsPlot),
}

/// Plot with two numeric axes.
#[derive(Clone, Debug, Default)]
pub struct CurvePlot {
    /// Horizontal axis of the plot.
    pub x: PlotAxis,
    /// Vertical axis, whose title is above the plot.
    pub y: PlotAxis,
    /// Summary in sentences below that title; may be empty.
    pub says: String,
    /// Marks, the lowest first.
    pub marks: Vec<Mark>,
}

impl CurvePlot {
    /// Returns a plot of latency over the percentile. A horizontal value n means that one of n
    /// operations takes longer: 100 is p99.
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
    /// Title with its unit.
    pub title: String,
    /// Division of the axis.
    pub scale: AxisScale,
    /// Values that each have a tick, if there are few. Otherwise, ticks are at round numbers.
    pub ticks: Vec<f64>,
}

/// Division of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisScale {
    /// Linear, around the values.
    #[default]
    Linear,
    /// Linear from zero, regardless of the smallest value.
    FromZero,
    /// Logarithmic, around the values.
    Logarithmic,
    /// Logarithmic. A value n means that one of n operations takes longer. Its label is the
    /// percentile.
    Percentile,
}

impl AxisScale {
    /// Returns the scale of latencies, or that of throughput.
    pub fn log_or_zero(is_log: bool) -> AxisScale {
        if is_log {
            AxisScale::Logarithmic
        } else {
            AxisScale::FromZero
        }
    }

    /// Returns true for a logarithmic axis.
    pub fn is_log(self) -> bool {
        matches!(self, AxisScale::Logarithmic | AxisScale::Percentile)
    }
}

/// One mark over two axes.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points; a `None` leaves a gap.
    Line {
        /// Points: horizontal and vertical value.
        points: Vec<(f64, Option<f64>)>,
        /// Colour of the mark.
        paint: ColorRole,
        /// True for a dashed line.
        is_dashed: bool,
        /// Text at its end; may be empty.
        label: String,
    },
    /// A point with its interval.
    Dot {
        /// Horizontal value of the mark.
        x: f64,
        /// Vertical value of the mark.
        y: f64,
        /// The 95 % interval of its vertical value.
        ci95: Option<[f64; 2]>,
        /// Colour of the mark.
        paint: ColorRole,
        /// Text of the tooltip.
        hint: String,
    },
    /// A line across the plot: a limit, or a baseline.
    Across {
        /// Vertical value of the mark.
        y: f64,
        /// Name of the line.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
    /// A line from the bottom to the top: a knee, or a change.
    Upright {
        /// Horizontal value of the mark.
        x: f64,
        /// Name of the line.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
    /// A stretch of the horizontal axis: a result, or an outage.
    Band {
        /// Start of the stretch.
        from: f64,
        /// End of the stretch.
        to: f64,
        /// Name of the stretch; may be empty.
        label: String,
        /// Colour of the mark.
        paint: ColorRole,
    },
}

/// A value with its interval for each name.
#[derive(Clone, Debug, Default)]
pub struct RowsPlot {
    /// Title with the unit of the values.
    pub title: String,
    /// Value that means no difference.
    pub baseline: Option<f64>,
    /// True for a logarithmic axis.
    pub is_log: bool,
    /// The rows, from top to bottom.
    pub rows: Vec<ValueRow>,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct ValueRow {
    /// Name of the row.
    pub label: String,
    /// The value, if there is one.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Published value next to it.
    pub other: Option<[f64; 2]>,
    /// The value as text.
    pub text: String,
    /// Colour of the row.
    pub paint: ColorRole,
}

/// Meaning of a colour. A renderer has a colour for each, for light and for dark screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorRole {
    /// One of several unordered items: a variant.
    Category(usize),
    /// The same for an invalid trial, which is drawn hollow.
    Hollow(usize),
    /// A good result.
    Good,
    /// A good result of a disturbed trial, which is drawn hollow.
    GoodHollow,
    /// The reader should look at it.
    Warn,
    /// Something is wrong, or a limit.
    Bad,
    /// Present, but not reliable.
    Muted,
    /// The text colour.
    #[default]
    Text,
}
