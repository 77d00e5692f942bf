//! Compares the output byte for byte with `expected.txt`. The classes of cassandra-stress 3.11.4
//! produced that file from the same numbers.

use super::*;

const EXPECTED: &str = include_str!("expected.txt");
const SECOND: u64 = 1_000_000_000;

fn expected(name: &str) -> &'static str {
    let start = format!("# {name}\n");
    let at = EXPECTED.find(&start).expect(name) + start.len();
    let rest = &EXPECTED[at..];
    &rest[..rest.find("\n# ").map_or(rest.len(), |end| end + 1)]
}

fn timing(span: (u64, u64), counts: [u64; 3], first: u64, step: u64, operations: u64) -> Timing {
    let mut latency = Histogram::new();
    (0..operations).for_each(|n| latency.record(first + step * n));
    let [partitions, rows, errors] = counts;
    Timing {
        span_ns: Some(span),
        partitions,
        rows,
        errors,
        latency,
    }
}

fn sample<const N: usize>(operations: [(&str, Timing); N], gc: Gc, stderr: f64) -> Sample {
    let operations = operations.map(|(name, timing)| (name.to_owned(), timing));
    Sample {
        operations: operations.into(),
        gc,
        stderr,
    }
}

fn first_interval() -> Sample {
    let span = (0, SECOND);
    let read = timing(span, [1500, 1500, 2], 250_000, 12_345, 1500);
    let write = timing(span, [700, 1400, 0], 90_000, 777, 700);
    let gc = Gc {
        count: 2.0,
        bytes: 123_456_789.0,
        max_ms: 31.0,
        sum_ms: 45.0,
        sum_of_squares_ms: 1157.0,
    };
    sample([("READ", read), ("WRITE", write)], gc, 0.025438)
}

fn second_interval() -> Sample {
    let span = (SECOND, SECOND + 450_000_000);
    let read = timing(span, [1, 1, 0], 2_500_000, 0, 1);
    sample([("READ", read)], Gc::default(), 0.288968)
}

fn two_intervals() -> Sample {
    let mut run = Sample::default();
    run.add(&first_interval());
    run.add(&second_interval());
    run
}

fn long_run(gc: Gc) -> Sample {
    let span = (5, 5 + 3723 * SECOND + 999_999_999);
    let counts = [12_345_678, 98_765_432, 1234];
    let insert = timing(span, counts, 1_000_000, 1_000_003, 2000);
    sample([("insert", insert)], gc, 0.0)
}

fn many_collections() -> Gc {
    Gc {
        count: 12.0,
        bytes: 5.0 * 1024.0 * 1024.0 * 1024.0,
        max_ms: 250.0,
        sum_ms: 1234.5,
        sum_of_squares_ms: 150_000.0,
    }
}

#[test]
fn intervals_are_the_tools_bytes() {
    let mut run = Sample::default();
    let mut text = header();
    for sample in [first_interval(), second_interval()] {
        run.add(&sample);
        text.push_str(&interval(&sample, &run));
    }
    assert_eq!(text, expected("intervals"));
}

#[test]
fn summaries_are_the_tools_bytes() {
    assert_eq!(summary(&two_intervals()), expected("summary of two kinds"));
    assert_eq!(
        summary(&long_run(Gc::default())),
        expected("summary without collections")
    );
    assert_eq!(
        summary(&long_run(many_collections())),
        expected("summary with collections")
    );
    assert_eq!(summary(&Sample::default()), expected("summary of nothing"));
}

#[test]
fn the_table_of_a_ladder_is_the_tools_bytes() {
    let runs = [(4, two_intervals()), (16, long_run(many_collections()))];
    assert_eq!(ladder(&runs), expected("ladder"));
}

#[test]
fn percentiles_are_those_of_the_tools_library() {
    let ten = timing((0, 1), [0; 3], 1_000_001, 1_000_001, 10);
    for (percentile, nanoseconds) in [
        (50.0, 5_001_215),
        (95.0, 10_002_431),
        (12.0, 1_000_447),
        (14.0, 1_000_447),
        (15.0, 2_000_895),
        (25.0, 3_000_319),
    ] {
        let expected = nanoseconds as f64 * 1e-6;
        assert!(
            (ten.percentile_ms(percentile) - expected).abs() < 1e-12,
            "{percentile}"
        );
    }
    assert!((ten.mean_ms() - 5.499_520).abs() < 1e-9);
}

#[test]
fn errors_and_parts_of_seconds_add_up_over_intervals() {
    let mut run = two_intervals();
    run.add(&first_interval());
    // If `add` replaced the errors instead of adding them, the total would contain only the errors
    // of the last interval.
    assert_eq!(run.operations["READ"].errors, 4);
    // If `add` rounded times to whole seconds, it would count 1.45 s as two seconds.
    assert!((two_intervals().total().seconds() - 1.45).abs() < 1e-9);
    let rate = "Op rate                   :    1,518 op/s  [READ: 1,035 op/s, WRITE: 483 op/s]";
    assert!(summary(&two_intervals()).contains(rate));
}

#[test]
fn an_interval_without_operations_has_no_rows() {
    let idle = sample(
        [("READ", timing((0, SECOND), [0; 3], 0, 0, 0))],
        Gc::default(),
        0.0,
    );
    assert_eq!(interval(&idle, &idle), "");
}

#[test]
fn the_lines_around_runs_are_the_tools() {
    for (line, expected) in [
        (
            running("WRITE", 200, Length::Operations(10)),
            "Running WRITE with 200 threads for 10 iteration\n",
        ),
        (
            running(&kinds(&["READ", "WRITE"]), 4, Length::Time(5, "minutes")),
            "Running [READ, WRITE] with 4 threads 5 minutes\n",
        ),
        (
            running("READ", 4, Length::Uncertainty(0.02)),
            "Running READ with 4 threads until stderr of mean < 0.02\n",
        ),
        (step(4), "\nRunning with 4 threadCount\n"),
        (
            improvement(4, 0.955),
            "Improvement over 4 threadCount: 96%\n",
        ),
        (
            improvement(8, -0.001),
            "Improvement over 8 threadCount: -0%\n",
        ),
        (
            warming_up("READ", 250),
            "Warming up READ with 250 iterations...\n",
        ),
    ] {
        assert_eq!(line, expected);
    }
}

/// Adds an interval with the last response, 5 µs after the last whole second. An earlier version of
/// cassay printed such an interval on its own line, with a rate of 191,287 op/s.
#[test]
fn time_of_the_last_answers_belongs_to_the_last_whole_interval() {
    let of = |from, to, count| {
        let timing = timing((from, to), [count, count, 0], 1_000_000, 0, count);
        sample([("WRITE", timing)], Gc::default(), 0.0)
    };
    let mut lines = Lines::default();
    assert_eq!(lines.take(of(0, SECOND, 100)), "");
    let first = lines.take(of(SECOND, 2 * SECOND, 200));
    assert!(first.contains("       100,     100,"), "{first}");
    assert_eq!(lines.take(of(2 * SECOND, 2 * SECOND + 5_000, 1)), "");
    let (last, run) = lines.end();
    assert_eq!(last.lines().count(), 1, "{last}");
    assert!(last.contains("       301,     201,"), "{last}");
    assert_eq!(run.total().operations(), 301);
    assert_eq!(lines.end().0, "", "the next step begins with nothing");
}
