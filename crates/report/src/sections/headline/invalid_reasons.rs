//! Reasons why a run is not valid, in a few words each and without duplicates. The most serious
//! reasons come first.

use crate::run_view::RunView;
use analysis::rules::seriousness;
use std::cmp::Reverse;
use store::record::{CauseKind, RuleOutcome, TrialFinding};

/// Maximum number of reasons on the first screen.
const REASONS_MAX: usize = 3;

/// A short description of each rule.
const SHORT_WORDS: [(&str, &str); 21] = [
    ("V18", "Other programs used the machine"),
    ("V20", "The clock was set"),
    ("V11", "The nodes or their settings changed"),
    ("V3", "The client was near its own limit"),
    ("V4", "The client itself was stalled"),
    ("V13", "A fault was not confirmed, or not healed"),
    ("V14", "Reads returned data that differs from the writes"),
    ("V8", "Operations failed"),
    ("V21", "Nodes had uncaught exceptions"),
    ("V9", "The data was not at rest"),
    ("V10", "Compactions fell behind"),
    ("V19", "The target did not answer for some time"),
    ("V12", "The window was not steady, or it was too short"),
    ("V1", "The client sent requests late"),
    ("V7", "The counts of server and client differ"),
    ("V17", "Probes cost too much"),
    ("V5", "Clients did not start together"),
    ("V2", "Latency and service time disagree"),
    ("V6", "Histograms lack some operations"),
    ("V15", "The record is not enough to repeat the run"),
    ("V16", "The record lacks the ratio of data to memory"),
];

/// Description of rule V14 if no read returned wrong data. In this case, the rule mostly judges
/// reads that found no row, so the description must not report lost data.
const NOTHING_READ: &str = "Reads found no row, or cassay could not compare them";

/// Description of rule V14 if acknowledged data is missing or differs from the written data.
const DATA_LOST: &str = "Data was lost, or differs from the writes";

/// A reason with its sort key. Failures come before warnings, and more serious rules before less
/// serious rules.
type RankedReason = ((Reverse<Option<RuleOutcome>>, usize), String);

/// Returns at most three reasons. Reasons of the whole run come first. Then come causes that
/// several trials show, and rules that these causes do not explain, with the number of trials for
/// each. If other programs disturbed the run, the list always contains this reason, because other
/// programs may explain all problems.
pub(super) fn short(view: &RunView) -> Vec<String> {
    let trials = &view.findings.trials;
    let causes = &view.findings.causes;
    let explained = |rule: &str| causes.iter().any(|cause| explains(cause.kind) == Some(rule));
    let of_rules = SHORT_WORDS.iter().filter(|(rule, _)| !explained(rule));
    let mut placed: Vec<RankedReason> =
        of_rules.filter_map(|rule| rule_reason(trials, rule)).collect();
    placed.extend(causes.iter().map(|cause| {
        let rule = explains(cause.kind).unwrap_or("V12");
        (place(trials, rule), cause.says.clone())
    }));
    placed.sort_by_key(|(place, _)| *place);
    let is_others = |(place, _): &&RankedReason| place.1 == seriousness("V18");
    let mut said: Vec<String> = run_reasons(view).take(REASONS_MAX).cloned().collect();
    let room = REASONS_MAX - said.len();
    let others = placed.iter().skip(room).find(is_others).filter(|_| room > 0).cloned();
    placed.truncate(room - usize::from(others.is_some()));
    said.extend(placed.into_iter().chain(others).map(|(_, words)| words));
    said
}

/// Returns the sort key of a rule among the reasons, which depends on the worst trial.
fn place(trials: &[TrialFinding], rule: &str) -> (Reverse<Option<RuleOutcome>>, usize) {
    let all = trials.iter().flat_map(|trial| &trial.rules);
    let worst = all.filter(|one| one.rule == rule).map(|one| one.result).max();
    (Reverse(worst), seriousness(rule))
}

/// Returns the short description of a rule, with the number of affected trials. `None` if the rule
/// affects no trial.
fn rule_reason(trials: &[TrialFinding], (rule, words): &(&str, &str)) -> Option<RankedReason> {
    let mut of: Vec<&TrialFinding> =
        trials.iter().filter(|trial| is_against(trial, rule)).collect();
    let mut words = (*words).to_owned();
    if *rule == "V14" {
        let differed: Vec<&TrialFinding> =
            of.iter().copied().filter(|trial| has_other_data(trial)).collect();
        let against: Vec<&TrialFinding> =
            of.iter().copied().filter(|trial| !trial.data_against().is_nothing()).collect();
        if !against.is_empty() {
            (words, of) = (DATA_LOST.to_owned(), against);
        } else if differed.is_empty() {
            words = NOTHING_READ.to_owned();
        } else {
            of = differed;
        }
    }
    if *rule == "V18" {
        words += &others(&of);
    }
    let of_all = measure::number::counted(trials.len(), "trial");
    (!of.is_empty()).then(|| {
        (
            place(trials, rule),
            format!("{words} ({} of {of_all}).", of.len()),
        )
    })
}

/// Returns the rule whose violations in single trials a cause explains.
fn explains(cause: CauseKind) -> Option<&'static str> {
    match cause {
        CauseKind::Others => Some("V18"),
        CauseKind::Client => Some("V3"),
        CauseKind::Warming | CauseKind::Slowing => Some("V12"),
        CauseKind::Backlog => Some("V10"),
        CauseKind::Collections | CauseKind::OddBlock => None,
    }
}

/// Returns reasons that concern the whole run: the run was stopped, or no trial has finished.
fn run_reasons(view: &RunView) -> impl Iterator<Item = &String> {
    let records = view.findings.reasons_as_data().into_owned();
    let reasons = view.findings.reasons.iter().zip(records);
    reasons.filter(|(_, record)| record.trials.is_empty()).map(|(words, _)| words)
}

/// Returns the most serious reason for a trial's verdict, in a few words. `None` for a valid trial.
pub fn cause(trial: &TrialFinding) -> Option<&'static str> {
    let one = std::slice::from_ref(trial);
    let mut against: Vec<&(&str, &str)> =
        SHORT_WORDS.iter().filter(|(rule, _)| is_against(trial, rule)).collect();
    against.sort_by_key(|(rule, _)| place(one, rule));
    let (rule, words) = against.first()?;
    Some(match *rule {
        "V14" if !trial.data_against().is_nothing() => DATA_LOST,
        "V14" if !has_other_data(trial) => NOTHING_READ,
        _ => words,
    })
}

/// Returns true if any read returned data that differs from the written data.
fn has_other_data(trial: &TrialFinding) -> bool {
    let reads = &trial.verify;
    let differed = reads.missing + reads.stale + reads.wrong + reads.resurrected > 0;
    let rows = trial
        .read_back
        .as_ref()
        .is_some_and(|found| found.missed() + found.wrong + found.too_high > 0);
    let registers = trial.registers.as_ref().is_some_and(|found| found.violated > 0);
    differed || rows || registers
}

fn is_against(trial: &TrialFinding, rule: &str) -> bool {
    let is_bad = |result: RuleOutcome| matches!(result, RuleOutcome::Warn | RuleOutcome::Fail);
    trial.rules.iter().any(|one| one.rule == rule && is_bad(one.result))
}

/// Formats the share of other programs, such as `: up to 33 % of its CPU`.
fn others(trials: &[&TrialFinding]) -> String {
    let shares = trials.iter().filter_map(|trial| trial.machine.as_ref()?.cpu_others);
    shares.reduce(f64::max).map_or_else(String::new, |most| {
        format!(": up to {:.0} % of its CPU", most * 100.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_few_words() {
        let mut rules: Vec<&str> = SHORT_WORDS.iter().map(|(rule, _)| *rule).collect();
        let mut names: Vec<&str> = analysis::rules::names().collect();
        rules.sort_unstable();
        names.sort_unstable();
        assert_eq!(rules, names);
        for (rule, words) in SHORT_WORDS {
            assert!(words.split(' ').count() <= 10, "{rule}");
        }
    }
}
