//! Tests the check for acknowledged writes. cassay reads back all rows, and finds the changes that
//! other clients have made in the meantime.

use super::{one_node, only_trial};
use crate::program::Lab;
use ::cassandra::{Access, Session};
use serde_json::Value;
use std::time::Duration;

/// A study that writes or deletes each of twenty rows about ten times a second.
const STUDY: &str = "\
study: accounts
question: Is everything there that was acknowledged?
target: {local: {}}
keyspace: {replication: 1, name: KEYSPACE}
workload: {use: kv, mix: {write: 9, insert: 1, delete: 3}, consistency: ONE}
data: {load: {operations: 20}, settle: none}
procedure: {fixed: {rate: 200}}
window: {warmup: 1s, measure: 12s}
verify: {reads: none, sample: all}
client: {timeout: 60s}
";

/// A timestamp later than any that a node assigns, in µs since 1970.
const LATER_US: u64 = 1 << 52;
/// Time limit of one answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn study(keyspace: &str, changes: &[(&str, &str)]) -> String {
    let mut text = STUDY.replace("KEYSPACE", keyspace);
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// Returns the changes that turn the study into a study of registers. The rate is halved, because
/// the transactions on registers disturb each other on a busy machine.
fn registers() -> [(&'static str, &'static str); 2] {
    [
        (
            "use: kv, mix: {write: 9, insert: 1, delete: 3}, consistency: ONE",
            "use: registers",
        ),
        ("fixed: {rate: 200}", "fixed: {rate: 100}"),
    ]
}

fn session() -> Session {
    Session::open(one_node::address(), &Access::default(), PATIENCE).expect("a session")
}

/// Returns the hexadecimal digits of the value in a row of `kv`. `None` if the row does not exist.
fn value(session: &mut Session, keyspace: &str, key: &str) -> Option<String> {
    let cql = format!("SELECT value FROM {keyspace}.kv WHERE key = '{key}'");
    let found = session.query(&cql).expect("it is answered");
    let cell = found.rows.first()?.first()?.to_string();
    Some(cell.trim_start_matches("0x").to_owned())
}

/// Waits until a row has a value other than `other`. Returns the new value.
fn another(session: &mut Session, keyspace: &str, key: &str, other: Option<&str>) -> String {
    loop {
        let found = value(session, keyspace, key);
        if let Some(found) = found.filter(|found| Some(found.as_str()) != other) {
            return found;
        }
    }
}

/// Returns those counts of the read-back check that should be 0.
fn errors(back: &Value) -> [u64; 5] {
    ["lost", "stale", "wrong", "resurrected", "unread"].map(|name| back[name].as_u64().unwrap_or(0))
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn acknowledged_writes_are_found_and_planted_losses_detected() {
    let target = format!("attach:{}", one_node::address());
    let allow = "create=accounts,create=planted";
    let arguments = [
        "run",
        "study.yaml",
        "--json",
        "--target",
        &target,
        "--allow",
        allow,
    ];
    let lab = Lab::with(&study("accounts", &[]));
    let trial = only_trial(&lab.cassay(&arguments).measured(&lab));
    let back = &trial["read_back"];
    assert_eq!(errors(back), [0; 5], "{back:#}");
    assert_eq!(back["read_at"], "ONE");
    assert_eq!(back["promise"], "kept", "{back:#}");
    let count = |name: &str| back[name].as_u64().unwrap_or(0);
    assert!(count("rows") > 100, "inserted rows too: {back:#}");
    assert!(count("writes_acknowledged") > 2000, "{back:#}");
    let parts = ["right", "deleted", "unconfirmed", "never_written"];
    let sum: u64 = parts.map(count).iter().sum();
    assert_eq!(sum, count("rows"), "{back:#}");

    // The changes are a deleted row, a row that gets back one of its own older values, and a row
    // that reappears.
    let lab = Lab::with(&study("planted", &[("delete: 3", "delete: 0")]));
    let mut run = lab.start(&arguments);
    run.wait_for("· measure:");
    let mut session = session();
    let key = |row: u64| format!("{row:016x}");
    let delete = format!(
        "DELETE FROM planted.kv USING TIMESTAMP {LATER_US} WHERE key = '{}'",
        key(3)
    );
    session.query(&delete).expect("a row is deleted");
    let first = another(&mut session, "planted", &key(4), None);
    another(&mut session, "planted", &key(4), Some(&first));
    let put_back = format!(
        "INSERT INTO planted.kv (key, value) VALUES ('{}', 0x{first}) USING TIMESTAMP {LATER_US}",
        key(4)
    );
    session.query(&put_back).expect("an older value is put back");
    let strange = format!(
        "INSERT INTO planted.kv (key, value) VALUES ('{}', 0x00) USING TIMESTAMP {LATER_US}",
        key(5)
    );
    session.query(&strange).expect("a strange value is put");
    let said = run.end().ended_with(3);
    let trial = only_trial(&said);
    let back = &trial["read_back"];
    assert_eq!(errors(back), [1, 1, 1, 0, 0], "{back:#}");
    let reasons = trial["reasons"].to_string();
    assert!(
        reasons.contains("V14") && reasons.contains("must not happen"),
        "{reasons}"
    );
    // Even if the run violates other rules too, the answer and the advice begin with the lost data.
    let findings = said.json();
    let first = findings["answer"][0].as_str().unwrap_or_default();
    assert!(first.starts_with("Data was lost: of "), "{first}");
    assert!(first.contains("1 is lost, 1 has a wrong value"), "{first}");
    assert!(first.contains("(rows 3, 4, 5)"), "{first}");
    assert_eq!(findings["alarms"][0], findings["answer"][0]);
    let next = findings["next"]["says"].as_str().unwrap_or_default();
    assert!(next.contains("read row 3: SELECT"), "{next}");
}

/// cassay collects and merges the ledgers and histories of both clients.
#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn two_clients_share_one_account_and_one_register_history() {
    let target = format!("attach:{}", one_node::address());
    let arguments = [
        "run",
        "study.yaml",
        "--json",
        "--target",
        &target,
        "--allow",
        "create=shared,create=shared_registers",
        "--set",
        "client.machines=[here, here]",
    ];
    let lab = Lab::with(&study("shared", &[]));
    let trial = only_trial(&lab.cassay(&arguments).measured(&lab));
    let back = &trial["read_back"];
    assert_eq!(errors(back), [0; 5], "{back:#}");
    assert_eq!(back["promise"], "kept", "{back:#}");
    let acknowledged = back["writes_acknowledged"].as_u64().unwrap_or(0);
    assert!(acknowledged > 2000, "{back:#}");
    // The server counts the operations and also the loaded rows.
    let writes = trial["server"]["writes"].as_u64();
    assert_eq!(writes, Some(acknowledged + 20), "{trial:#}");
    assert_eq!(
        trial["clients"].as_array().map(Vec::len),
        Some(2),
        "{trial:#}"
    );

    let registers = registers();
    let lab = Lab::with(&study("shared_registers", &registers));
    let trial = only_trial(&lab.cassay(&arguments));
    let found = &trial["registers"];
    assert_eq!(found["linearizable"], 20, "{found:#}");
    let operations = found["operations"].as_u64().expect("a count");
    assert!(operations > 1000, "{found:#}");
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn counters_are_what_was_added_and_registers_are_linearizable() {
    let counters = [
        (
            "use: kv, mix: {write: 9, insert: 1, delete: 3}",
            "use: counters, mix: {add: 1}",
        ),
        (
            "target: {local: {}}",
            "target: {local: {nodes: 1, heap: 512MiB, class_sharing: true}}",
        ),
    ];
    let lab = Lab::with(&study("sums", &counters));
    let trial = only_trial(&lab.cassay(&["run", "study.yaml", "--json"]).measured(&lab));
    let back = &trial["read_back"];
    assert_eq!(back["right"], 20, "{back:#}");
    assert_eq!(back["rows"], 20, "{back:#}");

    let registers = registers();
    let lab = Lab::with(&study("registers", &registers));
    let target = format!("attach:{}", one_node::address());
    let allow = "create=registers,create=planted_registers";
    let arguments = [
        "run",
        "study.yaml",
        "--json",
        "--target",
        &target,
        "--allow",
        allow,
    ];
    // On a busy machine, conflicting transactions end in timeouts. The history contains these
    // transactions too, so it has as many lines as operations.
    let trial = only_trial(&lab.cassay(&arguments));
    let found = &trial["registers"];
    assert_eq!(found["linearizable"], 20, "{found:#}");
    let operations = found["operations"].as_u64().expect("a count");
    assert!(operations > 1000, "{found:#}");
    let history = lab.run().path.join("trials/00-rate-100/history.ndjson");
    let lines = std::fs::read_to_string(history).unwrap().lines().count();
    assert_eq!(lines as u64, operations);

    // The test resets a register outside of all transactions, so the history violates
    // linearizability.
    let lab = Lab::with(&study("planted_registers", &registers));
    let mut run = lab.start(&arguments);
    run.wait_for("· measure:");
    let planted = format!(
        "UPDATE planted_registers.registers USING TIMESTAMP {LATER_US} SET value = 0 WHERE key = 7"
    );
    session().query(&planted).expect("it is set");
    let trial = only_trial(&run.end().ended_with(3));
    let found = &trial["registers"];
    assert_eq!(found["violated"], 1, "{found:#}");
    assert_eq!(found["violations"][0]["key"], 7, "{found:#}");
}
