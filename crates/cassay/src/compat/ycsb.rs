//! What YCSB prints at its end.

use crate::terminal;
use measure::{Histogram, Interval, Outcome};
use report::compat::ycsb::{self, Series};
use study::run::Event;
use workload::Step;

/// What a read-modify-write's parts begin with: they are reads and updates to YCSB.
const PART: &str = "rmw-";

/// What one kind has come to.
#[derive(Clone, Debug, Default)]
struct Sum {
    name: String,
    ok: u64,
    errors: u64,
    service: Histogram,
    latency: Histogram,
}

/// Gathers what is measured.
pub struct Ycsb {
    words: Vec<String>,
    kinds: Vec<Sum>,
    seconds: f64,
}

impl Ycsb {
    pub fn new(words: &[String], step: &Step) -> Ycsb {
        let sum = |kind: &workload::Kind| Sum {
            name: kind.name.clone(),
            ..Sum::default()
        };
        Ycsb {
            words: words.to_vec(),
            kinds: step.program.kinds().iter().map(sum).collect(),
            seconds: 0.0,
        }
    }

    pub fn event(&mut self, event: &Event) {
        if let Event::Interval {
            phase, interval, ..
        } = event
            && matches!(*phase, "measure" | "drain")
        {
            self.add(interval);
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

    /// A property of the command line.
    fn property(&self, name: &str) -> Option<&str> {
        let words = self.words.iter().rev();
        let mut values = words.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        values.next()
    }

    pub fn end(&self) {
        let interval = match self.property("measurement.interval") {
            Some("intended") => ycsb::Interval::Intended,
            Some("both") => ycsb::Interval::Both,
            _ => ycsb::Interval::Op,
        };
        let percentiles = self.property("hdrhistogram.percentiles");
        let percentiles: Vec<f64> = percentiles
            .unwrap_or("50,95,99")
            .split(',')
            .filter_map(|text| text.trim().parse().ok())
            .collect();
        let whole = self.kinds.iter().filter(|sum| !sum.name.starts_with(PART));
        let operations = whole.map(|sum| sum.ok + sum.errors).sum();
        let series = self.series();
        terminal::data(&ycsb::end(
            self.seconds,
            operations,
            &series,
            interval,
            &percentiles,
        ));
    }

    fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for sum in self.kinds.iter().filter(|sum| sum.ok + sum.errors > 0) {
            let name = sum.name.strip_prefix(PART).unwrap_or(&sum.name);
            let name = name.to_uppercase();
            let at = match all.iter().position(|series| series.name == name) {
                Some(at) => at,
                None => {
                    all.push(Series {
                        name,
                        returns: vec![("OK", 0), ("ERROR", 0)],
                        service: Histogram::default(),
                        latency: Histogram::default(),
                    });
                    all.len() - 1
                }
            };
            let series = &mut all[at];
            series.returns[0].1 += sum.ok;
            series.returns[1].1 += sum.errors;
            series.service.add(&sum.service);
            series.latency.add(&sum.latency);
        }
        all
    }
}
