//! `-log`, `-graph`, `-reporting`, `-tokenrange`: what is shown while it runs and kept afterwards.

use core::time::Duration;

use yaml::Diagnostics;

use super::params_or_none;
use crate::stress::command::Groups;
use crate::stress::params::{KnownParam, Params, known};
use crate::stress::values;

/// What is shown and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How much is said.
    pub level: Level,
    /// Whether the block `Results:` is left out.
    pub no_summary: bool,
    /// Whether settings are not listed at the start.
    pub no_settings: bool,
    /// Where the text goes besides.
    pub file: Option<String>,
    /// Where histograms go.
    pub hdr_file: Option<String>,
    /// Time between two lines.
    pub interval: Duration,
    /// Lines between two headers, if the header is to be repeated.
    pub header_every: Option<Duration>,
    /// Parts that every token range is split into.
    pub token_range_split: u32,
    /// Whether token ranges begin again behind the last.
    pub token_range_wrap: bool,
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Next to nothing.
    Minimal,
    /// As usual.
    Normal,
    /// Everything is written.
    Verbose,
}

pub(crate) const LOG: [KnownParam; 7] = [
    known(
        "level=",
        1,
        "normal",
        "How much is said: minimal, normal or verbose",
    ),
    known("no-summary", 1, "", "Leave the block of results out"),
    known("no-settings", 1, "", "Leave the list of settings out"),
    known("file=", 1, "", "Write the text to this file too"),
    known("hdrfile=", 1, "", "Write histograms to this file"),
    known("interval=", 1, "1s", "Time between two lines: 1s, 500ms"),
    known(
        "print-statements-on-error",
        1,
        "",
        "Without effect: the report has examples of errors",
    ),
];

pub(crate) const GRAPH: [KnownParam; 4] = [
    known("file=", 1, "", "Without effect: the report has the graphs"),
    known("revision=", 1, "unknown", "Without effect"),
    known("title=", 1, "", "Without effect"),
    known("op=", 1, "", "Without effect"),
];

pub(crate) const REPORTING: [KnownParam; 2] = [
    known(
        "output-frequency=",
        1,
        "1s",
        "Time between two lines: 1s, 500ms",
    ),
    known(
        "header-frequency=",
        1,
        "",
        "Repeat the header so often: 30s",
    ),
];

pub(crate) const TOKEN_RANGE: [KnownParam; 2] = [
    known("wrap", 1, "", "Begin again behind the last token range"),
    known(
        "split-factor=",
        1,
        "1",
        "Split every token range into so many parts",
    ),
];

/// Parameters that do nothing here, and what there is instead.
type Silent = (&'static str, &'static str, &'static str);

const LINES: &str =
    "the run has every second of it in `intervals.ndjson`, and --compat a line a second";
const LOG_SILENT: [Silent; 4] = [
    (
        "-log",
        "level=",
        "--compat prints what the level normal prints",
    ),
    (
        "-log",
        "file=",
        "--compat prints that text, and the run's folder has the report",
    ),
    (
        "-log",
        "hdrfile=",
        "each trial's folder has its histograms as `latency.hlog`",
    ),
    ("-log", "interval=", LINES),
];
const REPORTING_SILENT: [Silent; 2] = [
    ("-reporting", "output-frequency=", LINES),
    ("-reporting", "header-frequency=", "the header comes once"),
];
const RANGES: &str =
    "the ring is read in ranges of equal width, from the first to the last and again";
const TOKEN_RANGE_SILENT: [Silent; 2] = [
    ("-tokenrange", "wrap", RANGES),
    ("-tokenrange", "split-factor=", RANGES),
];

/// Notes those that were given.
fn silent(params: &Params, all: &[Silent], notes: &mut Vec<String>) {
    for (option, form, instead) in all.iter().filter(|(_, form, _)| params.has(form)) {
        notes.push(format!("`{option} {form}` has no effect: {instead}."));
    }
}

pub(crate) fn read(groups: &mut Groups, notes: &mut Vec<String>, d: &mut Diagnostics) -> Output {
    let log = params_or_none("-log", groups, &LOG, d);
    let reporting = params_or_none("-reporting", groups, &REPORTING, d);
    let ranges = params_or_none("-tokenrange", groups, &TOKEN_RANGE, d);
    if let Some((option, words)) = groups.take("-graph") {
        // A title of several words is several words here: the tool joins and splits them all.
        let graph = Params::read("-graph", option.place(), words, &GRAPH, true, d);
        if !graph.has("file=") {
            let hint = Some("write for example -graph file=run.html".to_owned());
            d.add(&graph.place, "`-graph` needs `file=`", hint);
        }
        notes.push("`-graph` has no effect: the report has the graphs.".to_owned());
    }
    if log.has("print-statements-on-error") {
        let note = "`-log print-statements-on-error` has no effect: the report has an example of \
                    each error.";
        notes.push(note.to_owned());
    }
    silent(&log, &LOG_SILENT, notes);
    silent(&reporting, &REPORTING_SILENT, notes);
    silent(&ranges, &TOKEN_RANGE_SILENT, notes);
    let level = |text: &str| match text.to_ascii_lowercase().as_str() {
        "minimal" => Ok(Level::Minimal),
        "normal" => Ok(Level::Normal),
        "verbose" => Ok(Level::Verbose),
        _ => Err(format!("`{text}` is none of minimal, normal, verbose")),
    };
    let interval = reporting.value("output-frequency=", d, values::interval);
    let interval = log.value("interval=", d, values::interval).or(interval);
    let split = |text: &str| values::number(text, (1, 1_000_000)).map(|n| n as u32);
    Output {
        level: log.value("level=", d, level).unwrap_or(Level::Normal),
        no_summary: log.has("no-summary"),
        no_settings: log.has("no-settings"),
        file: log.text("file=").map(str::to_owned),
        hdr_file: log.text("hdrfile=").map(str::to_owned),
        interval: interval.unwrap_or(Duration::from_secs(1)),
        header_every: reporting.value("header-frequency=", d, values::interval),
        token_range_split: ranges.value("split-factor=", d, split).unwrap_or(1),
        token_range_wrap: ranges.has("wrap"),
    }
}
