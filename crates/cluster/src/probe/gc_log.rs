//! Pauses and safepoints of a node's JVM, from the log that it writes itself
//! (`-Xlog:gc*,safepoint:file=…:time,uptime,level,tags`, or as Cassandra's own settings have it:
//! `-Xlog:gc=info,…,safepoint=info,…:file=…/gc.log:time,uptime,pid,tid,level`).
//!
//! The lines of the collector say why the JVM stood still, those of safepoints how long: one format
//! for all collectors, where the collector's own lines differ with each. A pause stands at the time
//! of its line, which is written when it ends; what is between two looks is summed for safepoints.
//! Followed is the newest log of the folder, so that a node that was started again, which begins
//! another one, is followed too. What was logged before the first look is not read.

use anyhow::{Context, Result};
use host::probe::{Look, Out};
use host::{Agent, Entry, FileId, From};
use measure::clock::{self, MILLISECOND_NS, SECOND_NS};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How far from the end of a log its last whole line is looked for: lines are of 300 bytes.
const LAST_LINE_BYTES: u64 = 64 << 10;

/// What is kept of a line that does not end; no line of the JVM's is so long.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Follows the collector's log of one node.
pub(super) struct GcLog {
    host: Arc<Agent>,
    folder: PathBuf,
    place: String,
    followed: Option<Followed>,
    /// Whether the first look is over: logs that appear later are read from their beginning.
    begun: bool,
    /// Whether it is on another machine, which has a wall clock of its own.
    is_elsewhere: bool,
}

impl GcLog {
    /// Of the node `place`, whose logs are in `folder` of its host as `gc-<something>.log`.
    pub(super) fn new(host: &Arc<Agent>, folder: &Path, place: &str) -> GcLog {
        GcLog {
            host: Arc::clone(host),
            folder: folder.to_path_buf(),
            place: place.to_string(),
            followed: None,
            begun: false,
            is_elsewhere: false,
        }
    }

    /// The same of another machine.
    pub(super) fn elsewhere(self) -> GcLog {
        GcLog {
            is_elsewhere: true,
            ..self
        }
    }

    /// The wall clock of its machine.
    fn wall_ns(&self) -> Result<u64> {
        let ahead_ns = if self.is_elsewhere {
            self.host.wall_clock()?.0
        } else {
            0
        };
        Ok(clock::unix_ns().saturating_add_signed(ahead_ns))
    }

    /// Reads what is new and puts it; `unix_ns` is the wall clock at `now_ns`.
    fn read(&mut self, now_ns: u64, unix_ns: u64, out: &mut Out) -> Result<()> {
        let mut lines = Vec::new();
        if let Some(followed) = &mut self.followed {
            followed.read(&self.host, &mut lines)?;
        }
        let newest = newest_log(&self.host, &self.folder)?;
        let path = self.folder.join(&newest.name);
        let is_it = |followed: &Followed| followed.is(&path, newest.id);
        if !self.followed.as_ref().is_some_and(is_it) {
            let mut followed = Followed::open(&self.host, path, newest.id, !self.begun)?;
            followed.read(&self.host, &mut lines)?;
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
        self.read(now_ns, self.wall_ns()?, out)
    }

    fn last(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.read(now_ns, self.wall_ns()?, out)
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
    id: FileId,
    offset: u64,
    /// The beginning of a line that is not written to its end yet.
    partial: Vec<u8>,
}

impl Followed {
    /// Begins with a log: at its beginning, or behind its last whole line.
    fn open(host: &Agent, path: PathBuf, id: FileId, at_end: bool) -> Result<Followed> {
        let mut offset = 0;
        if at_end && let Some(tail) = host.piece(&path, From::End(LAST_LINE_BYTES))? {
            let whole = tail.bytes.0.iter().rposition(|byte| *byte == b'\n');
            offset = tail.at + whole.map_or(0, |last| last as u64 + 1);
        }
        Ok(Followed {
            path,
            id,
            offset,
            partial: Vec::new(),
        })
    }

    /// Whether the file at `path` is this one still: the JVM renames a log that it rotates.
    fn is(&self, path: &Path, id: FileId) -> bool {
        self.path == path && (self.id.device, self.id.inode) == (id.device, id.inode)
    }

    /// Adds the lines that have become whole since the last call.
    fn read(&mut self, host: &Agent, lines: &mut Vec<Vec<u8>>) -> Result<()> {
        loop {
            let piece = host.piece(&self.path, From::Byte(self.offset))?;
            let Some(piece) = piece.filter(|piece| self.is(&self.path, piece.id)) else {
                return Ok(());
            };
            if piece.size < self.offset {
                // Begun anew under the same name.
                self.offset = 0;
                self.partial.clear();
                continue;
            }
            if piece.bytes.0.is_empty() {
                return Ok(());
            }
            self.offset += piece.bytes.0.len() as u64;
            self.add(&piece.bytes.0, lines);
        }
    }

    fn add(&mut self, new: &[u8], lines: &mut Vec<Vec<u8>>) {
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
    }
}

/// The log that was written to last; of equal ones the last by name.
fn newest_log(host: &Agent, folder: &Path) -> Result<Entry> {
    let entries = host.list(folder, None)?.unwrap_or_default();
    // Ours are called gc-<time>.log, those of Cassandra's own settings gc.log.
    let is_log = |entry: &Entry| {
        let kind = entry.name.strip_prefix("gc");
        kind.is_some_and(|kind| kind == ".log" || (kind.starts_with('-') && kind.ends_with(".log")))
    };
    let logs = entries.into_iter().filter(is_log);
    let newest = logs.max_by(|a, b| (a.id.changed_ns, &a.name).cmp(&(b.id.changed_ns, &b.name)));
    newest.with_context(|| {
        format!(
            "there is no gc.log or gc-*.log in {}: the node writes no log of its garbage collector",
            folder.display()
        )
    })
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
        // Cassandra's own settings have the level last, and no tags.
        "info" => of_safepoint(text).or_else(|| of_collector(text))?,
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
        let is_unit = behind.trim_start()[number.len()..].trim_start().starts_with(unit);
        is_unit.then(|| number.parse::<f64>().ok()).flatten().map(|n| n * to_ms)
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
    let words: Vec<String> = pause
        .split(' ')
        .take_while(|word| {
            let first = word.chars().next();
            first.is_some_and(char::is_alphabetic)
        })
        .map(str::to_lowercase)
        .collect();
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
    if separators.iter().any(|(at, byte)| bytes.get(*at) != Some(byte)) {
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
