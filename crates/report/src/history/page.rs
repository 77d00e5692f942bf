//! Shows the history of a study on a separate page, and in a section on the page of a run.

use super::{Change, ChangeKind, History, Line};
use crate::merged_points::place;
use crate::number;
use crate::page::{
    Axis, Block, Cell, Chart, Color, Dash, Fold, Headline, Page, Panel, Scale, Section, Series,
    Shape, Table, Tone, Verdict, XValues,
};
use analysis::history::{CONFIRMED_BY, RUNS_MIN};

/// Characters that draw a series as text, from low to high.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Maximum number of values in a series that is drawn as text. Longer series show only their last
/// values.
const COURSE_MAX: usize = 24;
/// Minimum range of a series that is drawn as text, as a share of the middle of the range. With a
/// smaller range, noise would look like a change.
const COURSE_SPAN_MIN: f64 = 0.1;
const CHARTS_MAX: usize = 48;
const SENTENCES_MAX: usize = 6;
/// Maximum number of differences that a sentence or a cell of the table lists.
const DIFFERS_MAX: usize = 6;

pub(super) fn history(history: &History) -> Page {
    let section = section(history);
    Page {
        title: format!("{}: history", history.study),
        headline: Headline {
            lead: None,
            short_reasons: Vec::new(),
            next: None,
            study: history.study.clone(),
            facts: facts(history),
            question: format!("How has {} changed over its runs?", history.study),
            alarms: Vec::new(),
            answer: answer(history),
            verdict: Verdict::from_record(history.verdict),
            is_missed: false,
            meaning: "Verdict of the newest run. The page omits invalid and damaged runs.".into(),
            reasons: history
                .left_out
                .iter()
                .map(|(stamp, why)| format!("left out: {stamp}: {why}"))
                .collect(),
            figures: Vec::new(),
        },
        folds: Fold::with_sections("runs", "Runs", true, [section, runs(history)])
            .into_iter()
            .collect(),
        data: history.json(),
    }
}

/// Returns the section for the page of a run. Returns `None` if the history has fewer than two runs
/// or no series.
pub fn section(history: &History) -> Option<Section> {
    if history.runs.len() < 2 || history.lines.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = answer(history).into_iter().map(Block::Text).collect();
    blocks.extend(changes(history).map(Block::Table));
    blocks.push(Block::Table(table(history)));
    let charts: Vec<(String, Chart)> = history
        .lines
        .iter()
        .filter(|line| line.values.len() > 1)
        .take(CHARTS_MAX)
        .map(|line| (name(history, line), chart(history, line)))
        .collect();
    if !charts.is_empty() {
        blocks.push(Block::Choice("Series".into(), charts));
    }
    Some(Section {
        id: "history",
        title: "How has the study changed over its runs?".into(),
        lead: format!(
            "Each run of this study at the same scale and with the same kind of target has one \
             value. The page reports a change only after {RUNS_MIN} runs, at p < 0.001, and if \
             {CONFIRMED_BY} runs show it. A reported change is at least 3 % of throughput or 10 % \
             of latency. Without a change, fewer than 2 of 100 series of 30 runs show one. The \
             page only shows that something changed. To find the cause, compare both states as \
             variants of one study."
        ),
        blocks,
    })
}

/// Returns the section that lists the runs of the history, newest first.
fn runs(history: &History) -> Option<Section> {
    let table = Table::from_records("", history.runs.iter().rev())
        .text("Run", |run| {
            Cell::new(&run.stamp).link(run.link.clone().unwrap_or_default())
        })
        .text("Verdict", |run| {
            let verdict = Verdict::from_record(run.verdict);
            Cell::new(verdict.name()).tone(verdict.tone())
        })
        .text("cassay", |run| &run.cassay)
        .text("Cassandra", |run| &run.cassandra)
        .unless_empty()?;
    Some(Section {
        id: "used",
        title: "The runs".into(),
        lead: String::new(),
        blocks: vec![Block::Table(table)],
    })
}

fn facts(history: &History) -> Vec<(String, String)> {
    let mut facts = vec![("Runs".to_owned(), history.runs.len().to_string())];
    if let [first, .., last] = history.runs.as_slice() {
        facts.push(("From".into(), first.stamp.clone()));
        facts.push(("To".into(), last.stamp.clone()));
    }
    if !history.left_out.is_empty() {
        facts.push(("Left out".into(), history.left_out.len().to_string()));
    }
    facts
}

/// Returns every change with its line, newest first.
fn all_changes(history: &History) -> Vec<(&Line, &Change)> {
    let each = history
        .lines
        .iter()
        .flat_map(|line| line.changes.iter().map(move |change| (line, change)));
    let mut all: Vec<(&Line, &Change)> = each.collect();
    all.sort_by_key(|(_, change)| std::cmp::Reverse(change.run));
    all
}

fn answer(history: &History) -> Vec<String> {
    let runs = history.runs.len();
    if runs == 0 {
        return vec!["No run of the study is usable.".to_owned()];
    }
    let told = |(_, change): &&(&Line, &Change)| change.kind != ChangeKind::Unconfirmed;
    let all = all_changes(history);
    let changes: Vec<_> = all.iter().filter(told).collect();
    let mut answer: Vec<String> = changes
        .iter()
        .take(SENTENCES_MAX)
        .map(|(line, change)| sentence(history, line, change))
        .collect();
    if changes.len() > SENTENCES_MAX {
        answer.push(format!(
            "And {} more changes.",
            changes.len() - SENTENCES_MAX
        ));
    }
    let most = history.lines.iter().map(|line| line.values.len()).max();
    if most.unwrap_or(0) < RUNS_MIN {
        answer.push(format!(
            "The page looks for changes only after {RUNS_MIN} runs; so far, there {}.",
            if runs == 1 {
                "is one".to_owned()
            } else {
                format!("are {runs}")
            }
        ));
    } else if changes.is_empty() {
        answer.push(format!("No change over {runs} runs exceeds the noise."));
    }
    answer
}

/// Describes a change in one sentence, such as `p99 latency of “a” at 8 threads is 12 % worse since
/// 2026…: 1.2 → 1.34 ms; workload.mix: …`.
pub(super) fn sentence(history: &History, line: &Line, change: &Change) -> String {
    let shift = &change.shift;
    let how = match change.kind {
        ChangeKind::Worse => "worse",
        ChangeKind::Better => "better",
        ChangeKind::Unconfirmed => "different, unconfirmed,",
        ChangeKind::OtherMachine => "different, on another machine,",
    };
    format!(
        "{} is {} {how} since {}: {} → {} {}; {}.",
        name(history, line),
        number::percent(shift.change().abs()),
        history.runs[change.run].stamp,
        amount(shift.before),
        amount(shift.after),
        line.metric.unit,
        differs(change, "no recorded property differs from the previous run"),
    )
}

fn differs(change: &Change, nothing: &str) -> String {
    let all = &change.differs;
    if all.is_empty() {
        return nothing.to_owned();
    }
    let short = |text: &String| match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.clone(),
    };
    let mut parts: Vec<String> = all.iter().take(DIFFERS_MAX).map(short).collect();
    if all.len() > DIFFERS_MAX {
        parts.push(format!("and {} more", all.len() - DIFFERS_MAX));
    }
    parts.join("; ")
}

fn amount(value: f64) -> String {
    number::significant(value, 4)
}

fn variant<'a>(history: &'a History, line: &'a Line) -> &'a str {
    line.variant.name().unwrap_or(&history.study)
}

pub(super) fn name(history: &History, line: &Line) -> String {
    let words = line.metric.words;
    format!(
        "{words} of “{}” at {}",
        variant(history, line),
        place(line.point)
    )
}

fn changes(history: &History) -> Option<Table> {
    Table::from_records("Changes, newest first", all_changes(history))
        .text("Since run", |(_, change)| &history.runs[change.run].stamp)
        .text("Series", |(line, _)| name(history, line))
        .number("Change", "", |(_, change)| {
            format!("{:+.1} %", change.shift.change() * 100.0)
        })
        .text("Kind of change", |(_, change)| {
            Cell::new(change.kind.name()).tone(match change.kind {
                ChangeKind::Worse => Tone::Bad,
                ChangeKind::Better => Tone::Good,
                ChangeKind::Unconfirmed | ChangeKind::OtherMachine => Tone::Warn,
            })
        })
        .wide_number("p", "", |(_, change)| amount(change.shift.p))
        .text("Differences from the previous run", |(_, change)| {
            differs(change, "no recorded property")
        })
        .unless_empty()
}

fn table(history: &History) -> Table {
    Table::from_records("Series", &history.lines)
        .text("Variant", |line| variant(history, line))
        .text("Point", |line| place(line.point))
        .text("Metric", |line| {
            format!("{}, {}", line.metric.words, line.metric.unit)
        })
        .number("Runs", "", |line| line.values.len().to_string())
        .text("Course", course)
        .number("Last", "", |line| {
            amount(line.values.last().map_or(0.0, |(_, value)| *value))
        })
        .wide_text("Changed with", |line| {
            line.changes.last().map(|change| &history.runs[change.run].stamp)
        })
        .foot(format!(
            "Course: the values of the last {COURSE_MAX} runs. The scale extends from their lowest \
             to their highest value, but covers at least {} of the middle value.",
            number::percent(COURSE_SPAN_MIN)
        ))
        .build()
}

fn course(line: &Line) -> String {
    let from = line.values.len().saturating_sub(COURSE_MAX);
    let values: Vec<f64> = line.values[from..].iter().map(|(_, value)| *value).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let middle = (low + high) / 2.0;
    let span = (high - low).max(middle * COURSE_SPAN_MIN);
    let step = |value: &f64| {
        let share = (value - middle) / span + 0.5;
        let last = STEPS.len() - 1;
        STEPS[((share * STEPS.len() as f64).max(0.0) as usize).min(last)]
    };
    values.iter().map(step).collect()
}

fn chart(history: &History, line: &Line) -> Chart {
    let stamp = |run: usize| history.runs[run].stamp.clone();
    let names: Vec<String> = line.values.iter().map(|(run, _)| stamp(*run)).collect();
    let levels = (0..line.values.len()).map(|at| {
        let of = line.changes.iter().rfind(|change| change.shift.at <= at);
        let first = line.changes.first().map(|change| change.shift.before);
        of.map(|change| change.shift.after).or(first)
    });
    let values = Series {
        name: line.metric.words.to_owned(),
        in_legend: true,
        shape: Shape::Points,
        color: Color::Category(0),
        x: XValues::Names(names.clone()),
        y: line.values.iter().map(|(_, value)| Some(*value)).collect(),
        y_ci: line.ci95.clone(),
        unit: line.metric.unit.to_owned(),
        ..Series::default()
    };
    let level = Series {
        name: "mean between changes".into(),
        shape: Shape::Line,
        color: Color::Neutral,
        dash: Dash::Dash,
        y: levels.collect(),
        y_ci: Vec::new(),
        ..values.clone()
    };
    let has_changes = !line.changes.is_empty();
    Chart {
        title: name(history, line),
        what: "A point for each run; dashed: the mean of the runs between two change \
               points."
            .into(),
        height_px: 320,
        x: Axis {
            names,
            ..Axis::new("run", Scale::Names)
        },
        panels: vec![Panel {
            share: 1.0,
            left: Axis::new(
                format!("{}, {}", line.metric.words, line.metric.unit),
                Scale::Linear,
            ),
            series: std::iter::once(values).chain(has_changes.then_some(level)).collect(),
            ..Panel::default()
        }],
        ..Chart::default()
    }
}
