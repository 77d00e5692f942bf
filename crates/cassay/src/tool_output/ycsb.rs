//! Prints the final output of YCSB.

use crate::terminal;
use engine::{ClientTimes, Event};
use foreign::FileKind;
use imports::ImportStep;
use measure::{Histogram, Interval, KindCount, KindInterval, Outcome, clock};
use report::compat::ycsb::{self, Exporter, Measurement, Series};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use store::hlog::HlogWriter;

/// Prefix of the kinds of operations that are part of a read-modify-write. YCSB counts these parts
/// as reads and updates.
const PART: &str = "rmw-";
const WHOLE: &str = "READ-MODIFY-WRITE";
const PERCENTILES: &str = "50,95,99";

#[derive(Clone, Debug, Default)]
struct Sum {
    name: String,
    ok: u64,
    errors: u64,
    /// Number of reads that found no row. The server answered these reads, but YCSB counts them as
    /// failures.
    missing: u64,
    /// Latency of failed operations from the intended time. cassay does not measure the time from
    /// the send for failed operations.
    failed: Histogram,
    service: Histogram,
    latency: Histogram,
    /// For `timeseries`: the sum of latencies in µs and the number of operations, by time in ms.
    units: BTreeMap<u64, (f64, u64)>,
    /// For `raw`: time in Unix ms, latency in µs, and number of operations.
    points: Vec<(u64, u64, u64)>,
}

/// Output files that YCSB writes in addition to its normal output.
#[derive(Clone, Debug, Default)]
struct Files {
    /// Value of `measurement.raw.output_file`, if raw values are requested. Empty for stdout.
    raw: Option<String>,
    /// Prefix of the names of histogram logs. The operation's name follows the prefix.
    histograms: Option<String>,
}

/// Collects the measurements that YCSB prints at the end.
pub struct Ycsb {
    interval: ycsb::Interval,
    measurements: Vec<Measurement>,
    /// Interval of `timeseries`, in ms.
    granularity: u64,
    files: Files,
    exporter: Exporter,
    /// Value of `exportfile`, which is the file that receives the end of the output instead of
    /// stdout.
    file: Option<String>,
    kinds: Vec<Sum>,
    /// Measurements of each client, if several clients share the load.
    clients: Vec<Vec<Sum>>,
    seconds: f64,
    /// Start of the first interval, on the monotonic clock, in ns.
    start_ns: Option<u64>,
}

impl Ycsb {
    pub fn new(words: &[String], step: &ImportStep) -> Ycsb {
        let sum = |kind: &workload::Kind| Sum {
            name: kind.name.clone(),
            ..Sum::default()
        };
        let read = |name: &str| foreign::text(FileKind::Workload, name).map_err(|e| e.to_string());
        let property = |name| imports::ycsb_property(words, name, &read);
        let number = |name, default| {
            let text = property(name);
            text.and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let flag = |name| property(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let kind = property("measurementtype").unwrap_or_else(|| "hdrhistogram".to_owned());
        let measurement = |kind: &str| match kind {
            "histogram" => Measurement::Buckets(
                number("histogram.buckets", 1000) as usize,
                flag("measurement.histogram.verbose"),
            ),
            "timeseries" => {
                let asked = property("timeseries.percentiles");
                Measurement::TimeSeries(percentiles(asked.as_deref(), "95,99"))
            }
            "raw" => Measurement::Raw(!flag("measurement.raw.no_summary")),
            _ => {
                let asked = property("hdrhistogram.percentiles");
                Measurement::Hdr(percentiles(asked.as_deref(), PERCENTILES))
            }
        };
        let prefix = property("hdrhistogram.output.path").unwrap_or_default();
        let is_hdr = kind.starts_with("hdrhistogram");
        let raw = property("measurement.raw.output_file").unwrap_or_default();
        Ycsb {
            measurements: kind.split('+').map(measurement).collect(),
            granularity: number("timeseries.granularity", 1000),
            files: Files {
                raw: kind.ends_with("raw").then_some(raw),
                histograms: (is_hdr && flag("hdrhistogram.fileoutput")).then_some(prefix),
            },
            start_ns: None,
            interval: match property("measurement.interval").as_deref() {
                Some("intended") => ycsb::Interval::Intended,
                Some("both") => ycsb::Interval::Both,
                _ => ycsb::Interval::Op,
            },
            exporter: Exporter::from_class(&property("exporter").unwrap_or_default()),
            file: property("exportfile"),
            kinds: step.program.kinds().iter().map(sum).collect(),
            clients: Vec::new(),
            seconds: 0.0,
        }
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Interval {
                phase: "measure" | "drain",
                interval,
                ..
            } => self.add(interval),
            Event::ClientsMeasured(clients) => {
                self.clients = clients.iter().map(|client| self.sums_of(client)).collect();
            }
            _ => {}
        }
    }

    /// Returns the latencies of one client, if several clients share the load.
    fn sums_of(&self, client: &ClientTimes) -> Vec<Sum> {
        let kinds = self.kinds.iter().zip(client.population.kinds());
        let sum = |(sum, kind): (&Sum, KindInterval)| Sum {
            name: sum.name.clone(),
            ok: kind.service.count(),
            errors: kind.errors.count(),
            failed: kind.errors,
            service: kind.service,
            latency: kind.latency,
            ..Sum::default()
        };
        kinds.map(sum).collect()
    }

    fn add(&mut self, interval: &Interval) {
        self.seconds += interval.seconds();
        let start_ns = *self.start_ns.get_or_insert(interval.start_ns);
        let passed_ms = interval.start_ns.saturating_sub(start_ns) / 1_000_000;
        let unit = passed_ms / self.granularity.max(1) * self.granularity;
        let now_ms = (clock::unix_ns() / 1_000_000) as u64;
        let is_raw = self.files.raw.is_some();
        for (sum, kind) in self.kinds.iter_mut().zip(&interval.kinds) {
            sum.ok += kind.outcomes.get(Outcome::Ok);
            sum.errors += kind.outcomes.errors();
            sum.missing += kind.counts[KindCount::RowsMissing];
            sum.failed.add(&kind.errors);
            sum.service.add(&kind.service);
            sum.latency.add(&kind.latency);
            let shown = match self.interval {
                ycsb::Interval::Intended => &kind.latency,
                ycsb::Interval::Op | ycsb::Interval::Both => &kind.service,
            };
            if !shown.is_empty() {
                let (total_us, count) = sum.units.entry(unit).or_default();
                *total_us += shown.mean_ns() / 1e3 * shown.count() as f64;
                *count += shown.count();
            }
            if is_raw {
                let buckets = shown.hdr().iter_recorded();
                sum.points.extend(buckets.map(|bucket| {
                    let us = bucket.value_iterated_to() / 1000;
                    (now_ms, us, bucket.count_at_value())
                }));
            }
        }
    }

    pub fn end(&self) {
        let whole = self.kinds.iter().filter(|sum| !sum.name.starts_with(PART));
        let operations = whole.map(|sum| sum.ok + sum.errors).sum();
        let series = series_of(&self.kinds);
        let clients: Vec<Vec<Series>> = self.clients.iter().map(|sums| series_of(sums)).collect();
        self.write_raw();
        self.write_histograms(&series);
        let text = ycsb::end(
            (self.seconds, operations),
            (&series, &clients),
            self.interval,
            &self.measurements,
            self.exporter,
        );
        let Some(file) = &self.file else {
            return terminal::data(&text);
        };
        // If the path is invalid, the results go to stdout instead, so that they are not lost.
        if let Err(error) = std::fs::write(file, &text) {
            terminal::say(&format!(
                "exportfile {file}: {error}; the results are on stdout"
            ));
            terminal::data(&text);
        }
    }

    fn write_raw(&self) {
        let Some(file) = &self.files.raw else { return };
        let kinds = self.kinds.iter().filter(|sum| !sum.points.is_empty());
        let text: String = kinds
            .map(|sum| {
                let name = sum.name.strip_prefix(PART).unwrap_or(&sum.name);
                ycsb::raw(&name.to_uppercase(), &sum.points)
            })
            .collect();
        if text.is_empty() {
            return;
        }
        if file.is_empty() {
            return terminal::data(&text);
        }
        let opened = foreign::append(file);
        if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
            terminal::say(&format!("measurement.raw.output_file {file}: {error}"));
        }
    }

    /// Writes a histogram log for each series, if `hdrhistogram.fileoutput` requests them.
    fn write_histograms(&self, series: &[Series]) {
        let Some(prefix) = &self.files.histograms else {
            return;
        };
        let seconds = self.seconds;
        let base_ns = clock::unix_ns() as f64 - seconds * 1e9;
        for one in series {
            let latency = (format!("Intended-{}", one.name), &one.latency);
            let service = (one.name.clone(), &one.service);
            let logs = match self.interval {
                ycsb::Interval::Op => vec![service],
                ycsb::Interval::Intended => vec![(one.name.clone(), &one.latency)],
                ycsb::Interval::Both => vec![service, latency],
            };
            for (name, values) in logs {
                let path = format!("{prefix}{name}.hdr");
                let log = HlogWriter::create(Path::new(&path), &name, base_ns as u64);
                let written = log.and_then(|mut log| log.append(&name, 0.0, seconds, values));
                if let Err(error) = written {
                    terminal::say(&format!("hdrhistogram.output.path {path}: {error:#}"));
                }
            }
        }
    }
}

fn series_of(sums: &[Sum]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for sum in sums.iter().filter(|sum| sum.ok + sum.errors > 0) {
        let name = sum.name.strip_prefix(PART).unwrap_or(&sum.name).to_uppercase();
        // Only reads by key can miss a row. Rows that the read of a read-modify-write missed are
        // counted under the read-modify-write.
        let whole = sums.iter().find(|kind| kind.name.to_uppercase() == WHOLE);
        let missing = match sum.name.as_str() {
            "read" => sum.missing,
            "rmw-read" => sum.missing + whole.map_or(0, |whole| whole.missing),
            _ => 0,
        };
        let found = sum.ok.saturating_sub(missing);
        // YCSB prints no return code for a read-modify-write.
        let returns = if name == WHOLE {
            [0, 0, 0]
        } else {
            [found, missing, sum.errors]
        };
        let times = OperationTimes {
            service: &sum.service,
            latency: &sum.latency,
        };
        add(&mut all, &name, returns, times);
        let averages = sum.units.iter().map(|(ms, (us, count))| (*ms, us / *count as f64));
        if let Some(series) = all.iter_mut().find(|series| series.name == name) {
            // This code merges the values of a read-modify-write's parts with the values of reads
            // and updates.
            series.averages.extend(averages);
            series.averages.sort_by_key(|(ms, _)| *ms);
        }
        if sum.errors > 0 && name != WHOLE {
            let failed = format!("{name}-FAILED");
            let times = OperationTimes {
                service: &sum.failed,
                latency: &sum.failed,
            };
            add(&mut all, &failed, [0, 0, 0], times);
        }
    }
    all
}

/// Times of operations, measured from the send (`service`) and from the due time (`latency`).
struct OperationTimes<'a> {
    service: &'a Histogram,
    latency: &'a Histogram,
}

fn add(all: &mut Vec<Series>, name: &str, returns: [u64; 3], times: OperationTimes<'_>) {
    let at = all.iter().position(|series| series.name == name).unwrap_or_else(|| {
        all.push(Series {
            name: name.to_owned(),
            returns: vec![("OK", 0), ("NOT_FOUND", 0), ("ERROR", 0)],
            service: Histogram::default(),
            latency: Histogram::default(),
            averages: Vec::new(),
        });
        all.len() - 1
    });
    let series = &mut all[at];
    for ((_, sum), count) in series.returns.iter_mut().zip(returns) {
        *sum += count;
    }
    series.service.add(times.service);
    series.latency.add(times.latency);
}

/// Parses the percentiles of a property. Returns YCSB's defaults if one of the percentiles is not a
/// number.
fn percentiles(text: Option<&str>, default: &str) -> Vec<f64> {
    let numbers: Option<Vec<f64>> = text
        .unwrap_or(default)
        .split(',')
        .map(|text| text.trim().parse().ok())
        .collect();
    numbers.unwrap_or_else(|| percentiles(None, default))
}
