//! Renders the full screen of a run. The lines depend only on the state, the size and the time.
//!
//! At the top, the screen shows the current phase and the time left, and curves of throughput and
//! p99. Below are errors, nodes and faults, and clients and hosts if the run has several. Then come
//! the trials, messages, and keys. A small screen shows fewer trials, messages and machines.

use super::braille_curve::{Curve, course};
use super::machines::machines;
use super::plain_lines::FigureColumns;
use super::run_state::{FaultState, RunState, TrialEnd, TrialState};
use crate::terminal::{Line, Size, Tone, shortened};
use engine::FaultStage;
use jiff::{SignedDuration, Zoned};
use measure::clock::SECOND_NS;
use measure::number::{about_duration, count, significant, whole};

/// Minimum size of the full screen. On a smaller terminal, lines show more.
const LEAST: Size = Size {
    columns: 60,
    rows: 16,
};
/// Minimum width for messages next to the trials.
const WIDE: usize = 140;
/// Minimum width for a phase's progress bar, and for the expected end time of the run.
const ROOMY: usize = 80;
/// Minimum height for empty lines between the sections, and for the line about CPUs.
const AIRY: usize = 20;
const FAULTS_MAX: usize = 4;
/// Number of future trials that remain visible while the screen already omits earlier trials.
const FUTURE_TRIALS_MAX: usize = 2;

const THROUGHPUT: Curve = Curve {
    title: "Throughput, op/s",
    value: |second| second.ops_per_s,
    written: whole,
};
const P99: Curve = Curve {
    title: "p99 latency, ms",
    value: |second| second.p99_ms,
    written: |p99_ms| significant(p99_ms, 3),
};

/// Time and state that one painting shows.
pub struct Now {
    /// Time on the monotonic clock, in ns.
    pub ns: u64,
    /// Local time of the user.
    pub local: Zoned,
    /// True if the user asked the run to end.
    pub is_ending: bool,
    /// True if the screen explains the keys.
    pub has_help: bool,
}

/// Returns true if the terminal is large enough for the full screen.
pub fn has_room(size: Size) -> bool {
    size.columns >= LEAST.columns && size.rows >= LEAST.rows
}

/// Returns one line for each row of the screen, with the width of the screen.
pub fn view(state: &RunState, size: Size, now: &Now) -> Vec<Line> {
    // On a small screen, the sections follow each other without empty lines.
    let space = (size.rows >= AIRY).then(Line::default);
    let mut lines = vec![title(state, size, now), phase(state, size, now)];
    lines.extend(space.clone());
    lines.extend(courses(state, size));
    lines.extend(standing(state, size, now));
    // Machines get at most half of the remaining rows, so that trials and messages stay visible.
    let room = size.rows.saturating_sub(lines.len() + 1) / 2;
    lines.extend(machines(state, size.columns, room));
    lines.extend(space);
    let rows = size.rows.saturating_sub(lines.len() + 1);
    if now.has_help {
        lines.extend(help(state));
    } else if size.columns >= WIDE {
        let left = size.columns * 3 / 5;
        let said = messages(state, size.columns - left - 2, rows);
        let trials = trials(state, left, rows);
        let mut said = said.into_iter();
        lines.extend(trials.into_iter().map(|line| {
            let beside = said.next().unwrap_or_default();
            line.fitted(left).with(Tone::Plain, "  ").then(beside)
        }));
    } else {
        let said = if rows >= 16 { 5 } else { (rows / 4).max(1) };
        lines.extend(trials(state, size.columns, rows.saturating_sub(said)));
        lines.extend(messages(state, size.columns, said));
    }
    lines.resize(size.rows.saturating_sub(1), Line::default());
    lines.push(keys(state, now));
    lines.into_iter().map(|line| line.fitted(size.columns)).collect()
}

fn title(state: &RunState, size: Size, now: &Now) -> Line {
    let left_s = state.left_s(now.ns);
    let end = now.local.checked_add(SignedDuration::from_secs_f64(left_s));
    let ends = match end {
        Ok(end) if size.columns >= ROOMY => format!(", ends about {}", end.strftime("%H:%M")),
        _ => String::new(),
    };
    let right = match (now.is_ending, state.current.is_some()) {
        (true, _) if !state.is_elsewhere => "stopping all processes that cassay started".to_owned(),
        (_, true) => format!("{} left{ends}", about_duration(left_s)),
        (_, false) => String::new(),
    };
    let mut begin = Line::default().with(Tone::Strong, &state.study);
    if let Some((place, name)) = state.current() {
        begin = begin.with(Tone::Plain, &format!(" · trial {place}: {name}"));
    }
    let room = size.columns.saturating_sub(right.chars().count() + 2);
    begin.fitted(room).with(Tone::Strong, &format!("  {right}"))
}

fn phase(state: &RunState, size: Size, now: &Now) -> Line {
    let phase = &state.phase;
    let gone_s = state.phase_gone_s(now.ns);
    let length_s = match phase.progress {
        Some(progress) => progress.left_s().map_or(phase.seconds, |left_s| gone_s + left_s),
        None => phase.seconds,
    };
    let mut line = Line::default().with(Tone::Strong, phase.name);
    if phase.name.is_empty() {
        return line;
    }
    let share = gone_s / length_s;
    if size.columns >= ROOMY && share.is_finite() {
        let bar = size.columns / 8;
        let filled = (share.min(1.0) * bar as f64) as usize;
        let bar = format!(" {}{}", "█".repeat(filled), "░".repeat(bar - filled));
        line = line.with(Tone::Curve, &bar);
    }
    line = line.with(Tone::Plain, &format!(" {gone_s:.0} s"));
    if length_s > 0.0 {
        let of = about_duration(length_s);
        line = line.with(Tone::Plain, &format!(" of {of}"));
    }
    match phase.progress {
        Some(progress) => line.with(
            Tone::Strong,
            &format!(
                " · {} op/s · p99 {} ms",
                whole(progress.ops_per_s),
                significant(progress.p99_ms, 3)
            ),
        ),
        None => line.with(Tone::Plain, &format!(" · {}", phase.what)),
    }
}

fn courses(state: &RunState, size: Size) -> Vec<Line> {
    let rows = (size.rows * 22 / 100).clamp(3, 12);
    let of_width = |columns: usize| Size { columns, rows };
    let half = size.columns / 2;
    let left = course(&THROUGHPUT, &state.course, of_width(half));
    let right = course(&P99, &state.course, of_width(size.columns - half));
    left.into_iter().zip(right).map(|(left, right)| left.then(right)).collect()
}

/// Returns the lines for errors, nodes, CPUs and faults.
fn standing(state: &RunState, size: Size, now: &Now) -> Vec<Line> {
    let mut lines = vec![errors(state), nodes(state)];
    lines.extend(cpu(state).filter(|_| size.rows >= AIRY));
    let faults_max = lines.len() + FAULTS_MAX;
    let open = state.faults.iter().filter(|fault| fault.is_open());
    let coming = state.faults.iter().filter(|fault| fault.reached.is_none());
    lines.extend(open.map(|fault| broken(fault, now)));
    lines.extend(coming.map(|fault| to_come(fault, state, now)));
    let over = state.faults.iter().filter(|fault| !fault.is_open() && fault.reached.is_some());
    let count = over.count();
    if count > 0 {
        let of = format!("{count} of {} over", state.faults.len());
        lines.push(name_line("Faults", Line::from_text(&of)));
    }
    lines.truncate(faults_max);
    lines
}

fn name_line(name: &str, line: Line) -> Line {
    Line::default().with(Tone::Faint, &format!("{name:<8}")).then(line)
}

fn errors(state: &RunState) -> Line {
    let all: u64 = state.errors.values().sum();
    let seen = state.errors.iter().filter(|(_, errors)| **errors > 0);
    let kinds: Vec<String> = seen
        .map(|(kind, errors)| format!("{} {}", kind.replace('_', " "), count(*errors)))
        .collect();
    name_line(
        "Errors",
        if all == 0 {
            Line::default().with(Tone::Good, "none")
        } else {
            let text = format!("{}: {}", count(all), kinds.join(", "));
            Line::default().with(Tone::Bad, &text)
        },
    )
}

fn nodes(state: &RunState) -> Line {
    let mut line = Line::default();
    if state.nodes.is_empty() {
        line = line.with(Tone::Faint, "not there yet");
    }
    let bad = |name: &&String| state.is_away(name);
    for name in state.nodes.iter().filter(bad) {
        line = match state.taken_by(name) {
            Some(fault) => line.with(
                Tone::Warn,
                &format!("{name} lost ({}) · ", fault.planned.kind),
            ),
            None => line.with(Tone::Bad, &format!("{name} has ended · ")),
        };
    }
    let up: Vec<&str> = state.nodes.iter().filter(|name| !bad(name)).map(String::as_str).collect();
    line = match up.len() {
        0 => line,
        1..=3 => line.with(Tone::Good, &format!("{} up", up.join(", "))),
        many => line.with(Tone::Good, &format!("{many} up")),
    };
    name_line("Nodes", line)
}

fn cpu(state: &RunState) -> Option<Line> {
    let cpu = state.cpu?;
    let text = format!(
        "nodes {:.0} % · client {:.0} % · other programs {:.0} %",
        cpu.nodes, cpu.client, cpu.others
    );
    Some(name_line("CPU", Line::from_text(&text)))
}

fn broken(fault: &FaultState, now: &Now) -> Line {
    let planned = &fault.planned;
    let (stage, since_ns) = fault.reached.unwrap_or((FaultStage::Injecting, now.ns));
    let for_s = now.ns.saturating_sub(since_ns) as f64 / SECOND_NS as f64;
    let since = now.local.checked_sub(SignedDuration::from_secs_f64(for_s));
    let since = since.map_or(String::new(), |since| {
        since.strftime("%H:%M:%S").to_string()
    });
    let left_s = (planned.for_s - for_s).max(0.0);
    let rest = match stage {
        FaultStage::Holding => format!(", {} to go", about_duration(left_s)),
        _ => String::new(),
    };
    let text = format!(
        "{} of {}: {stage} since {since}{rest}",
        planned.kind, planned.place
    );
    name_line("Faults", Line::default().with(Tone::Warn, &text))
}

fn to_come(fault: &FaultState, state: &RunState, now: &Now) -> Line {
    let planned = &fault.planned;
    let when = match state.measured_from_ns {
        Some(from_ns) => {
            let gone_s = now.ns.saturating_sub(from_ns) as f64 / SECOND_NS as f64;
            let in_s = (planned.at_s - gone_s).max(0.0);
            format!("in {}", about_duration(in_s))
        }
        None => format!("{:.0} s after the measured window begins", planned.at_s),
    };
    let length = about_duration(planned.for_s);
    name_line(
        "Next",
        Line::from_text(&format!(
            "{} of {} {when}, for {length}",
            planned.kind, planned.place
        )),
    )
}

/// Returns the part of the table of trials that fits on the screen: the current trial, some trials
/// before it, and a few after it.
fn trials(state: &RunState, columns: usize, rows: usize) -> Vec<Line> {
    let shown = rows.saturating_sub(1);
    let all = state.trials.len();
    let current = state.current.unwrap_or(0);
    let last = (current + 1 + FUTURE_TRIALS_MAX).max(shown).min(all);
    let first = last.saturating_sub(shown);
    let figures = FigureColumns::for_table(
        columns,
        state.trials.iter().map(|trial| trial.name.as_str()),
    );
    let mut lines = vec![head(&figures, state)];
    let numbered = state.trials.iter().enumerate().take(last).skip(first);
    lines.extend(numbered.map(|(index, trial)| {
        let is_current = state.current == Some(index) && trial.end.is_none();
        row(&figures, trial, is_current, columns)
    }));
    lines.resize(rows, Line::default());
    lines.truncate(rows);
    lines
}

fn head(figures: &FigureColumns, state: &RunState) -> Line {
    let ended = state.trials.iter().filter(|trial| trial.end.is_some()).count();
    let name = format!("Trials, {ended} of {}", state.trials.len());
    figures.head(&name)
}

fn row(figures: &FigureColumns, trial: &TrialState, is_current: bool, columns: usize) -> Line {
    let rest = columns.saturating_sub(figures.name_columns() + 4);
    let said = |tone, text: &str| {
        figures
            .name(&trial.name, Tone::Plain)
            .with(tone, &format!("  {}", shortened(text, rest)))
    };
    match &trial.end {
        Some(TrialEnd::Finished(finished)) => figures.row(&trial.name, finished),
        Some(TrialEnd::Earlier) => said(Tone::Faint, "finished by an earlier attempt"),
        Some(TrialEnd::Failed(reason)) => said(Tone::Bad, &format!("failed: {reason}")),
        Some(TrialEnd::LeftOut(reason)) => said(Tone::Faint, &format!("left out: {reason}")),
        None if is_current => figures.name(&trial.name, Tone::Strong).with(Tone::Curve, "  now"),
        None => figures.name(&trial.name, Tone::Faint),
    }
}

fn messages(state: &RunState, columns: usize, rows: usize) -> Vec<Line> {
    let first = state.messages.len().saturating_sub(rows);
    let said = state.messages.iter().skip(first);
    said.map(|text| Line::default().with(Tone::Faint, text).fitted(columns))
        .collect()
}

fn keys(state: &RunState, now: &Now) -> Line {
    let text = match (now.has_help, state.is_elsewhere) {
        (true, _) => "? back",
        (false, true) => "q leaves this screen · ? shows help · Ctrl-C ends this view, not the run",
        (false, false) => "q leaves this screen · ? shows help · Ctrl-C stops the run",
    };
    Line::default().with(Tone::Faint, text)
}

fn help(state: &RunState) -> Vec<Line> {
    let ctrl_c = if state.is_elsewhere {
        "Ctrl-C  end this view; the run continues"
    } else {
        "Ctrl-C  stop the run and its processes; `cassay resume` continues it"
    };
    [
        "q       leave this screen; the run continues, and cassay prints lines",
        "?       this help",
        ctrl_c,
        "",
        "Curves: each column shows two seconds, newest on the right. The axis starts at 0.",
        "Verdicts: valid, suspect (read the reasons), or invalid (draw no conclusions).",
        "Reasons are in the report, and in: cassay show --trials",
    ]
    .map(Line::from_text)
    .into()
}
