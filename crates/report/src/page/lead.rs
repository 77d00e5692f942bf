//! The figure that answers at a glance, above everything else: drawn without a script, and again in
//! other proportions for a narrow page.

/// One or two plots that answer the question.
#[derive(Clone, Debug, Default)]
pub struct LeadFigure {
    /// What it shows.
    pub title: String,
    /// All that it says, for who does not see it.
    pub what: String,
    /// Beside each other where there is room, otherwise below each other.
    pub plots: Vec<Plot>,
    /// What colours mean, where names beside the marks do not say it.
    pub legend: Vec<(Paint, String)>,
    /// What is said once of all plots, below them; may be empty.
    pub says: String,
}

/// One plot.
#[derive(Clone, Debug)]
pub enum Plot {
    /// Marks over two axes of numbers.
    Curve(CurvePlot),
    /// A value with its interval for each name, below each other.
    Rows(RowsPlot),
}

/// Marks over two axes of numbers.
#[derive(Clone, Debug, Default)]
pub struct CurvePlot {
    /// The horizontal axis.
    pub x: PlotAxis,
    /// The vertical axis, whose title stands above the plot.
    pub y: PlotAxis,
    /// What it comes to, in sentences below that title; may be empty.
    pub says: String,
    /// What is drawn, the lowest first.
    pub marks: Vec<Mark>,
}

impl CurvePlot {
    /// Marks over one in how many operations takes longer, and its latency.
    pub fn of_percentiles(marks: Vec<Mark>) -> CurvePlot {
        let axis = |title: &str| PlotAxis {
            title: title.to_owned(),
            is_log: true,
            ..PlotAxis::default()
        };
        CurvePlot {
            x: axis("one operation of so many takes longer (100: p99)"),
            y: axis("latency, ms"),
            marks,
            ..CurvePlot::default()
        }
    }
}

/// An axis of numbers.
#[derive(Clone, Debug, Default)]
pub struct PlotAxis {
    /// What it is, with its unit.
    pub title: String,
    /// Whether it is divided by powers of ten; otherwise evenly.
    pub is_log: bool,
    /// Whether an evenly divided axis begins at zero, whatever its least value is.
    pub from_zero: bool,
    /// Values that have a tick each, where these are few; otherwise round numbers have.
    pub ticks: Vec<f64>,
}

/// One thing that is drawn over two axes.
#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points; a value that is none leaves a gap.
    Line {
        /// Where it goes: horizontal and vertical value.
        points: Vec<(f64, Option<f64>)>,
        /// Its colour.
        paint: Paint,
        /// Whether it is broken.
        is_dashed: bool,
        /// What stands at its end; may be empty.
        label: String,
    },
    /// A point with its interval.
    Dot {
        /// Its horizontal value.
        x: f64,
        /// Its vertical value.
        y: f64,
        /// The 95 % interval of its vertical value.
        ci95: Option<[f64; 2]>,
        /// Its colour.
        paint: Paint,
        /// What it is, for who points at it.
        hint: String,
    },
    /// A line across the plot: a limit, a baseline.
    Across {
        /// Its vertical value.
        y: f64,
        /// What it is.
        label: String,
        /// Its colour.
        paint: Paint,
    },
    /// A line from the bottom to the top: a knee, a change.
    Upright {
        /// Its horizontal value.
        x: f64,
        /// What it is.
        label: String,
        /// Its colour.
        paint: Paint,
    },
    /// A stretch of the horizontal axis: what was found, an outage.
    Band {
        /// Where it begins.
        from: f64,
        /// Where it ends.
        to: f64,
        /// What it is; may be empty.
        label: String,
        /// Its colour.
        paint: Paint,
    },
}

/// A value with its interval for each name.
#[derive(Clone, Debug, Default)]
pub struct RowsPlot {
    /// What the values are, with their unit.
    pub title: String,
    /// Where nothing differs.
    pub baseline: Option<f64>,
    /// Whether the axis is divided by powers of ten.
    pub is_log: bool,
    /// The rows, from top to bottom.
    pub rows: Vec<ValueRow>,
}

/// One row.
#[derive(Clone, Debug, Default)]
pub struct ValueRow {
    /// What it is of.
    pub label: String,
    /// The value; none where there is none.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// A value of somebody else that is shown beside it.
    pub other: Option<[f64; 2]>,
    /// The value as it is written.
    pub text: String,
    /// Its colour.
    pub paint: Paint,
}

/// What a colour says. A renderer has one for each, in light and in dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// One of several unordered things: a variant.
    Category(usize),
    /// The same of a trial that is invalid: drawn hollow.
    Hollow(usize),
    /// As it should be.
    Good,
    /// To be looked at.
    Warn,
    /// Something is wrong, or a limit.
    Bad,
    /// There, and not to be relied on.
    Muted,
    /// As text.
    #[default]
    Text,
}
