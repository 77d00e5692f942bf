//! The only crate that shows results: one page model, drawn as HTML, text or JSON.
//!
//! [`page`] and [`compare`] turn a run on disk into a [`Page`], which contains words, tables and
//! charts as data. [`html()`], [`text()`], [`markdown()`] and [`json()`] only render a page, so
//! they never disagree. [`junit()`] is for pipelines. This crate neither measures nor judges: every
//! number and verdict comes from the run's own records, or from `analysis` when two runs are
//! compared.

mod box_picture;
mod compare;
pub mod compat;
mod downsample;
mod escape;
mod export_figures;
mod flatten_json;
mod grafana;
mod history;
mod html;
mod icicle;
mod json;
mod junit;
mod live_page;
mod markdown;
mod merged_points;
mod number;
mod page;
mod plotly;
#[cfg(feature = "png")]
mod png;
mod probe_series;
mod read;
mod run;
mod run_list;
mod run_view;
mod sections;
mod svg;
mod terminal_page;
#[cfg(not(feature = "png"))]
mod without_png;

pub use compare::{Side, compare, compare_all};
pub use export_figures::{FigureFile, figures};
pub use grafana::{grafana_annotations, grafana_dashboard};
pub use history::figure::history;
pub use history::{History, otava};
pub use html::{Additions, Document, GalleryEntry, document, fixed_parts, gallery, html, parts};
pub use json::json;
pub use junit::junit;
pub use live_page::{LIVE_SCRIPT, live_page};
pub use markdown::markdown;

/// Returns the figure at the top of a page, as a self-contained SVG file. `None` for a run without
/// measurements.
pub fn figure_file(page: &Page) -> Option<String> {
    page.headline.lead.as_ref().map(svg::file)
}
pub use page::{
    Align, Axis, Band, Block, BoxGroup, Card, Cell, Change, Chart, Color, ColorRole, Column, Dash,
    Figure, Fold, FrameKind, Headline, Icicle, IcicleFrame, Leaf, Mark, Page, Panel, Part, Picture,
    Row, Scale, Section, Series, Shape, Style, Table, Tone, Verdict, XValues,
};
#[cfg(feature = "png")]
pub use png::png;
pub use run::page;
pub use run_list::{ListFilter, RunEntry, message_page, run_list};
#[cfg(not(feature = "png"))]
pub use without_png::png;

/// True if this build can draw figures as PNG.
pub const HAS_PNG: bool = cfg!(feature = "png");

pub use run_view::{Curve, FileView, NodeView, PointView, ProbeSeries, RunView, TrialView};
pub use sections::headline::cause;
pub use sections::results::metric_name;
pub use terminal_page::text;
