//! Panels of hosts, JVMs and database below the load, on one time axis that also shows the phases.
//! Each trial has one figure.
//!
//! A place (host or node) has one colour in all rows of a figure, and the dash pattern
//! distinguishes the lines of a place. A row without series contains the reason.

mod all_series;
mod draft;
mod node_colours;
mod rows;

use crate::downsample::Buckets;
use crate::page::{Axis, Block, Chart, Panel, Scale, Section};
use crate::probe_series;
use crate::run_view::{RunView, TrialView};
use crate::sections::{initial_data, trial_series};
use draft::Draft;

/// Maximum number of bytes of all panels on a page, so that the page of an ordinary run remains
/// below 2.5 MB. The page also contains the chart library (0.5 MB) and the list of all series (0.5
/// MB).
const PANELS_BYTES_MAX: usize = 800_000;
/// Approximate number of bytes of a trace without its values.
pub const TRACE_BYTES: usize = 380;
/// Approximate number of bytes of one value. The positions take no additional space, because all
/// series share them.
pub const VALUE_BYTES: usize = 9;
/// Maximum number of buckets of a trial's time axis. Each bucket has two values, so 400 buckets
/// suffice for a screen of 800 pixels.
const BUCKETS_MAX: usize = 400;
/// Minimum number of buckets for a readable series. If the size limit allows fewer buckets, fewer
/// trials have panels.
const BUCKETS_MIN: usize = 24;
/// Height in CSS pixels of the space above the panels, for the legend, the buttons and the names of
/// the phases.
const ABOVE_PX: u32 = 150;
/// Gap in CSS pixels between two rows, which contains the title of the lower row.
const GAP_PX: u32 = 26;

/// Returns the section with the panels, every series behind a fold, and the cost of the probes.
/// Returns `None` if the run has neither values nor costs of probes.
pub fn section(view: &RunView) -> Option<Section> {
    let with_series = || view.trials.iter().filter(|t| !t.probes.is_empty());
    // For a long run, cassay reads only the series of some trials. The other trials have series
    // without values, so the section omits them.
    let has_values = |t: &&TrialView| t.probes.iter().any(|series| !series.values.is_empty());
    let probed: Vec<&TrialView> = with_series().filter(has_values).collect();
    let unread: usize = with_series().filter(|t| !has_values(t)).map(|t| t.probes.len()).sum();
    let costs = initial_data::probes(view);
    if probed.is_empty() && costs.is_empty() {
        return None;
    }
    let (shown, buckets) = budget(view, &probed);
    let figure = |trial: &&TrialView| {
        let buckets = buckets_of(view, trial, buckets);
        (
            trial_series::label(view, trial.index),
            chart(view, trial, &buckets),
        )
    };
    let figures: Vec<(String, Chart)> = probed[..shown].iter().map(figure).collect();
    let mut blocks = Vec::new();
    if !figures.is_empty() {
        blocks.push(Block::Choice("Trial".into(), figures));
    }
    blocks.extend(all_series::block(view, &probed, unread));
    blocks.extend(costs);
    let mut lead =
        "Series of hosts, JVMs and the database, on one time axis with the load. A colour is the \
         same host or node in every row. Phases outside the measured window are shaded. If you \
         zoom into a row, all rows follow. The buttons show whole phases again."
            .to_string();
    let left_out = with_series().count() - shown;
    if left_out > 0 {
        lead = format!("{lead} trials/*/probes contains the series of {left_out} more trials.");
    }
    Some(Section {
        id: "panels",
        title: "Hosts, JVMs and database".into(),
        lead,
        blocks,
    })
}

/// Returns the number of trials that have panels, and the number of buckets for each of these
/// trials.
fn budget(view: &RunView, trials: &[&TrialView]) -> (usize, usize) {
    let frame = |traces: usize| traces * TRACE_BYTES;
    let values = |traces: usize, buckets: usize| traces * 2 * buckets * VALUE_BYTES;
    let (mut taken, mut shown, mut traces) = (0, 0, 0);
    for trial in trials {
        let more = Draft::new(view, trial).traces();
        taken += frame(more) + values(more, BUCKETS_MIN);
        // The first trial always has panels, because a page without panels would look like a run
        // without probes.
        if shown > 0 && taken > PANELS_BYTES_MAX {
            break;
        }
        shown += 1;
        traces += more;
    }
    let rest = PANELS_BYTES_MAX.saturating_sub(frame(traces));
    let buckets = rest / values(traces, 1).max(1);
    (shown, buckets.clamp(BUCKETS_MIN, BUCKETS_MAX))
}

/// Returns about `count` buckets, which cover all phases and all readings of a trial.
pub fn buckets_of(view: &RunView, trial: &TrialView, count: usize) -> Buckets {
    let phases = probe_series::phases(view, trial);
    let of_probes = trial.probes.iter().filter_map(|s| s.values.last());
    let ends = of_probes.map(|v| v.0).chain(phases.iter().map(|p| p.to_s));
    let begins = trial.probes.iter().filter_map(|s| s.values.first());
    let from = begins.map(|v| v.0).fold(0.0, f64::min);
    let to = ends.fold(from + 1.0, f64::max);
    Buckets::new([from, to], probe_series::window(&phases), count)
}

fn chart(view: &RunView, trial: &TrialView, buckets: &Buckets) -> Chart {
    let draft = Draft::new(view, trial);
    let heights: u32 = draft.rows.iter().map(|row| row.height_px).sum();
    let gaps = GAP_PX * draft.rows.len().saturating_sub(1) as u32;
    let (panels, thinned) = draft.panels(buckets);
    Chart {
        what: what(trial, thinned, buckets.count()),
        height_px: heights + gaps + ABOVE_PX,
        gap_px: GAP_PX,
        views: views(view, trial),
        panels,
        ..frame(view, trial)
    }
}

/// Returns a chart with the horizontal axis and the bands that all figures of a trial share.
pub fn frame(view: &RunView, trial: &TrialView) -> Chart {
    Chart {
        x: Axis::new("seconds since the start line", Scale::Linear),
        bands: trial_series::bands(view, trial),
        unified_hover: true,
        ..Chart::default()
    }
}

/// Explains which values a figure shows. If `thinned` is true, the figure shows the extremes of
/// `buckets` buckets.
pub fn what(trial: &TrialView, thinned: bool, buckets: usize) -> String {
    let mut stretches = trial.probes.iter().filter(|series| !series.means.is_empty());
    if let Some([first, second]) = stretches.find_map(|series| series.values.first_chunk()) {
        format!(
            "Drawn from the trial's overview: the smallest and the largest value of each period of \
             {:.0} s or more, so that no peak is lost. Areas are means. The extremes of a sum were \
             at least as large as drawn. trials/*/probes contains all values.",
            2.0 * (second.0 - first.0)
        )
    } else if thinned {
        format!(
            "Of long series, the page draws the smallest and the largest value of each of \
             {buckets} periods, so that no peak is lost. The measured window has most of these \
             periods. trials/*/probes contains all values."
        )
    } else {
        "The page draws every value.".into()
    }
}

/// Returns the ranges of time that the buttons show, in seconds since the start line. Returns an
/// empty list if the trial has no measured window.
pub fn views(view: &RunView, trial: &TrialView) -> Vec<(String, [f64; 2])> {
    let phases = probe_series::phases(view, trial);
    let whole = phases.iter().map(|p| p.to_s).fold(0.0, f64::max);
    let Some(window) = probe_series::window(&phases) else {
        return Vec::new();
    };
    vec![
        ("Whole trial".into(), [0.0, whole]),
        ("Measured window".into(), window),
    ]
}

/// Returns a panel with one vertical axis. Panels share the height of the chart in proportion to
/// `height_px`.
pub fn panel(title: String, height_px: u32, series: Vec<crate::page::Series>) -> Panel {
    Panel {
        title,
        share: f64::from(height_px),
        series,
        ..Panel::default()
    }
}
