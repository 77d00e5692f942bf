//! Rows of the panels of one trial before they are drawn, with all values of every line.
//!
//! The page uses the rows twice. First, it counts their traces, because the size of the page is
//! limited. Then it draws the rows.

use super::node_colours::{PlaceColors, group};
use super::rows::{CPU_PARTS, Grouping, HOSTS, NODES, Part, RowSpec};
use crate::downsample::Buckets;
use crate::page::{Axis, Color, Dash, Panel, Scale, Series, Shape, XValues};
use crate::probe_series::{
    added, added_means, first_of, is_like, natural, owner, reading_number, scaled, wildcard,
};
use crate::run_view::{ProbeSeries, RunView, TrialView};
use crate::sections::panels::panel;
use std::collections::{BTreeMap, BTreeSet};
use store::record::{IntervalRecord, TrialFinding};

/// Maximum number of hosts with separate CPU rows. Above this number, all hosts share a row.
const CPU_ROWS_MAX: usize = 3;
/// Height of a row that only states which data is missing.
const NOTE_PX: u32 = 16;

pub struct Draft {
    pub rows: Vec<DraftRow>,
    places: Vec<(String, String, Color)>,
}

pub struct DraftRow {
    pub title: String,
    pub note: String,
    /// Height of the row in CSS pixels.
    pub height_px: u32,
    scale: Scale,
    right: Option<String>,
    lines: Vec<Line>,
}

struct Line {
    series: Series,
    values: Vec<(f64, f64)>,
}

impl Draft {
    pub fn new(view: &RunView, trial: &TrialView) -> Draft {
        let places = PlaceColors::new(trial);
        let finding = view.findings.trials.iter().find(|t| t.index == trial.index);
        let mut rows = load(trial);
        rows.extend(cpu(trial, &places, finding));
        for spec in HOSTS.iter().chain(NODES) {
            rows.push(row(spec, trial, &places, finding));
        }
        // Imported files can have hundreds of places, so the legend contains only places that have
        // a line.
        let lines = rows.iter().flat_map(|row| &row.lines);
        let used: BTreeSet<&str> = lines.map(|l| l.series.group.as_str()).collect();
        let mut legend = places.legend();
        legend.retain(|(_, group, _)| used.contains(group.as_str()));
        Draft {
            rows,
            places: legend,
        }
    }

    /// Returns the number of traces of the figure, including the traces for the legend.
    pub fn traces(&self) -> usize {
        self.places.len() + self.rows.iter().map(|row| row.lines.len()).sum::<usize>()
    }

    /// Returns the panels of the figure, and true if any series was thinned.
    pub fn panels(self, buckets: &Buckets) -> (Vec<Panel>, bool) {
        let mut thinned = false;
        let mut panels: Vec<Panel> = Vec::new();
        for row in self.rows {
            let series = row.draw(buckets, &mut thinned);
            panels.push(Panel {
                note: row.note,
                left: Axis {
                    scale: row.scale,
                    ..Axis::default()
                },
                right: row.right.map(|title| Axis {
                    title,
                    ..Axis::default()
                }),
                ..panel(row.title, row.height_px, series)
            });
        }
        let legend = self.places.into_iter().map(|(name, group, color)| Series {
            name,
            group,
            in_legend: true,
            color,
            ..Series::default()
        });
        if let Some(first) = panels.iter_mut().find(|panel| panel.note.is_empty()) {
            first.series.extend(legend);
        }
        (panels, thinned)
    }
}

impl DraftRow {
    fn draw(&self, buckets: &Buckets, thinned: &mut bool) -> Vec<Series> {
        let areas = self.lines.iter().any(|line| line.series.shape == Shape::Area);
        let kept = areas.then(|| buckets.looks(&self.total()));
        let mut all = Vec::new();
        for line in &self.lines {
            let mut series = line.series.clone();
            if let Some(kept) = &kept {
                *thinned |= kept.len() < line.values.len();
                let values = kept.iter().filter_map(|i| line.values.get(*i));
                let (x, y) = values.map(|(t_s, value)| (*t_s, Some(*value))).unzip();
                (series.x, series.y) = (XValues::Numbers(x), y);
            } else {
                let drawn = buckets.thin(&line.values);
                *thinned |= drawn.thinned;
                (series.x, series.y) = (XValues::Numbers(drawn.x), drawn.y);
            }
            all.push(series);
        }
        all
    }

    /// Returns the sum of all stacked lines at every reading of the first line.
    fn total(&self) -> Vec<(f64, f64)> {
        let first = self.lines.first().map_or(&[][..], |line| &line.values);
        let height = |(at, (t_s, _)): (usize, &(f64, f64))| {
            let parts = self.lines.iter().filter_map(|line| line.values.get(at));
            (*t_s, parts.map(|v| v.1).sum())
        };
        first.iter().enumerate().map(height).collect()
    }

    fn missing(title: &str, why: String) -> DraftRow {
        DraftRow {
            title: title.into(),
            note: why,
            height_px: NOTE_PX,
            scale: Scale::Linear,
            right: None,
            lines: Vec::new(),
        }
    }
}

/// Returns the rows of throughput and p99 latency of the load. The kinds of operations differ by
/// their dash patterns.
fn load(trial: &TrialView) -> Vec<DraftRow> {
    const DASHES: [Dash; 4] = [Dash::Solid, Dash::Dash, Dash::Dot, Dash::DashDot];
    let mut kinds: Vec<&str> = Vec::new();
    for record in trial.intervals.iter().filter(|i| i.kind != "client") {
        if !kinds.contains(&record.kind.as_str()) {
            kinds.push(&record.kind);
        }
    }
    let lines = |unit: &str, legend: bool, value: fn(&IntervalRecord) -> Option<f64>| {
        let line = |(index, kind): (usize, &&str)| {
            let of = trial.intervals.iter().filter(|i| i.kind == **kind);
            Line {
                values: of.filter_map(|i| Some((i.t_s, value(i)?))).collect(),
                series: Series {
                    name: (*kind).into(),
                    group: format!("kind {index}"),
                    in_legend: legend,
                    color: Color::Neutral,
                    dash: DASHES[index % DASHES.len()],
                    unit: unit.into(),
                    ..Series::default()
                },
            }
        };
        kinds.iter().enumerate().map(line).collect::<Vec<Line>>()
    };
    let rates = lines("op/s", true, |i| {
        (i.seconds > 0.0).then(|| i.ok as f64 / i.seconds)
    });
    let p99 = lines("ms", false, |i| {
        let known = i.latency_ms.as_ref().filter(|q| q.count > 0);
        known.map(|q| q.p99.least())
    });
    let row = |title: &str, scale, lines: Vec<Line>| {
        if lines.iter().all(|line| line.values.is_empty()) {
            return DraftRow::missing(title, "the run recorded no intervals.".into());
        }
        DraftRow {
            title: title.into(),
            note: String::new(),
            height_px: 100,
            scale,
            right: None,
            lines,
        }
    };
    vec![
        row("Throughput, op/s", Scale::Linear, rates),
        row("Latency p99, ms", Scale::Log, p99),
    ]
}

/// Returns a row for each host, with its CPU use divided into user, system, I/O wait and steal
/// time. For more than [`CPU_ROWS_MAX`] hosts, returns one row with the busy share of each host.
fn cpu(
    trial: &TrialView,
    places: &PlaceColors<'_>,
    finding: Option<&TrialFinding>,
) -> Vec<DraftRow> {
    let of_usr = first_of(trial, CPU_PARTS[0].1);
    // A place with a slash is a single CPU, and every other place is a host.
    let whole = of_usr.iter().filter(|s| !s.place.contains('/'));
    let mut hosts: Vec<&str> = whole.map(|s| s.place.as_str()).collect();
    hosts.sort_by(|a, b| natural(a, b));
    if hosts.is_empty() {
        let why = why_missing("hosts", "mpstat", trial, finding);
        return vec![DraftRow::missing("CPU of the hosts", why)];
    }
    let named = |host: &str, names: &[&str]| -> Vec<&ProbeSeries> {
        let of_host = trial.probes.iter().filter(|s| s.place == host);
        of_host.filter(|s| names.contains(&s.name.as_str())).collect()
    };
    let row = |title: String, height_px, lines| DraftRow {
        title,
        note: String::new(),
        height_px,
        scale: Scale::Linear,
        right: None,
        lines,
    };
    if hosts.len() > CPU_ROWS_MAX {
        let busy: Vec<&str> = CPU_PARTS[..2].iter().flat_map(|p| p.1.iter().copied()).collect();
        let line = |host: &&str| line(host, "busy", "%", places, added(&named(host, &busy)));
        let lines = hosts.iter().map(line).collect();
        return vec![row("CPU busy (usr and sys), %".into(), 100, lines)];
    }
    let stack = |(at, host): (usize, &&str)| {
        let lines = stacked(&CPU_PARTS, at == 0, |names| {
            added_means(&named(host, names))
        });
        row(format!("CPU of {host}, %"), 80, lines)
    };
    hosts.iter().enumerate().map(stack).collect()
}

/// Returns the CPU use of one host as stacked areas, at the times for which every part has a
/// reading. A part that the host never reports counts as zero.
fn stacked(
    parts: &[(&str, &[&str]); 4],
    legend: bool,
    values: impl Fn(&[&str]) -> Vec<(f64, f64)>,
) -> Vec<Line> {
    let readings = parts.map(|(_, names)| -> BTreeMap<i64, (f64, f64)> {
        let all = values(names).into_iter();
        all.map(|(t_s, value)| (reading_number(t_s), (t_s, value))).collect()
    });
    let reported = || readings.iter().filter(|part| !part.is_empty());
    let times: Vec<(&i64, f64)> = readings[0]
        .iter()
        .filter(|(number, _)| reported().all(|part| part.contains_key(number)))
        .map(|(number, (t_s, _))| (number, *t_s))
        .collect();
    let line = |(index, (name, _)): (usize, &(&str, &[&str]))| {
        let value = |number| readings[index].get(number).map_or(0.0, |(_, value)| *value);
        let mine = times.iter().map(|(number, t_s)| (*t_s, value(*number))).collect();
        Line {
            values: mine,
            series: Series {
                name: format!("CPU {name}"),
                group: format!("cpu {name}"),
                in_legend: legend,
                shape: Shape::Area,
                color: match *name {
                    "steal" => Color::Error,
                    _ => Color::Ramp(index * 2 + 1, 7),
                },
                unit: "%".into(),
                ..Series::default()
            },
        }
    };
    parts.iter().enumerate().map(line).collect()
}

fn line(
    place: &str,
    label: &str,
    unit: &str,
    places: &PlaceColors<'_>,
    values: Vec<(f64, f64)>,
) -> Line {
    let (factor, unit) = scaled(unit);
    let index = places.color(place);
    let name = match (place.is_empty(), label.is_empty()) {
        (false, false) => format!("{place} {label}"),
        (true, false) => label.to_owned(),
        _ => place.to_owned(),
    };
    Line {
        values: values.into_iter().map(|(t_s, v)| (t_s, v * factor)).collect(),
        series: Series {
            name,
            group: group(index),
            color: Color::Category(index),
            unit: unit.into(),
            ..Series::default()
        },
    }
}

/// Returns the row that `spec` describes, or the reason why no series matches.
fn row(
    spec: &RowSpec,
    trial: &TrialView,
    places: &PlaceColors<'_>,
    finding: Option<&TrialFinding>,
) -> DraftRow {
    let mut lines = Vec::new();
    let mut labels = Vec::new();
    let mut absent = Vec::new();
    for part in spec.parts {
        let mut of_part = lines_of(part, trial, places);
        match of_part.first() {
            None => absent.push(part.label),
            Some(_) if part.shape == Shape::Line => labels.push((part.label, part.dash)),
            Some(_) => {}
        }
        lines.append(&mut of_part);
    }
    if lines.is_empty() {
        let name = spec.parts.first().and_then(|part| part.names.first());
        let group = name.map_or("", |name| name.split('.').next().unwrap_or(name));
        return DraftRow::missing(spec.title, why_missing(spec.probe, group, trial, finding));
    }
    let zero = |line: &Line| line.values.iter().all(|v| v.1 == 0.0);
    if spec.quiet && lines.iter().all(zero) {
        return DraftRow::missing(spec.title, "none during the trial.".into());
    }
    let left = lines.iter().find(|line| !line.series.on_right);
    let unit = left.map_or("", |line| line.series.unit.as_str()).to_owned();
    let right = lines
        .iter()
        .find(|line| line.series.on_right)
        .map(|line| line.series.unit.clone());
    DraftRow {
        title: titled(spec, &unit, &labels, &absent),
        note: String::new(),
        height_px: spec.height_px,
        scale: Scale::Linear,
        right,
        lines,
    }
}

/// Formats the title of a row, such as `Network, MiB/s: solid received, dashed sent`.
fn titled(spec: &RowSpec, unit: &str, labels: &[(&str, Dash)], absent: &[&str]) -> String {
    let mut title = spec.title.to_owned();
    if !unit.is_empty() && unit != "count" {
        title = format!("{title}, {unit}");
    }
    let word = |(label, dash): &(&str, Dash)| match dash {
        Dash::Solid => format!("solid {label}"),
        Dash::Dash => format!("dashed {label}"),
        Dash::Dot | Dash::DashDot => format!("dotted {label}"),
    };
    let named: Vec<String> = labels.iter().filter(|l| !l.0.is_empty()).map(word).collect();
    if named.len() > 1 {
        title = format!("{title}: {}", named.join(", "));
    }
    let absent: Vec<&str> = absent.iter().copied().filter(|a| !a.is_empty()).collect();
    match (absent.is_empty(), spec.title.contains("Memory")) {
        // Tools define used, cached and free memory differently, so the title of this row does not
        // list absent parts.
        (true, _) | (_, true) => title,
        _ => format!("{title} (not recorded: {})", absent.join(", ")),
    }
}

fn lines_of(part: &Part, trial: &TrialView, places: &PlaceColors<'_>) -> Vec<Line> {
    let mut found = first_of(trial, part.names);
    found.sort_by(|a, b| natural(&a.place, &b.place));
    let unit = found.first().map_or("", |s| s.unit.as_str());
    let styled = |mut line: Line, dash: Dash| {
        line.series.dash = dash;
        line.series.shape = part.shape;
        line.series.on_right = part.on_right;
        line
    };
    let each = |series: &&ProbeSeries, label: &str, dash: Dash| {
        let values = series.values.clone();
        styled(
            line(&series.place, label, &series.unit, places, values),
            dash,
        )
    };
    match part.how {
        Grouping::Each => {
            // If a host has parts, such as disks or links, the chart shows the parts. Otherwise, it
            // shows the total of the host.
            let drawn = found.iter().filter(|s| !is_total(s, &found));
            let label = |s: &ProbeSeries| match part.names.iter().find(|n| is_like(&s.name, n)) {
                Some(pattern) if pattern.contains('*') => wildcard(&s.name, pattern).to_owned(),
                _ => part.label.to_owned(),
            };
            drawn.map(|s| each(s, &label(s), part.dash)).collect()
        }
        Grouping::Sum => {
            let owners: BTreeSet<&str> = found.iter().map(|s| owner(&s.place)).collect();
            let mut owners: Vec<&str> = owners.into_iter().collect();
            owners.sort_by(|a, b| natural(a, b));
            let sum = |place: &&str| {
                let of = found.iter().filter(|s| owner(&s.place) == *place);
                let values = added(&of.copied().collect::<Vec<_>>());
                styled(line(place, part.label, unit, places, values), part.dash)
            };
            owners.iter().map(sum).collect()
        }
        Grouping::Highest(count) => {
            let names = highest(&found, count);
            let pattern = part.names.first().copied().unwrap_or("");
            let of = |(rank, name): (usize, &&str)| {
                let dash = [Dash::Solid, Dash::Dash, Dash::Dot, Dash::DashDot][rank % 4];
                let named = found.iter().filter(|s| s.name == *name);
                let label = wildcard(name, pattern);
                named.map(|s| each(s, label, dash)).collect::<Vec<_>>()
            };
            names.iter().enumerate().flat_map(of).collect()
        }
    }
}

/// Returns true if the series is a total and its parts also have series. An example is `host1` if
/// `host1/vda` has a series.
fn is_total(series: &ProbeSeries, all: &[&ProbeSeries]) -> bool {
    let part = |s: &&&ProbeSeries| owner(&s.place) == series.place && s.place != series.place;
    all.iter().any(|s| part(&s))
}

/// Returns at most `count` names of the series with the highest peaks. Omits names without a value
/// above 0, but always returns at least one name.
fn highest<'a>(series: &[&'a ProbeSeries], count: usize) -> Vec<&'a str> {
    let mut peaks: BTreeMap<&str, f64> = BTreeMap::new();
    for series in series {
        let peak = series.values.iter().map(|v| v.1).fold(0.0, f64::max);
        let known = peaks.entry(&series.name).or_default();
        *known = known.max(peak);
    }
    let mut names: Vec<(&str, f64)> = peaks.into_iter().collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let above = names.iter().filter(|(_, peak)| *peak > 0.0).count();
    names.truncate(count.min(above.max(1)));
    names.into_iter().map(|(name, _)| name).collect()
}

/// Explains why `probe` recorded no series whose name contains `about`.
fn why_missing(
    probe: &str,
    about: &str,
    trial: &TrialView,
    finding: Option<&TrialFinding>,
) -> String {
    let named = |sentence: &&String| sentence.to_lowercase().replace(' ', "_").contains(about);
    let ran = finding.map_or(&[][..], |f| &f.probes);
    let mine = || ran.iter().filter(|p| p.probe == probe);
    if mine().next().is_some() {
        return match mine().flat_map(|p| &p.problems).find(named) {
            Some(problem) => format!("not recorded; probe {probe}: {problem}"),
            None => format!(
                "no value: the probe {probe} ran, but read no value. Either no event of this kind \
                 occurred, or this version of Cassandra does not provide the value."
            ),
        };
    }
    let mut unseen = trial.nodes.iter().flat_map(|n| &n.unseen);
    let about_it = |sentence: &&String| named(sentence) || sentence.contains(probe);
    match unseen.find(about_it) {
        Some(sentence) => format!("not recorded; {sentence}"),
        None => format!("not recorded: the probe {probe} did not run."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_reading_of_one_part_is_a_gap_and_not_zero() {
        let lines = stacked(&CPU_PARTS, true, |names| match names[0] {
            name if name == CPU_PARTS[0].1[0] => vec![(1.0, 50.0), (2.0, 51.0), (3.0, 52.0)],
            name if name == CPU_PARTS[1].1[0] => vec![(1.0, 9.0), (3.0, 7.0)],
            _ => Vec::new(),
        });
        assert_eq!(lines[0].values, [(1.0, 50.0), (3.0, 52.0)]);
        assert_eq!(lines[1].values, [(1.0, 9.0), (3.0, 7.0)]);
        // The host reports no value of this part.
        assert_eq!(lines[2].values, [(1.0, 0.0), (3.0, 0.0)]);
    }
}
