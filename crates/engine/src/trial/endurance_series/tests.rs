//! Tests which data the engine keeps during a long window, and the record of the window.

use super::*;
use measure::{Histogram, Interval, KindInterval};
use store::record::CyclesState;

const SECOND: u64 = 1_000_000_000;

fn reading(at_s: u64, name: &str, value: f64) -> Reading {
    Reading {
        probe: "test".into(),
        at_ns: at_s * SECOND,
        name: name.into(),
        place: "node1".into(),
        unit: "bytes".into(),
        value,
    }
}

fn interval(index: u64, ok: u64, ms: u64) -> Interval {
    let mut kind = KindInterval::default();
    kind.succeed(false, ms * 1_000_000, ms * 1_000_000, ok);
    Interval::second(index, vec![kind])
}

struct Window {
    courses: Courses,
    latency: Blocks,
    watched: WindowReadings,
}

impl Window {
    fn begun() -> Window {
        let mut watched = WindowReadings::default();
        watched.begin(0);
        Window {
            courses: Courses::new(),
            latency: Blocks::new(),
            watched,
        }
    }

    fn second(&mut self, index: u64, ok: u64, ms: u64) {
        let summed = SummedInterval::new(interval(index, ok, ms).into());
        self.courses.push(&summed);
        self.latency.push_times(&summed.all.latency, &Histogram::new());
    }

    fn record(&self, seconds: f64) -> EnduranceRecord {
        let kept = LongWindow {
            within: 0.04,
            seconds,
            courses: &self.courses,
            latency: &self.latency,
            watched: &self.watched,
            memory_bytes: Some(1 << 30),
        };
        kept.record()
    }
}

#[test]
fn a_planted_course_is_found_with_what_it_coincides_with() {
    let mut window = Window::begun();
    for index in 0..600 {
        // From 400 s on, throughput is a tenth lower and latency is twice as high. node1 pauses at
        // 402 s.
        let (ok, ms) = if index < 400 { (1000, 4) } else { (900, 8) };
        window.second(index, ok + index % 3, ms);
        window.watched.push(&reading(index, HEAP, 1e8 + (index % 10) as f64 * 1e6));
    }
    window.watched.push(&reading(402, "gc.pause.full", 812.4));
    window.watched.push(&reading(100, "gc.pause.young", 3.0));
    let record = window.record(600.0);
    assert_eq!(record.block_s, 10.0);
    let named: Vec<(&str, usize)> =
        record.drifts.iter().map(|drift| (drift.of.as_str(), drift.blocks)).collect();
    assert_eq!(named[0], ("ops_per_s", 60));
    assert_eq!(named.len(), 4);
    let of_rate: Vec<&ChangeRecord> =
        record.changes.iter().filter(|change| change.of == RATE).collect();
    let [change] = of_rate.as_slice() else {
        panic!("{:?}", record.changes);
    };
    assert!((change.at_s - 400.0).abs() <= 10.0, "{change:?}");
    assert!((change.before - 1001.0).abs() < 8.0 && (change.after - 901.0).abs() < 8.0);
    assert_eq!(
        change.coincides.as_deref(),
        Some("a pause of 812 ms (full) of node1")
    );
    assert!(record.changes.iter().any(|change| change.of == P99));
    assert_eq!(record.events.len(), 1, "3 ms are nothing to look for");
    assert_eq!(record.growths[0].growing, analysis::endurance::Growing::No);
    let unseen = record.unseen.join("; ");
    assert!(
        unseen.contains("threads: no probe recorded the series jvm.threads"),
        "{unseen}"
    );
    let names: Vec<&str> = record.courses.iter().map(|course| course.of.as_str()).collect();
    assert_eq!(names, [RATE, P99, HEAP]);
}

#[test]
fn readings_before_and_after_the_window_are_no_part_of_it() {
    let mut watched = WindowReadings::default();
    watched.push(&reading(1, HEAP, 1.0));
    watched.begin(5 * SECOND);
    watched.push(&reading(4, HEAP, 2.0));
    watched.push(&reading(6, HEAP, 3.0));
    watched.end(8 * SECOND);
    watched.end(20 * SECOND);
    watched.push(&reading(9, HEAP, 4.0));
    let all: Vec<_> = watched.series(HEAP).map(|one| one.bins.means()).collect();
    assert_eq!(all, [[(1.5, 3.0)]]);
}

#[test]
fn a_limit_is_of_the_same_node_and_absent_without_a_jvm_limit() {
    let mut window = Window::begun();
    for at in 0..600 {
        window.watched.push(&reading(at, "jvm.file_descriptors", 100.0 + at as f64));
        window.watched.push(&reading(at, ANONYMOUS, 1000.0));
        window.watched.push(&reading(at, HEAP, 1e8));
    }
    window.watched.push(&reading(1, "jvm.file_descriptors_max", 1200.0));
    window.watched.push(&reading(1, "jvm.heap_max", -1.0));
    let record = window.record(600.0);
    let of = |name: &str| record.growths.iter().find(|growth| growth.of == name).unwrap();
    assert_eq!(of("jvm.file_descriptors").limit, Some(1200.0));
    assert_eq!(
        of("jvm.file_descriptors").growing,
        analysis::endurance::Growing::Leaks
    );
    assert_eq!(of(ANONYMOUS).limit, Some((1 << 20) as f64));
    assert_eq!(of(HEAP).limit, None);
    assert_eq!(record.leaks().count(), 1);
}

#[test]
fn compactions_come_in_cycles_and_may_outlast_a_window() {
    let cycles = |period: u64| {
        let mut window = Window::begun();
        for at in 0..400 {
            let pending = (at % period) as f64;
            window.watched.push(&reading(at, PENDING, pending));
        }
        window.record(400.0).cycles.unwrap()
    };
    let seen = cycles(50);
    assert_eq!(
        (seen.state, seen.period_s, seen.count),
        (CyclesState::Seen, 50.0, 8.0)
    );
    assert_eq!(cycles(160).state, store::record::CyclesState::Few);
    let mut window = Window::begun();
    assert_eq!(window.record(400.0).cycles, None, "nobody looked");
    (0..400).for_each(|at| window.watched.push(&reading(at, PENDING, 0.0)));
    assert_eq!(
        window.record(400.0).cycles.unwrap().state,
        store::record::CyclesState::Quiet
    );
}

#[test]
fn a_month_takes_no_more_than_minutes() {
    let mut watched = WindowReadings::default();
    watched.begin(0);
    for minute in 0..43_200 {
        watched.push(&reading(minute * 60, HEAP, 1.0));
        watched.push(&reading(
            minute * 60,
            "gc.pause.young",
            50.0 + (minute % 97) as f64,
        ));
        watched.push(&reading(minute * 60, PENDING, (minute % 2) as f64));
    }
    let bins: usize = watched.series(HEAP).map(|one| one.bins.bins().count()).sum();
    assert!(bins <= BINS, "{bins}");
    assert_eq!(watched.pauses.len(), RARE_MAX);
    assert!(
        watched.pauses.iter().all(|(_, ms, _)| *ms == 146.0),
        "the longest"
    );
    assert_eq!(
        watched.begun, None,
        "what begins all the time is near everything"
    );
    assert_eq!(watched.events().len(), RARE_MAX);
}
