//! Model of the figure at the top of a page, which answers the question at a glance. The page
//! contains two drawings of the figure, for wide and for narrow pages. The drawings need no script.

#[derive(Clone, Debug, Default)]
pub struct LeadFigure {
    pub title: String,
    /// Description for readers who cannot see the figure.
    pub what: String,
    /// Plots of the figure, which are side by side if the page is wide enough, and in one column
    /// otherwise.
    pub plots: Vec<Plot>,
    /// Meanings of the colours, if the names of the marks do not show them.
    pub legend: Vec<(ColorRole, String)>,
    /// Remark on all plots. The text is below the plots, and may be empty.
    pub says: String,
}

#[derive(Clone, Debug)]
pub enum Plot {
    Curve(CurvePlot),
    /// A forest plot.
    Rows(RowsPlot),
}

#[derive(Clone, Debug, Default)]
pub struct CurvePlot {
    pub x: PlotAxis,
    /// Vertical axis of the plot, whose title is above the plot.
    pub y: PlotAxis,
    /// Summary in sentences, below the title of the vertical axis. It may be empty.
    pub says: String,
    pub marks: Vec<Mark>,
}

impl CurvePlot {
    /// Returns a plot of latency over the percentile. A horizontal value of n means that one of n
    /// operations takes longer, so 100 is p99.
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

#[derive(Clone, Debug, Default)]
pub struct PlotAxis {
    pub title: String,
    pub scale: AxisScale,
    /// Values that each have a tick, for an axis with few values. If the list is empty, ticks are
    /// at round numbers.
    pub ticks: Vec<f64>,
}

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
    /// percentile, so 100 has the label p99.
    Percentile,
}

impl AxisScale {
    pub fn log_or_zero(is_log: bool) -> AxisScale {
        if is_log {
            AxisScale::Logarithmic
        } else {
            AxisScale::FromZero
        }
    }

    pub fn is_log(self) -> bool {
        matches!(self, AxisScale::Logarithmic | AxisScale::Percentile)
    }
}

#[derive(Clone, Debug)]
pub enum Mark {
    /// A line through points. A value of `None` leaves a gap.
    Line {
        points: Vec<(f64, Option<f64>)>,
        paint: ColorRole,
        is_dashed: bool,
        /// Text at the end of the line. It may be empty.
        label: String,
    },
    /// A single point with its interval.
    Dot {
        x: f64,
        y: f64,
        /// 95 % interval of the vertical value.
        ci95: Option<[f64; 2]>,
        paint: ColorRole,
        hint: String,
    },
    /// A horizontal line across the plot.
    Across {
        y: f64,
        label: String,
        paint: ColorRole,
    },
    /// A vertical line across the plot.
    Upright {
        x: f64,
        label: String,
        paint: ColorRole,
    },
    /// A range of the horizontal axis.
    Band {
        from: f64,
        to: f64,
        label: String,
        paint: ColorRole,
    },
}

#[derive(Clone, Debug, Default)]
pub struct RowsPlot {
    /// Title of the plot, including the unit of the values.
    pub title: String,
    /// Value that means no difference, such as 1 for a ratio.
    pub baseline: Option<f64>,
    pub is_log: bool,
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

#[derive(Clone, Debug, Default)]
pub struct ValueRow {
    pub label: String,
    pub value: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// Published value, which is drawn next to the measured value. Both ends are equal if the
    /// source published a single value.
    pub other: Option<[f64; 2]>,
    pub text: String,
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
    Good,
    /// A good result of a disturbed trial. It is drawn hollow.
    GoodHollow,
    /// A result that the reader should look at.
    Warn,
    /// An error, or a limit.
    Bad,
    /// A result that is present, but not reliable.
    Muted,
    #[default]
    Text,
}

impl ColorRole {
    pub fn is_hollow(self) -> bool {
        matches!(self, ColorRole::Hollow(_) | ColorRole::GoodHollow)
    }
}
