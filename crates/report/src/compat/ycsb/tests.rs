//! Tests the output in the formats of YCSB for known numbers.

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
    // If the output contains only intended latencies, the name of the series has no prefix.
    let text = end(
        (2.0, 100),
        (&series, &[]),
        Interval::Intended,
        &hdr,
        Exporter::Text,
    );
    assert!(text.contains("[READ], Operations, 101\n") && !text.contains("Intended-"));
}

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
        Exporter::from_class(class),
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
        Exporter::from_class("com.yahoo.ycsb.measurements.exporter.JSONMeasurementsExporter"),
    );
    assert!(text.starts_with("{\n") && text.contains("\n} {\n") && text.ends_with("}\n"));
    assert_eq!(Exporter::from_class("my.Exporter"), Exporter::Text);
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

/// If the clients differ, the mean of their p99 values is far from the p99 of all operations.
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
    let percentiles: Vec<&str> = text.lines().filter(|line| line.contains("Percentile")).collect();
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

#[test]
fn percentiles_of_few_operations_are_those_that_the_tool_prints() {
    let mut service = Histogram::default();
    (1..=999u64).for_each(|us| service.record(us * 1000));
    service.record(50_000_000);
    let mut buckets = Histogram::default();
    (0..100).for_each(|_| buckets.record(2_700_000));
    let lines = |service: &Histogram, measurement| {
        let series = [Series {
            name: "READ".to_owned(),
            returns: Vec::new(),
            service: service.clone(),
            latency: service.clone(),
            averages: Vec::new(),
        }];
        let text = end(
            (1.0, service.count()),
            (&series, &[]),
            Interval::Op,
            &[measurement],
            Exporter::Text,
        );
        let lines = text.lines().filter(|line| line.contains("Percentile"));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    expect![[r#"
        [READ], 50thPercentileLatency(us), 500
        [READ], 99thPercentileLatency(us), 990
        [READ], 99.9PercentileLatency(us), 999
        [READ], 99.99PercentileLatency(us), 50003
        [READ], 12.34PercentileLatency(us), 123
    "#]]
    .assert_eq(&lines(
        &service,
        Measurement::Hdr(vec![50.0, 99.0, 99.9, 99.99, 12.34]),
    ));
    expect![[r#"
        [READ], 95thPercentileLatency(us), 2000
        [READ], 99thPercentileLatency(us), 2000
    "#]]
    .assert_eq(&lines(&buckets, Measurement::Buckets(1000, false)));
}
