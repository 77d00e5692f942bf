//! What YCSB prints at the end of a run: its text exporter's lines, with latencies in whole µs.

use measure::Histogram;

/// One series of YCSB: an operation, or the failed ones of it.
#[derive(Clone, Debug)]
pub struct Series {
    /// `READ`, `READ-MODIFY-WRITE`, `INSERT-FAILED`.
    pub name: String,
    /// Operations by their return code: `OK`, `NOT_FOUND`, `ERROR`.
    pub returns: Vec<(&'static str, u64)>,
    /// Latency from the send.
    pub service: Histogram,
    /// Latency from the intended time.
    pub latency: Histogram,
    /// Of `timeseries`: times from the begin in ms, and the average latency of each, in µs.
    pub averages: Vec<(u64, f64)>,
}

/// How latencies are summed up: `measurementtype`.
#[derive(Clone, Debug, PartialEq)]
pub enum Measurement {
    /// By an HdrHistogram, with these percentiles.
    Hdr(Vec<f64>),
    /// By so many buckets of 1 ms each, perhaps listed.
    Buckets(usize, bool),
    /// By averages over time, with these percentiles.
    TimeSeries(Vec<f64>),
    /// Not at all: the single values are elsewhere; perhaps with a summary.
    Raw(bool),
}

/// The single values of a series, `(unix ms, µs, how many)`, as `raw` lists them.
pub fn raw(name: &str, points: &[(u64, u64, u64)]) -> String {
    let mut text = format!("{name} latency raw data: op, timestamp(ms), latency(us)\n");
    for (ms, us, count) in points {
        let line = format!("{name},{ms},{us}\n");
        text.push_str(&line.repeat(*count as usize));
    }
    text
}

/// Which latency is printed: `measurement.interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// From the send.
    Op,
    /// From the intended time.
    Intended,
    /// From the send and from the intended time.
    Both,
}

/// How the end of a run is written: `exporter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exporter {
    /// A line for each number.
    Text,
    /// A JSON object for each number, one behind the other.
    Json,
    /// The same objects in one array.
    JsonArray,
}

impl Exporter {
    /// The exporter of a class, whatever package it is in; text, as for YCSB, where there is none
    /// of this name.
    #[must_use]
    pub fn of_class(class: &str) -> Exporter {
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

/// One number; `value` is how Java prints it.
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

    /// The object, laid out as YCSB's JSON library does. Names are ours and need no escapes.
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

/// The end of a run. `seconds` is its length, `operations` all that ended.
///
/// Of several clients, `clients` has the series of each: the means of their percentiles stand
/// behind all else, by names that say what they are.
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
            // With two of them the first one counts the return codes.
            returns = &[];
        }
    }
    // Return codes are counted once, with the latencies from the send.
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

/// The means of the percentiles that each of several clients has by itself.
fn means(
    series: &[&Series],
    clients: &[Vec<Series>],
    interval: Interval,
    measurements: &[Measurement],
) -> Vec<Row> {
    if clients.len() < 2 {
        return Vec::new();
    }
    let is_intended: &[bool] = match interval {
        Interval::Op => &[false],
        Interval::Intended => &[true],
        Interval::Both => &[false, true],
    };
    let mut rows = Vec::new();
    for is_intended in is_intended {
        for one in series {
            let own = clients.iter().filter_map(|client| {
                let own = client.iter().find(|other| other.name == one.name)?;
                let own = if *is_intended {
                    &own.latency
                } else {
                    &own.service
                };
                (!own.is_empty()).then_some(own)
            });
            let own: Vec<&Histogram> = own.collect();
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

/// The percentiles that a type of measurement prints, by their names (`99th`), in µs.
fn percentiles(histogram: &Histogram, measurement: &Measurement) -> Vec<(String, u64)> {
    let us = |ns: u64| ns / 1000;
    let count = histogram.count();
    match measurement {
        Measurement::Hdr(asked) | Measurement::TimeSeries(asked) => {
            let of = |percentile: &f64| {
                let value = us(histogram.quantile_ns(percentile / 100.0));
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
            let of = |percentile: f64| {
                let place = (count as f64 * percentile / 100.0).floor() + 1.0;
                let value = us(histogram.quantile_ns((place / count as f64).min(1.0)));
                (percentile.to_string(), value)
            };
            [1.0, 5.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99].map(of).into()
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

/// What only one type of measurement has; returns what stands behind the return codes.
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

/// How many values there are of each ms, and in the end of all beyond them.
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

/// `95th`, `1st`, `99.9`.
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

/// A number as Java prints a double.
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
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn the_lines_are_those_of_the_text_exporter() {
        let mut service = Histogram::default();
        (1..=100u64).for_each(|us| service.record(us * 1000));
        let mut latency = service.clone();
        latency.record(2_000_000);
        let series = [Series {
            name: "READ".to_owned(),
            returns: vec![("OK", 100), ("ERROR", 0)],
            service,
            latency,
            averages: vec![(0, 12.5), (1000, 50.0)],
        }];
        let text = end(
            (2.0, 100),
            (&series, &[]),
            Interval::Op,
            &[Measurement::Hdr(vec![50.0, 95.0, 99.9])],
            Exporter::Text,
        );
        expect![[r#"
            [OVERALL], RunTime(ms), 2000
            [OVERALL], Throughput(ops/sec), 50.0
            [READ], Operations, 100
            [READ], AverageLatency(us), 50.503620000000005
            [READ], MinLatency(us), 1
            [READ], MaxLatency(us), 100
            [READ], 50thPercentileLatency(us), 50
            [READ], 95thPercentileLatency(us), 95
            [READ], 99.9PercentileLatency(us), 100
            [READ], Return=OK, 100
        "#]]
        .assert_eq(&text);
        let hdr = [Measurement::Hdr(Vec::new())];
        let text = end(
            (2.0, 100),
            (&series, &[]),
            Interval::Both,
            &hdr,
            Exporter::Text,
        );
        assert!(text.contains("[Intended-READ], Operations, 101"));
        assert_eq!(text.matches("Return=OK").count(), 1);
        // Alone, the intended latencies have the operation's own name.
        let text = end(
            (2.0, 100),
            (&series, &[]),
            Interval::Intended,
            &hdr,
            Exporter::Text,
        );
        assert!(text.contains("[READ], Operations, 101\n") && !text.contains("Intended-"));
    }

    /// As OneMeasurementHistogram, -TimeSeries and -Raw of YCSB write them.
    #[test]
    fn each_type_of_measurement_has_its_lines() {
        let mut service = Histogram::default();
        service.record_n(1_500_000, 99);
        service.record(3_000_000_000);
        let series = [Series {
            name: "READ".to_owned(),
            returns: vec![("OK", 100)],
            latency: service.clone(),
            service,
            averages: vec![(0, 1500.0), (1000, 31_485.0)],
        }];
        let lines = |measurements: &[Measurement]| {
            let text = end(
                (2.0, 100),
                (&series, &[]),
                Interval::Op,
                measurements,
                Exporter::Text,
            );
            let lines = text.lines().filter_map(|line| line.strip_prefix("[READ], "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let buckets = lines(&[Measurement::Buckets(3, true)]);
        assert!(
            buckets[2].starts_with("LatencyVariance(us), "),
            "{buckets:?}"
        );
        assert_eq!(
            buckets[5..],
            [
                "95thPercentileLatency(us), 1000",
                "99thPercentileLatency(us), 1000",
                "Return=OK, 100",
                "0, 0",
                "1, 99",
                "2, 0",
                ">3, 1",
            ]
        );
        let over_time = lines(&[Measurement::TimeSeries(vec![95.0])]);
        assert_eq!(
            over_time[4..],
            [
                "95thPercentileLatency(us), 1500",
                "Return=OK, 100",
                "0, 1500.0",
                "1000, 31485.0",
            ]
        );
        let both = lines(&[Measurement::Hdr(Vec::new()), Measurement::Raw(true)]);
        assert_eq!(both[4], "Return=OK, 100");
        assert_eq!(both[5], "Total Operations, 100");
        assert_eq!(
            both[6],
            "Below is a summary of latency in microseconds:, -1"
        );
        assert_eq!(both[12], "p50, 1500");
        assert!(!lines(&[Measurement::Raw(false)]).iter().any(|line| line.starts_with("p")));
    }

    #[test]
    fn single_values_have_a_line_each() {
        let text = raw("READ", &[(1_700_000_000_000, 1500, 2)]);
        expect![[r#"
            READ latency raw data: op, timestamp(ms), latency(us)
            READ,1700000000000,1500
            READ,1700000000000,1500
        "#]]
        .assert_eq(&text);
    }

    #[test]
    fn the_json_exporters_write_the_same_numbers() {
        let class = "site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter";
        let text = end(
            (2.0, 100),
            (&[], &[]),
            Interval::Op,
            &[],
            Exporter::of_class(class),
        );
        expect![[r#"
            [ {
              "metric" : "OVERALL",
              "measurement" : "RunTime(ms)",
              "value" : 2000
            }, {
              "metric" : "OVERALL",
              "measurement" : "Throughput(ops/sec)",
              "value" : 50.0
            } ]
        "#]]
        .assert_eq(&text);
        let text = end(
            (2.0, 100),
            (&[], &[]),
            Interval::Op,
            &[],
            Exporter::of_class("com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter"),
        );
        assert!(text.starts_with("{\n") && text.contains("\n} {\n") && text.ends_with("}\n"));
        assert_eq!(Exporter::of_class("my.Exporter"), Exporter::Text);
    }

    #[test]
    fn numbers_look_as_java_prints_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (500.0, "500.0"),
            (12_345_678.0, "1.2345678E7"),
            (1e7, "1.0E7"),
            (1e-4, "1.0E-4"),
        ] {
            assert_eq!(number(value), text);
        }
        let words = [1.0, 2.0, 3.0, 11.0, 95.0, 99.99].map(ordinal);
        assert_eq!(words, ["1st", "2nd", "3rd", "11th", "95th", "99.99"]);
    }

    fn read_of(us: impl Iterator<Item = u64>) -> Series {
        let mut service = Histogram::default();
        us.for_each(|us| service.record(us * 1000));
        Series {
            name: "READ".to_owned(),
            returns: Vec::new(),
            latency: service.clone(),
            service,
            averages: Vec::new(),
        }
    }

    /// Of clients that are unlike, the mean of two 99th percentiles is far from the 99th of all.
    #[test]
    fn means_of_several_clients_stand_behind_the_percentiles_of_all() {
        let clients = [read_of(1..=100), read_of(1001..=1100)];
        let mut all = read_of(1..=100);
        all.service.add(&clients[1].service);
        let clients = clients.map(|one| vec![one]);
        let text = end(
            (2.0, 200),
            (&[all], &clients),
            Interval::Op,
            &[Measurement::Hdr(vec![50.0, 99.0])],
            Exporter::Text,
        );
        let percentiles: Vec<&str> =
            text.lines().filter(|line| line.contains("Percentile")).collect();
        expect![[r#"
            [
                "[READ], 50thPercentileLatency(us), 100",
                "[READ], 99thPercentileLatency(us), 1098",
                "[READ], MeanOf2Clients50thPercentiles(us; no percentile), 550.0",
                "[READ], MeanOf2Clients99thPercentiles(us; no percentile), 599.0",
            ]
        "#]]
        .assert_debug_eq(&percentiles);
        let alone = end(
            (2.0, 200),
            (&clients[0], &clients[..1]),
            Interval::Op,
            &[Measurement::Hdr(vec![50.0, 99.0])],
            Exporter::Text,
        );
        assert!(!alone.contains("MeanOf"), "{alone}");
    }
}
