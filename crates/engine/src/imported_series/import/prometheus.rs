//! Reads the text format of Prometheus, which has one sample per line: `name{label="value",…} value
//! time`.
//!
//! Times are in milliseconds in version 0.0.4, and in seconds in OpenMetrics, which ends with `#
//! EOF`. This is a small strict parser. The existing libraries skip lines that they cannot parse,
//! so a broken file would become an empty chart.
//!
//! The reader converts counters to rates, because only the growth of a counter gives information
//! about a run. The reader omits the buckets of histograms unless the user selects them.

mod sample;

use super::{Filter, Point, Room, Series, read_text, with_hint};
use anyhow::{Context, Result, bail, ensure};
use foreign::FileKind;
use sample::{MetricKind, Sample};
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Maximum length of a line, in bytes. Labels usually take some hundred bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Maximum length of one scrape, in bytes. The largest known exporters return a tenth of this
/// length.
pub(super) const SCRAPE_BYTES_MAX: u64 = 16 << 20;

/// The samples of one text, and the kinds of their metrics.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    kinds: HashMap<String, MetricKind>,
    samples: Vec<Sample>,
}

/// Reads a file in the text format of Prometheus whose samples have times, or a folder with one
/// scrape per file. In a folder, a sample without a time has the time of its file. The place of a
/// sample is the label `instance`, or else the name of the file. Takes the metrics whose name and
/// labels match a pattern in `metrics`. A pattern consists of pieces, separated by `*`, that must
/// occur in the same order. If `metrics` is empty, takes all metrics except the buckets of
/// histograms.
///
/// # Errors
/// A file cannot be read, or one of its lines is malformed (the message contains the line number).
/// Or a single file has a sample without a time, or no metric matches.
pub fn read_prometheus(path: &Path, metrics: &[String]) -> Result<Vec<Series>> {
    let filter = Filter::new(metrics);
    let place = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut collected = SeriesInProgress::new(&place.unwrap_or_default());
    if path.is_dir() {
        for file in scrapes(path)? {
            let text = read_text(&file)?;
            let modified = std::fs::metadata(&file).and_then(|data| data.modified());
            let age = modified
                .with_context(|| format!("read {}", file.display()))?
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let added = Exposition::parse(&text)
                .and_then(|one| collected.add(one, Some(age.as_nanos() as u64), &filter));
            added.with_context(|| format!("{}", file.display()))?;
        }
    } else {
        collected
            .add_file(path, &filter)
            .with_context(|| format!("{}", path.display()))
            .map_err(|error| with_hint(path, error))?;
    }
    let series = collected.series();
    ensure!(
        !series.is_empty(),
        "{}: {}",
        path.display(),
        if metrics.is_empty() {
            "the file contains no sample, or only one sample of each counter".to_string()
        } else {
            format!("no metric has the name {}", metrics.join(" or "))
        }
    );
    Ok(series)
}

/// Returns the unit of the times, in nanoseconds. The unit is a second in OpenMetrics, otherwise a
/// millisecond.
fn unit_ns(is_open_metrics: bool) -> f64 {
    if is_open_metrics { 1e9 } else { 1e6 }
}

/// Calls a function for each line of a file except blank lines. The line is trimmed. An error
/// contains the line number.
fn for_each_line(path: &Path, mut take: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
    let mut file = BufReader::new(foreign::open(FileKind::Samples, path)?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if (&mut file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        ensure!(
            (line.len() as u64) < LINE_BYTES_MAX,
            "line {number} is longer than {LINE_BYTES_MAX} bytes"
        );
        let said = String::from_utf8_lossy(&line);
        let text = said.trim();
        if !text.is_empty() {
            take(number, text).with_context(|| format!("line {number}"))?;
        }
    }
    Ok(())
}

/// Returns the files of a folder, ordered by name. This is usually the order of time, because the
/// name of a scrape usually contains the time.
fn scrapes(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let context = || format!("read {}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    ensure!(!files.is_empty(), "{} contains no file", folder.display());
    files.sort();
    Ok(files)
}

/// Series under construction, by name with labels, and by place.
struct SeriesInProgress {
    place: String,
    series: BTreeMap<(String, String), Raw>,
    room: Room,
}

struct Raw {
    unit: &'static str,
    counter: bool,
    points: Vec<Point>,
}

impl SeriesInProgress {
    fn new(place: &str) -> SeriesInProgress {
        SeriesInProgress {
            place: place.to_string(),
            series: BTreeMap::new(),
            room: Room::default(),
        }
    }

    /// Adds the samples of one text. `age` is the time to use for samples without a time.
    fn add(&mut self, exposition: Exposition, age: Option<u64>, filter: &Filter) -> Result<()> {
        for sample in &exposition.samples {
            self.add_sample(&exposition, sample, age, filter)
                .with_context(|| format!("line {}", sample.line))?;
        }
        Ok(())
    }

    /// Adds the selected samples of a file, line by line. Reads the file twice, because the kind of
    /// a metric and the unit of its times may come after the metric.
    fn add_file(&mut self, path: &Path, filter: &Filter) -> Result<()> {
        let (mut known, mut is_open_metrics) = (Exposition::default(), false);
        for_each_line(path, |_, line| {
            is_open_metrics = line.ends_with("# EOF");
            line.strip_prefix('#').map_or(Ok(()), |comment| known.comment(comment))
        })?;
        let unit_ns = unit_ns(is_open_metrics);
        for_each_line(path, |number, line| {
            if line.starts_with('#') {
                return Ok(());
            }
            let sample = Sample::parse(line, number, unit_ns)?;
            self.add_sample(&known, &sample, None, filter)
        })
    }

    fn add_sample(
        &mut self,
        exposition: &Exposition,
        sample: &Sample,
        age: Option<u64>,
        filter: &Filter,
    ) -> Result<()> {
        let Some(described) = exposition.describe(sample, &self.place, filter) else {
            return Ok(());
        };
        let unix_ns = sample.unix_ns.or(age).with_context(|| {
            format!(
                "{} has no time; hint: write each scrape to a separate file in one folder, so that \
                 cassay uses the times of the files, or name the endpoint itself",
                sample.name
            )
        })?;
        let raw = self.series.entry((described.name, described.place)).or_insert_with(|| Raw {
            unit: described.unit,
            counter: described.counter,
            points: Vec::new(),
        });
        if sample.value.is_finite() {
            self.room.point()?;
            raw.points.push(Point {
                unix_ns,
                value: sample.value,
            });
        }
        self.room.series(self.series.len())
    }

    fn series(self) -> Vec<Series> {
        let mut all = Vec::new();
        for ((name, place), mut raw) in self.series {
            raw.points.sort_by_key(|point| point.unix_ns);
            let points = if raw.counter {
                rates(&raw.points)
            } else {
                raw.points
            };
            if !points.is_empty() {
                all.push(Series {
                    name,
                    place,
                    unit: raw.unit,
                    points,
                });
            }
        }
        all
    }
}

/// Returns the growth per second between consecutive points, at the time of the later point. Omits
/// pairs of points between which a counter restarted.
fn rates(points: &[Point]) -> Vec<Point> {
    let rate = |pair: &[Point]| {
        let seconds = (pair[1].unix_ns - pair[0].unix_ns) as f64 / 1e9;
        let growth = pair[1].value - pair[0].value;
        (seconds > 0.0 && growth >= 0.0).then_some(Point {
            unix_ns: pair[1].unix_ns,
            value: growth / seconds,
        })
    };
    points.windows(2).filter_map(rate).collect()
}

/// A sample with the name, place and unit of its series.
pub(super) struct LabelledSample {
    pub name: String,
    pub place: String,
    pub unit: &'static str,
    /// True if the value is a counter, so that the reader converts it to a rate.
    pub counter: bool,
}

impl Exposition {
    /// Parses a text.
    ///
    /// # Errors
    /// A line is malformed.
    pub fn parse(text: &str) -> Result<Exposition> {
        let unit_ns = unit_ns(text.trim_end().ends_with("# EOF"));
        let mut found = Exposition::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            let number = index + 1;
            if let Some(comment) = line.strip_prefix('#') {
                found.comment(comment).with_context(|| format!("line {number}"))?;
            } else if !line.is_empty() {
                let sample = Sample::parse(line, number, unit_ns);
                found.samples.push(sample.with_context(|| format!("line {number}"))?);
            }
        }
        Ok(found)
    }

    /// Returns each selected sample, with its series and its value.
    pub fn described(&self, place: &str, filter: &Filter) -> Vec<(LabelledSample, f64)> {
        let one = |sample: &Sample| Some((self.describe(sample, place, filter)?, sample.value));
        self.samples.iter().filter_map(one).collect()
    }

    fn comment(&mut self, comment: &str) -> Result<()> {
        let mut words = comment.split_ascii_whitespace();
        if words.next() != Some("TYPE") {
            return Ok(());
        }
        let (Some(name), Some(kind)) = (words.next(), words.next()) else {
            bail!("a TYPE line needs the name and the kind of a metric");
        };
        let kind = MetricKind::parse(kind)?;
        self.kinds.insert(name.trim_matches('"').to_string(), kind);
        Ok(())
    }

    fn describe(&self, sample: &Sample, place: &str, filter: &Filter) -> Option<LabelledSample> {
        let name = sample.name.as_str();
        let labelled = sample.labelled();
        let wanted = if filter.is_empty() {
            !name.ends_with("_bucket")
        } else {
            filter.wants(&labelled)
        };
        if !wanted {
            return None;
        }
        let counter = self.is_counter(name);
        let instance = sample.labels.iter().find(|(label, _)| label == "instance");
        Some(LabelledSample {
            name: format!("prometheus.{labelled}{}", if counter { "/s" } else { "" }),
            place: instance.map_or(place, |(_, value)| value).to_string(),
            unit: unit(name, counter),
            counter,
        })
    }

    fn is_counter(&self, name: &str) -> bool {
        let kind = |family: &str| self.kinds.get(family).copied();
        for ending in ["_count", "_sum", "_bucket"] {
            let family = name.strip_suffix(ending);
            if family.and_then(kind) == Some(MetricKind::Distribution) {
                return true;
            }
        }
        // In OpenMetrics, the declaration of a counter omits the suffix `_total`.
        let family = name.strip_suffix("_total").unwrap_or(name);
        match kind(name).or_else(|| kind(family)) {
            Some(MetricKind::Counter) => true,
            Some(MetricKind::Gauge | MetricKind::Distribution) => false,
            Some(MetricKind::Unknown) | None => name.ends_with("_total"),
        }
    }
}

/// Returns the unit that a metric's name contains, according to the naming conventions of
/// Prometheus.
fn unit(name: &str, rate: bool) -> &'static str {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let name = name.strip_suffix("_sum").unwrap_or(name);
    match (name.rsplit('_').next(), rate) {
        (Some("bytes"), false) => "bytes",
        (Some("bytes"), true) => "bytes/s",
        (Some("seconds"), false) => "s",
        (Some("seconds"), true) => "s/s",
        (Some("milliseconds"), false) => "ms",
        (Some("percent"), false) => "%",
        (Some("ratio"), false) => "ratio",
        (_, true) => "/s",
        (_, false) => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# HELP reads_total Reads: a \ in words.
# TYPE reads_total counter
reads_total{table="ks.t",instance="10.0.0.1:9103"} 100 1000
reads_total{instance="10.0.0.1:9103", table="ks.t",} 150 3000
reads_total{instance="10.0.0.1:9103",table="ks.t"} 50 4000
# TYPE heap_bytes gauge
heap_bytes 1.5e3 1000
  heap_bytes	+Inf 2000
# a remark
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.1"} 3 1000
latency_seconds_count 3 1000
latency_seconds_count 5 2000
latency_seconds_sum 0.5 1000
latency_seconds_sum 1.5 2000
"#;

    fn series(text: &str, wanted: &[&str]) -> Result<Vec<Series>> {
        let mut collected = SeriesInProgress::new("file");
        collected.add(Exposition::parse(text)?, None, &Filter::new(wanted))?;
        Ok(collected.series())
    }

    /// Name, place and unit of a series, and its points with times in milliseconds.
    type SeriesPoints<'a> = (&'a str, &'a str, &'a str, Vec<(u64, f64)>);

    fn points(series: &[Series]) -> Vec<SeriesPoints<'_>> {
        let mut all = Vec::new();
        for one in series {
            let point = |point: &Point| (point.unix_ns / 1_000_000, point.value);
            let points = one.points.iter().map(point).collect();
            all.push((one.name.as_str(), one.place.as_str(), one.unit, points));
        }
        all
    }

    #[test]
    fn counters_become_rates_and_gauges_stay() {
        let reads = "prometheus.reads_total{table=\"ks.t\"}/s";
        assert_eq!(
            points(&series(TEXT, &[]).unwrap()),
            [
                (
                    "prometheus.heap_bytes",
                    "file",
                    "bytes",
                    vec![(1000, 1500.0)]
                ),
                (
                    "prometheus.latency_seconds_count/s",
                    "file",
                    "/s",
                    vec![(2000, 2.0)]
                ),
                (
                    "prometheus.latency_seconds_sum/s",
                    "file",
                    "s/s",
                    vec![(2000, 1.0)]
                ),
                (reads, "10.0.0.1:9103", "/s", vec![(3000, 25.0)]),
            ]
        );
        let wanted = series(TEXT, &["reads*ks.t"]).unwrap();
        assert_eq!(points(&wanted)[0].0, reads);
        assert_eq!(wanted.len(), 1);
    }

    #[test]
    fn openmetrics_has_seconds_exemplars_and_unsuffixed_counters() {
        let text = "# TYPE reads counter\nreads_total 1 10.5 # {trace=\"x\"} 0.6 9\n\
                    reads_total 4 12.0\n# EOF\n";
        let found = series(text, &[]).unwrap();
        assert_eq!(points(&found)[0].3, [(12000, 2.0)]);
    }

    #[test]
    fn a_broken_line_is_refused_with_its_number() {
        for (text, words) in [
            ("a 1 1\nb\n", "line 2: expected a value after the name"),
            ("a{x=\"1\" 1\n", "line 1: the labels are unterminated"),
            ("a{x=1} 1\n", "the label \"x\" is not quoted"),
            ("a{x} 1\n", "the label \"x\" has no value"),
            ("a{=\"1\"} 1\n", "has no name"),
            ("a{x=\"1} 1\n", "a quoted text is unterminated"),
            ("a{x=\"\\t\"} 1\n", "\\t is not a valid escape"),
            ("a many\n", "a is \"many\", which is not a number"),
            ("a 1 2 3\n", "\"3\" is superfluous"),
            ("a 1 -5\n", "-5 is not a time from 1970 to 2262"),
            ("a 1 soon\n", "\"soon\" is not a time"),
            ("1a 1\n", "\"1a\" is not a valid metric name"),
            ("# TYPE a\n", "needs the name and the kind"),
            ("# TYPE a number\n", "\"number\" is not a kind"),
            ("<html>\n", "expected a value after the name"),
            ("a 1\n", "line 1: a has no time; hint"),
        ] {
            let error = format!("{:#}", series(text, &[]).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_folder_of_scrapes_takes_the_times_of_its_files() {
        let folder = tempfile::tempdir().unwrap();
        for (name, seconds, value) in [("2.prom", 20, 7), ("1.prom", 10, 2)] {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("x_total {value}\nup 1 15000\n")).unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
        }
        let found = read_prometheus(folder.path(), &[]).unwrap();
        let seen = points(&found);
        assert_eq!(seen[0].3, [(15000, 1.0), (15000, 1.0)]);
        assert_eq!(seen[1].3, [(20000, 0.5)]);
        let error = read_prometheus(folder.path(), &["none".to_string()]).unwrap_err();
        assert!(error.to_string().contains("no metric has the name none"));
        std::fs::write(folder.path().join("3.prom"), "x y z\n").unwrap();
        let error = format!("{:#}", read_prometheus(folder.path(), &[]).unwrap_err());
        assert!(error.contains("3.prom: line 1: x is \"y\""), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "([a-z_#{}\"\\\\=, 0-9.+-]|é|\n){0,120}") {
            // The parser may accept or refuse the text, but must not panic.
            let _ = series(&text, &[]);
        }
    }
}
