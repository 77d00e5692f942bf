//! Pauses and safepoints of a node's JVM, from the log that it writes itself
//! (`-Xlog:gc*,safepoint:file=…:time,uptime,level,tags`).
//!
//! The lines of the collector say why the JVM stood still, those of safepoints how long: one format
//! for all collectors, where the collector's own lines differ with each. A pause stands at the time
//! of its line, which is written when it ends; what is between two looks is summed for safepoints.
//! Followed is the newest log of the folder, so that a node that was started again, which begins
//! another one, is followed too. What was logged before the first look is not read.

use anyhow::{Context, Result, bail};
use host::probe::{Look, Out};
use measure::clock::{self, MILLISECOND_NS, SECOND_NS};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How far from the end of a log its last whole line is looked for: lines are of 300 bytes.
const LAST_LINE_BYTES: u64 = 64 << 10;

/// What is kept of a line that does not end; no line of the JVM's is so long.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Follows the collector's log of one node.
pub(super) struct GcLog {
    folder: PathBuf,
    place: String,
    followed: Option<Followed>,
    /// Whether the first look is over: logs that appear later are read from their beginning.
    begun: bool,
}

impl GcLog {
    /// Of the node `place`, whose logs are in `folder` as `gc-<something>.log`.
    pub(super) fn new(folder: &Path, place: &str) -> GcLog {
        GcLog {
            folder: folder.to_path_buf(),
            place: place.to_string(),
            followed: None,
            begun: false,
        }
    }

    /// Reads what is new and puts it; `unix_ns` is the wall clock at `now_ns`.
    fn read(&mut self, now_ns: u64, unix_ns: u64, out: &mut Out) -> Result<()> {
        let mut lines = Vec::new();
        if let Some(followed) = &mut self.followed {
            followed.read(&mut lines)?;
        }
        let newest = newest_log(&self.folder)?;
        let is_followed = |path: &Path| {
            let followed = self.followed.as_ref();
            followed.is_some_and(|followed| followed.is_at(path))
        };
        if !is_followed(&newest) {
            let mut followed = Followed::open(&newest, !self.begun)?;
            followed.read(&mut lines)?;
            self.followed = Some(followed);
        }
        let first = !std::mem::replace(&mut self.begun, true);
        let mut safepoints = Safepoints::default();
        for line in &lines {
            let Some((written_unix_ns, event)) = parse(&String::from_utf8_lossy(line)) else {
                continue;
            };
            // Neither clock waits for the other: what is to come has just been.
            let at_ns = now_ns.saturating_sub(unix_ns.saturating_sub(written_unix_ns));
            self.put(at_ns, &event, &mut safepoints, out);
        }
        if !first {
            out.put(
                "safepoint.stopped",
                &self.place,
                "ms",
                safepoints.stopped_ms,
            );
            out.put("safepoint.reach", &self.place, "ms", safepoints.reach_ms);
            out.put(
                "safepoint.longest",
                &self.place,
                "ms",
                safepoints.longest_ms,
            );
            out.put("safepoint.count", &self.place, "count", safepoints.count);
        }
        Ok(())
    }

    fn put(&self, at_ns: u64, event: &Event, safepoints: &mut Safepoints, out: &mut Out) {
        match event {
            Event::Pause { kind, ms, heap } => {
                out.put_at(at_ns, &format!("gc.pause.{kind}"), &self.place, "ms", *ms);
                if let Some(bytes) = heap {
                    out.put_at(at_ns, "gc.heap_after", &self.place, "bytes", *bytes);
                }
            }
            Event::Collected { heap } => {
                out.put_at(at_ns, "gc.heap_after", &self.place, "bytes", *heap);
            }
            Event::Stall { ms } => out.put_at(at_ns, "gc.stall", &self.place, "ms", *ms),
            Event::Safepoint {
                reach_ms,
                stopped_ms,
            } => {
                safepoints.stopped_ms += stopped_ms;
                safepoints.reach_ms += reach_ms;
                safepoints.longest_ms = safepoints.longest_ms.max(*stopped_ms);
                safepoints.count += 1.0;
            }
        }
    }
}

impl Look for GcLog {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.read(now_ns, clock::unix_ns(), out)
    }

    fn last(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.read(now_ns, clock::unix_ns(), out)
    }
}

/// The safepoints between two looks, in milliseconds.
#[derive(Default)]
struct Safepoints {
    stopped_ms: f64,
    reach_ms: f64,
    longest_ms: f64,
    count: f64,
}

/// The file that is read, and how far.
struct Followed {
    path: PathBuf,
    file: File,
    inode: u64,
    offset: u64,
    /// The beginning of a line that is not written to its end yet.
    partial: Vec<u8>,
}

impl Followed {
    /// Opens a log: at its beginning, or behind its last whole line.
    fn open(path: &Path, at_end: bool) -> Result<Followed> {
        let context = || format!("read {}", path.display());
        let mut file = File::open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        let mut offset = 0;
        if at_end {
            let from = metadata.len().saturating_sub(LAST_LINE_BYTES);
            let mut tail = Vec::new();
            file.seek(SeekFrom::Start(from)).with_context(context)?;
            file.read_to_end(&mut tail).with_context(context)?;
            let whole = tail.iter().rposition(|byte| *byte == b'\n');
            offset = from + whole.map_or(0, |last| last as u64 + 1);
        }
        Ok(Followed {
            path: path.to_path_buf(),
            file,
            inode: metadata.ino(),
            offset,
            partial: Vec::new(),
        })
    }

    /// Whether `path` is this file still: the JVM renames a log that it rotates.
    fn is_at(&self, path: &Path) -> bool {
        let metadata = std::fs::metadata(path);
        self.path == path && metadata.is_ok_and(|metadata| metadata.ino() == self.inode)
    }

    /// Adds the lines that have become whole since the last call.
    fn read(&mut self, lines: &mut Vec<Vec<u8>>) -> Result<()> {
        let context = || format!("read {}", self.path.display());
        if self.file.metadata().with_context(context)?.len() < self.offset {
            // Begun anew under the same name.
            self.offset = 0;
            self.partial.clear();
        }
        let from = SeekFrom::Start(self.offset);
        self.file.seek(from).with_context(context)?;
        let mut new = Vec::new();
        self.file.read_to_end(&mut new).with_context(context)?;
        self.offset += new.len() as u64;
        let mut pieces = new.split(|byte| *byte == b'\n');
        let rest = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            let mut line = std::mem::take(&mut self.partial);
            line.extend_from_slice(piece);
            lines.push(line);
        }
        if self.partial.len() + rest.len() <= LINE_BYTES_MAX {
            self.partial.extend_from_slice(rest);
        }
        Ok(())
    }
}

/// The log that was written to last; of equal ones the last by name.
fn newest_log(folder: &Path) -> Result<PathBuf> {
    let context = || {
        format!(
            "look for logs of the garbage collector in {}",
            folder.display()
        )
    };
    let mut newest: Option<(SystemTime, PathBuf)> = None;
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !(name.starts_with("gc-") && name.ends_with(".log")) {
            continue;
        }
        let changed = entry.metadata().and_then(|metadata| metadata.modified());
        let found = (changed.with_context(context)?, entry.path());
        if newest.as_ref().is_none_or(|newest| found > *newest) {
            newest = Some(found);
        }
    }
    match newest {
        Some((_, path)) => Ok(path),
        None => bail!(
            "there is no gc-*.log in {}: the node writes no log of its garbage collector",
            folder.display()
        ),
    }
}

/// What a line tells.
#[derive(Debug, PartialEq)]
enum Event {
    /// The application stood still for the collector.
    Pause {
        /// `young`, `mixed`, `full`, `remark`, `z_mark_start`, …
        kind: String,
        ms: f64,
        /// Bytes in use on the heap afterwards, where the line says it.
        heap: Option<f64>,
    },
    /// A collection beside the application has ended; bytes in use on the heap afterwards.
    Collected { heap: f64 },
    /// One thread waited for the collector to free memory.
    Stall { ms: f64 },
    /// All threads stood still, for whatever reason.
    Safepoint { reach_ms: f64, stopped_ms: f64 },
}

/// When a line was written, in nanoseconds since 1970, and what it tells; `None` if nothing of
/// interest.
fn parse(line: &str) -> Option<(u64, Event)> {
    let mut rest = line;
    let (mut time, mut tags) = (None, "");
    while let Some((inside, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        time = time.or(Some(inside));
        tags = inside.trim_end();
        rest = behind;
    }
    let text = rest.trim();
    let event = match tags {
        "gc" => of_collector(text)?,
        "gc,phases" => of_z_phase(text)?,
        "safepoint" => of_safepoint(text)?,
        _ => return None,
    };
    Some((unix_ns_of(time?)?, event))
}

/// `GC(7) Pause Young (Mixed) (G1 Evacuation Pause) 26M->8M(512M) 8.052ms` and its likes.
fn of_collector(text: &str) -> Option<Event> {
    let text = without_number(text);
    let heap = text.split(' ').find_map(heap_after);
    if text.starts_with("Allocation Stall") {
        return Some(Event::Stall {
            ms: milliseconds(text)?,
        });
    }
    let Some(pause) = text.strip_prefix("Pause ") else {
        // ZGC's line of a whole collection.
        let collection = text.contains(" Collection (").then_some(heap)??;
        return Some(Event::Collected { heap: collection });
    };
    let kind = if pause.starts_with("Young (Mixed)") {
        "mixed".to_string()
    } else {
        kind_of(pause)
    };
    Some(Event::Pause {
        kind,
        ms: milliseconds(pause)?,
        heap,
    })
}

/// `GC(13) Pause Mark Start 0.036ms`; with generations `GC(13) Y: Pause Mark Start 0.036ms`.
fn of_z_phase(text: &str) -> Option<Event> {
    let text = without_number(text);
    let text = match text.split_once(": ") {
        Some((generation, rest)) if generation.len() == 1 => rest,
        _ => text,
    };
    let pause = text.strip_prefix("Pause ")?;
    Some(Event::Pause {
        kind: format!("z_{}", kind_of(pause)),
        ms: milliseconds(pause)?,
        heap: None,
    })
}

/// `Safepoint "Cleanup", Time since last: 1 ns, Reaching safepoint: 2 ns, …, Total: 3 ns` since
/// Java 13; before, `Total time for which application threads were stopped: 0.0020681 seconds,
/// Stopping threads took: 0.0000143 seconds`.
fn of_safepoint(text: &str) -> Option<Event> {
    let part = |name: &str, unit: &str, to_ms: f64| -> Option<f64> {
        let (_, behind) = text.split_once(name)?;
        let number = behind.trim_start().split(' ').next()?;
        let is_unit = behind.trim_start()[number.len()..]
            .trim_start()
            .starts_with(unit);
        is_unit
            .then(|| number.parse::<f64>().ok())
            .flatten()
            .map(|n| n * to_ms)
    };
    if text.starts_with("Safepoint \"") {
        let ns = 1.0 / MILLISECOND_NS as f64;
        return Some(Event::Safepoint {
            reach_ms: part("Reaching safepoint:", "ns", ns)?,
            stopped_ms: part(" Total:", "ns", ns)?,
        });
    }
    Some(Event::Safepoint {
        reach_ms: part("Stopping threads took:", "seconds", 1e3)?,
        stopped_ms: part("threads were stopped:", "seconds", 1e3)?,
    })
}

/// The text behind `GC(7) `.
fn without_number(text: &str) -> &str {
    match text.split_once(") ") {
        Some((number, rest)) if number.starts_with("GC(") => rest,
        _ => text,
    }
}

/// `Final Update Refs 0.1ms` is `final_update_refs`: the words up to a bracket or a number.
fn kind_of(pause: &str) -> String {
    let words = pause.split(' ').take_while(|word| {
        let first = word.chars().next();
        first.is_some_and(char::is_alphabetic)
    });
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    words.join("_")
}

/// The time at the end of a line: `8.052ms`.
fn milliseconds(text: &str) -> Option<f64> {
    let (_, last) = text.rsplit_once(' ')?;
    last.strip_suffix("ms")?.parse().ok()
}

/// Bytes behind the arrow of `26M->8M(512M)` or `276M(54%)->126M(25%)`.
fn heap_after(word: &str) -> Option<f64> {
    let (_, after) = word.split_once("->")?;
    let end = after.find('(').unwrap_or(after.len());
    let (number, unit) = after.get(..end)?.split_at_checked(end.checked_sub(1)?)?;
    let bytes = match unit {
        "B" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * bytes)
}

/// `2026-11-21T09:09:32.313+0000` in nanoseconds since 1970.
fn unix_ns_of(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let separators = [
        (4, b'-'),
        (7, b'-'),
        (10, b'T'),
        (13, b':'),
        (16, b':'),
        (19, b'.'),
    ];
    let bytes = text.as_bytes();
    if separators
        .iter()
        .any(|(at, byte)| bytes.get(*at) != Some(byte))
    {
        return None;
    }
    let days = cql::value::days_since_1970(number(0..4)?, number(5..7)?, number(8..10)?)?;
    let seconds = days * 86_400 + number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19)?;
    let sign = match bytes.get(23)? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let zone = sign * (number(24..26)? * 3600 + number(26..28)? * 60);
    let seconds = u64::try_from(seconds - zone).ok()?;
    let milliseconds = u64::try_from(number(20..23)?).ok()?;
    Some(seconds * SECOND_NS + milliseconds * MILLISECOND_NS)
}

#[cfg(test)]
mod tests;
