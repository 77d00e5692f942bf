//! Measures the effect of a fault on the load. The effect consists of the dip, the lost operations,
//! the first symptom, and the time until throughput and p99 were normal again.
//!
//! Invariants: dips and recovery times need a level from intervals before the fault, without the
//! effects of other faults. A recovery time needs consecutive normal intervals of [`HOLD_S`] in
//! total.
//!
//! Intervals also vary without a fault. So an interval is outside of its level only if it is worse
//! by more than [`LEVEL_MARGIN`]. It must also be worse by more than [`DEVIATIONS`] standard
//! deviations of the intervals before the fault. A period is normal again under two conditions.
//! First, the period has no more intervals outside of the level than the period before the fault
//! had. Second, two medians are near the level: the median of the period, and the median of the
//! first [`FIRST`] intervals of the period. Near means within [`LEVEL_MARGIN`], or within two
//! standard errors of such a median if that is more.

mod peers_view;
mod return_to_normal;

pub use peers_view::{
    Away, Hints, Looks, NodeReadings, Repair, RepairNeed, away, hints, repair, streamed,
};
pub use return_to_normal::{BaselineLevel, ReturnTime};

use return_to_normal::{IntervalSeries, Worse};
use serde::{Deserialize, Serialize};

/// Share by which a series may be worse than its level and still count as normal.
pub const LEVEL_MARGIN: f64 = 0.05;
/// Time for which a series must be normal without interruption, in seconds.
pub const HOLD_S: f64 = 30.0;
/// Distance from the median, in standard deviations, beyond which an interval is outside of its
/// level. In 1 % of series of 30 normal values, one value is that far from the median. The
/// distribution of measured seconds has longer tails.
pub const DEVIATIONS: f64 = 4.0;
/// Number of intervals at the start of a period whose median must be normal too. Without this rule,
/// a shallow dip would appear to end half a period too early.
pub const FIRST: usize = 5;
/// Minimum number of intervals for a level. The standard deviation of fewer intervals is almost
/// meaningless.
pub const BEFORE_MIN: usize = 10;
/// Proposed window lengths are multiples of this length, in seconds.
const WINDOW_STEP_S: f64 = 30.0;
/// Time of the first fault to propose if the level before it was unknown, in seconds after the
/// start of the window. It includes five intervals more than [`BEFORE_MIN`], because a stall of the
/// client may make intervals longer.
pub const EARLIEST_PROPOSED_S: u64 = 15;
/// Maximum number of intervals for a level, counted back from the fault. Older intervals show
/// little about the state at the moment of the fault.
pub const BEFORE_MAX: usize = 300;
/// Maximum share by which a normal interval may differ from the level. With more noise, even a
/// complete stop would not stand out.
pub const NOISE_MAX: f64 = 0.8;

/// Maximum share by which the p99 of a normal interval may exceed its level. Beyond 100 times the
/// level, a return to normal would mean nothing. This limit is high, because 15 intervals whose
/// logarithms deviate by 0.5 often have a normal range of 10 to 30 times their level.
pub const P99_NOISE_MAX: f64 = 99.0;

/// Minimum length of an interval for which a rate is computed, in seconds.
const WHOLE_S: f64 = 0.5;

/// Returns the window length to propose, in seconds, if all nodes are up again `whole_s` seconds
/// after the start of the window. The load then has [`HOLD_S`] to return to normal, and [`HOLD_S`]
/// in which it must be normal.
pub fn proposed_window_s(whole_s: f64) -> f64 {
    ((whole_s + 2.0 * HOLD_S) / WINDOW_STEP_S).ceil() * WINDOW_STEP_S
}

/// One interval of the measured window, for all kinds of operations together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Start of the interval, in seconds since the trial's start line.
    pub from_s: f64,
    /// End of the interval, in seconds since the trial's start line.
    pub to_s: f64,
    /// Number of operations that succeeded.
    pub ok: u64,
    /// p99 of latency, in ms. Operations that the client did not follow to their ends count with
    /// their lower bounds. `None` if the interval has no latencies.
    pub p99_ms: Option<f64>,
    /// Number of operations that failed.
    pub failed: u64,
    /// Number of attempts that repeated a failed attempt.
    pub retries: u64,
    /// Number of lost connections.
    pub connections_lost: u64,
}

/// Times of a fault, in seconds since the trial's start line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FaultTimes {
    pub injected_s: f64,
    /// Time at which the healing started, if the fault was healed.
    pub healing_s: Option<f64>,
    /// Time at which all nodes of the target were observed to be up again, if known.
    pub whole_s: Option<f64>,
}

/// Rule by which the client starts operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadSchedule {
    /// Closed loop. An operation begins when another operation ends, so an operation that the
    /// target does not do is lost.
    Closed,
    /// Open loop at a rate. Operations that are late are done later, and throughput is then above
    /// normal.
    Rate,
}

/// Effect of one fault, and the recovery from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// End of the observation, in seconds since the trial's start line. The observation ends when
    /// the next fault is injected, or with the window.
    pub until_s: f64,
    /// Indexes of the other faults whose effects overlapped with the effects of this fault.
    pub beside: Vec<usize>,
    /// Level before the fault, or the reason why no level is known.
    pub before: Result<Before, String>,
    /// Loss of throughput during the fault and the recovery.
    pub dip: Option<Dip>,
    /// Times until throughput was normal again.
    pub throughput: Option<Returns>,
    /// Times until p99 was normal again.
    pub p99: Option<Returns>,
    /// First symptom that clients noticed.
    pub noticed: Option<FirstSymptom>,
}

/// Level before a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    /// Indexes of the intervals that form the level.
    pub slices: Vec<usize>,
    /// Median of successful operations per second.
    pub ops_per_s: BaselineLevel,
    /// Median of the p99 of the intervals, in ms.
    pub p99_ms: Option<BaselineLevel>,
    /// Reason why p99 has no level, if it varied too much.
    pub p99_unknown: Option<String>,
}

/// Loss of throughput, from the injection until throughput was normal again after the healing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dip {
    /// Operations per second in the worst interval.
    pub lowest_ops_per_s: f64,
    /// Start of the worst interval, in seconds since the injection.
    pub lowest_at_s: f64,
    /// Share of the level that was missing in the worst interval. 0 if the worst interval was not
    /// outside of the level.
    pub depth: f64,
    /// Total length of the intervals outside of the level, in seconds.
    pub seconds: f64,
    /// Number of operations missing in the intervals outside of the level. In an open loop,
    /// operations that were done later are subtracted.
    pub lost_ops: f64,
}

/// Times until a series was normal again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Returns {
    /// Times counted from the injection, because a cluster may recover while the fault is still
    /// active.
    pub injected: ReturnTime,
    /// Times counted from the healing, if the fault was healed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healed: Option<ReturnTime>,
}

/// First symptom that clients noticed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstSymptom {
    /// Time from the injection to the end of the interval that shows the symptom, in seconds. The
    /// symptom may have occurred earlier.
    pub within_s: f64,
    /// Symptom that the client noticed.
    pub by: ClientSymptom,
}

measure::word_enum! {
    /// Verdict on whether a fault had the intended effect and was healed.
    #[derive(Default)]
    pub enum FaultVerdict {
        /// The effect of the fault was observed, and then all nodes of the target were up again.
        Confirmed = "confirmed",
        /// The effect of the fault was not observed, or the target did not heal.
        Mismatch = "mismatch",
        /// cassay could not observe the target.
        #[default]
        Inconclusive = "inconclusive",
    }
}

measure::word_enum! {
    /// A step in the course of a fault.
    #[derive(Default)]
    pub enum FaultStep {
        /// The fault waits until it may begin.
        #[default]
        Waiting = "waiting",
        /// All nodes of the target were observed to be up before the injection.
        Checked = "checked",
        /// The injection of the fault begins.
        Injecting = "injecting",
        /// One step of a fault that consists of several steps is done.
        Acted = "acted",
        /// One step of the fault could not be done.
        NotActed = "not-acted",
        /// All nodes of the target were up again before the healing began.
        Back = "back",
        /// The effect of the fault was observed.
        Seen = "seen",
        /// The effect of the fault was not observed in time, or the fault could not be injected.
        Unseen = "unseen",
        /// The healing of the fault begins.
        Healing = "healing",
        /// All nodes of the target were observed to be up again.
        Whole = "whole",
        /// The nodes of the target were not observed to be up in time.
        NotWhole = "not-whole",
        /// A node that had to restart has started.
        Restarted = "restarted",
        /// A task has ended as expected.
        Done = "done",
        /// A task has failed.
        Failed = "failed",
        /// A task did not end in time.
        Unfinished = "unfinished",
    }
}

measure::word_enum! {
    /// A symptom that a client can notice.
    pub enum ClientSymptom {
        /// The clients lost more connections than in any interval of the level.
        LostConnections = "connections_lost",
        /// More operations failed than in any interval of the level.
        Errors = "errors",
        /// The clients repeated more attempts than in any interval of the level.
        Retries = "retries",
        /// Throughput was outside of its level.
        Throughput = "throughput",
        /// p99 was outside of its level.
        Latency = "p99",
    }
}

impl Slice {
    /// Returns true if the interval is long enough for a rate. The last interval of a window may be
    /// too short.
    fn is_whole(&self) -> bool {
        self.seconds() >= WHOLE_S
    }

    /// Returns the length of the interval, in seconds.
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Returns the number of successful operations per second; 0 for an interval without length.
    pub fn ops_per_s(&self) -> f64 {
        match self.seconds() {
            seconds if seconds > 0.0 => self.ok as f64 / seconds,
            _ => 0.0,
        }
    }
}

impl FaultTimes {
    /// Returns the times of the fault, all moved by `by_s` seconds.
    pub fn later(self, by_s: f64) -> FaultTimes {
        let later = |at_s: f64| at_s + by_s;
        FaultTimes {
            injected_s: later(self.injected_s),
            healing_s: self.healing_s.map(later),
            whole_s: self.whole_s.map(later),
        }
    }

    /// Returns the time at which all nodes were up again, or the time of the healing if that time
    /// is unknown. The result is infinite if both are unknown.
    fn over_s(&self) -> f64 {
        self.whole_s.or(self.healing_s).unwrap_or(f64::INFINITY)
    }

    fn overlaps(&self, other: &FaultTimes) -> bool {
        self.injected_s < other.over_s() && other.injected_s < self.over_s()
    }
}

/// Returns the recovery from each fault of a trial, in the order of the faults. `slices` are the
/// intervals of the measured window, in order of time.
pub fn recovery(slices: &[Slice], faults: &[FaultTimes], offered: LoadSchedule) -> Vec<Recovery> {
    let mut order: Vec<usize> = (0..faults.len()).collect();
    order.sort_by(|a, b| faults[*a].injected_s.total_cmp(&faults[*b].injected_s));
    let mut touched: Vec<[f64; 2]> = Vec::new();
    let mut found: Vec<(usize, Recovery)> = Vec::new();
    for number in order {
        let one = fault_recovery(slices, faults, number, &touched, offered);
        touched.push([faults[number].injected_s, one.over_s(&faults[number])]);
        found.push((number, one));
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, one)| one).collect()
}

fn fault_recovery(
    slices: &[Slice],
    faults: &[FaultTimes],
    number: usize,
    touched: &[[f64; 2]],
    offered: LoadSchedule,
) -> Recovery {
    let fault = faults[number];
    let others = faults.iter().enumerate().filter(|(at, _)| *at != number);
    let beside = others.clone().filter(|(_, other)| other.overlaps(&fault));
    let alone_from_s = fault.healing_s.unwrap_or(fault.injected_s);
    let next = others.map(|(_, other)| other.injected_s).filter(|at_s| *at_s > alone_from_s);
    let end_s = slices.last().map_or(fault.injected_s, |last| last.to_s);
    let mut recovery = Recovery {
        until_s: next.fold(end_s, f64::min),
        beside: beside.map(|(at, _)| at).collect(),
        before: before(slices, &fault, touched),
        dip: None,
        throughput: None,
        p99: None,
        noticed: None,
    };
    if let Ok(before) = &recovery.before {
        let until_s = recovery.until_s;
        let rate = |slice: &Slice| Some(slice.ops_per_s());
        let ops = IntervalSeries::new(slices, rate, before.ops_per_s);
        let returns = returns(&ops, &fault, until_s);
        let reach_s = match (fault.healing_s, returns.healed.and_then(|back| back.back_s)) {
            (Some(healing_s), Some(back_s)) => healing_s + back_s,
            _ => until_s,
        };
        recovery.dip = ops.dip([fault.injected_s, reach_s], offered);
        recovery.throughput = Some(returns);
        let p99 = |slice: &Slice| Some(slice.p99_ms.unwrap_or(f64::INFINITY));
        let p99 = before.p99_ms.map(|level| IntervalSeries::new(slices, p99, level));
        recovery.p99 = p99.map(|p99| self::returns(&p99, &fault, until_s));
    }
    recovery.noticed = noticed(slices, &fault, &recovery);
    recovery
}

impl Recovery {
    /// Returns the time until which the fault affected the load, in seconds. The result is infinite
    /// if the end of the fault's effect was not observed.
    fn over_s(&self, fault: &FaultTimes) -> f64 {
        let healed = |returns: &Option<Returns>| returns.as_ref()?.healed?.back_s;
        // A p99 that varies too much cannot show the end of the effect.
        let is_wild = self.before.as_ref().is_ok_and(|before| before.p99_unknown.is_some());
        let p99_s = if is_wild {
            Some(0.0)
        } else {
            healed(&self.p99)
        };
        match (fault.healing_s, healed(&self.throughput), p99_s) {
            (Some(healing_s), Some(ops_s), Some(p99_s)) => healing_s + ops_s.max(p99_s),
            _ => f64::INFINITY,
        }
    }
}

/// Returns the level before a fault.
///
/// # Errors
/// Before the fault, there are fewer than [`BEFORE_MIN`] intervals without other faults, or
/// throughput was 0 in half of them, or varied too much. The error describes the reason.
fn before(slices: &[Slice], fault: &FaultTimes, touched: &[[f64; 2]]) -> Result<Before, String> {
    let is_free = |slice: &Slice| {
        let hit = |[from_s, to_s]: &[f64; 2]| slice.from_s < *to_s && slice.to_s > *from_s;
        slice.to_s <= fault.injected_s && slice.is_whole() && !touched.iter().any(hit)
    };
    let free = (0..slices.len()).rev().filter(|at| is_free(&slices[*at]));
    let mut free: Vec<usize> = free.take(BEFORE_MAX).collect();
    free.reverse();
    if free.len() < BEFORE_MIN {
        return Err(format!(
            "before the fault, the window has {} intervals without other faults, but cassay needs \
             {BEFORE_MIN}: inject the fault later",
            free.len()
        ));
    }
    let level = |value: &dyn Fn(&Slice) -> Option<f64>, worse| -> Option<BaselineLevel> {
        let values: Vec<f64> = free.iter().filter_map(|at| value(&slices[*at])).collect();
        (values.len() >= BEFORE_MIN).then(|| BaselineLevel::from_values(&values, worse))?
    };
    let ops_per_s = level(&|slice| Some(slice.ops_per_s()), Worse::Below)
        .ok_or("throughput before the fault was 0 in at least half of the intervals")?;
    if ops_per_s.within > NOISE_MAX {
        return Err(format!(
            "throughput before the fault varied too much: its normal range is {:.0} % around the \
             median (limit {:.0} %)",
            ops_per_s.within * 100.0,
            NOISE_MAX * 100.0
        ));
    }
    let p99_ms = level(&|slice| slice.p99_ms, Worse::Above);
    let p99_unknown = p99_ms.filter(|p99| p99.within > P99_NOISE_MAX).map(|p99| {
        format!(
            "p99 before the fault varied too much: its normal range reaches {:.0} times the median \
             (limit {:.0} times)",
            p99.within + 1.0,
            P99_NOISE_MAX + 1.0
        )
    });
    Ok(Before {
        p99_ms: p99_ms.filter(|_| p99_unknown.is_none()),
        p99_unknown,
        slices: free,
        ops_per_s,
    })
}

/// Number of significant digits of a measured value in a finding.
const DIGITS: i32 = 6;

fn kept(value: f64) -> f64 {
    measure::number::round(value, DIGITS)
}

fn returns(course: &IntervalSeries, fault: &FaultTimes, until_s: f64) -> Returns {
    let hold = fault.healing_s.unwrap_or(until_s);
    // If a series leaves its level long after all nodes were up again, the fault is not the cause,
    // so only earlier departures count.
    let after = |healing_s: f64| fault.whole_s.unwrap_or(healing_s) + HOLD_S;
    Returns {
        injected: course.back(fault.injected_s, hold, until_s),
        healed: fault
            .healing_s
            .map(|healing_s| course.back(healing_s, after(healing_s), until_s)),
    }
}

type Count = fn(&Slice) -> u64;

fn noticed(slices: &[Slice], fault: &FaultTimes, found: &Recovery) -> Option<FirstSymptom> {
    let before = found.before.as_ref().ok();
    let usual = |count: Count| {
        let before = before.iter().flat_map(|before| &before.slices);
        before.map(|at| count(&slices[*at])).max().unwrap_or(0)
    };
    let counts: [(ClientSymptom, Count); 3] = [
        (ClientSymptom::LostConnections, |slice| {
            slice.connections_lost
        }),
        (ClientSymptom::Errors, |slice| slice.failed),
        (ClientSymptom::Retries, |slice| slice.retries),
    ];
    let counts = counts.map(|(sign, count)| (sign, count, usual(count)));
    let to_s = fault.over_s().min(found.until_s);
    let within = |slice: &&Slice| slice.to_s > fault.injected_s && slice.from_s < to_s;
    slices.iter().filter(within).find_map(|slice| {
        let counted = counts.iter().find(|(_, count, usual)| count(slice) > *usual);
        let by = counted.map(|(sign, ..)| *sign).or_else(|| {
            let before = before.filter(|_| slice.is_whole())?;
            let p99_ms = slice.p99_ms.unwrap_or(f64::INFINITY);
            let is_slow = before.p99_ms.is_some_and(|p99| p99_ms > p99.edge());
            if slice.ops_per_s() < before.ops_per_s.edge() {
                Some(ClientSymptom::Throughput)
            } else {
                is_slow.then_some(ClientSymptom::Latency)
            }
        })?;
        let within_s = slice.to_s - fault.injected_s;
        Some(FirstSymptom { within_s, by })
    })
}

#[cfg(test)]
mod tests;
