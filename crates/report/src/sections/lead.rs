//! The figure of the first screen: what answers the question of this run at a glance.
//!
//! What a study asks decides which one it is: by its findings the most particular that there are.

mod compared;
mod course;
mod effects;
mod fault_words;
mod faults;
mod load;
mod published;
mod scale_up;
mod search;

use crate::page::{LeadFigure, Plot};
use crate::summary::Point;
use crate::view::RunView;

/// The figure; none of a run that has measured nothing.
pub fn figure(view: &RunView, points: &[Point<'_>]) -> Option<LeadFigure> {
    let mut figure = scale_up::figure(view)
        .or_else(|| search::figure(view))
        .or_else(|| faults::figure(view))
        .or_else(|| course::of_endurance(view))
        .or_else(|| effects::of_screening(view))
        .or_else(|| effects::of_matrix(view))
        .or_else(|| load::figure(view, points))
        .or_else(|| compared::figure(view, points))
        .or_else(|| course::of_one_trial(view));
    if let Some(ratios) = published::rows(view) {
        let figure = figure.get_or_insert_with(LeadFigure::default);
        if figure.title.is_empty() {
            figure.title = "Ratios beside the published ones".into();
        }
        // Two beside each other; the published ratios are the question of a study that has them.
        figure.plots.truncate(1);
        figure.plots.push(Plot::Rows(ratios));
        figure.what += " Beside it the published ratios (diamonds) and ours.";
    }
    figure
}
