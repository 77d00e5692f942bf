//! Tests overviews, which cassay writes while it writes the lines that they summarize.

use super::*;
use crate::record::{
    PhaseTimeRecord, PlanRecord, SampleRecord, SeriesRecord, TrialFinding, TrialRecord,
};
use crate::{HistogramKind, Run, RunWriter, WindowHistograms, convert};
use measure::{Interval, KindInterval, Outcome};
use std::path::{Path, PathBuf};

/// Length of the trial in seconds. It is larger than the maximum number of bins.
const SECONDS: u64 = 1_100;
/// Time of the only slow second of the trial. The only high reading has the same time.
const SLOW_S: u64 = 834;

fn interval(index: u64) -> Interval {
    let mut kind = KindInterval::default();
    let ns = if index == SLOW_S {
        900_000_000
    } else {
        1_000_000
    };
    kind.succeed(false, ns, ns / 2, 10 + index % 5);
    if index.is_multiple_of(100) {
        kind.fail(
            false,
            Outcome::ClientTimeout,
            2_000_000_000,
            Some(1_000_000_000),
        );
    }
    let mut idle = KindInterval::default();
    idle.outcomes.add_many(Outcome::Ok, 1);
    Interval::second(index, vec![kind, idle])
}

fn sample(second: u64) -> SampleRecord {
    SampleRecord {
        t_s: second as f64 + 0.25,
        name: "compactions.pending".to_owned(),
        place: "node1".to_owned(),
        unit: "count".to_owned(),
        value: if second == SLOW_S {
            77.0
        } else {
            (second % 3) as f64
        },
    }
}

/// Creates a finished run with one trial. Returns the path of the run and the finding of the trial.
fn run(folder: &Path, raw_bytes: u64) -> (PathBuf, TrialFinding) {
    let record = TrialRecord {
        slug: "00".into(),
        ..crate::tests::trial(0)
    };
    let plan = PlanRecord {
        trials: vec![record.clone()],
        ..crate::tests::plan("s")
    };
    let finding = TrialFinding {
        seconds: SECONDS as f64,
        kinds: ["write", "idle"].map(|kind| (kind.to_owned(), SeriesRecord::default())).into(),
        phases: vec![PhaseTimeRecord {
            name: "measure".into(),
            from_s: 0.0,
            to_s: SECONDS as f64,
        }],
        ..TrialFinding::default()
    };
    let mut run = RunWriter::create(folder, "study: s\n", &plan).unwrap();
    let kinds = ["write", "idle"].map(str::to_owned);
    let mut trial = run.begin_trial(&record, &kinds).unwrap();
    let start_ns = trial.start_ns();
    for second in 0..SECONDS {
        let mut interval = interval(second);
        interval.start_ns += start_ns;
        interval.end_ns += start_ns;
        trial.write_interval("measure", &interval).unwrap();
        trial.write_samples("cassandra", &[sample(second)]).unwrap();
    }
    trial.write_overview(&finding).unwrap();
    if raw_bytes > 0 {
        let log = std::fs::File::create(trial.path().join("probes/more.ndjson")).unwrap();
        log.set_len(raw_bytes).unwrap();
    }
    run.finish_trial(0, "00", &finding).unwrap();
    (run.path().to_owned(), finding)
}

#[test]
fn the_overview_equals_its_lines_and_keeps_the_one_slow_second() {
    let folder = tempfile::tempdir().unwrap();
    let (path, finding) = run(folder.path(), 0);
    let trial = Run::open(&path).unwrap().trial(0).unwrap().unwrap();
    let (read, series) = trial.gather(None, crate::measured_window::measured(&finding)).unwrap();
    let written = trial.overview().unwrap().unwrap();
    let json = |record: &OverviewRecord| serde_json::to_value(record).unwrap();
    assert_eq!(json(&read), json(&written));
    let lines: Vec<SeriesPlacesRecord> = trial.series().unwrap().map(Result::unwrap).collect();
    assert_eq!((lines.len(), series.len()), (1, 1));
    assert_eq!(lines[0].places, series[0].places);

    // A bin does not store the exact time of a value, so the times are not compared. All other
    // information is kept.
    let of_window = &written.series[0];
    let sum: f64 = (0..SECONDS).map(|second| sample(second).value).sum();
    assert_eq!((of_window.count, of_window.sum), (SECONDS, sum));
    let places = lines[0].unpacked(0.0).unwrap();
    assert_eq!((places.width_s, places.places.len()), (4.0, 275));
    let high = places.places.iter().position(|place| place.max() > 3.0);
    assert_eq!(high, Some(SLOW_S as usize / 4));
    let wide = lines[0].unpacked(100.0).unwrap();
    assert_eq!((wide.width_s, wide.places.len()), (128.0, 9));
    assert_eq!(wide.places[SLOW_S as usize / 128].max(), 77.0);
    let count: u64 = wide.places.iter().map(|place| place.count).sum();
    assert_eq!(count, SECONDS);
}

#[test]
fn joined_lines_add_counts_and_keep_the_worst() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = run(folder.path(), 0);
    let trial = Run::open(&path).unwrap().trial(0).unwrap().unwrap();
    let raw: Vec<IntervalRecord> = trial.intervals().unwrap().map(Result::unwrap).collect();
    let joined = trial.overview().unwrap().unwrap().intervals(100.0).unwrap();
    assert!(joined.len() < 100, "{}", joined.len());
    for kind in ["write", "idle", convert::CLIENT_KIND] {
        let of = |lines: &[IntervalRecord]| {
            let mine: Vec<IntervalRecord> =
                lines.iter().filter(|line| line.kind == kind).cloned().collect();
            let ok: u64 = mine.iter().map(|line| line.ok).sum();
            let failed: u64 = mine.iter().flat_map(|line| line.errors.values()).sum();
            let seconds: f64 = mine.iter().map(|line| line.seconds).sum();
            let latency = mine.iter().filter_map(|line| line.latency_ms.as_ref());
            let worst = latency.map(|q| q.p99.least()).fold(0.0, f64::max);
            (ok, failed, seconds.round(), worst.round())
        };
        assert_eq!(of(&joined), of(&raw), "{kind}");
    }
    assert!(joined.iter().all(|line| line.joined > 1 && line.t_s < SECONDS as f64));
}

#[test]
fn the_windows_histograms_are_what_the_logs_add_up_to() {
    let folder = tempfile::tempdir().unwrap();
    let (path, finding) = run(folder.path(), 0);
    let trial = Run::open(&path).unwrap().trial(0).unwrap().unwrap();
    let raw = crate::Trial::unverified(trial.path.clone(), trial.record.clone());
    for which in [HistogramKind::Latency, HistogramKind::Service] {
        let of = |trial: &crate::Trial| {
            let mut window = WindowHistograms::default();
            window.add(trial, which, &finding).unwrap();
            window
        };
        let (short, long) = (of(&trial), of(&raw));
        assert_eq!(short.all.all().hdr(), long.all.all().hdr());
        assert_eq!(short.all.censored().hdr(), long.all.censored().hdr());
        assert_eq!(short.kinds.len(), long.kinds.len());
        assert!(!short.all.censored().is_empty());
    }
}

/// Comparing every byte of the lines of a one-day trial took too long for displaying a page.
#[test]
fn a_long_run_is_verified_byte_by_byte_except_unshown_lines() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = run(folder.path(), 101 << 20);
    let flip = |inner: &str| {
        let path = path.join("trials/00").join(inner);
        let mut bytes = std::fs::read(&path).unwrap();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
    };
    flip("intervals.ndjson");
    let opened = Run::open(&path).unwrap();
    assert!(opened.is_long);
    assert!(opened.notes.iter().any(|note| note.contains("only the lengths")));
    assert_eq!(Run::salvage(&path).unwrap().damages.len(), 1);
    // A reader detects this damage only when it reads the file.
    flip("series.ndjson");
    let trial = Run::open(&path).unwrap().trial(0).unwrap().unwrap();
    let error = trial.series().unwrap_err().to_string();
    assert!(error.contains("series.ndjson: expected"), "{error}");
    for shown in ["overview.json", "window.hlog"] {
        flip(shown);
        let error = Run::open(&path).unwrap_err().to_string();
        assert!(error.contains(shown), "{error}");
        flip(shown);
    }
}

#[test]
fn damaged_places_are_errors() {
    for packed in ["%", "AAAA"] {
        let line = SeriesPlacesRecord {
            places: packed.to_owned(),
            ..SeriesPlacesRecord::default()
        };
        assert!(line.unpacked(1.0).is_err(), "{packed}");
    }
    let empty = SeriesPlacesRecord::default().unpacked(f64::INFINITY).unwrap();
    assert!(empty.places.is_empty());
}
