//! Tests values that several rows share. Also tests that the compiler refuses to check a read if
//! the check would always fail on a correct server.

use super::{mistakes, program, spec, values};
use crate::file::{compile_file, no_files};
use crate::program::{Program, Stage};
use std::sync::Arc;

const INBOX: &str = include_str!("../../../../../workloads/inbox.yaml");

/// Workload whose table contains ten messages for each user. All messages of a user share some
/// values.
const SHARED: &str = "\
schema:
  - CREATE TABLE t (u bigint, m int, name text STATIC, v text, PRIMARY KEY (u, m))
values:
  u: row(divide=10)
  m: row(modulo=10)
  name: {is: text(20), divide: 10}
  v: text(20)
  other: {is: uniform(0..99), per: operation}
statements:
  write: INSERT INTO t (u, m, name, v) VALUES (:u, :m, :name, :v)
  read: SELECT name, v FROM t WHERE u = :u AND m = :m
load: write
verify: read
";

fn reason(from: &str, to: &str) -> String {
    assert!(SHARED.contains(from), "{from}");
    let made = compile_file("w.yaml", &SHARED.replacen(from, to, 1), &spec(), &no_files);
    made.map_or_else(|mistakes| mistakes.to_string(), |_| "nothing".to_owned())
}

/// Returns the values in column `at` of the first rows that the load stage writes.
fn column(program: &Arc<Program>, at: usize, rows: u64) -> Vec<Vec<u8>> {
    let rows = 0..rows;
    rows.map(|n| values(program, Stage::Load, n)[0][at].clone()).collect()
}

#[test]
fn the_inbox_compiles_and_its_reads_are_checked() {
    let program = program(INBOX);
    assert!(program.statements().iter().any(|s| s.verifies));
    for n in 0..2000 {
        let mut generator = program.generator(Stage::Main);
        generator.begin(n);
        assert!(generator.entries() > 0);
    }
}

#[test]
fn rows_of_one_quotient_share_a_value_that_a_modulus_repeats() {
    let divided = column(&program(SHARED), 2, 30);
    assert!(divided[..10].iter().all(|name| *name == divided[0]));
    assert!(divided[0] != divided[10] && divided[10] != divided[20]);
    let text = SHARED
        .replace("divide: 10}", "divide: 5, modulo: 2}")
        .replace("verify: read\n", "");
    let again = column(&program(&text), 2, 20);
    assert!(again[0] != again[5] && again[0] == again[10] && again[5] == again[19]);
}

#[test]
fn a_smaller_rest_makes_the_primary_key_ambiguous() {
    assert_eq!(reason("modulo=10", "modulo=10"), "nothing");
    assert_eq!(reason("modulo=10", "modulo=25"), "nothing");
    for (from, to) in [
        ("modulo=10", "modulo=9"),
        ("row(divide=10)", "row(divide=10, modulo=3)"),
        ("row(modulo=10)", "uniform(0..9)"),
    ] {
        let found = reason(from, to);
        assert!(
            found.contains("may have the same primary key"),
            "{to}: {found}"
        );
    }
}

#[test]
fn rows_changed_by_others_or_by_time_are_not_checked() {
    for (from, to, expected) in [
        (
            "divide: 10}",
            "divide: 3}",
            "name is static, and rows of one partition",
        ),
        ("{is: text(20), divide: 10}", "text(20)", "`divide: 10`"),
        (
            "m))",
            "m)) WITH gc_grace_seconds = 0 AND default_time_to_live = 60",
            "rows of the table expire by default_time_to_live",
        ),
        (
            "statements:\n",
            "statements:\n  s: UPDATE t SET v = :v WHERE u = :other AND m = :m\n",
            "s writes rows of other keys: it binds u to another value than the read does",
        ),
        (
            "statements:\n",
            "statements:\n  s: UPDATE t SET v = :v WHERE u = :u AND m = 3\n",
            "s writes rows of other keys: it binds m to another value than the read does",
        ),
        (
            "statements:\n",
            "statements:\n  s: UPDATE t SET name = :name WHERE u = :other\n",
            "s writes rows of other keys: it binds u to another value than the read does",
        ),
    ] {
        let found = reason(from, to);
        assert!(found.contains("cassay cannot check read"), "{to}: {found}");
        assert!(found.contains(expected), "{to}: {found}");
    }
    for harmless in [
        "UPDATE t SET name = :name WHERE u = :u",
        "UPDATE t SET v = :v WHERE u = :u AND m = :m",
    ] {
        let found = reason("statements:\n", &format!("statements:\n  s: {harmless}\n"));
        assert_eq!(found, "nothing", "{harmless}");
    }
    let found = reason("m))", "m)) WITH default_time_to_live = 0");
    assert_eq!(found, "nothing", "0 is not a time to live");
}

#[test]
fn ranges_may_begin_below_0_where_the_type_does() {
    let with = |typ: &str, expression: &str| {
        let text = super::SMALL
            .replace("v text,", &format!("v {typ},"))
            .replace("v: text(20)", &format!("v: {expression}"))
            .replace("verify: read\n", "");
        compile_file("w.yaml", &text, &spec(), &no_files).map(Arc::new)
    };
    for (typ, range, bytes) in [("tinyint", -4..=4, 1), ("bigint", -2000..=-1000, 8)] {
        let (from, to) = (range.start(), range.end());
        let made = with(typ, &format!("uniform({from}..{to})")).expect(typ);
        let drawn: Vec<i64> = column(&made, 2, 500)
            .into_iter()
            .map(|cell| {
                assert_eq!(cell.len(), bytes);
                let sign = if cell[0] & 0x80 == 0 { 0 } else { 0xff };
                let mut wide = vec![sign; 8 - bytes];
                wide.extend(cell);
                i64::from_be_bytes(wide.try_into().expect("8 bytes"))
            })
            .collect();
        assert!(drawn.iter().all(|number| range.contains(number)), "{typ}");
        assert!(drawn.iter().any(|number| number < &(from + (to - from) / 2)));
    }
    for (typ, expression, expected) in [
        (
            "tinyint",
            "uniform(-200..5)",
            "begins at -200; tinyint begins at -128",
        ),
        ("text", "uniform(-5..5)", "text begins at 0"),
        ("int", "uniform(-5..3G)", "int ends at 2147483647"),
        ("int", "uniform(5..-5)", "is not a range"),
    ] {
        let found = with(typ, expression).expect_err(expression).to_string();
        assert!(found.contains(expected), "{expression}: {found}");
    }
    assert!(with("decimal", "real(-1k..2M)").is_ok());
}

#[test]
fn whole_numbers_of_any_size_have_one_form_only() {
    for (number, expected) in [
        ("0", &[0][..]),
        ("-1", &[0xff]),
        ("127", &[0x7f]),
        ("128", &[0, 0x80]),
        ("-128", &[0x80]),
        ("-129", &[0xff, 0x7f]),
        ("65536", &[1, 0, 0]),
    ] {
        let text = super::SMALL
            .replace("v text,", "v varint,")
            .replace("v: text(20)", &format!("v: {number}"));
        assert_eq!(column(&program(&text), 2, 1)[0], expected, "{number}");
    }
}

#[test]
fn a_mistake_of_the_schema_is_not_said_again_by_each_statement() {
    let found = mistakes("PRIMARY KEY (a, b))", "PRIMARY KEY (a, b)");
    assert!(
        found.contains("the `)` of the table is missing at the end"),
        "{found}"
    );
    assert!(!found.contains("no table"), "{found}");
    let found = mistakes("(a, b, v) VALUES (:a, :b, :v)", "(a, b, v) VALUES (:a, :b)");
    assert!(
        found.contains("this statement has 3 columns, but 2 values"),
        "{found}"
    );
}

#[test]
fn tokens_and_vectors_to_search_for_have_their_types() {
    let text = "\
schema: ['CREATE TABLE t (k int PRIMARY KEY, e vector<float, 2>)']
values: {k: row, e: vector(real(0..1)), from: {is: hash, per: operation}, few: 5}
statements:
  write: INSERT INTO t (k, e) VALUES (:k, :e)
  scan: SELECT k FROM t WHERE token(k) > :from LIMIT :few
  near: SELECT k FROM t ORDER BY e ANN OF :e LIMIT :few
load: write
";
    for (kind, lengths) in [("scan", [8, 4]), ("near", [8, 4])] {
        let text = format!("{text}mix: {{{kind}: 1}}\n");
        let bound = values(&program(&text), Stage::Main, 0).remove(0);
        let found: Vec<usize> = bound.iter().map(Vec::len).collect();
        assert_eq!(found, lengths, "{kind}");
    }
}
