//! Tests that the parser accepts valid statements, and finds errors in invalid statements.

use super::*;

fn table(cql: &str, types: &[UdtType]) -> Table {
    match parse(cql, types) {
        Ok(DefinedObject::Table(table)) => table,
        other => panic!("{cql}: {other:?}"),
    }
}

fn list(element: CqlType) -> CqlType {
    CqlType::List(Box::new(element))
}

#[test]
fn columns_types_and_keys_are_read() {
    let table = table(
        "CREATE TABLE IF NOT EXISTS ks.\"Readings\" (\n  machine uuid, -- which\n  Name text,\n\
         time timestamp,\n  owner text STATIC, // a comment\n  v vector<float, 3>,\n\
         m map<text, frozen<list<int>>>, /* more */ t tuple<int, text>,\n\
         PRIMARY KEY ((machine, name), time)\n) WITH CLUSTERING ORDER BY (time DESC);",
        &[],
    );
    assert_eq!(table.keyspace.as_deref(), Some("ks"));
    assert_eq!(table.name, "Readings");
    let names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["machine", "name", "time", "owner", "v", "m", "t"]);
    assert_eq!(table.partition_key, [0, 1]);
    assert_eq!(table.clustering, [2]);
    assert!(table.columns[3].is_static && !table.columns[2].is_static);
    let float = Box::new(CqlType::Float);
    assert_eq!(table.columns[4].typ, CqlType::Vector(float, 3));
    let map = CqlType::Map(Box::new(CqlType::Text), Box::new(list(CqlType::Int)));
    assert_eq!(table.columns[5].typ, map);
    let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
    assert_eq!(table.columns[6].typ, tuple);
    assert!(table.is_key(1) && table.is_key(2) && !table.is_key(3));
}

#[test]
fn a_column_may_be_the_whole_key() {
    let table = table("create table t (k int primary key, c counter)", &[]);
    assert_eq!((table.partition_key, table.clustering), (vec![0], vec![]));
    assert_eq!(table.columns[1].typ, CqlType::Counter);
}

#[test]
fn user_defined_types_are_those_above() {
    let Ok(DefinedObject::Type(point)) = parse("CREATE TYPE ks.point (x int, y int)", &[]) else {
        panic!("a type");
    };
    let table = table(
        "CREATE TABLE t (k int PRIMARY KEY, p frozen<point>, q list<frozen<ks.point>>)",
        std::slice::from_ref(&point),
    );
    let udt = CqlType::Udt(Box::new(point));
    assert_eq!(table.columns[1].typ, udt);
    assert!(table.columns[1].is_frozen);
    assert_eq!(table.columns[2].typ, list(udt));
    assert!(!table.columns[2].is_frozen);
}

#[test]
fn faults_say_what_and_where() {
    for (cql, message, at) in [
        (
            "CREATE TABLE t (k nint PRIMARY KEY)",
            "nint is not a CQL type",
            "nint",
        ),
        (
            "CREATE TABLE t (k int, PRIMARY KEY (j))",
            "no column above it has this name",
            "j)",
        ),
        ("CREATE TABLE t (k int, k int)", "occurs twice", "k int)"),
        ("CREATE TABLE t (k int)", "has no PRIMARY KEY", ""),
        ("CREATE TABLE t (k 'x", "unterminated", "'x"),
        ("CREATE TABLE t (k list int)", "expected `<`", "int)"),
        ("CREATE TABLE (k int)", "expected a name", "(k"),
        (
            "CREATE TABLE t (v vector<int, 0>, k int)",
            "not a vector dimension",
            ">, k",
        ),
        ("CREATE TABLE t (/* k int)", "unterminated", "/*"),
    ] {
        let fault = parse(cql, &[]).expect_err(cql);
        assert!(fault.message.contains(message), "{cql}: {}", fault.message);
        let place = if at.is_empty() {
            cql.len()
        } else {
            cql.find(at).unwrap_or(0)
        };
        assert_eq!(fault.at, place, "{cql}");
    }
}

#[test]
fn statements_are_split_outside_of_texts_and_comments() {
    let text =
        "CREATE KEYSPACE a WITH x = {'y': 'b;c'}; -- d;\n\n CREATE TABLE t (k int PRIMARY KEY)";
    let statements = split(text).expect("two statements");
    assert_eq!(statements.len(), 2);
    assert!(statements[0].1.ends_with("'b;c'}"));
    assert!(statements[1].1.starts_with("CREATE TABLE"));
    assert_eq!(&text[statements[1].0..][..12], "CREATE TABLE");
    let keyspace = parse(statements[0].1, &[]);
    assert_eq!(keyspace, Ok(DefinedObject::Keyspace("a".to_owned())));
}

#[test]
fn other_statements_are_left_to_cassandra() {
    for cql in ["CREATE INDEX ON t (c)", "ALTER TABLE t ADD x int", ""] {
        assert_eq!(parse(cql, &[]), Ok(DefinedObject::Other), "{cql}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in "(CREATE|TABLE|TYPE|PRIMARY|KEY|[a-c(),<>.;'\"$/* \\n-]){0,40}"
    ) {
        let _ = parse(&text, &[]);
        let _ = split(&text);
    }
}
