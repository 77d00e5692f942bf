//! Describes the effects of faults in the answer. A few faults have one sentence each, and many
//! faults share one sentence. Also states whether acknowledged data was lost.

use analysis::procedure::Point;
use measure::number::{count, counted, short};
use store::record::{
    Aftermath, FaultRecord, RecoveryRecord, StretchRecord, TrialFinding, p99_ratio, p99_words,
    read_back_words, unknown_effect,
};

/// Minimum number of faults that one sentence summarizes together.
const SUMMARY_MIN: usize = 4;
/// Maximum number of faults whose latencies one sentence lists. If a trial has more faults, the
/// sentence lists those with the largest increase.
const LISTED_MAX: usize = 4;
/// Ratio of the p99 during the fault to the p99 before the fault. At this ratio and above, the
/// increase exceeds the normal variation.
const INCREASE_RATIO_MIN: f64 = 1.5;

/// Returns the sentences about the faults of all trials. A fault whose effect cassay cannot judge
/// also has a sentence. The list is empty if no fault was injected.
pub fn sentences(trials: &[TrialFinding]) -> Vec<String> {
    let faults = trials.iter().flat_map(|trial| {
        let is_at_rate = trial.point.is_some_and(Point::is_rate);
        trial.faults.iter().map(move |fault| (fault, is_at_rate))
    });
    let told: Vec<FaultEffect> = faults
        .clone()
        .filter_map(|(fault, is_at_rate)| FaultEffect::from_record(fault, is_at_rate))
        .collect();
    let mut said = match told.len() {
        0 => Vec::new(),
        few if few < SUMMARY_MIN => told.iter().map(FaultEffect::sentence).collect(),
        _ => many(&told),
    };
    said.extend(unjudged(faults.map(|(fault, _)| fault)));
    // If rows were lost that must not be lost, the answer already begins with a sentence about
    // them.
    let is_told = trials.iter().any(|trial| trial.data_against().rows.is_some());
    if trials.iter().any(|trial| !trial.faults.is_empty()) && !is_told {
        let read: Vec<_> = trials.iter().filter_map(|trial| trial.read_back.as_ref()).collect();
        said.extend(read_back_words(&read));
    }
    said
}

/// Returns sentences about the injected faults whose effects cassay cannot judge, with the figures
/// during each fault and the reason. If there are only a few such faults, each has a separate
/// sentence.
fn unjudged<'a>(faults: impl Iterator<Item = &'a FaultRecord>) -> Vec<String> {
    let unknown = |fault: &'a FaultRecord| {
        let found = fault.recovery.as_ref()?;
        Some((fault, found, unknown_effect(found)?))
    };
    let all: Vec<(&FaultRecord, &RecoveryRecord, String)> = faults.filter_map(unknown).collect();
    if all.len() < SUMMARY_MIN {
        return all
            .iter()
            .map(|(fault, found, why)| unjudged_sentence(fault, found, why))
            .collect();
    }
    let mut reasons: Vec<&str> = all.iter().map(|(.., why)| why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let of_reason = |why: &str| {
        let of: Vec<_> = all.iter().filter(|(.., own)| own == why).collect();
        let p99 = |found: &RecoveryRecord| {
            found.during.as_ref().map_or(0.0, |during| during.latency_ms.p99.least())
        };
        let worst = of
            .iter()
            .max_by(|(_, one, _), (_, other, _)| p99(one).total_cmp(&p99(other)))
            .and_then(|(fault, ..)| {
                Some(format!(
                    "worst: {}: {}; ",
                    quoted_name(fault),
                    p99_words(fault)?
                ))
            });
        let faults = counted(of.len() as u64, "fault");
        format!("{faults}: {}{why}.", worst.unwrap_or_default())
    };
    reasons.into_iter().map(of_reason).collect()
}

fn unjudged_sentence(fault: &FaultRecord, found: &RecoveryRecord, why: &str) -> String {
    let throughput = found
        .during
        .as_ref()
        .map(|during| format!("{} op/s on average", short(during.ops_per_s, 3)));
    let failed = stretches(found).map(StretchRecord::failed).sum();
    let ended = failed + stretches(found).map(|stretch| stretch.ops).sum::<u64>();
    let failures = (ended > 0).then(|| failures(failed, ended));
    let said = [p99_words(fault), throughput, failures, Some(why.to_owned())];
    let said: Vec<String> = said.into_iter().flatten().collect();
    format!("{}: {}.", quoted_name(fault), said.join("; "))
}

/// Returns the name of a fault, such as `“node-kill” of node2`.
fn quoted_name(FaultRecord { kind, place, .. }: &FaultRecord) -> String {
    match place {
        None => format!("“{kind}”"),
        Some(place) => format!("“{kind}” of {place}"),
    }
}

/// States the failures, such as `48 of 16,500 operations failed`.
fn failures(failed: u64, ended: u64) -> String {
    match failed {
        0 => "no operation failed".to_owned(),
        1 => "one operation failed".to_owned(),
        failed => format!("{} of {} operations failed", count(failed), count(ended)),
    }
}

/// Effect of a fault. The level before the fault is known.
struct FaultEffect<'a> {
    fault: &'a FaultRecord,
    is_at_rate: bool,
    failed: u64,
    ended: u64,
    /// Depth of the drop in throughput, as a share.
    depth: f64,
    seconds: f64,
    aftermath: Option<Aftermath>,
}

impl<'a> FaultEffect<'a> {
    fn from_record(fault: &'a FaultRecord, is_at_rate: bool) -> Option<FaultEffect<'a>> {
        let found = fault.recovery.as_ref()?;
        let dip = found.dip?;
        let failed = stretches(found).map(StretchRecord::failed).sum();
        Some(FaultEffect {
            fault,
            is_at_rate,
            failed,
            ended: failed + stretches(found).map(|stretch| stretch.ops).sum::<u64>(),
            depth: dip.depth,
            seconds: dip.seconds,
            aftermath: Aftermath::from_fault(fault),
        })
    }

    fn name(&self) -> String {
        quoted_name(self.fault)
    }

    /// Returns the sentence about the fault. The cost of the fault comes first, which is latency at
    /// a fixed rate and throughput in a closed loop.
    fn sentence(&self) -> String {
        let throughput = if self.depth == 0.0 {
            "throughput stayed as before".to_owned()
        } else {
            format!(
                "at worst {} % less throughput, below normal for {} s",
                short(self.depth * 100.0, 3),
                short(self.seconds, 3)
            )
        };
        let p99 = p99_words(self.fault);
        let costs = if self.is_at_rate {
            [p99, Some(throughput)]
        } else {
            [Some(throughput), p99]
        };
        let after = self.aftermath.and_then(|after| after.words(self.fault));
        let said: Vec<String> =
            costs.into_iter().chain([Some(self.failures()), after]).flatten().collect();
        format!("{}: {}.", self.name(), said.join("; "))
    }

    fn failures(&self) -> String {
        failures(self.failed, self.ended)
    }

    /// Returns the factor by which p99 rose during the fault. Returns `None` if the factor does not
    /// exceed the normal variation.
    fn raised(&self) -> Option<f64> {
        p99_ratio(self.fault).filter(|ratio| *ratio >= INCREASE_RATIO_MIN)
    }
}

fn stretches(found: &RecoveryRecord) -> impl Iterator<Item = &StretchRecord> {
    [&found.during, &found.after].into_iter().flatten()
}

fn many(told: &[FaultEffect]) -> Vec<String> {
    let all = told.len();
    let failed: u64 = told.iter().map(|one| one.failed).sum();
    let by_one = told
        .iter()
        .max_by_key(|one| one.failed)
        .filter(|one| one.failed > failed / 2)
        .map(|one| format!(" ({} by {})", count(one.failed), one.name()));
    let rest = format!(
        "{}; {} operations failed{}; {}",
        dips(told),
        count(failed),
        by_one.unwrap_or_default(),
        ends(told)
    );
    match latencies(told) {
        // If the client offers a fixed rate, the cost of a fault is latency, so latency comes
        // first.
        Some(p99) if told.iter().any(|one| one.is_at_rate) => {
            vec![
                format!("Of {all} faults {p99}."),
                format!("Of {all} faults {rest}."),
            ]
        }
        _ => vec![format!("Of {all} faults {rest}.")],
    }
}

/// Lists increases of latency, the largest first, such as `3 raised latency (worst first):
/// “node-pause” of node2: …`.
fn latencies(told: &[FaultEffect]) -> Option<String> {
    let mut raised: Vec<&FaultEffect> = told.iter().filter(|one| one.raised().is_some()).collect();
    raised.sort_by(|a, b| b.raised().unwrap_or(0.0).total_cmp(&a.raised().unwrap_or(0.0)));
    if told.iter().all(|one| p99_ratio(one.fault).is_none()) {
        return None;
    }
    let listed = raised.iter().take(LISTED_MAX);
    let each: Vec<String> = listed
        .filter_map(|one| Some(format!("{}: {}", one.name(), p99_words(one.fault)?)))
        .collect();
    Some(match raised.len() {
        0 => "no fault raised p99".to_owned(),
        number => format!("{number} raised latency (worst first): {}", each.join("; ")),
    })
}

/// Summarizes the drops in throughput, such as `2 lowered throughput, for 5 to 20 s, by 39 % at
/// worst`.
fn dips(told: &[FaultEffect]) -> String {
    let lowered: Vec<&FaultEffect> = told.iter().filter(|one| one.depth > 0.0).collect();
    let most = |of: fn(&FaultEffect) -> f64| lowered.iter().map(|one| of(one)).reduce(f64::max);
    let below = lowered.iter().map(|one| one.seconds).reduce(f64::min);
    match (below, most(|one| one.seconds), most(|one| one.depth)) {
        (Some(shortest), Some(longest), Some(depth)) => {
            let of = if lowered.len() == told.len() {
                "each".to_owned()
            } else {
                lowered.len().to_string()
            };
            format!(
                "{of} lowered throughput, for {} s, by {} % at worst",
                between(shortest, longest),
                short(depth * 100.0, 3)
            )
        }
        _ => "none lowered throughput".to_owned(),
    }
}

/// States after how many faults throughput and p99 were normal again, and for how many faults the
/// recovery is unknown.
fn ends(told: &[FaultEffect]) -> String {
    let normal = told.iter().filter_map(|one| one.aftermath?.normal_s());
    let normal_count = normal.clone().count();
    let is_unmeasured =
        |one: &&FaultEffect| one.aftermath.is_some_and(|after| after.not_measured.is_some());
    let unmeasured = told.iter().filter(is_unmeasured).count();
    let not_back = told.len() - normal_count - unmeasured;
    let longest = normal.reduce(f64::max).map(|longest_s| short(longest_s, 3));
    let healing = "of the healing";
    let mut said = match (longest, not_back + unmeasured) {
        (Some(longest), 0) => {
            vec![format!(
                "throughput and p99 were back to normal within {longest} s {healing}"
            )]
        }
        (Some(longest), _) => vec![format!(
            "after {normal_count}, throughput and p99 were back to normal within {longest} s \
             {healing}"
        )],
        (None, _) => Vec::new(),
    };
    if not_back > 0 {
        said.push(format!(
            "after {not_back}, throughput or p99 was not back to normal"
        ));
    }
    if unmeasured > 0 {
        let faults = counted(unmeasured as u64, "fault");
        said.push(format!("cassay did not measure the recovery from {faults}"));
    }
    said.join("; ")
}

/// Formats a range of numbers, such as `29` or `6 to 25`.
fn between(least: f64, most: f64) -> String {
    let [least, most] = [least, most].map(|seconds| short(seconds, 3));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

#[cfg(test)]
mod tests;
