//! Builds the history of a study over its runs. The history contains a series for each variant,
//! point and metric. It also contains the change points of each series, and the differences between
//! the runs before and after a change.
//!
//! Only runs at the same scale, on the same kind of target, form a series. The page lists unusable
//! runs, but the series do not contain them. A history only indicates a change. A study that
//! measures both versions must confirm it.

mod export;
pub(crate) mod figure;
mod page;

pub use export::otava;
pub use page::section;

use crate::flatten_json::{describe_file, flatten};
use analysis::VariantName;
use analysis::history::{Limits, RUNS_MIN, Shift, shifts};
use analysis::procedure;
use measure::Known;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use store::record::{self, JournalEvent, PointRecord};
use store::{Past, Run, RunState};

/// Metrics for which the history has a series at each point. The last two arguments state whether a
/// higher value is better, and the smallest change that the history reports, as a share.
pub(crate) const METRICS: [HistoryMetric; 4] = [
    HistoryMetric::new("ops_per_s", "throughput", "op/s", true, 0.03),
    HistoryMetric::new("p50_ms", "median latency", "ms", false, 0.10),
    HistoryMetric::new("p99_ms", "p99 latency", "ms", false, 0.10),
    HistoryMetric::new("p999_ms", "p99.9 latency", "ms", false, 0.10),
];

#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryMetric {
    pub(crate) key: &'static str,
    pub(crate) words: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) higher_is_better: bool,
    pub(crate) magnitude_min: f64,
}

#[derive(Clone, Debug, Default)]
pub struct History {
    pub study: String,
    pub(crate) runs: Vec<UsedRun>,
    /// Stamps of the runs that the history omits, each with the reason.
    pub left_out: Vec<(String, String)>,
    pub(crate) lines: Vec<Line>,
    pub(crate) verdict: Option<record::Verdict>,
}

#[derive(Clone, Debug)]
pub(crate) struct UsedRun {
    pub(crate) stamp: String,
    pub(crate) path: PathBuf,
    pub(crate) verdict: Option<record::Verdict>,
    pub(crate) link: Option<String>,
    pub(crate) cassay: String,
    pub(crate) cassandra: String,
    machine: BTreeMap<String, String>,
    /// Settings of the run by variant, as dotted paths with values.
    settings: BTreeMap<VariantName, BTreeMap<String, String>>,
    points: Vec<PointRecord>,
}

/// Series of one metric of one variant at one point, in the order of the runs.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) variant: VariantName,
    pub(crate) point: Option<procedure::Point>,
    pub(crate) metric: HistoryMetric,
    /// Values, each with the index of its run. Runs without a value are absent.
    pub(crate) values: Vec<(usize, f64)>,
    /// 95 % intervals of the values, in the order of `values`.
    pub(crate) ci95: Vec<Option<[f64; 2]>>,
    pub(crate) changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) shift: Shift,
    pub(crate) run: usize,
    pub(crate) kind: ChangeKind,
    /// Recorded differences between the first run after the change and the previous run with a
    /// value. Each has the form `key: a → b`.
    pub(crate) differs: Vec<String>,
}

measure::word_enum! {
    /// Kind of a change.
    pub(crate) enum ChangeKind {
        Worse = "worse",
        Better = "better",
        /// Too few runs follow the change.
        Unconfirmed = "unconfirmed",
        /// The runs before and after the change were on different machines.
        OtherMachine = "another machine",
    }
}

impl HistoryMetric {
    const fn new(
        key: &'static str,
        words: &'static str,
        unit: &'static str,
        higher_is_better: bool,
        magnitude_min: f64,
    ) -> HistoryMetric {
        HistoryMetric {
            key,
            words,
            unit,
            higher_is_better,
            magnitude_min,
        }
    }

    /// Returns the value of the metric at a point. Returns `None` if the value does not describe
    /// the target, or if it is only a lower bound. For example, throughput at an offered rate
    /// normally equals this rate, and the latency at a saturated rate grows with the window.
    fn value(&self, point: &PointRecord) -> Option<f64> {
        let latency = &point.latency_ms;
        let is_rate = point.point.is_some_and(procedure::Point::is_rate);
        let known = match self.key {
            "ops_per_s" if is_rate && !point.saturated => return None,
            "ops_per_s" => Known::Exactly(point.ops_per_s),
            _ if point.saturated => return None,
            "p50_ms" => latency.p50,
            "p99_ms" => latency.p99,
            _ => latency.p999,
        };
        match known {
            Known::Exactly(value) => Some(value).filter(|value| *value > 0.0),
            Known::AtLeast(_) => None,
        }
    }
}

impl HistoryMetric {
    fn ci95(&self, point: &PointRecord) -> Option<[f64; 2]> {
        match self.key.strip_suffix("_ms") {
            None => point.ops_per_s_ci95,
            Some(name) => point.latency_ms.ci95.get(name).copied(),
        }
    }
}

impl History {
    /// Sets the link to the report of every run. `way` receives the folder of a run and returns the
    /// link, or `None` if the page cannot link to this folder.
    pub fn link(&mut self, way: impl Fn(&Path) -> Option<String>) {
        for run in &mut self.runs {
            run.link = way(&run.path);
        }
    }

    /// Builds the history from `past`, the runs of the study in order of time. Omits unusable runs,
    /// and runs that differ from the newest usable run in scale or kind of target.
    pub fn new(study: &str, past: Vec<Past>) -> History {
        let mut history = History {
            study: study.to_owned(),
            ..History::default()
        };
        let order: Vec<String> = past.iter().map(|one| one.stamp.clone()).collect();
        let mut usable = Vec::new();
        for one in past {
            match one.run.map_err(|e| first_line(&format!("{e:#}"))).and_then(usable_run) {
                Ok(run) => usable.push(run),
                Err(why) => history.left_out.push((one.stamp, why)),
            }
        }
        let newest = usable.last().map(size_of);
        for run in usable {
            let size = size_of(&run);
            if Some(&size) == newest.as_ref() {
                history.verdict = run.findings.as_ref().map(|f| f.verdict);
                history.runs.push(UsedRun::from_run(run));
            } else {
                let why = format!("another size of the study or another target ({size})");
                history.left_out.push((run.stamp, why));
            }
        }
        let place = |stamp: &String| order.iter().position(|one| one == stamp);
        history.left_out.sort_by_key(|(stamp, _)| place(stamp));
        history.lines = history.lines();
        history
    }

    pub fn runs_count(&self) -> usize {
        self.runs.len()
    }

    /// Returns a sentence for each current regression. A regression is current if it is the last
    /// confirmed change of its series. In addition, the first run after the change must not be
    /// older than the stamp `since`. A change between two machines is not a regression.
    pub fn regressions(&self, since: &str) -> Vec<String> {
        let worse = self.lines.iter().filter_map(|line| {
            let last = line.changes.iter().rfind(|c| c.kind != ChangeKind::Unconfirmed)?;
            let is_new = self.runs[last.run].stamp.as_str() >= since;
            (last.kind == ChangeKind::Worse && is_new).then(|| page::sentence(self, line, last))
        });
        worse.collect()
    }

    fn lines(&self) -> Vec<Line> {
        let mut places: Vec<(&VariantName, Option<procedure::Point>)> = Vec::new();
        for point in self.runs.iter().rev().flat_map(|run| &run.points) {
            let place = (&point.variant, point.point);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let each = places.iter().flat_map(|(variant, point)| {
            let line = |metric: &HistoryMetric| self.line(variant, *point, *metric);
            METRICS.iter().map(line).collect::<Vec<_>>()
        });
        each.filter(|line| !line.values.is_empty()).collect()
    }

    fn line(
        &self,
        variant: &VariantName,
        at: Option<procedure::Point>,
        metric: HistoryMetric,
    ) -> Line {
        let here = |p: &&PointRecord| p.variant == *variant && p.point == at;
        let value = |(index, run): (usize, &UsedRun)| {
            let point = run.points.iter().find(here)?;
            Some(((index, metric.value(point)?), metric.ci95(point)))
        };
        let (values, ci95): (Vec<(usize, f64)>, Vec<_>) =
            self.runs.iter().enumerate().filter_map(value).unzip();
        let numbers: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        let found = if numbers.len() >= RUNS_MIN {
            shifts(&numbers, Limits::with_magnitude(metric.magnitude_min))
        } else {
            Vec::new()
        };
        let change = |shift: Shift| {
            let (before, run) = (values[shift.at - 1].0, values[shift.at].0);
            let sides = (&self.runs[before], &self.runs[run]);
            let kind = if !shift.is_confirmed() {
                ChangeKind::Unconfirmed
            } else if sides.0.machine != sides.1.machine {
                ChangeKind::OtherMachine
            } else if (shift.change() > 0.0) == metric.higher_is_better {
                ChangeKind::Better
            } else {
                ChangeKind::Worse
            };
            Change {
                shift,
                run,
                kind,
                differs: sides.0.differs(sides.1, variant),
            }
        };
        Line {
            variant: variant.clone(),
            point: at,
            metric,
            changes: found.into_iter().map(change).collect(),
            values,
            ci95,
        }
    }

    pub(crate) fn json(&self) -> Value {
        let line = |line: &Line| {
            let value = |(run, value): &(usize, f64)| {
                let stamp = &self.runs[*run].stamp;
                json!({ "run": stamp, "value": value })
            };
            let change = |change: &Change| {
                json!({
                    "since": self.runs[change.run].stamp,
                    "before": change.shift.before,
                    "after": change.shift.after,
                    "runs_before": change.shift.before_count,
                    "runs_after": change.shift.after_count,
                    "change": change.shift.change(),
                    "p": change.shift.p,
                    "kind": change.kind.name(),
                    "differs": change.differs,
                })
            };
            json!({
                "variant": line.variant,
                "point": store::point::map_of(line.point),
                "metric": line.metric.key,
                "values": line.values.iter().map(value).collect::<Vec<_>>(),
                "changes": line.changes.iter().map(change).collect::<Vec<_>>(),
            })
        };
        let left_out = |(stamp, why): &(String, String)| json!({ "run": stamp, "why": why });
        json!({
            "format": store::record::FORMAT,
            "study": self.study,
            "runs": self.runs.iter().map(|run| &run.stamp).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
            "series": self.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

/// Returns the run if its verdict is valid or suspect. Otherwise, returns the reason why the run is
/// not usable.
fn usable_run(run: Run) -> Result<Run, String> {
    let verdict = run.findings.as_ref().map(|f| f.verdict);
    match (run.state, verdict) {
        (_, Some(record::Verdict::Valid | record::Verdict::Suspect)) => Ok(run),
        (_, Some(_)) => Err("invalid".to_owned()),
        (RunState::Finished | RunState::Interrupted, None) => Err("interrupted".to_owned()),
        (RunState::Running, None) => Err("still running".to_owned()),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Describes the scale and the kind of target, which all runs of a history share.
fn size_of(run: &Run) -> String {
    let scale = run.plan.scale.as_deref().unwrap_or("as written");
    let kind = |event: &JournalEvent| match event {
        JournalEvent::TargetStarting { kind, .. } => Some(kind.clone()),
        _ => None,
    };
    let kinds: BTreeSet<String> = run.journal.iter().filter_map(|l| kind(&l.event)).collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    format!("scale {scale}, target {}", kinds.join(" and "))
}

impl UsedRun {
    fn from_run(run: Run) -> UsedRun {
        let (mut machine, mut cassandra) = (BTreeMap::new(), BTreeSet::new());
        for line in &run.journal {
            match &line.event {
                JournalEvent::RunStarted { machine: facts, .. } => {
                    let named = facts.facts().into_iter();
                    machine =
                        named.filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect();
                }
                JournalEvent::TargetReady { nodes, .. } => {
                    cassandra.extend(nodes.iter().map(|node| node.version.clone()));
                }
                _ => {}
            }
        }
        cassandra.remove("");
        let resolved = &run.plan.resolved;
        let flat = |(name, tree): (&String, &Value)| {
            let mut flat = flatten(tree);
            // Requirements do not affect the measurement, so they do not count as differences
            // between runs.
            flat.retain(|key, _| !key.starts_with("require"));
            for (file, text) in &resolved.overrides.inputs {
                flat.insert(format!("file {file}"), describe_file(text));
            }
            flat.insert("seed".into(), run.plan.seed.to_string());
            flat.insert("repeat.blocks".into(), resolved.repeat.blocks.to_string());
            (VariantName::from(name.as_str()), flat)
        };
        UsedRun {
            settings: resolved.variants.iter().map(flat).collect(),
            stamp: run.stamp,
            path: run.path,
            verdict: run.findings.as_ref().map(|findings| findings.verdict),
            link: None,
            cassay: run.plan.cassay,
            cassandra: cassandra.into_iter().collect::<Vec<_>>().join(", "),
            machine,
            points: run.findings.map(|f| f.points).unwrap_or_default(),
        }
    }

    /// Returns the settings of a variant and the other recorded facts of the run, by name.
    fn facts(&self, variant: &VariantName) -> BTreeMap<String, String> {
        let mut facts = self.settings.get(variant).cloned().unwrap_or_default();
        facts.insert("cassay".into(), self.cassay.clone());
        facts.insert("Cassandra".into(), self.cassandra.clone());
        let machine = self.machine.iter();
        facts.extend(machine.map(|(name, fact)| (format!("machine, {name}"), fact.clone())));
        facts
    }

    fn differs(&self, after: &UsedRun, variant: &VariantName) -> Vec<String> {
        let (a, b) = (self.facts(variant), after.facts(variant));
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let differs = keys.into_iter().filter(|key| a.get(*key) != b.get(*key));
        let absent = "not set".to_owned();
        let words = |key: &String| {
            let of = |facts: &BTreeMap<String, String>| facts.get(key).unwrap_or(&absent).clone();
            format!("{key}: {} → {}", of(&a), of(&b))
        };
        differs.map(words).collect()
    }
}
