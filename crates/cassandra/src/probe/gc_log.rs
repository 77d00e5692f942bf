//! Pauses and safepoints of a node's JVM, from its garbage collector log
//! (`-Xlog:gc*,safepoint:file=…:time,uptime,level,tags`, or with Cassandra's default settings
//! `-Xlog:gc=info,…,safepoint=info,…:file=…/gc.log:time,uptime,pid,tid,level`).
//!
//! A collector's line contains the kind and the duration of a pause. The format differs between
//! collectors. A safepoint line contains the time for which all threads were stopped for any
//! reason. The JVM writes a line at the end of the pause. The probe adds up the safepoints between
//! two samples. It follows the newest log in the folder, because a restarted node begins a new log.
//! It ignores lines from before the first sample.

mod followed_file;
mod java8;

use anyhow::{Context, Result, ensure};
use followed_file::FollowedFile;
use host::probe::{Out, SampledSource};
use host::{Agent, Entry};
use measure::clock::{self, MILLISECOND_NS, SECOND_NS};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct GcLog {
    host: Arc<Agent>,
    folder: PathBuf,
    place: String,
    followed: Option<FollowedFile>,
    /// True after the first sample. The probe then reads new logs from their beginning.
    begun: bool,
    /// True if the node runs on another machine than cassay, which has a different wall clock.
    is_elsewhere: bool,
    /// Latest possible start of the JVM, in nanoseconds since 1970. Set only from lines with an
    /// uptime and without a wall-clock time.
    started_unix_ns: Option<u64>,
    java8_pauses: java8::SplitPauses,
}

impl GcLog {
    /// Creates a probe for the node `place`. `folder` contains the garbage collector logs on
    /// `host`.
    pub fn new(host: &Arc<Agent>, folder: &Path, place: &str) -> GcLog {
        GcLog {
            host: Arc::clone(host),
            folder: folder.to_path_buf(),
            place: place.to_string(),
            followed: None,
            begun: false,
            is_elsewhere: false,
            started_unix_ns: None,
            java8_pauses: java8::SplitPauses::default(),
        }
    }

    pub fn elsewhere(self) -> GcLog {
        GcLog {
            is_elsewhere: true,
            ..self
        }
    }

    fn wall_ns(&self) -> Result<u64> {
        let ahead_ns = if self.is_elsewhere {
            self.host.wall_clock()?.0
        } else {
            0
        };
        Ok(clock::unix_ns().saturating_add_signed(ahead_ns))
    }

    /// Reads new lines, and stores their values. `unix_ns` is the wall-clock time at `now_ns`.
    fn read(&mut self, now_ns: u64, unix_ns: u64, out: &mut Out) -> Result<()> {
        let mut lines = Vec::new();
        if let Some(followed) = &mut self.followed {
            followed.read(&self.host, &mut lines)?;
        }
        let newest = newest_log(&self.host, &self.folder)?;
        let path = self.folder.join(&newest.name);
        let is_it = |followed: &FollowedFile| followed.is(&path, newest.id);
        if !self.followed.as_ref().is_some_and(is_it) {
            let mut followed = FollowedFile::open(&self.host, path, newest.id, !self.begun)?;
            followed.read(&self.host, &mut lines)?;
            self.followed = Some(followed);
            // A new log may come from a new JVM with a different start.
            self.started_unix_ns = None;
        }
        let first = !std::mem::replace(&mut self.begun, true);
        let mut safepoints = Safepoints::default();
        let parsed: Vec<(LineTime, Event)> = lines
            .iter()
            .filter_map(|line| self.parse_next(&String::from_utf8_lossy(line)))
            .collect();
        // The JVM writes a line before the probe reads it. The last line has the smallest delay, so
        // it gives the best estimate of the JVM's start.
        let uptimes = parsed.iter().filter_map(|(written, _)| match written {
            LineTime::Uptime(uptime_ns) => Some(*uptime_ns),
            LineTime::Wall(_) | LineTime::Missing => None,
        });
        if let Some(uptime_ns) = uptimes.max() {
            let latest_ns = unix_ns.saturating_sub(uptime_ns);
            let before_ns = self.started_unix_ns.unwrap_or(u64::MAX);
            self.started_unix_ns = Some(before_ns.min(latest_ns));
        }
        for (written, event) in &parsed {
            let written_unix_ns = match written {
                LineTime::Wall(unix_ns) => *unix_ns,
                LineTime::Uptime(uptime_ns) => {
                    self.started_unix_ns.unwrap_or_default().saturating_add(*uptime_ns)
                }
                LineTime::Missing => continue,
            };
            // The clocks of the two machines may differ. A line from the future counts as written
            // now.
            let at_ns = now_ns.saturating_sub(unix_ns.saturating_sub(written_unix_ns));
            self.put(at_ns, event, &mut safepoints, out);
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
        let has_time = |(written, _): &(LineTime, Event)| *written != LineTime::Missing;
        ensure!(
            parsed.iter().all(has_time),
            "{} contains pauses without a time, which cassay omits\nhint: let the JVM write the \
             time of each line: `-Xlog:…:file=…:time,uptime,level,tags`, or on Java 8 \
             `-XX:+PrintGCDateStamps`",
            self.folder.join(&newest.name).display()
        );
        Ok(())
    }

    fn parse_next(&mut self, line: &str) -> Option<(LineTime, Event)> {
        match self.java8_pauses.join(line) {
            Some(whole) => parse(&whole),
            None => parse(line),
        }
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

impl SampledSource for GcLog {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.read(now_ns, self.wall_ns()?, out)
    }

    fn last(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        self.read(now_ns, self.wall_ns()?, out)
    }
}

#[derive(Default)]
struct Safepoints {
    stopped_ms: f64,
    reach_ms: f64,
    longest_ms: f64,
    count: f64,
}

/// Returns the most recently written log. Among logs with equal times, returns the last one by
/// name.
fn newest_log(host: &Agent, folder: &Path) -> Result<Entry> {
    let entries = host.list(folder, None)?.unwrap_or_default();
    // cassay names logs gc-<number>.log. Cassandra's default name is gc.log. Java 8 appends a
    // number and `.current` when it rotates logs.
    let is_log = |entry: &Entry| {
        let kind = entry.name.strip_prefix("gc");
        kind.is_some_and(|kind| {
            kind == ".log"
                || (kind.starts_with('-') && kind.ends_with(".log"))
                || (kind.starts_with(".log.") && kind.ends_with(".current"))
        })
    };
    let logs = entries.into_iter().filter(is_log);
    let newest = logs.max_by(|a, b| (a.id.changed_ns, &a.name).cmp(&(b.id.changed_ns, &b.name)));
    newest.with_context(|| {
        format!(
            "{} contains no gc.log or gc-*.log: enable the garbage collection log of the node, or \
             correct the folder",
            folder.display()
        )
    })
}

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Pause {
        /// Type of the pause: `young`, `mixed`, `full`, `remark`, `z_mark_start`, …
        kind: String,
        ms: f64,
        /// Number of heap bytes in use after the pause, if the line contains this number.
        heap: Option<f64>,
    },
    /// End of a concurrent collection, with the number of heap bytes then in use.
    Collected {
        heap: f64,
    },
    Stall {
        ms: f64,
    },
    Safepoint {
        reach_ms: f64,
        stopped_ms: f64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum LineTime {
    /// Wall-clock time, in nanoseconds since 1970.
    Wall(u64),
    /// Time since the JVM started, in nanoseconds.
    Uptime(u64),
    /// No time, for example with `-Xlog:…:none` or `-Xlog:…:level,tags`.
    Missing,
}

/// Parses a line into its time and content. Returns `None` for an irrelevant line. The `-Xlog`
/// decorations may have any order. A wall-clock time takes precedence over an uptime.
fn parse(line: &str) -> Option<(LineTime, Event)> {
    if !line.starts_with('[') || java8::is_pause(line) {
        let bare = || Some((LineTime::Missing, parse_untagged(line.trim())?));
        return java8::parse(line).or_else(bare);
    }
    let mut rest = line;
    let (mut wall, mut uptime, mut tags) = (None, None, "");
    while let Some((inside, behind)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        match written_of(inside.trim_end()) {
            Some(LineTime::Wall(ns)) => wall = wall.or(Some(LineTime::Wall(ns))),
            Some(LineTime::Uptime(ns)) => uptime = uptime.or(Some(LineTime::Uptime(ns))),
            Some(LineTime::Missing) | None => {}
        }
        tags = inside.trim_end();
        rest = behind;
    }
    let text = rest.trim();
    let event = match tags {
        "gc" => parse_collector(text)?,
        "gc,phases" => parse_z_phase(text)?,
        "safepoint" => parse_safepoint(text)?,
        // With Cassandra's default settings, lines have no tags, so the last decoration is the
        // level. With other settings without tags, it is a time or the number of a thread.
        last if has_no_tags(last) => parse_untagged(text)?,
        _ => return None,
    };
    Some((wall.or(uptime).unwrap_or(LineTime::Missing), event))
}

/// Pauses of ZGC. In lines without tags, these names distinguish the pauses from those of other
/// collectors.
const Z_PAUSES: [&str; 3] = ["z_mark_start", "z_mark_end", "z_relocate_start"];

fn parse_untagged(text: &str) -> Option<Event> {
    let is_of_z = |event: &Event| match event {
        Event::Pause { kind, .. } => Z_PAUSES.contains(&kind.as_str()),
        _ => false,
    };
    parse_safepoint(text)
        .or_else(|| parse_z_phase(text).filter(is_of_z))
        .or_else(|| parse_collector(text))
}

/// Parses a number with a decimal point or comma. The JVM uses the user's locale.
fn number(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b".,".contains(&byte));
    let digits = text.replacen(',', ".", 1);
    is_number.then(|| digits.parse().ok()).flatten()
}

fn has_no_tags(last: &str) -> bool {
    last == "info" || last.parse::<u64>().is_ok() || written_of(last).is_some()
}

/// Smallest number of milliseconds that counts as a time since 1970 (September 2001). Smaller
/// numbers count as times since the start of the JVM.
const WALL_MS_MIN: u64 = 1_000_000_000_000;

/// Parses a decoration with a time: `time` or `utctime` as ISO 8601, `uptime` in seconds,
/// `timemillis` or `uptimemillis` in milliseconds, `timenanos` or `uptimenanos` in nanoseconds.
/// `timenanos` has an arbitrary zero, which is the same for all lines, so it counts as an uptime.
fn written_of(decoration: &str) -> Option<LineTime> {
    if let Some(ns) = unix_ns_of(decoration) {
        return Some(LineTime::Wall(ns));
    }
    if let Some(number) = decoration.strip_suffix("ms") {
        let ms: u64 = number.parse().ok()?;
        let ns = ms.checked_mul(MILLISECOND_NS)?;
        return Some(if ms < WALL_MS_MIN {
            LineTime::Uptime(ns)
        } else {
            LineTime::Wall(ns)
        });
    }
    if let Some(number) = decoration.strip_suffix("ns") {
        return number.parse().ok().map(LineTime::Uptime);
    }
    let seconds = number(decoration.strip_suffix('s')?)?;
    Some(LineTime::Uptime((seconds * SECOND_NS as f64) as u64))
}

/// Parses a collector's line, such as `GC(7) Pause Young (Mixed) (G1 Evacuation Pause)
/// 26M->8M(512M) 8.052ms`.
fn parse_collector(text: &str) -> Option<Event> {
    let text = without_number(text);
    let heap = text.split(' ').find_map(heap_after);
    if text.starts_with("Allocation Stall") {
        return Some(Event::Stall {
            ms: milliseconds(text)?,
        });
    }
    let Some(pause) = text.strip_prefix("Pause ") else {
        // ZGC writes a summary line at the end of a collection. Shenandoah writes the heap size
        // after it has freed regions.
        let is_end = text.contains(" Collection (") || text.starts_with("Concurrent cleanup");
        let heap = heap.filter(|_| is_end)?;
        return Some(Event::Collected { heap });
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

/// Parses `GC(13) Pause Mark Start 0.036ms`. With generational ZGC, the form is `GC(13) Y: Pause
/// Mark Start 0.036ms`.
fn parse_z_phase(text: &str) -> Option<Event> {
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

/// Parses a safepoint line. Since Java 13, its form is `Safepoint "Cleanup", Time since last: 1 ns,
/// Reaching safepoint: 2 ns, …, Total: 3 ns`. In older versions, the form is `Total time for which
/// application threads were stopped: 0.0020681 seconds, Stopping threads took: 0.0000143 seconds`.
fn parse_safepoint(text: &str) -> Option<Event> {
    let part = |name: &str, unit: &str, to_ms: f64| -> Option<f64> {
        let (_, behind) = text.split_once(name)?;
        let digits = behind.trim_start().split(' ').next()?;
        let is_unit = behind.trim_start()[digits.len()..].trim_start().starts_with(unit);
        number(digits).filter(|_| is_unit).map(|n| n * to_ms)
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

/// Returns the text after a prefix such as `GC(7) `.
fn without_number(text: &str) -> &str {
    match text.split_once(") ") {
        Some((number, rest)) if number.starts_with("GC(") => rest,
        _ => text,
    }
}

/// Converts `Final Update Refs 0.1ms` to `final_update_refs`. Stops before the first word that does
/// not begin with a letter.
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

/// Parses the duration at the end of a line, such as `8.052ms`. Newer JDKs append CPU times:
/// `User=0.01s Sys=0.00s Real=0.00s`.
fn milliseconds(text: &str) -> Option<f64> {
    let is_cpu = |word: &&str| ["User=", "Sys=", "Real="].iter().any(|name| word.starts_with(name));
    let last = text.split(' ').rev().find(|word| !is_cpu(word))?;
    number(last.strip_suffix("ms")?)
}

/// Parses the number of bytes after the arrow in `26M->8M(512M)` or `276M(54%)->126M(25%)`.
fn heap_after(word: &str) -> Option<f64> {
    let (_, after) = word.split_once("->")?;
    let end = after.find('(').unwrap_or(after.len());
    let (digits, unit) = after.get(..end)?.split_at_checked(end.checked_sub(1)?)?;
    let bytes = match unit {
        "B" => 1.0,
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    number(digits).map(|number| number * bytes)
}

/// Parses `2026-11-21T09:09:32.313+0000` into nanoseconds since 1970.
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
