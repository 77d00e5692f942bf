//! Summarizes facts about all trials, and the reasons why some trials are not valid.

use crate::result_place::{block_words, point_words};
use analysis::rules::seriousness;
use indexmap::{IndexMap, IndexSet};
use measure::number::count;
use measure::{KindCount, KindCounts};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::record::{ReasonRecord, RuleOutcome, TrialFinding, short_words};

/// Minimum number of reasons from the same rule at which only the first reason is shown.
const REASONS_MANY: usize = 4;

/// Number of names above which a sentence contains only the first name and the number of trials.
const NAMES_MANY: usize = 4;

/// Reason for the verdict of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReason {
    /// Text of the reason, as a sentence.
    pub words: String,
    /// Reason as data, for the records of the run.
    pub record: ReasonRecord,
}

impl RunReason {
    /// Returns a reason that belongs to the run as a whole, not to a rule or a single trial.
    pub fn of_run(words: String) -> RunReason {
        RunReason {
            words,
            record: ReasonRecord::default(),
        }
    }
}

struct TrialReason<'a> {
    /// The reason as data, with the numbers of the first trial.
    record: ReasonRecord,
    trials: Vec<&'a TrialFinding>,
}

/// Returns the reasons of all trials. Each reason occurs once, with the names of its trials. If a
/// rule has many reasons of the same kind, the result contains only the first of them and the
/// number of trials. Reasons are of the same kind if the same words describe their numbers. Each
/// trial also lists its own reasons.
pub fn reasons(trials: &[&TrialFinding]) -> Vec<RunReason> {
    let mut kinds: IndexMap<(String, &str), IndexMap<&str, TrialReason<'_>>> = IndexMap::new();
    for trial in trials {
        for (words, record) in trial.reasons.iter().zip(trial.reasons_as_data().into_owned()) {
            let rule = record.rule.clone().unwrap_or_default();
            let kind = (rule.clone(), short_words(&rule, &record.measured));
            let same = kinds.entry(kind).or_default().entry(words);
            let reason = same.or_insert_with(|| TrialReason {
                record,
                trials: Vec::new(),
            });
            reason.trials.push(trial);
        }
    }
    let has_blocks = trials.iter().any(|trial| trial.block > 0);
    kinds.sort_by_cached_key(|(rule, _), reasons| {
        let of: Vec<&TrialFinding> =
            reasons.values().flat_map(|reason| &reason.trials).copied().collect();
        (Reverse(worst(&of, rule)), seriousness(rule))
    });
    let mut said = Vec::new();
    for reasons in kinds.values() {
        let count: usize = reasons.values().map(|reason| reason.trials.len()).sum();
        let first = |of: &[&TrialFinding]| names_of(&of[..1], has_blocks);
        let many = |count: usize, words: &str, of: &[&TrialFinding]| {
            let all = trials.len();
            format!("in {count} of {all} trials, as {}: {words}", first(of))
        };
        if reasons.len() >= REASONS_MANY {
            let first = reasons.iter().take(1);
            let all: Vec<&TrialFinding> =
                reasons.values().flat_map(|reason| &reason.trials).copied().collect();
            said.extend(first.map(|(words, reason)| RunReason {
                words: many(count, words, &reason.trials),
                record: record_of(&reason.record, &all),
            }));
            continue;
        }
        said.extend(reasons.iter().map(|(words, reason)| {
            let of = &reason.trials;
            let names: IndexSet<String> = of.iter().map(|trial| name_of(trial)).collect();
            let words = if names.len() > NAMES_MANY {
                many(of.len(), words, of)
            } else {
                format!("{}: {words}", names_of(of, has_blocks))
            };
            RunReason {
                words,
                record: record_of(&reason.record, of),
            }
        }));
    }
    said
}

/// Returns the data of a reason that applies to several trials. The numbers are those of the first
/// trial.
fn record_of(first: &ReasonRecord, trials: &[&TrialFinding]) -> ReasonRecord {
    let rule = first.rule.as_deref();
    ReasonRecord {
        rule: first.rule.clone(),
        result: rule.and_then(|rule| worst(trials, rule)),
        trials: trials.iter().map(|trial| trial.index).collect(),
        measured: first.measured.clone(),
    }
}

/// Returns the worst outcome of a rule over all trials. A reason that does not come from a rule
/// means that the trial was aborted, which is worse than any rule.
fn worst(trials: &[&TrialFinding], rule: &str) -> Option<RuleOutcome> {
    if seriousness(rule) > seriousness("V16") {
        return Some(RuleOutcome::Fail);
    }
    let all = trials.iter().flat_map(|trial| &trial.rules);
    all.filter(|one| one.rule == rule).map(|one| one.result).max()
}

/// Names trials with their blocks, such as `writes at 28 threads (blocks 1, 2), reads at 28 threads
/// (block 1)`.
pub(crate) fn names_of(trials: &[&TrialFinding], has_blocks: bool) -> String {
    let mut names: IndexMap<String, Vec<usize>> = IndexMap::new();
    for trial in trials {
        names.entry(name_of(trial)).or_default().push(trial.block + 1);
    }
    let named = |(name, blocks): (&String, &Vec<usize>)| {
        if has_blocks {
            format!("{name} ({})", block_words(blocks))
        } else {
            name.clone()
        }
    };
    let names: Vec<String> = names.iter().map(named).collect();
    names.join(", ")
}

/// Names a configuration, such as `writes at 28 threads`.
fn name_of(trial: &TrialFinding) -> String {
    let variant = trial.variant.name().unwrap_or("trial");
    match trial.point {
        None => variant.to_owned(),
        place => format!("{variant} at {}", point_words(place)),
    }
}

/// Describes facts that the latencies do not show: unsent requests, repeated or speculative
/// attempts, and conditions that were not met. The text covers all trials, by kind of operation.
/// Returns `None` if the trials have no such facts.
pub fn besides(trials: &[TrialFinding]) -> Option<String> {
    let mut kinds: BTreeMap<&str, KindCounts> = BTreeMap::new();
    for (kind, counts) in trials.iter().flat_map(|trial| &trial.counts) {
        kinds.entry(kind).or_default().add(counts);
    }
    let by_kind = |what: &str, say: &dyn Fn(&KindCounts) -> Option<String>| {
        let said: Vec<String> = kinds
            .iter()
            .filter_map(|(kind, sum)| Some(format!("{kind} {}", say(sum)?)))
            .collect();
        (!said.is_empty()).then(|| format!("{what}: {}", said.join(", ")))
    };
    let never_sent: u64 = trials.iter().map(|trial| trial.due_never_sent).sum();
    let parts: Vec<String> = [
        (never_sent > 0).then(|| format!("{} requests were never sent", count(never_sent))),
        by_kind("retries", &|sum| {
            (sum[KindCount::Retries] > 0).then(|| count(sum[KindCount::Retries]))
        }),
        by_kind("speculative executions", &|sum| {
            let (sent, won) = (
                count(sum[KindCount::Speculations]),
                count(sum[KindCount::SpeculationsWon]),
            );
            (sum[KindCount::Speculations] > 0).then(|| format!("{sent} ({won} answered first)"))
        }),
        by_kind("conditions (LWT) not applied", &|sum| {
            let all = count(sum[KindCount::Applied] + sum[KindCount::NotApplied]);
            (sum[KindCount::NotApplied] > 0)
                .then(|| format!("{} of {all}", count(sum[KindCount::NotApplied])))
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("All trials together: {}.", parts.join("; ")))
}

/// States that the trials used several generations of data. Returns `None` if the trials used only
/// one generation.
pub fn generations(trials: &[TrialFinding]) -> Option<String> {
    let mut all: Vec<u64> = trials.iter().filter_map(|trial| trial.generation).collect();
    all.sort_unstable();
    all.dedup();
    (all.len() > 1).then(|| {
        format!(
            "The run was interrupted, and loaded its data {} times: cassay does not compare trials \
             on different data.",
            all.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::{MeasurementRecord, Quantity, RuleRecord};

    /// Returns a trial with a window of `seconds` seconds. Rule V12 requires at least 5 s.
    fn short(index: usize, seconds: f64) -> TrialFinding {
        let length = MeasurementRecord {
            quantity: Quantity::WindowLength,
            value: seconds,
            limit: Some(5.0),
            fail_limit: None,
            minimum: true,
            unit: "s".to_owned(),
            place: None,
        };
        TrialFinding {
            index,
            reasons: vec![format!("V12: {seconds:.1} s measured")],
            reason_records: vec![ReasonRecord {
                rule: Some("V12".to_owned()),
                result: Some(RuleOutcome::Warn),
                trials: Vec::new(),
                measured: vec![length],
            }],
            rules: vec![RuleRecord {
                rule: "V12".to_owned(),
                result: RuleOutcome::Warn,
                detail: String::new(),
                measured: Vec::new(),
            }],
            ..TrialFinding::default()
        }
    }

    /// Returns the reasons of a run whose windows have these lengths. Each reason is a pair of its
    /// trials and its value.
    fn of_run(lengths: &[f64]) -> Vec<(Vec<usize>, f64)> {
        let all = lengths.iter().enumerate();
        let trials: Vec<TrialFinding> =
            all.map(|(index, seconds)| short(index, *seconds)).collect();
        let records = reasons(&trials.iter().collect::<Vec<_>>());
        let value = |reason: RunReason| {
            assert_eq!(reason.record.rule.as_deref(), Some("V12"));
            assert_eq!(reason.record.result, Some(RuleOutcome::Warn));
            (reason.record.trials, reason.record.measured[0].value)
        };
        records.into_iter().map(value).collect()
    }

    #[test]
    fn a_reason_of_a_run_has_its_trials_and_the_numbers_said() {
        assert_eq!(
            of_run(&[3.0, 4.0, 3.0]),
            [(vec![0, 2], 3.0), (vec![1], 4.0)]
        );
        let many = of_run(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(many, [(vec![0, 1, 2, 3], 1.0)]);
    }

    /// In a user's run, two of six trials exceeded the target's throughput. The reason said that
    /// the target did not keep up in all six.
    #[test]
    fn reasons_with_other_quantities_are_counted_separately() {
        let late = |index: usize, quantity: Quantity, value: f64| {
            let mut trial = short(index, 3.0);
            trial.reasons = vec![format!("V1: {quantity} {value}")];
            let record = &mut trial.reason_records[0];
            record.rule = Some("V1".to_owned());
            record.measured[0].quantity = quantity;
            (record.measured[0].value, record.measured[0].limit) = (value, Some(0.01));
            record.measured[0].fail_limit = Some(0.1);
            trial
        };
        let all: Vec<TrialFinding> = (0..10)
            .map(|at| match at {
                0..4 => late(at, Quantity::SentInWindow, 0.001 * at as f64),
                _ => late(at, Quantity::SentLate, 0.1 * at as f64),
            })
            .collect();
        let found = reasons(&all.iter().collect::<Vec<_>>());
        let counts: Vec<usize> = found.iter().map(|one| one.record.trials.len()).collect();
        assert_eq!(counts, [4, 6], "{found:?}");
        assert!(found[0].words.starts_with("in 4 of 10 trials"), "{found:?}");
    }
}
