//! Analyses how the other nodes reacted to a fault: when they considered a node dead, and how many
//! hints they kept for that node. Also analyses the amount of streamed data, and the need for a
//! repair.

use super::{FaultTimes, kept};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Successive readings of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looks {
    /// Times of the readings in rising order, in seconds since the trial's start line.
    pub at_s: Vec<f64>,
    /// Number of nodes that this node could not reach, with the time of each reading.
    pub unreachable: Vec<(f64, f64)>,
    /// Number of nodes for which this node stores hints, with the time of each reading.
    pub pending: Vec<(f64, f64)>,
    /// Hints that this node stored per second.
    pub stored_per_s: Vec<(f64, f64)>,
    /// Hints that this node delivered per second.
    pub delivered_per_s: Vec<(f64, f64)>,
    /// Hints that this node tried and failed to deliver, per second.
    pub undelivered_per_s: Vec<(f64, f64)>,
    /// Bytes per second that other nodes streamed to this node.
    pub streamed_per_s: Vec<(f64, f64)>,
}

pub type NodeReadings = BTreeMap<String, Looks>;

/// Period in which other nodes considered a node dead.
#[derive(Clone, Debug, PartialEq)]
pub struct Away {
    /// Time from the injection until the first node considered the faulty node dead, in seconds.
    pub noticed_s: f64,
    /// Name of the first node that considered the faulty node dead.
    pub by: String,
    /// Time from the first to the last reading in which a node considered the faulty node dead, in
    /// seconds.
    pub seconds: f64,
    /// True if, at the end of the observation, all other nodes considered the faulty node alive
    /// again.
    pub is_back: bool,
}

/// Hints that nodes kept during a fault and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hints {
    /// Number of hints that the nodes stored.
    pub stored: f64,
    /// Number of hints that the nodes delivered.
    pub delivered: f64,
    /// Number of failed or timed-out attempts to deliver a hint. Nodes repeat such attempts.
    pub undelivered: f64,
    /// Time from the healing until the last hint was delivered, in seconds. If the fault was not
    /// healed, the time is counted from the injection. `None` if no hints were stored, if hints
    /// remained, or if the readings end too early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drained_s: Option<f64>,
}

measure::word_enum! {
    /// Need for a repair after a fault.
    pub enum RepairNeed {
        /// A repair is needed, because hints do not cover the writes that a node missed.
        Needed = "needed",
        /// A repair is not needed, because the nodes missed no writes or hints cover the missed
        /// writes.
        NotNeeded = "not-needed",
        /// The readings are not sufficient to decide.
        Inconclusive = "inconclusive" | "unknown",
    }
}

/// Decision on whether a repair is needed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Need for a repair.
    pub need: RepairNeed,
    /// Reason for the decision, as a clause without a full stop.
    pub why: String,
}

/// Time without activity after which all hints count as delivered, in seconds. It is longer than
/// the 10 s after which nodes write hints to files (`hints_flush_period`).
const QUIET_S: f64 = 12.0;

/// Returns the period in which nodes without a fault considered a node dead. Returns `None` if none
/// of these nodes considered a node dead.
pub fn away(
    watched: &NodeReadings,
    is_broken: impl Fn(&str) -> bool,
    fault: &FaultTimes,
    until_s: f64,
) -> Option<Away> {
    let others = watched.iter().filter(|(node, _)| !is_broken(node));
    let seen: Vec<_> = others
        .filter_map(|(node, looks)| {
            let before = looks.unreachable.partition_point(|at| at.0 <= fault.injected_s);
            let (_, usual) = looks.unreachable[..before].last()?;
            let end = looks.unreachable.partition_point(|at| at.0 <= until_s);
            let after = &looks.unreachable[before..end.max(before)];
            let is_more = |at: &&(f64, f64)| at.1 > *usual;
            let first = after.iter().find(is_more)?.0;
            let last = after.iter().rfind(is_more)?.0;
            let is_back = after.last().is_some_and(|at| at.0 > last);
            Some((first, last, is_back, node))
        })
        .collect();
    let (first_s, .., by) = seen.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let last_s = seen.iter().map(|one| one.1).fold(*first_s, f64::max);
    Some(Away {
        noticed_s: first_s - fault.injected_s,
        by: (*by).clone(),
        seconds: last_s - first_s,
        is_back: seen.iter().all(|one| one.2),
    })
}

/// Returns the hints of a fault. Returns `None` if the nodes have no readings of hints.
pub fn hints(watched: &NodeReadings, fault: &FaultTimes, until_s: f64) -> Option<Hints> {
    let span = [fault.injected_s, until_s];
    let looked: Vec<&Looks> =
        watched.values().filter(|looks| !looks.stored_per_s.is_empty()).collect();
    let sum = |of: fn(&Looks) -> &[(f64, f64)]| -> f64 {
        looked.iter().map(|looks| sum(&looks.at_s, of(looks), span)).sum()
    };
    let stored = (!looked.is_empty()).then(|| sum(|looks| &looks.stored_per_s))?;
    let healed_s = fault.healing_s.unwrap_or(fault.injected_s);
    // Readings with pending, stored or delivered hints. The last such reading shows when the
    // activity ended.
    let moving = looked
        .iter()
        .flat_map(|looks| {
            let all = looks.pending.iter().chain(&looks.stored_per_s);
            all.chain(&looks.delivered_per_s)
        })
        .filter(|at| at.1 > 0.0 && at.0 > span[0] && at.0 <= span[1]);
    let last_s = moving.map(|at| at.0).fold(fault.injected_s, f64::max);
    let ends = looked.iter().filter_map(|looks| looks.at_s.last());
    let looked_until_s = ends.fold(0.0_f64, |most, at_s| most.max(*at_s)).min(until_s);
    let is_quiet = looked_until_s - last_s >= QUIET_S;
    Some(Hints {
        stored: kept(stored),
        delivered: kept(sum(|looks| &looks.delivered_per_s)),
        undelivered: kept(sum(|looks| &looks.undelivered_per_s)),
        drained_s: (stored > 0.0 && is_quiet).then(|| kept((last_s - healed_s).max(0.0))),
    })
}

/// Returns the number of bytes that were streamed to nodes. Returns `None` if `watched` is empty.
pub fn streamed(watched: &NodeReadings, fault: &FaultTimes, until_s: f64) -> Option<f64> {
    let span = [fault.injected_s, until_s];
    let of = |looks: &Looks| sum(&looks.at_s, &looks.streamed_per_s, span);
    (!watched.is_empty()).then(|| watched.values().map(of).sum())
}

/// Decides whether a repair is needed after a fault. `window_s` is the time for which nodes keep
/// hints for a dead node.
pub fn repair(away: Option<&Away>, hints: Option<&Hints>, window_s: Option<f64>) -> Repair {
    let unknown = |why: &str| Repair {
        need: RepairNeed::Inconclusive,
        why: why.to_owned(),
    };
    let Some(hints) = hints else {
        return unknown("no probe has read the number of hints");
    };
    let Some(window_s) = window_s else {
        return unknown("no node reports how long it stores hints");
    };
    let away_s = away.map_or(0.0, |away| away.seconds);
    let lasted = match away {
        Some(_) => format!("other nodes considered the node down for {away_s:.0} s"),
        None => "no other node considered the node down".to_owned(),
    };
    let kept = match window_s {
        0.0 => "the nodes store no hints".to_owned(),
        _ => format!("the nodes store hints for {:.0} min", window_s / 60.0),
    };
    let (need, why) = match hints.drained_s {
        _ if away_s > window_s => (RepairNeed::Needed, format!("{lasted}, and {kept}")),
        _ if hints.stored == 0.0 => (
            RepairNeed::NotNeeded,
            format!("{lasted}, and the nodes stored no hint"),
        ),
        Some(_) => (
            RepairNeed::NotNeeded,
            format!("{lasted}, {kept}, and delivered all hints"),
        ),
        None => return unknown("hints remained at the end of the window"),
    };
    Repair { need, why }
}

/// Integrates a rate between two times. Each rate applies to the time since the previous reading.
fn sum(looks: &[f64], rates: &[(f64, f64)], [from_s, to_s]: [f64; 2]) -> f64 {
    let begin = rates.partition_point(|at| at.0 <= from_s);
    let end = rates.partition_point(|at| at.0 <= to_s);
    let counted = |(at_s, rate): &(f64, f64)| {
        let before = looks.partition_point(|look| look < at_s).checked_sub(1)?;
        Some(rate * (at_s - looks[before]))
    };
    rates[begin..end.max(begin)].iter().filter_map(counted).sum()
}
