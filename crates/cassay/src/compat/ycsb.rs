//! What YCSB prints at its end.

use crate::terminal;
use measure::{Histogram, Interval, Outcome};
use report::compat::ycsb::{self, Exporter, Series};
use study::run::Event;
use workload::Step;

/// What a read-modify-write's parts begin with: they are reads and updates to YCSB.
const PART: &str = "rmw-";
/// The series of whole read-modify-writes.
const WHOLE: &str = "READ-MODIFY-WRITE";
/// YCSB's percentiles, if none are asked for.
const PERCENTILES: &str = "50,95,99";

/// What one kind has come to.
#[derive(Clone, Debug, Default)]
struct Sum {
    name: String,
    ok: u64,
    errors: u64,
    /// Reads that found no row: answered, but no success to YCSB.
    missing: u64,
    /// Latency of the errors, from the intended time: that from the send is not measured.
    failed: Histogram,
    service: Histogram,
    latency: Histogram,
}

/// Gathers what is measured.
pub struct Ycsb {
    interval: ycsb::Interval,
    percentiles: Vec<f64>,
    exporter: Exporter,
    /// `exportfile`: where the end goes in place of stdout.
    file: Option<String>,
    kinds: Vec<Sum>,
    seconds: f64,
}

impl Ycsb {
    pub fn new(words: &[String], step: &Step) -> Ycsb {
        let sum = |kind: &workload::Kind| Sum {
            name: kind.name.clone(),
            ..Sum::default()
        };
        let read = |name: &str| std::fs::read_to_string(name).map_err(|e| e.to_string());
        let property = |name| workload::ycsb_property(words, name, &read);
        Ycsb {
            interval: match property("measurement.interval").as_deref() {
                Some("intended") => ycsb::Interval::Intended,
                Some("both") => ycsb::Interval::Both,
                _ => ycsb::Interval::Op,
            },
            percentiles: percentiles(property("hdrhistogram.percentiles").as_deref()),
            exporter: Exporter::of_class(&property("exporter").unwrap_or_default()),
            file: property("exportfile"),
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
            sum.missing += kind.rows_missing;
            sum.failed.add(&kind.errors);
            sum.service.add(&kind.service);
            sum.latency.add(&kind.latency);
        }
    }

    pub fn end(&self) {
        let whole = self.kinds.iter().filter(|sum| !sum.name.starts_with(PART));
        let operations = whole.map(|sum| sum.ok + sum.errors).sum();
        let series = self.series();
        let text = ycsb::end(
            (self.seconds, operations),
            &series,
            self.interval,
            &self.percentiles,
            self.exporter,
        );
        let Some(file) = &self.file else {
            return terminal::data(&text);
        };
        // A measured run must not be lost to a path that is none.
        if let Err(error) = std::fs::write(file, &text) {
            terminal::say(&format!(
                "exportfile {file}: {error}; the results are on stdout"
            ));
            terminal::data(&text);
        }
    }

    fn series(&self) -> Vec<Series> {
        let mut all: Vec<Series> = Vec::new();
        for sum in self.kinds.iter().filter(|sum| sum.ok + sum.errors > 0) {
            let name = sum.name.strip_prefix(PART).unwrap_or(&sum.name);
            let name = name.to_uppercase();
            // Only reads by key can miss a row, and what a read-modify-write has missed is counted
            // by the whole of it.
            let whole = self
                .kinds
                .iter()
                .find(|kind| kind.name.to_uppercase() == WHOLE);
            let missing = match sum.name.as_str() {
                "read" => sum.missing,
                "rmw-read" => sum.missing + whole.map_or(0, |whole| whole.missing),
                _ => 0,
            };
            let found = sum.ok.saturating_sub(missing);
            // A whole read-modify-write has no return code.
            let returns = match name == WHOLE {
                true => [0, 0, 0],
                false => [found, missing, sum.errors],
            };
            add(&mut all, &name, returns, (&sum.service, &sum.latency));
            if sum.errors > 0 && name != WHOLE {
                let failed = format!("{name}-FAILED");
                add(&mut all, &failed, [0, 0, 0], (&sum.failed, &sum.failed));
            }
        }
        all
    }
}

/// Adds to the series of this name.
fn add(
    all: &mut Vec<Series>,
    name: &str,
    returns: [u64; 3],
    (service, latency): (&Histogram, &Histogram),
) {
    let at = all.iter().position(|series| series.name == name);
    let at = at.unwrap_or_else(|| {
        all.push(Series {
            name: name.to_owned(),
            returns: vec![("OK", 0), ("NOT_FOUND", 0), ("ERROR", 0)],
            service: Histogram::default(),
            latency: Histogram::default(),
        });
        all.len() - 1
    });
    let series = &mut all[at];
    for ((_, sum), count) in series.returns.iter_mut().zip(returns) {
        *sum += count;
    }
    series.service.add(service);
    series.latency.add(latency);
}

/// `hdrhistogram.percentiles`; YCSB's own if one of them is no number.
fn percentiles(text: Option<&str>) -> Vec<f64> {
    let numbers = text.unwrap_or(PERCENTILES).split(',');
    let numbers: Option<Vec<f64>> = numbers.map(|text| text.trim().parse().ok()).collect();
    numbers.unwrap_or_else(|| percentiles(None))
}
