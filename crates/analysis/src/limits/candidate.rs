//! Compares two trials, and ranks the rows of the table that may have limited the load.

use super::kind::{Confidence, LimitKind, LimitRole};
use super::observation::{LimitReading, Observation};

const CANDIDATES_MAX: usize = 3;
/// Minimum rise of a value, as a ratio. It applies to values that do not depend on the load, and to
/// resources that were already full in the other observation.
const RISE_MIN: f64 = 1.25;
/// Maximum fullness for the ranking of candidates. For example, a queue of 40 requests ranks the
/// same as a queue of 20.
const FULLNESS_MAX: f64 = 3.0;

/// Other observation with which the observation of a trial is compared.
#[derive(Clone, Copy, Debug)]
pub enum Before<'a> {
    /// The study did not make another observation.
    Nothing,
    /// Observation at a lower load. A resource that is full at both loads may still be the limit of
    /// the higher load.
    LowerLoad(&'a Observation),
    /// Observation of the other variant of a comparison, or of the time before a change. If a
    /// resource was already full in this observation and has hardly risen since, the resource does
    /// not explain the difference.
    OtherSide(&'a Observation),
}

impl<'a> Before<'a> {
    fn observation(self) -> Option<&'a Observation> {
        match self {
            Before::Nothing => None,
            Before::LowerLoad(seen) | Before::OtherSide(seen) => Some(seen),
        }
    }

    /// Returns true if the value `was` in the other observation shows that `reading` cannot explain
    /// the limit.
    fn excludes(self, reading: &LimitReading, was: f64) -> bool {
        match self {
            Before::Nothing => false,
            Before::LowerLoad(_) => reading.kind.must_rise() && reading.value < was * RISE_MIN,
            Before::OtherSide(_) => was >= reading.limit && reading.value < was * RISE_MIN,
        }
    }
}

/// A row of the decision table whose resource may have limited the load.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Reading of the row at the load that may be limited.
    pub reading: LimitReading,
    /// Value of the same row in the other observation. `None` without another observation, or if it
    /// lacks this value.
    pub before: Option<f64>,
    /// Confidence in the statement that this resource limited the load.
    pub confidence: Confidence,
}

/// Returns at most three full rows. The most likely row comes first.
///
/// The client and other programs come first: if they are full, the measured throughput does not
/// describe the cluster. Resources come before waits, and waits before queues. Within a role, the
/// higher confidence comes first, then the fuller row, then the order of the rows.
pub fn candidates(at: &Observation, before: Before<'_>) -> Vec<Candidate> {
    let earlier = |kind: LimitKind| {
        let readings = before.observation()?.readings.iter();
        readings.into_iter().find(|one| one.kind == kind).map(|one| one.value)
    };
    let mut found: Vec<Candidate> = Vec::new();
    for reading in at.readings.iter().filter(|one| one.is_full) {
        let was = earlier(reading.kind);
        if was.is_some_and(|was| before.excludes(reading, was)) {
            continue;
        }
        let is_alone = reading.kind.must_rise() && was.is_none();
        found.push(Candidate {
            reading: reading.clone(),
            before: was,
            confidence: if is_alone {
                Confidence::Low
            } else {
                reading.kind.row().confidence
            },
        });
    }
    found.sort_by(|one, other| {
        let key = |candidate: &Candidate| {
            let kind = candidate.reading.kind;
            (kind.role(), candidate.confidence)
        };
        let fullness = |candidate: &Candidate| candidate.reading.fullness().min(FULLNESS_MAX);
        key(one)
            .cmp(&key(other))
            .then(fullness(other).total_cmp(&fullness(one)))
            .then(one.reading.kind.cmp(&other.reading.kind))
    });
    found.truncate(CANDIDATES_MAX);
    found
}

/// Returns the resource nearest its limit, among the resources that are not full. Returns `None` if
/// all observed resources are full.
pub fn nearest(at: &Observation) -> Option<Candidate> {
    let has_room = |one: &&LimitReading| {
        let is_resource = matches!(one.kind.role(), LimitRole::Outside | LimitRole::Resource);
        is_resource && !one.is_full
    };
    let resources = at.readings.iter().filter(has_room);
    let reading = resources.max_by(|one, other| one.fullness().total_cmp(&other.fullness()))?;
    Some(Candidate {
        reading: reading.clone(),
        before: None,
        confidence: reading.kind.row().confidence,
    })
}
