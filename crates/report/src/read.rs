//! Converts a run of the store to a [`RunView`].
//!
//! A run without findings also has a view, with the plan, the journal and the series of the trials
//! so far. Facts about the nodes and the machine come from the journal's details: `machine` of
//! `run_started`, `nodes` (each with `name`, facts and `settings`) of `target_ready`.

mod long;

use crate::history::History;
use crate::merged_points::{ALL, points};
use crate::run_view::{Curve, FileView, NodeView, PointView, ProbeSeries, RunView, TrialView};
use anyhow::Result;
use measure::Times;
use std::collections::BTreeMap;
use store::record::{
    FORMAT, FindingsRecord, JournalEvent, JournalRecord, NodeRecord, PlanRecord, TrialFinding,
};
use store::{HistogramKind, Run, Trial, WindowHistograms};

impl RunView {
    /// Reads everything from `run` that a page shows.
    ///
    /// # Errors
    /// A file of the run is damaged. The error contains the path of the file, and the line.
    pub fn read(run: &Run) -> Result<RunView> {
        let trials = run.trials()?;
        let mut view = RunView {
            name: format!("{}/{}", run.plan.study, run.stamp),
            folder: run.path.display().to_string(),
            verdict: run.findings.as_ref().map(|findings| findings.verdict),
            findings: match &run.findings {
                Some(findings) => findings.clone(),
                None => no_findings(&run.plan, run.trial_findings()),
            },
            plan: run.plan.clone(),
            journal: run.journal.clone(),
            trials: if run.is_long {
                long::trial_views(run, &trials)?
            } else {
                trials.iter().map(trial_view).collect::<Result<_>>()?
            },
            points: Vec::new(),
            nodes: nodes(&run.journal),
            facts: machine(&run.journal),
            files: files(),
            notes: notes(run),
            history: History::new(&run.plan.study, store::past_of(run)?),
        };
        view.points = curves(&view, &trials)?;
        Ok(view)
    }
}

/// Returns findings for a run that has none. They contain the finished trials with their faults,
/// and an answer which states that the run has no findings.
fn no_findings(plan: &PlanRecord, trials: Vec<TrialFinding>) -> FindingsRecord {
    FindingsRecord {
        format: FORMAT,
        study: plan.study.clone(),
        verdict: Default::default(),
        reasons: Vec::new(),
        answer: vec!["The run has no findings: it is still running or was interrupted.".into()],
        faults: trials.iter().flat_map(|trial| trial.faults.clone()).collect(),
        trials,
        points: Vec::new(),
        searches: Vec::new(),
        sweeps: Vec::new(),
        comparisons: Vec::new(),
        multiplicity: None,
        ..FindingsRecord::default()
    }
}

fn trial_view(trial: &Trial) -> Result<TrialView> {
    Ok(TrialView {
        index: trial.record.index,
        intervals: trial.intervals()?.collect::<Result<_>>()?,
        probes: probes(trial, |probe| probe != OTHERS_PROBE)?,
        others: probes(trial, |probe| probe == OTHERS_PROBE)?,
        nodes: trial.nodes()?,
        slowest: trial.slowest()?,
    })
}

/// Name of the probe that measures other programs on the client's machine. Every trial has this
/// probe, so the report shows its series with the client, and not with the other probes.
const OTHERS_PROBE: &str = "others";

/// Collects the samples of the wanted probes as series. A long trial has millions of samples, so
/// this function stores the names once for each series.
fn probes(trial: &Trial, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<ProbeSeries>> {
    let mut known: BTreeMap<(String, String), ProbeSeries> = BTreeMap::new();
    for probe in trial.probes()?.into_iter().filter(|probe| is_wanted(probe)) {
        for sample in trial.samples(&probe)? {
            let sample = sample?;
            let value = (sample.t_s, sample.value);
            let key = (sample.name, sample.place);
            match known.get_mut(&key) {
                Some(series) => series.values.push(value),
                None => {
                    let series = ProbeSeries {
                        name: key.0.clone(),
                        place: key.1.clone(),
                        unit: sample.unit,
                        values: vec![value],
                        ..ProbeSeries::default()
                    };
                    known.insert(key, series);
                }
            }
        }
    }
    let mut all: Vec<ProbeSeries> = known.into_values().collect();
    // A pause is read from a log after it occurred, so the samples in a file are not in order of
    // time.
    for series in &mut all {
        series.values.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Ok(all)
}

/// Returns the distributions of every point, with its blocks merged. This function reads one point
/// at a time, because a histogram takes 290 kB, and a long study has hundreds of histograms.
fn curves(view: &RunView, trials: &[Trial]) -> Result<Vec<PointView>> {
    let mut all = Vec::new();
    for point in points(view) {
        let (mut latency, mut service) = (WindowHistograms::default(), WindowHistograms::default());
        for finding in &point.used {
            let Some(trial) = trials.iter().find(|t| t.record.index == finding.index) else {
                continue;
            };
            latency.add(trial, HistogramKind::Latency, finding)?;
            service.add(trial, HistogramKind::Service, finding)?;
        }
        let curve = |kind: &str, latency: &Times, service: Option<&Times>| PointView {
            variant: point.variant.clone(),
            point: point.at,
            kind: kind.into(),
            latency: Curve::from_times(latency),
            service: service.map(Curve::from_times).unwrap_or_default(),
        };
        if !latency.kinds.is_empty() {
            all.push(curve(ALL, &latency.all, Some(&service.all)));
        }
        for (kind, values) in &latency.kinds {
            all.push(curve(kind, values, service.kinds.get(kind)));
        }
    }
    Ok(all)
}

fn notes(run: &Run) -> Vec<String> {
    let mut notes = run.notes.clone();
    let (planned, found) = (&run.plan.cassay, &run.findings_by);
    if !found.is_empty() && found != planned {
        notes.push(format!(
            "cassay {planned} planned this run, and cassay {found} finished it."
        ));
    }
    notes.extend(gaps(run));
    notes
}

/// Returns a sentence for each kind of missing record, with the places where cassay found it
/// missing.
fn gaps(run: &Run) -> Vec<String> {
    let finished = run.trial_findings();
    let trials = match &run.findings {
        Some(findings) => &findings.trials,
        None => &finished,
    };
    let of_trials = trials.iter().flat_map(|trial| {
        trial.gaps.iter().map(|gap| (gap.words(), format!("trial {}", trial.index)))
    });
    let at_end = run.journal.iter().flat_map(|line| match &line.event {
        JournalEvent::FilesMissing { slug, gaps } => {
            let place = || format!("the end of {slug}");
            gaps.iter().map(|gap| (gap.words(), place())).collect()
        }
        _ => Vec::new(),
    });
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (words, place) in of_trials.chain(at_end) {
        all.entry(words).or_default().push(place);
    }
    let sentence = |(words, places): (String, Vec<String>)| {
        format!("Missing: {words} (found at {}).", places.join(", "))
    };
    all.into_iter().map(sentence).collect()
}

fn last<T>(journal: &[JournalRecord], which: impl Fn(&JournalEvent) -> Option<T>) -> Option<T> {
    journal.iter().rev().find_map(|line| which(&line.event))
}

fn machine(journal: &[JournalRecord]) -> Vec<(String, String)> {
    let machine = last(journal, |event| match event {
        JournalEvent::RunStarted { machine, .. } => Some(machine.facts()),
        _ => None,
    });
    let facts = machine.into_iter().flatten();
    facts.filter_map(|(name, fact)| Some((name.to_owned(), fact?))).collect()
}

fn nodes(journal: &[JournalRecord]) -> Vec<NodeView> {
    let nodes = last(journal, |event| match event {
        JournalEvent::TargetReady { nodes, .. } => Some(nodes.iter().map(node).collect()),
        _ => None,
    });
    nodes.unwrap_or_default()
}

fn node(node: &NodeRecord) -> NodeView {
    let tokens = (node.tokens > 0).then(|| node.tokens.to_string());
    let facts = [
        ("address", node.address.clone()),
        ("datacenter", node.datacenter.clone()),
        ("rack", node.rack.clone()),
        ("tokens", tokens.unwrap_or_default()),
        ("version", node.version.clone()),
    ];
    let known = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    NodeView {
        name: node.name.clone(),
        facts: known.map(|(name, fact)| (name.to_owned(), fact)).collect(),
        settings: node.settings.clone(),
    }
}

fn files() -> Vec<FileView> {
    let files = [
        ("study.yaml", "the original text of the study"),
        ("plan.json", "the plan: every trial with all its settings"),
        ("findings.json", "every number on this page, as JSON"),
        (
            "journal.ndjson",
            "the journal: every change of the run's state, with its time",
        ),
        ("trials/*/trial.json", "the settings of one trial"),
        (
            "trials/*/intervals.ndjson",
            "one record per second and kind of operation, and records about the client",
        ),
        (
            "trials/*/latency.hlog",
            "HdrHistogram log, from the intended start; one tag per kind",
        ),
        (
            "trials/*/service.hlog",
            "HdrHistogram log, from the send; one tag per kind",
        ),
        (
            "trials/*/errors.hlog",
            "HdrHistogram log of failed operations",
        ),
        (
            "trials/*/*-censored.hlog",
            "HdrHistogram log of both clocks, with values that are only lower bounds",
        ),
        (
            "trials/*/probes/*.ndjson",
            "readings of the probes: hosts, processes, JVMs and Cassandra",
        ),
        (
            "trials/*/overview.json, series.ndjson, window.hlog",
            "the same readings for pages of long runs: periods with minimum and maximum",
        ),
        (
            "trials/*/nodes.json",
            "state of hosts and nodes: tokens, and the settings and flags in effect",
        ),
        ("trials/*/logs/", "logs of the nodes"),
    ];
    let file = |(path, what): (&str, &str)| FileView {
        path: path.into(),
        what: what.into(),
    };
    files.into_iter().map(file).collect()
}
