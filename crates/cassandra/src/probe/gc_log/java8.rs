//! Lines of the garbage collector log of Java 8, which Cassandra 4.0 may use.
//!
//! A line begins with a date, an uptime or both, each followed by `: `. If the JVM prints the ages
//! of objects, as with Cassandra's settings, a pause has several lines. Only the first of these
//! lines has a time, which is the start of the pause.

use super::{Event, LineTime, SECOND_NS, heap_after, number, parse_safepoint, unix_ns_of};

/// Parses a line into its time and content. Returns `None` for an irrelevant line.
pub(super) fn parse(line: &str) -> Option<(LineTime, Event)> {
    let (mut rest, mut wall, mut uptime) = (line, None, None);
    while let Some((stamp, behind)) = rest.split_once(": ") {
        if let Some(ns) = unix_ns_of(stamp) {
            wall = Some(LineTime::Wall(ns));
        } else if let Some(seconds) = number(stamp) {
            uptime = Some(LineTime::Uptime((seconds * SECOND_NS as f64) as u64));
        } else {
            break;
        }
        rest = behind;
    }
    let written = wall.or(uptime).unwrap_or(LineTime::Missing);
    let event = if rest.starts_with('[') {
        parse_pause(rest)?
    } else {
        parse_safepoint(rest.trim_end())?
    };
    Some((written, event))
}

/// Joins the first and the last line of a pause.
#[derive(Default)]
pub(super) struct SplitPauses {
    first: Option<String>,
}

impl SplitPauses {
    /// Processes the next line. After the last line of a pause, returns the joined lines. The lines
    /// in between contain neither the duration nor the heap size.
    pub(super) fn join(&mut self, line: &str) -> Option<String> {
        let line = line.split(" [Times:").next()?.trim_end();
        let is_end = line.ends_with(" secs]");
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            let is_pause = line.contains(": [GC ") || line.contains(": [Full GC ");
            self.first = (is_pause && !is_end).then(|| line.to_owned());
            return None;
        }
        // A line in brackets contains details that are not needed.
        if !is_end || line.trim_start().starts_with('[') {
            return None;
        }
        self.first.take().map(|first| first + line)
    }
}

/// Returns true if a line is a pause without a time. Java 8 omits the time by default.
pub(super) fn is_pause(line: &str) -> bool {
    line.starts_with("[GC ") || line.starts_with("[Full GC")
}

/// Parses `[GC (Allocation Failure) […] 419456K->60000K(996160K), 0.0413 secs] [Times: …]`.
fn parse_pause(text: &str) -> Option<Event> {
    let text = text.split(" [Times:").next()?.trim_end();
    let (before, duration) = text.strip_suffix(" secs]")?.rsplit_once(", ")?;
    let has = |part: &str| text.contains(part);
    let kind = if text.starts_with("[Full GC") {
        "full"
    } else if !text.starts_with("[GC ") || text.starts_with("[GC concurrent") {
        return None;
    } else if has("(CMS Initial Mark)") {
        "cms_initial_mark"
    } else if has("(CMS Final Remark)") {
        "cms_final_remark"
    } else if text.starts_with("[GC remark") {
        "remark"
    } else if text.starts_with("[GC cleanup") {
        "cleanup"
    } else if has("(mixed)") {
        "mixed"
    } else {
        "young"
    };
    Some(Event::Pause {
        kind: kind.to_owned(),
        ms: number(duration)? * 1e3,
        heap: before.split([' ', ',']).filter_map(heap_after).next_back(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const STAMP: &str = "2026-11-21T09:09:32.000+0000: 12.345: ";

    fn pause(kind: &str, ms: f64, kibibytes: Option<f64>) -> Event {
        Event::Pause {
            kind: kind.to_owned(),
            ms,
            heap: kibibytes.map(|size| size * 1024.0),
        }
    }

    #[test]
    fn pauses_and_safepoints_of_java_8_are_read() {
        for (text, event) in [
            (
                "[GC (Allocation Failure) 2026-11-21T09:09:32.000+0000: 12.345: [ParNew: \
                 419456K->52416K(471872K), 0.0411 secs] 419456K->60000K(996160K), 0.0625 secs] \
                 [Times: user=0.15 sys=0.01, real=0.06 secs] ",
                pause("young", 62.5, Some(60_000.0)),
            ),
            (
                "[GC (CMS Initial Mark) [1 CMS-initial-mark: 10K(20K)] 30K(50K), 0.0010 secs]",
                pause("cms_initial_mark", 1.0, None),
            ),
            (
                "[GC (CMS Final Remark) [YG occupancy: 1 K (2 K)], 0.5 secs]",
                pause("cms_final_remark", 500.0, None),
            ),
            (
                "[GC pause (G1 Evacuation Pause) (young), 0.25 secs]",
                pause("young", 250.0, None),
            ),
            (
                "[GC pause (G1 Evacuation Pause) (mixed), 0.25 secs]",
                pause("mixed", 250.0, None),
            ),
            ("[GC remark, 0.0030 secs]", pause("remark", 3.0, None)),
            ("[GC remark, 0,0030 secs]", pause("remark", 3.0, None)),
            (
                "[GC cleanup 15M->14M(512M), 0.5 secs]",
                pause("cleanup", 500.0, Some(14_336.0)),
            ),
            (
                "[Full GC (System.gc()) 90M->20M(512M), 0.5 secs]",
                pause("full", 500.0, Some(20_480.0)),
            ),
            (
                "Total time for which application threads were stopped: 0.0020000 seconds, \
                 Stopping threads took: 0.0010000 seconds",
                Event::Safepoint {
                    reach_ms: 1.0,
                    stopped_ms: 2.0,
                },
            ),
        ] {
            let wall = LineTime::Wall(1_795_252_172 * SECOND_NS);
            let found = parse(&format!("{STAMP}{text}"));
            assert_eq!(found, Some((wall, event.clone())), "{text}");
            let uptime = LineTime::Uptime(12_345_000_000);
            for stamp in ["12.345", "12,345"] {
                let found = parse(&format!("{stamp}: {text}"));
                assert_eq!(found, Some((uptime, event.clone())), "{text}");
            }
            assert_eq!(parse(text), Some((LineTime::Missing, event)), "{text}");
        }
        for text in [
            "[GC concurrent-mark-end, 0.1234 secs]",
            "[CMS-concurrent-mark: 0.1/0.2 secs]",
            "[GC (Allocation Failure) 2026-11-21T09:09:32.000+0000: 12.345: [ParNew",
            "Application time: 0.1 seconds",
        ] {
            assert_eq!(parse(&format!("{STAMP}{text}")), None, "{text}");
        }
        assert_eq!(parse("   [Parallel Time: 1.5 ms, GC Workers: 2]"), None);
        assert_eq!(parse(": 419456K->52416K(471872K), 0.0411 secs]"), None);
    }
}
