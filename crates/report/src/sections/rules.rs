//! The validity rules: one mark each, with the numbers behind it.

use crate::page::{Block, Cell, Column, Mark, Row, Section, Table, Tone, Verdict};
use crate::summary::{place, variant_name};
use crate::view::RunView;
use store::record::{Outcome, RuleRecord, TrialFinding};

/// How a rule's result is to be taken, and how bad it is.
fn tone(result: Outcome) -> (Tone, u8) {
    match result {
        Outcome::Fail => (Tone::Bad, 3),
        Outcome::Warn => (Tone::Warn, 2),
        Outcome::Pass => (Tone::Good, 1),
        Outcome::Unknown => (Tone::Muted, 0),
    }
}

/// How numbers behind a rule are to be marked in one trial: only when it did not pass.
pub fn rule_tone(trial: &TrialFinding, name: &str) -> Tone {
    let rule = trial.rules.iter().find(|r| r.rule == name);
    match rule.map(|r| tone(r.result).0) {
        Some(tone @ (Tone::Warn | Tone::Bad)) => tone,
        _ => Tone::Plain,
    }
}

/// The rules over the whole run; none if no trial was judged.
pub fn section(view: &RunView) -> Option<Section> {
    let judged: Vec<&str> = rule_names(view);
    if judged.is_empty() {
        return None;
    }
    let marks = judged.iter().map(|rule| mark(view, rule)).collect();
    let table = table(view, &judged);
    let mut blocks = vec![Block::Marks(marks)];
    blocks.extend(trials_that_are_not_valid(view).map(Block::Table));
    blocks.push(Block::Details(
        "Every rule with its numbers".into(),
        vec![Block::Table(table)],
    ));
    Some(Section {
        id: "verdict",
        title: "Can these numbers be trusted?".into(),
        lead: "Each trial is judged by the same rules. One failed rule makes it invalid; \
               a warning makes it suspect."
            .into(),
        blocks,
    })
}

/// The rules that were judged, in the order of their numbers.
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

/// How often each result was seen, and the first record of the worst one.
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
        Outcome::Fail,
        Outcome::Warn,
        Outcome::Pass,
        Outcome::Unknown,
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
    let result = worst.map_or(Outcome::Unknown, |w| w.result);
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
    let row = |rule: &&str| {
        let (counts, worst) = judge(view, rule);
        let result = worst.map_or(Outcome::Unknown, |w| w.result);
        Row {
            cells: vec![
                Cell::new(*rule),
                Cell::new(result.name()).tone(tone(result).0),
                Cell::new(analysis::rules::title(rule).unwrap_or_default()),
                Cell::new(worst.map_or("", |w| w.detail.as_str())),
                Cell::new(counts),
            ],
            tone: Tone::Plain,
        }
    };
    Table {
        caption: String::new(),
        columns: vec![
            Column::text("Rule"),
            Column::text("Result"),
            Column::text("What it asks"),
            Column::text("What was seen (worst trial)"),
            Column::text("Trials").wide(),
        ],
        rows: rules.iter().map(row).collect(),
        foot: String::new(),
    }
}

/// Which trials are not valid, and why.
fn trials_that_are_not_valid(view: &RunView) -> Option<Table> {
    let mut rows = Vec::new();
    for trial in &view.findings.trials {
        let verdict = Verdict::of(Some(trial.verdict));
        if verdict == Verdict::Valid {
            continue;
        }
        rows.push(Row {
            cells: vec![
                Cell::new(trial.index.to_string()),
                Cell::new(variant_name(&trial.variant, view)),
                Cell::new(place(trial.point)),
                Cell::new((trial.block + 1).to_string()),
                Cell::new(verdict.name()).tone(verdict.tone()),
                Cell::new(trial.reasons.join("; ")),
            ],
            tone: Tone::Plain,
        });
    }
    let columns = vec![
        Column::number("Trial", ""),
        Column::text("Variant"),
        Column::text("Point"),
        Column::number("Block", "").wide(),
        Column::text("Verdict"),
        Column::text("Why"),
    ];
    (!rows.is_empty()).then(|| Table {
        caption: "Trials that are not valid".into(),
        columns,
        rows,
        foot: String::new(),
    })
}
