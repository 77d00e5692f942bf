//! Parses `-log`, `-graph`, `-reporting` and `-tokenrange`. They determine the output during the
//! run, and the files that are written afterwards.

use core::time::Duration;

use yaml::Diagnostics;

use super::params_or_none;
use crate::stress::argument_values;
use crate::stress::command::Groups;
use crate::stress::params::{KnownParam, Params, new};

/// Output that the command line requests during the run and after its end. Only `no_summary` and
/// `no_settings` have an effect in cassay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub level: Verbosity,
    /// True if the output omits the block `Results:`.
    pub no_summary: bool,
    /// True if the output does not list settings at the start.
    pub no_settings: bool,
    /// File to which the output is also written.
    pub file: Option<String>,
    /// File to which histograms are written.
    pub hdr_file: Option<String>,
    /// Time between two lines of output.
    pub interval: Duration,
    /// Time between two headers of the table. `None` if the header is not repeated.
    pub header_every: Option<Duration>,
    /// Number of parts into which every token range is split.
    pub token_range_split: u32,
    /// True if the first token range follows again after the last token range.
    pub token_range_wrap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// The command line requests almost no output.
    Minimal,
    /// The command line requests the amount of output that the tool has by default.
    Normal,
    /// The command line requests all output.
    Verbose,
}

pub(crate) const LOG: [KnownParam; 7] = [
    new(
        "level=",
        1,
        "normal",
        "Amount of output: minimal, normal or verbose",
    ),
    new("no-summary", 1, "", "Omit the block of results"),
    new("no-settings", 1, "", "Omit the list of settings"),
    new("file=", 1, "", "Also write the text to this file"),
    new("hdrfile=", 1, "", "Write histograms to this file"),
    new("interval=", 1, "1s", "Time between two lines: 1s, 500ms"),
    new(
        "print-statements-on-error",
        1,
        "",
        "Without effect: the report contains examples of errors",
    ),
];

pub(crate) const GRAPH: [KnownParam; 4] = [
    new(
        "file=",
        1,
        "",
        "Without effect: the report contains the graphs",
    ),
    new("revision=", 1, "unknown", "Without effect"),
    new("title=", 1, "", "Without effect"),
    new("op=", 1, "", "Without effect"),
];

pub(crate) const REPORTING: [KnownParam; 2] = [
    new(
        "output-frequency=",
        1,
        "1s",
        "Time between two lines: 1s, 500ms",
    ),
    new("header-frequency=", 1, "", "Time between two headers: 30s"),
];

pub(crate) const TOKEN_RANGE: [KnownParam; 2] = [
    new("wrap", 1, "", "Begin again after the last token range"),
    new(
        "split-factor=",
        1,
        "1",
        "Number of parts of each token range",
    ),
];

/// Parameters without effect in cassay. Each has the form, a reason, and the replacement.
type Silent = (&'static str, &'static str, &'static str);

const LINES: &str =
    "`intervals.ndjson` of the run contains every second, and --compat prints a line per second";
const LOG_SILENT: [Silent; 4] = [
    (
        "-log",
        "level=",
        "--compat prints the output of the level normal",
    ),
    (
        "-log",
        "file=",
        "--compat prints that text, and the run's folder contains the report",
    ),
    (
        "-log",
        "hdrfile=",
        "each trial's folder contains its histograms as `latency.hlog`",
    ),
    ("-log", "interval=", LINES),
];
const REPORTING_SILENT: [Silent; 2] = [
    ("-reporting", "output-frequency=", LINES),
    ("-reporting", "header-frequency=", "the header appears once"),
];
const RANGES: &str =
    "cassay reads the ring in ranges of equal width, from the first to the last, and then again";
const TOKEN_RANGE_SILENT: [Silent; 2] = [
    ("-tokenrange", "wrap", RANGES),
    ("-tokenrange", "split-factor=", RANGES),
];

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
        // The parser receives a title of several words as separate words, because the tool joins
        // and splits all words.
        let graph = Params::read("-graph", option.place(), words, &GRAPH, true, d);
        if !graph.has("file=") {
            let hint = Some("write for example -graph file=run.html".to_owned());
            d.add(&graph.place, "`-graph` requires `file=`", hint);
        }
        notes.push("`-graph` has no effect: the report contains the graphs.".to_owned());
    }
    if log.has("print-statements-on-error") {
        let note = "`-log print-statements-on-error` has no effect: the report contains an example \
             of each error.";
        notes.push(note.to_owned());
    }
    silent(&log, &LOG_SILENT, notes);
    silent(&reporting, &REPORTING_SILENT, notes);
    silent(&ranges, &TOKEN_RANGE_SILENT, notes);
    let level = |text: &str| match text.to_ascii_lowercase().as_str() {
        "minimal" => Ok(Verbosity::Minimal),
        "normal" => Ok(Verbosity::Normal),
        "verbose" => Ok(Verbosity::Verbose),
        _ => Err(format!("`{text}` is not one of minimal, normal, verbose")),
    };
    let interval = reporting.value("output-frequency=", d, argument_values::interval);
    let interval = log.value("interval=", d, argument_values::interval).or(interval);
    let split = |text: &str| argument_values::number(text, (1, 1_000_000)).map(|n| n as u32);
    Output {
        level: log.value("level=", d, level).unwrap_or(Verbosity::Normal),
        no_summary: log.has("no-summary"),
        no_settings: log.has("no-settings"),
        file: log.text("file=").map(str::to_owned),
        hdr_file: log.text("hdrfile=").map(str::to_owned),
        interval: interval.unwrap_or(Duration::from_secs(1)),
        header_every: reporting.value("header-frequency=", d, argument_values::interval),
        token_range_split: ranges.value("split-factor=", d, split).unwrap_or(1),
        token_range_wrap: ranges.has("wrap"),
    }
}
