//! Tests rows whose keys are records of a CSV, rows in groups, and values that are missing in some
//! rows.

use std::sync::Arc;

use crate::file::compile_file;
use crate::program::{Program, Stage};
use crate::spec::Spec;
use yaml::Diagnostics;

const KEYED: &str = "\
csv: keys.csv
schema: ['CREATE TABLE t (a uuid, b int, v text, PRIMARY KEY (a, b))']
values:
  a: column(id)
  b: column('the place')
statements:
  read: SELECT v FROM t WHERE a = :a AND b = :b
";

const CSV: &str = "\
id,the place
1b4e28ba-2fa1-4d2b-883f-0016d3cca427,7
0x1b4e28ba2fa14d2b883f0016d3cca428,-1
";

fn made(text: &str, csv: &str) -> Result<Arc<Program>, Diagnostics> {
    let read = |name: &str| {
        assert_eq!(name, "keys.csv");
        Ok(csv.to_owned())
    };
    compile_file("w.yaml", text, &Spec::new("", 1000, 7), &read).map(Arc::new)
}

/// Returns the values of the first statement of an operation.
fn values(program: &Arc<Program>, stage: Stage, n: u64) -> Vec<u8> {
    let mut generator = program.generator(stage);
    generator.begin(n);
    let mut out = Vec::new();
    generator.append_entry_values(0, &mut out);
    out
}

#[test]
fn rows_of_a_csv_are_its_records_and_nothing_need_be_loaded() {
    let program = made(KEYED, CSV).unwrap();
    assert_eq!(program.rows(), 2);
    assert!(
        program.statements()[0].finds,
        "the rows are said to be there"
    );
    assert!(program.writes(Stage::Load).is_empty());
    let mut keys: Vec<Vec<u8>> = (0..50).map(|n| values(&program, Stage::Main, n)).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(
        keys.len(),
        2,
        "both records are asked for, and nothing else"
    );
    assert!(keys.iter().any(|key| key.ends_with(&[0, 0, 0, 4, 0xFF, 0xFF, 0xFF, 0xFF])));
}

#[test]
fn a_mistake_in_a_csv_is_reported_with_its_line() {
    for (from, to, csv, said) in [
        (
            "column(id)",
            "column(ids)",
            CSV,
            "keys.csv has no column \"ids\"; it has id, the place",
        ),
        ("column(id)", "column(ids)", CSV, "did you mean `id`?"),
        (
            "",
            "",
            "id,the place\n",
            "no record below the line of column names",
        ),
        (
            "",
            "",
            "id,the place\nx,7\n",
            "line 2: \"x\" in column id is not a value of type uuid",
        ),
        ("", "", "id,the place\n1,2,3\n", "line: 2"),
        (
            "csv: keys.csv\n",
            "",
            CSV,
            "`column` reads its values from a CSV file, but the workload file names no CSV file",
        ),
        (
            "(id)",
            "(a, b)",
            CSV,
            "column requires the name of one column",
        ),
    ] {
        let wrong = made(&KEYED.replacen(from, to, 1), csv).unwrap_err().to_string();
        assert!(wrong.contains(said), "{said} is not in\n{wrong}");
    }
}

const GROUPED: &str = "\
schema: ['CREATE TABLE t (a uuid, b int, s int static, v text, PRIMARY KEY (a, b))']
values:
  a: {is: uuid, groups: [1, 3]}
  b: {is: row, within: [1, 3]}
  s: {is: 'uniform(1..1000000)', groups: [1, 3]}
  v: {is: 'text(one_of(3, 9))', missing: 0.25}
statements:
  write: INSERT INTO t (a, b, s, v) VALUES (:a, :b, :s, :v)
  read: SELECT a, b, s FROM t WHERE a = :a AND b = :b
load: write
verify: read
";

#[test]
fn rows_of_a_group_share_a_partition_and_have_places_in_it() {
    let program = made(GROUPED, "").unwrap();
    let row = |n| values(&program, Stage::Load, n);
    let [key, shared] = [0..20, 28..36];
    for (one, other, is_same) in [(1, 2, true), (2, 3, true), (0, 1, false), (3, 4, false)] {
        assert_eq!(
            row(one)[key.clone()] == row(other)[key.clone()],
            is_same,
            "{one} {other}"
        );
        assert_eq!(
            row(one)[shared.clone()] == row(other)[shared.clone()],
            is_same
        );
    }
    let places: Vec<u8> = (0..8).map(|n| row(n)[27]).collect();
    assert_eq!(places, [0, 0, 1, 2, 0, 0, 1, 2]);
    // Groups that differ from the groups of the key do not make rows unique. They also do not make
    // the values of a static column equal.
    for (from, to, said) in [
        (
            "b: {is: row, within: [1, 3]}",
            "b: {is: row, within: [2, 2]}",
            "the same primary key",
        ),
        (
            "1000000)', groups: [1, 3]}",
            "1000000)', groups: [1, 2]}",
            "s is static",
        ),
        (
            "b: {is: row, within: [1, 3]}",
            "b: {is: row, within: [1, 3], divide: 2}",
            "has only one of",
        ),
        ("within: [1, 3]", "within: [1, 0]", "whole numbers from 1"),
        (
            "b: {is: row,",
            "b: {is: row, missing: 0.5,",
            ":b is bound to a column of the primary key",
        ),
        ("missing: 0.25", "missing: 2", "from 0 to 1"),
        (
            "read: SELECT a, b, s",
            "read: SELECT a, b, v",
            "v is v, which is missing in some rows",
        ),
        ("one_of(3, 9)", "one_of()", "no size to choose from"),
        ("one_of(3, 9)", "one_of(3, x)", "`x` is not a size"),
        (
            "text(one_of(3, 9))",
            "words(a, b, shares=1)",
            "must be one whole number for each of 2",
        ),
        (
            "text(one_of(3, 9))",
            "words(a, shares=1, by=zipf)",
            "not by both",
        ),
    ] {
        let wrong = made(&GROUPED.replacen(from, to, 1), "").unwrap_err().to_string();
        assert!(wrong.contains(said), "{said} is not in\n{wrong}");
    }
}

#[test]
fn a_share_of_rows_has_no_value_and_sizes_come_alike() {
    let program = made(GROUPED, "").unwrap();
    let (mut unset, mut sizes) = (0, [0; 2]);
    for n in 0..4000 {
        let row = values(&program, Stage::Load, n);
        match i32::from_be_bytes(row[36..40].try_into().unwrap()) {
            -2 => unset += 1,
            3 => sizes[0] += 1,
            9 => sizes[1] += 1,
            other => panic!("a text of {other} bytes"),
        }
    }
    assert!((900..1100).contains(&unset), "{unset} of 4000 at 25 %");
    assert!(
        (0.9..1.1).contains(&(f64::from(sizes[0]) / f64::from(sizes[1]))),
        "{sizes:?}"
    );
}
