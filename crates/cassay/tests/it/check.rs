//! Tests `workload check --target`: a server, here the null target, prepares statements. The null
//! target remembers created objects. Other tests cover the errors of a real server.

use crate::engine::null;
use crate::program::Lab;
use ::cassandra::{Access, Session};
use null_server::NullServer;
use std::time::Duration;
use target_spec::NullSpec;

const FILE: &str = "\
keyspace: shop
schema:
  - CREATE TABLE t (a bigint PRIMARY KEY, v text)
values: {a: row, v: text(5)}
statements:
  write: INSERT INTO t (a, v) VALUES (:a, :v)
  read: SELECT v FROM t WHERE a = :a
load: write
";

const USER: (&str, &str) = ("checker", "correct horse");

/// Returns a server that requires credentials, a lab that contains a workload file and the
/// password, and the `--target` argument for the server.
fn lab() -> (NullServer, Lab, String) {
    let server = null(NullSpec {
        credentials: Some((USER.0.to_owned(), USER.1.to_owned())),
        ..NullSpec::default()
    });
    let lab = Lab::new();
    lab.write("w.yaml", FILE);
    lab.write("password", USER.1);
    let target = format!("attach:{}", server.address());
    (server, lab, target)
}

fn session(server: &NullServer) -> Session {
    let credentials = ::cassandra::Credentials {
        user: USER.0.to_owned(),
        password: target_spec::Secret::new(USER.1.to_owned()),
    };
    let access = Access::new(Some(credentials), None);
    Session::open(server.address(), &access, Duration::from_secs(60)).expect("a session")
}

fn keyspaces(server: &NullServer) -> usize {
    let rows = session(server).query("SELECT keyspace_name FROM system_schema.keyspaces");
    rows.expect("keyspaces").rows.len()
}

fn check<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let way_in = [
        "--target",
        target,
        "--set",
        "target.attach.user=checker",
        "--set",
        "target.attach.password={secret: db}",
        "--secret",
        "db=file:password",
    ];
    [&["workload", "check", "w.yaml"], &way_in[..], more].concat()
}

#[test]
fn statements_are_prepared_in_a_keyspace_that_is_then_dropped() {
    let (server, lab, target) = lab();
    let said = lab.cassay(&check(&target, &["--json"])).ended_with(0);
    let prepared = &said.json()["prepared"];
    assert_eq!(prepared["statements"], 2, "{said}");
    assert_eq!(prepared["scratch"], true, "{said}");
    let keyspace = prepared["keyspace"].as_str().expect("a name");
    assert!(keyspace.starts_with("cassay_check_"), "{said}");
    said.says(&[
        "has no table t in the keyspace shop",
        keyspace,
        "prepared all 2 statements",
    ]);
    assert_eq!(keyspaces(&server), 0);
    // With a server, stdout is the same as without a server.
    let plain = lab.cassay(&["workload", "check", "w.yaml"]).ended_with(0);
    assert_eq!(
        lab.cassay(&check(&target, &[])).ended_with(0).stdout,
        plain.stdout
    );
}

#[test]
fn a_keyspace_that_a_killed_check_has_left_is_named_and_stays() {
    let (server, lab, target) = lab();
    let left = "CREATE KEYSPACE cassay_check_0123 WITH replication = {'class': 'SimpleStrategy'}";
    session(&server).query(left).expect(left);
    let said = lab.cassay(&check(&target, &[])).ended_with(0);
    said.says(&[
        "another check created the keyspace cassay_check_0123",
        "DROP KEYSPACE cassay_check_0123",
    ]);
    assert_eq!(keyspaces(&server), 1);
}

#[test]
fn values_are_compared_with_the_types_of_existing_tables() {
    let (server, lab, target) = lab();
    let mut session = session(&server);
    for cql in [
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy'}",
        "CREATE TABLE shop.t (a bigint PRIMARY KEY, v int)",
    ] {
        session.query(cql).expect(cql);
    }
    let said = lab.cassay(&check(&target, &[])).ended_with(2);
    said.says(&[
        "error: the server requires int here, but the workload generates `v` as text",
        " --> w.yaml:6:43",
        "6 |   write: INSERT INTO t (a, v) VALUES (:a, :v)",
        "1 mistake",
    ]);
    assert_eq!(said.stdout, "");
    assert_eq!(keyspaces(&server), 1);
}

#[test]
fn the_way_in_is_a_study_s_and_nothing_else_can_be_set() {
    let (server, lab, target) = lab();
    let refused = |arguments: &[&str], code: i32, parts: &[&str]| {
        lab.cassay(arguments).ended_with(code).says(parts);
    };
    let plain = ["workload", "check", "w.yaml", "--target", &target];
    refused(&plain, 1, &["requires a user and password"]);
    let with = |more: &[&'static str]| [&plain[..], more].concat();
    refused(
        &with(&["--set", "window.measure=1s"]),
        2,
        &["write target.PATH=VALUE"],
    );
    let attach = "target.attach.passwort={secret: db}";
    refused(&with(&["--set", attach]), 2, &["did you mean `password`"]);
    let null = ["workload", "check", "w.yaml", "--target", "null"];
    refused(&null, 2, &["the null target adds no check"]);
    let named = ["workload", "check", "kv", "--target", &target];
    refused(&named, 1, &["--target requires a workload file"]);
    let set = [
        "workload",
        "check",
        "w.yaml",
        "--set",
        "target.attach.user=u",
    ];
    refused(&set, 2, &["--target"]);
    drop(server);
}

#[test]
fn a_file_with_a_mistake_asks_nobody() {
    let lab = Lab::new();
    lab.write("w.yaml", &FILE.replace("(:a, :v)", "(:a, :w)"));
    // No process listens on this port, so the connection fails.
    let check = [
        "workload",
        "check",
        "w.yaml",
        "--target",
        "attach:127.0.0.1:1",
    ];
    lab.cassay(&check).ended_with(2).says(&["the marker :w has no value"]);
    lab.write("w.yaml", FILE);
    lab.cassay(&check).ended_with(1).says(&["no contact point answers"]);
}
