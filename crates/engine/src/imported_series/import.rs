//! Reads series that other tools have written, and aligns them with a run by wall-clock time.
//!
//! Invariant: a series that has no time in common with the run causes an error, never an empty
//! chart. The message contains the time difference.

mod esxtop;
mod file_format;
mod prometheus;
mod scrape;

pub use esxtop::read_esxtop;
pub use prometheus::read_prometheus;
pub use scrape::Scrape;

use crate::phase_times::TimeSpan;
use anyhow::{Result, bail, ensure};
use measure::clock;
use store::record::SampleRecord;

/// Maximum number of series of one import. A reader cannot use more series, and this number fits
/// into memory.
const SERIES_COUNT_MAX: usize = 20_000;

/// Maximum number of points of all series of one import. A point takes 16 bytes.
const POINTS_COUNT_MAX: usize = 8 << 20;

/// One value at a wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Wall-clock time, in ns since 1970-01-01 UTC.
    pub unix_ns: u64,
    /// The value, which is always finite.
    pub value: f64,
}

/// Series that another tool recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the series in the tool, preceded by the name of the tool, such as `esxtop.Group
    /// Cpu.% Ready`.
    pub name: String,
    /// Host, and the component of the host, such as `esx1/vmhba0`.
    pub place: String,
    /// Unit of the values, if the name of the series contains it.
    pub unit: &'static str,
    /// Points in order of time.
    pub points: Vec<Point>,
}

/// Series of a file, and the parts of the file that the import left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesFile {
    pub series: Vec<Series>,
    /// Notes about parts that were left out. Each note is one sentence without a full stop.
    pub notes: Vec<String>,
}

const NAMES_MAX: usize = 3;

fn first_names<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> String {
    let names: Vec<N> = names.into_iter().collect();
    let first: Vec<&str> = names.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    first.join(", ") + more
}

fn hole_note(line: u64, hole: &foreign::Hole) -> String {
    format!("line {line} has {hole}; cassay left out the lines before and after it")
}

/// Returns the points of `series` within a span of wall-clock time. The times of the returned
/// points are in seconds since the start of the span.
///
/// # Errors
/// No point is within the span. The message contains the time difference, and a remark if the cause
/// is probably a time zone.
pub fn line_up(probe: &str, series: &[Series], span: TimeSpan) -> Result<Vec<SampleRecord>> {
    let TimeSpan { from_ns, to_ns } = span;
    let mut samples = Vec::new();
    for one in series {
        let within = |point: &&Point| (from_ns..=to_ns).contains(&point.unix_ns);
        samples.extend(one.points.iter().filter(within).map(|point| SampleRecord {
            t_s: (point.unix_ns - from_ns) as f64 / clock::SECOND_NS as f64,
            name: one.name.clone(),
            place: one.place.clone(),
            unit: one.unit.to_owned(),
            value: point.value,
        }));
    }
    if !samples.is_empty() {
        return Ok(samples);
    }
    let times = || series.iter().flat_map(|one| &one.points).map(|one| one.unix_ns);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        bail!("{probe} has no points");
    };
    let series_at = [i128::from(first), i128::from(last)];
    let run_at = [i128::from(from_ns), i128::from(to_ns)];
    bail!(
        "{probe}: the points cover {} to {}, but the run covers {} to {}: these times do not \
         overlap{}",
        utc(series_at[0]),
        utc(series_at[1]),
        utc(run_at[0]),
        utc(run_at[1]),
        zone_hint(series_at, run_at)
    )
}

/// Suggests a shift that would align the series with the run. The shift must look like a time zone:
/// a multiple of a quarter of an hour, at most 14 hours. Without such a shift, suggests to check
/// the file and the clocks.
fn zone_hint(series: [i128; 2], run: [i128; 2]) -> String {
    const QUARTER_NS: i128 = 15 * 60 * clock::SECOND_NS as i128;
    const QUARTERS_MAX: i128 = 14 * 4;
    let fits = |quarters: &i128| {
        let shift = quarters * QUARTER_NS;
        series[0] + shift <= run[1] && series[1] + shift >= run[0]
    };
    let candidates = (1..=QUARTERS_MAX).flat_map(|quarters| [quarters, -quarters]);
    // Several shifts may align a series with a long run, so this code tries whole hours first.
    let mut candidates: Vec<i128> = candidates.collect();
    candidates.sort_by_key(|quarters| (quarters % 4 != 0, quarters.abs()));
    match candidates.into_iter().find(fits) {
        Some(quarters) => format!(
            ". Shifted by {}{}:{:02} h, they would overlap. hint: check whether one of the two \
             clocks is in another time zone",
            if quarters < 0 { '-' } else { '+' },
            quarters.abs() / 4,
            quarters.abs() % 4 * 15
        ),
        None => ". hint: check that this file belongs to the run, and that both clocks were right"
            .to_string(),
    }
}

fn utc(unix_ns: i128) -> String {
    match jiff::Timestamp::from_nanosecond(unix_ns) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{unix_ns} ns"),
    }
}

/// Selects series by name. A pattern consists of pieces, separated by `*`. A name matches if it
/// contains the pieces in the same order, regardless of case.
#[derive(Debug)]
struct Filter {
    patterns: Vec<Vec<String>>,
}

impl Filter {
    fn new<S: AsRef<str>>(patterns: &[S]) -> Filter {
        let split = |pattern: &S| -> Vec<String> {
            let lower = pattern.as_ref().to_lowercase();
            lower.split('*').map(str::to_string).collect()
        };
        Filter {
            patterns: patterns.iter().map(split).collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    fn wants(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.patterns.iter().any(|pieces| {
            let mut rest = name.as_str();
            pieces.iter().all(|piece| match rest.find(piece) {
                Some(at) => {
                    rest = &rest[at + piece.len()..];
                    true
                }
                None => false,
            })
        })
    }
}

/// Counts the series and points that an import keeps. Refuses an import with too many series or
/// points.
#[derive(Debug, Default)]
struct Room {
    points: usize,
}

impl Room {
    fn series(&self, count: usize) -> Result<()> {
        ensure!(
            count <= SERIES_COUNT_MAX,
            "has {count} series, but the maximum is {SERIES_COUNT_MAX}; hint: select the required \
             series"
        );
        Ok(())
    }

    fn point(&mut self) -> Result<()> {
        self.points += 1;
        ensure!(
            self.points <= POINTS_COUNT_MAX,
            "has more than {POINTS_COUNT_MAX} points, the maximum; hint: select the required series"
        );
        Ok(())
    }
}

fn with_hint(path: &std::path::Path, error: anyhow::Error) -> anyhow::Error {
    match file_format::hint(path) {
        Some(hint) => anyhow::anyhow!("{error:#}\nhint: {hint}"),
        None => error,
    }
}

/// Smallest number that is read as milliseconds since 1970. It means 1973 in milliseconds, and the
/// year 5138 in seconds.
const MILLISECONDS_MIN: f64 = 1e11;

/// Converts a time since 1970 to nanoseconds. Prometheus's text format has milliseconds, and
/// OpenMetrics has seconds. The size of the time shows its unit, even if the end of the text with
/// the mark of OpenMetrics is lost.
fn unix_ns(time: f64) -> Result<u64> {
    let ns = time * if time < MILLISECONDS_MIN { 1e9 } else { 1e6 };
    // This limit is the year 2262. In nanoseconds, later times do not fit into i64, which other
    // tools use.
    ensure!(
        ns >= 0.0 && ns < i64::MAX as f64,
        "{time} is not a time from 1970 to 2262"
    );
    Ok(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600 * clock::SECOND_NS;
    /// The time 2026-11-21 12:00 UTC.
    const NOON: u64 = 1_795_262_400 * clock::SECOND_NS;

    fn series(times: &[u64]) -> Vec<Series> {
        let point = |unix_ns: &u64| Point {
            unix_ns: *unix_ns,
            value: 1.0,
        };
        vec![Series {
            name: "esxtop.Memory.Free MBytes".to_string(),
            place: "esx1".to_string(),
            unit: "MB",
            points: times.iter().map(point).collect(),
        }]
    }

    fn from_noon(length_ns: u64) -> TimeSpan {
        TimeSpan {
            from_ns: NOON,
            to_ns: NOON + length_ns,
        }
    }

    #[test]
    fn points_within_the_span_count_from_its_begin() {
        let series = series(&[NOON - 1, NOON, NOON + HOUR, NOON + HOUR + 1, 3]);
        let samples = line_up("esxtop", &series, from_noon(HOUR)).unwrap();
        let times: Vec<f64> = samples.iter().map(|one| one.t_s).collect();
        assert_eq!(times, [0.0, 3600.0]);
        assert_eq!((&*samples[0].place, &*samples[0].unit), ("esx1", "MB"));
    }

    #[test]
    fn a_series_of_another_time_is_refused_with_what_may_be_wrong() {
        let refused = |times: &[u64]| {
            let result = line_up("esxtop", &series(times), from_noon(HOUR / 6));
            result.unwrap_err().to_string()
        };
        let error = refused(&[NOON + 2 * HOUR, NOON + 2 * HOUR + 60]);
        assert!(
            error.contains(
                "the points cover 2026-11-21 14:00:00 UTC to 2026-11-21 14:00:00 UTC, but the run \
                 covers 2026-11-21 12:00:00 UTC to 2026-11-21 12:10:00 UTC"
            ),
            "{error}"
        );
        assert!(
            error.contains("Shifted by -2:00 h, they would overlap"),
            "{error}"
        );
        let error = refused(&[NOON - 5 * HOUR - HOUR / 2]);
        assert!(
            error.contains("Shifted by +5:30 h, they would overlap"),
            "{error}"
        );
        let error = refused(&[NOON - 500 * HOUR]);
        assert!(
            error.contains("check that this file belongs to the run"),
            "{error}"
        );
        assert_eq!(refused(&[]), "esxtop has no points");
    }

    #[test]
    fn patterns_match_pieces_in_their_order_whatever_the_case() {
        let filter = Filter::new(&["group cpu(*cassandra*)\\% ready", "free mbytes"]);
        for (name, wanted) in [
            (r"\\esx1\Group Cpu(17:Cassandra-1)\% Ready", true),
            (r"\\esx1\Group Cpu(17:other)\% Ready", false),
            (r"\\esx1\Group Cpu(17:cassandra)\% Used", false),
            (r"\\esx1\Memory\Free MBytes", true),
        ] {
            assert_eq!(filter.wants(name), wanted, "{name}");
        }
        assert!(Filter::new::<&str>(&[]).is_empty());
    }

    #[test]
    fn more_than_is_sensible_is_refused() {
        let mut room = Room {
            points: POINTS_COUNT_MAX - 1,
        };
        room.point().unwrap();
        let error = room.point().unwrap_err().to_string();
        assert!(error.contains("select the required series"), "{error}");
        assert!(room.series(SERIES_COUNT_MAX + 1).is_err());
        assert!(unix_ns(-1.0).is_err() && unix_ns(f64::NAN).is_err());
        assert!(unix_ns(1_796_202_642_000_000.0).is_err());
    }

    /// An earlier version read the seconds of a truncated OpenMetrics text as milliseconds.
    #[test]
    fn the_size_of_a_time_shows_its_unit() {
        for time in [1_795_262_400.0, 1_795_262_400_000.0] {
            assert_eq!(unix_ns(time).unwrap(), NOON);
        }
    }
}
