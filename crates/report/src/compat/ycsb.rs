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

/// The end of a run. `seconds` is its length, `operations` all that ended; `percentiles` are those
/// of `hdrhistogram.percentiles`.
pub fn end(
    seconds: f64,
    operations: u64,
    series: &[Series],
    interval: Interval,
    percentiles: &[f64],
) -> String {
    let rate = if seconds > 0.0 {
        operations as f64 / seconds
    } else {
        0.0
    };
    let mut text = format!(
        "[OVERALL], RunTime(ms), {}\n[OVERALL], Throughput(ops/sec), {}\n",
        (seconds * 1e3).round(),
        number(rate)
    );
    let mut series: Vec<&Series> = series.iter().collect();
    series.sort_by(|a, b| a.name.cmp(&b.name));
    for one in &series {
        let histogram = match interval {
            Interval::Intended => &one.latency,
            Interval::Op | Interval::Both => &one.service,
        };
        text += &block(&one.name, histogram, &one.returns, percentiles);
    }
    // Return codes are counted once, with the latencies from the send.
    if interval == Interval::Both {
        for one in &series {
            let name = format!("Intended-{}", one.name);
            text += &block(&name, &one.latency, &[], percentiles);
        }
    }
    text
}

fn block(
    name: &str,
    histogram: &Histogram,
    returns: &[(&'static str, u64)],
    percentiles: &[f64],
) -> String {
    let us = |ns: u64| ns / 1000;
    let mut lines = vec![
        ("Operations".to_owned(), histogram.count().to_string()),
        (
            "AverageLatency(us)".to_owned(),
            number(histogram.mean_ns() / 1e3),
        ),
        (
            "MinLatency(us)".to_owned(),
            us(histogram.min_ns()).to_string(),
        ),
        (
            "MaxLatency(us)".to_owned(),
            us(histogram.max_ns()).to_string(),
        ),
    ];
    lines.extend(percentiles.iter().map(|percentile| {
        let value = us(histogram.quantile_ns(percentile / 100.0));
        let name = format!("{}PercentileLatency(us)", ordinal(*percentile));
        (name, value.to_string())
    }));
    let returns = returns.iter().filter(|(_, count)| *count > 0);
    lines.extend(returns.map(|(code, count)| (format!("Return={code}"), count.to_string())));
    let lines = lines
        .iter()
        .map(|(what, value)| format!("[{name}], {what}, {value}\n"));
    lines.collect()
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
        let text = end(2.0, 100, &series, Interval::Op, &[50.0, 95.0, 99.9]);
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
        let text = end(2.0, 100, &series, Interval::Both, &[]);
        assert!(text.contains("[Intended-READ], Operations, 101"));
        assert_eq!(text.matches("Return=OK").count(), 1);
        // Alone, the intended latencies have the operation's own name.
        let text = end(2.0, 100, &series, Interval::Intended, &[]);
        assert!(text.contains("[READ], Operations, 101\n") && !text.contains("Intended-"));
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
