//! Explains each knee, peak, difference, fault and drift by the resources that were fully used at
//! that time.
//!
//! Several blocks of one point are combined. A value is their median, and a resource is full if it
//! was full in more than half of the blocks.

use super::comparisons::is_search;
use super::points::{load_of, places_of, state_of};
use analysis::VariantName;
use analysis::limits::{Before, Candidate, LimitKind, LimitReading, NodeUse, Observation};
use analysis::limits::{candidates, nearest};
use analysis::procedure::Point;
use analysis::sweep::State;
use store::record::{
    ComparisonRecord, Finding, FindingsRecord, LimitCandidateRecord, LimitEvent, LimitRecord,
    LimitSpan, NodeCpuRecord, SearchRecord, SweepRecord, TrialFinding, TrialLimitsRecord,
};
use study::settings::Study;

/// Adds the explanations to the findings, and at most one explanation to the answer.
pub fn explain(study: &Study, trials: &[TrialFinding], found: &mut FindingsRecord) {
    found.limits = limits(study, trials, found);
    let of_answer = of_answer(&found.limits).map(|at| found.limits[at].says.clone());
    found.answer.extend(of_answer);
}

/// Returns an explanation for each event, beginning with the events in the answer of the run. An
/// event whose trials have no readings of resources has no explanation.
fn limits(study: &Study, trials: &[TrialFinding], of: &FindingsRecord) -> Vec<LimitRecord> {
    let mut found: Vec<LimitRecord> = Vec::new();
    found.extend(differences(trials, &of.comparisons));
    for variant in &study.variants {
        let name = &variant.name;
        if is_search(variant) {
            found.extend(peak(trials, name, &of.searches));
        } else {
            found.extend(knee(trials, name, &of.sweeps));
        }
    }
    found.extend(trials.iter().flat_map(faults));
    found.extend(trials.iter().filter_map(drift));
    for record in &mut found {
        record.says = sentences::limit::sentences(record);
    }
    found
}

/// Returns the index of the explanation that belongs to the answer. The report page shows all
/// explanations. The highest load of a study counts as a limit only if a resource was full, or if
/// the load was a closed loop. A closed loop always offers as much as the target accepts.
pub fn of_answer(limits: &[LimitRecord]) -> Option<usize> {
    let is_limit = |record: &LimitRecord| match record.event {
        LimitEvent::Difference | LimitEvent::Peak | LimitEvent::Knee => true,
        LimitEvent::HighestLoad | LimitEvent::OnlyLoad => {
            !record.candidates.is_empty() || matches!(record.point, Some(Point::Threads(_)))
        }
        LimitEvent::Fault | LimitEvent::Drift => false,
    };
    limits.iter().position(is_limit)
}

/// Returns the fields of an explanation that do not depend on the kind of event.
fn explained(at: &Observation, before: Before<'_>) -> LimitRecord {
    let full = candidates(at, before);
    let nearest = if full.is_empty() { nearest(at) } else { None };
    LimitRecord {
        candidates: full.into_iter().map(candidate_record).collect(),
        nearest: nearest.map(candidate_record),
        unobserved: at.unobserved.clone(),
        nodes: at.nodes.iter().cloned().map(NodeCpuRecord::from).collect(),
        ..LimitRecord::default()
    }
}

fn candidate_record(candidate: Candidate) -> LimitCandidateRecord {
    LimitCandidateRecord {
        kind: candidate.reading.kind,
        place: candidate.reading.place,
        value: candidate.reading.value,
        limit: candidate.reading.limit,
        before: candidate.before,
        confidence: candidate.confidence,
        experiment: None,
    }
}

/// Returns the explanation of a sweep. It explains the knee, or the highest load if the sweep has
/// no knee. Returns `None` if the target kept up with the only rate of a study, because this rate
/// is not a limit. Also returns `None` without a usable trial.
fn knee(
    trials: &[TrialFinding],
    variant: &VariantName,
    sweeps: &[SweepRecord],
) -> Option<LimitRecord> {
    let sweep = sweeps.iter().find(|sweep| sweep.variant == *variant);
    let knee = sweep.and_then(|sweep| sweep.knee);
    let saturated_from = sweep.and_then(|sweep| sweep.saturated_from);
    let places = places_of(trials, variant);
    let after = |load: Point| {
        let mut above = places.iter().filter(|place| load_of(**place) > load.value());
        above.next().copied().flatten()
    };
    let is_usable =
        |trial: &TrialFinding| trial.variant == *variant && state_of(trial) != State::Unusable;
    let beyond = knee.and_then(after).or(saturated_from);
    let is_only_rate = matches!(places.as_slice(), [Some(Point::Rate(_))]);
    let is_exceeded =
        |trial: &TrialFinding| trial.variant == *variant && state_of(trial) == State::Saturated;
    let is_sustained = is_only_rate && !trials.iter().any(is_exceeded);
    if is_sustained || !trials.iter().any(is_usable) {
        return None;
    }
    let event = match (beyond, places.len()) {
        (Some(_), _) => LimitEvent::Knee,
        (None, 1) => LimitEvent::OnlyLoad,
        (None, _) => LimitEvent::HighestLoad,
    };
    let at = if beyond.is_some() {
        beyond
    } else {
        places.last().copied()?
    };
    let below = places.iter().rev().find(|place| load_of(**place) < load_of(at));
    let before = below.and_then(|place| at_point(trials, variant, *place));
    let at_it = at_point(trials, variant, at)?;
    Some(LimitRecord {
        event,
        variant: variant.clone(),
        // A knee is the last load at which throughput still rises. At higher loads, only latency
        // increases.
        point: knee.filter(|_| event == LimitEvent::Knee).or(at),
        ..explained(
            &at_it,
            before.as_ref().map_or(Before::Nothing, Before::LowerLoad),
        )
    })
}

/// Returns the explanation of a search. It compares the resources at the results with those at the
/// loads just above.
fn peak(
    trials: &[TrialFinding],
    variant: &VariantName,
    searches: &[SearchRecord],
) -> Option<LimitRecord> {
    let of_variant = || searches.iter().filter(|search| search.variant == *variant);
    let found: Vec<(usize, Point)> =
        of_variant().filter_map(|search| Some((search.block, search.at?))).collect();
    let (_, first) = found.first()?;
    let in_block = |block: usize| {
        trials.iter().filter(move |one| one.variant == *variant && one.block == block)
    };
    let above = found.iter().filter_map(|(block, at)| {
        let higher = in_block(*block).filter(|one| load_of(one.point) > at.value());
        higher.min_by(|one, other| load_of(one.point).total_cmp(&load_of(other.point)))
    });
    let at_peak = found
        .iter()
        .flat_map(|(block, at)| in_block(*block).filter(move |one| one.point == Some(*at)));
    let (above, at_peak) = (merged(above), merged(at_peak));
    let explained = match (&above, &at_peak) {
        (Some(above), Some(at_peak)) => explained(above, Before::LowerLoad(at_peak)),
        (Some(one), None) | (None, Some(one)) => explained(one, Before::Nothing),
        (None, None) => return None,
    };
    Some(LimitRecord {
        event: LimitEvent::Peak,
        variant: variant.clone(),
        point: Some(*first),
        ..explained
    })
}

/// Returns an explanation for each pair of variants that differ, at the first point at which they
/// differ.
fn differences(trials: &[TrialFinding], compared: &[ComparisonRecord]) -> Vec<LimitRecord> {
    let differs = |one: &&ComparisonRecord| one.verdict.is_difference();
    let has_primary = compared.iter().any(|one| one.primary);
    let mut found: Vec<LimitRecord> = Vec::new();
    for one in compared.iter().filter(differs).filter(|one| one.primary || !has_primary) {
        let (slower, faster) = match one.verdict {
            Finding::Slower => (&one.contender, &one.baseline),
            Finding::Faster => (&one.baseline, &one.contender),
            // The comparison shows no difference that could be explained, for example because the
            // variants were not interleaved.
            _ => continue,
        };
        let is_known =
            |known: &LimitRecord| known.variant == *slower && known.other.as_ref() == Some(faster);
        if found.iter().any(is_known) {
            continue;
        }
        let side = |variant: &VariantName| match one.point {
            Some(point) => at_point(trials, variant, Some(point)),
            // The results of two searches have different loads, so their resources are not
            // compared.
            None => merged(trials.iter().filter(|trial| trial.variant == *variant)),
        };
        if let Some(at) = side(slower) {
            found.push(LimitRecord {
                event: LimitEvent::Difference,
                variant: slower.clone(),
                other: Some(faster.clone()),
                point: one.point,
                ..explained(
                    &at,
                    side(faster).as_ref().map_or(Before::Nothing, Before::OtherSide),
                )
            });
        }
    }
    found
}

/// Returns an explanation for each fault during which a resource was full. If no resource was full,
/// the fault itself is the cause.
fn faults(trial: &TrialFinding) -> Vec<LimitRecord> {
    let before = part(trial, LimitSpan::BeforeFaults).map(observation);
    let broken = trial.limits.iter().filter(|part| part.span == LimitSpan::Fault);
    let explanation = |part: &TrialLimitsRecord| LimitRecord {
        event: LimitEvent::Fault,
        variant: trial.variant.clone(),
        point: trial.point,
        trial: Some(trial.index),
        fault: part.fault,
        ..explained(
            &observation(part),
            before.as_ref().map_or(Before::Nothing, Before::OtherSide),
        )
    };
    let all = broken.map(explanation);
    all.filter(|record| !record.candidates.is_empty()).collect()
}

/// Returns the explanation of a drift. It compares the slower third of the window with the faster
/// one.
fn drift(trial: &TrialFinding) -> Option<LimitRecord> {
    let [first, last] =
        [LimitSpan::First, LimitSpan::Last].map(|span| part(trial, span).map(observation));
    let (at, before) = if trial.drift? < 0.0 {
        (last?, first)
    } else {
        (first?, last)
    };
    Some(LimitRecord {
        event: LimitEvent::Drift,
        variant: trial.variant.clone(),
        point: trial.point,
        trial: Some(trial.index),
        ..explained(
            &at,
            before.as_ref().map_or(Before::Nothing, Before::OtherSide),
        )
    })
}

fn part(trial: &TrialFinding, span: LimitSpan) -> Option<&TrialLimitsRecord> {
    trial.limits.iter().find(|part| part.span == span)
}

/// Returns the combined observation of all blocks of a point. Returns `None` if no block has
/// readings of resources.
fn at_point(
    trials: &[TrialFinding],
    variant: &VariantName,
    point: Option<Point>,
) -> Option<Observation> {
    merged(trials.iter().filter(|one| one.variant == *variant && one.point == point))
}

fn merged<'a>(trials: impl Iterator<Item = &'a TrialFinding>) -> Option<Observation> {
    let each: Vec<Observation> = trials
        .filter_map(|trial| part(trial, LimitSpan::Window))
        .map(observation)
        .collect();
    if each.is_empty() {
        return None;
    }
    let mut whole = Observation::default();
    for kind in LimitKind::ALL {
        let of_kind =
            |one: &Observation| one.readings.iter().find(|reading| reading.kind == kind).cloned();
        match median(each.iter().filter_map(of_kind).collect()) {
            Some(reading) => whole.readings.push(reading),
            None if each.iter().any(|one| one.unobserved.contains(&kind)) => {
                whole.unobserved.push(kind);
            }
            // The trials were recorded by an older version of cassay, which did not observe this
            // resource.
            None => {}
        }
    }
    whole.nodes.clone_from(&each[0].nodes);
    for node in &mut whole.nodes {
        let all = || each.iter().flat_map(|one| &one.nodes).filter(|one| one.node == node.node);
        let (sum, count) = (all().map(|one| one.used).sum::<f64>(), all().count());
        node.used = sum / count as f64;
    }
    Some(whole)
}

/// Returns the reading with the median value. The result counts as full if most readings are full.
fn median(mut readings: Vec<LimitReading>) -> Option<LimitReading> {
    readings.sort_by(|one, other| one.value.total_cmp(&other.value));
    let full = readings.iter().filter(|reading| reading.is_full).count();
    let is_full = 2 * full > readings.len();
    let middle = readings.get(readings.len() / 2)?;
    // If the result is full, its place is that of a full reading. Otherwise its place is that of a
    // reading that is not full.
    let alike = readings.iter().rev().find(|one| one.is_full == is_full).unwrap_or(middle);
    Some(LimitReading {
        place: alike.place.clone(),
        is_full,
        ..middle.clone()
    })
}

fn observation(part: &TrialLimitsRecord) -> Observation {
    Observation {
        readings: part.readings.iter().cloned().map(LimitReading::from).collect(),
        unobserved: part.unobserved.clone(),
        nodes: part.nodes.iter().cloned().map(NodeUse::from).collect(),
    }
}

#[cfg(test)]
mod tests;
