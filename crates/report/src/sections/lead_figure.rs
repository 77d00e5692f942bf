//! The figure of the first screen, which answers the question of this run at a glance.
//!
//! The module chooses the most specific figure for which the findings contain data.

mod compared;
mod effects;
mod fault_words;
mod faults;
mod load;
mod published;
mod scale_up;
mod search;
mod trial_over_time;

use crate::merged_points::Point;
use crate::page::{LeadFigure, Plot, RowsPlot};
use crate::run_view::RunView;

pub use load::figure as load_figure;
pub use trial_over_time::trial_figure as course_of;
pub(super) use trial_over_time::{SECONDS_MIN, window_of};

pub fn figure(view: &RunView, points: &[Point<'_>]) -> Option<LeadFigure> {
    let mut figure = scale_up::figure(view)
        .or_else(|| search::figure(view))
        .or_else(|| faults::figure(view))
        .or_else(|| trial_over_time::endurance_figure(view))
        .or_else(|| effects::screening_figure(view))
        .or_else(|| effects::matrix_figure(view))
        .or_else(|| load::figure(view, points))
        .or_else(|| compared::figure(view, points))
        .or_else(|| trial_over_time::first_trial_figure(view));
    if let Some(ratios) = published::rows(view) {
        beside(figure.get_or_insert_with(LeadFigure::default), ratios);
    }
    figure
}

/// Keeps only the first plot, and adds the plot of published ratios. A curve comes before the
/// ratios, because the curve shows the source of the ratios. Rows come after the ratios, which
/// answer the question directly.
fn beside(figure: &mut LeadFigure, ratios: RowsPlot) {
    figure.plots.truncate(1);
    figure.title = if figure.plots.is_empty() {
        "Ratios compared with the published ratios".into()
    } else {
        "Measured values, and ratios compared with the published ratios".into()
    };
    let said = ratios.rows.iter().map(|row| format!("{}: {}", row.label, row.text));
    figure.what = said.collect::<Vec<_>>().join("; ");
    let is_curve = matches!(figure.plots.first(), Some(Plot::Curve(_)));
    figure.plots.insert(usize::from(is_curve), Plot::Rows(ratios));
}
