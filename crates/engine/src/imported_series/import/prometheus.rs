//! Reads the text format of Prometheus, which has one sample per line: `name{label="value",…} value
//! time`.
//!
//! Times are in milliseconds in version 0.0.4, and in seconds in OpenMetrics. A line without a line
//! feed is truncated, so the reader leaves it out. This is a small strict parser. The existing
//! libraries skip lines that they cannot parse, so a broken file would become an empty chart.
//!
//! The reader converts counters to rates, because only the growth of a counter gives information
//! about a run. The reader omits the buckets of histograms unless the user selects them.

mod sample;

use super::{Filter, Point, Room, Series, SeriesFile, first_names, hole_note, with_hint};
use anyhow::{Context, Result, bail, ensure};
use foreign::{FileKind, LineEnd, Source, TextLines};
use sample::{MetricKind, Sample};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Maximum length of a line, in bytes. Labels usually take some hundred bytes.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Maximum length of one scrape, in bytes. The largest known exporters return a tenth of this
/// length.
pub(super) const SCRAPE_BYTES_MAX: u64 = 16 << 20;

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
/// histograms. Skips the files of a folder that contain no sample, such as a README.
///
/// # Errors
/// A file cannot be read, or one of its lines is malformed (the message contains the line number).
/// It is also an error if no metric matches, or if a single file has a sample without a time.
pub fn read_prometheus(path: &Path, metrics: &[String]) -> Result<SeriesFile> {
    let filter = Filter::new(metrics);
    let place = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut collected = SeriesInProgress::new(&place.unwrap_or_default());
    let notes = if path.is_dir() {
        collected.add_folder(path, &filter)?
    } else {
        collected
            .add_file(path, &filter)
            .with_context(|| format!("{}", path.display()))
            .map_err(|error| with_hint(path, error))?
    };
    let buckets = collected.buckets;
    let series = collected.series();
    let mut why = match (metrics, buckets) {
        ([], 0) => "the file contains no sample, or only one sample of each counter".to_owned(),
        ([], buckets) => format!(
            "the file contains no samples except {buckets} of the buckets of histograms; hint: to \
             import these, name them with --column _bucket, or `columns` in a study"
        ),
        _ => format!("no metric has the name {}", metrics.join(" or ")),
    };
    for note in &notes {
        why += &format!("; {note}");
    }
    ensure!(!series.is_empty(), "{}: {why}", path.display());
    Ok(SeriesFile { series, notes })
}

/// Calls a function for each complete line that is not blank, without its surrounding spaces. An
/// error contains the line number. Returns notes about the parts of the text that were left out.
fn for_each_line(
    input: impl Source,
    mut take: impl FnMut(u64, &str) -> Result<()>,
) -> Result<Vec<String>> {
    let mut lines = TextLines::new(input, LINE_BYTES_MAX);
    let mut notes = Vec::new();
    while let Some(line) = lines.next_line()? {
        let (number, said) = (line.number, line.text());
        let text = said.trim();
        match line.end {
            // The last line of OpenMetrics is complete without a line feed.
            LineEnd::File if text != "# EOF" && !text.is_empty() => notes.push(format!(
                "line {number} has no line feed, so it may be truncated, and cassay left it out"
            )),
            LineEnd::Hole(hole) => notes.push(hole_note(number, &hole)),
            _ => {}
        }
        if line.is_whole() && !text.is_empty() {
            take(number, text).with_context(|| format!("line {number}"))?;
        }
    }
    Ok(notes)
}

/// Returns the files of a folder, ordered by name. This is usually the order of time, because the
/// name of a scrape usually contains the time.
fn scrapes(folder: &Path) -> Result<Vec<PathBuf>> {
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
    /// Number of samples of buckets that were omitted.
    buckets: u64,
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
            buckets: 0,
        }
    }

    /// Adds the samples of one text. Samples without a time get the time `age`, in ns since 1970.
    fn add(&mut self, exposition: Exposition, age: Option<u64>, filter: &Filter) -> Result<()> {
        for sample in &exposition.samples {
            self.add_sample(&exposition, sample, age, filter)
                .with_context(|| format!("line {}", sample.line))?;
        }
        Ok(())
    }

    /// Adds the selected samples of all scrapes in a folder. Returns notes about the parts that
    /// were left out.
    fn add_folder(&mut self, folder: &Path, filter: &Filter) -> Result<Vec<String>> {
        let (mut notes, mut others) = (Vec::new(), Vec::new());
        let mut refused = None;
        let files = scrapes(folder)?;
        for file in &files {
            let context = || format!("{}", file.display());
            let opened = foreign::open(FileKind::Scrape, file).with_context(context)?;
            let modified = opened.file().metadata().and_then(|data| data.modified());
            let age = modified.with_context(context)?.duration_since(UNIX_EPOCH);
            let mut one = Exposition::default();
            let read = for_each_line(opened, |number, line| one.line(number, line));
            match read.with_context(context) {
                Ok(found) => {
                    let found = found.into_iter();
                    notes.extend(found.map(|note| format!("{}: {note}", file.display())));
                }
                // A scrape begins with comments and samples. So a file with an error before its
                // first sample is another file, such as a README, which this code skips.
                Err(error) if one.samples.is_empty() => {
                    others.push(file.file_name().unwrap_or_default().to_string_lossy());
                    refused.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            let age = age.unwrap_or_default().as_nanos() as u64;
            self.add(one, Some(age), filter).with_context(context)?;
        }
        match refused {
            Some(error) if others.len() == files.len() => return Err(error),
            Some(_) => {
                let (count, names) = (others.len(), first_names(&others));
                notes.push(format!("{count} files are not scrapes: {names}"));
            }
            None => {}
        }
        Ok(notes)
    }

    /// Adds the selected samples of a file, line by line. Reads the file twice, because the
    /// declaration of a metric's kind may follow its samples. Returns notes about the parts that
    /// were left out.
    fn add_file(&mut self, path: &Path, filter: &Filter) -> Result<Vec<String>> {
        let open = || foreign::open(FileKind::Samples, path);
        let mut known = Exposition::default();
        for_each_line(open()?, |_, line| {
            line.strip_prefix('#').map_or(Ok(()), |comment| known.comment(comment))
        })?;
        for_each_line(open()?, |number, line| {
            if line.starts_with('#') {
                return Ok(());
            }
            self.add_sample(&known, &Sample::parse(line, number)?, None, filter)
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
            self.buckets += u64::from(filter.is_empty());
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
    /// A line is malformed. The message contains the number of the line.
    pub fn parse(text: &str) -> Result<Exposition> {
        let mut found = Exposition::default();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if !line.is_empty() {
                found.line(number, line).with_context(|| format!("line {number}"))?;
            }
        }
        Ok(found)
    }

    fn line(&mut self, number: u64, line: &str) -> Result<()> {
        match line.strip_prefix('#') {
            Some(comment) => self.comment(comment),
            None => {
                self.samples.push(Sample::parse(line, number)?);
                Ok(())
            }
        }
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
/// Prometheus. Without a unit, returns `count`.
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

    /// Start of the times in the texts, in ms since 1970.
    const BEGIN_MS: u64 = 1_700_000_000_000;

    const TEXT: &str = r#"
# HELP reads_total Reads: a \ in words.
# TYPE reads_total counter
reads_total{table="ks.t",instance="10.0.0.1:9103"} 100 1700000001000
reads_total{instance="10.0.0.1:9103", table="ks.t",} 150 1700000003000
reads_total{instance="10.0.0.1:9103",table="ks.t"} 50 1700000004000
# TYPE heap_bytes gauge
heap_bytes 1.5e3 1700000001000
  heap_bytes	+Inf 1700000002000
# a remark
# TYPE latency_seconds histogram
latency_seconds_bucket{le="0.1"} 3 1700000001000
latency_seconds_count 3 1700000001000
latency_seconds_count 5 1700000002000
latency_seconds_sum 0.5 1700000001000
latency_seconds_sum 1.5 1700000002000
"#;

    fn series(text: &str, wanted: &[&str]) -> Result<Vec<Series>> {
        let mut collected = SeriesInProgress::new("file");
        collected.add(Exposition::parse(text)?, None, &Filter::new(wanted))?;
        Ok(collected.series())
    }

    /// Name, place and unit of a series, and its points with times in ms after the start.
    type SeriesPoints<'a> = (&'a str, &'a str, &'a str, Vec<(u64, f64)>);

    fn points(series: &[Series]) -> Vec<SeriesPoints<'_>> {
        let mut all = Vec::new();
        for one in series {
            let point = |point: &Point| (point.unix_ns / 1_000_000 - BEGIN_MS, point.value);
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
        let text = "# TYPE reads counter\nreads_total 1 1700000010.5 # {trace=\"x\"} 0.6 9\n\
                    reads_total 4 1700000012.0\n# EOF\n";
        let found = series(text, &[]).unwrap();
        assert_eq!(points(&found)[0].3, [(12000, 2.0)]);
    }

    #[test]
    fn a_broken_line_is_refused_with_its_number() {
        for (text, words) in [
            ("a 1 1\nb\n", "line 2: expected a value after the name"),
            (
                "a{x=\"1\" 1\n",
                "line 1: the labels are not closed with `}`",
            ),
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
            std::fs::write(&path, format!("x_total {value}\nup 1 1700000015000\n")).unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + seconds);
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
        }
        let found = read_prometheus(folder.path(), &[]).unwrap();
        let seen = points(&found.series);
        assert_eq!(seen[0].3, [(15000, 1.0), (15000, 1.0)]);
        assert_eq!(seen[1].3, [(20000, 0.5)]);
        let error = read_prometheus(folder.path(), &["none".to_string()]).unwrap_err();
        assert!(error.to_string().contains("no metric has the name none"));
        std::fs::write(folder.path().join("README"), "# Scrapes\nof 2 nodes\n").unwrap();
        std::fs::write(folder.path().join("4.prom"), "up 1 1700000015000\nup 1 17").unwrap();
        let found = read_prometheus(folder.path(), &[]).unwrap();
        assert_eq!(found.series[0].points.len(), 3);
        assert!(
            found.notes[0].contains("4.prom: line 2 has no line feed"),
            "{found:?}"
        );
        assert_eq!(found.notes[1], "1 files are not scrapes: README");
        std::fs::write(folder.path().join("3.prom"), "up 1\nx y z\n").unwrap();
        let error = format!("{:#}", read_prometheus(folder.path(), &[]).unwrap_err());
        assert!(error.contains("3.prom: line 2: x is \"y\""), "{error}");
    }

    /// An earlier version read the value 12 of a truncated line whose value was 123.
    #[test]
    fn a_truncated_line_is_left_out_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.prom");
        for (text, points, notes) in [
            ("x 1 1700000001\nx 12 17000000", 1, 1),
            ("x 1 1700000001\nx", 1, 1),
            ("x 1 1700000001\nx 2 1700000002\n# EOF", 2, 0),
            (
                &format!("x 1 1700000001\nx 5{}9\nx 2 1700000002\n", "\0".repeat(99)),
                2,
                1,
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let found = read_prometheus(&path, &[]).unwrap();
            assert_eq!(found.series[0].points.len(), points, "{text:?}");
            assert_eq!(found.notes.len(), notes, "{text:?}");
        }
        std::fs::write(&path, "x_bucket{le=\"1\"} 1 1700000001\n").unwrap();
        let error = read_prometheus(&path, &[]).unwrap_err().to_string();
        assert!(
            error.contains("no samples except 1 of the buckets"),
            "{error}"
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "([a-z_#{}\"\\\\=, 0-9.+-]|é|\n){0,120}") {
            // The parser may accept or refuse the text, but must not panic.
            let _ = series(&text, &[]);
        }
    }
}
