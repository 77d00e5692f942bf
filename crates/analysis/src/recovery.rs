//! What a fault did to the load, and when that was over: the dip, what was lost, who noticed, and
//! how long it took until throughput and p99 were as before.
//!
//! What must hold: nothing is said without a level from before it, of intervals that no other fault
//! has touched; and a time is said only where [`HOLD_S`] of intervals in a row were seen to be as
//! before. Seconds vary by themselves. So one interval counts as outside of its level when it is
//! worse by more than [`WITHIN`], or than [`DEVIATIONS`] of the deviations of the intervals before,
//! if that is more; and a stretch is back when none of it is outside and its median, and that of
//! its first [`FIRST`] intervals, is within [`WITHIN`] of the level, or within two standard errors
//! of such a median, if that is more.

mod peers_view;
mod return_to_normal;

pub use peers_view::{Away, Hints, Looks, Repair, Watched, away, hints, repair, streamed};
pub use return_to_normal::{Back, Level};

use return_to_normal::{Course, Worse};

/// Within which share of its level a series is as before.
pub const WITHIN: f64 = 0.05;
/// For how long it must be so, in a row, s.
pub const HOLD_S: f64 = 30.0;
/// Deviations from the median beyond which an interval differs: as far lies one of 30 normal values
/// in 3 % of series, and a machine's seconds have longer tails than that.
pub const DEVIATIONS: f64 = 4.0;
/// The first intervals of a stretch, whose median must be as before too: without them a shallow dip
/// would end half a stretch before it does.
pub const FIRST: usize = 5;
/// Intervals that a level takes: the deviation of fewer says next to nothing.
pub const BEFORE_MIN: usize = 10;
/// Intervals that a level is made of at most, the last before the fault: what was an hour ago is no
/// measure of now.
pub const BEFORE_MAX: usize = 300;
/// Beyond this share a level is none: a full stop would hardly differ from it.
pub const NOISE_MAX: f64 = 0.8;

/// Intervals shorter than this have no rate of their own, s.
const WHOLE_S: f64 = 0.5;

/// One interval of the measured window, all whole kinds together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slice {
    /// Begin, in seconds since the trial's start line.
    pub from_s: f64,
    /// Its end, in seconds since the trial's start line.
    pub to_s: f64,
    /// Operations that succeeded.
    pub ok: u64,
    /// p99 of their latencies, with those that nobody followed to their end, ms; none if none did.
    pub p99_ms: Option<f64>,
    /// Operations that failed.
    pub failed: u64,
    /// Tries after one that failed.
    pub retries: u64,
    /// Connections lost.
    pub connections_lost: u64,
}

/// When a fault was on, in seconds since the trial's start line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fault {
    /// When it was injected.
    pub injected_s: f64,
    /// When healing began.
    pub healing_s: Option<f64>,
    /// When it was seen whole again.
    pub whole_s: Option<f64>,
}

/// How operations came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The next one when one has ended: what was not done is lost.
    Closed,
    /// At a rate: what was not done in time is done later, so that more than usual makes up for it.
    Rate,
}

/// What is known of one fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovery {
    /// What was seen up to here is its: the next fault's injection, or the end of the window, s.
    pub until_s: f64,
    /// Places in the list of the other faults that were on meanwhile.
    pub beside: Vec<usize>,
    /// What was before it, or why there is no level to compare with.
    pub before: Result<Before, String>,
    /// What throughput lost.
    pub dip: Option<Dip>,
    /// When throughput was as before.
    pub throughput: Option<Returns>,
    /// When p99 was as before.
    pub p99: Option<Returns>,
    /// When clients noticed.
    pub noticed: Option<Noticed>,
}

/// The level before a fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Before {
    /// Places of its intervals among those that were given.
    pub slices: Vec<usize>,
    /// Successful operations per second.
    pub ops_per_s: Level,
    /// p99 of the intervals, ms.
    pub p99_ms: Option<Level>,
}

/// What throughput lost, from the injection until it was back after the healing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dip {
    /// Operations per second in the worst interval.
    pub lowest_ops_per_s: f64,
    /// When that began, in seconds since the injection.
    pub lowest_at_s: f64,
    /// Share of the level that the worst interval lacked; 0 if none was outside of it.
    pub depth: f64,
    /// Seconds of all intervals outside of it.
    pub seconds: f64,
    /// Operations that they lack together.
    pub lost_ops: f64,
}

/// Times until a series was as before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Returns {
    /// From the injection: a cluster may recover while it is broken.
    pub injected: Back,
    /// From the healing, if it was healed.
    pub healed: Option<Back>,
}

/// The first sign that clients had.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noticed {
    /// Seconds from the injection to the end of the interval with it: at most so long.
    pub within_s: f64,
    /// What it was.
    pub by: Sign,
}

measure::word_enum! {
    /// Whether a fault was what it was meant to be.
    #[derive(Default)]
    pub enum FaultVerdict {
        /// Seen broken, and seen whole again.
        Confirmed = "confirmed",
        /// Nothing was seen of it, or it did not heal.
        Mismatch = "mismatch",
        /// Nobody could look.
        #[default]
        Inconclusive = "inconclusive",
    }
}

measure::word_enum! {
    /// A step of a fault's course.
    #[derive(Default)]
    pub enum FaultStep {
        /// It waits until it may begin.
        #[default]
        Waiting = "waiting",
        /// What is to be broken was looked at, and is whole.
        Checked = "checked",
        /// Its injection begins.
        Injecting = "injecting",
        /// What takes a while has done one of its parts.
        Acted = "acted",
        /// One of its parts cannot be done.
        NotActed = "not-acted",
        /// It was seen whole before it was healed.
        Back = "back",
        /// It was seen broken.
        Seen = "seen",
        /// It was not seen broken in time.
        Unseen = "unseen",
        /// Its healing begins.
        Healing = "healing",
        /// It was seen whole again.
        Whole = "whole",
        /// It was not seen whole in time.
        NotWhole = "not-whole",
        /// What had to be started again was.
        Restarted = "restarted",
        /// A task has ended as it should.
        Done = "done",
        /// A task has failed.
        Failed = "failed",
        /// A task had not ended in time.
        Unfinished = "unfinished",
    }
}

measure::word_enum! {
    /// What a client can notice.
    pub enum Sign {
        /// More lost connections than in any interval before.
        LostConnections = "connections_lost",
        /// More errors.
        Errors = "errors",
        /// More retries.
        Retries = "retries",
        /// Throughput outside of its level.
        Throughput = "throughput",
        /// p99 outside of its level.
        Latency = "p99",
    }
}

impl Slice {
    /// Whether it is long enough for a rate of its own: the last of a window may be a moment.
    fn is_whole(&self) -> bool {
        self.seconds() >= WHOLE_S
    }

    /// Length, s.
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Successful operations per second; 0 in an interval without length.
    pub fn ops_per_s(&self) -> f64 {
        match self.seconds() {
            seconds if seconds > 0.0 => self.ok as f64 / seconds,
            _ => 0.0,
        }
    }
}

impl Fault {
    /// The same, so many seconds later.
    pub fn later(self, by_s: f64) -> Fault {
        let later = |at_s: f64| at_s + by_s;
        Fault {
            injected_s: later(self.injected_s),
            healing_s: self.healing_s.map(later),
            whole_s: self.whole_s.map(later),
        }
    }

    /// When it was over, as far as is known.
    fn over_s(&self) -> f64 {
        self.whole_s.or(self.healing_s).unwrap_or(f64::INFINITY)
    }

    fn overlaps(&self, other: &Fault) -> bool {
        self.injected_s < other.over_s() && other.injected_s < self.over_s()
    }
}

/// What became of each of the faults of a trial, in their order; `slices` are the intervals of its
/// measured window, in order of time.
pub fn recovery(slices: &[Slice], faults: &[Fault], offered: Offered) -> Vec<Recovery> {
    let mut order: Vec<usize> = (0..faults.len()).collect();
    order.sort_by(|a, b| faults[*a].injected_s.total_cmp(&faults[*b].injected_s));
    let mut touched: Vec<[f64; 2]> = Vec::new();
    let mut found: Vec<(usize, Recovery)> = Vec::new();
    for number in order {
        let one = of(slices, faults, number, &touched, offered);
        touched.push([faults[number].injected_s, one.over_s(&faults[number])]);
        found.push((number, one));
    }
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, one)| one).collect()
}

fn of(
    slices: &[Slice],
    faults: &[Fault],
    number: usize,
    touched: &[[f64; 2]],
    offered: Offered,
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
        let ops = Course::new(slices, rate, before.ops_per_s, Worse::Below);
        let returns = returns(&ops, &fault, until_s);
        let reach_s = match (fault.healing_s, returns.healed.and_then(|back| back.back_s)) {
            (Some(healing_s), Some(back_s)) => healing_s + back_s,
            _ => until_s,
        };
        recovery.dip = ops.dip([fault.injected_s, reach_s], offered);
        recovery.throughput = Some(returns);
        let p99 = |slice: &Slice| Some(slice.p99_ms.unwrap_or(f64::INFINITY));
        let p99 = before.p99_ms.map(|level| Course::new(slices, p99, level, Worse::Above));
        recovery.p99 = p99.map(|p99| self::returns(&p99, &fault, until_s));
    }
    recovery.noticed = noticed(slices, &fault, &recovery);
    recovery
}

impl Recovery {
    /// Until when it touched the load; without end if nobody saw it end.
    fn over_s(&self, fault: &Fault) -> f64 {
        let healed = |returns: &Option<Returns>| returns.as_ref()?.healed?.back_s;
        match (fault.healing_s, healed(&self.throughput), healed(&self.p99)) {
            (Some(healing_s), Some(ops_s), Some(p99_s)) => healing_s + ops_s.max(p99_s),
            _ => f64::INFINITY,
        }
    }
}

/// The level before a fault.
///
/// # Errors
/// Why there is none: a sentence.
fn before(slices: &[Slice], fault: &Fault, touched: &[[f64; 2]]) -> Result<Before, String> {
    let is_free = |slice: &Slice| {
        let hit = |[from_s, to_s]: &[f64; 2]| slice.from_s < *to_s && slice.to_s > *from_s;
        slice.to_s <= fault.injected_s && slice.is_whole() && !touched.iter().any(hit)
    };
    let free = (0..slices.len()).rev().filter(|at| is_free(&slices[*at]));
    let mut free: Vec<usize> = free.take(BEFORE_MAX).collect();
    free.reverse();
    if free.len() < BEFORE_MIN {
        return Err(format!(
            "{} intervals of the window lie before it that no other fault has touched, \
             {BEFORE_MIN} are needed: inject it later",
            free.len()
        ));
    }
    let of = |value: &dyn Fn(&Slice) -> Option<f64>| -> Option<Level> {
        let values: Vec<f64> = free.iter().filter_map(|at| value(&slices[*at])).collect();
        (values.len() >= BEFORE_MIN).then(|| Level::of(&values))?
    };
    let ops_per_s = of(&|slice| Some(slice.ops_per_s())).ok_or("nothing was done before it")?;
    if ops_per_s.within > NOISE_MAX {
        return Err(format!(
            "throughput before it varied so much by itself that one interval within {:.0} % of its \
             median is as usual, limit {:.0} %",
            ops_per_s.within * 100.0,
            NOISE_MAX * 100.0
        ));
    }
    Ok(Before {
        p99_ms: of(&|slice| slice.p99_ms),
        slices: free,
        ops_per_s,
    })
}

fn returns(course: &Course, fault: &Fault, until_s: f64) -> Returns {
    let hold = fault.healing_s.unwrap_or(until_s);
    // What leaves its level long after it was seen whole is not the fault's.
    let after = |healing_s: f64| fault.whole_s.unwrap_or(healing_s) + HOLD_S;
    Returns {
        injected: course.back(fault.injected_s, hold, until_s),
        healed: fault
            .healing_s
            .map(|healing_s| course.back(healing_s, after(healing_s), until_s)),
    }
}

/// A count of an interval.
type Count = fn(&Slice) -> u64;

/// The first interval in which clients could notice it.
fn noticed(slices: &[Slice], fault: &Fault, found: &Recovery) -> Option<Noticed> {
    let before = found.before.as_ref().ok();
    let usual = |count: Count| {
        let before = before.iter().flat_map(|before| &before.slices);
        before.map(|at| count(&slices[*at])).max().unwrap_or(0)
    };
    let counts: [(Sign, Count); 3] = [
        (Sign::LostConnections, |slice| slice.connections_lost),
        (Sign::Errors, |slice| slice.failed),
        (Sign::Retries, |slice| slice.retries),
    ];
    let counts = counts.map(|(sign, count)| (sign, count, usual(count)));
    let to_s = fault.over_s().min(found.until_s);
    let within = |slice: &&Slice| slice.to_s > fault.injected_s && slice.from_s < to_s;
    slices.iter().filter(within).find_map(|slice| {
        let counted = counts.iter().find(|(_, count, usual)| count(slice) > *usual);
        let by = counted.map(|(sign, ..)| *sign).or_else(|| {
            let before = before.filter(|_| slice.is_whole())?;
            let p99_ms = slice.p99_ms.unwrap_or(f64::INFINITY);
            let is_slow = before.p99_ms.is_some_and(|p99| p99_ms > p99.edge(Worse::Above));
            if slice.ops_per_s() < before.ops_per_s.edge(Worse::Below) {
                Some(Sign::Throughput)
            } else {
                is_slow.then_some(Sign::Latency)
            }
        })?;
        let within_s = slice.to_s - fault.injected_s;
        Some(Noticed { within_s, by })
    })
}

#[cfg(test)]
mod tests;
