//! Tests against the null target, which stores the created tables and the types of their columns.
//! Other tests check refusals by a real server.

use super::*;
use study::resolve;
use study::settings::Overrides;
use workload::{Spec, check_file, no_files};

const FILE: &str = "\
keyspace: shop
schema:
  - CREATE TABLE t (a bigint, b int, v text, PRIMARY KEY (a, b))
  - CREATE TABLE u (a bigint PRIMARY KEY)
values: {a: row, b: uniform(1..9), v: text(5)}
statements:
  write: INSERT INTO t (a, b, v) VALUES (:a, :b, :v)
  other: INSERT INTO shop.u (a) VALUES (:a)
  read: SELECT v FROM t WHERE a = :a AND b = :b
load: [write, other]
";

fn checked() -> CompiledFile {
    let spec = Spec::new("", 100, 1);
    check_file("w.yaml", FILE, &spec, &no_files).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn null() -> Running {
    let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: kv}\n\
                data: {load: {operations: 1}}\nprocedure: {fixed: {threads: 1}}\n";
    let study = resolve::resolve("s", text, &Overrides::default()).expect("a study");
    let dirs = Dirs {
        cache: "unused".into(),
        data: "unused".into(),
    };
    let target = &study.variants[0].settings.target;
    Running::start(target, &dirs, &mut |_| {}).expect("the null target")
}

fn run(running: &Running, cql: &str) -> Vec<String> {
    let mut session = running.cluster.session().expect("a session");
    let result = session.query(cql).expect(cql);
    let cells = result.rows.iter().flatten();
    cells.filter_map(|cell| cell.as_str().map(str::to_owned)).collect()
}

fn keyspaces(running: &Running) -> Vec<String> {
    run(running, "SELECT keyspace_name FROM system_schema.keyspaces")
}

fn prepare(running: &Running, stop: &AtomicBool, say: &mut dyn FnMut(&str)) -> PrepareResult {
    let checked = checked();
    let ask = Ask {
        checked: &checked,
        stop,
    };
    ask.prepare(&running.cluster, say).expect("an answer")
}

#[test]
fn a_check_without_tables_makes_a_keyspace_and_drops_it() {
    let running = null();
    // The existing keyspace lacks the tables of the workload, and the check must not change it.
    run(
        &running,
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'}",
    );
    run(&running, "CREATE TABLE shop.u (a bigint PRIMARY KEY)");
    let (stop, mut said) = (AtomicBool::new(false), Vec::new());
    let mut during = Vec::new();
    let prepared = prepare(&running, &stop, &mut |text| {
        said.push(text.to_owned());
        during = keyspaces(&running);
    });
    assert_eq!(
        prepared.statements_count, 3,
        "each once, without the copies of the load"
    );
    assert!(prepared.is_scratch && !prepared.is_interrupted);
    assert!(prepared.mistakes.is_empty(), "{}", prepared.mistakes);
    assert!(
        said[0].contains("has no table t in the keyspace shop"),
        "{said:?}"
    );
    assert!(said[0].contains(&prepared.keyspace), "{said:?}");
    assert_eq!(during, [prepared.keyspace.as_str(), "shop"]);
    assert_eq!(keyspaces(&running), ["shop"]);
    let tables = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'shop'";
    assert_eq!(run(&running, tables), ["u"]);
}

#[test]
fn where_all_tables_are_there_they_are_asked_as_they_are() {
    let running = null();
    run(
        &running,
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'}",
    );
    run(&running, "CREATE TABLE shop.u (a bigint PRIMARY KEY)");
    // The workload file declares b as an int.
    run(
        &running,
        "CREATE TABLE shop.t (a bigint, b text, v text, PRIMARY KEY (a, b))",
    );
    let stop = AtomicBool::new(false);
    let prepared = prepare(&running, &stop, &mut |text| panic!("{text}"));
    assert_eq!(prepared.keyspace, "shop");
    assert!(!prepared.is_scratch);
    assert_eq!(prepared.statements_count, 3);
    let said: Vec<_> = prepared.mistakes.list.iter().map(|m| (m.line, m.column)).collect();
    assert_eq!(said, [(7, 46), (9, 46)], "{}", prepared.mistakes);
    assert_eq!(
        prepared.mistakes.list[0].message,
        "the server requires text here, but the workload generates `b` as int"
    );
}

#[test]
fn a_stop_ends_the_check_and_drops_what_it_has_made() {
    let running = null();
    let stop = AtomicBool::new(false);
    let prepared = prepare(&running, &stop, &mut |_| {
        stop.store(true, Ordering::Relaxed)
    });
    assert!(prepared.is_interrupted);
    assert_eq!(prepared.statements_count, 0);
    assert_eq!(keyspaces(&running), [""; 0]);
}

#[test]
fn a_failed_check_does_not_keep_the_scratch_keyspace() {
    let running = null();
    let mut session = running.cluster.session().expect("a session");
    let scratch = Scratch::make(&running.cluster, &mut session).expect("a keyspace");
    assert_eq!(keyspaces(&running).len(), 1);
    let error = scratch.end(Err(anyhow!("the node is gone"))).expect_err("the first error");
    assert_eq!(error.to_string(), "the node is gone");
    assert_eq!(keyspaces(&running), [""; 0]);
    // The check drops the keyspace even if the check does not reach its end.
    drop(Scratch::make(&running.cluster, &mut session).expect("a keyspace"));
    assert_eq!(keyspaces(&running), [""; 0]);
}
