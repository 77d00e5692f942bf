//! Tests with real lines of JVMs, and with logs that grow, are recreated or are truncated.

use super::*;
use std::fs::File;
use std::io::Write;

/// Time of the first line of the sample log: 2026-11-21T09:09:32Z.
const SAMPLE_UNIX_NS: u64 = 1_795_252_172 * SECOND_NS;

fn line(milliseconds: u64, tags: &str, text: &str) -> String {
    let (seconds, rest) = (32 + milliseconds / 1000, milliseconds % 1000);
    format!("[2026-11-21T09:09:{seconds}.{rest:03}+0000][0.989s][info][{tags}] {text}\n")
}

fn pause(kind: &str, ms: f64, mebibytes: Option<f64>) -> Option<Event> {
    Some(Event::Pause {
        kind: kind.to_string(),
        ms,
        heap: mebibytes.map(|size| size * 1_048_576.0),
    })
}

#[test]
fn the_pauses_of_g1_are_told_apart() {
    let (gc, phases) = ("gc          ", "gc,phases   ");
    for (tags, text, event) in [
        (
            gc,
            "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 26M->8M(512M) 8.052ms",
            pause("young", 8.052, Some(8.0)),
        ),
        (
            gc,
            "GC(3) Pause Young (Concurrent Start) (Metadata GC Threshold) 13M->13M(512M) 6.225ms",
            pause("young", 6.225, Some(13.0)),
        ),
        (
            gc,
            "GC(9) Pause Young (Prepare Mixed) (G1 Evacuation Pause) 90M->1G(2G) 1.5ms",
            pause("young", 1.5, Some(1024.0)),
        ),
        (
            gc,
            "GC(10) Pause Young (Mixed) (G1 Evacuation Pause) 90M->512K(512M) 2.0ms",
            pause("mixed", 2.0, Some(0.5)),
        ),
        (
            gc,
            "GC(4) Pause Remark 15M->15M(512M) 3.345ms",
            pause("remark", 3.345, Some(15.0)),
        ),
        (
            gc,
            "GC(4) Pause Cleanup 15M->15M(512M) 0.034ms",
            pause("cleanup", 0.034, Some(15.0)),
        ),
        (
            gc,
            "GC(8) Pause Full (System.gc()) 90M->20M(512M) 98.7ms",
            pause("full", 98.7, Some(20.0)),
        ),
        // These lines are not pauses, or have no duration.
        (
            "gc,start    ",
            "GC(0) Pause Young (Normal) (G1 Evacuation Pause)",
            None,
        ),
        (phases, "GC(0)   Evacuate Collection Set: 7.3ms", None),
        (gc, "GC(4) Concurrent Mark Cycle 28.612ms", None),
        (gc, "Using G1", None),
    ] {
        let found = parse(&line(313, tags, text)).map(|(_, event)| event);
        assert_eq!(found, event, "{text}");
    }
}

#[test]
fn pauses_of_the_other_collectors_are_told_from_their_cycles() {
    let stall = Some(Event::Stall { ms: 12.5 });
    let heap = 126.0 * 1_048_576.0;
    let collected = Some(Event::Collected { heap });
    let (gc, phases) = ("gc          ", "gc,phases   ");
    for (tags, text, event) in [
        (
            gc,
            "GC(2) Pause Young (Allocation Failure) 186M->116M(466M) 74.602ms",
            pause("young", 74.602, Some(116.0)),
        ),
        // The second line is from generational ZGC.
        (
            phases,
            "GC(13) Pause Mark Start 0.036ms",
            pause("z_mark_start", 0.036, None),
        ),
        (
            phases,
            "GC(13) Y: Pause Relocate Start 0.02ms",
            pause("z_relocate_start", 0.02, None),
        ),
        (
            gc,
            "GC(13) Garbage Collection (Allocation Rate) 276M(54%)->126M(25%)",
            collected,
        ),
        (gc, "Allocation Stall (MutationStage-3) 12.5ms", stall),
        (
            gc,
            "GC(1) Pause Init Mark (unload classes) 0.24ms",
            pause("init_mark", 0.24, None),
        ),
        (
            gc,
            "GC(1) Pause Final Update Refs 0.1ms",
            pause("final_update_refs", 0.1, None),
        ),
        (
            gc,
            "GC(1) Concurrent cleanup 276M->126M(512M) 0.126ms",
            Some(Event::Collected { heap }),
        ),
    ] {
        let found = parse(&line(313, tags, text)).map(|(_, event)| event);
        assert_eq!(found, event, "{text}");
    }
}

#[test]
fn safepoints_of_java_11_17_and_21_say_how_long_all_stood_still() {
    for (text, reach_ms, stopped_ms) in [
        (
            "Safepoint \"G1CollectForAllocation\", Time since last: 2693185 ns, Reaching \
             safepoint: 84836 ns, Cleanup: 13060 ns, At safepoint: 11163542 ns, Total: 11261438 ns",
            0.084836,
            11.261438,
        ),
        (
            "Safepoint \"ZMarkStartYoung\", Time since last: 5 ns, Reaching safepoint: 250000 ns, \
             At safepoint: 1 ns, Leaving safepoint: 1 ns, Total: 500000 ns, Threads: 0 runnable, \
             45 total",
            0.25,
            0.5,
        ),
        (
            "Total time for which application threads were stopped: 0.0020000 seconds, Stopping \
             threads took: 0.0010000 seconds",
            1.0,
            2.0,
        ),
    ] {
        let event = Event::Safepoint {
            reach_ms,
            stopped_ms,
        };
        let found = parse(&line(0, "safepoint   ", text));
        assert_eq!(
            found,
            Some((LineTime::Wall(SAMPLE_UNIX_NS), event)),
            "{text}"
        );
    }
    for text in [
        "Safepoint \"Cleanup\", Total: soon ns",
        "Application time: 0.1 seconds",
        "",
    ] {
        assert_eq!(parse(&line(0, "safepoint", text)), None, "{text}");
    }
}

#[test]
fn a_log_with_cassandras_own_settings_has_levels_and_no_tags() {
    let line = |text: &str| {
        let text = format!("[2026-11-21T09:09:32.000+0000][0.989s][4711][4713][info ] {text}");
        parse(&text).map(|(_, event)| event)
    };
    let young = "GC(0) Pause Young (Normal) (G1 Evacuation Pause) 26M->8M(512M) 8.052ms";
    assert_eq!(line(young), pause("young", 8.052, Some(8.0)));
    assert_eq!(line("Using G1"), None);
    let safepoint = "Safepoint \"G1CollectForAllocation\", Time since last: 5 ns, Reaching \
                     safepoint: 1000000 ns, At safepoint: 2000000 ns, Total: 3000000 ns";
    let event = Event::Safepoint {
        reach_ms: 1.0,
        stopped_ms: 3.0,
    };
    assert_eq!(line(safepoint), Some(event));
}

#[test]
fn decorations_come_in_any_order_and_cpu_times_behind() {
    let text = "GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->8M(64M) 3.120ms";
    let cpu = format!("{text} User=0.01s Sys=0.00s Real=0.00s");
    let wall = LineTime::Wall(SAMPLE_UNIX_NS);
    let uptime = LineTime::Uptime(8_775_659 * MILLISECOND_NS);
    for (decorations, text, written) in [
        ("[2026-11-21T09:09:32.000+0000][info][gc]", &*cpu, wall),
        ("[8775.659s][info][gc]", text, uptime),
        ("[8775659ms][info][gc   ]", text, uptime),
        ("[8775659000000ns][info][gc]", text, uptime),
        (
            "[3.127s][2026-11-21T09:09:32.000+0000][info][gc]",
            text,
            wall,
        ),
        ("[1795252172000ms][db1][4711][info ]", text, wall),
        ("[2026-11-21T09:09:32.000+0000][8775.659s]", text, wall),
        ("[2026-11-21T09:09:32.000+0000][4711][4713]", text, wall),
    ] {
        let found = parse(&format!("{decorations} {text}"));
        let event = pause("young", 3.12, Some(8.0)).expect("one");
        assert_eq!(found, Some((written, event)), "{decorations}");
    }
    for decorations in ["", "[info][gc] ", "[info ] ", "[infs][info][gc] "] {
        let found = parse(&format!("{decorations}{text}"));
        let event = pause("young", 3.12, Some(8.0)).expect("one");
        assert_eq!(found, Some((LineTime::Missing, event)), "it has no time");
    }
}

#[test]
fn a_decimal_comma_is_a_decimal_point() {
    let text = "GC(7) Pause Young (Normal) (G1 Evacuation Pause) 24M->8M(64M) 3,120ms User=0,01s";
    let uptime = LineTime::Uptime(8_775_659 * MILLISECOND_NS);
    let event = pause("young", 3.12, Some(8.0)).expect("one");
    assert_eq!(
        parse(&format!("[8775,659s][info][gc] {text}")),
        Some((uptime, event))
    );
    let text = "Total time for which application threads were stopped: 0,0020000 seconds, Stopping \
                threads took: 0,0010000 seconds";
    let event = Event::Safepoint {
        reach_ms: 1.0,
        stopped_ms: 2.0,
    };
    assert_eq!(
        parse(&format!("[8775,659s][info] {text}")),
        Some((uptime, event))
    );
    for text in ["1,2,3", "1.2,3", "inf", "-1", "", ",", "1e3"] {
        assert_eq!(number(text), None, "{text}");
    }
}

#[test]
fn the_pauses_of_z_are_known_without_tags() {
    for (text, event) in [
        (
            "GC(13) Pause Mark Start 0.036ms",
            pause("z_mark_start", 0.036, None),
        ),
        (
            "GC(13) Y: Pause Mark Start (Major) 0.5ms",
            pause("z_mark_start", 0.5, None),
        ),
        (
            "GC(13) O: Pause Relocate Start 0.5ms",
            pause("z_relocate_start", 0.5, None),
        ),
        (
            "GC(1) Pause Init Mark 0.25ms",
            pause("init_mark", 0.25, None),
        ),
    ] {
        let found = parse(&format!("[1.5s][info ] {text}")).map(|(_, event)| event);
        assert_eq!(found, event, "{text}");
    }
}

#[test]
fn a_log_without_times_is_an_error_and_not_an_empty_log() {
    let mut logs = Logs::new();
    logs.append("gc.log", "");
    assert_eq!(logs.pauses(), []);
    logs.append(
        "gc.log",
        "[info][gc] GC(4) Pause Remark 15M->15M(512M) 1.5ms\n",
    );
    let mut out = Out::new();
    out.begin("gc_log", NOW_NS);
    let error = logs.reader.read(NOW_NS, SAMPLE_UNIX_NS, &mut out).unwrap_err().to_string();
    assert!(error.contains("pauses without a time"), "{error}");
}

#[test]
fn uptimes_count_from_a_start_that_the_newest_line_tells() {
    let mut logs = Logs::new();
    logs.append("gc.log", "");
    assert_eq!(logs.pauses(), []);
    let remark =
        |uptime: &str| format!("[{uptime}s][info][gc] GC(4) Pause Remark 15M->15M(512M) 1.5ms\n");
    logs.append("gc.log", &(remark("7.250") + &remark("8.000")));
    assert_eq!(logs.pauses(), [pause_row(-750, 1.5), pause_row(0, 1.5)]);
}

#[test]
fn a_pause_of_java_8_that_is_spread_over_lines_is_read() {
    let mut logs = Logs::new();
    logs.append("gc.log.0.current", "");
    assert_eq!(logs.pauses(), []);
    let text = "\
{Heap before GC invocations=0 (full 0):
 par new generation   total 92160K, used 81920K [0x1, 0x2, 0x3)
2026-11-21T09:09:31.000+0000: 12.3: [GC (Allocation Failure) \
2026-11-21T09:09:31.000+0000: 12.3: [ParNew
Desired survivor size 5242880 bytes, new threshold 1 (max 1)
- age   1:   10485744 bytes,   10485744 total
: 81920K->10240K(92160K), 0.0390 secs] 81920K->20480K(296960K), 0.0400 secs] \
[Times: user=0.1 sys=0.0, real=0.04 secs]
Heap after GC invocations=1 (full 0):
2026-11-21T09:09:32.000+0000: 13.3: [GC pause (G1 Evacuation Pause) (mixed)
Desired survivor size 1048576 bytes, new threshold 15 (max 15)
 (to-space exhausted), 0.0500 secs]
   [Parallel Time: 10.1 ms, GC Workers: 2]
 [Times: user=0.03 sys=0.00, real=0.01 secs]
";
    logs.append("gc.log.0.current", text);
    let row = |kind: &str, offset_ms, ms| (format!("gc.pause.{kind}"), offset_ms, ms);
    assert_eq!(
        logs.pauses(),
        [row("young", -1000, 40.0), row("mixed", 0, 50.0)]
    );
}

#[test]
fn the_log_that_java_8_rotates_is_followed() {
    let mut logs = Logs::new();
    logs.append("gc.log.0.current", "");
    assert_eq!(logs.pauses(), []);
    let cleanup = "2026-11-21T09:09:31.000+0000: 12.3: [GC cleanup 15M->14M(512M), 0.5 secs]\n";
    logs.append("gc.log.0.current", cleanup);
    let pause = ("gc.pause.cleanup".to_owned(), -1000, 500.0);
    assert_eq!(logs.pauses(), [pause]);
}

#[test]
fn times_are_read_in_any_zone_and_nonsense_is_not() {
    for (text, expected) in [
        ("1970-01-01T00:00:00.001+0000", Some(MILLISECOND_NS)),
        ("2026-11-21T09:09:32.000+0000", Some(SAMPLE_UNIX_NS)),
        ("2026-11-21T10:39:32.000+0130", Some(SAMPLE_UNIX_NS)),
        ("2026-11-21T01:09:32.000-0800", Some(SAMPLE_UNIX_NS)),
        (
            "2024-02-29T00:00:00.000+0000",
            Some(1_709_164_800 * SECOND_NS),
        ),
        (
            "2000-03-01T00:00:00.000+0000",
            Some(951_868_800 * SECOND_NS),
        ),
        ("1969-12-31T23:59:59.000+0000", None),
        ("2026-11-21T09:09:32.000", None),
        ("2026-11-21 09:09:32.000+0000", None),
        ("0.989s", None),
        ("äöüäöüäöüäöüäöüäöüäöüäöü", None),
    ] {
        assert_eq!(unix_ns_of(text), expected, "{text}");
    }
}

/// Folder of logs, and a reader whose wall clock shows `SAMPLE_UNIX_NS` at `NOW_NS`.
struct Logs {
    folder: tempfile::TempDir,
    reader: GcLog,
}

const NOW_NS: u64 = 100 * SECOND_NS;

impl Logs {
    fn new() -> Logs {
        let folder = tempfile::tempdir().unwrap();
        let host = Arc::new(agent::in_thread(folder.path()).unwrap());
        let reader = GcLog::new(&host, folder.path(), "node1");
        Logs { folder, reader }
    }

    fn append(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        let mut options = File::options();
        let mut file = options.create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Returns the name, the time relative to `NOW_NS` in milliseconds, and the value of each
    /// reading.
    fn look(&mut self) -> Vec<(String, i64, f64)> {
        let mut out = Out::new();
        out.begin("gc_log", NOW_NS);
        self.reader.read(NOW_NS, SAMPLE_UNIX_NS, &mut out).unwrap();
        let millisecond = MILLISECOND_NS as i64;
        let seen = |reading: &super::super::Reading| {
            assert_eq!((&*reading.place, &*reading.probe), ("node1", "gc_log"));
            let offset = (reading.at_ns as i64 - NOW_NS as i64) / millisecond;
            (reading.name.to_string(), offset, reading.value)
        };
        out.readings().iter().map(seen).collect()
    }

    fn pauses(&mut self) -> Vec<(String, i64, f64)> {
        let mut all = self.look();
        all.retain(|(name, ..)| name.starts_with("gc.pause."));
        all
    }
}

fn remark(before_ms: u64, ms: f64) -> String {
    let milliseconds = 60_000 - before_ms;
    let (seconds, rest) = (milliseconds / 1000 - 28, milliseconds % 1000);
    let text = format!("GC(4) Pause Remark 15M->15M(512M) {ms}ms");
    format!("[2026-11-21T09:09:{seconds:02}.{rest:03}+0000][1s][info][gc     ] {text}\n")
}

fn pause_row(offset_ms: i64, ms: f64) -> (String, i64, f64) {
    ("gc.pause.remark".to_string(), offset_ms, ms)
}

#[test]
fn earlier_log_lines_are_skipped_and_half_a_line_waits() {
    let mut logs = Logs::new();
    let half = remark(400, 2.5);
    let (begin, end) = half.split_at(60);
    logs.append(
        "gc-1.log",
        &format!("{}{}", remark(900, 1.0), remark(800, 1.5)),
    );
    assert_eq!(logs.look(), []);
    logs.append("gc-1.log", &format!("{}{begin}", remark(500, 2.0)));
    assert_eq!(logs.pauses(), [pause_row(-500, 2.0)]);
    logs.append("gc-1.log", end);
    assert_eq!(logs.pauses(), [pause_row(-400, 2.5)]);
    assert_eq!(logs.pauses(), []);
}

#[test]
fn a_node_that_is_started_again_is_followed_into_its_next_log() {
    let mut logs = Logs::new();
    logs.append("gc-1.log", &remark(900, 1.0));
    logs.append("system.log", "not of a collector\n");
    assert_eq!(logs.look(), []);
    logs.append("gc-1.log", &remark(700, 2.0));
    logs.append("gc-2.log", &remark(600, 3.0));
    assert_eq!(logs.pauses(), [pause_row(-700, 2.0), pause_row(-600, 3.0)]);
    logs.append("gc-2.log", &remark(500, 4.0));
    assert_eq!(logs.pauses(), [pause_row(-500, 4.0)]);
}

#[test]
fn a_restarted_or_renamed_log_is_read_from_its_beginning() {
    let mut logs = Logs::new();
    logs.append(
        "gc-1.log",
        &format!("{}{}", remark(900, 1.0), remark(800, 1.0)),
    );
    assert_eq!(logs.look(), []);
    std::fs::write(logs.folder.path().join("gc-1.log"), remark(700, 2.0)).unwrap();
    assert_eq!(logs.pauses(), [pause_row(-700, 2.0)]);
    let folder = logs.folder.path();
    std::fs::rename(folder.join("gc-1.log"), folder.join("gc-1.log.0")).unwrap();
    logs.append("gc-1.log", &remark(600, 3.0));
    assert_eq!(logs.pauses(), [pause_row(-600, 3.0)]);
}

#[test]
fn safepoints_are_summed_and_no_reading_is_of_the_future() {
    let mut logs = Logs::new();
    assert!(newest_log(&logs.reader.host, logs.folder.path()).is_err());
    logs.append("gc-1.log", "");
    assert_eq!(logs.look(), []);
    let safepoint = |reach: u64, total: u64| {
        let text = format!(
            "Safepoint \"Cleanup\", Time since last: 1 ns, Reaching safepoint: {reach} ns, \
             Cleanup: 1 ns, At safepoint: 1 ns, Total: {total} ns"
        );
        line(0, "safepoint   ", &text)
    };
    logs.append("gc-1.log", &safepoint(500_000, 1_000_000));
    logs.append("gc-1.log", &safepoint(1_500_000, 3_000_000));
    logs.append("gc-1.log", &line(5000, "gc", "GC(4) Pause Remark 1.0ms"));
    let expected = [
        ("gc.pause.remark", 1.0),
        ("safepoint.stopped", 4.0),
        ("safepoint.reach", 2.0),
        ("safepoint.longest", 3.0),
        ("safepoint.count", 2.0),
    ];
    assert_eq!(
        logs.look(),
        expected.map(|(name, value)| (name.to_string(), 0, value))
    );
    let names: Vec<String> = logs.look().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(
        names,
        expected[1..].iter().map(|(name, _)| *name).collect::<Vec<_>>()
    );
}
