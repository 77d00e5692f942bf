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
}

/// Which latency is printed: `measurement.interval`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// From the send.
    Op,
    /// From the intended time.
    Intended,
    /// Both.
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

/// The end of a run. `seconds` is its length, `operations` all that ended; `percentiles` are those
/// of `hdrhistogram.percentiles`.
pub fn end(
    (seconds, operations): (f64, u64),
    series: &[Series],
    interval: Interval,
    percentiles: &[f64],
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
        block(&mut rows, &one.name, histogram, (&one.returns, percentiles));
    }
    // Return codes are counted once, with the latencies from the send.
    if interval == Interval::Both {
        for one in &series {
            let name = format!("Intended-{}", one.name);
            block(&mut rows, &name, &one.latency, (&[], percentiles));
        }
    }
    exporter.write(&rows)
}

fn block(
    rows: &mut Vec<Row>,
    name: &str,
    histogram: &Histogram,
    (returns, percentiles): (&[(&'static str, u64)], &[f64]),
) {
    let us = |ns: u64| ns / 1000;
    rows.push(Row::new(name, "Operations", histogram.count()));
    let mean = number(histogram.mean_ns() / 1e3);
    rows.push(Row::new(name, "AverageLatency(us)", mean));
    rows.push(Row::new(name, "MinLatency(us)", us(histogram.min_ns())));
    rows.push(Row::new(name, "MaxLatency(us)", us(histogram.max_ns())));
    for percentile in percentiles {
        let value = us(histogram.quantile_ns(percentile / 100.0));
        let what = format!("{}PercentileLatency(us)", ordinal(*percentile));
        rows.push(Row::new(name, what, value));
    }
    for (code, count) in returns.iter().filter(|(_, count)| *count > 0) {
        rows.push(Row::new(name, format!("Return={code}"), count));
    }
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
        }];
        let text = end(
            (2.0, 100),
            &series,
            Interval::Op,
            &[50.0, 95.0, 99.9],
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
        let text = end((2.0, 100), &series, Interval::Both, &[], Exporter::Text);
        assert!(text.contains("[Intended-READ], Operations, 101"));
        assert_eq!(text.matches("Return=OK").count(), 1);
        // Alone, the intended latencies have the operation's own name.
        let text = end((2.0, 100), &series, Interval::Intended, &[], Exporter::Text);
        assert!(text.contains("[READ], Operations, 101\n") && !text.contains("Intended-"));
    }

    #[test]
    fn the_json_exporters_write_the_same_numbers() {
        let class = "site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter";
        let text = end(
            (2.0, 100),
            &[],
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
            &[],
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
}
