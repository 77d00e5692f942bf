//! Tests a replay of a load that a real node recorded in its full query log. The replay has the
//! same statements with the same values, equally often and in the same order. A second recording
//! equals the first recording.

use super::{agent, one_node, only_trial, users_workload};
use crate::program::{HANG_LIMIT, Lab};
use ::cassandra::{Access, Session};
use ::query_log::{Choice, Recording};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use workload::Stage;

const STUDY: &str = "\
study: first
question: What is recorded of a load?
target: {attach: {contact_points: ['NODE']}}
workload: {file: w.yaml, mix: {write: 3, read: 1}}
data: {present: 40}
client: {timeout: 60s}
procedure: {fixed: {rate: 60}}
window: {warmup: 0s, measure: 2s}
verify: {reads: none, sample: 0}
";

const AGAIN: &str = "\
study: again
question: Is it offered again?
target: {attach: {contact_points: ['NODE']}}
workload: {recorded: {files: [first], keyspaces: [taped], speed: 1}}
";

/// A batch as one unprepared query, whose statements contain literal values.
const BATCH: &str = "BEGIN BATCH INSERT INTO taped.users (id, name) VALUES (1000, 'a; b'); \
                     DELETE FROM taped.users WHERE id = 1001 APPLY BATCH";

/// Makes the shared node write its full query log to a folder while `act` runs.
fn while_recorded(folder: &Path, act: impl FnOnce()) {
    std::fs::create_dir_all(folder).expect("a folder for the log");
    let types = "java.lang.String,java.lang.String,java.lang.Boolean,int,long,java.lang.String,int";
    let arguments = [
        json!(folder),
        json!("HOURLY"),
        json!(true),
        json!(256 << 20),
        json!(1_u64 << 30),
        json!(null),
        json!(10),
    ];
    let enable = format!("enableFullQueryLogger({types})");
    agent::call(&one_node::clusters(), &enable, &arguments);
    act();
    agent::call(&one_node::clusters(), "stopFullQueryLogger", &[]);
}

/// Returns the recorded operations of this test's keyspace. Other tests use the same node.
fn read(folder: &Path) -> Arc<Recording> {
    let choice = Choice {
        keyspaces: vec!["taped".to_owned()],
        ..Choice::default()
    };
    let named = (folder.display().to_string(), folder.to_owned());
    Arc::new(::query_log::read(&[named], choice).expect("a log"))
}

/// Returns the first operations of a recording, with the kind, text, consistency level and values
/// of each.
fn operations(recording: &Arc<Recording>, count: u64) -> Vec<(String, String, Vec<u8>)> {
    let program = Arc::new(::query_log::program(recording, "log", &[]));
    let mut generator = program.generator(Stage::Main);
    let one = |n| {
        let operation = generator.begin(n);
        let statement = &program.statements()[usize::from(operation.statement)];
        let kind = &program.kinds()[usize::from(operation.kind)];
        let mut values = Vec::new();
        generator.append_values(&mut values);
        let what = format!("{} at {}", statement.cql, statement.consistency);
        (kind.name.clone(), what, values)
    };
    let mut all: Vec<_> = (0..count).map(one).collect();
    // Operations of the same millisecond have no defined order, so this code sorts all operations.
    all.sort();
    all
}

fn rows(session: &mut Session) -> Vec<String> {
    let found = session.query("SELECT id, name FROM taped.users").expect("an answer");
    let mut rows: Vec<String> = found.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

fn run_and_write(study: &str) -> [&str; 5] {
    ["run", study, "--json", "--allow", "write=taped.users"]
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn traffic_that_a_node_recorded_is_offered_to_it_again() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    let keyspace = "CREATE KEYSPACE taped WITH replication = \
                    {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute_schema(keyspace).expect("a keyspace");
    let table = "CREATE TABLE taped.users (id bigint PRIMARY KEY, name text)";
    session.execute_schema(table).expect("a table");
    session
        .query("INSERT INTO taped.users (id, name) VALUES (0, 'x')")
        .expect("a row");
    let lab = Lab::new();
    lab.write("w.yaml", &users_workload("taped"));
    lab.write("study.yaml", &STUDY.replace("NODE", &node.to_string()));
    lab.write("again.yaml", &AGAIN.replace("NODE", &node.to_string()));
    let (first, again) = (lab.path().join("first"), lab.path().join("again"));
    while_recorded(&first, || {
        session.query(BATCH).expect("a batch");
        let words = run_and_write("study.yaml");
        lab.cassay(&words).measured(&lab);
    });
    let written = rows(&mut session);
    assert!(written.len() > 20, "{written:?}");

    session.query("TRUNCATE taped.users").expect("an empty table");
    // The command line does not allow the study to write, so cassay refuses the study.
    lab.cassay(&["plan", "again.yaml"])
        .ended_with(2)
        .says(&["--allow write=taped.users"]);
    let mut ended = 0;
    while_recorded(&again, || {
        let words = run_and_write("again.yaml");
        let trial = only_trial(&lab.cassay(&words).measured(&lab));
        assert_eq!(trial["errors"], json!({}), "{trial:#}");
        // The count includes all operations that were due in the window, regardless of when they
        // ended.
        ended = trial["all"]["latency_ms"]["count"].as_u64().expect("a count");
    });
    let (first, again) = (read(&first), read(&again));
    // The whole recording is replayed, including the incomplete second at its end.
    let due = first.operations();
    assert!(due > 60, "{due}");
    let sent = again.operations();
    assert_eq!((ended, sent), (due, due));
    assert_eq!(operations(&again, sent), operations(&first, sent));
    let after = rows(&mut session);
    assert!(
        after.iter().all(|row| written.contains(row)),
        "{after:?}\n{written:?}"
    );
    assert!(after.iter().any(|row| row.contains("a; b")), "{after:?}");
    // cassay reports a missing table before it does anything else.
    session.execute_schema("DROP TABLE taped.users").expect("no table");
    let said = lab
        .cassay(&["plan", "again.yaml", "--allow", "write=taped.users"])
        .ended_with(2);
    said.says(&["no table taped.users", "workload.recorded.schema"]);
}
