//! Reads and writes HdrHistogram interval logs (format V2, log version 1.3). A log has one line for
//! each interval and tag, in the form that other HdrHistogram tools read.
//!
//! Values are nanoseconds. The maximum in a line is a value divided by [`MAX_VALUE_DIVISOR`], so it
//! is in milliseconds. The start time in a line is in seconds since the base time in the header.
//! Invariant: the sum of the histograms of a tag is the tag's histogram over the whole trial.

mod v2;

pub(crate) use v2::V2Room;

use crate::histogram_buckets::{self, Buckets};
use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use foreign::{FileKind, OpenFile};
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use measure::Histogram;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::ndjson::LineWriter;

/// Divisor that converts nanoseconds to milliseconds for the human-readable maximum in each line.
pub const MAX_VALUE_DIVISOR: f64 = 1e6;

/// Writer of one histogram log.
pub struct HlogWriter {
    lines: LineWriter,
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
    text: String,
}

impl HlogWriter {
    /// Opens the log at `path`, and creates a missing log. `what` describes the content of the log.
    /// The seconds in the lines count from `base_unix_ns`. In an existing log, the new lines follow
    /// the old lines without a second header.
    pub fn create(path: &Path, what: &str, base_unix_ns: u64) -> Result<HlogWriter> {
        let mut lines = LineWriter::open(path)?;
        let place = || format!("read the size of {}", path.display());
        if lines.file().metadata().with_context(place)?.len() == 0 {
            lines.append_text(&header(what, base_unix_ns)?)?;
        }
        Ok(HlogWriter {
            lines,
            serializer: V2DeflateSerializer::new(),
            bytes: Vec::new(),
            text: String::new(),
        })
    }

    /// Appends the histogram of one interval for one tag. Omits an empty histogram, because it
    /// would not change a sum. `tag` must not contain a comma, a space or a line break.
    pub fn append(
        &mut self,
        tag: &str,
        start_s: f64,
        seconds: f64,
        values: &Histogram,
    ) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        check_tag(tag)?;
        self.bytes.clear();
        self.serializer
            .serialize(values.hdr(), &mut self.bytes)
            .map_err(|e| anyhow!("encode the histogram of {tag} at {start_s:.3} s: {e}"))?;
        self.text.clear();
        let max = values.max_ns() as f64 / MAX_VALUE_DIVISOR;
        write!(self.text, "Tag={tag},{start_s:.3},{seconds:.3},{max:.3},")?;
        BASE64.encode_string(&self.bytes, &mut self.text);
        self.text.push('\n');
        self.lines.append_text(&self.text)
    }
}

/// Checks that a tag can be written without quotes into a comma-separated line.
fn check_tag(tag: &str) -> Result<()> {
    if tag.is_empty() || tag.chars().any(|c| c == ',' || c == ' ' || c.is_control()) {
        bail!(
            "{tag:?} cannot be the tag of a histogram log: tags contain no comma, space or line \
             break"
        );
    }
    Ok(())
}

/// Returns the header of a log: the comment lines that other tools expect, and the legend that the
/// Java writer adds.
fn header(what: &str, base_unix_ns: u64) -> Result<String> {
    let seconds = base_unix_ns as f64 / 1e9;
    let date = jiff::Timestamp::from_nanosecond(i128::from(base_unix_ns))?;
    Ok(format!(
        "#[{what}; values in ns, Interval_Max in ms]\n\
         #[Histogram log format version 1.3]\n\
         #[StartTime: {seconds:.3} (seconds since epoch), {date:.0}]\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n\
         #[MaxValueDivisor: {MAX_VALUE_DIVISOR:.3}]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n"
    ))
}

/// A line of a log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Tag of the line. Empty if the line has no tag.
    pub tag: String,
    /// Start of the interval as written in the line, in seconds since the log's base time.
    pub start_s: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    encoded: String,
    place: String,
}

impl Entry {
    /// Decodes the histogram of the line. Values are in ns. A line is decoded only on request, so
    /// skipping a line is cheap.
    pub fn histogram(&self) -> Result<Histogram> {
        self.decode().map(|hdr| Histogram::from_hdr(&hdr))
    }

    fn decode(&self) -> Result<Hdr<u64>> {
        let bytes = self.bytes()?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| anyhow!("{}: the histogram does not decode: {e}", self.place))
    }

    /// Adds the histogram of the line to a sum. If the histogram has cassay's own bounds, adding
    /// takes a fiftieth of the time that decoding takes.
    pub(crate) fn add_to(&self, sum: &mut Buckets, room: &mut V2Room) -> Result<()> {
        match room.buckets(&self.bytes()?) {
            Some(held) => sum.add(held),
            None => sum.add(&histogram_buckets::from_histogram(&self.histogram()?)),
        }
        Ok(())
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let decoded = BASE64.decode(&self.encoded);
        decoded.with_context(|| format!("{}: the histogram is not base64", self.place))
    }
}

/// Reader of a log, line by line. An incomplete last line ends the iteration, as with
/// [`crate::Lines`].
#[derive(Debug)]
pub struct HlogReader {
    reader: Option<BufReader<OpenFile>>,
    path: PathBuf,
    line_number: usize,
    base_unix_s: Option<f64>,
}

impl HlogReader {
    /// Opens the log at `path`. If the file is missing, the reader returns no lines.
    pub fn open(path: &Path) -> Result<HlogReader> {
        let reader = match foreign::open(FileKind::Histograms, path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(e).with_context(|| format!("open {}", path.display())),
        };
        Ok(HlogReader {
            reader,
            path: path.to_owned(),
            line_number: 0,
            base_unix_s: None,
        })
    }

    /// Returns the base time of the log, from which the seconds in the lines count, in seconds
    /// since 1970. The base time is known once the first line has been read.
    pub fn base_unix_s(&self) -> Option<f64> {
        self.base_unix_s
    }

    fn read_entry(&mut self) -> Result<Option<Entry>> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let mut line = String::new();
        loop {
            line.clear();
            self.line_number += 1;
            let place = format!("{} line {}", self.path.display(), self.line_number);
            reader.read_line(&mut line).with_context(|| place.clone())?;
            let Some(whole) = line.strip_suffix('\n') else {
                return Ok(None);
            };
            let whole = whole.trim_end_matches('\r');
            if whole.is_empty() || whole.starts_with(['#', '"']) {
                self.base_unix_s = self.base_unix_s.or_else(|| base_time(whole));
                continue;
            }
            return parse(whole, place).map(Some);
        }
    }
}

impl Iterator for HlogReader {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let entry = self.read_entry().transpose();
        if !matches!(entry, Some(Ok(_))) {
            self.reader = None;
        }
        entry
    }
}

/// Parses a whole line of a log. `place` names the line in errors. Returns `None` for a comment and
/// for the legend.
pub(crate) fn entry_of(line: &str, place: String) -> Result<Option<Entry>> {
    let line = line.trim_end_matches('\r');
    if line.is_empty() || line.starts_with(['#', '"']) {
        return Ok(None);
    }
    parse(line, place).map(Some)
}

/// Parses the time in a comment line `#[BaseTime: 1766000000.250 (seconds since epoch)]`.
fn base_time(line: &str) -> Option<f64> {
    let words = line.strip_prefix("#[BaseTime: ")?;
    let seconds: f64 = words.split(' ').next()?.parse().ok()?;
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds)
}

fn parse(line: &str, place: String) -> Result<Entry> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',').unwrap_or((tagged, "")),
        None => ("", line),
    };
    let mut fields = rest.splitn(4, ',');
    let mut number = |name: &str| -> Result<f64> {
        let text = fields.next().unwrap_or("");
        let value: Option<f64> = text.trim().parse().ok();
        value.filter(|v| v.is_finite() && *v >= 0.0).ok_or_else(|| {
            anyhow!("{place} is damaged: {name} is {text:?}, not a number of seconds")
        })
    };
    let (start_s, seconds) = (number("the start")?, number("the length")?);
    number("the maximum")?;
    let encoded = fields.next().unwrap_or("");
    if encoded.is_empty() {
        bail!("{place} is damaged: it has no histogram");
    }
    Ok(Entry {
        tag: tag.to_owned(),
        start_s,
        seconds,
        encoded: encoded.trim().to_owned(),
        place,
    })
}

/// Adds up the histograms of `tag`. Includes only lines whose start is in `range`, in seconds since
/// the base time, or all lines if `range` is `None`. The end of `range` is exclusive.
pub fn merged(path: &Path, tag: &str, range: Option<(f64, f64)>) -> Result<Histogram> {
    let mut all = Histogram::new();
    // Histograms with cassay's own bounds are added as a whole, which takes half the time (0.6 ms
    // per line in an unoptimized build). Histograms of other tools may have other bounds, so their
    // values are added one by one.
    let mut same_bounds = all.hdr().clone();
    for entry in HlogReader::open(path)? {
        let entry = entry?;
        let inside = range.is_none_or(|(from, to)| (from..to).contains(&entry.start_s));
        if entry.tag == tag && inside {
            let hdr = entry.decode()?;
            if same_bounds.add(&hdr).is_err() {
                all.add(&Histogram::from_hdr(&hdr));
            }
        }
    }
    all.add(&Histogram::from_hdr(&same_bounds));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use proptest::prelude::*;

    const BASE_NS: u64 = 1_766_000_000_250_000_000;

    fn values(values_ms: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values_ms.iter().for_each(|ms| histogram.record(ms * 1_000_000));
        histogram
    }

    fn write(path: &Path) {
        let mut log = HlogWriter::create(path, "test", BASE_NS).unwrap();
        log.append("read", 0.0, 1.0, &values(&[1, 2, 3])).unwrap();
        log.append("write", 0.0, 1.0, &values(&[10])).unwrap();
        log.append("read", 1.0, 1.0, &values(&[])).unwrap();
        log.append("read", 2.0, 0.5, &values(&[4, 3_500_000])).unwrap();
    }

    #[test]
    fn a_written_histogram_log_is_read_by_tag_and_range() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        write(&path);
        let all = merged(&path, "read", None).unwrap();
        assert_eq!((all.count(), all.clamped_count()), (5, 0));
        let mut expected = values(&[1, 2, 3]);
        assert_eq!(
            merged(&path, "read", Some((0.0, 2.0))).unwrap().hdr(),
            expected.hdr()
        );
        expected.add(&values(&[4, 3_500_000]));
        assert_eq!(all.hdr(), expected.hdr());
        assert_eq!(merged(&path, "scan", None).unwrap().count(), 0);
        let starts: Vec<f64> =
            HlogReader::open(&path).unwrap().map(|entry| entry.unwrap().start_s).collect();
        assert_eq!(starts, [0.0, 0.0, 2.0]);
    }

    #[test]
    fn the_log_has_the_header_lines_that_other_tools_expect() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        write(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        let (header, lines) = text.split_once("Tag=").unwrap();
        expect_test::expect![[r##"
            #[test; values in ns, Interval_Max in ms]
            #[Histogram log format version 1.3]
            #[StartTime: 1766000000.250 (seconds since epoch), 2025-12-17T19:33:20Z]
            #[BaseTime: 1766000000.250 (seconds since epoch)]
            #[MaxValueDivisor: 1000000.000]
            "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
        "##]]
        .assert_eq(header);
        assert!(
            lines.starts_with("read,0.000,1.000,3.000,HISTFA"),
            "{lines}"
        );
    }

    #[test]
    fn the_crates_own_log_reader_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        write(&path);
        let bytes = std::fs::read(&path).unwrap();
        let (mut intervals, mut times) = (0, 0);
        for entry in IntervalLogIterator::new(&bytes) {
            match entry.unwrap() {
                LogEntry::Interval(_) => intervals += 1,
                LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
                    assert_eq!(at.as_millis(), u128::from(BASE_NS / 1_000_000));
                    times += 1;
                }
            }
        }
        assert_eq!((intervals, times), (3, 2));
    }

    #[test]
    fn continuing_a_log_writes_no_second_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        write(&path);
        write(&path);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.matches("BaseTime").count(), 1);
        assert_eq!(merged(&path, "write", None).unwrap().count(), 2);
    }

    #[test]
    fn damaged_lines_are_errors_and_a_torn_last_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.hlog");
        for (text, message) in [
            (
                "Tag=a,x,1.0,2.0,HISTFA\n",
                "line 1 is damaged: the start is \"x\"",
            ),
            (
                "#\n1.0,-1.0,2.0,HISTFA\n",
                "line 2 is damaged: the length is \"-1.0\"",
            ),
            ("Tag=a,1.0,1.0\n", "line 1 is damaged: the maximum is \"\""),
            (
                "Tag=a,1.0,1.0,2.0\n",
                "line 1 is damaged: it has no histogram",
            ),
            ("Tag=a\n", "line 1 is damaged: the start is \"\""),
            ("Tag=a,1,1,2,%%\n", "line 1: the histogram is not base64"),
            (
                "Tag=a,1,1,2,AAAA\n",
                "line 1: the histogram does not decode",
            ),
        ] {
            std::fs::write(&path, text).unwrap();
            let seen = format!("{:#}", merged(&path, "a", None).unwrap_err());
            assert!(
                seen.contains("x.hlog") && seen.contains(message),
                "{text:?}: {seen}"
            );
        }
        std::fs::write(&path, "Tag=a,1.0,1.0,2.0,HIST").unwrap();
        assert_eq!(merged(&path, "a", None).unwrap().count(), 0);
    }

    #[test]
    fn a_tag_that_would_break_the_line_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = HlogWriter::create(&folder.path().join("a.hlog"), "test", BASE_NS).unwrap();
        for bad in ["", "a,b", "a b", "a\n"] {
            assert!(log.append(bad, 0.0, 1.0, &values(&[1])).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_log_of_another_tool_with_other_bounds_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("foreign.hlog");
        let mut foreign = Hdr::<u64>::new_with_bounds(1000, 10_000_000_000_000, 2).unwrap();
        foreign.record_n(5_000_000, 3).unwrap();
        foreign.record(9_000_000_000_000).unwrap();
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&foreign, &mut bytes).unwrap();
        let line = format!("0.5,1.0,9.0,{}\r\n", BASE64.encode(&bytes));
        std::fs::write(&path, line).unwrap();
        let seen = merged(&path, "", None).unwrap();
        assert_eq!((seen.count(), seen.clamped_count()), (4, 1));
        let median = seen.quantile_ns(0.5) as f64;
        assert!((median / 5e6 - 1.0).abs() < 0.02, "{median}");
    }

    proptest! {
        #[test]
        fn any_histogram_comes_back_as_it_was(
            all in prop::collection::vec(1u64..measure::histogram::HIGHEST_NS / 2, 1..300)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.hlog");
            let mut histogram = Histogram::new();
            all.iter().for_each(|value| histogram.record(*value));
            let mut log = HlogWriter::create(&path, "test", BASE_NS).unwrap();
            log.append("a", 0.0, 1.0, &histogram).unwrap();
            let back = merged(&path, "a", None).unwrap();
            prop_assert_eq!(back.hdr(), histogram.hdr());
        }

        #[test]
        fn no_bytes_make_the_reader_panic(
            noise in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..400) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.hlog");
            write(&path);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = bytes.len() - cut.min(bytes.len());
            let end = (at + noise.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&noise[..end - at]);
            std::fs::write(&path, &bytes).unwrap();
            let _ = merged(&path, "read", None);
        }
    }
}
