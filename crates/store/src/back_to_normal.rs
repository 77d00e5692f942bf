//! Describes the recovery of throughput and p99 after a fault. Answers, panels, tables and cards
//! all use the same [`Aftermath`].
//!
//! Invariants: only [`Aftermath`] decides whether throughput and p99 returned to normal. A series
//! that was not measured counts neither as normal nor as abnormal.

use crate::record::{FaultRecord, RecoveryRecord, Returns};
use analysis::recovery::HOLD_S;
use measure::number::{change, short};

/// Recovery of throughput or p99 after a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeriesEnd {
    /// The series was always normal.
    Usual,
    /// The series returned to normal after this many seconds, counted from the healing, or from the
    /// injection if the fault was not healed.
    Back(f64),
    /// The series did not return to normal within this many seconds, counted from the healing, or
    /// from the injection if the fault was not healed.
    NotBack(f64),
    /// The recovery of the series was not measured.
    NotMeasured,
}

/// Reason why the recovery from a fault was not measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotMeasured {
    /// The last node of the target was up again only after the end of the observation. The value is
    /// the time from the end of the observation to that moment, s.
    WholeLater(f64),
    /// cassay never observed all nodes of the target up after the fault.
    NeverWhole,
    /// Too little of the observation was left after all nodes of the target were up again. The
    /// value is the time that was left, s.
    LittleLeft(f64),
}

/// Recovery of throughput and p99 after a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aftermath {
    /// Recovery of throughput. `None` if the level before the fault is unknown.
    pub throughput: Option<SeriesEnd>,
    /// Recovery of p99. `None` if the level before the fault is unknown.
    pub p99: Option<SeriesEnd>,
    /// Reason why the recovery was not measured. `None` if the recovery was measured, or if both
    /// series were always normal.
    pub not_measured: Option<NotMeasured>,
}

impl Aftermath {
    /// Returns the recovery after a fault. `None` if nothing is known about the time before the
    /// fault.
    pub fn from_fault(fault: &FaultRecord) -> Option<Aftermath> {
        let found = fault.recovery.as_ref()?;
        let why = not_measured(fault, found);
        let end = |returns: &Returns| series_end(returns, why.is_some());
        let both = [&found.throughput, &found.p99].map(|returns| returns.as_ref().map(end));
        let [throughput, p99] = both;
        let is_open = both.contains(&Some(SeriesEnd::NotMeasured));
        (throughput.is_some() || p99.is_some()).then(|| Aftermath {
            throughput,
            p99,
            not_measured: why.filter(|_| is_open),
        })
    }

    /// Returns the time at which both series had returned to normal, in seconds since the healing.
    /// `None` if cassay did not observe this for both series.
    pub fn normal_s(&self) -> Option<f64> {
        let ends = [self.throughput, self.p99].into_iter().flatten();
        ends.map(|end| match end {
            SeriesEnd::Usual => Some(0.0),
            SeriesEnd::Back(seconds) => Some(seconds),
            SeriesEnd::NotBack(_) | SeriesEnd::NotMeasured => None,
        })
        .try_fold(0.0, |most: f64, end| Some(most.max(end?)))
    }

    /// Describes the recovery from a fault as a clause. `None` if both series were always normal.
    pub fn words(&self, fault: &FaultRecord) -> Option<String> {
        let from = since(fault);
        let each = [("throughput", self.throughput), ("p99", self.p99)];
        let said = each.iter().filter_map(|(what, end)| match (*end)? {
            SeriesEnd::Usual | SeriesEnd::NotMeasured => None,
            SeriesEnd::Back(back_s) => Some(format!(
                "{what} was back to normal {} s after the {from}",
                short(back_s, 3)
            )),
            SeriesEnd::NotBack(watched_s) => Some(format!(
                "{what} was not back to normal within {} s of the {from}",
                short(watched_s, 3)
            )),
        });
        let why = self.not_measured.map(|why| why.words(fault));
        let all: Vec<String> = said.chain(why).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

impl NotMeasured {
    /// Describes the reason why the recovery was not measured, such as `node2 was back 4.7 s after
    /// the window ended: cassay did not measure the recovery`.
    pub fn words(self, fault: &FaultRecord) -> String {
        let what = match &fault.place {
            Some(place) if fault.kind.starts_with("node-") => format!("{place} was back"),
            _ => format!("the target of “{}” was healthy again", fault.name()),
        };
        let ended = if fault.recovery.as_ref().is_some_and(|found| found.cut_by_fault) {
            "the next fault began"
        } else {
            "the window ended"
        };
        match self {
            NotMeasured::WholeLater(late_s) => format!(
                "{what} only {} s after {ended}, so cassay did not measure the recovery",
                short(late_s, 3)
            ),
            NotMeasured::NeverWhole => {
                format!("cassay did not observe that {what}, so the recovery is unknown")
            }
            NotMeasured::LittleLeft(left_s) => format!(
                "{what} {} s before {ended}, but {HOLD_S} s are required: cassay did not measure \
                 the recovery",
                short(left_s, 3)
            ),
        }
    }
}

/// Returns the event from which the times of a recovery count: `healing`, or `injection` if the
/// fault was not healed.
pub fn since(fault: &FaultRecord) -> &'static str {
    let mut returns = fault.recovery.iter().flat_map(|found| [&found.throughput, &found.p99]);
    if returns.any(|one| one.as_ref().is_some_and(|returns| returns.healed.is_some())) {
        "healing"
    } else {
        "injection"
    }
}

/// Returns the recovery of a series from the times in `returns`. `was_cut` is true if too little
/// time was left to measure a recovery.
fn series_end(returns: &Returns, was_cut: bool) -> SeriesEnd {
    let back = returns.healed.unwrap_or(returns.injected);
    // A series that was abnormal only during the fault also left its level, so both times are
    // examined.
    match (returns.injected.left_s.or(back.left_s), back.back_s) {
        (None, Some(_)) => SeriesEnd::Usual,
        (Some(_), Some(back_s)) => SeriesEnd::Back(back_s),
        (_, None) if was_cut => SeriesEnd::NotMeasured,
        (_, None) => SeriesEnd::NotBack(back.watched_s),
    }
}

/// Returns the reason why the observation after the fault does not suffice to measure a recovery.
/// `None` if it suffices, or if the fault was neither healed nor known to be over.
fn not_measured(fault: &FaultRecord, found: &RecoveryRecord) -> Option<NotMeasured> {
    let until_s = fault.injected_s? + found.watched_s;
    match fault.whole_s {
        Some(whole_s) if whole_s > until_s => Some(NotMeasured::WholeLater(whole_s - until_s)),
        Some(whole_s) if until_s - whole_s < HOLD_S => {
            Some(NotMeasured::LittleLeft(until_s - whole_s))
        }
        Some(_) => None,
        None => fault.healing_s.map(|_| NotMeasured::NeverWhole),
    }
}

/// Ratio of the maximum to the p99 during a fault. At this ratio and above, p99 hides the outage,
/// because a closed loop sends few operations while it waits.
const MAXIMUM_SHOWN_RATIO: f64 = 10.0;

/// Describes the effect of a fault on latency, for example `p99 51 → 1,040 ms during the fault (×
/// 20.4)`. If the p99 before the fault is unknown, the text contains only the p99 during the fault.
/// If no response arrived during the fault, the text states this. `None` if the p99 during the
/// fault is unknown for another reason.
pub fn p99_words(fault: &FaultRecord) -> Option<String> {
    let found = fault.recovery.as_ref()?;
    let during = found.during.as_ref()?;
    if during.latency_ms.count == 0 && during.seconds > 0.0 {
        return Some("no response during the fault".to_owned());
    }
    let (p99, most) = (during.latency_ms.p99, during.latency_ms.max);
    if p99.least() <= 0.0 {
        return None;
    }
    let before = found.before.as_ref().map_or(0.0, |before| before.latency_ms.p99.least());
    let level = if before > 0.0 {
        format!("{} → ", short(before, 3))
    } else {
        String::new()
    };
    let mut words = format!(
        "p99 {level}{}{} ms during the fault",
        p99.sign(),
        short(p99.least(), 3)
    );
    if before > 0.0 {
        words += &format!(" ({})", change(p99.least() / before));
    }
    if most.least() >= MAXIMUM_SHOWN_RATIO * p99.least() {
        words += &format!(", maximum {}{} ms", most.sign(), short(most.least(), 3));
    }
    Some(words)
}

/// Returns the reason why cassay cannot judge the effect of an injected fault, such as `cassay
/// cannot judge the effect: before the fault, …`. `None` if the effect is known.
pub fn unknown_effect(found: &RecoveryRecord) -> Option<String> {
    if found.dip.is_some() {
        return None;
    }
    let why = match found.unseen.as_slice() {
        [] => "the measured window contains no interval during the fault".to_owned(),
        reasons => reasons.join("; "),
    };
    Some(format!("cassay cannot judge the effect: {why}"))
}

/// Returns the factor by which p99 was higher during a fault than before the fault. `None` if the
/// factor is unknown, and infinite if no response arrived during the fault.
pub fn p99_ratio(fault: &FaultRecord) -> Option<f64> {
    let found = fault.recovery.as_ref()?;
    let (before, during) = (found.before.as_ref()?, found.during.as_ref()?);
    if during.latency_ms.count == 0 && during.seconds > 0.0 {
        return Some(f64::INFINITY);
    }
    let [before, during] = [before, during].map(|stretch| stretch.latency_ms.p99.least());
    (before > 0.0 && during > 0.0).then(|| during / before)
}

#[cfg(test)]
mod tests;
