//! The validity rules, with one mark for each rule and the numbers behind the mark.

use crate::merged_points::trial_table;
use crate::page::{Block, Cell, Mark, Section, Table, Tone, Verdict};
use crate::run_view::RunView;
use store::record::{RuleOutcome, RuleRecord, TrialFinding};

fn tone(result: RuleOutcome) -> (Tone, u8) {
    match result {
        RuleOutcome::Fail => (Tone::Bad, 3),
        RuleOutcome::Warn => (Tone::Warn, 2),
        RuleOutcome::Pass => (Tone::Good, 1),
        RuleOutcome::Unknown => (Tone::Muted, 0),
    }
}

/// Returns the tone of a rule's result in one trial. The tone is plain unless the rule warned or
/// failed.
pub fn rule_tone(trial: &TrialFinding, name: &str) -> Tone {
    let rule = trial.rules.iter().find(|r| r.rule == name);
    match rule.map(|r| tone(r.result).0) {
        Some(tone @ (Tone::Warn | Tone::Bad)) => tone,
        _ => Tone::Plain,
    }
}

/// Returns the results of the rules over the whole run. `None` if no trial was judged.
pub fn section(view: &RunView) -> Option<Section> {
    let judged: Vec<&str> = rule_names(view);
    if judged.is_empty() {
        return None;
    }
    let marks = judged.iter().map(|rule| mark(view, rule)).collect();
    let table = table(view, &judged);
    let mut blocks = vec![Block::Marks(marks)];
    blocks.extend(reasons(view).map(Block::Table));
    let fold = |title: &str, table| Block::Details(title.into(), vec![Block::Table(table)]);
    blocks.extend(
        trials_that_are_not_valid(view).map(|table| fold("Every trial that is not valid", table)),
    );
    blocks.push(fold("Every rule with its numbers", table));
    Some(Section {
        id: "verdict",
        title: "Can these numbers be trusted?".into(),
        lead:
            "The same rules judge each trial. A failed rule makes a trial invalid, and a warning \
             makes a trial suspect."
                .into(),
        blocks,
    })
}

/// Returns the rules that were judged, in numerical order.
fn rule_names(view: &RunView) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for rule in view.findings.trials.iter().flat_map(|t| &t.rules) {
        if !names.contains(&rule.rule.as_str()) {
            names.push(&rule.rule);
        }
    }
    let number = |name: &str| name.trim_start_matches('V').parse().unwrap_or(u32::MAX);
    names.sort_by_key(|name| number(name));
    names
}

/// Returns the number of each result of a rule as text, and the first record with the worst result.
fn judge<'a>(view: &'a RunView, name: &str) -> (String, Option<&'a RuleRecord>) {
    let all: Vec<&RuleRecord> = view
        .findings
        .trials
        .iter()
        .flat_map(|t| &t.rules)
        .filter(|r| r.rule == name)
        .collect();
    let mut worst: Option<&RuleRecord> = None;
    for rule in &all {
        if worst.is_none_or(|w| tone(rule.result).1 > tone(w.result).1) {
            worst = Some(rule);
        }
    }
    let mut counts = Vec::new();
    for result in [
        RuleOutcome::Fail,
        RuleOutcome::Warn,
        RuleOutcome::Pass,
        RuleOutcome::Unknown,
    ] {
        let count = all.iter().filter(|r| r.result == result).count();
        if count > 0 {
            counts.push(format!("{count} {result}"));
        }
    }
    (counts.join(", "), worst)
}

fn mark(view: &RunView, rule: &str) -> Mark {
    let (_, worst) = judge(view, rule);
    let result = worst.map_or(RuleOutcome::Unknown, |w| w.result);
    Mark {
        label: rule.into(),
        result,
        tone: tone(result).0,
        detail: format!(
            "{}. {}",
            analysis::rules::title(rule).unwrap_or_default(),
            worst.map_or("", |w| w.detail.as_str())
        ),
    }
}

fn table(view: &RunView, rules: &[&str]) -> Table {
    let judged: Vec<_> = rules.iter().map(|rule| (*rule, judge(view, rule))).collect();
    Table::from_records("", &judged)
        .text("Rule", |(rule, _)| *rule)
        .text("Result", |(_, (_, worst))| {
            let result = worst.map_or(RuleOutcome::Unknown, |w| w.result);
            Cell::new(result.name()).tone(tone(result).0)
        })
        .text("Question", |(rule, _)| {
            analysis::rules::title(rule).unwrap_or_default()
        })
        .text("Observation (worst trial)", |(_, (_, worst))| {
            worst.map_or("", |w| w.detail.as_str())
        })
        .wide_text("Trials", |(_, (counts, _))| counts)
        .build()
}

/// Lists the reasons why trials are not valid. A reason that several trials share appears once,
/// with the text of the worst trial. Among equally bad trials, the first trial counts.
fn reasons(view: &RunView) -> Option<Table> {
    let mut reasons: Vec<Reason<'_>> = Vec::new();
    for trial in &view.findings.trials {
        for (words, record) in trial.reasons.iter().zip(trial.reasons_as_data().into_owned()) {
            let about = record.rule.unwrap_or_else(|| words.clone());
            let of_rule = reasons.iter_mut().find(|known| known.about == about);
            match of_rule {
                Some(known) if known.worst.verdict < trial.verdict => {
                    (known.words, known.worst) = (words, trial);
                    known.trials.push(trial.index);
                }
                Some(known) => known.trials.push(trial.index),
                None => reasons.push(Reason {
                    about,
                    words,
                    worst: trial,
                    trials: vec![trial.index],
                }),
            }
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.trials.len()));
    Table::from_records("Why trials are not valid", &reasons)
        .text("Trials", |reason| {
            Cell::new(measure::number::counted(reason.trials.len(), "trial"))
                .hint(reason.trials.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        })
        .text("At worst", |reason| {
            let verdict = Verdict::from_record(Some(reason.worst.verdict));
            Cell::new(verdict.name()).tone(verdict.tone())
        })
        .text("Why", |reason| {
            let also = if reason.trials.len() > 1 {
                format!("figures of trial {}", reason.worst.index)
            } else {
                format!("trial {}", reason.worst.index)
            };
            Cell::new(reason.words).detail(also)
        })
        .unless_empty()
}

struct Reason<'a> {
    /// Name of the rule, or the whole sentence if the reason is not a rule.
    about: String,
    /// Sentence of the worst trial that has this reason.
    words: &'a str,
    worst: &'a TrialFinding,
    trials: Vec<usize>,
}

fn trials_that_are_not_valid(view: &RunView) -> Option<Table> {
    let trials = view.findings.trials.iter();
    let judged = trials.map(|trial| (trial, Verdict::from_record(Some(trial.verdict))));
    let not_valid = judged.filter(|(_, verdict)| *verdict != Verdict::Valid);
    trial_table(view, "", not_valid)
        .wide_number("Block", "", |(trial, _)| (trial.block + 1).to_string())
        .text("Verdict", |(_, verdict)| {
            Cell::new(verdict.name()).tone(verdict.tone())
        })
        .text("Why", |(trial, _)| trial.reasons.join("; "))
        .unless_empty()
}
