//! Tests the sections of the page about requests, which show how requests were sent, counts of rows
//! and pages, and the notes of a run.

use crate::fixture::{self, Shape};
use measure::{KindCount, KindCounts};
use report::{Block, Page, RunView, Table, Tone, compare, html, page, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Returns a statement in the form of a plan.
pub fn request(kind: &str) -> Value {
    let is_read = kind == "read";
    json!({
        "kind": kind,
        "cql": if is_read {
            "SELECT v FROM iot.sensors WHERE k = ?"
        } else {
            "INSERT INTO iot.sensors (k, v) VALUES (?, ?)"
        },
        "consistency": "LOCAL_ONE",
        "serial_consistency": null,
        "idempotent": true,
        "prepared": true,
        "batch": null,
        "conditional": false,
        "returns_rows": is_read,
        "page_size": is_read.then_some(5_000),
        "pages_max": null,
        "timestamps": "server",
        "timeout_ms": 2_000.0,
        "retries": 0,
        "speculate_after_ms": if is_read { json!(50.0) } else { json!(null) },
        "compression": "none",
    })
}

/// Returns counts of reads, with ten rows in each page. The counts do not include times.
pub fn counts(shape: Shape, reads: u64) -> BTreeMap<String, KindCounts> {
    let counts = KindCounts::from([
        (KindCount::Rows, 10 * reads),
        (KindCount::Pages, reads),
        (KindCount::Speculations, shape.threads),
        (KindCount::SpeculationsWon, shape.threads / 4),
    ]);
    BTreeMap::from([("read".to_string(), counts)])
}

fn run(off: Value, on: Value) -> RunView {
    let mut view = fixture::run(1);
    let requests = json!({"off": off, "on": on});
    view.plan.resolved.requests = serde_json::from_value(requests).expect("requests");
    view
}

fn blocks(page: &Page) -> Vec<&Block> {
    page.sections().flat_map(|s| &s.blocks).collect()
}

fn table<'a>(page: &'a Page, caption: &str) -> &'a Table {
    let mut tables = blocks(page).into_iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let found = tables.find(|table| table.caption == caption);
    found.unwrap_or_else(|| panic!("no table {caption:?}"))
}

/// Returns heads and rows of a table, with one line for each row. `!` marks emphasized cells.
fn lines(table: &Table) -> Vec<String> {
    let heads: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    let mut lines = vec![heads.join(" | ")];
    for row in &table.rows {
        assert_eq!(row.cells.len(), heads.len(), "{lines:?}");
        let cell = |cell: &report::Cell| match cell.tone {
            Tone::Strong => format!("{}!", cell.text),
            _ => cell.text.clone(),
        };
        lines.push(row.cells.iter().map(cell).collect::<Vec<_>>().join(" | "));
    }
    lines
}

/// Returns a statement that differs from the other statements of its kind.
fn with(kind: &str, changes: &[(&str, Value)]) -> Value {
    let mut request = request(kind);
    for (key, value) in changes {
        request[*key] = value.clone();
    }
    request
}

#[track_caller]
fn shows(view: &RunView, rows: &[&str], foot: &str) {
    let page = page(view);
    let table = table(&page, "How requests are sent");
    assert_eq!((lines(table), table.foot.as_str()), (owned(rows), foot));
}

fn owned(rows: &[&str]) -> Vec<String> {
    rows.iter().map(|row| (*row).to_owned()).collect()
}

#[test]
fn shared_settings_are_a_sentence_and_the_others_a_column() {
    let both = json!([request("write"), request("read")]);
    shows(
        &run(both.clone(), both),
        &[
            "Kind | Consistency | Timeout | Speculative execution",
            "write | LOCAL_ONE | 2 s | none",
            "read | LOCAL_ONE | 2 s | after 50 ms",
        ],
        "The same for all requests, where applicable: no retries; idempotent; prepared statements; \
         page size 5,000 rows; timestamps by the server; no compression.",
    );
}

#[test]
fn rows_in_which_variants_differ_name_them_in_bold() {
    let quorum = with(
        "read",
        &[
            ("consistency", json!("QUORUM")),
            ("retries", json!(3)),
            ("timeout_ms", json!(250.0)),
            ("speculate_after_ms", json!(null)),
            ("compression", json!("lz4")),
        ],
    );
    let usual = with("read", &[("speculate_after_ms", json!(null))]);
    shows(
        &run(
            json!([request("write"), usual]),
            json!([request("write"), quorum]),
        ),
        &[
            "Kind | Variant | Consistency | Timeout | Retries | Compression",
            "write | all | LOCAL_ONE | 2 s | none | none",
            "read | off | LOCAL_ONE! | 2 s! | none! | none!",
            "read | on | QUORUM! | 250 ms! | 3! | lz4!",
        ],
        "The same for all requests, where applicable: no speculative execution; idempotent; \
         prepared statements; page size 5,000 rows; timestamps by the server.",
    );
}

#[test]
fn differently_sent_statements_of_one_kind_have_a_row_each() {
    let claim = with(
        "write",
        &[
            (
                "cql",
                json!("UPDATE iot.sensors SET v = ?\n  WHERE k = ? IF v = ?"),
            ),
            ("conditional", json!(true)),
            ("idempotent", json!(false)),
            ("timestamps", json!("server")),
        ],
    );
    let batch = with(
        "write",
        &[
            ("batch", json!("unlogged")),
            ("timestamps", json!("client")),
            ("serial_consistency", json!("LOCAL_SERIAL")),
        ],
    );
    let both = json!([batch, claim]);
    shows(
        &run(both.clone(), both),
        &[
            "Kind | Statement | Consistency | Serial consistency | Timeout | Idempotent | Sent as \
             | Timestamps",
            "write | INSERT INTO iot.sensors (k, v) VALUES (?… | LOCAL_ONE | LOCAL_SERIAL! | 2 s \
             | yes! | UNLOGGED BATCH! | client!",
            "write | UPDATE iot.sensors SET v = ? WHERE k = ?… | LOCAL_ONE | SERIAL! | 2 s \
             | no! | prepared! | server!",
        ],
        "The same for all requests, where applicable: no retries; no speculative execution; no \
         compression.",
    );
}

#[test]
fn kinds_that_were_never_executed_have_no_row() {
    let both = json!([request("write"), request("read"), request("delete")]);
    let mut view = run(both.clone(), both);
    let kinds = |view: &RunView| -> Vec<String> {
        let page = page(view);
        let table = table(&page, "How requests are sent");
        let kind = |row: &report::Row| row.cells[0].text.clone();
        table.rows.iter().map(kind).collect()
    };
    assert_eq!(kinds(&view), ["write", "read"]);
    // Before any statement was executed, the page shows all possible kinds.
    view.trials.clear();
    assert_eq!(kinds(&view), ["write", "read", "delete"]);
}

#[test]
fn every_statement_stands_whole_behind_the_table() {
    let both = json!([request("write"), request("read")]);
    let html = html(&page(&run(both.clone(), both)));
    assert!(html.contains("<summary>The statements (2)</summary>"));
    for cql in [
        "INSERT INTO iot.sensors (k, v) VALUES (?, ?)",
        "SELECT v FROM iot.sensors WHERE k = ?",
    ] {
        assert_eq!(html.matches(cql).count(), 1, "{cql}");
    }
}

#[test]
fn a_plan_with_few_or_no_recorded_requests_has_a_page() {
    let mut view = fixture::run(1);
    view.plan.resolved.requests.clear();
    let text = text(&page(&view));
    assert!(!text.contains("How requests are sent"));
    // The plan records nothing about the statement except its kind, so the other columns have
    // dashes.
    shows(
        &run(json!([{"kind": "read"}]), json!([{"kind": "read"}])),
        &["Kind | Consistency | Timeout", "read | – | –"],
        "",
    );
}

#[test]
fn notes_stand_in_the_configuration_and_not_among_its_settings() {
    let note = "scans read rows in the order of their tokens <not of their keys>";
    let mut view = fixture::run(1);
    view.plan.resolved.notes = vec![note.to_owned()];
    let page = page(&view);
    assert_eq!(text(&page).matches(note).count(), 1);
    let escaped = note.replace('<', "&lt;").replace('>', "&gt;");
    assert_eq!(html(&page).matches(&escaped).count(), 1);
    view.plan.resolved.notes.clear();
    assert!(!text(&report::page(&view)).contains("Notes\n"));
}

#[test]
fn files_of_a_study_keep_their_lines_and_a_long_one_is_cut() {
    let mut view = fixture::run(1);
    let long = "ä".repeat(40 << 10);
    let inputs = json!({"own.yaml": "a: 1\nb: <2>\n", "long.yaml": long});
    let overrides = json!({"inputs": inputs, "seed": 7});
    view.plan.resolved.overrides = serde_json::from_value(overrides).expect("overrides");
    let html = html(&page(&view));
    assert!(html.contains("<summary>The file own.yaml</summary>"));
    assert!(html.contains("<pre><code>a: 1\nb: &lt;2&gt;\n</code></pre>"));
    assert_eq!(html.matches('ä').count(), 32 << 10);
    assert!(html.contains("plan.json contains all 80 KiB"));
    assert!(html.contains("overrides.seed") && !html.contains("overrides.inputs"));
}

/// cassay stores keys of a user's table with a run. The keys must not be on a page, because users
/// share pages.
#[test]
fn keys_of_a_table_are_not_on_the_page() {
    let mut view = fixture::run(1);
    let inputs = json!({"shop.users.keys.csv": "id\nsomebody@example.org\nelse\n"});
    view.plan.resolved.overrides =
        serde_json::from_value(json!({"inputs": inputs})).expect("overrides");
    let html = html(&page(&view));
    assert!(html.contains("3 lines, which this page does not show"));
    assert!(!html.contains("somebody@example.org"));
    let beside = text(&compare(&fixture::run(1), &view));
    let said = "study: overrides.inputs.shop.users.keys.csv";
    assert!(beside.contains(said) && beside.contains("3 lines, SHA-256 "));
    assert!(!beside.contains("somebody@example.org"), "{beside}");
}

#[test]
fn only_nonzero_counts_have_a_column_and_an_explanation() {
    const CAPTION: &str = "Outcomes of operations";
    let mut view = fixture::run(1);
    view.findings.trials.truncate(1);
    let heads = |view: &RunView| {
        let page = page(view);
        let table = table(&page, CAPTION);
        (lines(table), table.foot.clone())
    };
    let counts = view.findings.trials[0].counts.get_mut("read");
    *counts.expect("counts") = KindCounts::from([
        (KindCount::Retries, 1_234),
        (KindCount::NotApplied, 5),
        (KindCount::Reprepared, 2),
        (KindCount::RowsMissing, 7),
    ]);
    let (lines, foot) = heads(&view);
    assert_eq!(
        lines,
        [
            "Trial | Variant | Point | Kind | Without a row | Not applied | Retries \
             | Prepared again",
            "0 | off | 4 threads | read | 7 | 5 | 1,234 | 2",
        ]
    );
    for (words, said) in [("IF …", true), ("no longer had", true), ("Batches", false)] {
        assert_eq!(foot.contains(words), said, "{words}: {foot}");
    }
    view.findings.trials[0].counts.clear();
    assert!(!text(&page(&view)).contains(CAPTION));
}
