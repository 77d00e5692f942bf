//! Shows every recorded series, behind a fold. The part of a series' name before the first dot
//! determines its group. The size limit of the page determines the number of trials with charts.

use super::node_colours::PlaceColors;
use super::{TRACE_BYTES, VALUE_BYTES, buckets_of, frame, panel, views, what};
use crate::number;
use crate::page::{Block, Chart, Color, Panel, Series, XValues};
use crate::probe_series::{natural, owner, scaled};
use crate::run_view::{ProbeSeries, RunView, TrialView};
use crate::sections::trial_series;
use std::collections::BTreeMap;

/// Maximum number of bytes of all these charts on a page. The panels have a separate limit.
const EVERY_BYTES_MAX: usize = 500_000;
/// Number of bytes of a row in addition to its series: its axis, its title, and its share of the
/// bands and names of phases. In a run of 30 trials, this number was 840.
const ROW_BYTES: usize = 850;
/// Number of buckets of a trial's time axis. A reader looks at such small charts only for the
/// shape.
const BUCKETS: usize = 36;
/// Maximum number of rows in one chart.
const ROWS_MAX: usize = 12;
const ROW_PX: u32 = 64;
/// Gap between two rows, for the title of the lower row.
const GAP_PX: u32 = 24;
const ABOVE_PX: u32 = 130;

/// Returns the charts from which the reader chooses, behind a fold. `unread` is the number of
/// series whose values cassay did not read.
pub fn block(view: &RunView, trials: &[&TrialView], unread: usize) -> Option<Block> {
    let mut charts = Vec::new();
    let mut taken = 0;
    let mut left_out = unread;
    for trial in one_per_variant_first(view, trials) {
        for group in groups(trial) {
            let mine = group.rows.len() * ROW_BYTES + group.series().map(bytes).sum::<usize>();
            if taken + mine > EVERY_BYTES_MAX {
                left_out += group.series().count();
                continue;
            }
            taken += mine;
            let name = format!(
                "{} · {}",
                trial_series::label(view, trial.index),
                group.name
            );
            charts.push((name, chart(view, trial, &group.rows)));
        }
    }
    if charts.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Choice("Trial and group".into(), charts)];
    if left_out > 0 {
        blocks.push(Block::Text(format!(
            "trials/*/probes contains {} more series, of this or of other trials.",
            number::count(left_out as u64)
        )));
    }
    Some(Block::Details(
        "Every recorded series, by group".into(),
        blocks,
    ))
}

fn bytes(series: &ProbeSeries) -> usize {
    TRACE_BYTES + series.values.len().min(2 * BUCKETS) * VALUE_BYTES
}

/// Series of one group, ordered by name. Each name is a row of the group's chart.
struct Group<'a> {
    name: String,
    rows: Vec<(&'a str, Vec<&'a ProbeSeries>)>,
}

impl<'a> Group<'a> {
    fn series(&self) -> impl Iterator<Item = &'a ProbeSeries> {
        self.rows.iter().flat_map(|(_, series)| series.iter().copied())
    }
}

/// Returns the first trial of every variant, then the other trials.
fn one_per_variant_first<'a>(view: &RunView, trials: &[&'a TrialView]) -> Vec<&'a TrialView> {
    let variant = |trial: &TrialView| {
        let planned = view.plan.trials.iter().find(|t| t.index == trial.index);
        planned.map_or("", |t| t.variant.as_str())
    };
    let mut seen: Vec<&str> = Vec::new();
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for trial in trials {
        let variant = variant(trial);
        if seen.contains(&variant) {
            rest.push(*trial);
        } else {
            seen.push(variant);
            first.push(*trial);
        }
    }
    first.append(&mut rest);
    first
}

fn groups(trial: &TrialView) -> Vec<Group<'_>> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&ProbeSeries>>> = BTreeMap::new();
    for series in &trial.probes {
        let group = series.name.split('.').next().unwrap_or_default();
        let names = groups.entry(group).or_default();
        names.entry(&series.name).or_default().push(series);
    }
    let mut all = Vec::new();
    for (group, names) in groups {
        let rows: Vec<(&str, Vec<&ProbeSeries>)> = names.into_iter().collect();
        for (page, rows) in rows.chunks(ROWS_MAX).enumerate() {
            let number = if page > 0 {
                format!(" ({})", page + 1)
            } else {
                String::new()
            };
            all.push(Group {
                name: format!("{group}{number}"),
                rows: rows.to_vec(),
            });
        }
    }
    all
}

fn chart(view: &RunView, trial: &TrialView, names: &[(&str, Vec<&ProbeSeries>)]) -> Chart {
    let buckets = buckets_of(view, trial, BUCKETS);
    let places = PlaceColors::new(trial);
    let mut thinned = false;
    let mut panels: Vec<Panel> = Vec::new();
    let mut in_legend: Vec<&str> = Vec::new();
    for (name, series) in names {
        let mut series = series.clone();
        series.sort_by(|a, b| natural(&a.place, &b.place));
        let (factor, unit) = scaled(series.first().map_or("", |s| s.unit.as_str()));
        let lines = series
            .iter()
            .map(|series| {
                let drawn = buckets.thin(&series.values);
                thinned |= drawn.thinned;
                let owner = owner(&series.place);
                let first = !in_legend.contains(&owner) && series.place == owner;
                if first {
                    in_legend.push(owner);
                }
                let is_client = series.place.is_empty();
                Series {
                    name: if is_client {
                        "client".into()
                    } else {
                        series.place.clone()
                    },
                    group: owner.into(),
                    in_legend: first,
                    color: Color::Category(places.color(owner)),
                    x: XValues::Numbers(drawn.x),
                    y: drawn.y.iter().map(|y| y.map(|v| v * factor)).collect(),
                    unit: unit.into(),
                    ..Series::default()
                }
            })
            .collect();
        let title = match unit {
            "" => (*name).to_owned(),
            unit => format!("{name}, {unit}"),
        };
        panels.push(panel(title, ROW_PX, lines));
    }
    let rows = names.len() as u32;
    Chart {
        what: what(trial, thinned, buckets.count()),
        height_px: ROW_PX * rows + GAP_PX * (rows - 1) + ABOVE_PX,
        gap_px: GAP_PX,
        views: views(view, trial),
        panels,
        ..frame(view, trial)
    }
}
