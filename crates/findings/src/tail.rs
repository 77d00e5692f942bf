//! Explains the slowest operations of each trial by the events of its nodes and by its faults.

use super::used_trials::usable;
use analysis::tail::{Period, TailMatch, chance_of_share, judge};
use anyhow::Result;
use measure::KindCount;
use std::collections::BTreeMap;
use std::path::Path;
use store::record::{
    FaultRecord, FindingsRecord, SampleRecord, SlowOperationRecord, TailEventKind,
    TailEventsRecord, TailRecord, TrialFinding,
};
use store::{Run, Trial};

/// Largest probability of the matches by chance, over all series of events of a trial together.
const CHANCE_MAX: f64 = 0.05;

/// Name of the probe that reads the collector's log.
const LOG: &str = "gc_log";

/// Adds the explanations to the findings of the run at `path`. Adds a sentence to the answer if
/// events explain at least half of the slowest operations of a trial.
///
/// # Errors
/// A file of a trial cannot be read. In this case, nothing is added.
pub fn explain(found: &mut FindingsRecord, path: &Path) -> Result<()> {
    let trials = Run::look(path)?.trials()?;
    let names_trials = found.trials.len() > 1;
    let mut tails = Vec::new();
    for finding in found.trials.iter().filter(|finding| usable(finding)) {
        let Some(trial) = trials.iter().find(|one| one.record.index == finding.index) else {
            continue;
        };
        let slowest = trial.slowest()?;
        if slowest.is_empty() {
            continue;
        }
        let mut tail = match_events(finding, &slowest, &series_of(trial, finding)?);
        tail.says = sentences::tail::sentences(&tail, names_trials);
        tails.push(tail);
    }
    let explained: Vec<&TailRecord> = tails.iter().filter(|tail| tail.is_explained()).collect();
    found.answer.extend(sentences::tail::of_run(&explained, tails.len()));
    found.tails = tails;
    Ok(())
}

/// Kind, place and name of a series of events.
type SeriesName = (TailEventKind, String, String);

#[derive(Debug, Default)]
struct ObservedEvents {
    series: BTreeMap<SeriesName, Vec<Period>>,
    unobserved: Vec<TailEventKind>,
}

fn series_of(trial: &Trial, finding: &TrialFinding) -> Result<ObservedEvents> {
    let mut observed = ObservedEvents::default();
    if trial.probes()?.iter().any(|probe| probe == LOG) {
        for sample in trial.samples(LOG)? {
            observed.add_sample(&sample?);
        }
    } else {
        observed.unobserved.push(TailEventKind::Collection);
    }
    finding.faults.iter().for_each(|fault| observed.add_fault(fault));
    Ok(observed)
}

impl ObservedEvents {
    /// Adds a pause. The time of the sample is the end of the pause.
    fn add_sample(&mut self, sample: &SampleRecord) {
        let kind = if sample.name.starts_with("gc.pause.") {
            TailEventKind::Collection
        } else if sample.name == "gc.stall" {
            TailEventKind::AllocationStall
        } else {
            return;
        };
        let from_s = sample.t_s - sample.value / 1e3;
        self.add(
            (kind, sample.place.clone(), String::new()),
            [from_s, sample.t_s],
        );
    }

    /// Adds a fault, from its injection to its healing.
    fn add_fault(&mut self, fault: &FaultRecord) {
        let Some(from_s) = fault.injected_s else {
            return;
        };
        let to_s = fault.healing_s.or(fault.whole_s).unwrap_or(f64::INFINITY);
        let place = fault.place.clone().unwrap_or_default();
        self.add(
            (TailEventKind::Fault, place, fault.kind.clone()),
            [from_s, to_s],
        );
    }

    fn add(&mut self, name: SeriesName, event: Period) {
        self.series.entry(name).or_default().push(event);
    }
}

/// Returns the record of a trial, without its sentence.
fn match_events(
    finding: &TrialFinding,
    slowest: &[SlowOperationRecord],
    observed: &ObservedEvents,
) -> TailRecord {
    let operations: Vec<Period> = slowest.iter().map(|one| [one.due_s, one.end_s]).collect();
    let window = window_of(finding, &operations);
    let mut found: Vec<(TailEventsRecord, Vec<usize>)> = Vec::new();
    for ((kind, place, fault), events) in &observed.series {
        let matched = judge(window, &operations, events);
        let is_there = |index: &&usize| slowest[**index].node.as_ref() == Some(place);
        let sent_there = matched.matched.iter().filter(is_there).count();
        let record = TailEventsRecord {
            kind: *kind,
            place: place.clone(),
            fault: fault.clone(),
            sent_there,
            ..events_record(&matched)
        };
        found.push((record, matched.matched));
    }
    found.push(attempts(finding, slowest, TailEventKind::Retry));
    found.push(attempts(finding, slowest, TailEventKind::Speculation));
    found.retain(|(record, _)| record.matched > 0);
    found.sort_by_key(|(record, _)| usize::MAX - record.matched);
    let level = CHANCE_MAX / found.len().max(1) as f64;
    let mut is_explained = vec![false; slowest.len()];
    for (record, matched) in &mut found {
        record.explains = record.chance <= level;
        if record.explains {
            matched.iter().for_each(|index| is_explained[*index] = true);
        }
    }
    TailRecord {
        trial: finding.index,
        variant: finding.variant.clone(),
        point: finding.point,
        operations: slowest.len(),
        from_ms: slowest.iter().map(|one| one.latency_ms).fold(f64::INFINITY, f64::min),
        explained: is_explained.iter().filter(|one| **one).count(),
        events: found.into_iter().map(|(record, _)| record).collect(),
        unobserved: observed.unobserved.clone(),
        says: String::new(),
    }
}

/// Returns the measured window, which contains the due time of every operation.
fn window_of(finding: &TrialFinding, operations: &[Period]) -> Period {
    let measured = finding.phases.iter().find(|phase| phase.name == "measure");
    let due_s = operations.iter().map(|operation| operation[0]);
    let first_s = due_s.clone().fold(f64::INFINITY, f64::min);
    let last_s = due_s.fold(f64::NEG_INFINITY, f64::max);
    let [from_s, to_s] = measured.map_or([first_s, last_s], |phase| [phase.from_s, phase.to_s]);
    [from_s.min(first_s), to_s.max(last_s)]
}

fn events_record(matched: &TailMatch) -> TailEventsRecord {
    TailEventsRecord {
        matched: matched.matched.len(),
        events: matched.events,
        events_in_window: matched.events_in_window,
        covered: matched.covered,
        expected: matched.expected,
        chance: matched.chance,
        ..TailEventsRecord::default()
    }
}

/// Compares the retries or the speculative attempts of the slowest operations with those of all
/// operations.
fn attempts(
    finding: &TrialFinding,
    slowest: &[SlowOperationRecord],
    kind: TailEventKind,
) -> (TailEventsRecord, Vec<usize>) {
    let is_retry = kind == TailEventKind::Retry;
    let had = |one: &SlowOperationRecord| {
        if is_retry {
            one.retries > 0
        } else {
            one.speculated
        }
    };
    let counter = if is_retry {
        KindCount::Retries
    } else {
        KindCount::Speculations
    };
    let matched: Vec<usize> = (0..slowest.len()).filter(|index| had(&slowest[*index])).collect();
    let all: u64 = finding.counts.values().map(|counts| counts[counter]).sum();
    // An operation may have several retries, so this share is an upper bound.
    let share = (all as f64 / finding.ops_total.max(1) as f64).min(1.0);
    let record = TailEventsRecord {
        kind,
        matched: matched.len(),
        covered: share,
        expected: share * slowest.len() as f64,
        chance: chance_of_share(matched.len(), slowest.len(), share),
        ..TailEventsRecord::default()
    };
    (record, matched)
}

#[cfg(test)]
mod tests;
