//! A run as lines: one that moves, plain ones where nobody looks, and one for each finished trial.

use super::state::{RunState, TrialFigures};
use crate::terminal::{Line, Tone, shortened_name};
use engine::Progress;
use measure::Known;
use measure::number::{count, counted, significant, whole};
use report::Verdict;
use store::record::TrialFinding;
use study::human;
use unicode_width::UnicodeWidthStr;

/// Columns of a name that are kept before other things give way.
const NAME_LEAST: usize = 16;
/// Columns of op/s, p50, p99, errors and verdict on a line by itself, which has their units.
const LINE_FIGURES: usize = 59;
/// The same in a table, whose head has them.
const TABLE_FIGURES: usize = 41;
/// Two spaces before each line of a trial.
const INDENT: &str = "  ";

/// The line of a phase that begins.
pub fn begun(state: &RunState, now_ns: u64) -> String {
    let left = left(state, now_ns);
    let phase = &state.phase;
    format!(
        "{} · {}: {} · {left} left",
        place_and_name(state),
        phase.name,
        phase.what
    )
}

/// The line of an interval, by the phase that it belongs to.
pub fn going(state: &RunState, phase: &str, progress: Progress, now_ns: u64) -> String {
    format!(
        "{} · {phase} {:.0} s · {} left · {} op/s · p99 {} ms · {}",
        place_and_name(state),
        progress.seconds,
        left(state, now_ns),
        whole(progress.ops_per_s),
        significant(progress.p99_ms, 3),
        counted(progress.errors, "error"),
    )
}

fn place_and_name(state: &RunState) -> String {
    state.current().map_or(String::new(), |(place, name)| format!("{place} {name}"))
}

/// What is left of the run, in words.
fn left(state: &RunState, now_ns: u64) -> String {
    human::seconds_for_people(state.left_s(now_ns))
}

/// The line that moves, at most so wide: the figures and the time left are never cut, the name of
/// the trial is, and the phase is left out before the name is gone.
pub fn moving(state: &RunState, columns: usize, now_ns: u64) -> Line {
    let (place, name) = state.current().unwrap_or_default();
    let Some(progress) = state.phase.progress else {
        return Line::of(&begun(state, now_ns));
    };
    let figures = format!(
        " · {} op/s · p99 {} ms · {} · {} left",
        whole(progress.ops_per_s),
        significant(progress.p99_ms, 3),
        counted(progress.errors, "error"),
        left(state, now_ns),
    );
    let phase = format!(" · {} {:.0} s", state.phase.name, progress.seconds);
    let room = columns.saturating_sub(figures.width() + place.width() + 1);
    let (phase, room) = match room.checked_sub(phase.width()) {
        Some(less) if less >= NAME_LEAST.min(name.width()) => (phase, less),
        _ => (String::new(), room),
    };
    Line::of(&format!(
        "{place} {}{phase}{figures}",
        shortened_name(name, room)
    ))
}

/// A finished trial, where nobody looks: the first reason stands behind the figures.
pub fn finished(name: &str, finding: &TrialFinding) -> String {
    let figures = TrialFigures::of(finding);
    let mut line = format!(
        "{INDENT}{name}: {} op/s · p50 {} ms · p99 {} ms · {} · {}",
        whole(figures.ops_per_s),
        known(figures.p50_ms),
        known(figures.p99_ms),
        counted(figures.errors, "error"),
        figures.verdict,
    );
    if let Some(reason) = finding.reasons.first() {
        line += &format!(" ({reason})");
    }
    line
}

fn known(value: Known) -> String {
    format!("{}{}", value.sign(), significant(value.least(), 3))
}

/// Columns that names and figures of all trials stand in, below each other.
pub struct FigureColumns {
    name: usize,
    /// What is left behind the verdict.
    rest: usize,
}

impl FigureColumns {
    /// For lines of so many columns, `figures` of them for figures and verdict, and these names.
    fn new<'n>(
        columns: usize,
        figures: usize,
        names: impl Iterator<Item = &'n str>,
    ) -> FigureColumns {
        let widest = names.map(UnicodeWidthStr::width).max().unwrap_or(0).max(NAME_LEAST);
        let room = columns.saturating_sub(INDENT.len() + figures);
        let name = widest.min(room.max(NAME_LEAST));
        FigureColumns {
            name,
            rest: room.saturating_sub(name),
        }
    }

    /// For lines that stand by themselves, of so many columns.
    pub fn of_lines<'n>(columns: usize, names: impl Iterator<Item = &'n str>) -> FigureColumns {
        FigureColumns::new(columns, LINE_FIGURES, names)
    }

    /// For a table of so many columns.
    pub fn of_table<'n>(columns: usize, names: impl Iterator<Item = &'n str>) -> FigureColumns {
        FigureColumns::new(columns, TABLE_FIGURES, names)
    }

    /// Columns of a name.
    pub fn name_columns(&self) -> usize {
        self.name
    }

    /// A name in its column.
    pub fn name(&self, name: &str, tone: Tone) -> Line {
        Line::of(INDENT)
            .then(Line::default().with(tone, &shortened_name(name, self.name)).fitted(self.name))
    }

    /// The head of a table, with a heading of its first column.
    pub fn head(&self, name: &str) -> Line {
        let name = Line::of(name).fitted(INDENT.len() + self.name).plain();
        let figures = format!(
            "{:>8}{:>8}{:>9}{:>7}  verdict",
            "op/s", "p50 ms", "p99 ms", "errors"
        );
        Line::default().with(Tone::Strong, &(name + &figures))
    }

    /// A finished trial in a table.
    pub fn row(&self, name: &str, figures: &TrialFigures) -> Line {
        let text = format!(
            "{:>8}{:>8}{:>9}{:>7}  ",
            whole(figures.ops_per_s),
            known(figures.p50_ms),
            known(figures.p99_ms),
            count(figures.errors),
        );
        let line = self.name(name, Tone::Plain).with(Tone::Plain, &text);
        self.with_verdict(line, figures)
    }

    /// A finished trial on a line by itself.
    pub fn finished(&self, name: &str, figures: &TrialFigures) -> Line {
        let text = format!(
            "  {:>7} op/s  p50 {:>5}  p99 {:>6} ms  {:>8}  ",
            whole(figures.ops_per_s),
            known(figures.p50_ms),
            known(figures.p99_ms),
            counted(figures.errors, "error"),
        );
        let line = self.name(name, Tone::Plain).with(Tone::Plain, &text);
        self.with_verdict(line, figures)
    }

    /// The verdict, with its cause where there is room for it.
    fn with_verdict(&self, line: Line, figures: &TrialFigures) -> Line {
        let verdict = Verdict::of(Some(figures.verdict));
        let line = line.with(tone_of(verdict), verdict.name());
        let cause = figures.cause.map(|cause| format!(": {}", in_a_sentence(cause)));
        match cause.filter(|cause| cause.width() <= self.rest) {
            Some(cause) => line.with(Tone::Faint, &cause),
            None => line,
        }
    }
}

/// Words that stood at the begin of a sentence, within one.
fn in_a_sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// How a verdict is shown.
pub fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::Suspect => Tone::Warn,
        Verdict::Invalid => Tone::Bad,
        Verdict::Unknown => Tone::Faint,
    }
}
