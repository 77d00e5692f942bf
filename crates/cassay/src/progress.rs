//! What a person sees while a study runs: one line that moves on a terminal, plain lines elsewhere.

use crate::speech;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use measure::clock;
use std::io::IsTerminal;
use std::time::Duration;
use store::record::TrialFinding;
use study::human;
use study::run::{Event, Progress as Interval};

/// How often a log, as opposed to a terminal, gets a line about the running phase.
const PLAIN_EVERY_NS: u64 = 10 * clock::SECOND_NS;

/// Shows the events of a run on stderr.
pub struct Progress {
    bar: Option<ProgressBar>,
    phase: &'static str,
    phase_seconds: f64,
    seconds_after: f64,
    plain_next_ns: u64,
}

impl Progress {
    /// For this process's stderr.
    pub fn new() -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner().with_style(
                ProgressStyle::with_template("{spinner} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Progress {
            bar,
            phase: "",
            phase_seconds: 0.0,
            seconds_after: 0.0,
            plain_next_ns: 0,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::RunStarted {
                path,
                trials,
                finished,
                seconds,
            } => {
                let done = if *finished > 0 {
                    format!(", {finished} done")
                } else {
                    String::new()
                };
                self.line(&format!("run: {}", path.display()));
                let length = human::seconds_for_people(*seconds);
                self.line(&format!("{trials} trials{done}, about {length}"));
            }
            Event::Said(line) => self.line(&format!("  {line}")),
            Event::TrialStarted {
                index,
                trials,
                name,
            } => {
                self.line(&format!("[{}/{trials}] {name}", index + 1));
            }
            Event::PhaseStarted {
                phase,
                what,
                seconds,
                seconds_after,
            } => {
                self.phase = phase;
                self.phase_seconds = *seconds;
                self.seconds_after = *seconds_after;
                self.plain_next_ns = clock::now_ns() + PLAIN_EVERY_NS;
                self.moving(&format!("{phase}: {what}"));
            }
            Event::Interval(interval) => self.interval(interval),
            Event::TrialFinished { name, finding } => self.line(&finished(name, finding)),
            Event::TrialFailed { name, reason } => self.line(&format!("FAILED {name}: {reason}")),
            Event::TrialSkipped { name, reason } => {
                self.line(&format!("skipped {name}: {reason}"));
            }
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let left = (self.phase_seconds - interval.seconds).max(0.0) + self.seconds_after;
        let text = format!(
            "{:<8} {:>9} op/s  p99 {:>8} ms  errors {}  {:.0} s, {} left",
            self.phase,
            grouped(interval.ops_per_s),
            significant(interval.p99_ms),
            interval.errors,
            interval.seconds,
            human::seconds_for_people(left),
        );
        self.moving(&text);
        let now_ns = clock::now_ns();
        if self.bar.is_none() && now_ns >= self.plain_next_ns {
            self.plain_next_ns = now_ns + PLAIN_EVERY_NS;
            speech::say(&format!("  {text}"));
        }
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| speech::say(text)),
            None => speech::say(text),
        }
    }

    /// The line that moves.
    fn moving(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// One line for a finished trial.
fn finished(name: &str, finding: &TrialFinding) -> String {
    let latency = &finding.all.latency_ms;
    let errors: u64 = finding.errors.values().sum();
    let mut text = format!(
        "  {name}: {} op/s  p50 {} p99 {} p99.9 {} ms  errors {errors}  {}",
        grouped(finding.all.ops_per_s),
        significant(latency.p50),
        significant(latency.p99),
        significant(latency.p999),
        finding.verdict,
    );
    for reason in &finding.reasons {
        text.push_str(&format!("\n    {reason}"));
    }
    text
}

/// `1234567.8` as `1 234 568`.
fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits at most, never an exponent.
fn significant(value: f64) -> String {
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_grouped() {
        for (value, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (1000.0, "1 000"),
            (2_148_160.2, "2 148 160"),
        ] {
            assert_eq!(grouped(value), text);
        }
        for (value, text) in [
            (0.0461, "0.046"),
            (3.14159, "3.14"),
            (51.27, "51.3"),
            (1234.5, "1234"),
        ] {
            assert_eq!(significant(value), text);
        }
    }
}
