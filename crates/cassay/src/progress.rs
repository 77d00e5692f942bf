//! What a run says while it goes on: one line that moves on a terminal, plain lines elsewhere.

use crate::terminal::{self, Moving};
use engine::{Event, Progress};
use measure::clock;
use measure::number::{significant, whole};
use std::path::PathBuf;
use store::record::TrialFinding;
use study::human;

/// Between two plain lines of the same phase: enough to see that it lives, few enough to read.
const PLAIN_EVERY_S: f64 = 10.0;

/// Shows the events of a run.
pub struct Show {
    /// None where nobody looks: lines instead.
    bar: Option<Moving>,
    /// The folder of the run.
    path: Option<PathBuf>,
    /// What a line begins with: `3/12 writes, 28 threads`.
    trial: String,
    phase: &'static str,
    phase_s: f64,
    phase_after_s: f64,
    phase_begin_ns: u64,
    /// Expected length of the trials after this one, seconds.
    rest_s: f64,
    plain_last_s: f64,
    /// What was said of the last trial that was left out.
    left_out: String,
}

impl Show {
    /// Nothing shown yet.
    pub fn new() -> Show {
        Show {
            bar: Moving::new(),
            path: None,
            trial: String::new(),
            phase: "",
            phase_s: 0.0,
            phase_after_s: 0.0,
            phase_begin_ns: clock::now_ns(),
            rest_s: 0.0,
            plain_last_s: 0.0,
            left_out: String::new(),
        }
    }

    /// Shows one event.
    pub fn event(&mut self, event: Event) {
        match event {
            Event::RunStarted {
                path,
                left,
                finished,
                seconds,
            } => {
                self.path = Some(path.clone());
                let done = match finished {
                    0 => String::new(),
                    finished => format!(" ({finished} done before)"),
                };
                let trials = human::trials(left.0, left.1);
                let about = human::seconds_between(seconds.0, seconds.1);
                self.line(&format!(
                    "{trials}{done}, about {about}: {}",
                    path.display()
                ));
            }
            Event::Said(text) => self.said(&text),
            Event::TrialStarted {
                index,
                trials,
                name,
                seconds_after,
            } => {
                self.trial = format!("{}/{trials} {name}", index + 1);
                self.rest_s = seconds_after;
            }
            Event::PhaseStarted {
                phase,
                what,
                seconds,
                seconds_after,
            } => self.phase(phase, &what, seconds, seconds_after),
            Event::Interval {
                progress, phase, ..
            } => self.interval(phase, progress),
            Event::TrialFinished { name, finding } => self.line(&finished(&name, &finding)),
            Event::TrialFailed { name, reason } => {
                self.line(&format!("  {name}: failed: {reason}"));
            }
            Event::TrialSkipped { name, reason } => {
                let line = format!("  {name}: left out: {reason}");
                // A search that has ended leaves out all its other points alike.
                if self.left_out != line {
                    self.line(&line);
                    self.left_out = line;
                }
            }
        }
    }

    /// Takes the moving line away; the folder of the run, if it came to have one.
    pub fn done(self) -> Option<PathBuf> {
        if let Some(bar) = self.bar {
            bar.end();
        }
        self.path
    }

    fn phase(&mut self, phase: &'static str, what: &str, seconds: f64, after: f64) {
        self.phase = phase;
        self.phase_s = seconds;
        self.phase_after_s = after;
        self.phase_begin_ns = clock::now_ns();
        self.plain_last_s = 0.0;
        let left = self.left(Progress::default());
        let text = format!("{} · {phase}: {what} · {left} left", self.trial);
        match &self.bar {
            Some(bar) => bar.show(&text),
            None => terminal::say(&text),
        }
    }

    fn said(&mut self, text: &str) {
        match &self.bar {
            Some(bar) => bar.show(&format!("{} · {}: {text}", self.trial, self.phase)),
            None => terminal::say(&format!("    {text}")),
        }
    }

    fn interval(&mut self, phase: &str, progress: Progress) {
        let text = self.going(phase, progress);
        match &self.bar {
            Some(bar) => bar.show(&text),
            None if progress.seconds - self.plain_last_s >= PLAIN_EVERY_S => {
                self.plain_last_s = progress.seconds;
                terminal::say(&text);
            }
            None => {}
        }
    }

    /// The line of an interval, by the phase that it belongs to.
    fn going(&self, phase: &str, progress: Progress) -> String {
        format!(
            "{} · {phase} {:.0} s · {} left · {} op/s · p99 {} ms · {} errors",
            self.trial,
            progress.seconds,
            self.left(progress),
            whole(progress.ops_per_s),
            significant(progress.p99_ms, 3),
            progress.errors,
        )
    }

    /// What is left of the run, in words. The phase's own time runs down; what it takes longer
    /// than expected is not made up for, unless its progress tells how long it will be.
    fn left(&self, progress: Progress) -> String {
        let gone_s = (clock::now_ns() - self.phase_begin_ns) as f64 / 1e9;
        let planned_s = (self.phase_s - gone_s).max(0.0);
        let phase_s = progress.left_s().unwrap_or(planned_s);
        human::seconds_for_people(phase_s + self.phase_after_s + self.rest_s)
    }

    /// A line that stays.
    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.say(text),
            None => terminal::say(text),
        }
    }
}

/// One line for a finished trial.
fn finished(name: &str, finding: &TrialFinding) -> String {
    let [p50, p99] = [finding.all.latency_ms.p50, finding.all.latency_ms.p99];
    let errors: u64 = finding.errors.values().sum();
    let mut line = format!(
        "  {name}: {} op/s · p50 {}{} ms · p99 {}{} ms · {errors} errors · {}",
        whole(finding.all.ops_per_s),
        p50.sign(),
        significant(p50.least(), 3),
        p99.sign(),
        significant(p99.least(), 3),
        finding.verdict,
    );
    if let Some(reason) = finding.reasons.first() {
        line += &format!(" ({reason})");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::Verdict;

    #[test]
    fn what_is_left_of_a_load_is_told_by_how_it_went() {
        let mut show = Show::new();
        (show.phase_s, show.rest_s) = (2.0, 60.0);
        let progress = Progress {
            seconds: 10.0,
            operations: 1_000,
            of: Some(4_000),
            ..Progress::default()
        };
        let line = show.going("load", progress);
        assert!(line.contains("1 min 30 s left"), "{line}");
    }

    #[test]
    fn a_finished_trial_is_one_line() {
        let mut finding = TrialFinding {
            verdict: Verdict::Suspect,
            reasons: vec!["V12: drift".into(), "V3: near the ceiling".into()],
            ..TrialFinding::default()
        };
        finding.all.ops_per_s = 53_210.4;
        finding.all.latency_ms.p50 = 1.234.into();
        finding.all.latency_ms.p99 = measure::Known::AtLeast(12.34);
        finding.errors.insert("overloaded".into(), 3);
        assert_eq!(
            finished("writes, 8 threads", &finding),
            "  writes, 8 threads: 53,210 op/s · p50 1.23 ms · p99 ≥ 12.3 ms · 3 errors · suspect \
             (V12: drift)"
        );
    }
}
