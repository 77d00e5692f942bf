//! HdrHistogram interval logs (format V2, log version 1.3), one line per interval and tag, in the
//! form that other HdrHistogram tools read.
//!
//! Values are nanoseconds; the maximum in the line is divided by [`MAX_VALUE_DIVISOR`] and so in
//! milliseconds. A line's start is in seconds since the base time of the header. What must hold:
//! the histograms of a tag, added, are the tag's histogram over the whole trial.

use anyhow::{Context, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use measure::Histogram;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::lines::LineWriter;

/// Nanoseconds to milliseconds, for the human-readable maximum of each line.
pub const MAX_VALUE_DIVISOR: f64 = 1e6;

/// Writes one log.
pub struct HlogWriter {
    lines: LineWriter,
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
    text: String,
}

impl HlogWriter {
    /// Makes the log at `path`. `what` says what is in it; `base_unix_ns` is the time that the
    /// lines' seconds count from. An existing log is continued without a second header.
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

    /// Appends one interval of one tag. An empty histogram is left out: it would add nothing.
    /// `tag` may not hold a comma, a space or a line break.
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

/// A tag goes unquoted into a comma-separated line.
fn check_tag(tag: &str) -> Result<()> {
    if tag.is_empty() || tag.chars().any(|c| c == ',' || c == ' ' || c.is_control()) {
        bail!("{tag:?} cannot be the tag of a histogram log: no comma, space or line break");
    }
    Ok(())
}

/// The comment lines that other tools expect at the top, and the legend that Java's writer adds.
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

/// One line of a log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Tag; empty when the line has none.
    pub tag: String,
    /// Begin, in seconds since the log's base time (as the line says it).
    pub start_s: f64,
    /// Length in seconds.
    pub seconds: f64,
    encoded: String,
    place: String,
}

impl Entry {
    /// The line's histogram, values in ns. Decoded on demand: skipping lines is cheap.
    pub fn histogram(&self) -> Result<Histogram> {
        let bytes = BASE64
            .decode(&self.encoded)
            .with_context(|| format!("{}: the histogram is not base64", self.place))?;
        let hdr = Deserializer::new()
            .deserialize::<u64, _>(&mut bytes.as_slice())
            .map_err(|e| anyhow!("{}: the histogram does not decode: {e}", self.place))?;
        Ok(Histogram::from_hdr(&hdr))
    }
}

/// Reads a log line by line. A torn last line ends the reading, as in [`crate::Lines`].
#[derive(Debug)]
pub struct HlogReader {
    reader: Option<BufReader<File>>,
    path: PathBuf,
    line_number: usize,
}

impl HlogReader {
    /// Opens `path`; a file that is not there holds nothing.
    pub fn open(path: &Path) -> Result<HlogReader> {
        let reader = match File::open(path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(e).with_context(|| format!("open {}", path.display())),
        };
        Ok(HlogReader {
            reader,
            path: path.to_owned(),
            line_number: 0,
        })
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

/// Adds up the histograms of `tag` whose lines begin within `range` (seconds since the base time,
/// end exclusive); `None` means all.
pub fn merged(path: &Path, tag: &str, range: Option<(f64, f64)>) -> Result<Histogram> {
    let mut all = Histogram::new();
    for entry in HlogReader::open(path)? {
        let entry = entry?;
        let inside = range.is_none_or(|(from, to)| (from..to).contains(&entry.start_s));
        if entry.tag == tag && inside {
            all.add(&entry.histogram()?);
        }
    }
    Ok(all)
}
