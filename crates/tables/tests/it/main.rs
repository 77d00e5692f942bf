//! Tests the tables of runs that are written through the store. The tests read the tables back in
//! both formats and compare them with the findings.

mod run;

use expect_test::expect_file;
use run::{KINDS, TestRun, interrupted, made};
use std::collections::BTreeMap;
use std::path::Path;
use store::Run;
use tables::{ExportRequest, ExportResult, Format, document, export};

/// Rows of a table. Each row maps the names of the columns to their cells. Empty cells are omitted.
type Rows = Vec<BTreeMap<String, String>>;

fn exported(run: &Path, formats: &[Format]) -> ExportResult {
    let run = Run::open(run).expect("a whole run");
    let wanted = ExportRequest {
        formats: formats.to_vec(),
        every_reading: false,
    };
    export(&run, &run.path.join("export"), &wanted).expect("tables")
}

fn rows(run: &Path, table: &str) -> Rows {
    let path = run.join("export").join(format!("{table}.csv"));
    let mut reader = csv::Reader::from_path(path).expect("a table");
    let rows = reader.deserialize().map(|row| row.expect("a row"));
    let whole = |row: BTreeMap<String, String>| {
        row.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    };
    rows.map(whole).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    let text = row.get(column).unwrap_or_else(|| panic!("no {column} in {row:?}"));
    text.parse().expect("a number")
}

#[test]
fn the_figures_of_the_tables_are_those_of_the_findings() {
    let TestRun {
        folder: _folder,
        path,
        findings,
    } = made();
    exported(&path, &[Format::Csv]);
    let (trial, found) = (&rows(&path, "trials")[0], &findings.trials[0]);
    assert_eq!(number(trial, "ops_per_s"), found.all.ops_per_s);
    assert_eq!(number(trial, "ok"), found.all.ops as f64);
    for figure in ["mean", "p50", "p95", "p99", "p999", "max"] {
        let (latency, service) = (&found.all.latency_ms, &found.all.service_ms);
        let value = |of: &store::record::QuantilesRecord| of.figure(figure).expect("known").least();
        assert_eq!(number(trial, &format!("{figure}_ms")), value(latency));
        assert_eq!(
            number(trial, &format!("service_{figure}_ms")),
            value(service)
        );
    }
    assert_eq!(trial["lower_bounds"], "p999_ms mean_ms max_ms");
    assert_eq!(
        trial["variant"],
        found.variant.as_str(),
        "text stays as it is"
    );
    let (point, known) = (&rows(&path, "points")[0], &findings.points[0]);
    assert_eq!(number(point, "ops_per_s"), known.ops_per_s);
    assert_eq!(number(point, "p99_ms"), known.latency_ms.p99.least());
    let (row, compared) = (&rows(&path, "comparisons")[0], &findings.comparisons[0]);
    assert_eq!(number(row, "ratio"), compared.ratio);
    assert_eq!(row["verdict"], compared.verdict.name());
    let fault = &rows(&path, "faults")[0];
    assert_eq!(
        (number(fault, "injected_window_s"), &*fault["kind"]),
        (0.5, "node-pause")
    );
    assert!(
        !fault.contains_key("whole_at"),
        "it was never seen whole: {fault:?}"
    );
    let cost = &rows(&path, "costs")[0];
    assert_eq!(
        (&*cost["cost"], number(cost, "value")),
        ("server_cpu_ms_per_op", 0.25)
    );
    let frame = &rows(&path, "profile_frames")[0];
    assert_eq!(
        (
            &*frame["frame"],
            &*frame["named"],
            number(frame, "difference_ci95_high")
        ),
        ("lab/SlowStage.burn", "true", 53.0)
    );
    assert!(!frame.contains_key("explained_by"), "{frame:?}");
}

#[test]
fn each_number_of_a_rule_is_a_row_with_its_limit_and_unit() {
    let TestRun {
        folder: _folder,
        path,
        ..
    } = made();
    exported(&path, &[Format::Csv]);
    let rules = rows(&path, "rules");
    let names: Vec<&str> = rules.iter().map(|row| row["rule"].as_str()).collect();
    assert_eq!(names, ["V9", "V12"]);
    for absent in ["quantity", "value", "limit", "unit"] {
        assert!(!rules[0].contains_key(absent), "{:?}", rules[0]);
    }
    let short = &rules[1];
    assert_eq!(
        (&*short["quantity"], &*short["unit"]),
        ("window_length", "s")
    );
    assert_eq!((number(short, "value"), number(short, "limit")), (3.0, 5.0));
    assert_eq!((&*short["is_minimum"], &*short["result"]), ("true", "warn"));
    let trial = &rows(&path, "trials")[0];
    assert_eq!(
        (&*trial["reason_rule"], &*trial["reason_unit"]),
        ("V12", "s")
    );
    let [value, limit] = ["reason_value", "reason_limit"].map(|column| number(trial, column));
    assert_eq!((value, limit), (3.0, 5.0));
}

#[test]
fn all_kinds_of_a_second_have_percentiles_of_summed_histograms() {
    let TestRun {
        folder: _folder,
        path,
        findings,
    } = made();
    exported(&path, &[Format::Csv]);
    let seconds = rows(&path, "seconds");
    let all: Rows = seconds.iter().filter(|row| row["kind"] == "all").cloned().collect();
    assert_eq!((seconds.len(), all.len()), (4 * (KINDS.len() + 1), 4));
    let measured: Rows = all.iter().filter(|row| row["phase"] == "measure").cloned().collect();
    let ok: f64 = measured.iter().map(|row| number(row, "ok")).sum();
    assert_eq!(ok, findings.trials[0].all.ops as f64, "parts are in no sum");
    // The interval has 60 operations of 2 ms and 40 operations of 8 ms. So the median is 2 ms, and
    // the p95 is 8 ms.
    let (second, window_s) = (&measured[0], number(&measured[0], "window_s"));
    assert!((number(second, "p50_ms") - 2.0).abs() < 0.01, "{second:?}");
    assert!((number(second, "p95_ms") - 8.0).abs() < 0.01, "{second:?}");
    assert!(
        (number(second, "service_p50_ms") - 1.0).abs() < 0.01,
        "{second:?}"
    );
    assert_eq!(window_s, 0.0);
    assert_eq!(
        number(&all[0], "window_s"),
        -1.0,
        "the warm-up is before the window"
    );
    let at = &second["at"];
    assert!(
        at.ends_with('Z') && at.len() == "2026-11-20T23:29:09.123456Z".len(),
        "{at}"
    );
    // A second in which no operation ended has no percentiles and a count of 0.
    let still = &measured[2];
    assert_eq!(number(still, "ok"), 0.0);
    assert!(
        !still.contains_key("p99_ms") && !still.contains_key("mean_ms"),
        "{still:?}"
    );
}

#[test]
fn an_interrupted_run_leaves_what_there_is_and_says_so() {
    let TestRun {
        folder: _folder,
        path,
        ..
    } = interrupted();
    let exported = exported(&path, &[Format::Csv]);
    assert!(
        exported.notes[0].contains("interrupted"),
        "{:?}",
        exported.notes
    );
    let count = |table: &str| rows(&path, table).len();
    assert_eq!(
        (count("points"), count("trials"), count("probes")),
        (0, 0, 1)
    );
    assert_eq!(count("seconds"), 4 * (KINDS.len() + 1));
    let second = &rows(&path, "seconds")[0];
    assert!(
        second.contains_key("at"),
        "its log says when it began: {second:?}"
    );
}

#[test]
fn every_table_is_documented() {
    expect_file!["../../../../docs/tables.md"].assert_eq(&document());
}

/// The test compares the cells one by one. An empty cell of the CSV file is NULL in the Parquet
/// file.
#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_what_csv_holds() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let TestRun {
        folder: _folder,
        path,
        ..
    } = made();
    let files = exported(&path, &[Format::Csv, Format::Parquet]).files;
    for file in files.iter().filter(|file| file.format == Format::Parquet) {
        let opened = std::fs::File::open(&file.path).expect("a file");
        let reader = SerializedFileReader::new(opened).expect("a Parquet file");
        assert_eq!(
            reader.metadata().file_metadata().num_rows() as u64,
            file.rows
        );
        let expected = rows(&path, file.table);
        assert_eq!(expected.len() as u64, file.rows, "{}", file.table);
        for (row, expected) in reader.get_row_iter(None).expect("rows").zip(expected) {
            let row = row.expect("a row");
            let cell = |(name, field): (&String, &Field)| {
                let text = match field {
                    Field::Null => return None,
                    Field::Str(text) => text.clone(),
                    Field::Double(value) => value.to_string(),
                    Field::Long(value) => value.to_string(),
                    Field::Bool(value) => value.to_string(),
                    Field::TimestampMicros(_) => expected.get(name)?.clone(),
                    other => panic!("{name} is {other:?}"),
                };
                Some((name.clone(), text))
            };
            let seen: BTreeMap<String, String> = row.get_column_iter().filter_map(cell).collect();
            assert_eq!(seen, expected, "{}", file.table);
        }
    }
}
