//! Reads the trials of a long run from their overviews, with as many bins as a page can show.
//!
//! Invariant: the memory for a page depends on its content, not on the length of the run. A trial
//! has no overview if it has not ended, or if an earlier version of cassay recorded it. In this
//! case, this module computes the overview from the raw lines, which takes as long as reading them.

use super::OTHERS_PROBE;
use crate::run_view::{ProbeSeries, TrialView};
use crate::sections::trial_series::{PLACES_PER_PAGE_MAX, PLACES_PER_TRIAL_MAX};
use anyhow::Result;
use std::collections::BTreeSet;
use store::record::TrialFinding;
use store::{
    OverviewBin, OverviewRecord, Places, Run, SeriesOverviewRecord, SeriesPlacesRecord, Trial,
};

/// Maximum number of trials whose series this module reads. A page has no space for the panels of
/// more trials, even with the smallest number of bins.
const DETAILED_MAX: usize = 16;
/// Maximum number of bins of one series over all trials whose series this module reads. All series
/// together take about 100 MB of memory.
const DETAILED_PLACES_MAX: usize = 4_096;
/// Minimum number of bins to which a series of a trial is limited. Fewer bins would not show a
/// trend.
const PLACES_MIN: usize = 64;

/// Returns the records of each trial of a long run.
///
/// # Errors
/// A file of a trial cannot be read, or is damaged.
pub fn trial_views(run: &Run, trials: &[Trial]) -> Result<Vec<TrialView>> {
    let findings = run.trial_findings();
    let detailed = detailed(trials);
    let size = Size {
        course: PLACES_PER_PAGE_MAX / trials.len().max(1),
        series: DETAILED_PLACES_MAX / detailed.len().max(1),
    };
    let view = |trial: &Trial| {
        let finding = findings.iter().find(|f| f.index == trial.record.index);
        trial_view(
            trial,
            finding,
            &size,
            detailed.contains(&trial.record.index),
        )
    };
    trials.iter().map(view).collect()
}

/// Maximum numbers of bins of a trial. If a number is below [`PLACES_MIN`], that minimum applies
/// instead.
struct Size {
    course: usize,
    series: usize,
}

/// Selects the trials whose series this module reads, and returns their numbers. The first trial of
/// each variant takes precedence, followed by the other trials in order.
fn detailed(trials: &[Trial]) -> BTreeSet<usize> {
    let mut variants = BTreeSet::new();
    let mut first: Vec<&Trial> = Vec::new();
    for trial in trials {
        if variants.insert(trial.record.variant.as_str()) {
            first.push(trial);
        }
    }
    let all = first.into_iter().chain(trials);
    let mut numbers = BTreeSet::new();
    for trial in all {
        if numbers.len() < DETAILED_MAX {
            numbers.insert(trial.record.index);
        }
    }
    numbers
}

fn trial_view(
    trial: &Trial,
    finding: Option<&TrialFinding>,
    size: &Size,
    is_detailed: bool,
) -> Result<TrialView> {
    let phases = finding.map_or(&[][..], |finding| &finding.phases);
    let measured = phases.iter().find(|phase| phase.name == "measure");
    let window = measured.map(|phase| [phase.from_s, phase.to_s]);
    let written = trial.overview()?;
    // A series comes from raw lines if the trial has no overview, or if the overview does not
    // contain the probe.
    let (read, read_series) = trial.gather(written.as_ref(), window)?;
    let mut series = SeriesOf::new(&read);
    series.extend(written.iter());
    let overview = written.unwrap_or_else(|| read.clone());
    let length_s = overview.length_s()?.max(1.0);
    let least_s = |places: usize| length_s / places.max(PLACES_MIN) as f64;
    let course_s = least_s(size.course.min(PLACES_PER_TRIAL_MAX));
    let mut view = TrialView {
        index: trial.record.index,
        intervals: overview.intervals(course_s)?,
        nodes: trial.nodes()?,
        slowest: trial.slowest()?,
        ..TrialView::default()
    };
    if let Some(places) = overview.cpu_others(course_s)? {
        view.others = vec![ProbeSeries {
            name: "cpu.others".into(),
            unit: "%".into(),
            ..place_series(&places)
        }];
    }
    if is_detailed {
        let least_s = least_s(size.series);
        for line in read_series {
            series.fill(&line, least_s)?;
        }
        for line in trial.series()? {
            series.fill(&line?, least_s)?;
        }
    }
    view.probes = series.0.into_iter().map(|(_, series)| series).collect();
    Ok(view)
}

/// Series of a trial with the names of their probes, in the order of series names and places.
struct SeriesOf(Vec<(String, ProbeSeries)>);

impl SeriesOf {
    fn new(overview: &OverviewRecord) -> SeriesOf {
        let mut all = SeriesOf(Vec::new());
        all.extend([overview]);
        all
    }

    /// Adds the series of overviews, and restores the order by name and place. These series contain
    /// the number and the sum of the values in the measured window, but no values.
    fn extend<'a>(&mut self, overviews: impl IntoIterator<Item = &'a OverviewRecord>) {
        let of = |one: &SeriesOverviewRecord| {
            let series = ProbeSeries {
                name: one.name.clone(),
                place: one.place.clone(),
                unit: one.unit.clone(),
                in_window: Some((one.count, one.sum)),
                ..ProbeSeries::default()
            };
            (one.probe.clone(), series)
        };
        let all = overviews.into_iter().flat_map(|overview| &overview.series);
        self.0.extend(all.filter(|one| one.probe != OTHERS_PROBE).map(of));
        self.0.sort_by(|(_, a), (_, b)| key(a).cmp(&key(b)));
    }

    /// Sets the values and means of the series that `line` describes, with bins of at least
    /// `least_s` seconds. Ignores a line whose series is unknown.
    fn fill(&mut self, line: &SeriesPlacesRecord, least_s: f64) -> Result<()> {
        let wanted = (line.name.as_str(), line.place.as_str());
        let from = self.0.partition_point(|(_, series)| key(series) < wanted);
        let same = self.0[from..].iter_mut();
        let mut same = same.take_while(|(_, series)| key(series) == wanted);
        if let Some((_, series)) = same.find(|(probe, _)| *probe == line.probe) {
            let filled = place_series(&line.unpacked(least_s)?);
            (series.values, series.means) = (filled.values, filled.means);
        }
        Ok(())
    }
}

fn key(series: &ProbeSeries) -> (&str, &str) {
    (&series.name, &series.place)
}

/// Returns a series with two values and a mean for each bin that is not empty. The two values are
/// the smallest and the largest, in the order in which they occurred. Their times are at a quarter
/// and at three quarters of the bin.
fn place_series(places: &Places) -> ProbeSeries {
    let mut series = ProbeSeries::default();
    let known = places.places.iter().enumerate();
    for (at, place) in known.filter(|(_, place)| place.count > 0) {
        let OverviewBin { mean, ends, .. } = *place;
        let t_s = |part: f64| (at as f64 + part) * places.width_s;
        series.values.extend([(t_s(0.25), ends[0]), (t_s(0.75), ends[1])]);
        series.means.push(mean);
    }
    series
}
