//! Computes the effects of a trial's faults from its files when the trial has ended. In this way,
//! the memory that cassay uses while a trial runs does not depend on the length of the trial.

mod peers_view;
mod window;

use analysis::recovery::{self, Away, BaselineLevel, Before, FaultTimes, LoadSchedule, Recovery};
use anyhow::Result;
use measure::number::round;
use peers_view::NodeWatch;
use store::Trial;
use store::record::{
    BaselineRecord, FaultRecord, NoticedRecord, RecoveryRecord, StretchRecord, TrialFinding,
};
use window::{Stretch, Window};

/// Number of significant digits of a value in a finding.
const DIGITS: i32 = 6;

/// Adds the effects of each fault to the finding of a trial. The files of the trial must be
/// complete.
///
/// # Errors
/// A file cannot be read.
pub fn measure(trial: &Trial, finding: &mut TrialFinding, offered: LoadSchedule) -> Result<()> {
    let on: Vec<usize> = (0..finding.faults.len())
        .filter(|at| times(&finding.faults[*at]).is_some())
        .collect();
    let faults: Vec<FaultTimes> = finding.faults.iter().filter_map(times).collect();
    if faults.is_empty() {
        return Ok(());
    }
    let window = Window::read(trial, &finding.parts)?;
    let kept = NodeWatch::read(trial)?;
    let found = recovery::recovery(&window.slices, &faults, offered);
    let stretches: Vec<Stretch> = found
        .iter()
        .zip(&faults)
        .flat_map(|(found, fault)| window.stretches(found, fault))
        .collect();
    let mut stretches = window.records(trial, stretches)?.into_iter();
    let names: Vec<String> = on.iter().map(|at| finding.faults[*at].name()).collect();
    for ((at, fault), found) in on.iter().zip(&faults).zip(&found) {
        let mut next = || stretches.next().flatten();
        let record = RecoveryRecord {
            before: next(),
            during: next(),
            after: next(),
            cut_by_fault: window.slices.last().is_some_and(|last| found.until_s < last.to_s),
            beside: found.beside.iter().map(|at| names[*at].clone()).collect(),
            ..to_record(found, fault, &finding.faults[*at], &kept)
        };
        put(&mut finding.faults[*at], record);
    }
    Ok(())
}

/// Period that begins with the injection of a fault, and period after the fault. `None` for a
/// period that contains no interval of the log.
pub type FromInjection = [Option<StretchRecord>; 2];

/// Returns the periods of a trial without faults that correspond to the faults of another trial, in
/// the order of the faults. Times count from the start of each window. For a fault that was never
/// injected, both periods are `None`.
///
/// # Errors
/// One of the trials cannot be read.
pub fn stretches_without(
    with: &Trial,
    faults: &[FaultRecord],
    without: &Trial,
    parts: &[String],
) -> Result<Vec<FromInjection>> {
    let mut first = None;
    for line in with.intervals()? {
        let line = line?;
        if line.phase == "measure" {
            first = Some(line.t_s);
            break;
        }
    }
    let window = Window::read(without, parts)?;
    let begins_s = first.zip(window.slices.first().map(|slice| slice.from_s));
    let Some((with_s, without_s)) = begins_s else {
        return Ok(vec![FromInjection::default(); faults.len()]);
    };
    let shift_s = without_s - with_s;
    let nothing = || [Stretch::All(0..0), Stretch::All(0..0)];
    let stretches = faults.iter().flat_map(|record| {
        let there = times(record).zip(record.recovery.as_ref()).map(|(fault, found)| {
            let until_s = fault.injected_s + found.watched_s + shift_s;
            window.since_injection(&fault.later(shift_s), until_s)
        });
        there.unwrap_or_else(nothing)
    });
    let mut records = window.records(without, stretches.collect())?.into_iter();
    let mut next = || records.next().flatten();
    Ok(faults.iter().map(|_| [next(), next()]).collect())
}

fn times(record: &FaultRecord) -> Option<FaultTimes> {
    Some(FaultTimes {
        injected_s: record.injected_s?,
        healing_s: record.healing_s,
        whole_s: record.whole_s,
    })
}

/// Stores the record, and also sets the fields that fault records of earlier versions have.
fn put(fault: &mut FaultRecord, record: RecoveryRecord) {
    fault.detect_s = record.noticed.client_s;
    fault.dip = record.dip.map(|dip| dip.depth);
    let throughput = record.throughput.as_ref();
    fault.recover_s = throughput.and_then(|back| match back.healed {
        Some(healed) => healed.back_s,
        None => back.injected.back_s,
    });
    fault.recovery = Some(record);
}

/// Returns the record of a recovery, without the periods.
fn to_record(
    found: &Recovery,
    fault: &FaultTimes,
    record: &FaultRecord,
    kept: &NodeWatch,
) -> RecoveryRecord {
    let before = found.before.as_ref();
    let level = |of: fn(&Before) -> Option<BaselineLevel>| {
        let before = before.ok()?;
        Some(level(of(before)?, before.slices.len()))
    };
    let place = record.place.as_deref().unwrap_or_default();
    let is_broken = |node: &str| kept.is_at(node, place);
    let away = recovery::away(&kept.watched, is_broken, fault, found.until_s);
    let hints = recovery::hints(&kept.watched, fault, found.until_s);
    let repair = (kept.hosts.len() > 1)
        .then(|| recovery::repair(away.as_ref(), hints.as_ref(), kept.hint_window_s));
    let (repair, repair_why) = repair.map(|repair| (repair.need, repair.why)).unzip();
    RecoveryRecord {
        watched_s: seconds((found.until_s - fault.injected_s).max(0.0)),
        unseen: match before {
            Ok(before) => before.p99_unknown.iter().cloned().collect(),
            Err(why) => vec![why.clone()],
        },
        ops_per_s: level(|before| Some(before.ops_per_s)),
        p99_ms: level(|before| before.p99_ms),
        dip: found.dip,
        throughput: found.throughput,
        p99: found.p99,
        noticed: noticed(found, away),
        hints,
        streamed_bytes: recovery::streamed(&kept.watched, fault, found.until_s),
        repair,
        repair_why: repair_why.unwrap_or_default(),
        ..RecoveryRecord::default()
    }
}

fn level(level: BaselineLevel, intervals: usize) -> BaselineRecord {
    BaselineRecord {
        middle: round(level.middle, DIGITS),
        within: round(level.within, DIGITS),
        near: round(level.near(recovery::HOLD_S as usize), DIGITS),
        intervals,
    }
}

fn seconds(value: f64) -> f64 {
    round(value, DIGITS)
}

fn noticed(found: &Recovery, away: Option<Away>) -> NoticedRecord {
    let client = found.noticed;
    let record = NoticedRecord {
        client_s: client.map(|client| seconds(client.within_s)),
        client_by: client.map(|client| client.by),
        ..NoticedRecord::default()
    };
    match away {
        None => record,
        Some(away) => NoticedRecord {
            gossip_s: Some(seconds(away.noticed_s)),
            gossip_by: away.by,
            gossip_away_s: Some(seconds(away.seconds)),
            ..record
        },
    }
}

#[cfg(test)]
mod tests;
