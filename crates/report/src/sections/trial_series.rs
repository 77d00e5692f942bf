//! The series of each trial, with throughput, latency and errors of each second.
//!
//! This module thins the series of a long run so that the page stays small. A joined interval has
//! the sum of the counts of its intervals, and the worst of their percentiles, because percentiles
//! cannot be averaged. The chart states this.

use crate::merged_points::{place, variant_name};
use crate::page::{
    Axis, Band, Block, Chart, Color, Dash, Panel, Scale, Section, Series, Shape, Tone, XValues,
};
use crate::probe_series;
use crate::run_view::{RunView, TrialView};
use crate::sections::faults;
use crate::sections::lead_figure::{SECONDS_MIN, window_of};
use std::collections::BTreeMap;
use store::record::{ClientIntervalRecord, IntervalRecord, PhaseTimeRecord, Verdict};

/// Maximum number of bins on the time axis of one trial. A screen can show this many bins.
pub const PLACES_PER_TRIAL_MAX: usize = 900;
/// Maximum number of bins on all time axes of a page. With ten series and twelve bytes per value,
/// the charts take less than 800 kB. The page, with the panels and the chart library, then takes
/// less than 6 MB.
pub const PLACES_PER_PAGE_MAX: usize = 6_000;
/// Maximum number of trials with a chart. A page has room for [`PLACES_PER_TRIAL_MIN`] bins in each
/// of these charts.
const TRIALS_MAX: usize = 150;
/// Colour of the client, which is unlike the colours of the first kinds of operations.
const CLIENT_COLOR: usize = 7;
const OTHER_PROGRAMS_COLOR: usize = 6;
const SILENCE_COLOR: usize = 5;
/// Minimum number of bins that still show a trend.
const PLACES_PER_TRIAL_MIN: usize = 30;

/// Returns one chart per trial, from which the reader chooses. `None` if the run has no intervals.
pub fn section(view: &RunView) -> Option<Section> {
    let with_records = || view.trials.iter().filter(|t| !t.intervals.is_empty());
    let places = PLACES_PER_PAGE_MAX / with_records().count().clamp(1, TRIALS_MAX);
    let places = places.clamp(PLACES_PER_TRIAL_MIN, PLACES_PER_TRIAL_MAX);
    // The page first shows a trial with a fault, because the fault is the subject of the study.
    let has_fault = |trial: &&TrialView| {
        view.findings.faults.iter().any(|fault| fault.trial == Some(trial.index))
    };
    let (first, rest): (Vec<_>, Vec<_>) = with_records().partition(has_fault);
    let course_of = |trial: &TrialView| (label(view, trial.index), course(view, trial, places));
    let shown = first.into_iter().chain(rest).take(TRIALS_MAX);
    let courses: Vec<(String, Chart)> = shown.map(course_of).collect();
    let mut lead =
        "One trial, from its start line. Shaded: phases that are not measured (load, warm-up, \
         drain, verification)."
            .to_string();
    let left_out = with_records().count() - courses.len();
    if left_out > 0 {
        lead =
            format!("{lead} Only files on disk contain the intervals of {left_out} more trials.");
    }
    if !view.findings.faults.is_empty() {
        lead = format!(
            "{lead} In colour: faults, until the target was intact again, and then until \
             throughput and p99 were as before."
        );
    }
    if courses.is_empty() {
        return None;
    }
    Some(Section {
        id: "time",
        title: "Over time".into(),
        lead,
        blocks: vec![Block::Choice("Trial".into(), courses)],
    })
}

/// Names a trial in a list, by number, variant, point and block. If the trial is not valid, the
/// name contains its verdict, or `unfinished`.
pub fn label(view: &RunView, index: usize) -> String {
    let trial = view.findings.trials.iter().find(|t| t.index == index);
    let planned = view.plan.trials.iter().find(|t| t.index == index);
    let (variant, point, block) = match (trial, planned) {
        (Some(t), _) => (&t.variant, t.point, t.block),
        (None, Some(t)) => (&t.variant, t.point, t.block),
        (None, None) => return format!("trial {index}"),
    };
    let mut text = format!("{index}: {}", variant_name(variant, view));
    if point.is_some() {
        text = format!("{text}, {}", place(point));
    }
    if view.plan.trials.iter().any(|t| t.block > 0) {
        text = format!("{text}, block {}", block + 1);
    }
    match trial.map(|t| t.verdict) {
        Some(Verdict::Valid) => text,
        Some(verdict) => format!("{text} ({verdict})"),
        None => format!("{text} (unfinished)"),
    }
}

#[derive(Clone, Default)]
struct MergedIntervals {
    t_s: f64,
    seconds: f64,
    intervals: u64,
    ok: u64,
    errors: BTreeMap<String, u64>,
    p50: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
}

impl MergedIntervals {
    fn add(&mut self, record: &IntervalRecord) {
        if self.seconds == 0.0 {
            self.t_s = record.t_s;
        }
        self.seconds += record.seconds;
        self.intervals += record.joined.max(1);
        self.ok += record.ok;
        for (name, count) in &record.errors {
            *self.errors.entry(name.clone()).or_default() += count;
        }
        let Some(latency) = record.latency_ms.as_ref().filter(|q| q.count > 0) else {
            return;
        };
        self.p50 = worst(self.p50, latency.p50.least());
        self.p99 = worst(self.p99, latency.p99.least());
        self.max = worst(self.max, latency.max.least());
    }

    /// Returns a count per second. `None` for an interval that is too short for a rate.
    fn per_second(&self, count: u64) -> Option<f64> {
        (self.seconds >= SECONDS_MIN).then(|| count as f64 / self.seconds)
    }
}

fn worst(known: Option<f64>, value: f64) -> Option<f64> {
    Some(known.map_or(value, |known| known.max(value)))
}

/// Returns the intervals of one kind, joined so that at most `places` intervals remain. Also
/// returns the largest number of intervals that were joined into one.
fn join(trial: &TrialView, kind: &str, places: usize) -> (u64, Vec<MergedIntervals>) {
    let records: Vec<&IntervalRecord> = trial.intervals.iter().filter(|i| i.kind == kind).collect();
    let step = records.len().div_ceil(places).max(1);
    let mut all: Vec<MergedIntervals> = Vec::new();
    for chunk in records.chunks(step) {
        let mut joined = MergedIntervals::default();
        chunk.iter().for_each(|record| joined.add(record));
        all.push(joined);
    }
    let most = all.iter().map(|joined| joined.intervals).max();
    (most.unwrap_or(1), all)
}

fn course(view: &RunView, trial: &TrialView, places: usize) -> Chart {
    let kinds = kinds(trial);
    let (mut rates, mut latencies) = (Vec::new(), Vec::new());
    let mut errors: ErrorRates = BTreeMap::new();
    let mut step = 1;
    for (index, kind) in kinds.iter().enumerate() {
        let (kind_step, joined) = join(trial, kind, places);
        step = step.max(kind_step);
        let color = Color::Category(index);
        rates.push(line(kind, kind, color, Dash::Solid, "op/s", &joined, |j| {
            j.per_second(j.ok)
        }));
        latencies.extend(latency_lines(kind, color, &joined));
        for (name, _) in joined.iter().flat_map(|j| &j.errors) {
            errors.entry(format!("{kind}: {name}")).or_default();
        }
        for (name, values) in &mut errors {
            let Some(outcome) = name.strip_prefix(&format!("{kind}: ")) else {
                continue;
            };
            let rate = |j: &MergedIntervals| {
                let count = j.errors.get(outcome).copied().unwrap_or(0);
                (j.t_s, j.per_second(count))
            };
            *values = joined.iter().map(rate).collect();
        }
    }
    let joined = if step > 1 {
        format!(
            "Each point joins {step} intervals: operations and errors are sums, and percentiles \
             are the worst values."
        )
    } else {
        "Percentiles are for each interval separately.".into()
    };
    let what = format!(
        "Latency: p50 dotted, p99 solid, maximum dashed. The axis of op/s fits the measured \
         window, so values of other phases may be above it. {joined}"
    );
    let client = client_lines(trial, places);
    let stalls = stall_lines(trial, places);
    Chart {
        title: String::new(),
        what,
        height_px: 760,
        x: Axis::new("seconds since the start line", Scale::Linear),
        panels: panels(rates, latencies, errors, client, stalls)
            .into_iter()
            .enumerate()
            .map(|(at, panel)| Panel {
                fit: window(view, trial).filter(|_| at == 0),
                ..panel
            })
            .collect(),
        bands: bands(view, trial),
        unified_hover: true,
        ..Chart::default()
    }
}

type ErrorRates = BTreeMap<String, Vec<(f64, Option<f64>)>>;

/// Returns the kinds of operations that occurred. The legend does not list kinds of a workload that
/// the trial never used.
fn kinds(trial: &TrialView) -> Vec<&str> {
    let occurred = |record: &&IntervalRecord| {
        record.kind != "client" && (record.ok > 0 || record.errors.values().any(|count| *count > 0))
    };
    let mut kinds: Vec<&str> = Vec::new();
    for record in trial.intervals.iter().filter(occurred) {
        if !kinds.contains(&record.kind.as_str()) {
            kinds.push(&record.kind);
        }
    }
    kinds
}

/// Returns the measured window of a trial. `None` if the trial is unfinished.
fn window(view: &RunView, trial: &TrialView) -> Option<[f64; 2]> {
    let mut trials = view.findings.trials.iter();
    let finding = trials.find(|finding| finding.index == trial.index)?;
    Some(window_of(finding))
}

fn panels(
    rates: Vec<Series>,
    latencies: Vec<Series>,
    errors: ErrorRates,
    client: Vec<Series>,
    stalls: Vec<Series>,
) -> Vec<Panel> {
    let panel = |share, title: &str, scale, series| Panel {
        share,
        left: Axis::new(title, scale),
        series,
        ..Panel::default()
    };
    let error_series = errors.into_iter().enumerate().map(|(index, (name, values))| Series {
        group: name.clone(),
        name,
        in_legend: true,
        // The first line has the colour of errors, and the other lines must have different colours.
        color: if index == 0 {
            Color::Error
        } else {
            Color::Category(index + 3)
        },
        x: XValues::Numbers(values.iter().map(|v| v.0).collect()),
        y: values.iter().map(|v| v.1).collect(),
        unit: "errors/s".into(),
        ..Series::default()
    });
    let errors: Vec<Series> = error_series.collect();
    let mut panels = vec![
        panel(0.4, "op/s", Scale::Linear, rates),
        panel(0.4, "latency, ms", Scale::Log, latencies),
    ];
    if !errors.is_empty() {
        panels.push(panel(0.2, "errors/s", Scale::Linear, errors));
    }
    if !client.is_empty() {
        panels.push(panel(0.2, "CPU, %", Scale::Linear, client));
    }
    if !stalls.is_empty() {
        panels.push(panel(0.2, "stalls, ms", Scale::Linear, stalls));
    }
    panels
}

/// Returns the CPU time of the workers, as a share of one core. Also returns the CPU time of other
/// programs, as a share of all CPUs.
fn client_lines(trial: &TrialView, places: usize) -> Vec<Series> {
    let client = client_points(trial, |client| Some(client.cpu_share * 100.0));
    let mut lines = Vec::new();
    lines.extend(highest(
        "client",
        CLIENT_COLOR,
        "% of a core",
        &client,
        places,
    ));
    let others = trial.others.iter().find(|s| s.name == "cpu.others");
    if let Some(others) = others {
        let name = "other programs on this machine";
        let values = &others.values;
        lines.extend(highest(
            name,
            OTHER_PROGRAMS_COLOR,
            "% of all CPUs",
            values,
            places,
        ));
    }
    lines
}

/// Returns the delays of timers on the client's cores, and the longest waits of workers for a
/// response of the target.
fn stall_lines(trial: &TrialView, places: usize) -> Vec<Series> {
    let late = client_points(trial, |client| client.hiccup_ms_max);
    let silence = client_points(trial, |client| Some(client.quiet_ms).filter(|ms| *ms > 0.0));
    // Runs of earlier versions recorded neither timer delays nor waits for responses, so their
    // charts lack these lines.
    let late = highest("client, latest timer", CLIENT_COLOR, "ms", &late, places);
    let silence = highest(
        "target, longest silence",
        SILENCE_COLOR,
        "ms",
        &silence,
        places,
    );
    late.into_iter().chain(silence).collect()
}

fn client_points(
    trial: &TrialView,
    value: impl Fn(&ClientIntervalRecord) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let of = |i: &IntervalRecord| Some((i.t_s, value(i.client.as_ref()?)?));
    trial.intervals.iter().filter_map(of).collect()
}

/// Returns a line. Where intervals are joined, the line has the highest value of these intervals.
/// `None` if the intervals have no values.
fn highest(
    name: &str,
    color: usize,
    unit: &str,
    values: &[(f64, f64)],
    places: usize,
) -> Option<Series> {
    let step = values.len().div_ceil(places).max(1);
    let highest = |chunk: &[(f64, f64)]| Some(chunk.iter().map(|v| v.1).fold(0.0, f64::max));
    (!values.is_empty()).then(|| Series {
        name: name.into(),
        group: name.into(),
        in_legend: true,
        color: Color::Category(color),
        x: XValues::Numbers(values.chunks(step).map(|c| c[0].0).collect()),
        y: values.chunks(step).map(highest).collect(),
        unit: unit.into(),
        ..Series::default()
    })
}

fn latency_lines(kind: &str, color: Color, joined: &[MergedIntervals]) -> Vec<Series> {
    let name = |what: &str| format!("{kind}, {what}");
    vec![
        line(&name("p50"), kind, color, Dash::Dot, "ms", joined, |j| {
            j.p50
        }),
        line(&name("p99"), kind, color, Dash::Solid, "ms", joined, |j| {
            j.p99
        }),
        line(&name("max"), kind, color, Dash::Dash, "ms", joined, |j| {
            j.max
        }),
    ]
}

fn line(
    name: &str,
    group: &str,
    color: Color,
    dash: Dash,
    unit: &str,
    joined: &[MergedIntervals],
    value: impl Fn(&MergedIntervals) -> Option<f64>,
) -> Series {
    Series {
        name: name.into(),
        // The legend has one entry for each kind, which represents all lines of the kind.
        group: group.into(),
        in_legend: name == group,
        shape: Shape::Line,
        color,
        dash,
        x: XValues::Numbers(joined.iter().map(|j| j.t_s).collect()),
        y: joined.iter().map(value).collect(),
        unit: unit.into(),
        ..Series::default()
    }
}

/// Returns the periods of all phases except `measure`, and the periods of faults.
pub fn bands(view: &RunView, trial: &TrialView) -> Vec<Band> {
    let phases = probe_series::phases(view, trial).into_iter();
    let band = |phase: PhaseTimeRecord| Band {
        from: phase.from_s,
        to: phase.to_s,
        label: phase_name(&phase.name).into(),
        tone: Tone::Plain,
    };
    let phases = phases.filter(|p| p.name != "measure").map(band);
    phases.chain(faults::bands(view, trial.index)).collect()
}

/// Returns the name of a phase on the page.
pub fn phase_name(name: &str) -> &str {
    match name {
        "warmup" => "warm-up",
        name => name,
    }
}
