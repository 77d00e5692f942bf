//! Describes a fault in a few words: its duration, the lost throughput, failures, and the return to
//! normal. For all faults together, describes whether acknowledged data was lost.

use crate::number;
use crate::run_view::RunView;
use store::record::{
    Aftermath, FaultRecord, ReadBackRecord, RecoveryRecord, StretchRecord, TrialFinding, p99_words,
    read_back_words, unknown_effect,
};

/// Sentence for a run that did not read acknowledged writes back, so it shows neither a loss nor
/// its absence.
const NOT_READ_BACK: &str = "cassay did not read back the acknowledged writes.";

/// Describes a fault, such as `node-kill of node2, broken for 45.0 s`.
pub(super) fn title(fault: &FaultRecord) -> String {
    let ends = fault.injected_s.zip(fault.whole_s.or(fault.healing_s));
    match ends {
        Some((from, to)) => {
            let seconds = number::duration(to - from);
            format!("{}, broken for {seconds}", fault.name())
        }
        None => format!("{}, not healed", fault.name()),
    }
}

/// Describes the effect of a fault on load, at a rate or in a closed loop. Returns an empty text if
/// the effect was not measured.
pub(super) fn effect(fault: &FaultRecord, is_at_rate: bool) -> String {
    let Some(found) = &fault.recovery else {
        return String::new();
    };
    let [throughput, p99] = [throughput(found), p99(fault)];
    // If load comes at a rate, throughput hardly changes, so the cost of a fault is latency.
    let costs = if is_at_rate {
        [p99, throughput]
    } else {
        [throughput, p99]
    };
    let unknown = unknown_effect(found).map(|why| why + ".");
    let said = costs.into_iter().chain([errors(found), as_before(fault), unknown]);
    said.flatten().collect::<Vec<_>>().join(" ")
}

/// Describes an effect, such as `At worst, 62 % less throughput, below normal for 29.0 s, 81,300
/// operations short.`
fn throughput(found: &RecoveryRecord) -> Option<String> {
    let dip = found.dip?;
    if dip.depth == 0.0 {
        return Some("Throughput stayed as before.".into());
    }
    let worst = if dip.lowest_ops_per_s == 0.0 {
        "At worst, no throughput".to_owned()
    } else {
        format!("At worst, {:.0} % less throughput", dip.depth * 100.0)
    };
    let short = match dip.lost_ops.round() as u64 {
        0 => String::new(),
        lost => format!(", {} operations short", number::count(lost)),
    };
    let seconds = number::duration(dip.seconds);
    Some(format!("{worst}, below normal for {seconds}{short}."))
}

/// Describes failures, such as `38 of 1,120,388 operations failed.`
fn errors(found: &RecoveryRecord) -> Option<String> {
    let stretches = || [&found.during, &found.after].into_iter().flatten();
    stretches().next()?;
    let failed: u64 = stretches().map(StretchRecord::failed).sum();
    let all = failed + stretches().map(|stretch| stretch.ops).sum::<u64>();
    Some(match failed {
        0 => "No operation failed.".into(),
        failed => format!(
            "{} of {} operations failed.",
            number::count(failed),
            number::count(all)
        ),
    })
}

/// Describes the return to normal, such as `Throughput was back to normal 21.8 s after the healing;
/// p99 was not back to normal within 90 s of the healing.`
fn as_before(fault: &FaultRecord) -> Option<String> {
    let said = Aftermath::from_fault(fault)?.words(fault)?;
    let is_name = |name: &String| said.starts_with(name.as_str());
    // At the beginning of the sentence, the name of a node or of a percentile keeps its lower-case
    // letter.
    Some(
        if said.starts_with("p99") || fault.place.as_ref().is_some_and(is_name) {
            said + "."
        } else {
            said[..1].to_uppercase() + &said[1..] + "."
        },
    )
}

/// Describes an effect on latency, such as `p99 51 → 1,040 ms during the fault (× 20.4).`
fn p99(fault: &FaultRecord) -> Option<String> {
    let said = p99_words(fault)?;
    let first = said.chars().next()?;
    Some(if first == 'p' {
        said + "."
    } else {
        said[..1].to_uppercase() + &said[1..] + "."
    })
}

/// Describes whether acknowledged data was lost in trials with a fault. If no data was lost, the
/// sentence covers only rows that were read back and judged.
pub(super) fn losses(view: &RunView) -> String {
    let trials = &view.findings.trials;
    let broken: Vec<&TrialFinding> = trials.iter().filter(|t| !t.faults.is_empty()).collect();
    let read: Vec<&ReadBackRecord> = trials.iter().filter_map(|t| t.read_back.as_ref()).collect();
    let read_broken = broken.iter().filter(|trial| trial.read_back.is_some()).count();
    let missed: u64 = broken.iter().map(|trial| trial.verify.lost).sum();
    let not_found = (missed > 0).then(|| {
        let reads = measure::number::counted(missed, "read");
        format!(
            "In trials with faults, {reads} did not find a row whose write the server had \
             acknowledged."
        )
    });
    let unread = match (read_broken, broken.len()) {
        (0, _) => Some(NOT_READ_BACK.to_owned()),
        (some, all) if some < all => Some(format!(
            "After {some} of {all} trials with faults, cassay read back the acknowledged writes."
        )),
        _ => None,
    };
    let said = [not_found, read_back_words(&read), unread];
    said.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
