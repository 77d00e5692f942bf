//! Functions that read bytes from other programs. Each fuzz target has one function.
//!
//! A fuzz target only passes the bytes of the fuzzer to its function. The mutation tests of the
//! gate (`crates/cassay/tests/mutations/`) call the same functions, so that these are compiled and
//! run whenever the gate runs. For any bytes, each function ends with a result or an error
//! sentence.

use cql::compression::decompress_body;
use cql::frame::{BODY_BYTES_MAX, HEADER_BYTES, RESPONSE_BIT, flag};
use cql::request::{self, Request};
use cql::response::{self, RawRows, Response, ResultBody};
use cql::{Compression, Header, Segments, Version, value};
use imports::Tool;
use std::path::PathBuf;
use store::hlog::HlogReader;
use store::record::{FindingsRecord, IntervalRecord, JournalRecord, NodesRecord, PlanRecord};
use store::record::{SampleRecord, TrialRecord};
use store::{Lines, OverviewRecord, SeriesPlacesRecord};
use study::resolve::resolve;
use study::settings::{GrantedPermissions, Overrides};

/// Reads a frame that a client sends. It consists of a header of nine bytes and a body.
pub fn request(bytes: &[u8]) {
    let _ = Header::parse_request(bytes);
    // The header of most inputs is invalid. The body is parsed nevertheless.
    let Some((header, body)) = framed(bytes, Version::V4.number()) else {
        return;
    };
    match request::parse(&header, body) {
        Ok(Request::Execute { id, parameters }) => {
            let count = parameters.values().count();
            assert_eq!(count, usize::from(parameters.values_count));
            if header.flags & flag::CUSTOM_PAYLOAD == 0 {
                assert_eq!(request::execute_id(body), Some(id));
            }
        }
        Ok(Request::Query { parameters, .. }) => {
            let count = parameters.values().count();
            assert_eq!(count, usize::from(parameters.values_count));
        }
        _ => {}
    }
}

/// Reads the bytes as a frame that a server sends, in every protocol version that cassay supports,
/// and as a segment.
pub fn response(bytes: &[u8]) {
    let _ = Header::parse_first_response(bytes);
    segment(bytes);
    for version in Version::ALL {
        let _ = Header::parse_response(bytes, version);
        let Some((header, body)) = framed(bytes, version.number() | RESPONSE_BIT) else {
            return;
        };
        if header.flags & flag::COMPRESSED == 0 {
            response_body(&header, body);
            continue;
        }
        let mut expanded = Vec::new();
        if decompress_body(body, &mut expanded, BODY_BYTES_MAX as usize).is_ok() {
            response_body(&header, &expanded);
        }
    }
}

fn segment(bytes: &[u8]) {
    for compression in [None, Some(Compression::Lz4)] {
        let segments = Segments::new(compression);
        let whole = segments.segment_bytes(bytes).ok().flatten();
        if let Some(segment) = whole.and_then(|whole| bytes.get(..whole)) {
            let _ = segments.unwrap(segment, &mut Vec::new());
        }
    }
}

fn framed(bytes: &[u8], version: u8) -> Option<(Header, &[u8])> {
    let (head, body) = bytes.split_at_checked(HEADER_BYTES)?;
    let header = Header {
        version,
        flags: head[1],
        stream: 0,
        opcode: head[4],
        length: body.len() as u32,
    };
    Some((header, body))
}

fn response_body(header: &Header, body: &[u8]) {
    let parsed = response::parse(header, body);
    let Ok(payload) = response::payload(header.flags, body) else {
        return;
    };
    let _ = (
        response::error_code(payload),
        response::result_kind(payload),
    );
    let raw = RawRows::parse(payload);
    if let Ok(raw) = raw {
        for row in raw.rows().flatten() {
            assert_eq!(row.cells().count(), raw.columns_count);
        }
    }
    let Ok(Response::Result(ResultBody::Rows(rows))) = parsed else {
        return;
    };
    assert_eq!(raw, Ok(rows.raw));
    for row in rows.raw.rows().flatten() {
        for (column, cell) in rows.columns.iter().zip(row.cells()) {
            if let Ok(value) = value::decode(&column.typ, cell) {
                let _ = (value.to_string(), value.as_i64(), value.as_f64());
            }
        }
    }
}

/// Reads a study. The result is a plan or error sentences.
pub fn study(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match resolve("study.yaml", &text, &Overrides::default()) {
        Ok(study) => {
            if let Ok(plan) = study::plan::plan(&study) {
                let record = engine::plan_record::plan_record(&study, &plan, "0.0.0");
                drop(serde_json::to_string(&record));
                drop(study::conditions::conditions(&study));
            }
        }
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
}

/// Reads the published results of a study's source, together with a study that refers to these
/// results.
pub fn published(bytes: &[u8]) {
    const STUDY: &str = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                         published: p.yaml\nvariants: {a: {}, b: {}}\n\
                         procedure: {fixed: {threads: 2}}\n";
    let text = String::from_utf8_lossy(bytes).into_owned();
    let overrides = Overrides {
        inputs: [("p.yaml".to_owned(), text)].into(),
        ..Overrides::default()
    };
    match resolve("study.yaml", STUDY, &overrides) {
        Ok(study) => assert!(study.published.is_some()),
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
}

/// Reads a command line of another tool, and the files that the command line names. The first line
/// of the input is the command, which begins with the tool's name. The rest of the input is the
/// content of every file.
pub fn import(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (command, file) = text.split_once('\n').unwrap_or((&text, ""));
    let (tool, words) = command.split_once(' ').unwrap_or((command, ""));
    let tool = match tool {
        "nb" => Tool::Nb,
        "ycsb" => Tool::Ycsb,
        "easy" => Tool::Easy,
        _ => Tool::Stress,
    };
    imported(tool, words, file);
}

/// Imports the command line of another tool. Every file that the command line names has the content
/// `file`.
pub fn imported(tool: Tool, text: &str, file: &str) {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let read = |_: &str| Ok(file.to_owned());
    match imports::import(tool, &words, 1, &read) {
        Ok(import) => {
            for step in import.steps.iter().take(3) {
                drop(workload::sample(&step.program, step.stage, 0, 2));
            }
        }
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
}

/// Reads a file of histograms.
pub fn hlog(bytes: &[u8]) {
    let reader = kept(bytes, "hlog").map(|path| HlogReader::open(&path));
    let Some(Ok(reader)) = reader else {
        return;
    };
    for entry in reader {
        let Ok(entry) = entry else { return };
        let _ = entry.histogram();
    }
}

/// Reads a journal, or another file that consists of lines.
pub fn journal(bytes: &[u8]) {
    let Some(path) = kept(bytes, "ndjson") else {
        return;
    };
    if let Ok(lines) = Lines::<JournalRecord>::open(&path) {
        lines.for_each(drop);
    }
    if let Ok(lines) = Lines::<IntervalRecord>::open(&path) {
        lines.for_each(drop);
    }
    if let Ok(lines) = Lines::<SampleRecord>::open(&path) {
        lines.for_each(drop);
    }
}

/// Reads the data of a long trial for a page, which is `overview.json` or lines of `series.ndjson`.
pub fn overview(bytes: &[u8]) {
    if let Ok(overview) = serde_json::from_slice::<OverviewRecord>(bytes) {
        for least_s in [0.0, 10.0] {
            drop(overview.intervals(least_s));
            drop(overview.cpu_others(least_s));
        }
        drop(overview.length_s());
    }
    let Some(path) = kept(bytes, "series") else {
        return;
    };
    if let Ok(lines) = Lines::<SeriesPlacesRecord>::open(&path) {
        for series in lines.flatten() {
            drop(series.unpacked(0.0));
            drop(series.unpacked(10.0));
        }
    }
}

/// Reads a JSON file of a run.
pub fn findings(bytes: &[u8]) {
    let _ = serde_json::from_slice::<FindingsRecord>(bytes);
    let _ = serde_json::from_slice::<TrialRecord>(bytes);
    let _ = serde_json::from_slice::<NodesRecord>(bytes);
    if let Ok(plan) = serde_json::from_slice::<PlanRecord>(bytes) {
        // The command `resume` reads the plan in the same way.
        let _ = engine::plan_record::overrides_of(&plan, GrantedPermissions::default());
    }
}

/// Writes these bytes to a file, which always has the same path. Returns `None` if the file cannot
/// be written.
fn kept(bytes: &[u8], end: &str) -> Option<PathBuf> {
    let path = std::env::temp_dir().join(format!("cassay-read-{}.{end}", std::process::id()));
    std::fs::write(&path, bytes).ok().map(|()| path)
}
