//! Prints the output of cassandra-stress: a line per interval, the results, and the table for an
//! increasing number of threads.

use super::settings;
use crate::exit::Exit;
use crate::terminal;
use engine::{ClientTimes, Event};
use imports::stress::{Uncertainty, threads};
use imports::{ImportStep, Offer, StepLimit};
use measure::{Histogram, Interval, KindCount, KindInterval, Outcome};
use report::compat::stress::{self, Length, Lines, Sample, Timing};
use report::compat::stress_means;

/// Commands whose operations the tool prints in capitals.
const PREDEFINED: [&str; 4] = ["read", "write", "counter_write", "counter_read"];

/// Collects the measurements, and prints them line by line.
pub struct Stress {
    /// The tool's name of each kind of operation. The flag is true if operations of this kind
    /// write.
    kinds: Vec<(String, bool)>,
    /// Average number of partitions that an operation touches.
    partitions: f64,
    /// True if latency is measured from the due time of an operation.
    is_fixed: bool,
    limit: StepLimit,
    warmup: u64,
    threads: Vec<u32>,
    is_ladder: bool,
    runs: Vec<(u32, Sample)>,
    lines: Lines,
    has_summary: bool,
    /// Settings that the tool lists before the first run.
    settings: String,
    uncertainty: Uncertainty,
    measuring: bool,
    /// Measurements of each client, if several clients share the load.
    clients: Vec<Sample>,
}

impl Stress {
    pub fn new(words: &[String], step: &ImportStep) -> Stress {
        let name = |name: &str| {
            if PREDEFINED.contains(&name) {
                name.to_uppercase()
            } else {
                name.to_owned()
            }
        };
        let kinds = step.program.kinds().iter();
        let (threads, is_ladder) = match step.offer {
            Offer::Threads(threads) | Offer::Rate { threads, .. } => (vec![threads], false),
            Offer::Ladder { from, to, .. } => (threads(from, to), true),
        };
        let fixed = matches!(step.offer, Offer::Rate { hides_wait, .. } if !hides_wait);
        let operations = match step.limit {
            StepLimit::Operations(count) | StepLimit::Either(count, _) => count.max(1),
            StepLimit::Duration(_) | StepLimit::Uncertainty { .. } => step.program.rows(),
        };
        let batches = words.first().is_some_and(|word| word == "user");
        let partitions = step.program.rows() as f64 / operations as f64;
        Stress {
            kinds: kinds.map(|kind| (name(&kind.name), kind.is_write)).collect(),
            partitions: if batches { partitions.max(1.0) } else { 1.0 },
            is_fixed: fixed,
            limit: step.limit,
            warmup: step.warmup_operations,
            threads,
            is_ladder,
            runs: Vec::new(),
            lines: Lines::default(),
            has_summary: settings::has_summary(words),
            settings: stress::settings(&settings::from_words(words)),
            uncertainty: Uncertainty::default(),
            measuring: false,
            clients: Vec::new(),
        }
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::PhaseStarted { phase, .. } => self.phase(phase),
            Event::Interval {
                phase: "measure" | "drain",
                interval,
                ..
            } => self.interval(interval),
            Event::ClientsMeasured(clients) => {
                self.clients = clients.iter().map(|client| self.sample_of(client)).collect();
            }
            Event::TrialFinished { .. } => self.finish_run(),
            _ => {}
        }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.kinds.iter().map(|(name, _)| name.as_str()).collect();
        match names[..] {
            [name] if name.to_uppercase() == name => name.to_owned(),
            _ => stress::kinds(&names),
        }
    }

    fn threads(&self) -> u32 {
        let at = self.runs.len().min(self.threads.len().saturating_sub(1));
        self.threads.get(at).copied().unwrap_or(1)
    }

    fn phase(&mut self, phase: &str) {
        let settings = std::mem::take(&mut self.settings);
        if !settings.is_empty() {
            terminal::data(&settings);
        }
        match phase {
            "warmup" => terminal::data(&stress::warming_up(&self.names(), self.warmup)),
            "measure" => {
                let mut text = String::new();
                if self.is_ladder {
                    if self.runs.is_empty() {
                        text += stress::NO_THREADS;
                    }
                    text += &stress::step(self.threads());
                }
                let length = match self.limit {
                    StepLimit::Operations(count) | StepLimit::Either(count, _) => {
                        Length::Operations((count as f64 * self.partitions).round() as u64)
                    }
                    StepLimit::Duration(length) => Length::Time(length.as_secs(), "seconds"),
                    StepLimit::Uncertainty { target, .. } => Length::Uncertainty(target),
                };
                text += &stress::running(&self.names(), self.threads(), length);
                text += &stress::header();
                terminal::data(&text);
                self.measuring = true;
            }
            _ => {}
        }
    }

    fn interval(&mut self, interval: &Interval) {
        let mut sample = Sample::default();
        let mut rows = 0;
        for ((name, is_write), kind) in self.kinds.iter().zip(&interval.kinds) {
            let ok = kind.outcomes.get(Outcome::Ok);
            let errors = kind.outcomes.errors();
            if ok + errors == 0 {
                continue;
            }
            let latency = self.latency_of(kind);
            let written = if *is_write {
                ok + kind.counts[KindCount::Batched]
            } else {
                kind.counts[KindCount::Rows]
            };
            rows += written;
            let partitions = if *is_write {
                (ok as f64 * self.partitions).round() as u64
            } else {
                ok - kind.counts[KindCount::RowsMissing].min(ok)
            };
            let timing = Timing {
                span_ns: Some((interval.start_ns, interval.end_ns)),
                partitions,
                rows: written,
                errors,
                latency,
            };
            sample.operations.insert(name.clone(), timing);
        }
        if sample.operations.is_empty() {
            return;
        }
        if !interval.draining {
            self.uncertainty.add(rows as f64 / interval.seconds().max(1e-9));
        }
        sample.stderr = self.uncertainty.value();
        let text = self.lines.take(sample);
        if !text.is_empty() {
            terminal::data(&text);
        }
    }

    /// Returns the latencies of all operations. Like the tool, includes failed operations.
    fn latency_of(&self, kind: &KindInterval) -> Histogram {
        let mut latency = Histogram::default();
        latency.add(if self.is_fixed {
            &kind.latency
        } else {
            &kind.service
        });
        latency.add(&kind.errors);
        latency
    }

    /// Returns the latencies of one client, if several clients share the load.
    fn sample_of(&self, client: &ClientTimes) -> Sample {
        let mut sample = Sample::default();
        for ((name, _), kind) in self.kinds.iter().zip(client.population.kinds()) {
            let timing = Timing {
                latency: self.latency_of(&kind),
                ..Timing::default()
            };
            sample.operations.insert(name.clone(), timing);
        }
        sample
    }

    fn finish_run(&mut self) {
        let threads = self.threads();
        let (last, run) = self.lines.end();
        self.uncertainty = Uncertainty::default();
        let clients = std::mem::take(&mut self.clients);
        let summary = if self.has_summary {
            stress::summary(&run) + &stress_means::means(&clients)
        } else {
            String::new()
        };
        terminal::data(&format!("{last}\n{summary}"));
        if let Some((before, last)) = self.runs.last() {
            let rate = |sample: &Sample| {
                let rates = sample.operations.values();
                rates.map(|t| t.latency.count() as f64).sum::<f64>() / seconds(sample)
            };
            let share = (rate(&run) - rate(last)) / rate(last);
            terminal::data(&stress::improvement(*before, share));
        }
        self.runs.push((threads, run));
    }

    pub fn end(&mut self, exit: Exit) {
        // Prints the intervals of an aborted run that were not printed yet.
        let (last, _) = self.lines.end();
        if !last.is_empty() {
            terminal::data(&last);
        }
        if self.is_ladder && !self.runs.is_empty() {
            terminal::data(&stress::ladder(&self.runs));
        }
        let errors = self.runs.iter().any(|(_, run)| {
            let mut timings = run.operations.values();
            timings.any(|timing| timing.errors > 0)
        });
        let failed = errors || !self.measuring || exit == Exit::Interrupted;
        terminal::data(if failed { stress::FAILURE } else { stress::END });
    }
}

fn seconds(sample: &Sample) -> f64 {
    let spans = sample.operations.values().filter_map(|timing| timing.span_ns);
    let (from, to) = spans.fold((u64::MAX, 0), |(from, to), span| {
        (from.min(span.0), to.max(span.1))
    });
    to.saturating_sub(from).max(1) as f64 / 1e9
}
