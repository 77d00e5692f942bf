//! Reasons why a run is not valid, in a few words each and without duplicates. The most serious
//! reasons come first.

use crate::run_view::RunView;
use analysis::rules::seriousness;
use std::cmp::Reverse;
use store::record::{CauseKind, DRIFTED, NOT_STEADY, RuleOutcome, TrialFinding, short_words};

const REASONS_MAX: usize = 3;

/// Description of rule V14 if no read returned wrong data. In this case, the rule mostly judges
/// reads that found no row, so the description must not report lost data.
const NOTHING_READ: &str = "Reads found no row, or cassay could not compare them";

/// Description of rule V14 if acknowledged data is missing or differs from the written data.
const DATA_LOST: &str = "Data was lost, or differs from the writes";

/// A reason with its sort key, which orders failures before warnings, and more serious rules first.
type RankedReason = ((Reverse<Option<RuleOutcome>>, usize), String);

/// Returns at most three reasons. Reasons of the whole run come first. Then come causes that
/// several trials show, and rules that these causes do not explain. The list omits a disturbance by
/// other programs only for reasons of the whole run, because the disturbance may explain all
/// problems.
pub(super) fn short(view: &RunView) -> Vec<String> {
    let trials = &view.findings.trials;
    let causes = &view.findings.causes;
    let explained = |rule: &str, words: &str| {
        // A trend of the run explains a drift, but not a window that was too short.
        let is_of_cause = rule != "V12" || [DRIFTED, NOT_STEADY].contains(&words);
        is_of_cause && causes.iter().any(|cause| explains(cause.kind) == Some(rule))
    };
    let mut placed: Vec<RankedReason> = analysis::rules::names()
        .flat_map(|rule| kinds(trials, rule))
        .filter(|kind| !explained(kind.rule, kind.words))
        .map(|kind| rule_reason(trials, kind))
        .collect();
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

/// Returns the sort key of a rule among the reasons, which depends on the worst of `trials`.
fn place<'a>(
    trials: impl IntoIterator<Item = &'a TrialFinding>,
    rule: &str,
) -> (Reverse<Option<RuleOutcome>>, usize) {
    let all = trials.into_iter().flat_map(|trial| &trial.rules);
    let worst = all.filter(|one| one.rule == rule).map(|one| one.result).max();
    (Reverse(worst), seriousness(rule))
}

/// Trials that a rule makes invalid or suspect for the same kind of reason.
struct ReasonKind<'a> {
    rule: &'static str,
    words: &'static str,
    trials: Vec<&'a TrialFinding>,
}

fn kinds<'a>(trials: &'a [TrialFinding], rule: &'static str) -> Vec<ReasonKind<'a>> {
    let mut found: Vec<ReasonKind<'a>> = Vec::new();
    for trial in trials {
        let Some(words) = words_against(trial, rule) else {
            continue;
        };
        match found.iter_mut().find(|kind| kind.words == words) {
            Some(kind) => kind.trials.push(trial),
            None => found.push(ReasonKind {
                rule,
                words,
                trials: vec![trial],
            }),
        }
    }
    found
}

fn rule_reason(trials: &[TrialFinding], kind: ReasonKind<'_>) -> RankedReason {
    let (rule, mut of) = (kind.rule, kind.trials);
    let mut words = kind.words.to_owned();
    if rule == "V14" {
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
    if rule == "V18" {
        words += &others(&of);
    }
    let of_all = measure::number::counted(trials.len(), "trial");
    (
        place(of.iter().copied(), rule),
        format!("{words} ({} of {of_all}).", of.len()),
    )
}

/// Returns the rule whose violations in single trials this cause explains.
fn explains(cause: CauseKind) -> Option<&'static str> {
    match cause {
        CauseKind::Others => Some("V18"),
        CauseKind::Client => Some("V3"),
        CauseKind::Warming | CauseKind::Slowing => Some("V12"),
        CauseKind::Backlog => Some("V10"),
        CauseKind::Collections | CauseKind::OddBlock => None,
    }
}

/// Returns the reasons that name no trial, because they concern the whole run.
fn run_reasons(view: &RunView) -> impl Iterator<Item = &String> {
    let records = view.findings.reasons_as_data().into_owned();
    let reasons = view.findings.reasons.iter().zip(records);
    reasons.filter(|(_, record)| record.trials.is_empty()).map(|(words, _)| words)
}

/// Returns the most serious reason for a trial's verdict, in a few words. Returns `None` for a
/// valid trial.
pub fn cause(trial: &TrialFinding) -> Option<&'static str> {
    let against = analysis::rules::names()
        .filter_map(|rule| Some((rule, words_against(trial, rule)?)))
        .min_by_key(|(rule, _)| place([trial], rule));
    let (rule, words) = against?;
    Some(match rule {
        "V14" if !trial.data_against().is_nothing() => DATA_LOST,
        "V14" if !has_other_data(trial) => NOTHING_READ,
        _ => words,
    })
}

/// Returns true if any check found data that is missing or differs from the written data.
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

/// Returns the words for the reason with which a rule makes a trial invalid or suspect. Returns
/// `None` if the rule does neither.
fn words_against(trial: &TrialFinding, rule: &str) -> Option<&'static str> {
    let is_bad = |result: RuleOutcome| matches!(result, RuleOutcome::Warn | RuleOutcome::Fail);
    let mut rules = trial.rules.iter();
    let found = rules.find(|one| one.rule == rule && is_bad(one.result))?;
    Some(short_words(rule, &found.measured))
}

/// Formats the share of other programs, such as `: up to 33 % of its CPU`.
fn others(trials: &[&TrialFinding]) -> String {
    let shares = trials.iter().filter_map(|trial| trial.machine.as_ref()?.cpu_others);
    shares.reduce(f64::max).map_or_else(String::new, |most| {
        format!(": up to {:.0} % of its CPU", most * 100.0)
    })
}
