//! Formats results like YCSB at the end of a run, in the formats of its text and JSON exporters.
//! Latencies are whole µs.

use super::rank::{behind_share_ns, nearest_ns};
use measure::Histogram;

/// Shares of all values for which the measurement type `raw` prints a percentile, with their names.
const SHARES_OF_RAW: [(f64, &str); 8] = [
    (0.01, "1"),
    (0.05, "5"),
    (0.5, "50"),
    (0.9, "90"),
    (0.95, "95"),
    (0.99, "99"),
    (0.999, "99.9"),
    (0.9999, "99.99"),
];

/// A series of YCSB, which contains the measurements of one operation or of its failures.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the series, such as `READ`, `READ-MODIFY-WRITE` or `INSERT-FAILED`.
    pub name: String,
    /// Number of operations by return code, such as `OK`, `NOT_FOUND` or `ERROR`.
    pub returns: Vec<(&'static str, u64)>,
    /// Latencies from the send.
    pub service: Histogram,
    /// Latencies from the intended start.
    pub latency: Histogram,
    /// Values for the measurement type `timeseries`. Each value consists of a time since the start,
    /// in ms, and of the mean latency at this time, in µs.
    pub averages: Vec<(u64, f64)>,
}

/// Type of the summary of latencies, which the property `measurementtype` selects.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    /// A summary from an HdrHistogram, with these percentiles.
    Hdr(Vec<f64>),
    /// A histogram with this number of buckets of 1 ms each. If the flag is true, the output lists
    /// the buckets.
    Buckets(usize, bool),
    /// Mean latencies over time, with these percentiles.
    TimeSeries(Vec<f64>),
    /// Raw latencies, which YCSB writes to another file. If the flag is true, the output also
    /// contains a summary.
    Raw(bool),
}

/// Returns the latencies of a series in the format of the measurement type `raw`, with a line for
/// each operation. Each item of `points` consists of a Unix time in ms, a latency in µs, and the
/// number of operations that share both values.
pub fn raw(name: &str, points: &[(u64, u64, u64)]) -> String {
    let mut text = format!("{name} latency raw data: op, timestamp(ms), latency(us)\n");
    for (ms, us, count) in points {
        let line = format!("{name},{ms},{us}\n");
        text.push_str(&line.repeat(*count as usize));
    }
    text
}

/// Latencies in the output, which the property `measurement.interval` selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Latencies from the send.
    Op,
    /// Latencies from the intended start.
    Intended,
    /// Latencies from the send, and latencies from the intended start.
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    Text,
    /// A JSON object for each number, with only spaces between the objects.
    Json,
    /// A JSON object for each number, all in one array.
    JsonArray,
}

impl Exporter {
    /// Returns the exporter with the name of a Java class, in any package. For an unknown class,
    /// returns the text exporter, as YCSB does.
    #[must_use]
    pub fn from_class(class: &str) -> Exporter {
        match class.rsplit('.').next() {
            Some("JSONMeasurementsExporter") => Exporter::Json,
            Some("JSONArrayMeasurementsExporter") => Exporter::JsonArray,
            _ => Exporter::Text,
        }
    }

    fn write(self, rows: &[Row]) -> String {
        if self == Exporter::Text {
            let lines = rows
                .iter()
                .map(|row| format!("[{}], {}, {}\n", row.metric, row.what, row.value));
            return lines.collect();
        }
        let objects: Vec<String> = rows.iter().map(Row::json).collect();
        match self {
            Exporter::JsonArray => format!("[ {} ]\n", objects.join(", ")),
            _ => objects.join(" ") + "\n",
        }
    }
}

/// One number of the output. `value` is the number as Java formats it.
struct Row {
    metric: String,
    what: String,
    value: String,
}

impl Row {
    fn new(metric: &str, what: impl Into<String>, value: impl ToString) -> Row {
        Row {
            metric: metric.to_owned(),
            what: what.into(),
            value: value.to_string(),
        }
    }

    /// Returns the row as a JSON object, in the layout of YCSB's JSON library. The names contain no
    /// characters that JSON must escape.
    fn json(&self) -> String {
        let Row {
            metric,
            what,
            value,
        } = self;
        let names = format!("\"metric\" : \"{metric}\",\n  \"measurement\" : \"{what}\"");
        format!("{{\n  {names},\n  \"value\" : {value}\n}}")
    }
}

/// Returns the output at the end of a run. `seconds` is the length of the run, and `operations` is
/// the number of completed operations.
///
/// With several clients, `clients` contains the series of each client. The means of the clients'
/// percentiles come last. YCSB does not print these means.
pub fn end(
    (seconds, operations): (f64, u64),
    (series, clients): (&[Series], &[Vec<Series>]),
    interval: Interval,
    measurements: &[Measurement],
    exporter: Exporter,
) -> String {
    let rate = if seconds > 0.0 {
        operations as f64 / seconds
    } else {
        0.0
    };
    let mut rows = vec![
        Row::new("OVERALL", "RunTime(ms)", (seconds * 1e3).round()),
        Row::new("OVERALL", "Throughput(ops/sec)", number(rate)),
    ];
    let mut series: Vec<&Series> = series.iter().collect();
    series.sort_by(|a, b| a.name.cmp(&b.name));
    for one in &series {
        let histogram = match interval {
            Interval::Intended => &one.latency,
            Interval::Op | Interval::Both => &one.service,
        };
        let mut returns = &one.returns[..];
        for measurement in measurements {
            block(
                &mut rows,
                (&one.name, one),
                histogram,
                (returns, measurement),
            );
            // With several types of measurement, only the first one prints the return codes.
            returns = &[];
        }
    }
    // The output contains the return codes only once, together with the latencies from the send. So
    // the rows of intended latencies omit them.
    if interval == Interval::Both {
        for one in &series {
            let name = format!("Intended-{}", one.name);
            for measurement in measurements {
                block(&mut rows, (&name, one), &one.latency, (&[], measurement));
            }
        }
    }
    rows.extend(means(&series, clients, interval, measurements));
    exporter.write(&rows)
}

/// Returns the means of the percentiles of single clients. Omits series for which fewer than two
/// clients have latencies.
fn means(
    series: &[&Series],
    clients: &[Vec<Series>],
    interval: Interval,
    measurements: &[Measurement],
) -> Vec<Row> {
    let is_intended: &[bool] = match interval {
        Interval::Op => &[false],
        Interval::Intended => &[true],
        Interval::Both => &[false, true],
    };
    let mut rows = Vec::new();
    for is_intended in is_intended {
        for one in series {
            let times = clients
                .iter()
                .filter_map(|client| client.iter().find(|own| own.name == one.name))
                .map(|own| {
                    if *is_intended {
                        &own.latency
                    } else {
                        &own.service
                    }
                })
                .filter(|times| !times.is_empty());
            let own: Vec<&Histogram> = times.collect();
            if own.len() < 2 {
                continue;
            }
            let name = match interval {
                Interval::Both if *is_intended => format!("Intended-{}", one.name),
                _ => one.name.clone(),
            };
            let of = |measurement| mean_rows(&name, &own, measurement);
            rows.extend(measurements.iter().flat_map(of));
        }
    }
    rows
}

fn mean_rows(name: &str, clients: &[&Histogram], measurement: &Measurement) -> Vec<Row> {
    let mut sums: Vec<(String, f64, usize)> = Vec::new();
    let each = clients.iter().flat_map(|one| percentiles(one, measurement));
    for (percentile, us) in each {
        match sums.iter_mut().find(|(known, ..)| *known == percentile) {
            Some((_, sum, count)) => {
                *sum += us as f64;
                *count += 1;
            }
            None => sums.push((percentile, us as f64, 1)),
        }
    }
    let row = |(percentile, sum, count): (String, f64, usize)| {
        let what = format!("MeanOf{count}Clients{percentile}Percentiles(us; no percentile)");
        Row::new(name, what, number(sum / count as f64))
    };
    sums.into_iter().map(row).collect()
}

/// Returns the percentiles that a type of measurement prints, each as its name, such as `99th`, and
/// its value in µs.
fn percentiles(histogram: &Histogram, measurement: &Measurement) -> Vec<(String, u64)> {
    let us = |ns: u64| ns / 1000;
    let count = histogram.count();
    match measurement {
        Measurement::Hdr(asked) | Measurement::TimeSeries(asked) => {
            let of = |percentile: &f64| {
                let value = us(nearest_ns(histogram, *percentile));
                (ordinal(*percentile), value)
            };
            asked.iter().map(of).collect()
        }
        Measurement::Buckets(buckets, _) => {
            let counts = milliseconds(histogram, *buckets);
            let of = |(share, name): (f64, &str)| {
                let mut sum = 0;
                let at = counts[..*buckets].iter().position(|bucket| {
                    sum += bucket;
                    count > 0 && sum as f64 / count as f64 >= share
                });
                at.map(|ms| (name.to_owned(), ms as u64 * 1000))
            };
            [(0.95, "95th"), (0.99, "99th")].into_iter().filter_map(of).collect()
        }
        Measurement::Raw(summary) if *summary && count > 0 => {
            let of = |(share, name): (f64, &str)| {
                (name.to_owned(), us(behind_share_ns(histogram, share)))
            };
            SHARES_OF_RAW.map(of).into()
        }
        Measurement::Raw(_) => Vec::new(),
    }
}

fn block(
    rows: &mut Vec<Row>,
    (name, series): (&str, &Series),
    histogram: &Histogram,
    (returns, measurement): (&[(&'static str, u64)], &Measurement),
) {
    let us = |ns: u64| ns / 1000;
    let count = histogram.count();
    let mean = histogram.mean_ns() / 1e3;
    let (least, most) = (us(histogram.min_ns()), us(histogram.max_ns()));
    let raw = matches!(measurement, Measurement::Raw(_));
    if raw {
        rows.push(Row::new(name, "Total Operations", count));
    } else {
        rows.push(Row::new(name, "Operations", count));
        rows.push(Row::new(name, "AverageLatency(us)", number(mean)));
        if matches!(measurement, Measurement::Buckets(..)) {
            let variance = number(variance_us(histogram));
            rows.push(Row::new(name, "LatencyVariance(us)", variance));
        }
        rows.push(Row::new(name, "MinLatency(us)", least));
        rows.push(Row::new(name, "MaxLatency(us)", most));
    }
    let behind = detail(rows, (name, series), histogram, measurement);
    for (code, count) in returns.iter().filter(|(_, count)| *count > 0) {
        rows.push(Row::new(name, format!("Return={code}"), count));
    }
    rows.extend(behind);
}

/// Adds the rows that are specific to the type of measurement to `rows`. Returns further rows that
/// must follow the return codes.
fn detail(
    rows: &mut Vec<Row>,
    (name, series): (&str, &Series),
    histogram: &Histogram,
    measurement: &Measurement,
) -> Vec<Row> {
    let us = |ns: u64| ns / 1000;
    let count = histogram.count();
    let mut behind = Vec::new();
    match measurement {
        Measurement::Hdr(_) | Measurement::TimeSeries(_) => {
            for (percentile, value) in percentiles(histogram, measurement) {
                let what = format!("{percentile}PercentileLatency(us)");
                rows.push(Row::new(name, what, value));
            }
            if matches!(measurement, Measurement::TimeSeries(_)) {
                let averages = series.averages.iter();
                let row = |(ms, us): &(u64, f64)| Row::new(name, ms.to_string(), number(*us));
                behind.extend(averages.map(row));
            }
        }
        Measurement::Buckets(buckets, verbose) => {
            for (percentile, value) in percentiles(histogram, measurement) {
                let what = format!("{percentile}PercentileLatency(us)");
                rows.push(Row::new(name, what, value));
            }
            if *verbose {
                let counts = milliseconds(histogram, *buckets);
                let row = |(ms, bucket): (usize, &u64)| {
                    if ms < *buckets {
                        Row::new(name, ms.to_string(), bucket)
                    } else {
                        Row::new(name, format!(">{buckets}"), bucket)
                    }
                };
                behind.extend(counts.iter().enumerate().map(row));
            }
        }
        Measurement::Raw(summary) if *summary && count > 0 => {
            let title = "Below is a summary of latency in microseconds:";
            rows.push(Row::new(name, title, -1));
            rows.push(Row::new(name, "Average", number(histogram.mean_ns() / 1e3)));
            rows.push(Row::new(name, "Min", us(histogram.min_ns())));
            rows.push(Row::new(name, "Max", us(histogram.max_ns())));
            for (percentile, value) in percentiles(histogram, measurement) {
                rows.push(Row::new(name, format!("p{percentile}"), value));
            }
        }
        Measurement::Raw(_) => {}
    }
    behind
}

/// Returns the number of values in each bucket of 1 ms. One more bucket at the end counts all
/// larger values.
fn milliseconds(histogram: &Histogram, buckets: usize) -> Vec<u64> {
    let mut counts = vec![0; buckets + 1];
    for bucket in histogram.hdr().iter_recorded() {
        let ms = (bucket.value_iterated_to() / 1_000_000) as usize;
        counts[ms.min(buckets)] += bucket.count_at_value();
    }
    counts
}

fn variance_us(histogram: &Histogram) -> f64 {
    let mean = histogram.mean_ns() / 1e3;
    let buckets = histogram.hdr().iter_recorded();
    let squares = buckets.map(|bucket| {
        let us = bucket.value_iterated_to() as f64 / 1e3;
        us * us * bucket.count_at_value() as f64
    });
    (squares.sum::<f64>() / histogram.count().max(1) as f64 - mean * mean).max(0.0)
}

/// Returns the name of a percentile, such as `95th`, `1st` or `99.9`.
fn ordinal(number: f64) -> String {
    if number.fract() != 0.0 {
        return number.to_string();
    }
    let whole = number as u64;
    let suffix = match (whole % 100, whole % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{whole}{suffix}")
}

/// Formats a number like Java's `Double.toString`.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
