//! The output of the tool whose command line is run, instead of our own: on stdout, as scripts
//! read it there. Warnings and the name of our report go to stderr as always.

use crate::exit::Exit;
use crate::terminal;
use measure::{Histogram, Interval, Outcome};
use report::compat::ycsb::{self, Series};
use study::run::Event;
use workload::{Import, Tool};

/// What one kind has come to.
#[derive(Clone, Debug, Default)]
struct Sum {
    name: String,
    ok: u64,
    errors: u64,
    service: Histogram,
    latency: Histogram,
}

/// Gathers what is measured, and prints it as the tool would.
pub struct Compat {
    tool: Tool,
    words: Vec<String>,
    kinds: Vec<Sum>,
    seconds: f64,
}

impl Compat {
    /// For a command line and what it comes to.
    pub fn new(tool: Tool, words: &[String], import: &Import) -> Compat {
        let step = import.steps.first();
        let kinds = step.map_or(&[][..], |step| step.program.kinds());
        let sum = |kind: &workload::Kind| Sum {
            name: kind.name.clone(),
            ..Sum::default()
        };
        Compat {
            tool,
            words: words.to_vec(),
            kinds: kinds.iter().map(sum).collect(),
            seconds: 0.0,
        }
    }

    /// Takes an event of the run.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Interval {
                phase, interval, ..
            } if matches!(*phase, "measure" | "drain") => self.add(interval),
            Event::Said(text) => terminal::say(text),
            Event::TrialFailed { name, reason } => terminal::say(&format!("{name}: {reason}")),
            _ => {}
        }
    }

    fn add(&mut self, interval: &Interval) {
        self.seconds += interval.seconds();
        for (sum, kind) in self.kinds.iter_mut().zip(&interval.kinds) {
            sum.ok += kind.outcomes.get(Outcome::Ok);
            sum.errors += kind.outcomes.errors();
            sum.service.add(&kind.service);
            sum.latency.add(&kind.latency);
        }
    }

    /// Prints the end of the run.
    pub fn end(&self, _exit: Exit) {
        match self.tool {
            Tool::Ycsb => terminal::data(&self.ycsb()),
            Tool::Stress | Tool::Nb => {}
        }
    }

    fn ycsb(&self) -> String {
        let property = |name: &str| {
            let words = self.words.iter().rev();
            let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            values.next()
        };
        let interval = match property("measurement.interval") {
            Some("intended") => ycsb::Interval::Intended,
            Some("both") => ycsb::Interval::Both,
            _ => ycsb::Interval::Op,
        };
        let percentiles = property("hdrhistogram.percentiles").unwrap_or("50,95,99");
        let percentiles: Vec<f64> = percentiles
            .split(',')
            .filter_map(|text| text.trim().parse().ok())
            .collect();
        let operations = self
            .kinds
            .iter()
            .filter(|sum| !sum.name.starts_with("rmw-"));
        let operations = operations.map(|sum| sum.ok + sum.errors).sum();
        ycsb::end(
            self.seconds,
            operations,
            &self.series(),
            interval,
            &percentiles,
        )
    }

    /// The series of YCSB: parts of read-modify-writes are reads and updates there.
    fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for sum in self.kinds.iter().filter(|sum| sum.ok + sum.errors > 0) {
            let name = sum.name.strip_prefix("rmw-").unwrap_or(&sum.name);
            let name = name.to_uppercase();
            let series = match all.iter_mut().find(|series| series.name == name) {
                Some(series) => series,
                None => {
                    all.push(Series {
                        name,
                        returns: vec![("OK", 0), ("ERROR", 0)],
                        service: Histogram::default(),
                        latency: Histogram::default(),
                    });
                    all.last_mut().expect("one was just added")
                }
            };
            series.returns[0].1 += sum.ok;
            series.returns[1].1 += sum.errors;
            series.service.add(&sum.service);
            series.latency.add(&sum.latency);
        }
        all
    }
}
