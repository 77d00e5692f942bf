//! Formats a run as lines: a status line, plain lines for logs, and a line for each finished trial.

use super::run_state::{RunState, TrialFigures};
use crate::terminal::{Line, Tone, shortened_name};
use engine::Progress;
use measure::Known;
use measure::clock::SECOND_NS;
use measure::number::{about_duration, count, counted, significant, whole};
use report::Verdict;
use store::record::TrialFinding;
use unicode_width::UnicodeWidthStr;

/// Minimum width of a name. Other parts of a line are shortened first.
const NAME_LEAST: usize = 16;
/// Number of columns of op/s, p50, p99, errors and verdict on a separate line, with units.
const LINE_FIGURES: usize = 59;
/// Number of columns of op/s, p50, p99, errors and verdict in a table, whose header has the units.
const TABLE_FIGURES: usize = 41;
const INDENT: &str = "  ";

/// Returns the line for a phase that begins.
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

/// Returns the line of an interval, with its phase.
fn going(state: &RunState, phase: &str, progress: Progress, now_ns: u64) -> String {
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

/// Returns the line of a phase in progress, with the figures of the phase. If the phase has no
/// figures yet, the line shows the elapsed time.
pub fn still(state: &RunState, now_ns: u64) -> String {
    let phase = &state.phase;
    if let Some(progress) = phase.progress {
        return going(state, phase.name, progress, now_ns);
    }
    format!(
        "{} · {} {:.0} s · {} left",
        place_and_name(state),
        phase.name,
        now_ns.saturating_sub(phase.begin_ns) as f64 / SECOND_NS as f64,
        left(state, now_ns),
    )
}

fn place_and_name(state: &RunState) -> String {
    state.current().map_or(String::new(), |(place, name)| format!("{place} {name}"))
}

fn left(state: &RunState, now_ns: u64) -> String {
    about_duration(state.left_s(now_ns))
}

/// Returns the status line. If the line is wider than `columns`, omits the phase first, and then
/// shortens the trial's name. Never shortens figures or the time left.
pub fn moving(state: &RunState, columns: usize, now_ns: u64) -> Line {
    let (place, name) = state.current().unwrap_or_default();
    let Some(progress) = state.phase.progress else {
        return Line::from_text(&still(state, now_ns));
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
    Line::from_text(&format!(
        "{place} {}{phase}{figures}",
        shortened_name(name, room)
    ))
}

/// Returns the plain line of a finished trial, with the first reason after the figures.
pub fn finished(name: &str, finding: &TrialFinding) -> String {
    let figures = TrialFigures::new(finding);
    let mut line = format!(
        "{INDENT}{name}: {} op/s · p50 {} ms · p99 {} ms · {} · {}",
        whole(figures.ops_per_s),
        text(figures.p50_ms),
        text(figures.p99_ms),
        counted(figures.errors, "error"),
        figures.verdict,
    );
    if let Some(reason) = finding.reasons.first() {
        line += &format!(" ({reason})");
    }
    line
}

fn text(value: Known) -> String {
    format!("{}{}", value.sign(), significant(value.least(), 3))
}

/// Width of the names of trials, and the width that remains for the cause after the verdict. Both
/// apply to all trials.
pub struct FigureColumns {
    name: usize,
    /// Number of columns that remain after the verdict.
    rest: usize,
}

impl FigureColumns {
    /// Computes the widths for lines of `columns` columns and for these names. Figures and verdict
    /// take `figures` columns.
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

    /// Computes the widths for single lines of `columns` columns.
    pub fn for_lines<'n>(columns: usize, names: impl Iterator<Item = &'n str>) -> FigureColumns {
        FigureColumns::new(columns, LINE_FIGURES, names)
    }

    /// Computes the widths for a table of `columns` columns.
    pub fn for_table<'n>(columns: usize, names: impl Iterator<Item = &'n str>) -> FigureColumns {
        FigureColumns::new(columns, TABLE_FIGURES, names)
    }

    /// Returns the width of a name.
    pub fn name_columns(&self) -> usize {
        self.name
    }

    pub fn name(&self, name: &str, tone: Tone) -> Line {
        Line::from_text(INDENT)
            .then(Line::default().with(tone, &shortened_name(name, self.name)).fitted(self.name))
    }

    /// Returns the header of a table, with the title of its first column.
    pub fn head(&self, name: &str) -> Line {
        let name = Line::from_text(name).fitted(INDENT.len() + self.name).plain();
        let figures = format!(
            "{:>8}{:>8}{:>9}{:>7}  verdict",
            "op/s", "p50 ms", "p99 ms", "errors"
        );
        Line::default().with(Tone::Strong, &(name + &figures))
    }

    /// Returns a finished trial as a row of a table.
    pub fn row(&self, name: &str, figures: &TrialFigures) -> Line {
        let text = format!(
            "{:>8}{:>8}{:>9}{:>7}  ",
            whole(figures.ops_per_s),
            text(figures.p50_ms),
            text(figures.p99_ms),
            count(figures.errors),
        );
        let line = self.name(name, Tone::Plain).with(Tone::Plain, &text);
        self.with_verdict(line, figures)
    }

    /// Returns a finished trial as a single line.
    pub fn finished(&self, name: &str, figures: &TrialFigures) -> Line {
        let text = format!(
            "  {:>7} op/s  p50 {:>5}  p99 {:>6} ms  {:>8}  ",
            whole(figures.ops_per_s),
            text(figures.p50_ms),
            text(figures.p99_ms),
            counted(figures.errors, "error"),
        );
        let line = self.name(name, Tone::Plain).with(Tone::Plain, &text);
        self.with_verdict(line, figures)
    }

    /// Adds the verdict to a line. If the line has room, also adds the cause of the verdict.
    fn with_verdict(&self, line: Line, figures: &TrialFigures) -> Line {
        let verdict = Verdict::from_record(Some(figures.verdict));
        let line = line.with(tone_of(verdict), verdict.name());
        let cause = figures.cause.map(|cause| format!(": {}", in_a_sentence(cause)));
        match cause.filter(|cause| cause.width() <= self.rest) {
            Some(cause) => line.with(Tone::Faint, &cause),
            None => line,
        }
    }
}

fn in_a_sentence(words: &str) -> String {
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// Returns the tone that marks a verdict, such as a warning for a suspect trial.
pub fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Valid => Tone::Good,
        Verdict::Suspect => Tone::Warn,
        Verdict::Invalid => Tone::Bad,
        Verdict::Unknown => Tone::Faint,
    }
}
