//! Tests statements that are moved to another keyspace, and the positions at which a server's
//! refusals are reported.

use super::*;
use crate::file::{check_file, compile_file, no_files};
use crate::spec::Spec;

const FILE: &str = "\
keyspace: shop
schema:
  - CREATE TYPE place (street text, zip int)
  - CREATE TABLE shop.t (a bigint, b int, p frozen<shop.place>, PRIMARY KEY (a, b))
  - CREATE INDEX i ON t (b)
values: {a: row, b: uniform(1..9), p: 'tuple(text(5), uniform(1..9))'}
statements:
  write:
    - INSERT INTO t (a, b, p) VALUES (:a, :b, :p)
    - DELETE FROM t WHERE a = :a
  read: |
    SELECT p FROM shop.t
    WHERE a = :a AND b = :b
load: write
";

fn spec() -> Spec {
    Spec::new("", 100, 7)
}

fn checked() -> CompiledFile {
    let text = FILE.replace("  write:\n", "  write:\n    cql:\n");
    check_file("w.yaml", &text, &spec(), &no_files).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

#[test]
fn a_whole_file_moves_to_another_keyspace_without_remains() {
    let checked = checked();
    let own = checked.placed("shop");
    assert_eq!(own.schema, checked.program().schema().create_tables);
    let moved = checked.placed("scratch");
    assert_eq!(moved.schema.len(), 3);
    assert_eq!(moved.statements.len(), 3);
    for cql in moved.schema.iter().chain(&moved.statements) {
        assert!(cql.contains("\"scratch\"."), "{cql}");
        assert!(!cql.contains("shop"), "{cql}");
    }
    assert_eq!(
        moved.statements[2],
        "SELECT p FROM \"scratch\".t\nWHERE a = ? AND b = ?"
    );
}

#[test]
fn a_file_that_names_a_foreign_keyspace_is_refused_in_place() {
    for (from, to, line) in [
        ("FROM shop.t", "FROM live.t", "13:19"),
        ("ON t (b)", "ON live.t (b)", "5:23"),
        ("TABLE shop.t", "TABLE live.t", "4:18"),
        ("TYPE place", "TYPE live.place", "3:17"),
    ] {
        let text = FILE.replace("  write:\n", "  write:\n    cql:\n").replace(from, to);
        let said = compile_file("w.yaml", &text, &spec(), &no_files).expect_err(to).to_string();
        let expected = format!("w.yaml:{line}: `live` is not the keyspace of this workload");
        assert!(said.contains(&expected), "{to}: {said}");
    }
}

#[test]
fn a_statement_that_outlives_the_keyspace_is_no_schema() {
    for cql in [
        "CREATE ROLE r WITH SUPERUSER = true",
        "CREATE USER u",
        "CREATE OR REPLACE FUNCTION shop.f (a int) CALLED ON NULL INPUT RETURNS int \
         LANGUAGE java AS 'return a;'",
        "CREATE TRIGGER x ON t USING 'y'",
        "DROP TABLE t",
    ] {
        let text = FILE
            .replace("  - CREATE INDEX i ON t (b)", &format!("  - \"{cql}\""))
            .replace("  write:\n", "  write:\n    cql:\n");
        let said = compile_file("w.yaml", &text, &spec(), &no_files).expect_err(cql).to_string();
        assert!(said.contains("w.yaml:5:"), "{cql}: {said}");
        assert!(said.contains("belongs here"), "{cql}: {said}");
    }
}

#[test]
fn a_refusal_stands_at_its_statement_and_a_type_at_its_marker() {
    let checked = checked();
    let mut out = checked.no_mistakes();
    checked.refuse_schema(1, "no such option", &mut out);
    checked.refuse(1, "no range deletes", &mut out);
    checked.compare(2, &[CqlType::Bigint, CqlType::Text], &mut out);
    checked.compare(1, &[], &mut out);
    let places: Vec<_> = out.list.iter().map(|m| (m.line, m.column)).collect();
    assert_eq!(places, [(4, 5), (11, 7), (14, 26), (11, 7)], "{out}");
    assert_eq!(
        out.list[2].message,
        "the server requires text here, but the workload generates `b` as int"
    );
    assert_eq!(
        out.list[3].message,
        "the server requires 0 values here, but the workload generates 1"
    );
    let mut none = checked.no_mistakes();
    checked.compare(2, &[CqlType::Bigint, CqlType::Int], &mut none);
    assert!(none.is_empty(), "{none}");
}

#[test]
fn types_agree_where_the_same_bytes_mean_the_same() {
    use std::sync::Arc;
    let udt = |keyspace: &str, last: CqlType| {
        let fields = vec![(Arc::from("x"), CqlType::Text), (Arc::from("y"), last)];
        CqlType::Udt(Box::new(cql::value::UdtType {
            keyspace: keyspace.to_owned(),
            name: "p".to_owned(),
            fields,
        }))
    };
    let list = |of: CqlType| CqlType::List(Box::new(of));
    let vector = |count: u32| CqlType::Vector(Box::new(CqlType::Float), count);
    let map = |of: CqlType| CqlType::Map(Box::new(CqlType::Int), Box::new(of));
    for (takes, made, expected) in [
        (CqlType::Int, CqlType::Int, true),
        (CqlType::Int, CqlType::Bigint, false),
        (CqlType::Int, CqlType::Text, false),
        (CqlType::Date, CqlType::Int, false),
        (CqlType::Text, CqlType::Ascii, true),
        (CqlType::Ascii, CqlType::Text, false),
        (CqlType::Uuid, CqlType::Timeuuid, true),
        (CqlType::Timeuuid, CqlType::Uuid, false),
        (CqlType::Timestamp, CqlType::Bigint, true),
        (CqlType::Counter, CqlType::Bigint, true),
        (list(CqlType::Text), list(CqlType::Ascii), true),
        (list(CqlType::Text), list(CqlType::Int), false),
        (
            list(CqlType::Text),
            CqlType::Set(Box::new(CqlType::Text)),
            false,
        ),
        (map(CqlType::Int), map(CqlType::Int), true),
        (map(CqlType::Int), map(CqlType::Text), false),
        (vector(3), vector(3), true),
        (vector(3), vector(4), false),
        (
            udt("shop", CqlType::Int),
            udt("scratch", CqlType::Int),
            true,
        ),
        (udt("shop", CqlType::Int), udt("shop", CqlType::Text), false),
        (
            CqlType::Tuple(vec![CqlType::Int]),
            CqlType::Tuple(Vec::new()),
            false,
        ),
        (CqlType::Custom("org.x.Y".to_owned()), CqlType::Blob, true),
    ] {
        assert_eq!(is_taken(&takes, &made), expected, "{takes} for {made}");
    }
}
